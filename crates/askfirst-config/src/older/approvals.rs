//! Approvals as booleans and as actions.

use askfirst::Approval;

use super::{Older, approval_node, approval_of, rename, required_if};
use crate::node::{Node, Value};
use crate::quote::one_of;
use crate::read::Dialect;

pub(super) const OLD: [&str; 4] = ["approval_required", "allowed", "action", "pre_approved"];

/// Whether an entry is about a tool, whose keys a program's own data may hand on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    Tool,
    Command,
}

impl Older<'_> {
    /// Every place where an approval may stand, old and new.
    pub(super) fn approvals(&mut self, root: &mut Node) {
        if let Some(node) = root.get_mut("default_approval") {
            self.boolean_word(node, "default_approval");
        }
        for key in ["tools", "tool_configs", "custom_tools", "tool_rules"] {
            for entry in root.get_mut(key).into_iter().flat_map(Node::children_mut) {
                match entry.value {
                    Value::List(_) => entry.children_mut().for_each(|case| self.case(case, About::Tool)),
                    Value::Map(_) => self.case(entry, About::Tool),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
                }
            }
        }
        if let Some(node) = root.get_mut("shell_default") {
            self.case(node, About::Command);
        }
        if let Some(node) = root.get_mut("shell_rules") {
            node.children_mut().for_each(|rule| self.case(rule, About::Command));
        }
        if let Some(shell) = root.get_mut("shell") {
            if let Some(node) = shell.get_mut("default") {
                self.case(node, About::Command);
            }
            if let Some(node) = shell.get_mut("rules") {
                node.children_mut().for_each(|rule| self.case(rule, About::Command));
            }
        }
    }

    /// A boolean where an approval belongs.
    pub(super) fn boolean_word(&mut self, node: &mut Node, key: &str) {
        if let Some(yes) = node.as_bool() {
            let approval = required_if(yes);
            self.warn(&node.place, &format!("{key}: {yes}"), &format!("{key}: {approval}"));
            let notes = std::mem::take(&mut node.notes);
            *node = approval_node(approval, &node.place);
            node.notes = notes;
        }
    }

    /// One case: whatever speaks about approval becomes one `approval`, the strictest of it.
    fn case(&mut self, node: &mut Node, about: About) {
        if let Some(approval) = node.get_mut("approval") {
            self.boolean_word(approval, "approval");
        }
        let mut said = Vec::new();
        for key in OLD {
            if key == "pre_approved" && about == About::Command {
                continue;
            }
            let Some(entry) = node.entry(key).cloned() else { continue };
            let Some(approval) = self.statement(&entry) else {
                // It has been reported; it need not be unknown as well.
                node.take(key);
                continue;
            };
            let old = format!("{key}: {}", entry.value.brief());
            match approval {
                Some(approval) => self.warn(&entry.at, &old, &format!("approval: {approval}")),
                None => self.warn_with(&entry.at, &old, "leave it out: `approval` alone decides".to_owned()),
            }
            said.push((key, approval));
        }
        if said.is_empty() {
            return;
        }
        let strictest = said.iter().filter_map(|(_, approval)| *approval).max();
        let kept = node.get("approval").map(|found| (found.is_null(), approval_of(found)));
        match (kept, strictest) {
            // What is no approval is left for the check to report.
            (Some((false, None)), _) | (_, None) => {}
            (Some((true, _)), Some(Approval::None)) => {}
            (Some((false, Some(kept))), Some(strictest)) if kept >= strictest => {}
            (Some(_), Some(strictest)) => {
                let place = node.place.clone();
                node.put("approval", approval_node(strictest, &place));
            }
            (None, Some(strictest)) => self.in_place(node, &said, strictest),
        }
        if self.dialect == Dialect::File || about == About::Command {
            for (key, _) in said {
                let notes = node.take(key).map(|entry| entry.value.notes);
                if let (Some(notes), Some(approval)) = (notes, node.get_mut("approval")) {
                    approval.notes.join(notes);
                }
            }
        }
    }

    /// The new key where the first old one stands, with its comments.
    fn in_place(&self, node: &mut Node, said: &[(&str, Option<Approval>)], approval: Approval) {
        let first = node.entries().iter().find(|entry| said.iter().any(|(key, _)| *key == entry.key));
        let Some((key, at)) = first.map(|entry| (entry.key.clone(), entry.at.clone())) else { return };
        if self.dialect == Dialect::File {
            rename(node, &key, "approval");
        }
        node.put("approval", approval_node(approval, &at));
    }

    /// What stands where an approval belongs is none.
    pub(super) fn no_approval(&mut self, node: &Node) {
        let words = one_of(Approval::ALL.map(Approval::as_str));
        let message = format!("`approval` must be {words}, not `{}`", node.brief());
        self.fault(&node.place, message, "this stands in an older section; see `approval`");
    }

    /// What an old key says: nothing at all, nothing about approval, or an approval.
    fn statement(&mut self, entry: &crate::node::Entry) -> Option<Option<Approval>> {
        match entry.key.as_str() {
            "approval_required" => self.boolean(entry).map(|yes| Some(required_if(yes))),
            "pre_approved" => self.boolean(entry).map(|yes| Some(required_if(!yes))),
            "allowed" => self.boolean(entry).map(|yes| (!yes).then_some(Approval::Deny)),
            _ => match entry.value.as_text() {
                Some("deny") => Some(Some(Approval::Deny)),
                Some("approve") => Some(Some(Approval::Required)),
                Some(_) | None => {
                    let message =
                        format!("`action` must be `approve` or `deny`, not `{}`", entry.value.brief());
                    self.fault(&entry.value.place, message, "write `approval` instead");
                    None
                }
            },
        }
    }
}
