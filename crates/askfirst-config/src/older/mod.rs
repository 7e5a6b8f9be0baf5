//! Rewrites older spellings in the tree before it is read, with a warning that shows the new spelling.
//!
//! If an old and a new spelling set the same value, the stricter one wins.
//! If neither is clearly stricter, that is an error. A rewrite never makes a config looser.

mod approvals;
mod roots;
mod sections;
mod tools;

use askfirst::Approval;

use super::fault::Fault;
use super::node::{Entry, Node, Position, Source, Value};
use super::quote::escape;
use super::read::Dialect;

/// The warnings and errors of a rewrite.
#[derive(Debug, Default)]
pub(crate) struct RewriteReport {
    pub(crate) warnings: Vec<Fault>,
    pub(crate) faults: Vec<Fault>,
}

/// Rewrites every older spelling in a tree.
pub(crate) fn rewrite(root: &mut Node, source: &Source, dialect: Dialect) -> RewriteReport {
    let mut rewriter = Rewriter { source, dialect, report: RewriteReport::default() };
    if root.is_map() {
        rewriter.rewrite_words(root);
        rewriter.rewrite_approvals(root);
        rewriter.rewrite_names(root);
        rewriter.rewrite_sections(root);
        // The keys of a single root come first, then the keys that apply to all roots.
        rewriter.rewrite_roots(root);
        rewriter.rewrite_tool_rules(root);
        rewriter.rewrite_tool_entries(root);
        rewriter.rewrite_pre_approved(root);
    }
    rewriter.report.warnings.sort_by_key(|fault| (fault.line, fault.column));
    rewriter.report
}

/// Says that an error has been added to the report.
#[derive(Debug)]
struct ReportedError;

struct Rewriter<'a> {
    source: &'a Source,
    dialect: Dialect,
    report: RewriteReport,
}

impl Rewriter<'_> {
    fn warn(&mut self, position: &Position, old: &str, new: &str) {
        self.warn_with(position, old, format!("write `{new}`"));
    }

    fn warn_with(&mut self, position: &Position, old: &str, hint: String) {
        let mut fault = self.source.fault(position, format!("`{}` is an older spelling", escape(old)));
        fault.hint = Some(hint);
        self.report.warnings.push(fault);
    }

    fn fault(&mut self, position: &Position, message: impl Into<String>, hint: &str) {
        let mut fault = self.source.fault(position, message);
        fault.hint = Some(hint.to_owned());
        self.report.faults.push(fault);
    }

    /// Reads the boolean of an older key, and reports any other type.
    fn read_boolean(&mut self, entry: &Entry) -> Option<bool> {
        let found = entry.value.as_bool();
        if found.is_none() {
            let message = format!("`{}` must be `true` or `false`, not {}", entry.key, entry.value.kind());
            self.fault(&entry.value.position, message, "this is an older spelling; use `approval` instead");
        }
        found
    }
}

/// Returns whether a key of a tool is an older spelling. A [`Dialect::Dict`] config keeps it for an override.
pub(crate) fn is_old_tool_key(key: &str) -> bool {
    approvals::OLD_KEYS.contains(&key) || ["safe_paths", "require_read_approval"].contains(&key)
}

fn required_if(yes: bool) -> Approval {
    if yes { Approval::Required } else { Approval::None }
}

fn approval_of(node: &Node) -> Option<Approval> {
    let word = node.as_text()?;
    Approval::ALL.into_iter().find(|approval| approval.as_str() == word)
}

fn approval_node(approval: Approval, position: &Position) -> Node {
    Node::text(approval.as_str(), position)
}

/// Returns the map of a key, and creates it if the key is missing. Returns `None` for a value of another type.
fn section<'a>(node: &'a mut Node, key: &str, position: &Position) -> Option<&'a mut Node> {
    match node.get(key).map(|found| &found.value) {
        Some(Value::Map(_)) => {}
        None | Some(Value::Null) => node.put(key, Node::generated(Value::Map(Vec::new()), position).block()),
        Some(Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_)) => return None,
    }
    node.get_mut(key)
}

/// Renames a key without moving it.
fn rename(node: &mut Node, old: &str, new: &str) {
    let Some(entries) = node.entries_mut() else { return };
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key == old) {
        new.clone_into(&mut entry.key);
        entry.source = None;
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
mod table;
