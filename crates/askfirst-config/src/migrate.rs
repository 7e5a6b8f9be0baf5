//! Rewrites the older spellings in a config text. Keeps comments, the order of keys, and everything else.

use std::collections::HashMap;
use std::path::Path;

use super::comments;
use super::emit;
use super::fault::{Fault, Faults};
use super::file::{self, Comment};
use super::node::{Entry, Node, Position, Source, Value};
use super::older;
use super::read::{Dialect, MISSING_VERSION};

/// The result of rewriting a config text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// The rewritten text.
    pub text: String,
    /// One warning for each spelling that was rewritten.
    pub changes: Vec<Fault>,
}

/// Rewrites the older spellings in a config text. Returns a text without older spellings unchanged.
///
/// # Errors
/// Fails if the text is not valid YAML, or if it has duplicate keys.
/// Also fails if two spellings of one setting cannot be merged, or if a rewritten text has aliases.
pub fn migrate(text: &str, file: &Path) -> Result<Migration, Faults> {
    if text.contains("\r\n") {
        let migrated = migrate(&text.replace("\r\n", "\n"), file)?;
        let text =
            if migrated.changes.is_empty() { text.to_owned() } else { migrated.text.replace('\n', "\r\n") };
        return Ok(Migration { text, ..migrated });
    }
    let source = Source::new(file, text);
    let mut tree = file::parse(&source).map_err(|fault| Faults(vec![fault]))?;
    let written = tree.comments.clone();
    comments::attach(&mut tree, text);
    let mut rewritten = older::rewrite(&mut tree.root, &source, Dialect::File);
    let mut faults = std::mem::take(&mut tree.faults);
    faults.append(&mut rewritten.faults);
    let mut changes = rewritten.warnings;
    let mut root = tree.root;
    if root.get("version").is_none() && (root.is_map() || root.is_null()) {
        let mut fault = source.fault(&Position::start(), MISSING_VERSION);
        fault.hint = Some("add `version: 1`".to_owned());
        changes.insert(0, fault);
        add_version(&mut root);
    }
    if tree.has_aliases && !changes.is_empty() {
        let mut fault = source.fault(&Position::start(), "cannot rewrite a config that uses YAML aliases");
        fault.hint = Some("replace each alias with the value it refers to".to_owned());
        faults.push(fault);
    }
    if !faults.is_empty() {
        faults.sort_by_key(|fault| (fault.line, fault.column));
        return Err(Faults(faults));
    }
    if changes.is_empty() {
        return Ok(Migration { text: text.to_owned(), changes });
    }
    let mut new = emit::emit(&root, &source.text);
    let broken = || {
        let mut fault =
            source.fault(&Position::start(), "cannot rewrite this config without changing its meaning");
        fault.hint = Some("first fix the errors that `askfirst effective` reports".to_owned());
        Faults(vec![fault])
    };
    let kept = file::parse(&Source::new(file, &new)).map_err(|_| broken())?;
    // Comments whose value is gone are added at the end.
    for comment in lost_comments(written, kept.comments) {
        new.push_str(&comment);
        new.push('\n');
    }
    match file::parse(&Source::new(file, &new)) {
        Ok(tree) if tree.faults.is_empty() && tree.root.to_json() == root.to_json() => {
            Ok(Migration { text: new, changes })
        }
        Ok(_) | Err(_) => Err(broken()),
    }
}

/// Returns the comments of the old text that the new text does not have.
fn lost_comments(written: Vec<Comment>, kept: Vec<Comment>) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for comment in kept {
        *counts.entry(comment.text).or_default() += 1;
    }
    let mut missing: Vec<String> = Vec::new();
    for comment in written {
        match counts.get_mut(&comment.text) {
            Some(count @ 1..) => *count -= 1,
            Some(_) | None => missing.push(comment.text),
        }
    }
    // Two comments that moved to the same line are one comment in the new text.
    let mut joined: Vec<String> =
        counts.into_iter().flat_map(|(text, count)| std::iter::repeat_n(text, count)).collect();
    missing.retain(|comment| !joined.iter_mut().any(|text| remove_from_line(text, comment)));
    missing
}

/// Removes a comment from a line of joined comments. Returns true if the line contained it.
fn remove_from_line(joined: &mut String, comment: &str) -> bool {
    let rest = joined.match_indices(comment).find_map(|(at, _)| {
        let (before, after) = (joined.get(..at)?, joined.get(at + comment.len()..)?);
        let is_start = before.is_empty() || before.ends_with(' ');
        let is_end = after.is_empty() || after.starts_with(" #");
        (is_start && is_end).then(|| format!("{}{after}", before.trim_end()).trim().to_owned())
    });
    rest.map(|rest| *joined = rest).is_some()
}

fn add_version(root: &mut Node) {
    if root.is_null() {
        root.value = Value::Map(Vec::new());
    }
    let position = Position::start();
    let mut value = Node::generated(Value::Number(1.into()), &position);
    if let Some(entries) = root.entries_mut() {
        // Comments that a blank line separates from the first key describe the whole file.
        if let Some(first) = entries.first_mut()
            && let Some(blank) = first.value.comments.above.iter().rposition(String::is_empty)
        {
            value.comments.above = first.value.comments.above.drain(..=blank).collect();
        }
        entries.insert(0, Entry { key: "version".to_owned(), at: position, source: None, value });
    }
}

#[cfg(test)]
#[path = "migrate/tests.rs"]
mod tests;
