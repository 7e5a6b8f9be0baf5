//! Redacts texts about a call. Such a text can repeat a secret argument, in full or shortened.

use std::sync::Arc;

use askfirst::{Args, Because, Fact, Outcome, Refusal, ToolError};
use askfirst_shell::Deciding;
use serde_json::Value;

use super::names::{self, HiddenValues};
use super::span::{self, MaskedText, SecretKind, Span};
use super::values::Values;
use super::{MAX_DEPTH, Mark, Redaction, Redactor, RedactorState, shapes};

/// The number of characters that give a secret away. A shorter secret is hidden only where it is a word of its own.
const MIN_PREFIX: usize = 4;

/// The length from which a value that looks like a secret is hidden in other texts too.
const MIN_GUESS: usize = 8;

/// The labels of facts that a person decides by. Names and guesses hide nothing in them.
const OURS: [&str; 10] =
    ["folder", "host", "hosts", "program", "programs", "network", "writes", "rule", "background", "does"];

/// Arguments that are run, or that are written and may be run later.
const RUNS: [&str; 14] = [
    "command", "commands", "cmd", "argv", "args", "line", "script", "code", "program", "input", "content",
    "old", "new", "patch",
];

/// Whether a value that looks like a secret is hidden in other texts too. Paths and plain words are not.
fn is_distinctive(value: &str) -> bool {
    value.chars().count() >= MIN_GUESS
        && !value.contains('/')
        && value.contains(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_punctuation())
}

impl Redactor {
    /// Redacts a text about a call, including the secrets of its arguments.
    #[must_use]
    pub fn text_about(&self, args: &Args, text: &str, mark: Mark) -> Redaction<String> {
        let held = self.held(args);
        let deciding = if held.is_empty() { None } else { Some(self.deciding(args)) };
        let decides = |secret: &str| deciding.as_ref().is_some_and(|deciding| deciding.is(secret));
        let mut spans = self.spans(text);
        for (kind, secret) in held.iter().filter(|(_, secret)| !decides(secret)) {
            find_repeated(text, *kind, secret, &mut spans);
        }
        let masked = self.hide(text, mark, span::settle(text, spans), |left| self.spans(left));
        let hidden = masked.hidden();
        Redaction { left: masked.left, hidden }
    }

    /// Redacts a command that a call would run. Parts that decide about the command are never hidden.
    pub(crate) fn command(&self, args: &Args, text: &str, mark: Mark) -> MaskedText {
        let held = self.held(args);
        if held.is_empty() && self.is_clean(text.as_bytes()) {
            return MaskedText::whole(text);
        }
        let mut deciding = Deciding::of_text(text);
        if let Some(spared) = &self.0.spared {
            deciding.add(Deciding::clone(spared));
        }
        let mut by_name = Vec::new();
        held.iter().for_each(|(kind, secret)| find_repeated(text, *kind, secret, &mut by_name));
        by_name.retain(|span| !deciding.stands_in(&(span.start..span.end)));
        let mut spans = self.shaped(text, Some(&deciding));
        spans.extend(by_name);
        let own = self.0.own.spans(text).into_iter();
        spans.extend(own.filter(|span| !deciding.may_stand_in(&(span.start..span.end))));
        let again = |left: &str| span::settle(left, self.shaped(left, Some(&deciding)));
        self.hide(text, mark, span::settle(text, spans), again)
    }

    /// Redacts a fact about a call.
    #[must_use]
    pub fn fact(&self, args: &Args, fact: &Fact, mark: Mark) -> Redaction<String> {
        if fact.label == "runs" {
            let masked = self.command(args, &fact.text, mark);
            let hidden = masked.hidden();
            return Redaction { left: masked.left, hidden };
        }
        if !OURS.contains(&fact.label.as_str()) {
            return self.text_about(args, &fact.text, mark);
        }
        self.ours(&fact.text, mark)
    }

    /// Redacts askfirst's own text. Guesses hide nothing in it, because a person decides by it.
    pub(crate) fn ours(&self, text: &str, mark: Mark) -> Redaction<String> {
        let sure = |text: &str| {
            let mut spans = self.shaped(text, None);
            spans.retain(|span| span.kind.is_sure());
            span::settle(text, spans)
        };
        let masked = self.hide(text, mark, sure(text), sure);
        let hidden = masked.hidden();
        Redaction { left: masked.left, hidden }
    }

    /// Redacts the reason of a refusal or failure, and the tool name, which can be any text from the agent.
    /// The result of a tool and the note of a person stay unchanged.
    pub fn outcome(&self, args: &Args, outcome: Outcome, mark: Mark) -> Outcome {
        if let Outcome::Done(result) = outcome {
            return Outcome::Done(result);
        }
        let about = self.about(args);
        let clean = |text: String| about.text_about(args, &text, mark).left;
        let refusal = |mut refusal: Refusal| {
            about.because(args, &mut refusal.because, mark);
            let tool_name = self.text(&refusal.tool_name, mark).left;
            Refusal { tool_name, reason: clean(refusal.reason), ..refusal }
        };
        match outcome {
            Outcome::Done(result) => Outcome::Done(result),
            Outcome::Denied(refused) => Outcome::Denied(refusal(refused)),
            Outcome::Failed(error) => Outcome::Failed(match error {
                ToolError::Unknown(name) => ToolError::Unknown(clean(name)),
                ToolError::BadArgs(why) => ToolError::BadArgs(clean(why)),
                ToolError::Failed(why) => ToolError::Failed(clean(why)),
                ToolError::Ended { message, result } => ToolError::Ended { message: clean(message), result },
                ToolError::Stale(why) => ToolError::Stale(clean(why)),
                ToolError::Unrecorded(why) => ToolError::Unrecorded(clean(why)),
                ToolError::Denied(decision) => ToolError::Denied(decision),
                ToolError::Discarded(refused) => ToolError::Discarded(Box::new(refusal(*refused))),
            }),
        }
    }

    /// Redacts the reasons of a verdict.
    pub fn because(&self, args: &Args, because: &mut [Because], mark: Mark) {
        for because in because {
            let clean = self.text_about(args, &because.text, mark);
            if clean.hidden > 0 {
                because.text = clean.left.into();
            }
        }
    }

    /// A redactor that also hides the secrets of a call's arguments in other texts, such as its presentation.
    /// Parts that decide about the call do not count as secrets.
    #[must_use]
    pub fn about(&self, args: &Args) -> Self {
        let held = self.held(args);
        let mut found = Vec::new();
        self.shaped_in(args.values(), 0, &mut found);
        if held.is_empty() && found.is_empty() {
            return self.clone();
        }
        let deciding = self.deciding(args);
        let is_own = |(kind, secret): &(SecretKind, String)| {
            let decides = || deciding.touches(secret) || deciding.spares(secret);
            kind.is_sure() || (is_distinctive(secret) && !decides())
        };
        let held = held.into_iter().filter(|(_, secret)| !deciding.is(secret));
        let known: Vec<String> =
            held.chain(found.into_iter().filter(is_own)).map(|(_, secret)| secret).collect();
        let own = Values::new(&known).unwrap_or_default();
        Self(Arc::new(RedactorState { own, ..self.sparing_these(deciding) }))
    }

    /// A redactor whose guesses hide no part that decides about a call.
    pub(super) fn sparing(&self, args: &Args) -> Self {
        let guesses = |value: &Value| may_hold(value, 0);
        if self.0.spared.is_some() || !args.values().any(guesses) {
            return self.clone();
        }
        Self(Arc::new(self.sparing_these(self.deciding(args))))
    }

    fn sparing_these(&self, deciding: Arc<Deciding>) -> RedactorState {
        RedactorState {
            names: self.0.names.clone(),
            values: Arc::clone(&self.0.values),
            own: Values::default(),
            spared: Some(deciding),
        }
    }

    /// The parts that decide about a call, if it is a command.
    fn deciding(&self, args: &Args) -> Arc<Deciding> {
        let collect = || {
            let mut deciding = Deciding::default();
            self.deciding_in(args, 0, &mut deciding);
            Arc::new(deciding)
        };
        self.0.spared.clone().unwrap_or_else(collect)
    }

    fn deciding_in(&self, map: &Args, depth: usize, deciding: &mut Deciding) {
        for (key, item) in map.iter().filter(|(key, _)| self.0.names.reach(key).is_none()) {
            match item {
                Value::String(text) if RUNS.contains(&key.as_str()) => deciding.add(Deciding::of_text(text)),
                Value::Array(items) if RUNS.contains(&key.as_str()) => {
                    let words: Vec<String> =
                        items.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                    deciding.add(Deciding::of_words(&words));
                }
                Value::Object(map) if depth < MAX_DEPTH => self.deciding_in(map, depth + 1, deciding),
                Value::String(_)
                | Value::Array(_)
                | Value::Object(_)
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_) => {}
            }
        }
    }

    /// Collects the secrets with a known shape.
    fn shaped_in<'a>(
        &self,
        items: impl Iterator<Item = &'a Value>,
        depth: usize,
        known: &mut Vec<(SecretKind, String)>,
    ) {
        for item in items {
            match item {
                Value::String(text) => {
                    let spans = span::settle(text, self.shaped(text, None));
                    let secret = |span: &Span| Some((span.kind, text.get(span.start..span.end)?.to_owned()));
                    known.extend(spans.iter().filter_map(secret));
                }
                Value::Array(items) if depth < MAX_DEPTH => {
                    let tails = items.iter().zip(self.tails(items));
                    known.extend(tails.filter_map(|(item, tail)| {
                        let tail = tail?;
                        Some((tail.kind, tail.of(item.as_str()?).to_owned()))
                    }));
                    self.shaped_in(items.iter(), depth + 1, known);
                }
                Value::Object(map) if depth < MAX_DEPTH => self.shaped_in(map.values(), depth + 1, known),
                Value::Array(_) | Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    /// The values of arguments with secret names.
    fn held(&self, args: &Args) -> Vec<(SecretKind, String)> {
        let mut held = Vec::new();
        self.held_in(args, 0, &mut held);
        held
    }

    fn held_in(&self, map: &Args, depth: usize, held: &mut Vec<(SecretKind, String)>) {
        for (key, item) in map {
            self.held_by(item, self.0.names.reach(key), depth + 1, held);
        }
    }

    fn held_by(
        &self,
        item: &Value,
        named: Option<(SecretKind, HiddenValues)>,
        depth: usize,
        held: &mut Vec<(SecretKind, String)>,
    ) {
        match (item, named) {
            // A deeper value is replaced as a whole, so no text repeats it.
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
            (Value::Number(number), Some((kind, HiddenValues::Configured | HiddenValues::All))) => {
                held.push((kind, number.to_string()));
            }
            (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {}
        }
    }
}

/// Whether a value may contain something with the shape of a secret.
fn may_hold(value: &Value, depth: usize) -> bool {
    match value {
        Value::String(text) => shapes::any(text.as_bytes()),
        Value::Array(items) => depth < MAX_DEPTH && items.iter().any(|item| may_hold(item, depth + 1)),
        Value::Object(map) => depth < MAX_DEPTH && map.values().any(|item| may_hold(item, depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Finds a secret in a text: unchanged or escaped, in full or by its first characters.
fn find_repeated(text: &str, kind: SecretKind, secret: &str, spans: &mut Vec<Span>) {
    let escaped = Value::from(secret).to_string();
    let forms = [secret, escaped.trim_matches('"')];
    let starts = forms.map(|form| form.chars().take(MIN_PREFIX).collect::<String>());
    if starts.iter().any(String::is_empty) {
        return;
    }
    let short = forms.iter().all(|form| form.chars().count() < MIN_PREFIX);
    let mut rest = text;
    while let Some(at) = starts.iter().filter_map(|start| rest.find(start)).min() {
        let (before, found) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let same = |form: &str| {
            let same = found.chars().zip(form.chars()).take_while(|(a, b)| a == b);
            same.map(|(a, _)| a.len_utf8()).sum::<usize>()
        };
        let same = forms.map(same).into_iter().max().unwrap_or_default();
        let (same, after) = found.split_at_checked(same).unwrap_or((found, ""));
        let start = text.len() - found.len();
        let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let alone = !inside(before.chars().next_back()) && !inside(after.chars().next());
        if !short || alone {
            spans.push(Span { start, end: start + same.len(), kind });
        }
        rest = after;
    }
}

#[cfg(test)]
#[path = "about/tests.rs"]
mod tests;
