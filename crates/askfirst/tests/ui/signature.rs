//! Functions that cannot become a tool.

#![allow(unused, reason = "only the compiler errors matter")]

use askfirst::requires_approval;

#[requires_approval]
fn generic<T: ToString>(to: T) {}

#[requires_approval]
fn with_lifetime<'a>(to: &'a str) {}

#[requires_approval]
fn with_bounds(to: String)
where
    String: Clone,
{
}

#[requires_approval]
const fn constant(to: u8) {}

#[requires_approval]
unsafe fn dangerous(to: u8) {}

#[requires_approval]
extern "C" fn foreign(to: u8) {}

unsafe extern "C" {
    #[requires_approval]
    fn variadic(to: u8, ...);
}

struct Mailer;

impl Mailer {
    #[requires_approval]
    fn by_value(self, to: String) {}

    #[requires_approval]
    fn by_mutable_value(mut self) {}

    #[requires_approval]
    fn by_mutable_reference(&mut self) {}

    #[requires_approval]
    fn shared(self: std::sync::Arc<Self>) {}

    #[requires_approval]
    fn typed(self: &mut Self) {}
}

fn main() {}
