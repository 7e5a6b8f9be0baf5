//! The question about the effects of a call: the headline, the list of changes and the diffs.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use askfirst::{
    Action, ApprovalPresentation, ApprovalRequest, ChangedPath, Effects, EffectsJudgement, EffectsVerdict,
    Fact, PathChange, PathLevel, PresentationKind, Risk,
};
use askfirst_changes::{Change, ObjectKind};
use askfirst_display::diff::unified;
use askfirst_files::RootView;
use askfirst_shell::Roots as _;
use serde_json::Value;

use super::effects::label;
use super::views::CollectedView;

/// The largest file whose diff is shown, and the most text of all diffs together, in bytes.
const MAX_FILE: u64 = 1 << 20;
const MAX_TEXT: usize = 4 << 20;
/// The longest command in the headline, in characters.
const MAX_COMMAND: usize = 60;

/// Builds the request about effects.
pub(crate) fn request(
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
        true => format!("run {} again: it {}", short(command), facts(effects)),
        false => format!("keep the changes of {}? · {counts}", short(command)),
    };
    let mut payload = effects.payload(Value::from(command));
    if runs_again && let Some(fields) = payload.as_object_mut() {
        // A remembered yes to another run is no yes to the changes.
        fields.insert("runs_again".to_owned(), true.into());
    }
    let mut request = ApprovalRequest::new(tool_name, description, payload);
    request.args = args.clone();
    request.action = Some(match runs_again {
        true => Action::new("run ").value(short(command)).words(format!(" again? · it {}", facts(effects))),
        false => Action::new("keep the changes of ").value(short(command)).words(format!("? · {counts}")),
    });
    request.same = Some("the same kinds of changes to the same files by the same command".to_owned());
    let why = judgement.reasons().first().cloned().unwrap_or_default();
    let more = judgement.reasons().len().saturating_sub(1);
    let why = if more > 0 { format!("{why}, and {more} more") } else { why };
    let why = judgement.because().first().map_or(why.clone(), |because| because.after(&why));
    request.facts.push(Fact::new("why", why));
    request.facts.push(Fact::new("command", command));
    request.facts.extend(effects.facts.iter().map(|fact| Fact::new("run", format!("it {}", fact.text()))));
    request.risk = Risk::Low;
    if matches!(judgement.verdict(), EffectsVerdict::Ask | EffectsVerdict::AskToRunAgain) {
        request.presentation = Some(present());
    }
    request
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
pub(crate) fn counts(effects: &Effects) -> String {
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

/// Shows the changes: one row for each path, then the diff of each text file.
pub(super) fn present(
    effects: &Effects,
    views: &[CollectedView],
    ground: &RootView<'_>,
) -> ApprovalPresentation {
    let mut list = String::new();
    let mut diffs = String::new();
    let mut rows: Vec<(&ChangedPath, Option<(&CollectedView, &Change)>)> = Vec::new();
    for changed in &effects.changes {
        let change = views.iter().find_map(|view| {
            let is =
                |change: &&Change| label(&view.path.join(change.path()), ground.folder()) == changed.path;
            Some((view, view.changes.changes().find(is)?))
        });
        rows.push((changed, change));
    }
    rows.sort_by_key(|(changed, _)| {
        (changed.level == PathLevel::Ordinary, changed.change, changed.path.clone())
    });
    for (changed, change) in rows {
        let word = match changed.change {
            PathChange::Added => "added",
            PathChange::Changed => "changed",
            PathChange::Attributes => "touched",
            PathChange::Removed => "removed",
        };
        let mut about = change.map(|(_, change)| describe(change)).unwrap_or_default();
        if let Some((view, change)) = change
            && let Some(diff) = diff(view, change, &changed.path, MAX_TEXT.saturating_sub(diffs.len()))
        {
            match diff {
                Ok(diff) => {
                    let is = |sign: char| {
                        let header = format!("{sign}{sign}{sign} ");
                        diff.lines()
                            .filter(|line| line.starts_with(sign) && !line.starts_with(&header))
                            .count()
                    };
                    about = format!("+{} −{}", is('+'), is('-'));
                    diffs.push_str(&diff);
                }
                Err(why) => about = format!("{about}  ({why})"),
            }
        }
        let reason = match &changed.level {
            PathLevel::Ordinary => String::new(),
            PathLevel::Shown(why) | PathLevel::Never(why) => format!("  ▲ {why}"),
        };
        let _ = writeln!(list, "{word:<8} {:<32} {about}{reason}", changed.path);
    }
    for fact in &effects.facts {
        let _ = writeln!(list, "{:<8} {}", "it", fact.text());
    }
    let kind = if diffs.is_empty() { PresentationKind::Text } else { PresentationKind::Diff };
    if !diffs.is_empty() {
        list.push('\n');
    }
    ApprovalPresentation::new(kind, format!("{list}{diffs}"))
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
