//! `undo` and `review`: list what commands changed in this project, and restore what they replaced.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use askfirst::Timestamp;
use askfirst::record::{CommitRecord, Record};
use askfirst_config::Places;
use askfirst_display::visible_line;
use askfirst_runtime::ledger::rfc3339;
use askfirst_runtime::rehearsal::{UndoEntry, UndoPath, UndoStore};
use serde_json::{Value, json};

use crate::args::Common;
use crate::exit::Exit;
use crate::print::{counted, out};
use crate::session::{log_action, read_config};

/// How far `review` looks back unless `--all` is given.
const REVIEWED: Duration = Duration::from_secs(24 * 3600);
/// The most paths that `review` lists of one change.
const MAX_PATHS: usize = 20;

/// Opens the store for the folder of the config, or else for the current folder.
fn open(common: &Common) -> anyhow::Result<UndoStore> {
    let folder = read_config(common).map(|config| config.folder);
    let folder = folder.or_else(|_| std::env::current_dir())?;
    Ok(UndoStore::open(&Places::from_env().state, &folder)?)
}

/// Restores what these changes replaced, or what the last one replaced.
pub fn undo(common: &Common, ids: &[String]) -> anyhow::Result<Exit> {
    let store = open(common)?;
    let ids = match ids {
        [] => vec![store.last()?.id],
        ids => ids.to_vec(),
    };
    for id in ids {
        let root = undo_logged(&store, &id, |entry| {
            log_action(&read_config(common)?, &Places::from_env(), "undo", entry)
        })?;
        if common.json {
            crate::print::json(&json!({"id": id, "root": root, "undone": true}));
        } else {
            out(&format!("undone: {id} in {}", visible_line(&root).text()));
        }
    }
    Ok(Exit::Done)
}

/// Undoes one change and returns its root. An undo that cannot be logged does not happen.
pub fn undo_logged(
    store: &UndoStore,
    id: &str,
    log: impl FnOnce(&Record) -> anyhow::Result<()>,
) -> anyhow::Result<String> {
    let by = Some(askfirst_runtime::origin::of_this_process());
    let undone = CommitRecord { by, ..store.undo(id)? };
    let root = undone.root.clone();
    if let Err(error) = log(&Record::Undone(undone)) {
        store.redo(id)?;
        return Err(error);
    }
    Ok(root)
}

/// Lists the changes that can be undone, the newest first.
pub fn list(common: &Common) -> anyhow::Result<Exit> {
    let entries = open(common)?.list()?;
    if common.json {
        crate::print::json(&entries.iter().map(entry_json).collect::<Vec<_>>());
        return Ok(Exit::Done);
    }
    if entries.is_empty() {
        out("no changes to undo here");
    }
    entries.iter().for_each(print_entry);
    Ok(Exit::Done)
}

/// Shows the paths of one change.
pub fn show(common: &Common, id: &str) -> anyhow::Result<Exit> {
    let store = open(common)?;
    let paths = store.paths(id)?;
    if common.json {
        crate::print::json(&paths.iter().map(path_json).collect::<Vec<_>>());
    } else {
        paths.iter().for_each(print_path);
    }
    Ok(Exit::Done)
}

/// Lists what commands changed, each with its paths. Those that git does not show come first.
pub fn review(common: &Common, all: bool) -> anyhow::Result<Exit> {
    let store = open(common)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let is_recent = |entry: &UndoEntry| all || now.saturating_sub(entry.made) <= REVIEWED.as_secs();
    let entries: Vec<UndoEntry> = store.list()?.into_iter().filter(is_recent).collect();
    let mut reviewed = Vec::new();
    for entry in entries {
        let mut paths = store.paths(&entry.id)?;
        paths.sort_by_key(|path| !path.is_ignored);
        reviewed.push((entry, paths));
    }
    if common.json {
        let value = |(entry, paths): &(UndoEntry, Vec<UndoPath>)| {
            let mut value = entry_json(entry);
            if let Some(fields) = value.as_object_mut() {
                fields.insert("paths".to_owned(), paths.iter().map(path_json).collect());
            }
            value
        };
        crate::print::json(&reviewed.iter().map(value).collect::<Vec<_>>());
        return Ok(Exit::Done);
    }
    if reviewed.is_empty() {
        out(if all {
            "commands changed nothing here"
        } else {
            "commands changed nothing here in the last 24 hours"
        });
    }
    for (entry, paths) in &reviewed {
        print_entry(entry);
        paths.iter().take(MAX_PATHS).for_each(print_path);
        if let Some(more) = paths.len().checked_sub(MAX_PATHS).filter(|more| *more > 0) {
            out(&format!(
                "    … and {} (askfirst undo --show {})",
                counted(more as u64, "more path"),
                entry.id
            ));
        }
    }
    if reviewed.iter().any(|(entry, _)| entry.is_applied) {
        out("");
        out("`askfirst undo ID` restores what a change replaced.");
    }
    Ok(Exit::Done)
}

fn print_entry(entry: &UndoEntry) {
    let at = rfc3339(Timestamp(entry.made.saturating_mul(1000)));
    let state = if entry.is_applied { String::new() } else { format!("  ({})", entry.state) };
    let (added, changed, removed) = entry.counts;
    let all = [(changed, "changed"), (added, "added"), (removed, "removed")];
    let counts: Vec<String> =
        all.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let command = visible_line(&entry.command).text();
    out(&format!("{}  {at}  {}{state}", entry.id, counts.join(", ")));
    out(&format!("    $ {command}"));
}

fn print_path(path: &UndoPath) {
    let size = |size: Option<u64>| size.map_or("-".to_owned(), |size| size.to_string());
    let sizes = match path.sizes {
        (None, Some(after)) => counted(after, "byte"),
        (Some(before), None) => format!("was {}", counted(before, "byte")),
        (before, after) => format!("{} → {} bytes", size(before), size(after)),
    };
    let hidden = if path.is_ignored { "  git does not show it" } else { "" };
    let name = visible_line(&path.path.to_string_lossy()).text();
    out(&format!("    {:<8} {name}  {sizes}{hidden}", path.change));
}

fn entry_json(entry: &UndoEntry) -> Value {
    let (added, changed, removed) = entry.counts;
    json!({
        "id": entry.id,
        "made": rfc3339(Timestamp(entry.made.saturating_mul(1000))),
        "root": entry.root.to_string_lossy(),
        "call_id": entry.call_id,
        "command": entry.command,
        "added": added,
        "changed": changed,
        "removed": removed,
        "state": entry.state,
    })
}

fn path_json(path: &UndoPath) -> Value {
    json!({
        "path": path.path.to_string_lossy(),
        "change": path.change,
        "bytes_before": path.sizes.0,
        "bytes_after": path.sizes.1,
        "ignored_by_git": path.is_ignored,
    })
}
