//! `log`: lists the calls in the audit log, shows one call with everything about it, and verifies the audit log.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Context;
use askfirst::Cause;
use askfirst_config::Places;
use askfirst_display::escape::escaped_line;
use askfirst_runtime::ledger::{Entry, Filter, find, read, verify as check};
use askfirst_runtime::tools::catalog::ledger_path;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::Common;
use crate::exit::Exit;
use crate::print::{counted, err, out, rows_of};
use crate::session::read_config;

/// The minimum width of the last column. With less space, the whole row is wrapped.
const WHY: usize = 16;

/// Prints the newest calls, one per line.
pub fn list(common: &Common, last: usize) -> anyhow::Result<Exit> {
    let path = path(common)?;
    if !path.exists() {
        err(&format!("no audit log yet at `{}`", path.display()));
        return Ok(Exit::Done);
    }
    if common.json {
        let mut newest = std::collections::VecDeque::new();
        for entry in read(&path, Filter::default())? {
            match entry {
                Ok(entry) => newest.push_back(as_json(&entry)),
                Err(fault) => err(&format!("warning: {fault}")),
            }
            if newest.len() > last {
                newest.pop_front();
            }
        }
        newest.iter().for_each(crate::print::json);
        return Ok(Exit::Done);
    }
    print_entries(&path, last)?;
    Ok(Exit::Done)
}

/// A call, as read from its entries.
#[derive(Default)]
struct LoggedCall {
    at: String,
    tool: String,
    decided: Option<(bool, String, String)>,
    ended: Option<String>,
    /// The ID of the edited call that replaced it.
    became: Option<String>,
}

/// Prints calls, one per line, newest last.
pub fn print_entries(path: &Path, last: usize) -> anyhow::Result<()> {
    // Two programs may use the same session name, so a call id alone is not unique.
    let mut calls: BTreeMap<u64, ((String, String), LoggedCall)> = BTreeMap::new();
    let mut of: BTreeMap<(String, String), u64> = BTreeMap::new();
    for entry in read(path, Filter::default())? {
        let entry = match entry {
            Ok(entry) => entry,
            Err(fault) => {
                err(&format!("warning: {fault}"));
                continue;
            }
        };
        let Some(id) = entry.call_id().map(str::to_owned) else { continue };
        let here = |id: &str| (entry.session.clone(), id.to_owned());
        let from =
            entry.fields.get("edited_from").and_then(Value::as_str).and_then(|from| of.get(&here(from)));
        if let Some((_, call)) = from.and_then(|first| calls.get_mut(first)) {
            call.became = Some(id.clone());
        }
        let first = *of.entry(here(&id)).or_insert(entry.seq);
        let (_, call) = calls.entry(first).or_insert_with(|| (here(&id), LoggedCall::default()));
        add_entry(call, &entry);
        if calls.len() > last
            && let Some((_, (gone, _))) = calls.pop_first()
        {
            of.remove(&gone);
        }
    }
    for ((_, id), call) in calls.values() {
        let (word, why) = match (&call.decided, &call.ended) {
            (None, _) => match &call.became {
                Some(other) => ("edited", format!("by person: see {}", short(other))),
                None => ("waiting", "no decision was logged".to_owned()),
            },
            (Some((false, cause, why)), _) => ("refused", format!("{cause}: {why}")),
            (Some((true, cause, _)), None) => ("began", format!("{cause}: its end was not logged")),
            (Some((true, cause, _)), Some(ended)) if ended == "done" => ("ran", format!("by {cause}")),
            (Some((true, cause, _)), Some(ended)) => ("ran", format!("by {cause}: {ended}")),
        };
        let time = call.at.get(..19).unwrap_or(&call.at).replace('T', " ");
        row(&format!("{time}  {:<10} {word:<8} {:<20} ", short(id), call.tool), &why);
    }
    Ok(())
}

/// Prints a call on one line. On a terminal, wraps it to as many lines as it needs.
fn row(head: &str, why: &str) {
    let columns = askfirst_terminal::columns();
    let room = columns.saturating_sub(head.len() + 1);
    match std::io::stdout().is_terminal() {
        false => out(&format!("{head}{why}")),
        true if room < WHY => {
            let rows = rows_of(&escaped_line(&format!("{head}{why}")), columns.saturating_sub(5));
            for (at, row) in rows.iter().enumerate() {
                out(&if at == 0 { row.clone() } else { format!("    {row}") });
            }
        }
        true => {
            let why = escaped_line(why).split_whitespace().collect::<Vec<_>>().join(" ");
            let first = rows_of(&why, room).into_iter().next().unwrap_or_default();
            out(&format!("{head}{first}"));
            let rest = why.strip_prefix(&first).unwrap_or(&why).trim_start();
            rows_of(rest, columns.saturating_sub(5)).iter().for_each(|row| out(&format!("    {row}")));
        }
    }
}

/// Returns the end of a call's id, which is enough to distinguish sessions. `log show` accepts it.
fn short(id: &str) -> &str {
    let number = id.rfind('-').unwrap_or_default();
    let start = id.char_indices().map(|(at, _)| at).rfind(|at| at + 6 <= number);
    start.and_then(|start| id.get(start..)).unwrap_or(id)
}

/// Adds the data of one entry to its call.
fn add_entry(call: &mut LoggedCall, entry: &Entry) {
    let text = |key: &str| entry.fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    call.at.clone_from(&entry.at);
    if let Some(tool) = entry.tool_name() {
        tool.clone_into(&mut call.tool);
    }
    match entry.kind.as_str() {
        "decided" => {
            let approved = entry.fields.get("approved") == Some(&Value::Bool(true));
            let refusal = entry.fields.get("refusal");
            let of_refusal = |key| refusal.and_then(|refusal| refusal.get(key)).and_then(Value::as_str);
            let note = of_refusal("note").map(|note| format!(": {note}")).unwrap_or_default();
            let why = format!("{}{note}", of_refusal("reason").unwrap_or_default());
            let cause = entry.fields.get("cause").and_then(|cause| Cause::deserialize(cause).ok());
            let cause = cause.map_or_else(|| text("cause"), |cause| cause.to_string());
            call.decided = Some((approved, cause, why));
        }
        "executed" => call.ended = Some(text("ended")),
        _ => {}
    }
}

/// Prints everything about one call.
pub fn show(common: &Common, id: &str) -> anyhow::Result<Exit> {
    let path = path(common)?;
    let whole = whole_id(&path, id)?;
    let found = find(&path, &whole)?;
    if found.is_empty() {
        anyhow::bail!("no call `{id}` in the audit log; hint: use `askfirst log` to list calls");
    }
    for entry in &found {
        if common.json {
            crate::print::json(&as_json(entry));
            continue;
        }
        out(&format!("{} ({}:{})", entry.kind, entry.file.display(), entry.line));
        out(&format!("  at: {}", entry.at));
        if found.iter().any(|other| other.session != entry.session) {
            out(&format!("  session: {}", entry.session));
        }
        for (key, value) in entry.fields.iter().filter(|(key, _)| *key != "call_id") {
            print_value(key, value, 1);
        }
    }
    Ok(Exit::Done)
}

/// Returns the full id for the end of an id. Fails if several ids match.
fn whole_id(path: &Path, id: &str) -> anyhow::Result<String> {
    let entries = read(path, Filter::default())?.filter_map(Result::ok);
    let ids: std::collections::BTreeSet<String> = entries
        .filter_map(|entry| entry.call_id().filter(|known| known.ends_with(id)).map(str::to_owned))
        .collect();
    match ids.iter().collect::<Vec<_>>().as_slice() {
        [] => Ok(id.to_owned()),
        [one] => Ok((*one).clone()),
        _ if ids.contains(id) => Ok(id.to_owned()),
        several => anyhow::bail!("`{id}` matches {} calls; hint: give more of the ID", several.len()),
    }
}

fn print_value(key: &str, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) if !map.is_empty() => {
            out(&format!("{indent}{key}:"));
            map.iter().for_each(|(key, value)| print_value(key, value, depth + 1));
        }
        Value::Array(items) if !items.is_empty() => {
            out(&format!("{indent}{key}:"));
            items.iter().for_each(|value| print_value("-", value, depth + 1));
        }
        Value::String(text) if text.contains('\n') => {
            out(&format!("{indent}{key}:"));
            text.lines().for_each(|line| out(&format!("{indent}  │ {line}")));
        }
        Value::String(text) => out(&format!("{indent}{key}: {text}")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            out(&format!("{indent}{key}: {value}"));
        }
    }
}

/// Verifies the audit log.
pub fn verify(common: &Common, expect: Option<&str>) -> anyhow::Result<Exit> {
    let path = path(common)?;
    let expect = expect.map(str::parse).transpose().context("invalid hash in `--expect`")?;
    let found = check(&path, expect)?;
    if common.json {
        let faults: Vec<_> = found
            .faults
            .iter()
            .map(|fault| json!({"file": fault.file, "line": fault.line, "what": fault.what}))
            .collect();
        crate::print::json(&json!({
            "holds": found.holds(), "files": found.files, "entries": found.entries, "first": found.first,
            "last": found.last, "head": found.head, "torn": found.torn, "faults": faults, "covers": found.covers,
        }));
    } else {
        for fault in &found.faults {
            out(&format!("fault: {fault}"));
        }
        let torn = if found.torn > 0 {
            format!(", {} explained", counted(found.torn, "torn write"))
        } else {
            String::new()
        };
        let verdict = if found.holds() { "the audit log is intact" } else { "THE AUDIT LOG IS NOT INTACT" };
        let entries = if found.entries == 1 { "entry" } else { "entries" };
        let files = counted(found.files.len() as u64, "file");
        out(&format!("{verdict}: {} {entries} in {files}{torn}", found.entries));
        out(&found.covers);
        if let Some(head) = found.head {
            out(&format!("head: {head}"));
        }
    }
    Ok(if found.holds() { Exit::Done } else { Exit::ToolFailed })
}

fn path(common: &Common) -> anyhow::Result<PathBuf> {
    Ok(ledger_path(&read_config(common)?, &Places::from_env().state))
}

fn as_json(entry: &Entry) -> Value {
    let mut fields = entry.fields.clone();
    let more = [
        ("seq", json!(entry.seq)),
        ("at", json!(entry.at)),
        ("session", json!(entry.session)),
        ("kind", json!(entry.kind)),
        ("hash", json!(entry.hash)),
    ];
    fields.extend(more.map(|(key, value)| (key.to_owned(), value)));
    Value::Object(fields)
}
