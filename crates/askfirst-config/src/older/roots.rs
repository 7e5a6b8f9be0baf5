//! Rewrites the approvals of roots: `write_approval`, `read_approval`, and `tool_rules` about the sandbox.

use askfirst::Approval;

use super::{ReportedError, Rewriter, approval_node, approval_of, required_if, section};
use crate::node::{Entry, Node, Position, Value};
use crate::quote::escape;

/// The older keys of a root, each with the approval that it sets.
const OLD_ROOT_KEYS: [(&str, &str); 3] =
    [("write_approval", "write"), ("read_approval", "read"), ("require_read_approval", "read")];

impl Rewriter<'_> {
    pub(super) fn rewrite_roots(&mut self, root: &mut Node) {
        let paths = root.get_mut("sandbox").and_then(|sandbox| sandbox.get_mut("paths"));
        for path in paths.into_iter().flat_map(Node::children_mut) {
            self.rewrite_root(path);
        }
        let general = root.get_mut("sandbox").and_then(|sandbox| sandbox.take("require_read_approval"));
        if let Some(entry) = general
            && let Some(yes) = self.read_boolean(&entry)
        {
            let approval = required_if(yes);
            self.warn(
                &entry.at,
                &format!("require_read_approval: {yes}"),
                &format!("approval: {{ read: {approval} }}"),
            );
            self.set_on_every_root(root, "read", approval, &entry.at);
        }
    }

    fn rewrite_root(&mut self, path: &mut Node) {
        if let Some((yes, at)) =
            path.get("approval").and_then(|node| Some((node.as_bool()?, node.position.clone())))
        {
            let word = required_if(yes);
            self.warn(
                &at,
                &format!("approval: {yes}"),
                &format!("approval: {{ read: {word}, write: {word} }}"),
            );
            let mut map = Node::generated(Value::Map(Vec::new()), &at);
            map.put("read", approval_node(word, &at));
            map.put("write", approval_node(word, &at));
            path.put("approval", map);
        }
        if let Some(approval) = path.get_mut("approval") {
            for key in ["read", "write", "attach"] {
                if let Some(node) = approval.get_mut(key) {
                    self.rewrite_boolean(node, key);
                }
            }
        }
        for (old, new) in OLD_ROOT_KEYS {
            let Some(entry) = path.entry(old).cloned() else { continue };
            if let Some(yes) = self.read_boolean(&entry) {
                let word = required_if(yes);
                self.warn(&entry.at, &format!("{old}: {yes}"), &format!("approval: {{ {new}: {word} }}"));
                self.replace_key(path, &entry, new, word);
            }
            path.take(old);
        }
    }

    /// Sets an approval instead of an older key, or in the existing `approval` map.
    fn replace_key(&mut self, path: &mut Node, old: &Entry, key: &str, approval: Approval) {
        if let Some(approval) = path.get_mut("approval") {
            approval.comments.join(old.value.comments.clone());
        } else {
            let mut map = Node::generated(Value::Map(Vec::new()), &old.at);
            map.comments = old.value.comments.clone();
            let at = path.entries().iter().position(|entry| entry.key == old.key).unwrap_or_default();
            let entry = Entry { key: "approval".to_owned(), at: old.at.clone(), source: None, value: map };
            if let Some(entries) = path.entries_mut() {
                entries.insert(at, entry);
            }
        }
        set_stricter(path, key, approval, &old.at);
    }

    /// Sets an approval in every root that does not have a stricter one.
    pub(super) fn set_on_every_root(
        &mut self,
        root: &mut Node,
        key: &str,
        approval: Approval,
        at: &Position,
    ) {
        let paths = root.get_mut("sandbox").and_then(|sandbox| sandbox.get_mut("paths"));
        let mut found = false;
        for path in paths.into_iter().flat_map(Node::children_mut).filter(|path| path.is_map()) {
            found = true;
            set_stricter(path, key, approval, at);
        }
        if !found && approval > Approval::None {
            let message = format!("this sets `{key}: {approval}` for all roots, but there are no roots");
            self.fault(at, message, "define the roots under `sandbox.paths`");
        }
    }

    /// Rewrites `tool_rules`: a rule about the sandbox applies to all roots, any other to a tool.
    pub(super) fn rewrite_tool_rules(&mut self, root: &mut Node) {
        let Some(entry) = root.take("tool_rules") else { return };
        if !entry.value.is_map() {
            let message = format!("`tool_rules` must be a map, not {}", entry.value.kind());
            return self.fault(&entry.value.position, message, "write `tools: { NAME: { approval: … } }`");
        }
        for rule in entry.value.entries() {
            let Some(verb) = rule.key.strip_prefix("sandbox.") else {
                self.warn(
                    &rule.at,
                    &format!("tool_rules.{}", rule.key),
                    &format!("tools: {{ {}: … }}", escape(&rule.key)),
                );
                self.add_tool(root, rule.clone());
                continue;
            };
            let key = match verb {
                "read" | "attach" => verb,
                "write" | "edit" | "delete" | "create" | "append" | "move" | "copy" => "write",
                _ => {
                    let message = format!("`tool_rules.{}` has no new spelling", escape(&rule.key));
                    self.fault(&rule.at, message, SET_BY_HAND);
                    continue;
                }
            };
            let Ok(approval) = self.read_sandbox_approval(rule) else { continue };
            let word = approval.map_or("…", Approval::as_str);
            let new = format!("sandbox: {{ paths: {{ NAME: {{ approval: {{ {key}: {word} }} }} }} }}");
            self.warn(&rule.at, &format!("tool_rules.{}", rule.key), &new);
            if let Some(approval) = approval {
                self.set_on_every_root(root, key, approval, &rule.at);
            }
        }
    }

    /// Rewrites an approval value in `tool_rules` to a map with `approval`.
    pub(super) fn rewrite_words(&mut self, root: &mut Node) {
        for rule in root.get_mut("tool_rules").into_iter().flat_map(Node::children_mut) {
            if let Some(approval) = approval_of(rule) {
                let mut map = Node::generated(Value::Map(Vec::new()), &rule.position);
                map.put("approval", approval_node(approval, &rule.position));
                map.comments = std::mem::take(&mut rule.comments);
                *rule = map;
            }
        }
    }

    /// Returns the approval of a rule about the sandbox, if it sets one.
    ///
    /// Reports any other key, because it has no new spelling, and then returns an error.
    fn read_sandbox_approval(&mut self, rule: &Entry) -> Result<Option<Approval>, ReportedError> {
        let (name, hint) = (escape(&rule.key), SET_BY_HAND);
        if !rule.value.is_map() && !rule.value.is_null() {
            let message = format!("`{name}` must be a map with `approval`, not {}", rule.value.kind());
            self.fault(&rule.value.position, message, hint);
            return Err(ReportedError);
        }
        let is_known = |key: &str| key == "approval" || super::approvals::OLD_KEYS.contains(&key);
        let mut others = rule.value.entries().iter().filter(|entry| !is_known(&entry.key)).peekable();
        if others.peek().is_some() {
            for entry in others {
                let message = format!("`{}` has no new spelling in `{name}`", escape(&entry.key));
                self.fault(&entry.at, message, hint);
            }
            return Err(ReportedError);
        }
        match rule.value.get("approval") {
            Some(value) if !value.is_null() => {
                let approval = approval_of(value);
                if approval.is_none() {
                    self.report_invalid_approval(value);
                }
                approval.map(Some).ok_or(ReportedError)
            }
            Some(_) | None => Ok(None),
        }
    }
}

/// The hint for a rule about the sandbox that cannot be rewritten.
const SET_BY_HAND: &str = "set `sandbox.paths.NAME.approval` by hand";

/// Sets an approval of one root unless it has a stricter one.
fn set_stricter(path: &mut Node, key: &str, approval: Approval, at: &Position) {
    let Some(map) = section(path, "approval", at) else { return };
    let strictest = match map.get(key) {
        None => approval,
        Some(kept) => match approval_of(kept) {
            Some(kept) if kept < approval => approval,
            // Already as strict, or not an approval, which the checker reports.
            Some(_) | None => return,
        },
    };
    if map.source.is_none() && map.entries().is_empty() {
        map.style = crate::node::Style::Flow;
    }
    map.put(key, approval_node(strictest, at));
}
