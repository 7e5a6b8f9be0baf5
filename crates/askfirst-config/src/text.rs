//! One text from bytes to settings: tree, older spellings, meaning. Every fault of it at once.

use super::fault::{Fault, Faults};
use super::file;
use super::node::{Node, Source};
use super::older;
use super::read::{self, Base, Dialect};
use super::settings::Settings;

/// Reads the text of a file.
pub(crate) fn settings(source: &Source, base: &Base) -> Result<(Settings, Vec<Fault>), Faults> {
    let tree = file::parse(source).map_err(|fault| Faults(vec![fault]))?;
    meaning(tree.root, tree.faults, source, base, Dialect::File)
}

/// Reads a program's own data.
pub(crate) fn dict(
    value: &serde_json::Value,
    source: &Source,
    base: &Base,
) -> Result<(Settings, Vec<Fault>), Faults> {
    if let Some(message) = too_deep(value, 0) {
        return Err(Faults(vec![source.fault(&super::node::Place::start(), message)]));
    }
    meaning(Node::from_json(value), Vec::new(), source, base, Dialect::Dict)
}

fn meaning(
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

fn too_deep(value: &serde_json::Value, depth: usize) -> Option<String> {
    if depth > file::MAX_DEPTH {
        return Some(format!("nested deeper than {}", file::MAX_DEPTH));
    }
    match value {
        serde_json::Value::Array(items) => items.iter().find_map(|item| too_deep(item, depth + 1)),
        serde_json::Value::Object(map) => map.values().find_map(|item| too_deep(item, depth + 1)),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => None,
    }
}
