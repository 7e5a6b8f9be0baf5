//! A function that is marked twice.

#![allow(unused, reason = "only the compiler errors matter")]

use askfirst::requires_approval;

#[requires_approval]
#[askfirst::requires_approval(risk = "high")]
fn send(to: String) {}

fn main() {}
