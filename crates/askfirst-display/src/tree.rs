//! Draws JSON values as an indented tree. Text that looks like a number or another JSON type is quoted.

use askfirst::json::kind;
use serde_json::{Map, Value};

use super::escape::{Piece, VisibleText, visible, visible_line};
use super::line::{Paragraph, Part};
use super::tone::{Token, Tone};

/// The deepest level of the tree. A deeper value is shown as one line of JSON.
const MAX_DEPTH: usize = 8;

/// Makes text visible and counts what was escaped and collapsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct EscapeCounter {
    pub(super) escaped: usize,
    pub(super) collapsed: usize,
}

impl EscapeCounter {
    pub(super) fn take(&mut self, visible: VisibleText) -> Vec<Vec<Piece>> {
        self.escaped += visible.escaped;
        self.collapsed += visible.collapsed;
        visible.lines
    }

    pub(super) fn line(&mut self, text: &str) -> Vec<Piece> {
        self.take(visible_line(text)).into_iter().flatten().collect()
    }
}

/// Draws values as paragraphs of one part.
pub(super) struct Tree<'a> {
    pub(super) part: Part,
    pub(super) counter: &'a mut EscapeCounter,
    /// Texts that are too long for the tree, with the names of their fields.
    pub(super) long: Vec<(String, String)>,
    /// Fields of the outermost object that are shown elsewhere, each with a remark to show in its place.
    pub(super) elsewhere: Vec<(String, String)>,
}

/// The longest text in bytes that is shown in the tree. Longer texts get a section of their own.
pub(super) const LONG: usize = 16 * 1024;

impl<'a> Tree<'a> {
    pub(super) fn new(part: Part, counter: &'a mut EscapeCounter) -> Self {
        Self { part, counter, long: Vec::new(), elsewhere: Vec::new() }
    }

    /// Draws the fields of an object.
    pub(super) fn fields(&mut self, fields: &Map<String, Value>) -> Vec<Paragraph> {
        let mut paragraphs = Vec::new();
        self.object(fields, 0, &mut paragraphs);
        paragraphs
    }

    /// Draws any value.
    pub(super) fn value(&mut self, value: &Value) -> Vec<Paragraph> {
        let mut paragraphs = Vec::new();
        match value {
            Value::Object(fields) if !fields.is_empty() => self.object(fields, 0, &mut paragraphs),
            Value::Array(items) if !items.is_empty() => self.list(items, 0, &mut paragraphs),
            _ => self.labelled(Vec::new(), ("value", value), 0, &mut paragraphs),
        }
        paragraphs
    }

    fn object(&mut self, fields: &Map<String, Value>, depth: usize, paragraphs: &mut Vec<Paragraph>) {
        for (key, value) in fields {
            let mut label = named(self.counter.line(&key_text(key)));
            label.push(Piece::ours(": "));
            if let Some((_, remark)) = self.elsewhere.iter().find(|(name, _)| depth == 0 && name == key) {
                label.push(Piece::ours(remark));
                paragraphs.push(Paragraph::indented(self.part, 0, label));
                continue;
            }
            self.labelled(label, (key, value), depth, paragraphs);
        }
    }

    fn list(&mut self, items: &[Value], depth: usize, paragraphs: &mut Vec<Paragraph>) {
        for item in items {
            self.labelled(vec![Piece::ours("- ")], ("an item", item), depth, paragraphs);
        }
    }

    fn labelled(
        &mut self,
        mut label: Vec<Piece>,
        (key, value): (&str, &Value),
        depth: usize,
        paragraphs: &mut Vec<Paragraph>,
    ) {
        let part = self.part;
        let indent = depth * 2;
        let mut paragraph = |pieces| paragraphs.push(Paragraph::indented(part, indent, pieces));
        match value {
            Value::Object(fields) if !fields.is_empty() && depth < MAX_DEPTH => {
                paragraph(label);
                self.object(fields, depth + 1, paragraphs);
            }
            Value::Array(items) if !items.is_empty() && depth < MAX_DEPTH => {
                paragraph(label);
                self.list(items, depth + 1, paragraphs);
            }
            Value::String(text) if text.len() > LONG => {
                label.push(Piece::ours(below(text)));
                paragraph(label);
                self.long.push((key.to_owned(), text.clone()));
            }
            Value::String(text) if text.contains('\n') => {
                let lines = text.split_inclusive('\n').count();
                let end = if text.ends_with('\n') { "" } else { ", no newline at end" };
                label.push(Piece::ours(format!(
                    "({lines} {}{end})",
                    if lines == 1 { "line" } else { "lines" }
                )));
                paragraph(label);
                let lines = self.counter.take(visible(text.strip_suffix('\n').unwrap_or(text)));
                paragraphs
                    .extend(lines.into_iter().map(|pieces| Paragraph::indented(part, indent + 2, pieces)));
            }
            Value::String(text) => {
                label.extend(self.counter.line(&scalar_text(text)));
                paragraph(label);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                label.extend(self.counter.line(&value.to_string()));
                paragraph(label);
            }
        }
    }
}

/// The remark for a text that is shown below.
pub(super) fn below(text: &str) -> String {
    format!("({} bytes, shown in full below)", text.len())
}

/// Gives the pieces of a field name their tone.
fn named(pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.into_iter().map(|piece| Piece { tone: Tone::Code(Token::Name), ..piece }).collect()
}

fn key_text(key: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if !key.is_empty() && key.chars().all(plain) { key.to_owned() } else { quoted(key) }
}

/// The text unchanged, or quoted if it could be mistaken for another JSON type.
fn scalar_text(text: &str) -> String {
    let other =
        text.len() < 64 && serde_json::from_str::<Value>(text).is_ok_and(|value| kind(&value) != "a string");
    let odd = text.is_empty()
        || text.starts_with(|c: char| c.is_whitespace() || "\"'([{-".contains(c))
        || text.ends_with(char::is_whitespace);
    if other || odd { quoted(text) } else { text.to_owned() }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
