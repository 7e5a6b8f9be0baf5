//! The tree of a config text: keys and values with their positions and comments.
//!
//! The tree holds the syntax of a config. It knows nothing about the meaning of keys.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Number;

use super::fault::Fault;
use super::quote::escape;

/// The text of a config and the path of its file.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    pub(crate) text: Arc<str>,
}

impl Source {
    pub(crate) fn new(file: impl Into<PathBuf>, text: &str) -> Self {
        Self { file: file.into(), text: text.into() }
    }

    pub(crate) fn fault(&self, position: &Position, message: impl Into<String>) -> Fault {
        Fault {
            file: self.file.clone(),
            source: Arc::clone(&self.text),
            span: position.span.clone(),
            line: position.line,
            column: position.column,
            message: message.into(),
            hint: None,
        }
    }
}

/// The position of a key or value in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) span: Range<usize>,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Position {
    /// The position of the first byte of a text.
    pub(crate) fn start() -> Self {
        Self { span: 0..0, line: 1, column: 1 }
    }

    /// The position of the character that contains the byte `at`.
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

/// How a value is written in YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `[…]`, `{…}`, or a scalar that is not a block scalar.
    Flow,
    /// A text on several lines after `|` or `>`.
    BlockScalar,
    /// A map or list written with indentation.
    Block,
}

/// One value of the tree.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) position: Position,
    pub(crate) style: Style,
    /// The bytes that the value was read from, or `None` once it has been rewritten.
    pub(crate) source: Option<Range<usize>>,
    pub(crate) comments: Comments,
}

/// The comments around a value or, in a map, around its whole entry.
///
/// Most values have no comments, so the lines are allocated only when needed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comments(Option<Box<CommentLines>>);

/// The comment lines around one value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CommentLines {
    pub(crate) blank_above: bool,
    pub(crate) above: Vec<String>,
    pub(crate) header: Option<String>,
    pub(crate) right: Option<String>,
    pub(crate) below: Vec<String>,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The position of the key.
    pub(crate) at: Position,
    /// The bytes of the key, or `None` once it has been renamed.
    pub(crate) source: Option<Range<usize>>,
    pub(crate) value: Node,
}

impl Node {
    /// Creates a value that is not in the text. Errors about it point to `position`.
    pub(crate) fn generated(value: Value, position: &Position) -> Self {
        Self {
            value,
            position: position.clone(),
            style: Style::Flow,
            source: None,
            comments: Comments::default(),
        }
    }

    pub(crate) fn text(text: impl Into<String>, position: &Position) -> Self {
        Self::generated(Value::Text(text.into()), position)
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

    /// Returns the value at a path of keys, such as `["memory", "expire"]`.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Returns the entries for editing, and marks the node as rewritten.
    pub(crate) fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        match &mut self.value {
            Value::Map(entries) => {
                self.source = None;
                Some(entries)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => None,
        }
    }

    /// Returns the child values for editing. Does not mark the node itself as rewritten.
    pub(crate) fn children_mut(&mut self) -> Box<dyn Iterator<Item = &mut Node> + '_> {
        match &mut self.value {
            Value::Map(entries) => Box::new(entries.iter_mut().map(|entry| &mut entry.value)),
            Value::List(items) => Box::new(items.iter_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => Box::new(std::iter::empty()),
        }
    }

    /// Returns the value of a key for editing. Does not mark the node itself as rewritten.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        match &mut self.value {
            Value::Map(entries) => {
                entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => None,
        }
    }

    /// Removes an entry and returns it.
    pub(crate) fn take(&mut self, key: &str) -> Option<Entry> {
        let at = self.entries().iter().position(|entry| entry.key == key)?;
        Some(self.entries_mut()?.remove(at))
    }

    /// Sets the value of a key. Keeps the key's place in the map, or adds the key at the end.
    pub(crate) fn put(&mut self, key: &str, value: Node) {
        let Some(entries) = self.entries_mut() else { return };
        match entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => {
                let comments = std::mem::take(&mut entry.value.comments);
                entry.value = value;
                entry.value.comments.join(comments);
            }
            None => {
                let at = value.position.clone();
                entries.push(Entry { key: key.to_owned(), at, source: None, value });
            }
        }
    }

    /// Removes all comments from the node and everything below it.
    pub(crate) fn remove_comments(&mut self) {
        self.comments = Comments::default();
        self.children_mut().for_each(Self::remove_comments);
    }

    /// Names the type of the value for a message.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// Returns the number of levels from this node down to its deepest value.
    pub(crate) fn height(&self) -> usize {
        match &self.value {
            Value::List(items) => 1 + items.iter().map(Self::height).max().unwrap_or_default(),
            Value::Map(entries) => 1 + entries.iter().map(|e| e.value.height()).max().unwrap_or_default(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => 1,
        }
    }

    /// Counts the values in this node, including the node itself.
    pub(crate) fn size(&self) -> usize {
        match &self.value {
            Value::List(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Value::Map(entries) => 1 + entries.iter().map(|e| e.value.size()).sum::<usize>(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => 1,
        }
    }

    /// Converts the node to JSON, without positions and comments.
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

    /// Builds a tree from JSON. All positions point to the start of the text.
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
                        at: Position::start(),
                        source: None,
                        value: Self::from_json(value),
                    })
                    .collect(),
            ),
        };
        Self::generated(value, &Position::start())
    }

    /// Writes the value on one line for a message.
    pub(crate) fn brief(&self) -> String {
        match &self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(yes) => yes.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => escape(text),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(Self::brief).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Map(entries) => {
                let entry = |entry: &Entry| format!("{}: {}", escape(&entry.key), entry.value.brief());
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
}

impl std::ops::Deref for Comments {
    type Target = CommentLines;

    fn deref(&self) -> &CommentLines {
        static NONE: CommentLines = CommentLines {
            blank_above: false,
            above: Vec::new(),
            header: None,
            right: None,
            below: Vec::new(),
        };
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl std::ops::DerefMut for Comments {
    fn deref_mut(&mut self) -> &mut CommentLines {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for Comments {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Comments {
    /// Adds the comments of a value that was removed.
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
