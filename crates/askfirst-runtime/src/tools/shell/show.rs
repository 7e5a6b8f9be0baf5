//! The presentation of a command: the exact text, one row per program, and the parts that a person must see.
//!
//! This is data only. The code that displays it also escapes it.

use std::path::Path;

use askfirst::{Action, Approval, ApprovalPresentation, Because, Fact, PresentationKind, Shown, Verdict};
use askfirst_shell::{Judged, Reason, Row, Start};
use serde_json::{Value, json};

use super::wish::{ShellArguments, Wait};

/// Describes a call in one line. If the deciding rule has its own description, that one is used.
pub(super) fn description(wish: &ShellArguments, judged: &Judged) -> String {
    let approval = judged.approval();
    let deciding = judged.rows.iter().filter(|row| row.approval() == approval);
    let described = deciding.filter_map(|row| row.description.clone()).next();
    described.unwrap_or_else(|| {
        let verb = if wish.wait == Wait::No { "run in the background" } else { "run" };
        format!("{verb}: {}", wish.text)
    })
}

/// Returns the facts about a call.
pub(super) fn facts(wish: &ShellArguments, judged: &Judged) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(folder) = judged.starts.first().and_then(|start| start.folders.first()) {
        facts.push(Fact::new("folder", folder.to_string_lossy()));
    }
    if judged.approval() > Approval::None {
        facts.extend(why(judged).map(|why| Fact::new("why", why)));
    }
    if judged.uses_network {
        facts.push(Fact::new("network", "this command uses the network"));
    }
    if !judged.writes.is_empty() {
        facts.push(Fact::new("writes", judged.writes.join(", ")));
    }
    if wish.wait == Wait::No {
        facts.push(Fact::new("background", "this command keeps running after the call"));
    }
    facts
}

/// Says in one sentence why a command needs approval, with the file and line of the rule.
///
/// Of reasons that are equally strict, a rule that names the command says most. The others stand next to the programs.
fn why(judged: &Judged) -> Option<String> {
    let is_rule = |reason: &&Reason| reason.text.starts_with("rule `");
    let deciding = judged.deciding();
    let reason = deciding.iter().copied().find(is_rule).or(deciding.first().copied())?;
    let is_rule = is_rule(&reason);
    let text = if is_rule { format!("{} asks", reason.text) } else { reason.text.to_string() };
    let row = judged.rows.iter().find(|row| row.reasons.contains(reason));
    let described = row.and_then(|row| row.description.as_deref()).filter(|_| is_rule);
    let text = described.map_or(text.clone(), |described| format!("{described}: {text}"));
    Some(reason.because.as_ref().map_or(text.clone(), |rule| rule.after(&text)))
}

/// Returns the presentation and the basis of a call. `base` is the folder of the config.
pub(super) fn shown(wish: &ShellArguments, judged: &Judged, base: &Path) -> Shown {
    let mut presentation =
        ApprovalPresentation::new(PresentationKind::Command, &wish.text).with_language("bash");
    let rows: Vec<Value> = judged.each().map(row).collect();
    let streams: Vec<Value> = judged.rows.iter().flat_map(streams).collect();
    let must_see: Vec<Value> = must_see(judged);
    let folder = judged.starts.first().and_then(|start| start.folders.first());
    let folder = folder.map(|folder| {
        let below = folder.strip_prefix(base).ok().filter(|below| !below.as_os_str().is_empty());
        below.unwrap_or(folder).display().to_string()
    });
    if !wish.stdin.is_empty() {
        presentation.metadata.insert("stdin".to_owned(), json!(wish.stdin));
    }
    for (key, value) in [
        ("rows", json!(rows)),
        ("redirections", json!(streams)),
        ("folder", json!(folder)),
        ("must_see", json!(must_see)),
    ] {
        presentation.metadata.insert(key.to_owned(), value);
    }
    let verb = if wish.wait == Wait::No { "run in the background: " } else { "run: " };
    Shown {
        action: Some(Action::new(verb).value(&wish.text)),
        presentation: Some(presentation),
        basis: Some(Value::from(judged.basis.as_slice())),
        ..Shown::default()
    }
}

/// Returns the word for one command of a line. A command that would be rehearsed on its own runs for real if a person
/// approves the whole line. So the person sees it like one that asks.
fn word(approval: Approval) -> &'static str {
    match Verdict::from(approval) {
        Verdict::Rehearse => Verdict::Ask.as_str(),
        verdict @ (Verdict::Allow | Verdict::Ask | Verdict::Deny) => verdict.as_str(),
    }
}

fn row((start, row): (&Start, &Row)) -> Value {
    let strictest = row.approval();
    let reasons = row.reasons.iter().filter(|reason| reason.approval == strictest);
    let whys: Vec<&str> = reasons.map(|reason| &*reason.text).collect();
    let rule = row.reason().and_then(|reason| reason.because.as_ref()).map(Because::place);
    json!({
        "program": start.program(),
        "text": start.text,
        "verdict": word(strictest),
        "approval": strictest,
        "why": whys.join("; "),
        "rule": rule,
        "via": start.via,
        "start": start.span.start,
        "end": start.span.end,
    })
}

fn streams(row: &Row) -> impl Iterator<Item = Value> {
    row.streams.iter().map(|(text, span, reason)| {
        json!({
            "text": text,
            "verdict": word(reason.approval),
            "why": reason.text,
            "rule": reason.because.as_ref().map(Because::place),
            "start": span.start,
            "end": span.end,
        })
    })
}

/// Returns the parts of the command that are the reason to ask.
fn must_see(judged: &Judged) -> Vec<Value> {
    let part = |start: usize, end: usize, why: &str| json!({"start": start, "end": end, "why": why});
    let whole = judged.whole.iter().map(|(span, reason)| part(span.start, span.end, &reason.text));
    let rows = judged.each().filter(|(_, row)| row.approval() > Approval::None);
    let rows = rows.map(|(start, row)| {
        part(start.span.start, start.span.end, row.reason().map_or("", |reason| &reason.text))
    });
    let streams = judged.rows.iter().flat_map(|row| &row.streams);
    let streams = streams.filter(|(_, _, reason)| reason.approval > Approval::None);
    let streams = streams.map(|(_, span, reason)| part(span.start, span.end, &reason.text));
    whole.chain(rows).chain(streams).collect()
}
