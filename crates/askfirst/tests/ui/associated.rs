//! An associated function without `self` must not become a tool that runs a free function of the same name.

#![allow(unused, reason = "only the compiler errors matter")]

use askfirst::requires_approval;

fn send(to: String) {}

struct Mailer;

impl Mailer {
    #[requires_approval]
    fn send(to: String) {}
}

fn main() {}
