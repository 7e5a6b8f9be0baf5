//! Keys that type a reason, arguments or a search, and keys that scroll a document. None of them approves.

use std::time::Duration;

use askfirst::{ApprovalDecision, Cause};

use super::{Document, Effect, Keys, Screen};
use crate::decode::{Input, Key};

/// The longest text of a field, in characters.
const MAX_FIELD: usize = 16_000;

/// A line that the person types.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Field {
    before: Vec<char>,
    /// The text after the cursor, in reverse order.
    after: Vec<char>,
}

impl Field {
    /// Creates a field that contains a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { before: text.chars().collect(), after: Vec::new() }
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> String {
        self.before.iter().chain(self.after.iter().rev()).collect()
    }

    /// The text before the cursor.
    #[must_use]
    pub fn before(&self) -> String {
        self.before.iter().collect()
    }

    fn key(&mut self, key: Key) {
        match key {
            Key::Left => self.after.extend(self.before.pop()),
            Key::Right => self.before.extend(self.after.pop()),
            Key::Home => self.after.extend(self.before.drain(..).rev()),
            Key::End => self.before.extend(self.after.drain(..).rev()),
            Key::Delete => drop(self.after.pop()),
            _ => {}
        }
    }
}

impl Keys {
    fn field(&mut self) -> Option<&mut Field> {
        match &mut self.screen {
            Screen::Reason(field) | Screen::Args(field) => Some(field),
            Screen::Question | Screen::Scope(..) | Screen::Rest | Screen::View(..) => None,
        }
    }

    pub(super) fn field_key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        match (key, &self.screen) {
            (Key::Char(c), _) => self.type_in(c),
            (Key::Backspace, _) => {
                let erased = self.field().and_then(|field| field.before.pop());
                erased.map(Effect::Erase).into_iter().collect()
            }
            (Key::Enter, Screen::Reason(field)) => {
                let (no, note) = (ApprovalDecision::no(Cause::Person), field.text());
                let note = note.trim();
                self.all(if note.is_empty() { no } else { no.with_note(note) })
            }
            (Key::Enter, Screen::Args(field)) => vec![Effect::ArgsTyped(field.text())],
            (Key::Escape, _) => self.back(now),
            (_, _) => {
                self.field().into_iter().for_each(|field| field.key(key));
                Vec::new()
            }
        }
    }

    /// Handles one of several inputs that arrived at once. It edits the field but never submits it.
    pub(super) fn type_fast(&mut self, input: &Input, now: Duration) -> Vec<Effect> {
        match input {
            Input::Key(
                key @ (Key::Left | Key::Right | Key::Home | Key::End | Key::Delete | Key::Backspace),
            ) => self.field_key(*key, now),
            Input::Key(_) | Input::Paste(_) => text_of(input).chars().flat_map(|c| self.type_in(c)).collect(),
        }
    }

    pub(super) fn type_in(&mut self, c: char) -> Vec<Effect> {
        let Some(field) = self.field() else { return Vec::new() };
        if field.before.len() + field.after.len() >= MAX_FIELD {
            return Vec::new();
        }
        field.before.push(c);
        vec![Effect::Echo(c.to_string())]
    }

    /// Handles input while the person views a document: scroll, find or go back.
    pub(super) fn view(&mut self, input: &Input, now: Duration) -> Vec<Effect> {
        let key = match input {
            Input::Key(Key::Interrupt) => return self.stop(),
            Input::Key(Key::EndOfInput) => return self.refuse(Cause::EndOfInput),
            Input::Key(key) => Some(*key),
            Input::Paste(_) => None,
        };
        let Screen::View(doc, find) = &mut self.screen else { return Vec::new() };
        let Some(text) = find else {
            return match (key, *doc) {
                (Some(Key::Char('/')), Document::All) => {
                    *find = Some(String::new());
                    vec![Effect::Redraw]
                }
                (Some(Key::Escape), _)
                | (Some(Key::Char('v')), Document::All)
                | (Some(Key::Char('?')), Document::Facts) => self.back(now),
                (Some(key), _) => vec![Effect::Move(key)],
                (None, _) => Vec::new(),
            };
        };
        match key {
            Some(Key::Enter) => {
                let text = std::mem::take(text);
                *find = None;
                return vec![Effect::Find(text)];
            }
            Some(Key::Escape) => *find = None,
            Some(Key::Backspace) => drop(text.pop()),
            Some(_) | None => text.extend(text_of(input).chars().take(200)),
        }
        vec![Effect::Redraw]
    }
}

/// The text of an input for a field. Spaces replace control characters and line breaks.
pub(super) fn text_of(input: &Input) -> String {
    match input {
        Input::Paste(text) => text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        Input::Key(Key::Char(c)) => c.to_string(),
        Input::Key(Key::Enter) => " ".to_owned(),
        Input::Key(_) => String::new(),
    }
}
