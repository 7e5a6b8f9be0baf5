//! Second stage of reading a config: turns the tree into settings and collects all errors.

mod command;
mod mcp;
mod paths;
mod sandbox;
mod shell;
mod tools;
mod when;

pub(crate) use command::BUILT_IN_TOOLS;
pub(crate) use tools::OWN_ASSESSMENT;

use std::path::{Path, PathBuf};
use std::time::Duration;

use askfirst::{Approval, Because, Risk, Rules};

use super::check;
use super::fault::Fault;
use super::keys::{KEYS, ValueKind};
use super::node::{Node, Position, Source, Value};
use super::scalar;
use super::settings::{Notify, OnDenial, Origin, Settings, SyncRule, UndoConfig, UndoDeletes};

/// The source of a config, which decides how unknown keys of a tool are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// A file. An unknown key is an error.
    File,
    /// Data that a program passes. Unknown keys of a tool are for an override, unless they look misspelled.
    Dict,
}

/// The folders that the paths in a config are relative to.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) folder: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

/// The settings of a config, with its warnings and errors.
#[derive(Debug)]
pub(crate) struct ReadResult {
    pub(crate) settings: Settings,
    pub(crate) warnings: Vec<Fault>,
    pub(crate) faults: Vec<Fault>,
}

/// Reads a tree. The caller has already replaced the older spellings.
pub(crate) fn read(root: &Node, source: &Source, base: &Base, dialect: Dialect) -> ReadResult {
    let check::CheckReport { faults, override_keys } = check::check(root, source, dialect);
    let file = source.file.display().to_string().into();
    let mut reader = ConfigReader { source, file, base, dialect, faults, warnings: Vec::new() };
    if root.get("version").is_none() && dialect == Dialect::File {
        reader.warn(&Position::start(), MISSING_VERSION, "add `version: 1` at the top");
    }
    let settings = Settings { override_keys, ..reader.read_settings(root) };
    let ConfigReader { mut faults, warnings, .. } = reader;
    faults.sort_by_key(|fault| (fault.line, fault.column));
    faults.dedup_by(|a, b| (a.line, a.column, &a.message) == (b.line, b.column, &b.message));
    ReadResult { settings, warnings, faults }
}

/// The warning about a config without a version.
pub(crate) const MISSING_VERSION: &str = "missing key `version`";

/// The error about an empty `command`.
const NO_PROGRAM: &str = "`command` names no program";

struct ConfigReader<'a> {
    source: &'a Source,
    /// The path of the config file, as shown in reasons.
    file: std::sync::Arc<str>,
    base: &'a Base,
    dialect: Dialect,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

impl ConfigReader<'_> {
    fn fault(&mut self, position: &Position, message: impl Into<String>) {
        self.faults.push(self.source.fault(position, message));
    }

    fn fault_with_hint(&mut self, position: &Position, message: impl Into<String>, hint: impl Into<String>) {
        let mut fault = self.source.fault(position, message);
        fault.hint = Some(hint.into());
        self.faults.push(fault);
    }

    fn warn(&mut self, position: &Position, message: impl Into<String>, hint: impl Into<String>) {
        let mut fault = self.source.fault(position, message);
        fault.hint = Some(hint.into());
        self.warnings.push(fault);
    }

    fn because(&self, rule: &str, position: &Position, text: impl Into<std::sync::Arc<str>>) -> Because {
        let (file, line) = match self.dialect {
            Dialect::File => (Some(std::sync::Arc::clone(&self.file)), Some(position.line)),
            Dialect::Dict => (None, None),
        };
        Because { rule: rule.into(), file, line, text: text.into() }
    }

    fn read_settings(&mut self, root: &Node) -> Settings {
        let mut settings = Settings {
            approval_timeout: duration(root.get("approval_timeout")),
            memory_expire: duration(root.at(&["memory", "expire"])),
            preview_lines: count(root.at(&["prompt", "preview_lines"])).and_then(|n| usize::try_from(n).ok()),
            undo: undo(root.get("undo")),
            sandbox: self.read_sandbox(root.get("sandbox")),
            only_tools: root.get("only_tools").map(texts),
            mcp: self.read_servers(root.get("mcp")),
            ..Settings::default()
        };
        settings.on_denial = match text(root.get("on_denial")) {
            Some("stop") => OnDenial::Stop,
            _ => OnDenial::Return,
        };
        settings.ledger.is_set = root.entry("ledger").is_some();
        settings.notify = match text(root.at(&["prompt", "notify"])) {
            Some("bell") => Notify::Bell,
            Some("off") => Notify::Off,
            _ => Notify::Auto,
        };
        settings.ledger.sync = match text(root.at(&["ledger", "sync"])) {
            Some("always") => SyncRule::Always,
            _ => SyncRule::Asked,
        };
        settings.ledger.rotate = size(root.at(&["ledger", "rotate"]));
        settings.ledger.path = root.at(&["ledger", "path"]).and_then(|node| self.read_path(node));
        settings.secrets.args = root.at(&["secrets", "args"]).map(texts).unwrap_or_default();
        settings.secrets.env = root.at(&["secrets", "env"]).map(texts).unwrap_or_default();
        settings.shell = root.get("shell").map(|node| self.read_shell(node, &settings.sandbox));
        let (entries, commands) = self.read_tools(root.get("tools"));
        settings.commands = commands;
        let default = root.entry("default_approval").and_then(|entry| {
            let value = approval(Some(&entry.value))?;
            let text = value.to_string();
            Some((value, Some(self.because("default_approval", &entry.at, text))))
        });
        match Rules::new(default, entries) {
            Ok(rules) => settings.rules = rules,
            Err(e) => {
                let position = root.entry("tools").map_or_else(Position::start, |entry| entry.at.clone());
                self.fault(&position, e.to_string());
            }
        }
        settings.origins = self.collect_origins(root);
        settings
    }

    /// Collects the keys that the config sets. Skips keys below a user-defined name.
    fn collect_origins(&self, root: &Node) -> std::collections::BTreeMap<String, Origin> {
        let plain = KEYS.iter().filter(|key| {
            let is_leaf = !matches!(
                key.kind,
                ValueKind::Section | ValueKind::NameMap | ValueKind::SectionList | ValueKind::Cases
            );
            is_leaf && key.path != "version" && !key.path.contains(['*', '['])
        });
        plain
            .filter_map(|key| {
                let path: Vec<&str> = key.path.split('.').collect();
                let (last, parents) = path.split_last()?;
                let entry = root.at(parents)?.entry(last)?;
                let from = match self.dialect {
                    Dialect::File => format!("{}:{}", self.source.file.display(), entry.at.line),
                    Dialect::Dict => self.source.file.display().to_string(),
                };
                Some((key.path.to_owned(), Origin { value: entry.value.brief(), from }))
            })
            .collect()
    }
}

fn text(node: Option<&Node>) -> Option<&str> {
    node.and_then(Node::as_text)
}

fn texts(node: &Node) -> Vec<String> {
    node.items().iter().filter_map(Node::as_text).map(str::to_owned).collect()
}

fn count(node: Option<&Node>) -> Option<u64> {
    node.and_then(Node::as_u64)
}

fn duration(node: Option<&Node>) -> Option<Duration> {
    text(node).and_then(scalar::parse_duration)
}

fn size(node: Option<&Node>) -> Option<u64> {
    match &node?.value {
        Value::Text(text) => scalar::parse_size(text),
        Value::Number(number) => number.as_u64(),
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => None,
    }
}

fn undo(node: Option<&Node>) -> UndoConfig {
    let default = UndoConfig::default();
    let get = |key| node.and_then(|node| node.get(key));
    UndoConfig {
        keep: count(get("keep")).and_then(|n| usize::try_from(n).ok()).unwrap_or(default.keep),
        days: count(get("days")).unwrap_or(default.days),
        size: size(get("size")).unwrap_or(default.size),
        deletes: match text(get("deletes")) {
            Some("ask") => UndoDeletes::Ask,
            _ => UndoDeletes::Commit,
        },
    }
}

fn approval(node: Option<&Node>) -> Option<Approval> {
    let word = text(node)?;
    Approval::ALL.into_iter().find(|approval| approval.as_str() == word)
}

fn risk(node: Option<&Node>) -> Option<Risk> {
    let word = text(node)?;
    [Risk::Low, Risk::High, Risk::Irreversible].into_iter().find(|risk| risk.as_str() == word)
}

/// Returns the folder that contains a file.
pub(crate) fn folder_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        Some(_) | None => PathBuf::from("."),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "tests_faults.rs"]
mod tests_faults;
