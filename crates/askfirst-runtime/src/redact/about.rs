//! What is said about a call: a value that its arguments hold under a secret name may stand in there, whole or cut short.

use std::sync::Arc;

use askfirst::withheld::without;
use askfirst::{Args, Because, Outcome, Refusal, ToolError};
use serde_json::Value;

use super::names::{self, Reach};
use super::span::Kind;
use super::values::Values;
use super::{Inner, MAX_DEPTH, Mark, Redacted, Redactor};

impl Redactor {
    /// Takes the secrets out of a text about a call, those in its arguments too.
    #[must_use]
    pub fn text_about(&self, args: &Args, text: &str, mark: Mark) -> Redacted<String> {
        let (mut left, mut hidden) = (text.to_owned(), 0);
        for (kind, secret) in self.held(args) {
            let escaped = Value::from(secret.as_str()).to_string();
            let escaped = escaped.trim_matches('"');
            let (without, count) = without(&left, &[&secret, escaped], &kind.mark(&secret, mark));
            (left, hidden) = (without, hidden + count);
        }
        let rest = self.text(&left, mark);
        Redacted { left: rest.left, hidden: hidden + rest.hidden }
    }

    /// Takes the secrets of a call out of what is said about it: why it was refused or failed, and the name of its tool,
    /// which may be anything that an agent sent. What a tool gave and what a person wrote stay as they are.
    pub fn outcome(&self, args: &Args, outcome: Outcome, mark: Mark) -> Outcome {
        if let Outcome::Done(result) = outcome {
            return Outcome::Done(result);
        }
        let about = self.about(args);
        let clean = |text: String| about.text_about(args, &text, mark).left;
        match outcome {
            Outcome::Done(result) => Outcome::Done(result),
            Outcome::Denied(mut refusal) => {
                about.because(args, &mut refusal.because, mark);
                let tool_name = self.text(&refusal.tool_name, mark).left;
                Outcome::Denied(Refusal { tool_name, reason: clean(refusal.reason), ..refusal })
            }
            Outcome::Failed(error) => Outcome::Failed(match error {
                ToolError::Unknown(name) => ToolError::Unknown(clean(name)),
                ToolError::BadArgs(why) => ToolError::BadArgs(clean(why)),
                ToolError::Failed(why) => ToolError::Failed(clean(why)),
                ToolError::Ended { message, result } => ToolError::Ended { message: clean(message), result },
                ToolError::Stale(why) => ToolError::Stale(clean(why)),
                ToolError::Unrecorded(why) => ToolError::Unrecorded(clean(why)),
                ToolError::Denied(decision) => ToolError::Denied(decision),
            }),
        }
    }

    /// The same for the reasons of a verdict.
    pub fn because(&self, args: &Args, because: &mut [Because], mark: Mark) {
        for because in because {
            let clean = self.text_about(args, &because.text, mark);
            if clean.hidden > 0 {
                because.text = clean.left.into();
            }
        }
    }

    /// A redactor that knows the secrets of a call's own arguments wherever they stand: in what its tool shows, or in
    /// the fingerprint of a command that is taken apart.
    #[must_use]
    pub fn about(&self, args: &Args) -> Self {
        let mut known: Vec<String> = self.held(args).into_iter().map(|(_, secret)| secret).collect();
        self.shaped_in(args.values(), 0, &mut known);
        match Values::with(&self.0.values, &known) {
            Some(values) => Self(Arc::new(Inner { names: self.0.names.clone(), values })),
            None => self.clone(),
        }
    }

    /// The secrets that texts give away by their shape.
    fn shaped_in<'a>(&self, items: impl Iterator<Item = &'a Value>, depth: usize, known: &mut Vec<String>) {
        for item in items {
            match item {
                Value::String(text) => {
                    let spans = self.spans(text);
                    known.extend(
                        spans.iter().filter_map(|span| text.get(span.start..span.end)).map(str::to_owned),
                    );
                }
                Value::Array(items) if depth < MAX_DEPTH => {
                    let tails = items.iter().zip(self.tails(items));
                    known.extend(tails.filter_map(|(item, tail)| Some(tail?.of(item.as_str()?).to_owned())));
                    self.shaped_in(items.iter(), depth + 1, known);
                }
                Value::Object(map) if depth < MAX_DEPTH => self.shaped_in(map.values(), depth + 1, known),
                Value::Array(_) | Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    /// The values under secret names.
    fn held(&self, args: &Args) -> Vec<(Kind, String)> {
        let mut held = Vec::new();
        self.held_in(args, 0, &mut held);
        held
    }

    fn held_in(&self, map: &Args, depth: usize, held: &mut Vec<(Kind, String)>) {
        for (key, item) in map {
            self.held_by(item, self.0.names.reach(key), depth + 1, held);
        }
    }

    fn held_by(
        &self,
        item: &Value,
        named: Option<(Kind, Reach)>,
        depth: usize,
        held: &mut Vec<(Kind, String)>,
    ) {
        match (item, named) {
            // What lies deeper is taken out whole, and described by nobody.
            _ if depth > MAX_DEPTH => {}
            (Value::Object(map), None) => self.held_in(map, depth, held),
            (Value::Object(map), named) => {
                map.values().for_each(|item| self.held_by(item, named, depth + 1, held));
            }
            (Value::Array(items), named) => {
                items.iter().for_each(|item| self.held_by(item, named, depth + 1, held));
            }
            (Value::String(text), Some((kind, reach))) if names::hides(text, reach) => {
                held.push((kind, text.clone()))
            }
            (Value::Number(number), Some((kind, Reach::Configured | Reach::All))) => {
                held.push((kind, number.to_string()));
            }
            (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {}
        }
    }
}

#[cfg(test)]
#[path = "about/tests.rs"]
mod tests;
