//! Builds the presentation of a call: a diff, the new content, or the files that would be lost.
//!
//! The result is data. The front end that displays it also escapes it.

use askfirst::{ApprovalPresentation, Fact, PresentationKind, Shown};
use serde_json::{Value, json};

use super::basis::{self, MAX_SHOWN, Observation};
use super::edit;
use super::error::CallError;
use super::file_call::{FileCall, PatternKind, TextEdit};
use super::handle::ObjectKind;
use super::kinds::{binary_kind, language};
use super::location::Location;
use super::place::RootView;
use super::plan::{Plan, count};
use super::read;
use super::tree::{self, FolderTotals};

/// How often to try again if a file changes while the presentation is built.
const TRIES: usize = 3;

/// Builds the presentation of a call and its basis.
pub(crate) fn present(view: &RootView<'_>, call: &FileCall, plan: &Plan) -> Shown {
    for _ in 0..TRIES {
        let (basis, observation) = match basis::capture(view, call, plan) {
            Ok(captured) => captured,
            Err(error) => return present_error(&error),
        };
        let content = content(view, call, plan, observation);
        match basis::is_unchanged(view, call, plan, &basis) {
            Ok(true) => {
                let (presentation, facts) =
                    content.unwrap_or_else(|error| (Some(error_text(&error)), Vec::new()));
                let action = Some(plan.action(view));
                return Shown { action, presentation, facts, basis: Some(basis), ..Shown::default() };
            }
            Ok(false) => {}
            Err(error) => return present_error(&error),
        }
    }
    present_error(&CallError::Stale("the files kept changing while they were being checked".to_owned()))
}

/// Shows an error instead of the call. Its basis matches no state of the disk, so the call cannot run.
pub(crate) fn present_error(error: &CallError) -> Shown {
    Shown { presentation: Some(error_text(error)), basis: Some(Value::Null), ..Shown::default() }
}

fn error_text(error: &CallError) -> ApprovalPresentation {
    text(format!("this call cannot run as requested: {error}"))
}

fn text(content: String) -> ApprovalPresentation {
    ApprovalPresentation::new(PresentationKind::Text, content)
}

/// A presentation with its facts.
pub(super) type ShownContent = (Option<ApprovalPresentation>, Vec<Fact>);

/// Builds the presentation from the observation.
///
/// It does not read the files again, because they may differ from the basis by then.
pub(super) fn content(
    view: &RootView<'_>,
    call: &FileCall,
    plan: &Plan,
    observation: Observation,
) -> Result<ShownContent, CallError> {
    let totals = |index: usize| observation.totals.get(index).copied().flatten();
    match call {
        FileCall::Write { content, .. } => Ok(show_write(plan.first()?, content, observation.content)),
        FileCall::Edit { edit, .. } => show_edit(view, plan.first()?, edit, observation.content),
        FileCall::Move { .. } | FileCall::Copy { .. } => {
            let (from, to) = plan.source_and_target()?;
            let mut lines = describe(view, from, totals(0))?;
            if to.object.is_some() {
                let target = describe(view, to, totals(1))?;
                lines.push_str(&format!("\nlost: the current {}: {target}", to.label));
            }
            Ok((Some(text(lines)), Vec::new()))
        }
        FileCall::Delete { .. } => {
            let lost = describe(view, plan.first()?, totals(0))?;
            Ok((Some(text(format!("lost: {lost}"))), Vec::new()))
        }
        FileCall::Find { pattern, kind, .. } => {
            let kind = match kind {
                PatternKind::Literal => "text",
                PatternKind::Regex => "regular expression",
            };
            Ok((Some(described(view, plan)?), vec![Fact::new(kind, pattern.clone())]))
        }
        FileCall::Make { .. } => Ok((Some(text("a new, empty folder".to_owned())), Vec::new())),
        FileCall::List { path: None, .. } => Ok((None, Vec::new())),
        FileCall::Attach { .. }
        | FileCall::Read { .. }
        | FileCall::Stat { .. }
        | FileCall::List { path: Some(_), .. } => Ok((Some(described(view, plan)?), Vec::new())),
    }
}

fn described(view: &RootView<'_>, plan: &Plan) -> Result<ApprovalPresentation, CallError> {
    Ok(text(describe(view, plan.first()?, None)?))
}

/// Describes the object at a location. Counts the content of a folder unless the totals are known.
fn describe(
    view: &RootView<'_>,
    location: &Location,
    known: Option<FolderTotals>,
) -> Result<String, CallError> {
    match location.kind() {
        None => Ok("does not exist".to_owned()),
        Some(ObjectKind::File) => Ok(format!("file, {}", count(location.size(), "byte"))),
        Some(ObjectKind::Link) => Ok("link; its target is not changed".to_owned()),
        Some(ObjectKind::Other(kind)) => Ok(kind.to_owned()),
        Some(ObjectKind::Folder) => {
            let (files, folders, bytes) = known.map_or_else(|| tree::count_content(view, location), Ok)?;
            let (files, folders, bytes) =
                (count(files, "file"), count(folders, "folder"), count(bytes, "byte"));
            Ok(format!("folder with {files} and {folders}, {bytes}"))
        }
    }
}

fn show_write(location: &Location, new: &[u8], old: Option<Vec<u8>>) -> ShownContent {
    let mut facts = vec![Fact::new("size", count(new.len() as u64, "byte"))];
    if location.object.is_none() {
        return (Some(file_content(location, new)), facts);
    }
    let size = old.as_ref().map_or(location.size(), |old| old.len() as u64);
    facts.push(Fact::new("overwrites", count(size, "byte")));
    let Some(old) = old.filter(|_| new.len() as u64 <= MAX_SHOWN) else {
        facts.push(Fact::new("diff", "the file is too large for a diff; the whole new content is shown"));
        return (Some(file_content(location, new)), facts);
    };
    match (into_text(old), as_text(new)) {
        (Ok(old), Some(text)) => (Some(diff(&location.label, old, text.to_owned())), facts),
        (old, _) => {
            if let Err(old) = old {
                facts.push(Fact::new("before", describe_binary(&old)));
            }
            (Some(file_content(location, new)), facts)
        }
    }
}

/// Shows the whole content of a text file, or the type of a binary file.
fn file_content(location: &Location, bytes: &[u8]) -> ApprovalPresentation {
    let Some(content) = as_text(bytes) else {
        return text(describe_binary(bytes));
    };
    let mut shown = ApprovalPresentation::new(PresentationKind::FileContent, content);
    shown.language = language(&location.path).map(str::to_owned);
    shown.metadata.insert("bytes".to_owned(), json!(bytes.len()));
    shown
}

fn describe_binary(bytes: &[u8]) -> String {
    let size = count(bytes.len() as u64, "byte");
    format!("binary: {}, {size}, {}", binary_kind(bytes), askfirst::Digest::of(bytes))
}

/// Returns the text of a file, or `None` if it is not UTF-8 or contains a NUL byte.
pub(crate) fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !read::has_nul(text.as_bytes()))
}

/// Converts bytes to text. Returns the bytes if they are not UTF-8 or contain a NUL byte.
fn into_text(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    if read::has_nul(&bytes) { Err(bytes) } else { String::from_utf8(bytes).map_err(|e| e.into_bytes()) }
}

fn show_edit(
    view: &RootView<'_>,
    location: &Location,
    edit: &TextEdit,
    old: Option<Vec<u8>>,
) -> Result<ShownContent, CallError> {
    let (old, new) = apply_edit(view, location, edit, old)?;
    let facts = vec![Fact::new("size", format!("{}, {} before", count(new.len() as u64, "byte"), old.len()))];
    Ok((Some(diff(&location.label, old, new)), facts))
}

/// Returns the text of a file before and after an edit. Reads the file unless `old` has its content.
pub(crate) fn apply_edit(
    view: &RootView<'_>,
    location: &Location,
    edit: &TextEdit,
    old: Option<Vec<u8>>,
) -> Result<(String, String), CallError> {
    let read = || {
        if location.size() > MAX_SHOWN {
            let text = format!("`{}` is too large to edit: {} bytes", location.label, location.size());
            return Err(CallError::Failed(text));
        }
        let (file, _) = view.open_file(location)?;
        read::read_bytes(&file, &location.label, 0, MAX_SHOWN)
    };
    let old = old.map_or_else(read, Ok)?;
    let not_text = |_| CallError::Failed(format!("`{}` is not a text file", location.label));
    let old = into_text(old).map_err(not_text)?;
    let new = edit::apply(&old, edit).map_err(|e| CallError::Failed(format!("`{}`: {e}", location.label)))?;
    view.refuse_size(location, new.len() as u64)?;
    Ok((old, new))
}

/// Shows a change as the text before and after.
///
/// The front end computes the diff, because that may take long and nothing here waits for it.
fn diff(label: &str, old: String, new: String) -> ApprovalPresentation {
    if old == new {
        return text("no change".to_owned());
    }
    let mut shown = ApprovalPresentation::new(PresentationKind::Diff, label);
    shown.metadata.insert("before".to_owned(), old.into());
    shown.metadata.insert("after".to_owned(), new.into());
    shown
}
