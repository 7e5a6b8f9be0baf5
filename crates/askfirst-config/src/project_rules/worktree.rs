//! Finds the main repository of a linked git worktree, and checks that it lists the worktree.
//!
//! An agent can write everything in a worktree. So what the worktree says counts only if the main repository's own files
//! say the same, and if no other user can write those.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::super::places::writable_by;
use super::place::with_git;

/// The largest size of a file that holds one path.
const MAX_PATH: u64 = 16 << 10;

/// Returns the folder of the main repository that corresponds to a folder of a worktree.
pub(super) fn main_folder(folder: &Path) -> Option<PathBuf> {
    let top = with_git(folder)?;
    let link = top.join(".git");
    // The admin folder of the worktree: MAIN/.git/worktrees/NAME.
    let admin = top.join(path_in(&link, "gitdir: ")?).canonicalize().ok()?;
    let list = admin.parent().filter(|list| list.file_name().is_some_and(|name| name == "worktrees"))?;
    let git = list.parent().filter(|git| git.file_name().is_some_and(|name| name == ".git"))?;
    let back = admin.join("gitdir");
    let own = [git, list, &admin, &back].into_iter().all(|path| {
        path.symlink_metadata().is_ok_and(|found| !found.is_symlink() && writable_by(&found).is_none())
    });
    let lists_it = admin.join(path_in(&back, "")?).canonicalize().ok()? == link;
    if !own || !lists_it {
        return None;
    }
    let main = git.parent()?.join(folder.strip_prefix(&top).ok()?).canonicalize().ok()?;
    // The folder must not lead out of the main repository.
    (main.starts_with(git.parent()?) && main != folder).then_some(main)
}

/// Returns the path that a regular file holds after a prefix.
fn path_in(file: &Path, prefix: &str) -> Option<PathBuf> {
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    fs::File::open(file).ok()?.take(MAX_PATH).read_to_string(&mut text).ok()?;
    let path = text.strip_prefix(prefix)?.trim_end_matches(['\n', '\r']);
    (!path.is_empty() && !path.contains('\n')).then(|| PathBuf::from(path))
}
