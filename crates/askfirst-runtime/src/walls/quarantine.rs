//! Protected names that were not there before a command: each is given a name that does nothing, before anybody is
//! told that the command is over. What `git init` makes by itself is left where it is.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};

use super::error::WallsError;
use super::protected::Found;

/// What is appended to a name.
const ASIDE: &str = ".quarantined-by-askfirst";

/// Larger settings are not looked at.
const LARGEST: u64 = 64 << 10;

/// Settings of a repository that start no program.
const HARMLESS: [&str; 16] = [
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
    "remote.url",
    "remote.fetch",
    "branch.remote",
    "branch.merge",
    "submodule.active",
];

/// Moves aside what appeared in writable roots. Says what, in words.
///
/// # Errors
/// Fails if something could not be moved aside.
pub fn quarantine(
    before: &BTreeMap<PathBuf, Found>,
    after: &BTreeMap<PathBuf, Found>,
    writable: &[PathBuf],
) -> Result<Vec<String>, WallsError> {
    // What leads git somewhere is moved itself; then what lies there is nobody's settings.
    let by_new = |found: &Found| found.by.as_ref().is_some_and(|git| !before.contains_key(git));
    let new = after.iter().filter(|(_, found)| !by_new(found)).filter(|(path, found)| {
        before.get(*path).is_none_or(|old| old.inode != found.inode || old.is_link != found.is_link)
    });
    let mut said = Vec::new();
    let mut moved: Vec<&PathBuf> = Vec::new();
    for (path, found) in new.filter(|(path, _)| writable.iter().any(|root| path.starts_with(root))) {
        // What lies in something that was moved went with it, and what lies in something older was covered.
        if moved.iter().any(|above| path.starts_with(above)) || is_harmless(path) {
            continue;
        }
        let to = aside(path).map_err(|cause| WallsError::Quarantine { path: path.clone(), cause })?;
        said.push(format!("`{}` appeared, but {}; it was moved to `{to}`", path.display(), found.why));
        moved.push(path);
    }
    Ok(said)
}

/// Gives it another name in its folder, without following any link.
fn aside(path: &Path) -> io::Result<String> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    let folder = rustix::fs::openat2(
        rustix::fs::CWD,
        folder,
        flags,
        Mode::empty(),
        rustix::fs::ResolveFlags::NO_SYMLINKS,
    )?;
    #[cfg(not(target_os = "linux"))]
    let folder = rustix::fs::open(folder, flags | OFlags::NOFOLLOW, Mode::empty())?;
    for number in 0..1000 {
        let mut to = name.to_owned();
        to.push(ASIDE);
        if number > 0 {
            to.push(format!("-{number}"));
        }
        match rustix::fs::renameat_with(folder.as_fd(), name, folder.as_fd(), &to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(to.to_string_lossy().into_owned()),
            Err(rustix::io::Errno::EXIST) => {}
            Err(rustix::io::Errno::INVAL) => {
                if rustix::fs::statat(folder.as_fd(), &to, AtFlags::SYMLINK_NOFOLLOW).is_err() {
                    rustix::fs::renameat(folder.as_fd(), name, folder.as_fd(), &to)?;
                    return Ok(to.to_string_lossy().into_owned());
                }
            }
            Err(cause) => return Err(cause.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Whether it is what `git init`, `git clone` or `git worktree` makes: samples of hooks, settings that start no program,
/// and ways to a repository whose settings are protected themselves.
fn is_harmless(path: &Path) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return true };
    if found.is_file() && found.len() < LARGEST {
        let text = || fs::read_to_string(path).unwrap_or_default();
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
        return fs::read_dir(path).is_ok_and(|mut entries| {
            entries.all(|entry| {
                entry.is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".sample"))
            })
        });
    }
    if inside("hooks") && path.extension().is_some_and(|suffix| suffix == "sample") {
        return found.is_file();
    }
    if found.is_file()
        && found.len() < LARGEST
        && inside(".git")
        && path.file_name().is_some_and(|name| name == "config")
    {
        return fs::read_to_string(path).is_ok_and(|text| settings_are_harmless(&text));
    }
    false
}

/// Whether a `.git` that is a file leads to a worktree's own folder, below a `.git` of which nothing is a link.
fn leads_to_worktree(path: &Path, text: &str) -> bool {
    let to = text.strip_prefix("gitdir: ").and_then(|rest| rest.strip_suffix('\n')).map(Path::new);
    let Some(to) = to.and_then(|to| Some(path.parent()?.join(to))) else { return false };
    to.canonicalize().is_ok_and(|real| real == to) && is_worktree(Some(&to))
}

fn is_worktree(folder: Option<&Path>) -> bool {
    let is =
        |path: Option<&Path>, name: &str| path.and_then(Path::file_name).is_some_and(|found| found == name);
    let above = folder.and_then(Path::parent);
    is(above, "worktrees") && is(above.and_then(Path::parent), ".git")
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
        let plain =
            !value.contains("ext::") && !value.trim_start().starts_with('-') && !value.ends_with('\\');
        plain && HARMLESS.contains(&name.as_str())
    })
}

#[cfg(test)]
#[path = "quarantine/tests.rs"]
mod tests;
