//! A tree as YAML again. What was not rewritten is copied as it was written; comments stay beside their values.

use super::node::{Entry, Node, Style, Value};
use super::scalar;

/// The text of a tree that was read from `text`.
pub(crate) fn emit(root: &Node, text: &str) -> String {
    let mut emitting = Emitting { text, out: String::new() };
    match &root.value {
        Value::Map(entries) if !entries.is_empty() => {
            if let Some(header) = &root.notes.header {
                emitting.line(0, header);
            }
            emitting.map(entries, 0, false);
        }
        Value::Map(_) | Value::List(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            let flow = emitting.flow(root);
            emitting.line(0, &flow);
        }
    }
    for comment in &root.notes.below {
        emitting.line(0, comment);
    }
    emitting.out
}

struct Emitting<'a> {
    text: &'a str,
    out: String,
}

impl Emitting<'_> {
    fn line(&mut self, indent: usize, text: &str) {
        if !text.is_empty() {
            self.out.push_str(&" ".repeat(indent));
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn map(&mut self, entries: &[Entry], indent: usize, on_a_dash: bool) {
        for (n, entry) in entries.iter().enumerate() {
            let inline = on_a_dash && n == 0;
            if !inline {
                self.above(&entry.value, indent);
                self.out.push_str(&" ".repeat(indent));
            }
            let key = self.key(entry);
            self.out.push_str(&key);
            self.out.push(':');
            self.value(&entry.value, indent, self.same_column(entry, indent));
        }
    }

    fn list(&mut self, items: &[Node], indent: usize) {
        for item in items {
            self.above(item, indent);
            self.out.push_str(&" ".repeat(indent));
            self.out.push('-');
            match &item.value {
                Value::Map(entries) if self.as_block(item) => {
                    match &item.notes.header {
                        Some(header) => {
                            self.out.push_str(&format!(" {header}\n"));
                            self.map(entries, indent + 2, false);
                        }
                        None => {
                            let above = entries.first().map(|entry| entry.value.notes.above.clone());
                            let above = above.unwrap_or_default();
                            if above.is_empty() {
                                self.out.push(' ');
                                self.map(entries, indent + 2, true);
                            } else {
                                self.out.push('\n');
                                self.map(entries, indent + 2, false);
                            }
                        }
                    }
                    self.below(item, indent + 2);
                }
                Value::Map(_)
                | Value::List(_)
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Text(_) => {
                    self.value(item, indent, false);
                }
            }
        }
    }

    /// What stands behind a key or a dash, up to the end of its last line.
    fn value(&mut self, node: &Node, indent: usize, same_column: bool) {
        if let Some(copy) = self.copy(node, same_column) {
            // A block begins on a line of its own; its first line keeps the indentation that it had.
            if node.style == Style::Block {
                let header =
                    node.notes.header.as_ref().map(|header| format!(" {header}")).unwrap_or_default();
                self.out.push_str(&header);
                self.out.push('\n');
                let start = node.place.span.start;
                let column = usize::try_from(node.place.column).unwrap_or(1).saturating_sub(1);
                let lines =
                    self.text.get(start.saturating_sub(column)..node.place.span.end).unwrap_or_default();
                self.out.push_str(lines);
            } else if !copy.is_empty() {
                self.out.push(' ');
                self.out.push_str(&copy);
            }
            // A comment beside the sign of a text of lines was copied with it.
            return self.right(last_right(node));
        }
        match &node.value {
            Value::Map(entries) if self.as_block(node) => {
                self.header(node);
                self.map(entries, indent + 2, false);
                self.below(node, indent + 2);
            }
            Value::List(items) if self.as_block(node) => {
                self.header(node);
                self.list(items, indent + 2);
                self.below(node, indent + 2);
            }
            Value::Map(_)
            | Value::List(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Text(_) => {
                let flow = self.flow(node);
                self.out.push(' ');
                self.out.push_str(&flow);
                self.right(node.notes.right.as_deref());
            }
        }
    }

    fn header(&mut self, node: &Node) {
        for comment in node.notes.header.iter().chain(&node.notes.right) {
            self.out.push(' ');
            self.out.push_str(comment);
        }
        self.out.push('\n');
    }

    fn right(&mut self, comment: Option<&str>) {
        if let Some(comment) = comment {
            self.out.push_str("  ");
            self.out.push_str(comment);
        }
        self.out.push('\n');
    }

    fn above(&mut self, node: &Node, indent: usize) {
        if node.notes.blank_above && !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
        for comment in &node.notes.above {
            self.line(indent, comment);
        }
    }

    fn below(&mut self, node: &Node, indent: usize) {
        for comment in &node.notes.below {
            self.line(indent, comment);
        }
    }

    /// Whether a collection is written by indentation. One in brackets is too, if a comment stands in it.
    fn as_block(&self, node: &Node) -> bool {
        let filled = match &node.value {
            Value::Map(entries) => !entries.is_empty(),
            Value::List(items) => !items.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => false,
        };
        filled && (node.style == Style::Block || comments_inside(node))
    }

    fn same_column(&self, entry: &Entry, indent: usize) -> bool {
        entry.source.is_some() && usize::try_from(entry.at.column).is_ok_and(|column| column == indent + 1)
    }

    /// The text of a value that was not rewritten. On several lines it can be copied only where it stood.
    fn copy(&self, node: &Node, same_column: bool) -> Option<String> {
        let text = self.text.get(untouched(node)?)?;
        let one_line = !text.contains('\n') && node.style == Style::Flow;
        // The comments above a block's first child stand before its text.
        let whole = node.style != Style::Block || first_child_is_bare(node);
        ((one_line && !comments_inside(node)) || (same_column && whole)).then(|| text.to_owned())
    }

    fn key(&self, entry: &Entry) -> String {
        let copied = entry.source.clone().and_then(|range| self.text.get(range));
        copied.map_or_else(|| scalar_text(&entry.key), str::to_owned)
    }

    fn flow(&self, node: &Node) -> String {
        if let Some(copy) = self.copy(node, false) {
            return if copy.is_empty() { "null".to_owned() } else { copy };
        }
        match &node.value {
            Value::Null => "null".to_owned(),
            Value::Bool(yes) => yes.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => scalar_text(text),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.flow(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Map(entries) if entries.is_empty() => "{}".to_owned(),
            Value::Map(entries) => {
                let entry = |entry: &Entry| format!("{}: {}", self.key(entry), self.flow(&entry.value));
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
}

fn first_child_is_bare(node: &Node) -> bool {
    let first = match &node.value {
        Value::Map(entries) => entries.first().map(|entry| &entry.value),
        Value::List(items) => items.first(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    };
    first.is_none_or(|first| first.notes.above.is_empty())
}

/// The bytes of a value in which nothing was rewritten.
fn untouched(node: &Node) -> Option<std::ops::Range<usize>> {
    let below = match &node.value {
        Value::Map(entries) => {
            entries.iter().all(|entry| entry.source.is_some() && untouched(&entry.value).is_some())
        }
        Value::List(items) => items.iter().all(|item| untouched(item).is_some()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => true,
    };
    node.source.clone().filter(|_| below)
}

fn comments_inside(node: &Node) -> bool {
    let noted = |child: &Node| child.notes.has_comments() || comments_inside(child);
    match &node.value {
        Value::Map(entries) => node.notes.header.is_some() || entries.iter().any(|entry| noted(&entry.value)),
        Value::List(items) => node.notes.header.is_some() || items.iter().any(noted),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => false,
    }
}

/// The comment behind the last line of a value.
fn last_right(node: &Node) -> Option<&str> {
    let last = match &node.value {
        Value::Map(entries) => entries.last().map(|entry| &entry.value),
        Value::List(items) => items.last(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    };
    match last.filter(|_| node.style == Style::Block) {
        Some(last) => last_right(last),
        None if node.style == Style::Lines => None,
        None => node.notes.right.as_deref(),
    }
}

/// A text as a scalar: bare where every reader takes it as text, else in double quotes.
fn scalar_text(text: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let bare = text.chars().all(word)
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '.' | '/' | '_'))
        && matches!(scalar::plain(text), Value::Text(_))
        && !["yes", "no", "on", "off", "y", "n", "true", "false", "null"]
            .contains(&text.to_lowercase().as_str())
        && text != ".";
    if bare { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}
