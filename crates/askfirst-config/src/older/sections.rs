//! Sections that have moved: `shell_default`, `shell_rules`, `custom_tools`, `tool_configs`, `pre_approved`.

use std::collections::HashMap;

use askfirst::Approval;

use super::{Older, approval_node, approval_of, rename, section};
use crate::node::{Entry, Node, Value};
use crate::quote::quoted;
use crate::read::Dialect;

/// Names of tools that have changed.
const RENAMED: [(&str, &str); 2] = [("shell_exec", "shell"), ("patch_file", "edit_file")];

impl Older<'_> {
    pub(super) fn sections(&mut self, root: &mut Node) {
        self.shell_part(root, "shell_default", "default");
        self.shell_part(root, "shell_rules", "rules");
        self.offered(root);
        self.tool_maps(root, "custom_tools");
        self.tool_maps(root, "tool_configs");
    }

    fn shell_part(&mut self, root: &mut Node, old: &str, new: &str) {
        let Some(entry) = root.entry(old).cloned() else { return };
        self.warn(&entry.at, old, &format!("shell: {{ {new}: … }}"));
        match root.get("shell").map(|shell| (shell.is_map() || shell.is_null(), shell.get(new).cloned())) {
            None => {
                // The section stands where the old key stood.
                let mut shell = Node::made(Value::Map(Vec::new()), &entry.at).block();
                let mut value = moved(entry.value);
                shell.notes.blank_above = std::mem::take(&mut value.notes.blank_above);
                shell.notes.above = std::mem::take(&mut value.notes.above);
                shell.put(new, value);
                rename(root, old, "shell");
                if let Some(place) = root.get_mut("shell") {
                    *place = shell;
                }
                return;
            }
            Some((false, _)) => {}
            Some((true, None)) => {
                if let Some(shell) = section(root, "shell", &entry.at) {
                    shell.put(new, moved(entry.value));
                }
            }
            Some((true, Some(existing))) if new == "default" => {
                let strictest = [&existing, &entry.value].into_iter().filter_map(|node| node.get("approval"));
                let strictest = strictest.filter_map(approval_of).max();
                let shell = root.get_mut("shell").and_then(|shell| shell.get_mut("default"));
                if let (Some(default), Some(strictest)) = (shell, strictest) {
                    default.put("approval", approval_node(strictest, &entry.at));
                }
            }
            Some((true, Some(_))) => {
                let hint = "join the two lists by hand: the first rule that matches speaks";
                self.fault(&entry.at, "`shell_rules` stands beside `shell.rules`", hint);
            }
        }
        root.take(old);
    }

    /// A list of tools: only these are offered, and nothing is said about their approval.
    fn offered(&mut self, root: &mut Node) {
        let Some(Entry { at, value, .. }) = root.entry("custom_tools") else { return };
        if !matches!(value.value, Value::List(_)) {
            return;
        }
        let at = at.clone();
        self.warn(&at, "custom_tools", "only_tools");
        if root.get("only_tools").is_some() {
            self.fault(&at, "`custom_tools` stands beside `only_tools`", "join the two lists by hand");
        }
        rename(root, "custom_tools", "only_tools");
    }

    fn tool_maps(&mut self, root: &mut Node, old: &str) {
        let Some(entry) = root.entry(old).cloned() else { return };
        if !entry.value.is_map() && !entry.value.is_null() {
            let wanted = if old == "custom_tools" { "a list or a map" } else { "a map" };
            let message = format!("`{old}` must be {wanted}, not {}", entry.value.kind());
            root.take(old);
            return self.fault(&entry.value.place, message, "write `tools: { NAME: { approval: … } }`");
        }
        if self.dialect == Dialect::File {
            self.warn(&entry.at, old, "tools");
        }
        if root.get("tools").is_none() {
            return rename(root, old, "tools");
        }
        root.take(old);
        for tool in entry.value.entries() {
            self.join_tool(root, tool.clone());
        }
    }

    /// Adds an entry to `tools`.
    pub(super) fn join_tool(&mut self, root: &mut Node, tool: Entry) {
        if let Some(tools) = section(root, "tools", &tool.at) {
            self.join(tools, tool);
        }
    }

    /// Adds an entry to a map of tools. Where one stands already, the stricter approval holds.
    fn join(&mut self, tools: &mut Node, tool: Entry) {
        let Some(existing) = tools.get_mut(&tool.key) else {
            let mut value = tool.value;
            value.source = None;
            return tools.put(&tool.key, value);
        };
        if !(existing.is_map() && tool.value.is_map()) {
            let message = format!("`{}` stands twice, once in an older section", quoted(&tool.key));
            return self.fault(&tool.at, message, "join the two by hand under `tools`");
        }
        if existing.get("when").map(Node::to_json) != tool.value.get("when").map(Node::to_json) {
            let message = format!("`{}` stands twice, with different conditions", quoted(&tool.key));
            return self.fault(&tool.at, message, "join the two by hand under `tools`");
        }
        for entry in tool.value.entries() {
            match (entry.key.as_str(), existing.get(&entry.key)) {
                (_, None) => existing.put(&entry.key, moved(entry.value.clone())),
                ("approval", Some(kept)) => {
                    let kept = (kept.is_null(), approval_of(kept));
                    match (kept, approval_of(&entry.value)) {
                        (_, None) if !entry.value.is_null() => self.no_approval(&entry.value),
                        // The tool's own view may be stricter than `none`, and nothing else.
                        ((_, Some(Approval::None)), None) => existing.put("approval", entry.value.clone()),
                        ((true, _), Some(old)) if old > Approval::None => {
                            existing.put("approval", approval_node(old, &entry.at));
                        }
                        ((_, Some(kept)), Some(old)) if old > kept => {
                            existing.put("approval", approval_node(old, &entry.at));
                        }
                        _ => {}
                    }
                }
                (_, Some(kept)) if kept.to_json() == entry.value.to_json() => {}
                (key, Some(_)) => {
                    let message = format!("`{key}` of `{}` stands twice", quoted(&tool.key));
                    self.fault(&entry.at, message, "join the two by hand under `tools`");
                }
            }
        }
    }

    /// Tools by their new names. A program's own data keeps its names: they are its own tools.
    pub(super) fn names(&mut self, root: &mut Node) {
        if self.dialect == Dialect::Dict {
            return;
        }
        for (old, new) in RENAMED {
            for map in ["tools", "custom_tools", "tool_configs", "tool_rules"] {
                let Some(tools) = root.get_mut(map) else { continue };
                let Some(entry) = tools.entry(old).cloned() else { continue };
                self.warn(&entry.at, old, new);
                if tools.get(new).is_none() {
                    rename(tools, old, new);
                } else {
                    tools.take(old);
                    self.join(tools, Entry { key: new.to_owned(), ..entry });
                }
            }
            for list in ["only_tools", "custom_tools", "pre_approved"] {
                let items = root.get_mut(list).into_iter().flat_map(Node::children_mut);
                for item in items.filter(|item| item.as_text() == Some(old)) {
                    self.warn(&item.place, old, new);
                    item.value = Value::Text(new.to_owned());
                    item.source = None;
                }
            }
        }
    }

    /// A list of tools that run without asking, unless something else is said about them.
    pub(super) fn pre_approved(&mut self, root: &mut Node) {
        let Some(entry) = root.entry("pre_approved").cloned() else { return };
        if !matches!(entry.value.value, Value::List(_)) {
            let message = format!("`pre_approved` must be a list, not {}", entry.value.kind());
            self.fault(&entry.value.place, message, "write `tools: { NAME: { approval: none } }`");
            root.take("pre_approved");
            return;
        }
        self.warn(&entry.at, "pre_approved", "tools: { NAME: { approval: none } }");
        root.take("pre_approved");
        let Some(tools) = section(root, "tools", &entry.at) else { return };
        let mut places: HashMap<String, usize> =
            tools.entries().iter().enumerate().map(|(n, tool)| (tool.key.clone(), n)).collect();
        let Some(tools) = tools.entries_mut() else { return };
        for item in entry.value.items() {
            let Some(name) = item.as_text() else {
                let message = format!("`pre_approved` must be a list of names, not of {}", item.kind());
                self.fault(&item.place, message, "write `tools: { NAME: { approval: none } }`");
                continue;
            };
            let none = approval_node(Approval::None, &item.place);
            match places.get(name).and_then(|n| tools.get_mut(*n)) {
                None => {
                    let mut value = Node::made(Value::Map(Vec::new()), &item.place);
                    value.put("approval", none);
                    places.insert(name.to_owned(), tools.len());
                    tools.push(Entry { key: name.to_owned(), at: item.place.clone(), source: None, value });
                }
                // Several cases, or an approval of its own: that is as strict or stricter.
                Some(tool) if tool.value.is_map() && tool.value.get("approval").is_none() => {
                    tool.value.put("approval", none);
                }
                Some(_) => {}
            }
        }
    }
}

/// A value that stands elsewhere now: its text can no longer be copied.
fn moved(mut node: Node) -> Node {
    if matches!(node.value, Value::List(_) | Value::Map(_)) {
        node.source = None;
    }
    node
}
