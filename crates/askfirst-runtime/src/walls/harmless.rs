//! What stays although it appeared: what `git init`, `git clone` and `git worktree` make by themselves. Whatever is not
//! surely that is not harmless.

use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::git::OF_GIT;
use super::reading::read;

/// Settings of a repository that start no program.
const HARMLESS: [&str; 21] = [
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

/// Whether a folder that git takes for a repository has nothing in it that git would run or be led by.
pub(super) fn is_harmless_repository(folder: &Path) -> bool {
    OF_GIT.iter().all(|name| {
        let path = folder.join(name);
        // A worktree of a repository that is harmless itself is led there, and nowhere else.
        if *name == "commondir" && is_worktree(Some(folder)) && is_only_a_way(folder) {
            return true;
        }
        match (fs::symlink_metadata(&path), *name) {
            (Err(cause), _) => cause.kind() == io::ErrorKind::NotFound,
            (Ok(found), "hooks") => found.is_dir() && has_samples_only(&path),
            (Ok(found), "config") => is_file_of_one_name(&found) && has_harmless_settings(&path),
            (Ok(_), _) => false,
        }
    })
}

/// Whether it is a file that cannot be changed under another name.
fn is_file_of_one_name(found: &Metadata) -> bool {
    found.is_file() && found.nlink() == 1
}

fn has_samples_only(hooks: &Path) -> bool {
    let is_sample = |entry: &DirEntry| entry.path().extension().is_some_and(|suffix| suffix == "sample");
    let has_one_name = |entry: &DirEntry| entry.metadata().is_ok_and(|found| is_file_of_one_name(&found));
    fs::read_dir(hooks).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| is_sample(&entry) && has_one_name(&entry)))
    })
}

/// The text of a file; nothing if it is no text, or cannot be read.
fn text_of(path: &Path) -> Option<String> {
    String::from_utf8(read(path).ok()??).ok()
}

fn has_harmless_settings(config: &Path) -> bool {
    text_of(config).is_some_and(|text| settings_are_harmless(&text))
}

/// Whether it is what `git init`, `git clone` or `git worktree` makes: samples of hooks, settings that start no program,
/// and ways to a repository whose settings are protected themselves.
pub(super) fn is_harmless(path: &Path) -> bool {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(cause) => return cause.kind() == io::ErrorKind::NotFound,
    };
    if is_file_of_one_name(&found) {
        let text = || text_of(path).unwrap_or_default();
        match path.file_name().and_then(|name| name.to_str()) {
            Some(".git") => return leads_to_worktree(path, &text()),
            Some("commondir") => return text() == "../..\n" && is_worktree(path.parent()),
            Some(_) | None => {}
        }
    }
    let inside = |name: &str| {
        path.parent().is_some_and(|folder| folder.file_name().is_some_and(|found| found == name))
    };
    if found.is_dir() && inside(".git") && path.file_name().is_some_and(|name| name == "hooks") {
        return has_samples_only(path);
    }
    if inside("hooks") && path.extension().is_some_and(|suffix| suffix == "sample") {
        return is_file_of_one_name(&found);
    }
    if is_file_of_one_name(&found) && inside(".git") && path.file_name().is_some_and(|name| name == "config")
    {
        return has_harmless_settings(path);
    }
    false
}

/// Whether a `.git` that is a file leads to a worktree's own folder, below a `.git` of which nothing is a link.
fn leads_to_worktree(path: &Path, text: &str) -> bool {
    let to = text.strip_prefix("gitdir: ").and_then(|rest| rest.strip_suffix('\n')).map(Path::new);
    let Some(to) = to.and_then(|to| Some(path.parent()?.join(to))) else { return false };
    to.canonicalize().is_ok_and(|real| real == to) && is_worktree(Some(&to)) && is_only_a_way(&to)
}

/// Whether the folder of a worktree leads to its repository, and has nothing of its own that git would run or be led by.
fn is_only_a_way(folder: &Path) -> bool {
    let is_absent = |name: &str| {
        fs::symlink_metadata(folder.join(name)).is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound)
    };
    let leads = folder.join("commondir");
    text_of(&leads).is_some_and(|text| text == "../..\n")
        && OF_GIT.iter().filter(|name| **name != "commondir").all(|name| is_absent(name))
}

fn is_worktree(folder: Option<&Path>) -> bool {
    let is =
        |path: Option<&Path>, name: &str| path.and_then(Path::file_name).is_some_and(|found| found == name);
    let above = folder.and_then(Path::parent);
    let repository = above.and_then(Path::parent);
    is(above, "worktrees")
        && (is(repository, ".git")
            || repository.is_some_and(|it| it.join("HEAD").is_file() && is_harmless_repository(it)))
}

/// Every line is a section or a setting that is known; anything else is not understood, and so not harmless.
fn settings_are_harmless(text: &str) -> bool {
    let mut section = String::new();
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).all(|line| {
        if let Some(head) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = head.split(['"', ' ']).next().unwrap_or_default().to_lowercase();
            return !head.contains(']');
        }
        let Some((name, value)) = line.split_once('=') else { return false };
        let name = format!("{section}.{}", name.trim().to_lowercase());
        // Git takes quotes and backslashes out, so what stands there is not what it reads.
        let plain =
            !value.contains("ext::") && !value.contains(['"', '\\']) && !value.trim_start().starts_with('-');
        plain && HARMLESS.contains(&name.as_str())
    })
}

#[cfg(test)]
#[path = "harmless/tests.rs"]
mod tests;
