//! Parameters that cannot be arguments.

#![allow(unused, reason = "only the compiler errors matter")]

use askfirst::{Invocation, requires_approval};

#[requires_approval]
fn pair((a, b): (u8, u8)) {}

#[requires_approval]
fn ignored(_: u8) {}

#[requires_approval]
fn by_ref(ref to: String) {}

#[requires_approval]
fn opaque(to: impl ToString) {}

#[requires_approval]
fn opaque_behind(to: &impl ToString) {}

#[requires_approval]
fn object(to: Box<dyn ToString>) {}

#[requires_approval]
fn changed(to: &mut String) {}

#[requires_approval]
fn for_ever(to: &'static str) {}

#[requires_approval]
fn list_of_references(to: Vec<&str>) {}

#[requires_approval]
fn reference_of_reference(to: &&str) {}

#[requires_approval]
fn short_lived(to: std::borrow::Cow<'_, str>) {}

#[requires_approval]
fn asked_twice(one: Invocation, two: &Invocation) {}

#[requires_approval]
fn changed_call(call: &mut Invocation) {}

#[requires_approval]
fn sometimes(#[cfg(test)] to: String) {}

#[requires_approval]
fn several_faults(_: u8, to: &mut String) {}

struct Mailer;

impl Mailer {
    #[requires_approval]
    fn same(&self, other: Option<Self>) {}
}

fn main() {}
