//! Checks every key and value of a config against the table of keys.
//!
//! This module checks names and types. The `read` module checks how values fit together.

use askfirst::Approval;
use askfirst::when::Glob;

use super::fault::Fault;
use super::keys::{self, REHEARSING_TOOLS, TOOLCHAIN_WORDS, ValueKind, WITHOUT_REHEARSAL};
use super::node::{Entry, Node, Source, Value};
use super::older;
use super::quote::{escape, find_closest, join_or};
use super::read::Dialect;
use super::scalar;
use super::settings::NetworkAccess;

/// The errors of a config.
#[derive(Debug, Default)]
pub(crate) struct CheckReport {
    pub(crate) faults: Vec<Fault>,
    /// Unknown keys of tools in a [`Dialect::Dict`] config. They are errors unless an override uses them.
    pub(crate) override_keys: Vec<Fault>,
}

/// Checks a complete config and returns its errors.
pub(crate) fn check(root: &Node, source: &Source, dialect: Dialect) -> CheckReport {
    let mut checker = Checker { source, dialect, faults: Vec::new(), override_keys: Vec::new() };
    checker.check_section(root, "", "config");
    CheckReport { faults: checker.faults, override_keys: checker.override_keys }
}

struct Checker<'a> {
    source: &'a Source,
    dialect: Dialect,
    faults: Vec<Fault>,
    override_keys: Vec<Fault>,
}

impl Checker<'_> {
    fn report(&mut self, node: &Node, message: String, hint: Option<String>) {
        let mut fault = self.source.fault(&node.position, message);
        fault.hint = hint;
        self.faults.push(fault);
    }

    fn report_type(&mut self, node: &Node, name: &str, wanted: &str) {
        let message = format!("`{}` must be {wanted}, not {}", escape(name), node.kind());
        let hint = match node.as_text().filter(|_| name == "command" && wanted == "a list") {
            Some(line) => Some(format!("write `{}`", to_word_list(line))),
            None => type_hint(node, wanted),
        };
        self.report(node, message, hint);
    }

    /// Checks a map whose keys are in the table. Null counts as an empty map.
    fn check_section(&mut self, node: &Node, path: &str, name: &str) {
        if node.is_null() {
            return;
        }
        if !node.is_map() {
            let message = format!("`{}` must be a map, not {}", escape(name), node.kind());
            return self.report(
                node,
                message,
                node.as_text().and_then(|text| section_hint(path, name, text)),
            );
        }
        for entry in node.entries() {
            match keys::child(path, &entry.key) {
                Some(key) if key.path == "tools.*.approval" && REHEARSING_TOOLS.contains(&name) => {
                    self.check_tool_approval(&entry.value, &entry.key, &Approval::ALL);
                }
                Some(key) => self.check_value(&entry.value, key.path, key.kind, &entry.key),
                None => self.report_unknown_key(entry, path, name),
            }
        }
    }

    fn report_unknown_key(&mut self, entry: &Entry, path: &str, name: &str) {
        let is_of_override = path == "tools.*" && self.dialect == Dialect::Dict;
        if is_of_override && older::is_old_tool_key(&entry.key) {
            return;
        }
        let known = || keys::below(path).map(|(name, _)| name);
        let mut message = format!("unknown key `{}`", escape(&entry.key));
        if is_of_override {
            message.push_str(&format!(" in `tools.{}`", escape(name)));
        }
        let mut fault = self.source.fault(&entry.at, message);
        let closest = find_closest(&entry.key, known());
        fault.hint = Some(match closest {
            Some(name) => format!("did you mean `{name}`?"),
            None if is_of_override => "put your own keys under `options`".to_owned(),
            None => format!("known keys here: {}", known().collect::<Vec<_>>().join(", ")),
        });
        match closest {
            None if is_of_override => self.override_keys.push(fault),
            Some(_) | None => self.faults.push(fault),
        }
    }

    fn check_value(&mut self, node: &Node, path: &str, kind: ValueKind, name: &str) {
        match kind {
            ValueKind::Section => self.check_section(node, path, name),
            ValueKind::NameMap => self.check_name_map(node, path, name),
            ValueKind::SectionList => self.check_items(node, name, |this, item| {
                if item.is_map() {
                    this.check_section(item, &format!("{path}[]"), name);
                } else {
                    this.report_type(item, name, "a list of maps");
                }
            }),
            ValueKind::Cases => match node.value {
                Value::List(_) => {
                    self.check_items(node, name, |this, item| this.check_section(item, path, name))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => {
                    self.check_section(node, path, name);
                }
            },
            ValueKind::Version => self.check_version(node),
            ValueKind::Approval => self.check_approval(node, name, &WITHOUT_REHEARSAL),
            ValueKind::CommandApproval => self.check_approval(node, name, &Approval::ALL),
            ValueKind::OptionalApproval => self.check_tool_approval(node, name, &WITHOUT_REHEARSAL),
            ValueKind::Network if node.as_bool().is_some() => {}
            ValueKind::Network => self.check_word(node, name, &NetworkAccess::ALL.map(NetworkAccess::as_str)),
            ValueKind::Word(words) => self.check_word(node, name, words),
            ValueKind::Words(words) => {
                self.check_items(node, name, |this, item| this.check_word(item, name, words))
            }
            ValueKind::Bool if node.as_bool().is_none() => self.report_type(node, name, "`true` or `false`"),
            ValueKind::Bool => {}
            ValueKind::Count if node.as_u64().is_none_or(|count| count == 0) => {
                self.report_value(node, name, "a whole number greater than 0", node.as_u64().is_some());
            }
            ValueKind::Count => {}
            ValueKind::Duration => {
                self.check_measure(node, name, "a duration such as `10m`, `8h`, `30s` or `500ms`")
            }
            ValueKind::Size => self.check_measure(node, name, "a size such as `64MiB` or `10MB`"),
            ValueKind::Text | ValueKind::Path => self.check_text(node, name),
            ValueKind::Texts | ValueKind::Paths => {
                self.check_items(node, name, |this, item| this.check_text(item, name))
            }
            ValueKind::Globs => self.check_items(node, name, |this, item| {
                this.check_text(item, name);
                this.check_glob(item, item.as_text());
            }),
            ValueKind::Toolchains => self.check_toolchains(node, name),
            ValueKind::PathRules => {
                self.check_items(node, name, |this, item| this.check_path_rule(item, name))
            }
            ValueKind::EnvNames => self.check_items(node, name, |this, item| this.check_env_name(item, name)),
            ValueKind::When => self.check_when(node, name),
            ValueKind::Scalars => self.check_items(node, name, |this, item| this.check_scalar(item, name)),
            ValueKind::Anything if !node.is_map() && !node.is_null() => self.report_type(node, name, "a map"),
            ValueKind::Anything => {}
        }
    }

    fn check_name_map(&mut self, node: &Node, path: &str, name: &str) {
        if node.is_null() {
            return;
        }
        if !node.is_map() {
            return self.report_type(node, name, "a map");
        }
        let below = format!("{path}.*");
        let Some(key) = keys::find(&below) else { return };
        for entry in node.entries() {
            if entry.key.is_empty() {
                self.faults.push(self.source.fault(&entry.at, format!("empty name in `{name}`")));
            }
            self.check_value(&entry.value, key.path, key.kind, &entry.key);
        }
    }

    fn check_items(&mut self, node: &Node, name: &str, mut each: impl FnMut(&mut Self, &Node)) {
        match &node.value {
            Value::List(items) => items.iter().for_each(|item| each(self, item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => {
                self.report_type(node, name, "a list");
            }
        }
    }

    fn check_version(&mut self, node: &Node) {
        if node.as_text() == Some("1") {
            let message = "`version` must be the number `1`, not text".to_owned();
            self.report(node, message, Some("write `version: 1`".to_owned()));
        } else if node.as_u64() != Some(1) {
            let message = format!("`version` must be `1`, not `{}`", node.brief());
            self.report(node, message, Some("write `version: 1`, the only supported version".to_owned()));
        }
    }

    fn check_tool_approval(&mut self, node: &Node, name: &str, known: &[Approval]) {
        if !node.is_null() {
            self.check_approval(node, name, known);
        }
    }

    fn check_approval(&mut self, node: &Node, name: &str, known: &[Approval]) {
        let words: Vec<&str> = known.iter().map(|approval| approval.as_str()).collect();
        self.check_word(node, name, &words);
    }

    fn check_word(&mut self, node: &Node, name: &str, words: &[&str]) {
        let Some(text) = node.as_text() else {
            return self.report_type(node, name, &join_or(words.iter().copied()));
        };
        if !words.contains(&text) {
            let message = format!(
                "`{}` must be {}, not `{}`",
                escape(name),
                join_or(words.iter().copied()),
                escape(text)
            );
            let is_approval = words.contains(&Approval::Deny.as_str());
            if is_approval && text == Approval::Rehearse.as_str() {
                return self.report(node, message, Some(REHEARSE_HINT.to_owned()));
            }
            let closest = if is_approval {
                closest_approval(text).map(Approval::as_str).filter(|word| words.contains(word))
            } else {
                find_closest(text, words.iter().copied())
            };
            self.report(node, message, closest.map(|word| format!("did you mean `{word}`?")));
        }
    }

    fn report_value(&mut self, node: &Node, name: &str, wanted: &str, is_right_type: bool) {
        if is_right_type {
            let message = format!("`{}` must be {wanted}, not `{}`", escape(name), node.brief());
            self.report(node, message, None);
        } else {
            self.report_type(node, name, wanted);
        }
    }

    fn check_measure(&mut self, node: &Node, name: &str, wanted: &str) {
        let (duration, size) = match node.as_text() {
            Some(text) => (
                scalar::parse_duration(text).map(|time| !time.is_zero()),
                scalar::parse_size(text).map(|n| n > 0),
            ),
            None => (None, node.as_u64().map(|n| n > 0)),
        };
        let is_positive = if wanted.starts_with("a duration") { duration } else { size };
        if is_positive != Some(true) {
            self.report_value(node, name, wanted, node.as_text().is_some() || is_positive.is_some());
        }
    }

    fn check_text(&mut self, node: &Node, name: &str) {
        if node.as_text().is_none() {
            self.report_type(node, name, "text");
        }
    }

    fn check_toolchains(&mut self, node: &Node, name: &str) {
        match &node.value {
            Value::List(items) => items.iter().for_each(|item| self.check_text(item, name)),
            Value::Text(text) if TOOLCHAIN_WORDS.contains(&text.as_str()) => {}
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => {
                self.report_value(node, name, "`auto`, `off` or a list of paths", node.as_text().is_some());
            }
        }
    }

    fn check_glob(&mut self, node: &Node, text: Option<&str>) {
        if let Some(Err(error)) = text.map(Glob::new) {
            self.report(node, escape(&error.to_string()), None);
        }
    }

    fn check_path_rule(&mut self, node: &Node, name: &str) {
        let Some(text) = node.as_text() else { return self.check_text(node, name) };
        let cause = match text.trim() {
            "" => Some("the rule is empty"),
            rule if rule.starts_with('!') => Some("`!` is not supported"),
            rule if rule.trim_matches('/').is_empty() => Some("the rule names no file or folder"),
            rule if rule.split('/').any(|part| part == "..") => Some("`..` is not allowed"),
            _ => None,
        };
        match cause {
            Some(cause) => self.report(node, format!("invalid path rule `{}`: {cause}", escape(text)), None),
            None => self.check_glob(node, Some(text)),
        }
    }

    fn check_env_name(&mut self, node: &Node, name: &str) {
        let Some(text) = node.as_text() else { return self.check_text(node, name) };
        let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if text.is_empty() || !is_word || text.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!("invalid environment variable name `{}`", escape(text));
            self.report(node, message, None);
        }
    }

    fn check_scalar(&mut self, node: &Node, name: &str) {
        if matches!(node.value, Value::List(_) | Value::Map(_) | Value::Null) {
            self.report_type(node, name, "text, a number or a boolean");
        }
    }

    fn check_when(&mut self, node: &Node, name: &str) {
        if !node.is_map() {
            return self.report_type(node, name, "a map of arguments");
        }
        for entry in node.entries() {
            match &entry.value.value {
                Value::List(items) if items.is_empty() => {
                    let name = escape(&entry.key);
                    let message = format!("the condition on `{name}` can never match: its list is empty");
                    self.report(&entry.value, message, None);
                }
                Value::List(items) => items.iter().for_each(|item| self.check_scalar(item, &entry.key)),
                Value::Map(_) => self.report_type(&entry.value, &entry.key, "a value or a list of values"),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
            }
        }
    }
}

/// Where `rehearse` is valid.
const REHEARSE_HINT: &str = "`rehearse` is for `shell.default`, shell rules, `tools.shell` and `tools.exec`";

/// Guesses the approval that a wrong word means. It never guesses a looser one: `no` does not mean `none`.
fn closest_approval(word: &str) -> Option<Approval> {
    let lower = word.to_lowercase();
    match lower.as_str() {
        "no" | "off" | "never" | "false" | "block" | "forbid" => return Some(Approval::Deny),
        "always" => return Some(Approval::Human),
        "ask" | "yes" | "on" | "true" => return Some(Approval::Required),
        "once" | "session" => return Some(Approval::OncePerSession),
        "allow" | "none" => return Some(Approval::None),
        _ => {}
    }
    // Only a word with the same letters as `none`, such as `noen`, is certainly a misspelling of it.
    let sorted_letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    if sorted_letters(&lower) == sorted_letters(Approval::None.as_str()) {
        return Some(Approval::None);
    }
    let stricter = || Approval::ALL.into_iter().filter(|approval| *approval > Approval::None);
    let closest = find_closest(&lower, stricter().map(Approval::as_str))?;
    stricter().find(|approval| approval.as_str() == closest)
}

/// Shows how to write a section if the user wrote only an approval instead of a map.
fn section_hint(path: &str, name: &str, text: &str) -> Option<String> {
    let known = Approval::ALL.into_iter().find(|approval| approval.as_str() == text);
    let approval = known.or_else(|| closest_approval(text))?;
    let kind = |name| keys::child(path, name).map(|key| key.kind);
    let single = || format!("write `{{ approval: {approval} }}`");
    let (hint, may_rehearse) = match (kind("approval"), kind("write")) {
        (Some(ValueKind::CommandApproval), _) => (single(), true),
        (Some(ValueKind::OptionalApproval), _) => (single(), REHEARSING_TOOLS.contains(&name)),
        (_, Some(ValueKind::Approval)) => {
            (format!("write `{{ read: {approval}, write: {approval} }}`"), false)
        }
        _ => return None,
    };
    if approval == Approval::Rehearse && !may_rehearse {
        return known.map(|_| REHEARSE_HINT.to_owned());
    }
    Some(hint)
}

/// Writes a command line as a YAML list of words.
fn to_word_list(line: &str) -> String {
    let is_plain = |word: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '=' | '+');
        word.chars().all(letter) && matches!(scalar::parse_plain(word), Value::Text(_)) && word != "-"
    };
    let words = line.split_whitespace().map(|word| match is_plain(word) {
        true => word.to_owned(),
        false => format!("\"{}\"", escape(word)),
    });
    format!("[{}]", words.collect::<Vec<_>>().join(", "))
}

/// Returns true if a text is a number of days with its unit.
fn is_days(text: &str) -> bool {
    text.strip_suffix('d').is_some_and(|days| matches!(scalar::parse_plain(days), Value::Number(_)))
}

/// Shows how to write a value of the wanted type.
fn type_hint(node: &Node, wanted: &str) -> Option<String> {
    let text = node.as_text();
    let boolean = match text.map(str::to_lowercase).as_deref() {
        Some("yes" | "on" | "y" | "true") => Some("true"),
        Some("no" | "off" | "n" | "false") => Some("false"),
        _ => None,
    };
    match (wanted, boolean, &node.value) {
        ("`true` or `false`", Some(word), _) => Some(format!("write `{word}`")),
        ("text", _, Value::Null) => Some("write \"~\" in quotes if you mean the text `~`".to_owned()),
        ("text", _, Value::Bool(_) | Value::Number(_)) => {
            Some(format!("write \"{}\" in quotes", node.brief()))
        }
        ("a list", _, Value::Map(_)) => Some("start each item of the list with `- `".to_owned()),
        ("a list", _, Value::Text(_)) => Some(format!("write `[{}]`", node.brief())),
        (wanted, _, Value::Number(number)) if wanted.starts_with("a duration") => {
            Some(format!("add a unit, such as `{number}s` or `{number}m`"))
        }
        (wanted, _, Value::Text(text)) if wanted.starts_with("a whole") && is_days(text) => {
            Some(format!("write `{}`", text.trim_end_matches('d')))
        }
        (wanted, _, Value::Text(text)) if wanted.starts_with("a whole") && text.contains('_') => {
            Some(format!("write `{}`", escape(&text.replace('_', ""))))
        }
        _ => None,
    }
}
