//! Older spellings, rewritten in the tree before it is read. Each is warned about with the new one beside it.
//!
//! Where an old and a new spelling speak about the same thing, the stricter holds; where that cannot be told, it is
//! a fault. Nothing here makes a config milder than it was.

mod approvals;
mod roots;
mod sections;
mod tools;

use askfirst::Approval;

use super::fault::Fault;
use super::node::{Entry, Node, Place, Source, Value};
use super::quote::quoted;
use super::read::Dialect;

/// What there is to say about a rewritten tree.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub(crate) warnings: Vec<Fault>,
    pub(crate) faults: Vec<Fault>,
}

/// Replaces every older spelling in a tree.
pub(crate) fn rewrite(root: &mut Node, source: &Source, dialect: Dialect) -> Rewritten {
    let mut older = Older { source, dialect, said: Rewritten::default() };
    if root.is_map() {
        older.words(root);
        older.approvals(root);
        older.names(root);
        older.sections(root);
        // What speaks about all roots comes after what each says by itself.
        older.roots(root);
        older.tool_rules(root);
        older.tool_entries(root);
        older.pre_approved(root);
    }
    older.said.warnings.sort_by_key(|fault| (fault.line, fault.column));
    older.said
}

struct Older<'a> {
    source: &'a Source,
    dialect: Dialect,
    said: Rewritten,
}

impl Older<'_> {
    fn warn(&mut self, place: &Place, old: &str, new: &str) {
        self.warn_with(place, old, format!("write `{new}`"));
    }

    fn warn_with(&mut self, place: &Place, old: &str, hint: String) {
        let mut fault = self.source.fault(place, format!("`{}` is an older spelling", quoted(old)));
        fault.hint = Some(hint);
        self.said.warnings.push(fault);
    }

    fn fault(&mut self, place: &Place, message: impl Into<String>, hint: &str) {
        let mut fault = self.source.fault(place, message);
        fault.hint = Some(hint.to_owned());
        self.said.faults.push(fault);
    }

    /// A boolean that an older key must have.
    fn boolean(&mut self, entry: &Entry) -> Option<bool> {
        let found = entry.value.as_bool();
        if found.is_none() {
            let message = format!("`{}` must be `true` or `false`, not {}", entry.key, entry.value.kind());
            self.fault(&entry.value.place, message, "this is an older spelling; see `approval`");
        }
        found
    }
}

fn required_if(yes: bool) -> Approval {
    if yes { Approval::Required } else { Approval::None }
}

fn approval_of(node: &Node) -> Option<Approval> {
    let word = node.as_text()?;
    Approval::ALL.into_iter().find(|approval| approval.as_str() == word)
}

fn approval_node(approval: Approval, place: &Place) -> Node {
    Node::text(approval.as_str(), place)
}

/// The section under a key, made if it is not there. Nothing if something else stands there.
fn section<'a>(node: &'a mut Node, key: &str, place: &Place) -> Option<&'a mut Node> {
    match node.get(key).map(|found| &found.value) {
        Some(Value::Map(_)) => {}
        None | Some(Value::Null) => node.put(key, Node::made(Value::Map(Vec::new()), place).block()),
        Some(Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_)) => return None,
    }
    node.get_mut(key)
}

/// Renames an entry where it stands.
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
