//! Approvals of roots: `write_approval`, `read_approval`, and `tool_rules` about the sandbox.

use askfirst::Approval;

use super::{Older, approval_node, approval_of, required_if, section};
use crate::node::{Entry, Node, Place, Value};
use crate::quote::quoted;

const OLD: [(&str, &str); 3] =
    [("write_approval", "write"), ("read_approval", "read"), ("require_read_approval", "read")];

impl Older<'_> {
    pub(super) fn roots(&mut self, root: &mut Node) {
        let paths = root.get_mut("sandbox").and_then(|sandbox| sandbox.get_mut("paths"));
        for path in paths.into_iter().flat_map(Node::children_mut) {
            self.root_approval(path);
        }
        let general = root.get_mut("sandbox").and_then(|sandbox| sandbox.take("require_read_approval"));
        if let Some(entry) = general
            && let Some(yes) = self.boolean(&entry)
        {
            let approval = required_if(yes);
            self.warn(
                &entry.at,
                &format!("require_read_approval: {yes}"),
                &format!("approval: {{ read: {approval} }}"),
            );
            self.on_every_root(root, "read", approval, &entry.at);
        }
    }

    fn root_approval(&mut self, path: &mut Node) {
        if let Some((yes, at)) =
            path.get("approval").and_then(|node| Some((node.as_bool()?, node.place.clone())))
        {
            let word = required_if(yes);
            self.warn(
                &at,
                &format!("approval: {yes}"),
                &format!("approval: {{ read: {word}, write: {word} }}"),
            );
            let mut map = Node::made(Value::Map(Vec::new()), &at);
            map.put("read", approval_node(word, &at));
            map.put("write", approval_node(word, &at));
            path.put("approval", map);
        }
        if let Some(approval) = path.get_mut("approval") {
            for key in ["read", "write", "attach"] {
                if let Some(node) = approval.get_mut(key) {
                    self.boolean_word(node, key);
                }
            }
        }
        for (old, new) in OLD {
            let Some(entry) = path.entry(old).cloned() else { continue };
            if let Some(yes) = self.boolean(&entry) {
                let word = required_if(yes);
                self.warn(&entry.at, &format!("{old}: {yes}"), &format!("approval: {{ {new}: {word} }}"));
                self.replace(path, &entry, new, word);
            }
            path.take(old);
        }
    }

    /// The new key where the old one stands, or in the map that is there already.
    fn replace(&mut self, path: &mut Node, old: &Entry, key: &str, approval: Approval) {
        if let Some(approval) = path.get_mut("approval") {
            approval.notes.join(old.value.notes.clone());
        } else {
            let mut map = Node::made(Value::Map(Vec::new()), &old.at);
            map.notes = old.value.notes.clone();
            let at = path.entries().iter().position(|entry| entry.key == old.key).unwrap_or_default();
            let entry = Entry { key: "approval".to_owned(), at: old.at.clone(), source: None, value: map };
            if let Some(entries) = path.entries_mut() {
                entries.insert(at, entry);
            }
        }
        set_stricter(path, key, approval, &old.at);
    }

    /// Sets an approval in every root, unless a stricter one stands there.
    pub(super) fn on_every_root(&mut self, root: &mut Node, key: &str, approval: Approval, at: &Place) {
        let paths = root.get_mut("sandbox").and_then(|sandbox| sandbox.get_mut("paths"));
        let mut found = false;
        for path in paths.into_iter().flat_map(Node::children_mut).filter(|path| path.is_map()) {
            found = true;
            set_stricter(path, key, approval, at);
        }
        if !found && approval > Approval::None {
            let message = format!("this is about the roots (`{key}: {approval}`), and there are none");
            self.fault(at, message, "name the roots under `sandbox.paths`");
        }
    }

    /// Rules about tools by their inner names.
    pub(super) fn tool_rules(&mut self, root: &mut Node) {
        let Some(entry) = root.take("tool_rules") else { return };
        if !entry.value.is_map() {
            let message = format!("`tool_rules` must be a map, not {}", entry.value.kind());
            return self.fault(&entry.value.place, message, "write `tools: { NAME: { approval: … } }`");
        }
        for rule in entry.value.entries() {
            let Some(verb) = rule.key.strip_prefix("sandbox.") else {
                self.warn(
                    &rule.at,
                    &format!("tool_rules.{}", rule.key),
                    &format!("tools: {{ {}: … }}", quoted(&rule.key)),
                );
                self.join_tool(root, rule.clone());
                continue;
            };
            let key = match verb {
                "read" | "attach" => verb,
                "write" | "edit" | "delete" | "create" | "append" | "move" | "copy" => "write",
                _ => {
                    let message = format!("`tool_rules.{}` has no new spelling", quoted(&rule.key));
                    self.fault(&rule.at, message, "write `sandbox.paths.NAME.approval` by hand");
                    continue;
                }
            };
            let Ok(approval) = self.of_roots(rule) else { continue };
            let word = approval.map_or("…", Approval::as_str);
            let new = format!("sandbox: {{ paths: {{ NAME: {{ approval: {{ {key}: {word} }} }} }} }}");
            self.warn(&rule.at, &format!("tool_rules.{}", rule.key), &new);
            if let Some(approval) = approval {
                self.on_every_root(root, key, approval, &rule.at);
            }
        }
    }

    /// A word where a map with an approval belongs.
    pub(super) fn words(&mut self, root: &mut Node) {
        for rule in root.get_mut("tool_rules").into_iter().flat_map(Node::children_mut) {
            if let Some(approval) = approval_of(rule) {
                let mut map = Node::made(Value::Map(Vec::new()), &rule.place);
                map.put("approval", approval_node(approval, &rule.place));
                map.notes = std::mem::take(&mut rule.notes);
                *rule = map;
            }
        }
    }

    /// The approval that a rule about the sandbox names, if it names one. All else that it says has no new place.
    fn of_roots(&mut self, rule: &Entry) -> Result<Option<Approval>, ()> {
        let (name, hint) = (quoted(&rule.key), "write `sandbox.paths.NAME.approval` by hand");
        if !rule.value.is_map() && !rule.value.is_null() {
            let message = format!("`{name}` must be a map with `approval`, not {}", rule.value.kind());
            self.fault(&rule.value.place, message, hint);
            return Err(());
        }
        let kept = |key: &str| key == "approval" || super::approvals::OLD.contains(&key);
        let mut others = rule.value.entries().iter().filter(|entry| !kept(&entry.key)).peekable();
        if others.peek().is_some() {
            for entry in others {
                let message = format!("`{}` has no new spelling in `{name}`", quoted(&entry.key));
                self.fault(&entry.at, message, hint);
            }
            return Err(());
        }
        match rule.value.get("approval") {
            Some(value) if !value.is_null() => {
                let approval = approval_of(value);
                if approval.is_none() {
                    self.no_approval(value);
                }
                approval.map(Some).ok_or(())
            }
            Some(_) | None => Ok(None),
        }
    }
}

fn set_stricter(path: &mut Node, key: &str, approval: Approval, at: &Place) {
    let Some(map) = section(path, "approval", at) else { return };
    let strictest = match map.get(key) {
        None => approval,
        Some(kept) => match approval_of(kept) {
            Some(kept) if kept < approval => approval,
            // Stricter already, or no approval at all, which the check reports.
            Some(_) | None => return,
        },
    };
    if map.source.is_none() && map.entries().is_empty() {
        map.style = crate::node::Style::Flow;
    }
    map.put(key, approval_node(strictest, at));
}
