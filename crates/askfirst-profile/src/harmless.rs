//! Decides which new protected names may stay: those that `git init`, `git clone` and `git worktree` create on their own.
//! Everything else counts as harmful.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use askfirst_files::never::is_aside;
use askfirst_sandbox::Denial;

use super::entry::ProtectedEntry;
use super::git::REPOSITORY_FILES;
use super::reading::read;

/// Git settings that start no program.
const HARMLESS_SETTINGS: [&str; 21] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "extensions.objectformat",
    "init.defaultbranch",
    "user.name",
    "user.email",
    "core.sharedrepository",
    "extensions.refstorage",
    "receive.denynonfastforwards",
    "remote.mirror",
    "remote.tagopt",
    "remote.url",
    "remote.fetch",
    "branch.remote",
    "branch.merge",
    "submodule.active",
];

/// Checks new entries. A git pointer to a place outside the searched roots is never harmless.
pub(super) struct HarmlessCheck<'a> {
    pub(super) roots: &'a [PathBuf],
    pub(super) now: &'a BTreeMap<PathBuf, ProtectedEntry>,
}

impl HarmlessCheck<'_> {
    /// Whether `git init`, `git clone` or `git worktree` creates such an entry.
    ///
    /// They create sample hooks, settings that start no program, and pointers to a repository whose settings are protected
    /// themselves.
    pub(super) fn is_harmless(&self, path: &Path, entry: &ProtectedEntry) -> bool {
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(cause) => return cause.kind() == io::ErrorKind::NotFound,
        };
        let inside = |name: &str| {
            path.parent().is_some_and(|folder| folder.file_name().is_some_and(|found| found == name))
        };
        // Targets of git pointers are settings or hooks, whatever the name of their folder is.
        let of_git = !entry.pointers.is_empty() || inside(".git");
        let is_plain = is_file_with_one_name(&found);
        match path.file_name().and_then(|name| name.to_str()) {
            Some(".git") => is_plain && text_of(path).is_some_and(|text| self.leads_to_worktree(path, &text)),
            Some("commondir") => {
                is_plain
                    && text_of(path).is_some_and(|text| text == "../..\n")
                    && self.is_worktree(path.parent())
            }
            Some("hooks") if of_git => found.is_dir() && has_samples_only(path),
            Some("config") if of_git => is_plain && has_harmless_settings(path),
            Some(_) | None => inside("hooks") && is_sample(path) && is_plain,
        }
    }

    /// Whether a folder that git treats as a repository contains nothing that git would run or follow.
    pub(super) fn is_harmless_repository(&self, folder: &Path) -> bool {
        REPOSITORY_FILES.iter().all(|name| {
            let path = folder.join(name);
            // A worktree of a harmless repository points to that repository, and to nothing else.
            if *name == "commondir" && self.is_worktree(Some(folder)) && only_points_to_repository(folder) {
                return true;
            }
            match (fs::symlink_metadata(&path), *name) {
                (Err(cause), _) => cause.kind() == io::ErrorKind::NotFound,
                (Ok(found), "hooks") => found.is_dir() && has_samples_only(&path),
                (Ok(found), "config") => is_file_with_one_name(&found) && has_harmless_settings(&path),
                (Ok(_), _) => false,
            }
        })
    }

    /// Whether a `.git` file points to the folder of a worktree, below a `.git` without any link in its path.
    fn leads_to_worktree(&self, path: &Path, text: &str) -> bool {
        let to = text.strip_prefix("gitdir: ").and_then(|rest| rest.strip_suffix('\n')).map(Path::new);
        let Some(to) = to.and_then(|to| Some(path.parent()?.join(to))) else { return false };
        self.was_searched(&to)
            && to.canonicalize().is_ok_and(|real| real == to)
            && self.is_worktree(Some(&to))
            && only_points_to_repository(&to)
    }

    /// Whether a folder belongs to a worktree. The settings of its repository are checked separately.
    fn is_worktree(&self, folder: Option<&Path>) -> bool {
        let is = |path: Option<&Path>, name: &str| {
            path.and_then(Path::file_name).is_some_and(|found| found == name)
        };
        let above = folder.and_then(Path::parent);
        let Some(repository) = above.and_then(Path::parent) else { return false };
        let is_known = || is(Some(repository), ".git");
        let is_one = || repository.join("HEAD").is_file() && self.is_harmless_repository(repository);
        is(above, "worktrees") && self.was_searched(repository) && (is_known() || is_one())
    }

    /// Whether the search covered a path: it is in a root, and not inside a closed or quarantined folder.
    fn was_searched(&self, path: &Path) -> bool {
        let hides = |above: &Path| {
            above.file_name().is_some_and(is_aside)
                || self.now.get(above).is_some_and(|found| found.denial == Denial::All)
        };
        let root = self.roots.iter().filter(|root| path.starts_with(root)).min();
        root.is_some_and(|root| !path.ancestors().take_while(|above| *above != root).any(hides))
    }
}

/// Whether it is a regular file without other hard links, through which it could be changed.
fn is_file_with_one_name(found: &Metadata) -> bool {
    found.is_file() && found.nlink() == 1
}

fn is_sample(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "sample")
}

fn has_samples_only(hooks: &Path) -> bool {
    let has_one_name = |entry: &DirEntry| entry.metadata().is_ok_and(|found| is_file_with_one_name(&found));
    fs::read_dir(hooks).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| is_sample(&entry.path()) && has_one_name(&entry)))
    })
}

/// Returns the text of a file; `None` if it is not UTF-8 or cannot be read.
fn text_of(path: &Path) -> Option<String> {
    String::from_utf8(read(path).ok()??).ok()
}

fn has_harmless_settings(config: &Path) -> bool {
    text_of(config).is_some_and(|text| settings_are_harmless(&text))
}

/// Whether the folder of a worktree points to its repository, and contains nothing else that git would run or follow.
fn only_points_to_repository(folder: &Path) -> bool {
    let is_absent = |name: &str| {
        fs::symlink_metadata(folder.join(name)).is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound)
    };
    let leads = folder.join("commondir");
    text_of(&leads).is_some_and(|text| text == "../..\n")
        && REPOSITORY_FILES.iter().filter(|name| **name != "commondir").all(|name| is_absent(name))
}

/// Whether every line is a known section or setting. Any other line counts as harmful.
fn settings_are_harmless(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).all(|line| {
        if let Some(head) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = head.split(['"', ' ']).next().unwrap_or_default().to_lowercase();
            return !head.contains(']');
        }
        let Some((name, value)) = line.split_once('=') else { return false };
        let name = format!("{section}.{}", name.trim().to_lowercase());
        // Git removes quotes and backslashes, so the value that it uses would differ from this text.
        let plain =
            !value.contains("ext::") && !value.contains(['"', '\\']) && !value.trim_start().starts_with('-');
        plain && HARMLESS_SETTINGS.contains(&name.as_str())
    })
}

#[cfg(test)]
#[path = "harmless/tests.rs"]
mod tests;
