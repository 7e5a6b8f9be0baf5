//! Attaches each comment to the value that it describes, so that `migrate` moves both together.

use super::file::{Comment, Tree};
use super::node::{Comments, Node, Style, Value};

/// Attaches every comment of a tree to a value.
pub(crate) fn attach(tree: &mut Tree, text: &str) {
    let comments = std::mem::take(&mut tree.comments);
    let mut placer = CommentPlacer { text, comments: comments.into_iter().peekable() };
    placer.attach_inside(&mut tree.root);
    // The remaining comments are below the last value.
    let rest = placer.take_before(usize::MAX);
    for comment in rest {
        if placer.has_blank_line_above(comment.start) {
            tree.root.comments.below.push(String::new());
        }
        tree.root.comments.below.push(comment.text);
    }
}

struct CommentPlacer<'a> {
    text: &'a str,
    comments: std::iter::Peekable<std::vec::IntoIter<Comment>>,
}

impl CommentPlacer<'_> {
    fn take_before(&mut self, end: usize) -> Vec<Comment> {
        let mut found = Vec::new();
        while let Some(comment) = self.comments.next_if(|comment| comment.start < end) {
            found.push(comment);
        }
        found
    }

    /// Returns true if a comment has something before it on the same line.
    fn is_beside_value(&self, comment: &Comment) -> bool {
        let before = self.text.get(..comment.start).unwrap_or_default();
        !before.rsplit('\n').next().unwrap_or_default().trim().is_empty()
    }

    fn has_blank_line_above(&self, start: usize) -> bool {
        let mut lines = self.text.get(..start).unwrap_or_default().rsplit('\n');
        lines.next();
        lines.next().is_some_and(|line| line.trim().is_empty()) && start > 0
    }

    fn attach_inside(&mut self, node: &mut Node) {
        let mut children: Vec<(usize, &mut Node)> = match &mut node.value {
            Value::Map(entries) => entries.iter_mut().map(|e| (e.at.span.start, &mut e.value)).collect(),
            Value::List(items) => items.iter_mut().map(|item| (item.position.span.start, item)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => return,
        };
        let mut previous: Option<&mut Node> = None;
        for (start, child) in children.drain(..) {
            let mut above = Vec::new();
            let mut first = start;
            for comment in self.take_before(start) {
                match (self.is_beside_value(&comment), previous.as_deref_mut()) {
                    (true, Some(previous)) if above.is_empty() => add_right(previous, comment.text),
                    (true, None) if above.is_empty() => join(&mut node.comments.header, comment.text),
                    _ => {
                        if !above.is_empty() && self.has_blank_line_above(comment.start) {
                            above.push(String::new());
                        }
                        first = first.min(comment.start);
                        above.push(comment.text);
                    }
                }
            }
            if !above.is_empty() && self.has_blank_line_above(start) {
                above.push(String::new());
            }
            child.comments.blank_above = self.has_blank_line_above(first);
            child.comments.above.extend(above);
            self.attach_inside(child);
            // Comments inside a value without children, such as an empty list.
            for comment in self.take_before(child.position.span.end) {
                join(&mut child.comments.right, comment.text);
            }
            previous = Some(child);
        }
        self.attach_after_last(&mut node.comments, node.style, node.position.span.end, previous);
    }

    /// Attaches the comments after the last child: those on its line, and those before the closing bracket.
    fn attach_after_last(
        &mut self,
        comments: &mut Comments,
        style: Style,
        end: usize,
        last: Option<&mut Node>,
    ) {
        let Some(last) = last else { return };
        if let Some(comment) = self.comments.peek().cloned()
            && self.is_beside_value(&comment)
            && is_same_line(self.text, last.position.span.end, comment.start)
            && (style == Style::Block || comment.start < end)
            && let Some(comment) = self.comments.next()
        {
            add_right(last, comment.text);
        }
        if style == Style::Flow {
            comments.below.extend(self.take_before(end).into_iter().map(|comment| comment.text));
        }
    }
}

fn is_same_line(text: &str, from: usize, to: usize) -> bool {
    text.get(from..to).is_some_and(|between| !between.contains('\n'))
}

/// Adds a comment to the right of a value or, for a block, to the right of its last line.
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
            join(&mut node.comments.right, comment);
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
