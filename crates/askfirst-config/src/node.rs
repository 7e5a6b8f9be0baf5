//! A config as it is written: a tree in which every key and value knows its place. It knows nothing of meaning.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Number;

use super::fault::Fault;
use super::quote::quoted;

/// A text and the name of the file that it stands in.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    pub(crate) text: Arc<str>,
}

impl Source {
    pub(crate) fn new(file: impl Into<PathBuf>, text: &str) -> Self {
        Self { file: file.into(), text: text.into() }
    }

    pub(crate) fn fault(&self, place: &Place, message: impl Into<String>) -> Fault {
        Fault {
            file: self.file.clone(),
            source: Arc::clone(&self.text),
            span: place.span.clone(),
            line: place.line,
            column: place.column,
            message: message.into(),
            hint: None,
        }
    }
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) span: Range<usize>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Place {
    /// The beginning of a text.
    pub(crate) fn start() -> Self {
        Self { span: 0..0, line: 1, column: 1 }
    }

    /// The place of one byte of a text.
    pub(crate) fn of_byte(text: &str, at: usize) -> Self {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let (before, after) = text.split_at_checked(at).unwrap_or_default();
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let fit = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let end = at + after.chars().next().map_or(0, char::len_utf8);
        Self { span: at..end, line: fit(line), column: fit(column) }
    }
}

/// How a collection is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `[…]` and `{…}`, and every scalar but those of lines.
    Flow,
    /// A text of lines behind `|` or `>`.
    Lines,
    /// By indentation.
    Block,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
    pub(crate) style: Style,
    /// The bytes that it was read from; nothing once it has been rewritten.
    pub(crate) source: Option<Range<usize>>,
    pub(crate) notes: Notes,
}

/// The comments around a value or, in a map, around its whole entry. Most have none, and take no room for it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes(Option<Box<Lines>>);

/// The lines of comments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Lines {
    pub(crate) blank_above: bool,
    pub(crate) above: Vec<String>,
    pub(crate) header: Option<String>,
    pub(crate) right: Option<String>,
    pub(crate) below: Vec<String>,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) at: Place,
    /// The bytes of the key; nothing once it has been renamed.
    pub(crate) source: Option<Range<usize>>,
    pub(crate) value: Node,
}

impl Node {
    /// A value that stands in no text. Faults about it point at `place`.
    pub(crate) fn made(value: Value, place: &Place) -> Self {
        Self { value, place: place.clone(), style: Style::Flow, source: None, notes: Notes::default() }
    }

    pub(crate) fn text(text: impl Into<String>, place: &Place) -> Self {
        Self::made(Value::Text(text.into()), place)
    }

    pub(crate) fn block(mut self) -> Self {
        self.style = Style::Block;
        self
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match &self.value {
            Value::Bool(yes) => Some(*yes),
            Value::Null | Value::Text(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    pub(crate) fn as_u64(&self) -> Option<u64> {
        match &self.value {
            Value::Number(number) => number.as_u64(),
            Value::Null | Value::Text(_) | Value::Bool(_) | Value::List(_) | Value::Map(_) => None,
        }
    }

    pub(crate) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => &[],
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => &[],
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.value == Value::Null
    }

    pub(crate) fn is_map(&self) -> bool {
        matches!(self.value, Value::Map(_))
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The value under keys, one below the other.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The entries, to be changed: the node counts as rewritten.
    pub(crate) fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        match &mut self.value {
            Value::Map(entries) => {
                self.source = None;
                Some(entries)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => None,
        }
    }

    /// The values below, without counting the node as rewritten: they say so themselves.
    pub(crate) fn children_mut(&mut self) -> Box<dyn Iterator<Item = &mut Node> + '_> {
        match &mut self.value {
            Value::Map(entries) => Box::new(entries.iter_mut().map(|entry| &mut entry.value)),
            Value::List(items) => Box::new(items.iter_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => Box::new(std::iter::empty()),
        }
    }

    /// The value under a key, to be changed by its own means.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.value {
            Value::Map(entries) => {
                entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => None,
        }
    }

    /// Takes an entry out.
    pub(crate) fn take(&mut self, key: &str) -> Option<Entry> {
        let at = self.entries().iter().position(|entry| entry.key == key)?;
        Some(self.entries_mut()?.remove(at))
    }

    /// Puts a value under a key: in its place if the key is there, else at the end.
    pub(crate) fn put(&mut self, key: &str, value: Node) {
        let Some(entries) = self.entries_mut() else { return };
        match entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => {
                let notes = std::mem::take(&mut entry.value.notes);
                entry.value = value;
                entry.value.notes.join(notes);
            }
            None => {
                let at = value.place.clone();
                entries.push(Entry { key: key.to_owned(), at, source: None, value });
            }
        }
    }

    /// Takes all comments out of it.
    pub(crate) fn silence(&mut self) {
        self.notes = Notes::default();
        self.children_mut().for_each(Self::silence);
    }

    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// How deep it is.
    pub(crate) fn height(&self) -> usize {
        match &self.value {
            Value::List(items) => 1 + items.iter().map(Self::height).max().unwrap_or_default(),
            Value::Map(entries) => 1 + entries.iter().map(|e| e.value.height()).max().unwrap_or_default(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => 1,
        }
    }

    /// How many values it is made of.
    pub(crate) fn size(&self) -> usize {
        match &self.value {
            Value::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Value::Map(entries) => 1 + entries.iter().map(|e| e.value.size()).sum::<usize>(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => 1,
        }
    }

    /// The same as JSON.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(yes) => (*yes).into(),
            Value::Number(number) => serde_json::Value::Number(number.clone()),
            Value::Text(text) => text.as_str().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect()
            }
        }
    }

    /// The tree of a JSON value, which has no places.
    pub(crate) fn from_json(value: &serde_json::Value) -> Self {
        let value = match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(yes) => Value::Bool(*yes),
            serde_json::Value::Number(number) => Value::Number(number.clone()),
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(items) => Value::List(items.iter().map(Self::from_json).collect()),
            serde_json::Value::Object(map) => Value::Map(
                map.iter()
                    .map(|(key, value)| Entry {
                        key: key.clone(),
                        at: Place::start(),
                        source: None,
                        value: Self::from_json(value),
                    })
                    .collect(),
            ),
        };
        Self::made(value, &Place::start())
    }

    /// One line that says what it is, for people.
    pub(crate) fn brief(&self) -> String {
        match &self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(yes) => yes.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => quoted(text),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(Self::brief).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Map(entries) => {
                let entry = |entry: &Entry| format!("{}: {}", quoted(&entry.key), entry.value.brief());
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
}

impl std::ops::Deref for Notes {
    type Target = Lines;

    fn deref(&self) -> &Lines {
        static NONE: Lines =
            Lines { blank_above: false, above: Vec::new(), header: None, right: None, below: Vec::new() };
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl std::ops::DerefMut for Notes {
    fn deref_mut(&mut self) -> &mut Lines {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for Notes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Notes {
    /// Adds the comments of something that is no longer there.
    pub(crate) fn join(&mut self, other: Self) {
        let Some(other) = other.0 else { return };
        let mine = &mut **self;
        mine.blank_above |= other.blank_above;
        mine.above.extend(other.above);
        mine.below.extend(other.below);
        for (mine, theirs) in [(&mut mine.header, other.header), (&mut mine.right, other.right)] {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => {
                    mine.push(' ');
                    mine.push_str(&theirs);
                }
                (None, theirs) => *mine = theirs,
                (Some(_), None) => {}
            }
        }
    }

    pub(crate) fn has_comments(&self) -> bool {
        !self.above.is_empty() || self.header.is_some() || self.right.is_some() || !self.below.is_empty()
    }
}
