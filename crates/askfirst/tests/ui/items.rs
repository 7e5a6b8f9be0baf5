//! Things that are no functions.

#![allow(unused, reason = "only the faults matter here")]

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
