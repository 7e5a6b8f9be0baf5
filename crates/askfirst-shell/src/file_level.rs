//! One list of files that can run or control programs, with two levels: never written, and always shown first.
//!
//! The file tools, the shell analysis, the sandbox and the decision on the effects of a command all use it.

mod lists;

use std::path::Path;
use std::sync::LazyLock;

use self::lists::{NEVER, SHOWN};
use super::fold::{FoldedPath, fold_path};
use super::path_rules::{Names, PathRules};

/// How a change of a file is treated, whatever the approval of its root is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileLevel {
    /// The approval of the root decides.
    Ordinary,
    /// The file can run or control programs: askfirst asks about each change and shows the diff.
    Shown,
    /// No tool and no command may write the file.
    Never,
}

/// Files that are shown, and whose lower case is the name of an ordinary folder. Only exactly this name counts.
const SHOWN_EXACTLY: [&str; 2] = ["BUILD", "WORKSPACE"];

/// Paths that, as a file or link, decide which settings a program reads. Each has the reason to block it.
const SETTINGS_POINTERS: [(&str, &str); 2] = [
    (".git", "`.git` decides which settings git reads"),
    (".jj/repo", "`.jj/repo` decides which settings Jujutsu reads"),
];

/// The content and the state of a git repository: the first names in `.git` that are ordinary.
const GIT_STATE: [&str; 24] = [
    "auto_merge",
    "cherry_pick_head",
    "commit_editmsg",
    "edit_description",
    "fetch_head",
    "gc.log",
    "gc.pid",
    "head",
    "index",
    "logs",
    "merge_head",
    "merge_mode",
    "merge_msg",
    "merge_rr",
    "notes_editmsg",
    "objects",
    "orig_head",
    "packed-refs",
    "rebase_head",
    "refs",
    "revert_head",
    "shallow",
    "squash_msg",
    "tag_editmsg",
];

/// Files in `.git` that make git take objects from elsewhere.
const OTHER_OBJECTS: [&str; 2] = ["objects/info/alternates", "objects/info/http-alternates"];

/// The compiled lists. If one were invalid, which would be a bug, it would cover every path.
static NEVER_RULES: LazyLock<Option<PathRules>> = LazyLock::new(|| PathRules::new(NEVER).ok());
static SHOWN_RULES: LazyLock<Option<PathRules>> = LazyLock::new(|| PathRules::new(SHOWN).ok());

/// Returns the level of a file or link.
///
/// The path is relative: from the config's folder, or from the folder above the root, so that the name of the root
/// counts too. The comparison ignores case and equivalent Unicode spellings. Do not ask about a folder itself: its files
/// decide.
#[must_use]
pub fn level_of(path: &Path) -> FileLevel {
    protection(path).map_or(FileLevel::Ordinary, |(level, _)| level)
}

/// Returns the level of a file or link that is not ordinary, and the reason. See [`level_of`].
#[must_use]
pub fn protection(path: &Path) -> Option<(FileLevel, String)> {
    let found = |text: &str| never_text(text).or_else(|| shown_text(text, path));
    strictest(path, found)
}

/// Returns the reason why a file or link is never written, if there is one.
#[must_use]
pub fn never_written(path: &Path) -> Option<String> {
    strictest(path, never_text).map(|(_, why)| why)
}

/// Returns the reason why nothing in a folder is ever written, if there is one.
#[must_use]
pub fn never_in_folder(path: &Path) -> Option<String> {
    strictest(path, listed_text).map(|(_, why)| why)
}

/// Returns the rule for files that are never written and to which this path would lead, as a link.
#[must_use]
pub fn never_below(path: &Path) -> Option<&'static str> {
    NEVER_RULES.as_ref()?.find_below(Names { whole: path, in_root: Path::new(""), in_home: None })
}

/// Applies `find` to each folded form of a path.
fn strictest(path: &Path, find: impl Fn(&str) -> Option<(FileLevel, String)>) -> Option<(FileLevel, String)> {
    match fold_path(path) {
        FoldedPath::Single(text) => find(&text),
        FoldedPath::Both(lower, folded) => {
            [find(&lower), find(&folded)].into_iter().flatten().max_by_key(|(level, _)| *level)
        }
    }
}

fn never_text(text: &str) -> Option<(FileLevel, String)> {
    let pointer = || {
        let found = SETTINGS_POINTERS.iter().find(|(names, _)| ends_with(text, names));
        found.map(|(_, why)| (FileLevel::Never, (*why).to_owned()))
    };
    listed_text(text).or_else(pointer)
}

fn listed_text(text: &str) -> Option<(FileLevel, String)> {
    let why = match &*NEVER_RULES {
        Some(rules) => {
            rules.covering_at_any_depth(text).map(|rule| format!("the built-in list has `{rule}`"))
        }
        None => Some("the built-in list is invalid".to_owned()),
    };
    why.map(|why| (FileLevel::Never, why))
}

fn shown_text(text: &str, path: &Path) -> Option<(FileLevel, String)> {
    let exactly = || SHOWN_EXACTLY.into_iter().find(|name| path.file_name().is_some_and(|own| own == *name));
    let rule = match &*SHOWN_RULES {
        Some(rules) => rules.covering_at_any_depth(text).or_else(exactly),
        None => Some("*"),
    };
    let in_git = || git_part(text).filter(|part| !is_git_state(part)).map(|_| ".git");
    let rule = rule.or_else(in_git)?;
    Some((FileLevel::Shown, format!("it can run or control programs (the built-in list has `{rule}`)")))
}

/// The part of a path that is inside the first `.git` folder.
fn git_part(text: &str) -> Option<&str> {
    let at = if text.starts_with(".git/") { 0 } else { text.find("/.git/")? + 1 };
    text.get(at + ".git/".len()..)
}

fn is_git_state(part: &str) -> bool {
    let first = part.split('/').next().unwrap_or(part);
    let first = first.strip_suffix(".lock").unwrap_or(first);
    (GIT_STATE.contains(&first) || first.starts_with("bisect_") || part == "info/refs")
        && !OTHER_OBJECTS.contains(&part)
}

/// Returns true if a path ends with these names.
fn ends_with(text: &str, names: &str) -> bool {
    text.strip_suffix(names).is_some_and(|above| above.is_empty() || above.ends_with('/'))
}

#[cfg(test)]
#[path = "file_level/tests.rs"]
mod tests;
