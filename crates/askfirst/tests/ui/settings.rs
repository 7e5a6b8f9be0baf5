//! Unknown, duplicate and invalid settings.

#![allow(unused, reason = "only the compiler errors matter")]

use askfirst::requires_approval;

#[requires_approval(exclude = ["body"])]
fn unknown(body: String) {}

#[requires_approval(risk = "low", risk = "high", name = "a", name = "a")]
fn repeated() {}

#[requires_approval("Send {to}")]
fn no_key(to: String) {}

#[requires_approval(exclude_keys("to"))]
fn no_equals_sign(to: String) {}

#[requires_approval(risk = "medium")]
fn unknown_risk() {}

#[requires_approval(risk = high)]
fn risk_without_quotes() {}

#[requires_approval(name = "send email")]
fn name_with_a_blank() {}

#[requires_approval(name = "")]
fn empty_name() {}

#[requires_approval]
fn grüße() {}

#[requires_approval(payload = "to")]
fn payload_as_text(to: String) {}

#[requires_approval(presentation = make(), payload = 1)]
fn called_too_early() {}

fn main() {}
