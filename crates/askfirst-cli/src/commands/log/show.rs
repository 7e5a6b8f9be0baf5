//! `log show`: a summary of one call in at most ten lines, and with `--all` every field of its entries.

use std::collections::BTreeSet;
use std::path::Path;

use askfirst::record::{CallRecord, DecidedRecord, ExecutedRecord, Record};
use askfirst::{ApprovalScope, Because, Cause};
use askfirst_display::escape::escaped_line;
use askfirst_runtime::ledger::{Entry, Filter, find, read};
use serde_json::Value;

use super::{as_json, session_starter};
use crate::args::Common;
use crate::commands::run::line::cut;
use crate::exit::Exit;
use crate::outcome::summary_without_secrets;
use crate::print::{counted, out};

/// Prints one call.
pub fn show(common: &Common, path: &Path, id: &str, all: bool) -> anyhow::Result<Exit> {
    let whole = whole_id(path, id)?;
    let found = find(path, &whole)?;
    if found.is_empty() {
        anyhow::bail!("no call `{id}` in the audit log; hint: use `askfirst log` to list calls");
    }
    if common.json {
        found.iter().for_each(|entry| crate::print::json(&as_json(entry)));
        return Ok(Exit::Done);
    }
    // Two programs may use the same session name, and then the same call ids.
    let sessions: BTreeSet<&String> = found.iter().map(|entry| &entry.session).collect();
    for session in &sessions {
        let entries: Vec<&Entry> = found.iter().filter(|entry| entry.session == **session).collect();
        CallSummary::of(&entries).lines(&whole).iter().for_each(|(label, text)| print_line(label, text));
    }
    if !all {
        print_line("more", &format!("askfirst log show {id} --all"));
        return Ok(Exit::Done);
    }
    for entry in &found {
        out("");
        out(&format!("{} ({}:{})", entry.kind, entry.file.display(), entry.line));
        out(&format!("  at: {}", entry.at));
        if sessions.len() > 1 {
            out(&format!("  session: {}", entry.session));
        }
        for (key, value) in entry.fields.iter().filter(|(key, _)| *key != "call_id") {
            print_value(key, value, 1);
        }
    }
    Ok(Exit::Done)
}

/// Prints one line of the summary. A terminal gets as much as fits in one row.
fn print_line(label: &str, text: &str) {
    let line = escaped_line(&format!("{label:<9} {text}"));
    out(&cut(&line, super::columns().unwrap_or(usize::MAX)));
}

/// Returns the full id for the end of an id. Fails if several ids match.
fn whole_id(path: &Path, id: &str) -> anyhow::Result<String> {
    let entries = read(path, Filter::default())?.filter_map(Result::ok);
    let ids: BTreeSet<String> = entries
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

/// The entries of one call.
#[derive(Default)]
struct CallSummary<'a> {
    first: Option<&'a Entry>,
    call: Option<CallRecord>,
    decided: Option<(&'a Entry, DecidedRecord)>,
    executed: Option<(&'a Entry, ExecutedRecord)>,
}

impl<'a> CallSummary<'a> {
    fn of(entries: &[&'a Entry]) -> Self {
        let mut all = Self { first: entries.first().copied(), ..Self::default() };
        for entry in entries {
            match entry.record() {
                Some(Record::Requested(call)) => all.call = Some(*call),
                Some(Record::Decided(decided)) => {
                    all.call = Some(decided.call.clone());
                    all.decided = Some((entry, *decided));
                }
                Some(Record::Executed(executed)) => all.executed = Some((entry, executed)),
                Some(
                    Record::Session(_)
                    | Record::Rehearsed(_)
                    | Record::Committed(_)
                    | Record::Undone(_)
                    | Record::Trusted(_)
                    | Record::Revoked(_)
                    | Record::RuleAdded(_)
                    | Record::RuleRemoved(_),
                )
                | None => {}
            }
        }
        all
    }

    /// Returns at most nine lines, each with its label.
    fn lines(&self, id: &str) -> Vec<(&'static str, String)> {
        let mut lines = vec![("call", id.to_owned())];
        if let Some(call) = &self.call {
            lines.push(("what", summary_without_secrets(&call.call.tool_name, &call.call.args)));
        }
        if let Some(first) = self.first {
            let caller = self.call.as_ref().and_then(|call| call.call.metadata.get("caller")?.as_str());
            let caller = caller.map(|caller| format!(" for `{caller}`")).unwrap_or_default();
            lines.push((
                "asked by",
                format!("{}{caller}, {}", session_starter(first.session_start.as_deref()), at(first)),
            ));
        }
        if let Some(call) = &self.call {
            lines.push(("verdict", format!("{}{}", call.verdict.as_str(), why(&call.because))));
        }
        lines.push(("answer", self.answer()));
        lines.extend(self.shown().map(|shown| ("shown", shown)));
        if let Some(from) = self.decided.as_ref().and_then(|(_, decided)| decided.edited_from.as_ref()) {
            lines.push(("edited", format!("a person edited it; before: {from}")));
        }
        lines.push(("ended", self.end()));
        if let Some(sandbox) = self.executed.as_ref().and_then(|(_, executed)| executed.walled.as_ref()) {
            lines.push(("sandbox", sandbox.tier.to_string()));
        }
        lines
    }

    fn answer(&self) -> String {
        let Some((entry, decided)) = &self.decided else { return "no decision was logged".to_owned() };
        let answer = if decided.approved { "yes" } else { "no" };
        let cause = match (decided.cause, entry.origin()) {
            (Cause::Person, Some(origin)) => format!("a person, as {origin}"),
            (cause, _) => cause.to_string(),
        };
        let waited = match decided.waited_ms {
            0 => String::new(),
            waited => format!(" after {}", seconds(waited)),
        };
        let decision = decided.decision.as_ref();
        let remember = decision.map_or(ApprovalScope::None, |decision| decision.remember);
        let scope = match remember {
            ApprovalScope::None => "",
            ApprovalScope::Session | ApprovalScope::Pattern
                if decision.is_some_and(|decision| decision.always) =>
            {
                ", always in this project"
            }
            ApprovalScope::Session | ApprovalScope::Pattern => ", for the session",
        };
        let is_rest_unseen = decided.decision.as_ref().is_some_and(|decision| decision.rest_unseen);
        let unseen = if is_rest_unseen { ", without seeing the rest" } else { "" };
        let note = decided.decision.as_ref().and_then(|decision| decision.note.as_ref());
        let reason = decided.refusal.as_ref().map(|refusal| &refusal.reason);
        let note = note.or(reason).map(|note| format!(": {note}")).unwrap_or_default();
        format!("{answer} by {cause}, {}{waited}{scope}{unseen}{note}", at(entry))
    }

    fn shown(&self) -> Option<String> {
        let (_, decided) = self.decided.as_ref()?;
        let seen = decided.seen.map(|seen| format!("{} of {}", seen.lines, counted(seen.of, "line")));
        let digest = decided.shown.map(|digest| format!("digest {}", digest.short()));
        let parts: Vec<String> = seen.into_iter().chain(digest).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn end(&self) -> String {
        match (&self.executed, &self.decided) {
            (Some((entry, executed)), _) => {
                let ended = text(entry, "ended");
                let error = executed.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
                format!("{ended}, {} after {}{error}", at(entry), seconds(executed.took_ms))
            }
            (None, Some((_, decided))) if !decided.approved => "it did not run".to_owned(),
            (None, _) => "no end was logged".to_owned(),
        }
    }
}

fn text(entry: &Entry, key: &str) -> String {
    super::row::text_of(&entry.fields, key)
}

/// Returns the time of an entry.
fn at(entry: &Entry) -> String {
    format!("{} UTC", entry.at.get(..19).unwrap_or(&entry.at).replace('T', " "))
}

fn seconds(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1000, ms % 1000 / 100) }
}

/// Returns the first rule behind a verdict, and how many more there are. The tool's own assessment counts only if it
/// names no rule.
fn why(because: &[Because]) -> String {
    let rules: Vec<&Because> = because.iter().filter(|because| !because.is_own_assessment()).collect();
    let Some(first) = rules.first().copied().or(because.first()) else { return String::new() };
    let more = if rules.len() > 1 { format!(" (and {} more)", rules.len() - 1) } else { String::new() };
    format!(": {first}{more}")
}
