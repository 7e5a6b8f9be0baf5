//! Rewrites the older spellings of a text. Comments and the order of keys stay; what is not old is not touched.

use std::collections::HashMap;
use std::path::Path;

use super::comments;
use super::emit;
use super::fault::{Fault, Faults};
use super::file::{self, Comment};
use super::node::{Entry, Node, Place, Source, Value};
use super::older;
use super::read::Dialect;

/// A text in today's spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The text.
    pub text: String,
    /// What was rewritten.
    pub changes: Vec<Fault>,
}

/// Rewrites the older spellings of a config's text. A text without any comes back as it is.
///
/// # Errors
/// Fails if the text is not YAML, has a key twice, says something in two spellings that cannot be joined, or uses
/// aliases where something would have to be rewritten.
pub fn migrate(text: &str, file: &Path) -> Result<Migrated, Faults> {
    if text.contains("\r\n") {
        let migrated = migrate(&text.replace("\r\n", "\n"), file)?;
        let text =
            if migrated.changes.is_empty() { text.to_owned() } else { migrated.text.replace('\n', "\r\n") };
        return Ok(Migrated { text, ..migrated });
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
        let mut fault = source.fault(&Place::start(), "there is no `version`");
        fault.hint = Some("write `version: 1`".to_owned());
        changes.insert(0, fault);
        add_version(&mut root);
    }
    if tree.aliases && !changes.is_empty() {
        let mut fault = source.fault(&Place::start(), "a text with aliases cannot be rewritten");
        fault.hint = Some("write out what the aliases name".to_owned());
        faults.push(fault);
    }
    if !faults.is_empty() {
        faults.sort_by_key(|fault| (fault.line, fault.column));
        return Err(Faults(faults));
    }
    if changes.is_empty() {
        return Ok(Migrated { text: text.to_owned(), changes });
    }
    let mut new = emit::emit(&root, &source.text);
    let broken = || {
        let mut fault = source.fault(&Place::start(), "this text cannot be rewritten without breaking it");
        fault.hint = Some("correct what `askfirst effective` says about it first".to_owned());
        Faults(vec![fault])
    };
    let kept = file::parse(&Source::new(file, &new)).map_err(|_| broken())?;
    // The comments of something that is no longer there are kept below.
    for comment in lost(written, kept.comments) {
        new.push_str(&comment);
        new.push('\n');
    }
    match file::parse(&Source::new(file, &new)) {
        Ok(tree) if tree.faults.is_empty() && tree.root.to_json() == root.to_json() => {
            Ok(Migrated { text: new, changes })
        }
        Ok(_) | Err(_) => Err(broken()),
    }
}

/// The comments that are not in a text any more.
fn lost(written: Vec<Comment>, kept: Vec<Comment>) -> Vec<String> {
    let mut there: HashMap<String, usize> = HashMap::new();
    for comment in kept {
        *there.entry(comment.text).or_default() += 1;
    }
    let mut missing: Vec<String> = Vec::new();
    for comment in written {
        match there.get_mut(&comment.text) {
            Some(count @ 1..) => *count -= 1,
            Some(_) | None => missing.push(comment.text),
        }
    }
    // Two that stand on one line now are one.
    let mut joined: Vec<String> =
        there.into_iter().flat_map(|(text, count)| std::iter::repeat_n(text, count)).collect();
    missing.retain(|comment| !joined.iter_mut().any(|text| take_out(text, comment)));
    missing
}

/// Takes a comment out of those that stand on one line. Says whether it was one of them.
fn take_out(joined: &mut String, comment: &str) -> bool {
    let rest = joined.match_indices(comment).find_map(|(at, _)| {
        let (before, after) = (joined.get(..at)?, joined.get(at + comment.len()..)?);
        let begins = before.is_empty() || before.ends_with(' ');
        let ends = after.is_empty() || after.starts_with(" #");
        (begins && ends).then(|| format!("{}{after}", before.trim_end()).trim().to_owned())
    });
    rest.map(|rest| *joined = rest).is_some()
}

fn add_version(root: &mut Node) {
    if root.is_null() {
        root.value = Value::Map(Vec::new());
    }
    let place = Place::start();
    let mut value = Node::made(Value::Number(1.into()), &place);
    if let Some(entries) = root.entries_mut() {
        // What stands apart from the first key is about the whole file.
        if let Some(first) = entries.first_mut()
            && let Some(blank) = first.value.notes.above.iter().rposition(String::is_empty)
        {
            value.notes.above = first.value.notes.above.drain(..=blank).collect();
        }
        entries.insert(0, Entry { key: "version".to_owned(), at: place, source: None, value });
    }
}

#[cfg(test)]
#[path = "migrate/tests.rs"]
mod tests;
