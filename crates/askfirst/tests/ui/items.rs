//! Items that are not functions.

#![allow(unused, reason = "only the compiler errors matter")]

use askfirst::requires_approval;

#[requires_approval]
struct Email {
    to: String,
}

#[requires_approval(risk = "high")]
impl Email {
    fn send(&self) {}
}

#[requires_approval]
mod mail {}

trait Send {
    #[requires_approval]
    fn send(&self);
}

fn main() {}
