//! Arguments as a tree that a person can read. Kinds stay apart: text that could be taken for a number is quoted.

use askfirst::json::kind;
use serde_json::{Map, Value};

use super::escape::{Piece, Visible, visible, visible_line};
use super::line::{Entry, Part};
use super::tone::{Token, Tone};

/// Deeper than this, a value is shown as one line of JSON.
const MAX_DEPTH: usize = 8;

/// How much was escaped and collapsed on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counted {
    pub(super) escaped: usize,
    pub(super) collapsed: usize,
}

impl Counted {
    pub(super) fn take(&mut self, visible: Visible) -> Vec<Vec<Piece>> {
        self.escaped += visible.escaped;
        self.collapsed += visible.collapsed;
        visible.lines
    }

    pub(super) fn line(&mut self, text: &str) -> Vec<Piece> {
        self.take(visible_line(text)).into_iter().flatten().collect()
    }
}

/// Draws values as lines of a part.
pub(super) struct Tree<'a> {
    pub(super) part: Part,
    pub(super) counted: &'a mut Counted,
    /// A text that stands on the page already.
    pub(super) shown: Option<&'a str>,
    /// So many lines of it are surely on a screen that has the beginning of every section.
    pub(super) preview: usize,
    /// Texts that are too long to stand between others, with the names of their fields.
    pub(super) long: Vec<(String, String)>,
    /// Fields of the outermost object that stand elsewhere, and what is said of them instead.
    pub(super) elsewhere: Vec<(String, String)>,
}

/// Longer texts stand apart.
pub(super) const LONG: usize = 16 * 1024;

impl<'a> Tree<'a> {
    pub(super) fn new(part: Part, counted: &'a mut Counted) -> Self {
        Self { part, counted, shown: None, preview: 0, long: Vec::new(), elsewhere: Vec::new() }
    }

    /// The fields of an object.
    pub(super) fn fields(&mut self, fields: &Map<String, Value>) -> Vec<Entry> {
        let mut entries = Vec::new();
        self.object(fields, 0, &mut entries);
        entries
    }

    /// Any value.
    pub(super) fn value(&mut self, value: &Value) -> Vec<Entry> {
        let mut entries = Vec::new();
        match value {
            Value::Object(fields) if !fields.is_empty() => self.object(fields, 0, &mut entries),
            Value::Array(items) if !items.is_empty() => self.list(items, 0, &mut entries),
            _ => self.labelled(Vec::new(), ("value", value), 0, &mut entries),
        }
        entries
    }

    fn object(&mut self, fields: &Map<String, Value>, depth: usize, entries: &mut Vec<Entry>) {
        for (key, value) in fields {
            let mut label = named(self.counted.line(&key_text(key)));
            label.push(Piece::ours(": "));
            if let Some((_, said)) = self.elsewhere.iter().find(|(name, _)| depth == 0 && name == key) {
                label.push(Piece::ours(said));
                entries.push(Entry::indented(self.part, 0, label));
                continue;
            }
            self.labelled(label, (key, value), depth, entries);
        }
    }

    fn list(&mut self, items: &[Value], depth: usize, entries: &mut Vec<Entry>) {
        for item in items {
            self.labelled(vec![Piece::ours("- ")], ("an item", item), depth, entries);
        }
    }

    fn labelled(
        &mut self,
        mut label: Vec<Piece>,
        (key, value): (&str, &Value),
        depth: usize,
        entries: &mut Vec<Entry>,
    ) {
        let part = self.part;
        let indent = depth * 2;
        let mut entry = |pieces| entries.push(Entry::indented(part, indent, pieces));
        match value {
            Value::Object(fields) if !fields.is_empty() && depth < MAX_DEPTH => {
                entry(label);
                self.object(fields, depth + 1, entries);
            }
            Value::Array(items) if !items.is_empty() && depth < MAX_DEPTH => {
                entry(label);
                self.list(items, depth + 1, entries);
            }
            Value::String(text) if text.len() > LONG && self.shown != Some(text.as_str()) => {
                label.push(Piece::ours(below(text)));
                entry(label);
                self.long.push((key.to_owned(), text.clone()));
            }
            Value::String(text) if is_long(text) && self.shown == Some(text.as_str()) => {
                label.push(Piece::ours(above(text, self.preview)));
                entry(label);
            }
            Value::String(text) if text.contains('\n') => {
                let lines = text.split_inclusive('\n').count();
                let end = if text.ends_with('\n') { "" } else { ", no last line feed" };
                label.push(Piece::ours(format!(
                    "({lines} {}{end})",
                    if lines == 1 { "line" } else { "lines" }
                )));
                entry(label);
                let lines = self.counted.take(visible(text.strip_suffix('\n').unwrap_or(text)));
                entries.extend(lines.into_iter().map(|pieces| Entry::indented(part, indent + 2, pieces)));
            }
            Value::String(text) => {
                label.extend(self.counted.line(&scalar_text(text)));
                entry(label);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                label.extend(self.counted.line(&value.to_string()));
                entry(label);
            }
        }
    }
}

/// Said of a text that stands below.
pub(super) fn below(text: &str) -> String {
    format!("({} bytes, whole below)", text.len())
}

/// Said of a text that stands above, where perhaps only its first lines are shown.
pub(super) fn above(text: &str, preview: usize) -> String {
    let rows = |line: &str| 1 + line.len() / super::text::MAX_LINE;
    let place =
        if text.lines().map(rows).sum::<usize>() <= preview { "all shown above" } else { "the text above" };
    format!("({} characters, {place})", text.chars().count())
}

/// Whether a text is worth not being shown twice.
fn is_long(text: &str) -> bool {
    text.contains('\n') || text.len() > 40
}

/// The pieces of a field's name.
fn named(pieces: Vec<Piece>) -> Vec<Piece> {
    pieces.into_iter().map(|piece| Piece { tone: Tone::Code(Token::Name), ..piece }).collect()
}

fn key_text(key: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if !key.is_empty() && key.chars().all(plain) { key.to_owned() } else { quoted(key) }
}

/// Text as it is, or quoted where it could be taken for something else.
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
