//! The hooks that Codex trusts, in its `config.toml`. Codex runs no other hook, and does not report that it skipped one.

use std::collections::BTreeMap;
use std::fmt::Display;

use askfirst::Digest;
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use super::json::{Comments, hook_form, read};
use super::{HookCommand, SettingsError};
use crate::Agent;

/// A hook as Codex records its trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedHook {
    /// The file of the hook, its event and its position.
    pub key: String,
    /// The digest of its event, matcher and command.
    pub hash: String,
}

/// Returns our hooks in a `hooks.json` with this absolute path.
///
/// # Errors
/// Fails if the text is not JSON.
pub fn hooks_to_trust(
    text: &str,
    path: impl Display,
    hook: &HookCommand,
) -> Result<Vec<TrustedHook>, SettingsError> {
    let config = read(text, Comments::Refused)?;
    let mut found = Vec::new();
    for event in hook_form(Agent::Codex).map(|form| form.events).unwrap_or_default() {
        let label = &snake_case(event);
        let groups = list(&config, &["hooks", event]);
        for (group_at, group) in groups.iter().enumerate() {
            for (at, handler) in list(group, &["hooks"]).iter().enumerate() {
                let command = handler.get("command").and_then(Value::as_str).unwrap_or_default();
                if hook.is_line(command, Agent::Codex) {
                    let key = format!("{path}:{label}:{group_at}:{at}");
                    found.push(TrustedHook { key, hash: hash(label, group, handler) });
                }
            }
        }
    }
    Ok(found)
}

fn snake_case(name: &str) -> String {
    let start = |at, c: char| if at > 0 && c.is_ascii_uppercase() { "_" } else { "" };
    name.char_indices().map(|(at, c)| format!("{}{}", start(at, c), c.to_ascii_lowercase())).collect()
}

fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    let found = path.iter().try_fold(value, |value, key| value.get(*key));
    found.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The digest that Codex computes: SHA-256 of compact JSON with sorted keys.
pub(super) fn hash(event: &str, group: &Value, handler: &Value) -> String {
    let field = |from: &Value, key: &str| from.get(key).cloned().filter(|value| !value.is_null());
    let mut hook = BTreeMap::from([
        ("async", json!(false)),
        ("command", field(handler, "command").unwrap_or_default()),
        ("timeout", field(handler, "timeout").unwrap_or_else(|| json!(600))),
        ("type", json!("command")),
    ]);
    hook.extend(field(handler, "statusMessage").map(|message| ("statusMessage", message)));
    let mut identity = BTreeMap::from([("event_name", json!(event)), ("hooks", json!([hook]))]);
    identity.extend(field(group, "matcher").map(|matcher| ("matcher", matcher)));
    Digest::of(serde_json::to_vec(&identity).unwrap_or_default()).to_string()
}

/// Returns the text of a `config.toml` that trusts these hooks.
///
/// # Errors
/// Fails if the text is not TOML, or if `hooks.state` is not a table.
pub fn trust(text: &str, hooks: &[TrustedHook]) -> Result<String, SettingsError> {
    let mut config = parse(text)?;
    if hooks.is_empty() {
        return Ok(text.to_owned());
    }
    let state =
        ["hooks", "state"].into_iter().try_fold(config.as_table_mut() as &mut dyn TableLike, |at, key| {
            at.entry(key).or_insert_with(implicit_table).as_table_like_mut()
        });
    let not_tables = || SettingsError { line: 1, reason: "expected `hooks.state` to be a table".to_owned() };
    let state = state.ok_or_else(not_tables)?;
    for hook in hooks {
        let entry = state.entry(&hook.key).or_insert_with(|| Item::Table(Table::new()));
        let entry = entry.as_table_like_mut().ok_or_else(not_tables)?;
        entry.remove("enabled");
        entry.insert("trusted_hash", value(hook.hash.as_str()));
    }
    Ok(config.to_string())
}

fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

/// Returns the text of a `config.toml` without the trust in these hooks, or `None` if nothing else is in it.
///
/// # Errors
/// Fails if the text is not TOML.
pub fn distrust(text: &str, hooks: &[TrustedHook]) -> Result<Option<String>, SettingsError> {
    let mut config = parse(text)?;
    if let Some(all) = config.get_mut("hooks").and_then(Item::as_table_like_mut) {
        if let Some(state) = all.get_mut("state").and_then(Item::as_table_like_mut) {
            hooks.iter().for_each(|hook| drop(state.remove(&hook.key)));
            if state.is_empty() {
                all.remove("state");
            }
        }
        if all.is_empty() {
            config.remove("hooks");
        }
    }
    Ok(Some(config.to_string()).filter(|text| !text.trim().is_empty()))
}

/// Whether a `config.toml` trusts all of these hooks.
///
/// # Errors
/// Fails if the text is not TOML.
pub fn is_trusted(text: &str, hooks: &[TrustedHook]) -> Result<bool, SettingsError> {
    let config = parse(text)?;
    let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
    Ok(hooks.iter().all(|hook| {
        let entry = state.and_then(|state| state.get(&hook.key));
        let is_on = |entry: &&Item| entry.get("enabled").and_then(Item::as_bool) != Some(false);
        let hash = entry.filter(is_on).and_then(|entry| entry.get("trusted_hash"));
        hash.and_then(Item::as_str) == Some(hook.hash.as_str())
    }))
}

/// Parses a TOML text.
pub(super) fn parse(text: &str) -> Result<DocumentMut, SettingsError> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let reason = error.message().lines().next().unwrap_or("invalid TOML").to_owned();
        SettingsError::at(text, error.span().map_or(0, |span| span.start), reason)
    })
}
