//! Every key and value of a tree against the table of keys. It knows types, not what values mean together.

use askfirst::Approval;
use askfirst::when::Glob;

use super::fault::Fault;
use super::keys::{self, Kind};
use super::node::{Entry, Node, Source, Value};
use super::quote::{meant, one_of, quoted};
use super::read::Dialect;
use super::scalar;

/// Checks a whole tree.
pub(crate) fn check(root: &Node, source: &Source, dialect: Dialect) -> Vec<Fault> {
    let mut checking = Checking { source, dialect, faults: Vec::new() };
    checking.section(root, "", "the config");
    checking.faults
}

struct Checking<'a> {
    source: &'a Source,
    dialect: Dialect,
    faults: Vec<Fault>,
}

impl Checking<'_> {
    fn fault(&mut self, node: &Node, message: String, hint: Option<String>) {
        let mut fault = self.source.fault(&node.place, message);
        fault.hint = hint;
        self.faults.push(fault);
    }

    fn wrong_type(&mut self, node: &Node, name: &str, wanted: &str) {
        let message = format!("`{}` must be {wanted}, not {}", quoted(name), node.kind());
        let hint = match node.as_text().filter(|_| name == "command" && wanted == "a list") {
            Some(line) => Some(format!("write `{}`", words_of(line))),
            None => hint_for(node, wanted),
        };
        self.fault(node, message, hint);
    }

    /// A map whose keys are in the table. Nothing counts as an empty one.
    fn section(&mut self, node: &Node, path: &str, name: &str) {
        if node.is_null() {
            return;
        }
        if !node.is_map() {
            let message = format!("`{}` must be a map, not {}", quoted(name), node.kind());
            return self.fault(node, message, node.as_text().and_then(|text| as_section(path, text)));
        }
        for entry in node.entries() {
            match keys::child(path, &entry.key) {
                Some(key) => self.value(&entry.value, key.path, key.kind, &entry.key),
                None => self.unknown(entry, path),
            }
        }
    }

    fn unknown(&mut self, entry: &Entry, path: &str) {
        if path == "tools.*" && self.dialect == Dialect::Dict {
            return;
        }
        let known = || keys::below(path).map(|(name, _)| name);
        let mut fault = self.source.fault(&entry.at, format!("unknown key `{}`", quoted(&entry.key)));
        fault.hint = Some(match meant(&entry.key, known()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("known here: {}", known().collect::<Vec<_>>().join(", ")),
        });
        self.faults.push(fault);
    }

    fn value(&mut self, node: &Node, path: &str, kind: Kind, name: &str) {
        match kind {
            Kind::Section => self.section(node, path, name),
            Kind::Named => self.named(node, path, name),
            Kind::Sections => self.items(node, name, |this, item| {
                if item.is_map() {
                    this.section(item, &format!("{path}[]"), name);
                } else {
                    this.wrong_type(item, name, "a list of maps");
                }
            }),
            Kind::Cases => match node.value {
                Value::List(_) => self.items(node, name, |this, item| this.section(item, path, name)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => {
                    self.section(node, path, name);
                }
            },
            Kind::Version => self.version(node),
            Kind::Approval => self.word(node, name, &Approval::ALL.map(Approval::as_str)),
            Kind::OptionalApproval if node.is_null() => {}
            Kind::OptionalApproval => self.word(node, name, &Approval::ALL.map(Approval::as_str)),
            Kind::Word(words) => self.word(node, name, words),
            Kind::Words(words) => self.items(node, name, |this, item| this.word(item, name, words)),
            Kind::Bool if node.as_bool().is_none() => self.wrong_type(node, name, "`true` or `false`"),
            Kind::Bool => {}
            Kind::Count if node.as_u64().is_none_or(|count| count == 0) => {
                self.wrong_or_bad(node, name, "a whole number above 0", node.as_u64().is_some());
            }
            Kind::Count => {}
            Kind::Duration => self.measured(node, name, "a time such as `10m`, `8h`, `30s` or `500ms`"),
            Kind::Size => self.measured(node, name, "a number of bytes such as `64MiB` or `10MB`"),
            Kind::Text | Kind::Path => self.text(node, name),
            Kind::Texts | Kind::Paths => self.items(node, name, |this, item| this.text(item, name)),
            Kind::Globs => self.items(node, name, |this, item| {
                this.text(item, name);
                this.glob(item, item.as_text());
            }),
            Kind::Ignores => self.items(node, name, |this, item| this.ignore_rule(item, name)),
            Kind::EnvNames => self.items(node, name, |this, item| this.env_name(item, name)),
            Kind::When => self.when(node, name),
            Kind::Scalars => self.items(node, name, |this, item| this.scalar(item, name)),
            Kind::Anything if !node.is_map() && !node.is_null() => self.wrong_type(node, name, "a map"),
            Kind::Anything => {}
        }
    }

    fn named(&mut self, node: &Node, path: &str, name: &str) {
        if node.is_null() {
            return;
        }
        if !node.is_map() {
            return self.wrong_type(node, name, "a map");
        }
        let below = format!("{path}.*");
        let Some(key) = keys::find(&below) else { return };
        for entry in node.entries() {
            if entry.key.is_empty() {
                self.faults.push(self.source.fault(&entry.at, format!("a name in `{name}` is empty")));
            }
            self.value(&entry.value, key.path, key.kind, &entry.key);
        }
    }

    fn items(&mut self, node: &Node, name: &str, mut each: impl FnMut(&mut Self, &Node)) {
        match &node.value {
            Value::List(items) => items.iter().for_each(|item| each(self, item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => {
                self.wrong_type(node, name, "a list");
            }
        }
    }

    fn version(&mut self, node: &Node) {
        if node.as_text() == Some("1") {
            let message = "`version` must be the number `1`, not text".to_owned();
            self.fault(node, message, Some("write `version: 1`".to_owned()));
        } else if node.as_u64() != Some(1) {
            let message = format!("`version` must be `1`, not `{}`", node.brief());
            self.fault(node, message, Some("this program reads version 1".to_owned()));
        }
    }

    fn word(&mut self, node: &Node, name: &str, words: &[&str]) {
        let Some(text) = node.as_text() else {
            return self.wrong_type(node, name, &one_of(words.iter().copied()));
        };
        if !words.contains(&text) {
            let message = format!(
                "`{}` must be {}, not `{}`",
                quoted(name),
                one_of(words.iter().copied()),
                quoted(text)
            );
            let meant = if words.contains(&Approval::Deny.as_str()) {
                meant_approval(text).map(Approval::as_str).filter(|word| words.contains(word))
            } else {
                meant(text, words.iter().copied())
            };
            self.fault(node, message, meant.map(|word| format!("did you mean `{word}`?")));
        }
    }

    fn wrong_or_bad(&mut self, node: &Node, name: &str, wanted: &str, right_type: bool) {
        if right_type {
            let message = format!("`{}` must be {wanted}, not `{}`", quoted(name), node.brief());
            self.fault(node, message, None);
        } else {
            self.wrong_type(node, name, wanted);
        }
    }

    fn measured(&mut self, node: &Node, name: &str, wanted: &str) {
        let (duration, size) = match node.as_text() {
            Some(text) => {
                (scalar::duration(text).map(|time| !time.is_zero()), scalar::size(text).map(|n| n > 0))
            }
            None => (None, node.as_u64().map(|n| n > 0)),
        };
        let good = if wanted.starts_with("a time") { duration } else { size };
        if good != Some(true) {
            self.wrong_or_bad(node, name, wanted, node.as_text().is_some() || good.is_some());
        }
    }

    fn text(&mut self, node: &Node, name: &str) {
        if node.as_text().is_none() {
            self.wrong_type(node, name, "text");
        }
    }

    fn glob(&mut self, node: &Node, text: Option<&str>) {
        if let Some(Err(error)) = text.map(Glob::new) {
            self.fault(node, quoted(&error.to_string()), None);
        }
    }

    fn ignore_rule(&mut self, node: &Node, name: &str) {
        let Some(text) = node.as_text() else { return self.text(node, name) };
        let fault = match text.trim() {
            "" => Some("the rule is empty"),
            rule if rule.starts_with('!') => Some("a rule with `!` takes back nothing here"),
            rule if rule.trim_matches('/').is_empty() => Some("the rule names nothing"),
            rule if rule.split('/').any(|part| part == "..") => Some("a rule cannot climb with `..`"),
            _ => None,
        };
        match fault {
            Some(message) => self.fault(node, format!("`{}`: {message}", quoted(text)), None),
            None => self.glob(node, Some(text)),
        }
    }

    fn env_name(&mut self, node: &Node, name: &str) {
        let Some(text) = node.as_text() else { return self.text(node, name) };
        let letters = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if text.is_empty() || !letters || text.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!("`{}` is not the name of an environment variable", quoted(text));
            self.fault(node, message, None);
        }
    }

    fn scalar(&mut self, node: &Node, name: &str) {
        if matches!(node.value, Value::List(_) | Value::Map(_) | Value::Null) {
            self.wrong_type(node, name, "text, a number or a boolean");
        }
    }

    fn when(&mut self, node: &Node, name: &str) {
        if !node.is_map() {
            return self.wrong_type(node, name, "a map of arguments");
        }
        for entry in node.entries() {
            match &entry.value.value {
                Value::List(items) if items.is_empty() => {
                    let message = format!("`{}` can never hold: the list is empty", quoted(&entry.key));
                    self.fault(&entry.value, message, None);
                }
                Value::List(items) => items.iter().for_each(|item| self.scalar(item, &entry.key)),
                Value::Map(_) => self.wrong_type(&entry.value, &entry.key, "a value or a list of values"),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
            }
        }
    }
}

/// The approval that a word probably means, and never a milder one: `no` is not `none`.
fn meant_approval(word: &str) -> Option<Approval> {
    let lower = word.to_lowercase();
    match lower.as_str() {
        "no" | "off" | "never" | "false" | "block" | "forbid" => return Some(Approval::Deny),
        "always" => return Some(Approval::Human),
        "ask" | "yes" | "on" | "true" => return Some(Approval::Required),
        "once" | "session" => return Some(Approval::OncePerSession),
        "allow" | "none" => return Some(Approval::None),
        _ => {}
    }
    // Nothing but its own letters in another order comes so near to `none` that it cannot be another word.
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    if letters(&lower) == letters(Approval::None.as_str()) {
        return Some(Approval::None);
    }
    let asking = || Approval::ALL.into_iter().filter(|approval| *approval > Approval::None);
    let near = meant(&lower, asking().map(Approval::as_str))?;
    asking().find(|approval| approval.as_str() == near)
}

/// How a section is written of which only the approval was given.
fn as_section(path: &str, text: &str) -> Option<String> {
    let known = Approval::ALL.into_iter().find(|approval| approval.as_str() == text);
    let approval = known.or_else(|| meant_approval(text))?;
    let has = |name| {
        let kind = keys::child(path, name).map(|key| key.kind);
        matches!(kind, Some(Kind::Approval | Kind::OptionalApproval))
    };
    if has("approval") {
        Some(format!("write `{{ approval: {approval} }}`"))
    } else {
        has("write").then(|| format!("write `{{ read: {approval}, write: {approval} }}`"))
    }
}

/// A command line as a list of words.
fn words_of(line: &str) -> String {
    let plain = |word: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '=' | '+');
        word.chars().all(letter) && matches!(scalar::plain(word), Value::Text(_)) && word != "-"
    };
    let words = line.split_whitespace().map(|word| match plain(word) {
        true => word.to_owned(),
        false => format!("\"{}\"", quoted(word)),
    });
    format!("[{}]", words.collect::<Vec<_>>().join(", "))
}

fn hint_for(node: &Node, wanted: &str) -> Option<String> {
    let text = node.as_text();
    let boolean = match text.map(str::to_lowercase).as_deref() {
        Some("yes" | "on" | "y" | "true") => Some("true"),
        Some("no" | "off" | "n" | "false") => Some("false"),
        _ => None,
    };
    match (wanted, boolean, &node.value) {
        ("`true` or `false`", Some(word), _) => Some(format!("write `{word}`")),
        ("text", _, Value::Null) => Some("write \"~\" in quotes, if that is meant".to_owned()),
        ("text", _, Value::Bool(_) | Value::Number(_)) => {
            Some(format!("write \"{}\" in quotes", node.brief()))
        }
        ("a list", _, Value::Map(_)) => Some("begin each item of the list with `- `".to_owned()),
        ("a list", _, Value::Text(_)) => Some(format!("write `[{}]`", node.brief())),
        (wanted, _, Value::Number(number)) if wanted.starts_with("a time") => {
            Some(format!("add a unit: `{number}s`, `{number}m`"))
        }
        (wanted, _, Value::Text(text)) if wanted.starts_with("a whole") && text.contains('_') => {
            Some(format!("write `{}`", quoted(&text.replace('_', ""))))
        }
        _ => None,
    }
}
