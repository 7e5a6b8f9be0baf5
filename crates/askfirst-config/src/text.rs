//! Turns the text of one config into settings: parse it, rewrite older spellings, read it.
//!
//! It collects all errors of the text instead of stopping at the first.

use super::fault::{Fault, Faults};
use super::file;
use super::node::{Node, Source};
use super::older;
use super::read::{self, Base, Dialect};
use super::settings::Settings;

/// Reads the text of a config file. Returns the settings and the warnings.
pub(crate) fn read_file(source: &Source, base: &Base) -> Result<(Settings, Vec<Fault>), Faults> {
    let tree = file::parse(source).map_err(|fault| Faults(vec![fault]))?;
    read_tree(tree.root, tree.faults, source, base, Dialect::File)
}

/// Reads a config that a program passes as JSON. Returns the settings and the warnings.
pub(crate) fn read_dict(
    value: &serde_json::Value,
    source: &Source,
    base: &Base,
) -> Result<(Settings, Vec<Fault>), Faults> {
    if let Some(message) = check_depth(value, 0) {
        return Err(Faults(vec![source.fault(&super::node::Position::start(), message)]));
    }
    read_tree(Node::from_json(value), Vec::new(), source, base, Dialect::Dict)
}

fn read_tree(
    mut root: Node,
    mut faults: Vec<Fault>,
    source: &Source,
    base: &Base,
    dialect: Dialect,
) -> Result<(Settings, Vec<Fault>), Faults> {
    let older = older::rewrite(&mut root, source, dialect);
    let read = read::read(&root, source, base, dialect);
    faults.extend(older.faults);
    faults.extend(read.faults);
    if !faults.is_empty() {
        faults.sort_by_key(|fault| (fault.line, fault.column));
        faults.dedup_by(|a, b| (a.line, a.column, &a.message) == (b.line, b.column, &b.message));
        return Err(Faults(faults));
    }
    let mut warnings = older.warnings;
    warnings.extend(read.warnings);
    Ok((read.settings, warnings))
}

/// Returns an error message if a value is nested too deeply.
fn check_depth(value: &serde_json::Value, depth: usize) -> Option<String> {
    if depth > file::MAX_DEPTH {
        return Some(format!("nested more than {} levels deep", file::MAX_DEPTH));
    }
    match value {
        serde_json::Value::Array(items) => items.iter().find_map(|item| check_depth(item, depth + 1)),
        serde_json::Value::Object(map) => map.values().find_map(|item| check_depth(item, depth + 1)),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => None,
    }
}
