//! The content of a question about changes: the list of changes and the diffs.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use askfirst::{ApprovalPresentation, ChangedPath, Effects, PathChange, PathLevel, PresentationKind};
use askfirst_changes::{Change, ObjectKind};
use askfirst_display::diff::unified;
use askfirst_files::RootView;
use askfirst_shell::Roots as _;

use crate::effects::label;
use crate::views::CollectedView;

/// The largest file whose diff is shown, and the most text of all diffs together, in bytes.
const MAX_FILE: u64 = 1 << 20;
const MAX_TEXT: usize = 4 << 20;

/// Shows the changes: one row for each path, then the diff of each text file. Build output gets one row for its folder.
pub(crate) fn present(
    effects: &Effects,
    views: &[CollectedView],
    ground: &RootView<'_>,
    products: &[PathBuf],
    new_product: Option<&Path>,
) -> ApprovalPresentation {
    let changes: HashMap<String, (&CollectedView, &Change)> = views
        .iter()
        .flat_map(|view| view.changes.changes().map(move |change| (view, change)))
        .map(|(view, change)| (label(&view.path.join(change.path()), ground.folder()), (view, change)))
        .collect();
    let mut rows: Vec<&ChangedPath> = effects.changes.iter().collect();
    rows.sort_by_key(|changed| (changed.level == PathLevel::Ordinary, changed.change, &changed.path));
    let (mut list, mut diffs) = (String::new(), String::new());
    if let Some(folder) = new_product {
        let _ = writeln!(
            list,
            "yes  also makes `{}` a folder of build output for this session: later commands write it without questions and without undo",
            label(folder, ground.folder())
        );
    }
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

/// Describes an object in a few words.
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
