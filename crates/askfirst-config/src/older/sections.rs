//! Rewrites sections that have moved: `shell_default`, `shell_rules`, `custom_tools`, `tool_configs`, `pre_approved`.

use std::collections::HashMap;

use askfirst::Approval;

use super::{Rewriter, approval_node, approval_of, rename, section};
use crate::node::{Entry, Node, Value};
use crate::quote::escape;
use crate::read::Dialect;

/// The old and new names of tools.
const RENAMED_TOOLS: [(&str, &str); 2] = [("shell_exec", "shell"), ("patch_file", "edit_file")];

impl Rewriter<'_> {
    pub(super) fn rewrite_sections(&mut self, root: &mut Node) {
        self.rewrite_shell_part(root, "shell_default", "default");
        self.rewrite_shell_part(root, "shell_rules", "rules");
        self.rewrite_custom_tool_list(root);
        self.rewrite_tool_map(root, "custom_tools");
        self.rewrite_tool_map(root, "tool_configs");
    }

    fn rewrite_shell_part(&mut self, root: &mut Node, old: &str, new: &str) {
        let Some(entry) = root.entry(old).cloned() else { return };
        self.warn(&entry.at, old, &format!("shell: {{ {new}: … }}"));
        match root.get("shell").map(|shell| (shell.is_map() || shell.is_null(), shell.get(new).cloned())) {
            None => {
                // The new section takes the place of the old key.
                let mut shell = Node::generated(Value::Map(Vec::new()), &entry.at).block();
                let mut value = moved(entry.value);
                shell.comments.blank_above = std::mem::take(&mut value.comments.blank_above);
                shell.comments.above = std::mem::take(&mut value.comments.above);
                shell.put(new, value);
                rename(root, old, "shell");
                if let Some(section) = root.get_mut("shell") {
                    *section = shell;
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
                let hint = "merge the two lists by hand; the first matching rule decides";
                self.fault(&entry.at, "both `shell_rules` and `shell.rules` are set", hint);
            }
        }
        root.take(old);
    }

    /// Rewrites a list in `custom_tools` to `only_tools`: only these tools are offered, and no approval is set.
    fn rewrite_custom_tool_list(&mut self, root: &mut Node) {
        let Some(Entry { at, value, .. }) = root.entry("custom_tools") else { return };
        if !matches!(value.value, Value::List(_)) {
            return;
        }
        let at = at.clone();
        self.warn(&at, "custom_tools", "only_tools");
        if root.get("only_tools").is_some() {
            let message = "both `custom_tools` and `only_tools` are set";
            self.fault(&at, message, "merge the two lists by hand");
        }
        rename(root, "custom_tools", "only_tools");
    }

    fn rewrite_tool_map(&mut self, root: &mut Node, old: &str) {
        let Some(entry) = root.entry(old).cloned() else { return };
        if !entry.value.is_map() && !entry.value.is_null() {
            let wanted = if old == "custom_tools" { "a list or a map" } else { "a map" };
            let message = format!("`{old}` must be {wanted}, not {}", entry.value.kind());
            root.take(old);
            return self.fault(&entry.value.position, message, "write `tools: { NAME: { approval: … } }`");
        }
        if self.dialect == Dialect::File {
            self.warn(&entry.at, old, "tools");
        }
        if root.get("tools").is_none() {
            return rename(root, old, "tools");
        }
        root.take(old);
        for tool in entry.value.entries() {
            self.add_tool(root, tool.clone());
        }
    }

    /// Adds an entry to `tools`.
    pub(super) fn add_tool(&mut self, root: &mut Node, tool: Entry) {
        if let Some(tools) = section(root, "tools", &tool.at) {
            self.merge_tool(tools, tool);
        }
    }

    /// Adds an entry to a map of tools. If the tool already has an entry, the stricter approval wins.
    fn merge_tool(&mut self, tools: &mut Node, tool: Entry) {
        let Some(existing) = tools.get_mut(&tool.key) else {
            let mut value = tool.value;
            value.source = None;
            return tools.put(&tool.key, value);
        };
        if !(existing.is_map() && tool.value.is_map()) {
            let message = format!("`{}` is set twice, once in an older section", escape(&tool.key));
            return self.fault(&tool.at, message, MERGE_BY_HAND);
        }
        if existing.get("when").map(Node::to_json) != tool.value.get("when").map(Node::to_json) {
            let message = format!("`{}` is set twice with different conditions", escape(&tool.key));
            return self.fault(&tool.at, message, MERGE_BY_HAND);
        }
        for entry in tool.value.entries() {
            match (entry.key.as_str(), existing.get(&entry.key)) {
                (_, None) => existing.put(&entry.key, moved(entry.value.clone())),
                ("approval", Some(kept)) => {
                    let kept = (kept.is_null(), approval_of(kept));
                    match (kept, approval_of(&entry.value)) {
                        (_, None) if !entry.value.is_null() => self.report_invalid_approval(&entry.value),
                        // The tool's own assessment can be stricter than `none`, but not than any other value.
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
                    let message = format!("`{key}` of `{}` is set twice", escape(&tool.key));
                    self.fault(&entry.at, message, MERGE_BY_HAND);
                }
            }
        }
    }

    /// Renames tools. Skips a [`Dialect::Dict`] config, because a program may have tools with the old names.
    pub(super) fn rewrite_names(&mut self, root: &mut Node) {
        if self.dialect == Dialect::Dict {
            return;
        }
        for (old, new) in RENAMED_TOOLS {
            for map in ["tools", "custom_tools", "tool_configs", "tool_rules"] {
                let Some(tools) = root.get_mut(map) else { continue };
                let Some(entry) = tools.entry(old).cloned() else { continue };
                self.warn(&entry.at, old, new);
                if tools.get(new).is_none() {
                    rename(tools, old, new);
                } else {
                    tools.take(old);
                    self.merge_tool(tools, Entry { key: new.to_owned(), ..entry });
                }
            }
            for list in ["only_tools", "custom_tools", "pre_approved"] {
                let items = root.get_mut(list).into_iter().flat_map(Node::children_mut);
                for item in items.filter(|item| item.as_text() == Some(old)) {
                    self.warn(&item.position, old, new);
                    item.value = Value::Text(new.to_owned());
                    item.source = None;
                }
            }
        }
    }

    /// Rewrites `pre_approved`: its tools run without asking unless the config sets another approval for them.
    pub(super) fn rewrite_pre_approved(&mut self, root: &mut Node) {
        let Some(entry) = root.entry("pre_approved").cloned() else { return };
        if !matches!(entry.value.value, Value::List(_)) {
            let message = format!("`pre_approved` must be a list, not {}", entry.value.kind());
            self.fault(&entry.value.position, message, "write `tools: { NAME: { approval: none } }`");
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
                let message =
                    format!("`pre_approved` must be a list of names, but it contains {}", item.kind());
                self.fault(&item.position, message, "write `tools: { NAME: { approval: none } }`");
                continue;
            };
            let none = approval_node(Approval::None, &item.position);
            match places.get(name).and_then(|n| tools.get_mut(*n)) {
                None => {
                    let mut value = Node::generated(Value::Map(Vec::new()), &item.position);
                    value.put("approval", none);
                    places.insert(name.to_owned(), tools.len());
                    tools.push(Entry {
                        key: name.to_owned(),
                        at: item.position.clone(),
                        source: None,
                        value,
                    });
                }
                // An entry with several cases or with its own approval is never looser, so it stays unchanged.
                Some(tool) if tool.value.is_map() && tool.value.get("approval").is_none() => {
                    tool.value.put("approval", none);
                }
                Some(_) => {}
            }
        }
    }
}

/// The hint for two entries of one tool that cannot be merged automatically.
const MERGE_BY_HAND: &str = "merge the two by hand under `tools`";

/// Marks a map or list as moved, so that its text is written again instead of copied.
fn moved(mut node: Node) -> Node {
    if matches!(node.value, Value::List(_) | Value::Map(_)) {
        node.source = None;
    }
    node
}
