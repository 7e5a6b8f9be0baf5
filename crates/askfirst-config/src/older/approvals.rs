//! Rewrites approvals that are written as booleans or as actions.

use askfirst::Approval;

use super::{ReportedError, Rewriter, approval_node, approval_of, rename, required_if};
use crate::node::{Node, Value};
use crate::quote::join_or;
use crate::read::Dialect;

/// The older keys that set an approval.
pub(super) const OLD_KEYS: [&str; 4] = ["approval_required", "allowed", "action", "pre_approved"];

/// The target of an entry. Only a tool entry may pass unknown keys to an override.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    Tool,
    Command,
}

impl Rewriter<'_> {
    /// Rewrites the approvals in all sections, old and new.
    pub(super) fn rewrite_approvals(&mut self, root: &mut Node) {
        if let Some(node) = root.get_mut("default_approval") {
            self.rewrite_boolean(node, "default_approval");
        }
        for key in ["tools", "tool_configs", "custom_tools", "tool_rules"] {
            for entry in root.get_mut(key).into_iter().flat_map(Node::children_mut) {
                match entry.value {
                    Value::List(_) => {
                        entry.children_mut().for_each(|case| self.rewrite_case(case, Subject::Tool))
                    }
                    Value::Map(_) => self.rewrite_case(entry, Subject::Tool),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
                }
            }
        }
        if let Some(node) = root.get_mut("shell_default") {
            self.rewrite_case(node, Subject::Command);
        }
        if let Some(node) = root.get_mut("shell_rules") {
            node.children_mut().for_each(|rule| self.rewrite_case(rule, Subject::Command));
        }
        if let Some(shell) = root.get_mut("shell") {
            if let Some(node) = shell.get_mut("default") {
                self.rewrite_case(node, Subject::Command);
            }
            if let Some(node) = shell.get_mut("rules") {
                node.children_mut().for_each(|rule| self.rewrite_case(rule, Subject::Command));
            }
        }
    }

    /// Rewrites a boolean that is used as an approval value.
    pub(super) fn rewrite_boolean(&mut self, node: &mut Node, key: &str) {
        if let Some(yes) = node.as_bool() {
            let approval = required_if(yes);
            self.warn(&node.position, &format!("{key}: {yes}"), &format!("{key}: {approval}"));
            let comments = std::mem::take(&mut node.comments);
            *node = approval_node(approval, &node.position);
            node.comments = comments;
        }
    }

    /// Rewrites one case: all keys that set an approval become one `approval` with the strictest value.
    fn rewrite_case(&mut self, node: &mut Node, about: Subject) {
        if let Some(approval) = node.get_mut("approval") {
            self.rewrite_boolean(approval, "approval");
        }
        let mut old_values = Vec::new();
        for key in OLD_KEYS {
            if key == "pre_approved" && about == Subject::Command {
                continue;
            }
            let Some(entry) = node.entry(key).cloned() else { continue };
            let Ok(approval) = self.read_old_approval(&entry) else {
                // Removed, so that the reader does not report the key as unknown too.
                node.take(key);
                continue;
            };
            let old = format!("{key}: {}", entry.value.brief());
            match approval {
                Some(approval) => self.warn(&entry.at, &old, &format!("approval: {approval}")),
                None => self.warn_with(&entry.at, &old, "remove it: `approval` alone decides".to_owned()),
            }
            old_values.push((key, approval));
        }
        if old_values.is_empty() {
            return;
        }
        let strictest = old_values.iter().filter_map(|(_, approval)| *approval).max();
        let kept = node.get("approval").map(|found| (found.is_null(), approval_of(found)));
        match (kept, strictest) {
            // The checker reports a value that is not an approval.
            (Some((false, None)), _) | (_, None) => {}
            (Some((true, _)), Some(Approval::None)) => {}
            (Some((false, Some(kept))), Some(strictest)) if kept >= strictest => {}
            (Some(_), Some(strictest)) => {
                let position = node.position.clone();
                node.put("approval", approval_node(strictest, &position));
            }
            (None, Some(strictest)) => self.replace_first(node, &old_values, strictest),
        }
        if self.dialect == Dialect::File || about == Subject::Command {
            for (key, _) in old_values {
                let comments = node.take(key).map(|entry| entry.value.comments);
                if let (Some(comments), Some(approval)) = (comments, node.get_mut("approval")) {
                    approval.comments.join(comments);
                }
            }
        }
    }

    /// Replaces the first of the old keys by `approval`, and keeps its comments.
    fn replace_first(&self, node: &mut Node, old_values: &[(&str, Option<Approval>)], approval: Approval) {
        let first = node.entries().iter().find(|entry| old_values.iter().any(|(key, _)| *key == entry.key));
        let Some((key, at)) = first.map(|entry| (entry.key.clone(), entry.at.clone())) else { return };
        if self.dialect == Dialect::File {
            rename(node, &key, "approval");
        }
        node.put("approval", approval_node(approval, &at));
    }

    /// Reports a value in an older section that is not an approval.
    pub(super) fn report_invalid_approval(&mut self, node: &Node) {
        let words = join_or(Approval::ALL.map(Approval::as_str));
        let message = format!("`approval` must be {words}, not `{}`", node.brief());
        self.fault(&node.position, message, "an older section takes the same approval values as `tools`");
    }

    /// Returns the approval that an older key sets, or `None` if its value sets no approval.
    ///
    /// Reports an invalid value, and then returns an error.
    fn read_old_approval(&mut self, entry: &crate::node::Entry) -> Result<Option<Approval>, ReportedError> {
        let boolean = |this: &mut Self| this.read_boolean(entry).ok_or(ReportedError);
        match entry.key.as_str() {
            "approval_required" => boolean(self).map(|yes| Some(required_if(yes))),
            "pre_approved" => boolean(self).map(|yes| Some(required_if(!yes))),
            "allowed" => boolean(self).map(|yes| (!yes).then_some(Approval::Deny)),
            _ => match entry.value.as_text() {
                Some("deny") => Ok(Some(Approval::Deny)),
                Some("approve") => Ok(Some(Approval::Required)),
                Some(_) | None => {
                    let message =
                        format!("`action` must be `approve` or `deny`, not `{}`", entry.value.brief());
                    self.fault(&entry.value.position, message, "use `approval` instead");
                    Err(ReportedError)
                }
            },
        }
    }
}
