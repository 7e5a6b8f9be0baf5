//! Functions that a line makes and calls: what one runs for the words that it is called with.
//!
//! Where a function is made its body is read with nothing known. Where every mention of its name is a call with plain
//! words, what was read there is dropped in favour of what each call runs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::state::{Known, State};
use super::syntax::{Span, Stmt};
use super::tree::{Piece, Stdin, Step, Word};
use super::walk::Walker;

/// Words in a body with which it may be given others than it is called with, or make what nobody counts.
const SHIFTING: [&str; 12] = [
    "shift", "set", "()", "function", "eval", "source", "trap", "getopts", "unset", "declare", "typeset",
    "BASH",
];

/// So deep are functions inside functions read.
const CALLS: usize = 8;

/// The functions of a line by name.
pub(super) type Bodies = BTreeMap<String, Body>;

/// A function that the line makes.
pub(super) struct Body {
    stmt: Rc<Stmt>,
    /// The commands that were read where it is made.
    read: Range<usize>,
    /// Where it is called with plain words.
    calls: BTreeSet<usize>,
    /// Whether it may be called otherwise.
    open: bool,
}

impl Walker<'_> {
    /// Takes note of a function whose body was read into these commands.
    pub(super) fn keep(&mut self, name: &str, stmt: &Rc<Stmt>, read: Range<usize>) {
        let text = super::state::squeezed(self.slice(&stmt.span));
        let twice = self.bodies.contains_key(name);
        let open = twice || SHIFTING.iter().any(|word| text.contains(word)) || self.text.contains("$'");
        let body = Body { stmt: Rc::clone(stmt), read, calls: BTreeSet::new(), open };
        self.bodies.insert(name.to_owned(), body);
    }

    /// Reads the body once more, for a call with these words.
    pub(super) fn call(&mut self, name: &str, span: &Span, words: &[Word], state: &State) {
        let literal: Option<Vec<String>> =
            words.iter().map(|word| word.literal().map(str::to_owned)).collect();
        // Only a name that stands here as it is counts as a mention.
        let plain = self.slice(span).starts_with(name);
        self.give_list("@", words);
        let Some(body) = self.bodies.get_mut(name) else { return };
        // One that calls itself is read where it is made.
        let calls = self.calling.len() < CALLS && !self.calling.iter().any(|outer| outer == name);
        let Some(given) = literal.filter(|given| given.len() <= 9 && plain && !body.open && calls) else {
            body.open = true;
            return;
        };
        body.calls.insert(span.start);
        let stmt = Rc::clone(&body.stmt);
        let mut inner = State::new();
        inner.forget();
        inner.functions = Arc::clone(&state.functions);
        if self.moves {
            inner.lose_folders();
        }
        for (at, text) in given.iter().enumerate() {
            let pieces = if text.is_empty() { Vec::new() } else { vec![Piece::Text(text.clone())] };
            inner.set(&(at + 1).to_string(), Some(Known::Value(pieces.into())));
        }
        inner.set("@", Some(Known::List(given.into())));
        let outer = std::mem::replace(&mut self.stdin, Stdin::Unknown);
        let reached = std::mem::replace(&mut self.reached, vec![Step::Function(name.to_owned())]);
        self.calling.push(name.to_owned());
        self.stmt(&stmt, inner);
        self.calling.pop();
        self.reached = reached;
        self.stdin = outer;
    }

    /// Drops what was read of functions whose every call was read by itself.
    pub(super) fn drop_bodies(&mut self) {
        let text = super::state::squeezed(self.text);
        for (name, body) in std::mem::take(&mut self.bodies) {
            let mentions = mentions(&text, &name);
            if body.open || body.calls.is_empty() || mentions != body.calls.len() + 1 || self.is_spent() {
                continue;
            }
            for command in self.commands.get_mut(body.read).into_iter().flatten() {
                command.drop();
            }
        }
    }
}

/// How often a name stands in a text as a word, or as a part of one that a blank or sign ends.
fn mentions(text: &str, name: &str) -> usize {
    let own = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let apart = |(at, _): &(usize, &str)| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(own) && !after.is_some_and(own)
    };
    text.match_indices(name).filter(apart).count()
}
