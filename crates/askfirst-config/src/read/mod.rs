//! Stage two: the tree becomes settings, and every fault of the file is collected. It never stops at the first.

mod command;
mod mcp;
mod paths;
mod sandbox;
mod shell;
mod tools;
mod when;

pub(crate) use command::OWN_TOOLS;

use std::path::{Path, PathBuf};
use std::time::Duration;

use askfirst::{Approval, Because, Risk, Rules};

use super::check;
use super::fault::Fault;
use super::keys::{KEYS, Kind};
use super::node::{Node, Place, Source, Value};
use super::scalar;
use super::settings::{OnDenial, Origin, Settings, SyncRule};

/// Where a config comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// A file: what is not known is a fault.
    File,
    /// A program's own data: unknown keys under a tool go to the override.
    Dict,
}

/// What paths are relative to.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub(crate) folder: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

/// What a file says, and what there is to say about it.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) settings: Settings,
    pub(crate) warnings: Vec<Fault>,
    pub(crate) faults: Vec<Fault>,
}

/// Reads a tree in which the older spellings have been replaced.
pub(crate) fn read(root: &Node, source: &Source, base: &Base, dialect: Dialect) -> Read {
    let faults = check::check(root, source, dialect);
    let file = source.file.display().to_string().into();
    let mut reader = Reader { source, file, base, dialect, faults, warnings: Vec::new() };
    if root.get("version").is_none() && dialect == Dialect::File {
        reader.warn(&Place::start(), "there is no `version`", "write `version: 1` at the top");
    }
    let settings = reader.settings(root);
    let Reader { mut faults, warnings, .. } = reader;
    faults.sort_by_key(|fault| (fault.line, fault.column));
    faults.dedup_by(|a, b| (a.line, a.column, &a.message) == (b.line, b.column, &b.message));
    Read { settings, warnings, faults }
}

struct Reader<'a> {
    source: &'a Source,
    /// The name of the file, as reasons give it.
    file: std::sync::Arc<str>,
    base: &'a Base,
    dialect: Dialect,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

impl Reader<'_> {
    fn fault(&mut self, place: &Place, message: impl Into<String>) {
        self.faults.push(self.source.fault(place, message));
    }

    fn fault_with_hint(&mut self, place: &Place, message: impl Into<String>, hint: impl Into<String>) {
        let mut fault = self.source.fault(place, message);
        fault.hint = Some(hint.into());
        self.faults.push(fault);
    }

    fn warn(&mut self, place: &Place, message: impl Into<String>, hint: impl Into<String>) {
        let mut fault = self.source.fault(place, message);
        fault.hint = Some(hint.into());
        self.warnings.push(fault);
    }

    fn because(&self, rule: &str, place: &Place, text: impl Into<std::sync::Arc<str>>) -> Because {
        let (file, line) = match self.dialect {
            Dialect::File => (Some(std::sync::Arc::clone(&self.file)), Some(place.line)),
            Dialect::Dict => (None, None),
        };
        Because { rule: rule.into(), file, line, text: text.into() }
    }

    fn settings(&mut self, root: &Node) -> Settings {
        let mut settings = Settings {
            approval_timeout: duration(root.get("approval_timeout")),
            memory_expire: duration(root.at(&["memory", "expire"])),
            preview_lines: count(root.at(&["prompt", "preview_lines"])).and_then(|n| usize::try_from(n).ok()),
            sandbox: self.sandbox(root.get("sandbox")),
            only_tools: root.get("only_tools").map(texts),
            mcp: self.mcp(root.get("mcp")),
            ..Settings::default()
        };
        settings.on_denial = match text(root.get("on_denial")) {
            Some("stop") => OnDenial::Stop,
            _ => OnDenial::Return,
        };
        settings.ledger.sync = match text(root.at(&["ledger", "sync"])) {
            Some("always") => SyncRule::Always,
            _ => SyncRule::Asked,
        };
        settings.ledger.rotate = size(root.at(&["ledger", "rotate"]));
        settings.ledger.path = root.at(&["ledger", "path"]).and_then(|node| self.path(node));
        settings.secrets.args = root.at(&["secrets", "args"]).map(texts).unwrap_or_default();
        settings.secrets.env = root.at(&["secrets", "env"]).map(texts).unwrap_or_default();
        settings.shell = root.get("shell").map(|node| self.shell(node, &settings.sandbox));
        let (entries, commands) = self.tools(root.get("tools"));
        settings.commands = commands;
        let default = root.entry("default_approval").and_then(|entry| {
            let value = approval(Some(&entry.value))?;
            let text = value.to_string();
            Some((value, Some(self.because("default_approval", &entry.at, text))))
        });
        match Rules::new(default, entries) {
            Ok(rules) => settings.rules = rules,
            Err(e) => {
                let place = root.entry("tools").map_or_else(Place::start, |entry| entry.at.clone());
                self.fault(&place, e.to_string());
            }
        }
        settings.origins = self.origins(root);
        settings
    }

    /// Which plain keys are given, with what and where.
    fn origins(&self, root: &Node) -> std::collections::BTreeMap<String, Origin> {
        let plain = KEYS.iter().filter(|key| {
            let leaf = !matches!(key.kind, Kind::Section | Kind::Named | Kind::Sections | Kind::Cases);
            leaf && key.path != "version" && !key.path.contains(['*', '['])
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
    text(node).and_then(scalar::duration)
}

fn size(node: Option<&Node>) -> Option<u64> {
    match &node?.value {
        Value::Text(text) => scalar::size(text),
        Value::Number(number) => number.as_u64(),
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => None,
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

/// The folder of a file.
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
