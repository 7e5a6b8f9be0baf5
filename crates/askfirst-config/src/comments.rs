//! Comments, put beside the values that they are about, so that they move with them.

use super::file::{Comment, Tree};
use super::node::{Node, Notes, Style, Value};

/// Puts every comment of a tree beside a value.
pub(crate) fn attach(tree: &mut Tree, text: &str) {
    let comments = std::mem::take(&mut tree.comments);
    let mut placing = Placing { text, comments: comments.into_iter().peekable() };
    placing.within(&mut tree.root);
    // What is left stands below everything.
    let rest = placing.before(usize::MAX);
    for comment in rest {
        if placing.blank_above(comment.start) {
            tree.root.notes.below.push(String::new());
        }
        tree.root.notes.below.push(comment.text);
    }
}

struct Placing<'a> {
    text: &'a str,
    comments: std::iter::Peekable<std::vec::IntoIter<Comment>>,
}

impl Placing<'_> {
    fn before(&mut self, end: usize) -> Vec<Comment> {
        let mut found = Vec::new();
        while let Some(comment) = self.comments.next_if(|comment| comment.start < end) {
            found.push(comment);
        }
        found
    }

    /// Whether something stands before a comment on its line.
    fn beside(&self, comment: &Comment) -> bool {
        let before = self.text.get(..comment.start).unwrap_or_default();
        !before.rsplit('\n').next().unwrap_or_default().trim().is_empty()
    }

    fn blank_above(&self, start: usize) -> bool {
        let mut lines = self.text.get(..start).unwrap_or_default().rsplit('\n');
        lines.next();
        lines.next().is_some_and(|line| line.trim().is_empty()) && start > 0
    }

    fn within(&mut self, node: &mut Node) {
        let mut children: Vec<(usize, &mut Node)> = match &mut node.value {
            Value::Map(entries) => entries.iter_mut().map(|e| (e.at.span.start, &mut e.value)).collect(),
            Value::List(items) => items.iter_mut().map(|item| (item.place.span.start, item)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => return,
        };
        let mut previous: Option<&mut Node> = None;
        for (start, child) in children.drain(..) {
            let mut above = Vec::new();
            let mut first = start;
            for comment in self.before(start) {
                match (self.beside(&comment), previous.as_deref_mut()) {
                    (true, Some(previous)) if above.is_empty() => add_right(previous, comment.text),
                    (true, None) if above.is_empty() => join(&mut node.notes.header, comment.text),
                    _ => {
                        if !above.is_empty() && self.blank_above(comment.start) {
                            above.push(String::new());
                        }
                        first = first.min(comment.start);
                        above.push(comment.text);
                    }
                }
            }
            if !above.is_empty() && self.blank_above(start) {
                above.push(String::new());
            }
            child.notes.blank_above = self.blank_above(first);
            child.notes.above.extend(above);
            self.within(child);
            // What stands inside of a value without children, such as behind the bracket of an empty list.
            for comment in self.before(child.place.span.end) {
                join(&mut child.notes.right, comment.text);
            }
            previous = Some(child);
        }
        self.behind(&mut node.notes, node.style, node.place.span.end, previous);
    }

    /// Comments behind the last child, on its line or before the closing bracket.
    fn behind(&mut self, notes: &mut Notes, style: Style, end: usize, last: Option<&mut Node>) {
        let Some(last) = last else { return };
        if let Some(comment) = self.comments.peek().cloned()
            && self.beside(&comment)
            && same_line(self.text, last.place.span.end, comment.start)
            && (style == Style::Block || comment.start < end)
            && let Some(comment) = self.comments.next()
        {
            add_right(last, comment.text);
        }
        if style == Style::Flow {
            notes.below.extend(self.before(end).into_iter().map(|comment| comment.text));
        }
    }
}

fn same_line(text: &str, from: usize, to: usize) -> bool {
    text.get(from..to).is_some_and(|between| !between.contains('\n'))
}

/// Behind a value; behind the last line of a block, if it is one.
fn add_right(node: &mut Node, comment: String) {
    let block = node.style == Style::Block;
    match &mut node.value {
        Value::Map(entries) if block && !entries.is_empty() => {
            entries.last_mut().into_iter().for_each(|last| add_right(&mut last.value, comment.clone()));
        }
        Value::List(items) if block && !items.is_empty() => {
            items.last_mut().into_iter().for_each(|last| add_right(last, comment.clone()));
        }
        Value::Map(_) | Value::List(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
            join(&mut node.notes.right, comment);
        }
    }
}

fn join(kept: &mut Option<String>, comment: String) {
    match kept {
        Some(kept) => {
            kept.push(' ');
            kept.push_str(&comment);
        }
        None => *kept = Some(comment),
    }
}
