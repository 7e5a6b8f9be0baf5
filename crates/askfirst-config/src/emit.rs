//! Writes a tree as YAML. Copies the text of values that were not rewritten, and keeps all comments.

use super::node::{Entry, Node, Style, Value};
use super::scalar;

/// Writes a tree that was read from `text`.
pub(crate) fn emit(root: &Node, text: &str) -> String {
    let mut emitter = Emitter { text, out: String::new() };
    match &root.value {
        Value::Map(entries) if !entries.is_empty() => {
            if let Some(header) = &root.comments.header {
                emitter.write_line(0, header);
            }
            emitter.write_map(entries, 0, false);
        }
        Value::Map(_) | Value::List(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            let flow = emitter.flow_text(root);
            emitter.write_line(0, &flow);
        }
    }
    for comment in &root.comments.below {
        emitter.write_line(0, comment);
    }
    emitter.out
}

struct Emitter<'a> {
    text: &'a str,
    out: String,
}

impl Emitter<'_> {
    fn write_line(&mut self, indent: usize, text: &str) {
        if !text.is_empty() {
            self.out.push_str(&" ".repeat(indent));
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn write_map(&mut self, entries: &[Entry], indent: usize, on_a_dash: bool) {
        for (n, entry) in entries.iter().enumerate() {
            let inline = on_a_dash && n == 0;
            if !inline {
                self.write_above(&entry.value, indent);
                self.out.push_str(&" ".repeat(indent));
            }
            let key = self.key_text(entry);
            self.out.push_str(&key);
            self.out.push(':');
            self.write_value(&entry.value, indent, self.is_same_column(entry, indent));
        }
    }

    fn write_list(&mut self, items: &[Node], indent: usize) {
        for item in items {
            self.write_above(item, indent);
            self.out.push_str(&" ".repeat(indent));
            self.out.push('-');
            match &item.value {
                Value::Map(entries) if self.is_block(item) => {
                    match &item.comments.header {
                        Some(header) => {
                            self.out.push_str(&format!(" {header}\n"));
                            self.write_map(entries, indent + 2, false);
                        }
                        None => {
                            let above = entries.first().map(|entry| entry.value.comments.above.clone());
                            let above = above.unwrap_or_default();
                            if above.is_empty() {
                                self.out.push(' ');
                                self.write_map(entries, indent + 2, true);
                            } else {
                                self.out.push('\n');
                                self.write_map(entries, indent + 2, false);
                            }
                        }
                    }
                    self.write_below(item, indent + 2);
                }
                Value::Map(_)
                | Value::List(_)
                | Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Text(_) => {
                    self.write_value(item, indent, false);
                }
            }
        }
    }

    /// Writes the value after a key or a dash, up to the end of its last line.
    fn write_value(&mut self, node: &Node, indent: usize, same_column: bool) {
        if let Some(copy) = self.copy_text(node, same_column) {
            // A block starts on a new line, and its first line keeps its indentation.
            if node.style == Style::Block {
                let header =
                    node.comments.header.as_ref().map(|header| format!(" {header}")).unwrap_or_default();
                self.out.push_str(&header);
                self.out.push('\n');
                let start = node.position.span.start;
                let column = usize::try_from(node.position.column).unwrap_or(1).saturating_sub(1);
                let lines =
                    self.text.get(start.saturating_sub(column)..node.position.span.end).unwrap_or_default();
                self.out.push_str(lines);
            } else if !copy.is_empty() {
                self.out.push(' ');
                self.out.push_str(&copy);
            }
            // The copy of a block scalar already includes the comment after its header.
            return self.write_right(last_right(node));
        }
        match &node.value {
            Value::Map(entries) if self.is_block(node) => {
                self.write_header(node);
                self.write_map(entries, indent + 2, false);
                self.write_below(node, indent + 2);
            }
            Value::List(items) if self.is_block(node) => {
                self.write_header(node);
                self.write_list(items, indent + 2);
                self.write_below(node, indent + 2);
            }
            Value::Map(_)
            | Value::List(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Text(_) => {
                let flow = self.flow_text(node);
                self.out.push(' ');
                self.out.push_str(&flow);
                self.write_right(node.comments.right.as_deref());
            }
        }
    }

    fn write_header(&mut self, node: &Node) {
        for comment in node.comments.header.iter().chain(&node.comments.right) {
            self.out.push(' ');
            self.out.push_str(comment);
        }
        self.out.push('\n');
    }

    fn write_right(&mut self, comment: Option<&str>) {
        if let Some(comment) = comment {
            self.out.push_str("  ");
            self.out.push_str(comment);
        }
        self.out.push('\n');
    }

    fn write_above(&mut self, node: &Node, indent: usize) {
        if node.comments.blank_above && !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
        for comment in &node.comments.above {
            self.write_line(indent, comment);
        }
    }

    fn write_below(&mut self, node: &Node, indent: usize) {
        for comment in &node.comments.below {
            self.write_line(indent, comment);
        }
    }

    /// Returns true if a map or list is written with indentation: it was before, or it contains comments.
    fn is_block(&self, node: &Node) -> bool {
        let is_filled = match &node.value {
            Value::Map(entries) => !entries.is_empty(),
            Value::List(items) => !items.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => false,
        };
        is_filled && (node.style == Style::Block || has_comments_inside(node))
    }

    fn is_same_column(&self, entry: &Entry, indent: usize) -> bool {
        entry.source.is_some() && usize::try_from(entry.at.column).is_ok_and(|column| column == indent + 1)
    }

    /// Returns the text of a value that was not rewritten.
    ///
    /// A text of several lines can be copied only to the same column.
    fn copy_text(&self, node: &Node, same_column: bool) -> Option<String> {
        let text = self.text.get(unchanged_bytes(node)?)?;
        let is_one_line = !text.contains('\n') && node.style == Style::Flow;
        // The text of a block does not include the comments above its first child.
        let is_complete = node.style != Style::Block || is_first_child_uncommented(node);
        ((is_one_line && !has_comments_inside(node)) || (same_column && is_complete)).then(|| text.to_owned())
    }

    fn key_text(&self, entry: &Entry) -> String {
        let copied = entry.source.clone().and_then(|range| self.text.get(range));
        copied.map_or_else(|| scalar_text(&entry.key), str::to_owned)
    }

    fn flow_text(&self, node: &Node) -> String {
        if let Some(copy) = self.copy_text(node, false) {
            return if copy.is_empty() { "null".to_owned() } else { copy };
        }
        match &node.value {
            Value::Null => "null".to_owned(),
            Value::Bool(yes) => yes.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => scalar_text(text),
            Value::List(items) => {
                let items: Vec<String> = items.iter().map(|item| self.flow_text(item)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Map(entries) if entries.is_empty() => "{}".to_owned(),
            Value::Map(entries) => {
                let entry =
                    |entry: &Entry| format!("{}: {}", self.key_text(entry), self.flow_text(&entry.value));
                let entries: Vec<String> = entries.iter().map(entry).collect();
                format!("{{ {} }}", entries.join(", "))
            }
        }
    }
}

fn is_first_child_uncommented(node: &Node) -> bool {
    let first = match &node.value {
        Value::Map(entries) => entries.first().map(|entry| &entry.value),
        Value::List(items) => items.first(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    };
    first.is_none_or(|first| first.comments.above.is_empty())
}

/// Returns the bytes of a value, or `None` if the value or anything in it was rewritten.
fn unchanged_bytes(node: &Node) -> Option<std::ops::Range<usize>> {
    let is_unchanged_below = match &node.value {
        Value::Map(entries) => {
            entries.iter().all(|entry| entry.source.is_some() && unchanged_bytes(&entry.value).is_some())
        }
        Value::List(items) => items.iter().all(|item| unchanged_bytes(item).is_some()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => true,
    };
    node.source.clone().filter(|_| is_unchanged_below)
}

fn has_comments_inside(node: &Node) -> bool {
    let has_comments = |child: &Node| child.comments.has_comments() || has_comments_inside(child);
    match &node.value {
        Value::Map(entries) => {
            node.comments.header.is_some() || entries.iter().any(|entry| has_comments(&entry.value))
        }
        Value::List(items) => node.comments.header.is_some() || items.iter().any(has_comments),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => false,
    }
}

/// Returns the comment after the last line of a value.
fn last_right(node: &Node) -> Option<&str> {
    let last = match &node.value {
        Value::Map(entries) => entries.last().map(|entry| &entry.value),
        Value::List(items) => items.last(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => None,
    };
    match last.filter(|_| node.style == Style::Block) {
        Some(last) => last_right(last),
        None if node.style == Style::BlockScalar => None,
        None => node.comments.right.as_deref(),
    }
}

/// Writes a text as a scalar: in double quotes unless every YAML parser reads the bare word as text.
fn scalar_text(text: &str) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let is_bare = text.chars().all(word)
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '.' | '/' | '_'))
        && matches!(scalar::parse_plain(text), Value::Text(_))
        && !["yes", "no", "on", "off", "y", "n", "true", "false", "null"]
            .contains(&text.to_lowercase().as_str())
        && text != ".";
    if is_bare { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}
