//! A function is marked once.

#![allow(unused, reason = "only the faults matter here")]

use askfirst::requires_approval;

#[requires_approval]
#[askfirst::requires_approval(risk = "high")]
fn send(to: String) {}

fn main() {}
