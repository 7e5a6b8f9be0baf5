//! Rewrites older keys of a tool: `safe_commands`, `dangerous_patterns`, `safe_paths`, `require_read_approval`.

use askfirst::Approval;
use askfirst::when::Glob;

use super::{Rewriter, approval_node, approval_of, required_if, section};
use crate::node::{Comments, Entry, Node, Position, Value};
use crate::read::Dialect;

impl Rewriter<'_> {
    pub(super) fn rewrite_tool_entries(&mut self, root: &mut Node) {
        for key in ["safe_commands", "dangerous_patterns"] {
            self.rewrite_shell_list(root, key);
        }
        let Some(tools) = root.get_mut("tools") else { return };
        let mut readings = Vec::new();
        for tool in tools.children_mut() {
            if let Some(entry) = tool.entry("require_read_approval").cloned() {
                readings.extend(self.read_boolean(&entry).map(|yes| (yes, entry.at.clone())));
                if self.dialect == Dialect::File {
                    tool.take("require_read_approval");
                }
            }
            self.rewrite_safe_paths(tool);
        }
        for (yes, at) in readings {
            let approval = required_if(yes);
            self.warn(
                &at,
                &format!("require_read_approval: {yes}"),
                &format!("approval: {{ read: {approval} }}"),
            );
            self.set_on_every_root(root, "read", approval, &at);
        }
    }

    /// Moves a list of commands from the shell tool or from the top level to the section `shell`.
    ///
    /// Skips a [`Dialect::Dict`] config, because the program's override may use the list.
    fn rewrite_shell_list(&mut self, root: &mut Node, key: &str) {
        if self.dialect == Dialect::Dict {
            return;
        }
        let shell_tool = root.get_mut("tools").and_then(|tools| tools.get_mut("shell"));
        let nested = shell_tool.and_then(|shell| shell.take(key));
        let in_section = match key {
            "safe_commands" => root.get_mut("shell").and_then(|shell| shell.take(key)),
            _ => None,
        };
        for entry in [nested, root.take(key), in_section].into_iter().flatten() {
            if !matches!(entry.value.value, Value::List(_)) {
                let message = format!("`{key}` must be a list, not {}", entry.value.kind());
                let hint = "this is an older spelling; use `shell.rules` instead";
                self.fault(&entry.value.position, message, hint);
                continue;
            }
            match key {
                "safe_commands" => self.rewrite_safe_commands(root, &entry),
                _ => self.rewrite_dangerous_patterns(root, entry),
            }
        }
        // Removes the tool's entry if it contained only this list.
        if let Some(tools) = root.get_mut("tools")
            && tools
                .get("shell")
                .is_some_and(|shell| shell.is_map() && shell.entries().is_empty() && shell.source.is_none())
        {
            tools.take("shell");
        }
    }

    fn rewrite_safe_commands(&mut self, root: &mut Node, entry: &Entry) {
        self.warn(&entry.at, "safe_commands", "shell: { rules: [{ pattern: …, approval: none }] }");
        let Some(shell) = section(root, "shell", &entry.at) else { return };
        if shell.get("rules").is_none_or(Node::is_null) {
            shell.put("rules", Node::generated(Value::List(Vec::new()), &entry.at).block());
        }
        let Some(rules) = shell.get_mut("rules") else { return };
        rules.source = None;
        for item in entry.value.items() {
            let mut rule = Node::generated(Value::Map(Vec::new()), &item.position);
            rule.put("pattern", Node { source: None, ..item.clone() });
            rule.put("approval", approval_node(Approval::None, &item.position));
            if let Value::List(items) = &mut rules.value {
                items.push(rule);
            }
        }
    }

    fn rewrite_dangerous_patterns(&mut self, root: &mut Node, entry: Entry) {
        self.warn(&entry.at, "dangerous_patterns", "shell: { dangerous_patterns: … }");
        let Some(shell) = section(root, "shell", &entry.at) else { return };
        match shell.get_mut("dangerous_patterns") {
            None => shell.put("dangerous_patterns", Node { source: None, ..entry.value }),
            Some(existing) => {
                existing.source = None;
                if let (Value::List(mine), Value::List(theirs)) = (&mut existing.value, entry.value.value) {
                    mine.extend(theirs);
                }
            }
        }
    }

    /// Rewrites `safe_paths` to two cases: `none` for these paths, and `required` for all others.
    fn rewrite_safe_paths(&mut self, tool: &mut Node) {
        let Some(entry) = tool.entry("safe_paths").cloned() else { return };
        self.warn(&entry.at, "safe_paths", "[{ approval: none, when: { path: … } }, { approval: required }]");
        if self.dialect == Dialect::File {
            tool.take("safe_paths");
        }
        let Some(paths) = self.read_path_tests(&entry) else { return };
        let condition = tool.get("when").cloned();
        if condition.as_ref().is_some_and(|when| when.get("path").is_some()) {
            let message = "`safe_paths` cannot be combined with a condition on `path`";
            return self.fault(&entry.at, message, "merge the two by hand: `when: { path: … }`");
        }
        // Any approval other than `none` is at least as strict, so it applies to the safe paths too.
        if tool.get("approval").is_some_and(|kept| approval_of(kept) != Some(Approval::None))
            || paths.is_empty()
        {
            if tool.get("approval").is_none() {
                tool.put("approval", approval_node(Approval::Required, &entry.at));
            }
            if let Some(approval) = tool.get_mut("approval") {
                approval.comments.join(entry.value.comments);
            }
            return;
        }
        let none = tool.take("approval");
        // The checker reports a condition that is not a map.
        let condition = condition.filter(Node::is_map).map(|when| Node { source: None, ..when });
        let mut when = condition.unwrap_or_else(|| Node::generated(Value::Map(Vec::new()), &entry.at));
        when.put("path", Node::generated(Value::List(paths), &entry.at));
        when.comments.join(entry.value.comments);
        let mut safe = Node { source: None, comments: Comments::default(), ..tool.clone() };
        // The comments stay with the first case only.
        let mut other = safe.clone();
        other.remove_comments();
        safe.put("approval", approval_node(Approval::None, &entry.at));
        if let (Some(none), Some(approval)) = (none, safe.get_mut("approval")) {
            approval.comments.join(none.value.comments);
        }
        safe.put("when", when);
        other.put("approval", approval_node(Approval::Required, &entry.at));
        tool.value = Value::List(vec![safe, other]);
        tool.style = crate::node::Style::Block;
        tool.source = None;
    }

    fn read_path_tests(&mut self, entry: &Entry) -> Option<Vec<Node>> {
        if !matches!(entry.value.value, Value::List(_)) {
            let message = format!("`safe_paths` must be a list, not {}", entry.value.kind());
            self.fault(&entry.value.position, message, "write `when: { path: [./cache/] }`");
            return None;
        }
        let mut tests = Vec::new();
        for item in entry.value.items() {
            match item.as_text() {
                Some(text) if !text.is_empty() && Glob::is_plain(text) => {
                    let mut below = below(text, &item.position);
                    if let Some(first) = below.first_mut() {
                        first.comments = item.comments.clone();
                    }
                    tests.extend(below);
                }
                _ => {
                    let message = format!("`{}` is not a plain path", item.brief());
                    self.fault(&item.position, message, "write `when: { path: [./cache/] }`");
                    return None;
                }
            }
        }
        Some(tests)
    }
}

/// Returns conditions for a path and everything below it, written so that the reader treats them as paths.
fn below(text: &str, position: &Position) -> Vec<Node> {
    let anchored = ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start));
    let text = if anchored { text.to_owned() } else { format!("./{text}") };
    if text.ends_with('/') {
        return vec![Node::text(text, position)];
    }
    vec![Node::text(text.clone(), position), Node::text(format!("{text}/"), position)]
}
