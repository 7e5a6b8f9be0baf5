//! What a person is shown before files change: a diff, the content, or what is lost. Data only; whoever shows it
//! escapes it.

use askfirst::{ApprovalPresentation, Fact, PresentationKind, Shown};
use serde_json::{Value, json};

use super::basis::{self, MAX_SHOWN, Seen};
use super::edit;
use super::error::Trouble;
use super::handle::Kind;
use super::kinds::{binary_kind, language};
use super::place::{Ground, Spot};
use super::plan::Plan;
use super::read;
use super::tree::{self, Sum};
use super::wish::{Change, Matching, Wish};

/// How often a file that changes while it is looked at is looked at again.
const TRIES: usize = 3;

/// What is shown about a call, and what that rests on.
pub(crate) fn present(ground: &Ground<'_>, wish: &Wish, plan: &Plan) -> Shown {
    for _ in 0..TRIES {
        let (before, seen) = match basis::of(ground, wish, plan) {
            Ok(looked) => looked,
            Err(trouble) => return failed(&trouble),
        };
        let made = content(ground, wish, plan, seen);
        match basis::still(ground, wish, plan, &before) {
            Ok(true) => {
                let (presentation, facts) =
                    made.unwrap_or_else(|trouble| (Some(cannot(&trouble)), Vec::new()));
                return Shown { presentation, facts, basis: Some(before) };
            }
            Ok(false) => {}
            Err(trouble) => return failed(&trouble),
        }
    }
    failed(&Trouble::Stale("it keeps changing while it is looked at".to_owned()))
}

/// Nothing can be shown. The basis holds for no state of the disk, so nothing can run on it either.
pub(crate) fn failed(trouble: &Trouble) -> Shown {
    Shown { presentation: Some(cannot(trouble)), facts: Vec::new(), basis: Some(Value::Null) }
}

fn cannot(trouble: &Trouble) -> ApprovalPresentation {
    text(format!("this cannot be done as it stands: {trouble}"))
}

fn text(content: String) -> ApprovalPresentation {
    ApprovalPresentation::new(PresentationKind::Text, content)
}

pub(super) type Content = (Option<ApprovalPresentation>, Vec<Fact>);

/// What is shown: what was `seen`, and not a second look, which may see something else than the question rests on.
pub(super) fn content(ground: &Ground<'_>, wish: &Wish, plan: &Plan, seen: Seen) -> Result<Content, Trouble> {
    let sum = |index: usize| seen.sums.get(index).copied().flatten();
    match wish {
        Wish::Write { content, .. } => Ok(write(plan.first()?, content, seen.content)),
        Wish::Edit { change, .. } => edit(ground, plan.first()?, change, seen.content),
        Wish::Attach { receiver, .. } => {
            let spot = plan.first()?;
            let size = what(ground, spot, sum(0))?;
            Ok((Some(text(format!("attach {}\nfor    {receiver}\nwhat   {size}", spot.label))), Vec::new()))
        }
        Wish::Move { .. } | Wish::Copy { .. } => {
            let (from, to) = plan.two()?;
            let source = what(ground, from, sum(0))?;
            let mut lines = format!("from {}\n     {source}\nto   {}", from.label, to.label);
            if to.thing.is_some() {
                lines.push_str(&format!("\nlost {} as it is now: {}", to.label, what(ground, to, sum(1))?));
            }
            Ok((Some(text(lines)), Vec::new()))
        }
        Wish::Delete { .. } => {
            let spot = plan.first()?;
            let lost = what(ground, spot, sum(0))?;
            Ok((Some(text(format!("lost {}\n     {lost}", spot.label))), Vec::new()))
        }
        Wish::Make { .. } => {
            let spot = plan.first()?;
            Ok((Some(text(format!("new folder {}", spot.label))), Vec::new()))
        }
        Wish::Find { pattern, regex, .. } => {
            let kind = match regex {
                Matching::Literal => "text",
                Matching::Regex => "regular expression",
            };
            Ok((None, vec![Fact::new(kind, pattern.clone()), size(ground, plan.first()?)?]))
        }
        Wish::Read { .. } | Wish::Stat { .. } => Ok((None, vec![size(ground, plan.first()?)?])),
        Wish::List { .. } => Ok((None, Vec::new())),
    }
}

fn size(ground: &Ground<'_>, spot: &Spot) -> Result<Fact, Trouble> {
    Ok(Fact::new("size", what(ground, spot, None)?))
}

/// A thing in words; a folder by the sum that is known, or else as it is now.
fn what(ground: &Ground<'_>, spot: &Spot, known: Option<Sum>) -> Result<String, Trouble> {
    match spot.kind() {
        None => Ok("nothing is there".to_owned()),
        Some(Kind::File) => Ok(format!("file, {} bytes", spot.size())),
        Some(Kind::Link) => Ok("link; what it leads to stays".to_owned()),
        Some(Kind::Other(kind)) => Ok(kind.to_owned()),
        Some(Kind::Folder) => {
            let (files, folders, bytes) = known.map_or_else(|| tree::sum(ground, spot), Ok)?;
            Ok(format!("folder with {files} files and {folders} folders, {bytes} bytes"))
        }
    }
}

fn write(spot: &Spot, new: &[u8], old: Option<Vec<u8>>) -> Content {
    let mut facts = vec![Fact::new("size", format!("{} bytes", new.len()))];
    if spot.thing.is_none() {
        return (Some(whole(spot, new)), facts);
    }
    let size = old.as_ref().map_or(spot.size(), |old| old.len() as u64);
    facts.push(Fact::new("overwrites", format!("{size} bytes")));
    let Some(old) = old.filter(|_| new.len() as u64 <= MAX_SHOWN) else {
        facts.push(Fact::new("diff", "the file is too large for one; the whole new content is shown"));
        return (Some(whole(spot, new)), facts);
    };
    match (owned_text(old), plain_text(new)) {
        (Ok(old), Some(text)) => (Some(both(&spot.label, old, text.to_owned())), facts),
        (old, _) => {
            if let Err(old) = old {
                facts.push(Fact::new("was", binary(&old)));
            }
            (Some(whole(spot, new)), facts)
        }
    }
}

/// The whole content of a file, or what it is if it is no text.
fn whole(spot: &Spot, bytes: &[u8]) -> ApprovalPresentation {
    let Some(content) = plain_text(bytes) else {
        return text(binary(bytes));
    };
    let mut shown = ApprovalPresentation::new(PresentationKind::FileContent, content);
    shown.language = language(&spot.path).map(str::to_owned);
    shown.metadata.insert("bytes".to_owned(), json!(bytes.len()));
    shown
}

fn binary(bytes: &[u8]) -> String {
    format!("binary: {}, {} bytes, {}", binary_kind(bytes), bytes.len(), askfirst::Digest::of(bytes))
}

/// Text is UTF-8 without a NUL.
pub(crate) fn plain_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !read::has_nul(text.as_bytes()))
}

/// The same, or the bytes if they are none.
fn owned_text(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    if read::has_nul(&bytes) { Err(bytes) } else { String::from_utf8(bytes).map_err(|e| e.into_bytes()) }
}

fn edit(ground: &Ground<'_>, spot: &Spot, change: &Change, old: Option<Vec<u8>>) -> Result<Content, Trouble> {
    let (old, new) = edited(ground, spot, change, old)?;
    let facts = vec![Fact::new("size", format!("{} bytes, {} before", new.len(), old.len()))];
    Ok((Some(both(&spot.label, old, new)), facts))
}

/// A file's text before and after an edit; of `old`, where it was read already.
pub(crate) fn edited(
    ground: &Ground<'_>,
    spot: &Spot,
    change: &Change,
    old: Option<Vec<u8>>,
) -> Result<(String, String), Trouble> {
    let read = || {
        if spot.size() > MAX_SHOWN {
            let text = format!("`{}` is too large to be edited: {} bytes", spot.label, spot.size());
            return Err(Trouble::Failed(text));
        }
        let (file, _) = ground.open(spot)?;
        read::bytes(&file, &spot.label, 0, MAX_SHOWN)
    };
    let old = old.map_or_else(read, Ok)?;
    let old = owned_text(old).map_err(|_| Trouble::Failed(format!("`{}` is no text", spot.label)))?;
    let new = edit::apply(&old, change).map_err(|e| Trouble::Failed(format!("`{}`: {e}", spot.label)))?;
    ground.refuse_size(spot, new.len() as u64)?;
    Ok((old, new))
}

/// A text before and after. Whoever shows it compares the two: that may take a while, and nothing waits for it.
fn both(label: &str, old: String, new: String) -> ApprovalPresentation {
    if old == new {
        return text("nothing changes".to_owned());
    }
    let mut shown = ApprovalPresentation::new(PresentationKind::Diff, label);
    shown.metadata.insert("before".to_owned(), old.into());
    shown.metadata.insert("after".to_owned(), new.into());
    shown
}
