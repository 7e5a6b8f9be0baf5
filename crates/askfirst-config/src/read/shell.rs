//! Reads the section `shell`: rules for commands, and the examples that test them.

use std::sync::Arc;

use askfirst::Approval;
use askfirst::when::Glob;
use askfirst_shell::ShellRule;
use askfirst_shell::rule_matches;

use super::{ConfigReader, approval, count, duration, risk, size, text, texts};
use crate::disk::Disk;
use crate::node::Node;
use crate::quote::{escape, find_closest};
use crate::settings::{Limits, NetworkAccess, SandboxConfig, ShellConfig};
use crate::words;

impl ConfigReader<'_> {
    pub(super) fn read_shell(&mut self, node: &Node, sandbox: &SandboxConfig) -> ShellConfig {
        let default = ShellConfig::default();
        let rules = node.get("rules").map(Node::items).unwrap_or_default();
        let patterns = node.get("dangerous_patterns").map(Node::items).unwrap_or_default();
        ShellConfig {
            default: approval(node.at(&["default", "approval"])).unwrap_or(default.default),
            known_read_only: approval(node.get("known_read_only")).unwrap_or(default.known_read_only),
            outside_roots: approval(node.get("outside_roots")).unwrap_or(default.outside_roots),
            network: network(node.get("network")).unwrap_or(default.network),
            limits: limits(node.get("limits")),
            env_pass: node.at(&["env", "pass"]).map_or(default.env_pass, texts),
            rules: with_distinct_texts(
                rules.iter().enumerate().filter_map(|(n, rule)| self.read_rule(n, rule, sandbox)).collect(),
            ),
            dangerous_patterns: patterns
                .iter()
                .enumerate()
                .filter_map(|(n, item)| self.read_dangerous_pattern(n, item))
                .collect(),
        }
    }

    fn read_dangerous_pattern(&mut self, n: usize, item: &Node) -> Option<(String, askfirst::Because)> {
        let text = item.as_text()?;
        if text.is_empty() {
            self.fault(&item.position, "empty regular expression: it would match every command");
            return None;
        }
        // The shell analysis builds the expression with the same options.
        let built = regex::bytes::RegexBuilder::new(text).unicode(false).size_limit(1 << 20).build();
        if let Err(error) = built {
            let cause = match error {
                regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                error => {
                    let text = error.to_string();
                    escape(text.lines().last().unwrap_or_default().trim_start_matches("error: "))
                }
            };
            self.fault(&item.position, format!("invalid regular expression `{}`: {cause}", escape(text)));
            return None;
        }
        let rule = format!("shell.dangerous_patterns[{n}]");
        Some((text.to_owned(), self.because(&rule, &item.position, "approval: required")))
    }

    fn read_rule(&mut self, n: usize, node: &Node, sandbox: &SandboxConfig) -> Option<ShellRule> {
        if !node.is_map() {
            return None;
        }
        let Some(pattern) = node.get("pattern") else {
            let hint = "add a pattern, such as `pattern: \"git status\"`";
            self.fault_with_hint(&node.position, "the rule has no `pattern`", hint);
            return None;
        };
        let written = pattern.as_text()?;
        let words = match words::pattern(written) {
            Ok(words) => words,
            Err(error) => {
                let message = format!("invalid pattern `{}`: {error}", escape(written));
                let hint = match error {
                    words::PatternError::ShellSyntax(_) => {
                        "write one command per pattern, or put literal characters in single quotes"
                    }
                    words::PatternError::Empty => "write the words that a command starts with",
                    words::PatternError::OpenQuote(_) | words::PatternError::TrailingBackslash => {
                        "quote words as in the shell"
                    }
                };
                self.fault_with_hint(&pattern.position, message, hint);
                return None;
            }
        };
        for word in &words {
            if let Err(error) = Glob::new(word) {
                self.fault(&pattern.position, escape(&error.to_string()));
            }
        }
        let approval = approval(node.get("approval")).unwrap_or(Approval::Required);
        let exact = node.get("exact").and_then(Node::as_bool).unwrap_or(false);
        self.check_sandbox_paths(node.get("sandbox_paths"), sandbox);
        let text_of_rule = format!("pattern: {}, approval: {approval}", escape(written));
        let rule = ShellRule {
            pattern: written.to_owned(),
            words,
            exact,
            approval,
            description: text(node.get("description")).map(str::to_owned),
            risk: risk(node.get("risk")),
            sandbox_paths: node.get("sandbox_paths").map(texts).unwrap_or_default(),
            network: network(node.get("network")),
            origin: self.because(&format!("shell.rules[{n}]"), &node.position, text_of_rule),
        };
        self.check_examples(node.get("examples"), &rule);
        Some(rule)
    }

    fn check_sandbox_paths(&mut self, node: Option<&Node>, sandbox: &SandboxConfig) {
        let Some(node) = node else { return };
        if node.items().is_empty() && matches!(node.value, crate::node::Value::List(_)) {
            self.fault(&node.position, "the rule can never match: `sandbox_paths` is empty");
        }
        for item in node.items() {
            let Some(name) = item.as_text().filter(|name| !sandbox.paths.contains_key(*name)) else {
                continue;
            };
            let mut fault = self.source.fault(&item.position, format!("unknown root `{}`", escape(name)));
            let known = || sandbox.paths.keys().map(String::as_str);
            fault.hint = Some(match find_closest(name, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if sandbox.paths.is_empty() => "define the roots under `sandbox.paths`".to_owned(),
                None => format!("known roots: {}", escape(&known().collect::<Vec<_>>().join(", "))),
            });
            self.faults.push(fault);
        }
    }

    /// Tests the examples of a rule with the same analysis that checks commands.
    fn check_examples(&mut self, node: Option<&Node>, rule: &ShellRule) {
        let Some(node) = node else { return };
        let (folder, disk) = (self.base.folder.clone(), Disk::new(self.base.home.clone()));
        for (key, wanted) in [("match", true), ("not_match", false)] {
            for item in node.get(key).map(Node::items).unwrap_or_default() {
                let Some(example) = item.as_text() else { continue };
                let matches = match rule_matches(rule, example, &folder, &disk) {
                    Ok(matches) => matches,
                    Err(cause) => {
                        let message =
                            format!("cannot parse the example `{}`: {}", escape(example), escape(&cause));
                        self.fault(&item.position, message);
                        continue;
                    }
                };
                if matches != wanted {
                    let verb = if wanted { "does not match" } else { "matches" };
                    let message = format!("the rule {verb} its `{key}` example `{}`", escape(example));
                    self.fault(&item.position, message);
                }
            }
        }
    }
}

/// Numbers rules with the same text. A remembered yes names a rule by its text, because its line can change.
fn with_distinct_texts(mut rules: Vec<ShellRule>) -> Vec<ShellRule> {
    let mut counts = std::collections::HashMap::new();
    for rule in &mut rules {
        let count = counts.entry(Arc::clone(&rule.origin.text)).or_insert(0_usize);
        *count += 1;
        if *count > 1 {
            rule.origin.text = format!("{} (number {count} of these)", rule.origin.text).into();
        }
    }
    rules
}

fn network(node: Option<&Node>) -> Option<NetworkAccess> {
    let node = node?;
    match node.as_bool() {
        Some(true) => Some(NetworkAccess::None),
        Some(false) => Some(NetworkAccess::Deny),
        None => {
            let word = node.as_text()?;
            NetworkAccess::ALL.into_iter().find(|access| access.as_str() == word)
        }
    }
}

fn limits(node: Option<&Node>) -> Limits {
    let default = Limits::default();
    let get = |key| node.and_then(|node| node.get(key));
    Limits {
        wall: duration(get("wall")).unwrap_or(default.wall),
        cpu: duration(get("cpu")).unwrap_or(default.cpu),
        memory: size(get("memory")).unwrap_or(default.memory),
        processes: count(get("processes")).unwrap_or(default.processes),
        file: size(get("file")).unwrap_or(default.file),
        output: size(get("output")).unwrap_or(default.output),
    }
}
