//! Invalid argument names in `description` and `exclude_keys`.

#![allow(unused, reason = "only the compiler errors matter")]

use askfirst::requires_approval;

#[requires_approval(description = "Send to {too}")]
fn misspelt(to: String) {}

#[requires_approval(description = "Send {body} to {to}", exclude_keys = ["body"])]
fn excluded(to: String, body: String) {}

#[requires_approval(description = "Send {to")]
fn unclosed(to: String) {}

#[requires_approval(description = "Send {{to}}")]
fn doubled(to: String) {}

#[requires_approval(description = "Send {to:?}")]
fn formatted(to: String) {}

#[requires_approval(description = "Send {}")]
fn nameless(to: String) {}

#[requires_approval(description = " ")]
fn empty(to: String) {}

#[requires_approval(description = 7)]
fn number(to: String) {}

#[requires_approval(description = "Call {invocation}", exclude_keys = ["invocation"])]
fn the_call_itself(invocation: askfirst::Invocation) {}

#[requires_approval(exclude_keys = ["to", "bdy", "to"])]
fn unknown_and_repeated(to: String, body: String) {}

#[requires_approval(exclude_keys = "body")]
fn no_list(body: String) {}

#[requires_approval(exclude_keys = [body])]
fn no_texts(body: String) {}

fn main() {}
