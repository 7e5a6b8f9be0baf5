//! The question about the effects of a call: the headline, the list of changes and the diffs.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use askfirst::{
    Action, ApprovalPresentation, ApprovalRequest, ChangedPath, Effects, EffectsJudgement, EffectsVerdict,
    Fact, PathChange, PathLevel, PresentationKind, RequestSubject, RunFactKind,
};
use askfirst_changes::{Change, ObjectKind};
use askfirst_display::diff::unified;
use askfirst_files::RootView;
use askfirst_shell::Roots as _;
use serde_json::Value;

use crate::effects::label;
use crate::views::CollectedView;

/// The largest file whose diff is shown, and the most text of all diffs together, in bytes.
const MAX_FILE: u64 = 1 << 20;
const MAX_TEXT: usize = 4 << 20;
/// The longest command in the headline, in characters.
const MAX_COMMAND: usize = 60;

/// Builds the request about effects.
pub fn request(
    tool_name: &str,
    command: &str,
    args: &askfirst::Args,
    effects: &Effects,
    judgement: &EffectsJudgement,
    present: impl FnOnce() -> ApprovalPresentation,
) -> ApprovalRequest {
    let counts = counts(effects);
    let runs_again = judgement.verdict() == EffectsVerdict::AskToRunAgain;
    let description = match runs_again {
        true => format!("run {} again {}: it {}", short(command), with_more(effects), facts(effects)),
        false => format!("keep the changes of {}? · {counts}", short(command)),
    };
    let payload = effects.payload(Value::from(command));
    let mut request = ApprovalRequest::new(tool_name, description, payload);
    request.args = args.clone();
    request.action = Some(match runs_again {
        true => Action::new("run ").value(short(command)).words(format!(" again {}?", with_more(effects))),
        false => Action::new("keep the changes of ").value(short(command)).words(format!("? · {counts}")),
    });
    request.same = Some("the same kinds of changes to the same files by the same command".to_owned());
    let why = judgement.reasons().first().cloned().unwrap_or_default();
    let more = judgement.reasons().len().saturating_sub(1);
    let why = if more > 0 { format!("{why}, and {more} more") } else { why };
    let why = judgement.because().first().map_or(why.clone(), |because| because.after(&why));
    request.facts.push(Fact::new("why", why));
    request.facts.push(Fact::new("command", command));
    let is_shown = |change: &ChangedPath| change.level != PathLevel::Ordinary;
    request.subject = match runs_again {
        true => RequestSubject::RunAgain,
        false if effects.changes.iter().any(is_shown) => RequestSubject::ShownChanges,
        false => RequestSubject::Changes,
    };
    request.presentation = match judgement.verdict() {
        EffectsVerdict::Ask => Some(present()),
        EffectsVerdict::AskToRunAgain => Some(meaning(effects)),
        EffectsVerdict::Commit | EffectsVerdict::Discard => None,
    };
    request
}

/// What a yes adds to a call that runs again.
fn with_more(effects: &Effects) -> String {
    let words = effects.facts.iter().map(|fact| match fact.kind() {
        RunFactKind::Network => "with the network",
        RunFactKind::Processes => "and keep what it did, although it left processes",
        RunFactKind::TimeLimit => "and keep what it did until its time limit",
        RunFactKind::RealFiles => "on the real files, without undo",
    });
    let mut words: Vec<&str> = words.collect();
    words.dedup();
    words.join(", ")
}

/// What a yes and a no to running a call again mean.
fn meaning(effects: &Effects) -> ApprovalPresentation {
    let is_real = effects.facts.iter().any(|fact| fact.kind() == RunFactKind::RealFiles);
    let place =
        if is_real { "" } else { ", on a new copy. Its changes are judged like those of every command" };
    let text = format!(
        "Its first run was on a copy, and that copy is thrown away.\nyes  It runs again {}{place}.\nno   It does not run again, and the agent gets no output.\n",
        with_more(effects)
    );
    ApprovalPresentation::new(PresentationKind::Text, text)
}

fn facts(effects: &Effects) -> String {
    effects.facts.iter().map(askfirst::RunFact::text).collect::<Vec<_>>().join(", and it ")
}

fn short(command: &str) -> String {
    let mut letters = command.chars();
    let start: String = letters.by_ref().take(MAX_COMMAND).collect();
    if letters.next().is_some() { format!("{start}…") } else { start }
}

/// Counts the changes in words, such as `3 changed, 41 added`.
#[must_use]
pub fn counts(effects: &Effects) -> String {
    let changed = effects.count(PathChange::Changed) + effects.count(PathChange::Attributes);
    let all = [
        (changed, "changed"),
        (effects.count(PathChange::Added), "added"),
        (effects.count(PathChange::Removed), "removed"),
    ];
    let words: Vec<String> = all
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if words.is_empty() { "no changes".to_owned() } else { words.join(", ") }
}

/// Shows the changes: one row for each path, then the diff of each text file. Build output gets one row for its folder.
pub(crate) fn present(
    effects: &Effects,
    views: &[CollectedView],
    ground: &RootView<'_>,
    products: &[PathBuf],
) -> ApprovalPresentation {
    let changes: HashMap<String, (&CollectedView, &Change)> = views
        .iter()
        .flat_map(|view| view.changes.changes().map(move |change| (view, change)))
        .map(|(view, change)| (label(&view.path.join(change.path()), ground.folder()), (view, change)))
        .collect();
    let mut rows: Vec<&ChangedPath> = effects.changes.iter().collect();
    rows.sort_by_key(|changed| (changed.level == PathLevel::Ordinary, changed.change, &changed.path));
    let (mut list, mut diffs) = (String::new(), String::new());
    let mut built: BTreeMap<String, usize> = BTreeMap::new();
    for changed in rows {
        let change = changes.get(&changed.path);
        let product = change.and_then(|(view, change)| {
            let path = view.path.join(change.path());
            products.iter().find(|product| path.starts_with(product))
        });
        if let Some(product) = product.filter(|_| changed.level == PathLevel::Ordinary) {
            *built.entry(label(product, ground.folder())).or_default() += 1;
            continue;
        }
        let about = change.map(|(view, change)| {
            let left = MAX_TEXT.saturating_sub(diffs.len());
            match diff(view, change, &changed.path, left) {
                None => describe(change),
                Some(Err(why)) => format!("{} ({why})", describe(change)),
                Some(Ok(diff)) => {
                    let counts = format!("+{} −{}", lines_with(&diff, '+'), lines_with(&diff, '-'));
                    diffs.push_str(&diff);
                    counts
                }
            }
        });
        let about = about.unwrap_or_default();
        let reason = match &changed.level {
            PathLevel::Ordinary => String::new(),
            PathLevel::Shown(why) | PathLevel::Never(why) => format!("  ▲ {why}"),
        };
        let _ = writeln!(list, "{}  {}  {about}{reason}", word(changed.change), changed.path);
    }
    for (folder, count) in built {
        let _ = writeln!(list, "built  {folder}  {count} {}", if count == 1 { "path" } else { "paths" });
    }
    for fact in &effects.facts {
        let _ = writeln!(list, "it {}", fact.text());
    }
    if diffs.is_empty() {
        return ApprovalPresentation::new(PresentationKind::Text, list);
    }
    ApprovalPresentation::new(PresentationKind::Diff, format!("{list}\n{diffs}"))
}

fn word(change: PathChange) -> &'static str {
    match change {
        PathChange::Added => "added",
        PathChange::Changed => "changed",
        PathChange::Attributes => "touched",
        PathChange::Removed => "removed",
    }
}

/// Counts the lines of a diff that begin with a sign.
fn lines_with(diff: &str, sign: char) -> usize {
    let header = format!("{sign}{sign}{sign} ");
    diff.lines().filter(|line| line.starts_with(sign) && !line.starts_with(&header)).count()
}

/// What an object is, in a few words.
fn describe(change: &Change) -> String {
    let of = |object: &askfirst_changes::Object| match &object.kind {
        ObjectKind::File => format!("{} bytes", object.size),
        ObjectKind::Folder => "folder".to_owned(),
        ObjectKind::Link(target) => format!("link to {}", target.escape_ascii()),
        ObjectKind::Device => "device".to_owned(),
        ObjectKind::Pipe => "named pipe".to_owned(),
        ObjectKind::Socket => "socket".to_owned(),
    };
    match (&change.before, &change.after) {
        (Some(before), Some(after)) if before.mode != after.mode => {
            format!("{}, mode {:o} → {:o}", of(after), before.mode & 0o7777, after.mode & 0o7777)
        }
        (_, Some(after)) | (Some(after), None) => of(after),
        (None, None) => String::new(),
    }
}

/// The diff of a text file, or why there is none. `None` if the path is no file.
fn diff(view: &CollectedView, change: &Change, name: &str, left: usize) -> Option<Result<String, String>> {
    let is_file = |object: &Option<askfirst_changes::Object>| {
        object.as_ref().is_none_or(|object| object.kind == ObjectKind::File)
    };
    if !is_file(&change.before) || !is_file(&change.after) {
        return None;
    }
    let size = |object: &Option<askfirst_changes::Object>| object.as_ref().map_or(0, |object| object.size);
    if size(&change.before).max(size(&change.after)) > MAX_FILE {
        return Some(Err("too large for a diff".to_owned()));
    }
    let text = |object: &Option<askfirst_changes::Object>,
                open: &dyn Fn(&Path) -> Option<std::os::fd::OwnedFd>| {
        match object {
            None => Some(String::new()),
            Some(_) => read_text(open(change.path())?),
        }
    };
    let (before, after) =
        (text(&change.before, &|path| view.open_old(path)), text(&change.after, &|path| view.open_new(path)));
    let (Some(before), Some(after)) = (before, after) else {
        return Some(Err("not a text file".to_owned()));
    };
    if before == after {
        return None;
    }
    let diff = unified(name, &before, &after);
    Some(if diff.len() <= left { Ok(diff) } else { Err("no room left for its diff".to_owned()) })
}

fn read_text(file: std::os::fd::OwnedFd) -> Option<String> {
    let mut bytes = Vec::new();
    File::from(file).take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
