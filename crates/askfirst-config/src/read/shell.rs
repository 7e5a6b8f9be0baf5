//! The section `shell`: rules about commands, and the examples that test them.

use askfirst::Approval;
use askfirst::when::Glob;

use super::{Reader, approval, count, duration, risk, size, text, texts};
use crate::disk::Disk;
use crate::node::Node;
use crate::quote::{meant, quoted};
use crate::settings::{Limits, SandboxConfig, ShellConfig};
use crate::words;
use askfirst_shell::ShellRule;
use askfirst_shell::rule_matches;

impl Reader<'_> {
    pub(super) fn shell(&mut self, node: &Node, sandbox: &SandboxConfig) -> ShellConfig {
        let default = ShellConfig::default();
        let rules = node.get("rules").map(Node::items).unwrap_or_default();
        let patterns = node.get("dangerous_patterns").map(Node::items).unwrap_or_default();
        ShellConfig {
            default: approval(node.at(&["default", "approval"])).unwrap_or(default.default),
            known_read_only: approval(node.get("known_read_only")).unwrap_or(default.known_read_only),
            outside_roots: approval(node.get("outside_roots")).unwrap_or(default.outside_roots),
            network: node.get("network").and_then(Node::as_bool).unwrap_or(default.network),
            limits: limits(node.get("limits")),
            env_pass: node.at(&["env", "pass"]).map_or(default.env_pass, texts),
            rules: rules.iter().enumerate().filter_map(|(n, rule)| self.rule(n, rule, sandbox)).collect(),
            dangerous_patterns: patterns
                .iter()
                .enumerate()
                .filter_map(|(n, item)| self.dangerous(n, item))
                .collect(),
        }
    }

    fn dangerous(&mut self, n: usize, item: &Node) -> Option<(String, askfirst::Because)> {
        let text = item.as_text()?;
        if text.is_empty() {
            self.fault(&item.place, "an empty expression matches every command");
            return None;
        }
        // Read as it will be used: over bytes, with the letters of ASCII.
        let built = regex::bytes::RegexBuilder::new(text).unicode(false).size_limit(1 << 20).build();
        if let Err(error) = built {
            let reason = match error {
                regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                error => {
                    let text = error.to_string();
                    quoted(text.lines().last().unwrap_or_default().trim_start_matches("error: "))
                }
            };
            self.fault(&item.place, format!("`{}` is not a regular expression: {reason}", quoted(text)));
            return None;
        }
        let rule = format!("shell.dangerous_patterns[{n}]");
        Some((text.to_owned(), self.because(&rule, &item.place, "approval: required")))
    }

    fn rule(&mut self, n: usize, node: &Node, sandbox: &SandboxConfig) -> Option<ShellRule> {
        if !node.is_map() {
            return None;
        }
        let Some(pattern) = node.get("pattern") else {
            self.fault_with_hint(&node.place, "the rule has no `pattern`", "write `pattern: \"git status\"`");
            return None;
        };
        let written = pattern.as_text()?;
        let words = match words::pattern(written) {
            Ok(words) => words,
            Err(error) => {
                let message = format!("`{}` is not a pattern: {error}", quoted(written));
                let hint = match error {
                    words::BadWords::Active(_) => {
                        "a pattern is one command; put what is meant as it stands in single quotes"
                    }
                    words::BadWords::Empty => "write the words that a command begins with",
                    words::BadWords::OpenQuote(_) | words::BadWords::LooseBackslash => {
                        "quote as in the shell"
                    }
                };
                self.fault_with_hint(&pattern.place, message, hint);
                return None;
            }
        };
        for word in &words {
            if let Err(error) = Glob::new(word) {
                self.fault(&pattern.place, quoted(&error.to_string()));
            }
        }
        let approval = approval(node.get("approval")).unwrap_or(Approval::Required);
        let exact = node.get("exact").and_then(Node::as_bool).unwrap_or(false);
        self.sandbox_paths(node.get("sandbox_paths"), sandbox);
        let text_of_rule = format!("pattern: {}, approval: {approval}", quoted(written));
        let rule = ShellRule {
            pattern: written.to_owned(),
            words,
            exact,
            approval,
            description: text(node.get("description")).map(str::to_owned),
            risk: risk(node.get("risk")),
            sandbox_paths: node.get("sandbox_paths").map(texts).unwrap_or_default(),
            origin: self.because(&format!("shell.rules[{n}]"), &node.place, text_of_rule),
        };
        self.examples(node.get("examples"), &rule);
        Some(rule)
    }

    fn sandbox_paths(&mut self, node: Option<&Node>, sandbox: &SandboxConfig) {
        let Some(node) = node else { return };
        if node.items().is_empty() && matches!(node.value, crate::node::Value::List(_)) {
            self.fault(&node.place, "the rule could never hold: `sandbox_paths` is empty");
        }
        for item in node.items() {
            let Some(name) = item.as_text().filter(|name| !sandbox.paths.contains_key(*name)) else {
                continue;
            };
            let mut fault = self.source.fault(&item.place, format!("there is no root `{}`", quoted(name)));
            let known = || sandbox.paths.keys().map(String::as_str);
            fault.hint = Some(match meant(name, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if sandbox.paths.is_empty() => "roots stand under `sandbox.paths`".to_owned(),
                None => format!("the roots are {}", quoted(&known().collect::<Vec<_>>().join(", "))),
            });
            self.faults.push(fault);
        }
    }

    /// Examples are held against the rule as commands are, by the shell tool itself.
    fn examples(&mut self, node: Option<&Node>, rule: &ShellRule) {
        let Some(node) = node else { return };
        let (folder, disk) = (self.base.folder.clone(), Disk::new(self.base.home.clone()));
        for (key, wanted) in [("match", true), ("not_match", false)] {
            for item in node.get(key).map(Node::items).unwrap_or_default() {
                let Some(example) = item.as_text() else { continue };
                let found = match rule_matches(rule, example, &folder, &disk) {
                    Ok(found) => found,
                    Err(why) => {
                        let message = format!("`{}` is not understood: {}", quoted(example), quoted(&why));
                        self.fault(&item.place, message);
                        continue;
                    }
                };
                if found != wanted {
                    let verb = if wanted { "does not match" } else { "matches" };
                    self.fault(&item.place, format!("the rule {verb} its example `{}`", quoted(example)));
                }
            }
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
