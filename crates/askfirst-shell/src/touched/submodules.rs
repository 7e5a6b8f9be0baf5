//! Repositories that git enters by itself: those that the index of another one names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::Looker;
use crate::line::tree::Word;
use crate::paths::{Repository, entered_all};
use crate::programs::used::Used;

/// What looks whether a repository inside has changed, and so runs git in it.
const ENTERING: [&str; 8] =
    ["add", "commit", "describe", "diff", "diff-files", "diff-index", "stash", "status"];
/// The longest index that is looked into.
const MOST: u64 = 64 << 20;
/// How the mode of a repository inside another is written in the index, and where in its entry.
const LINK: [u8; 4] = [0, 0, 0xe0, 0];
const MODE_AT: usize = 24;
/// Where the path of an entry may begin: behind a short or a long hash, with or without further flags.
const PATHS_AT: [usize; 4] = [62, 64, 74, 76];

impl Looker<'_> {
    /// `git status` runs in each repository that was added as one, with that one's own config.
    pub(super) fn submodules(&mut self, used: &Used) {
        let sub = used.subs.first().map(|sub| sub.name.as_str());
        let shows = used.options.iter().any(|given| {
            let value = given.value.as_ref().and_then(Word::literal).unwrap_or_default();
            given.names.iter().any(|name| name == "--submodule") || value.starts_with("diff.submodule")
        });
        if used.program != "git" || !(shows || sub.is_some_and(|sub| ENTERING.contains(&sub))) {
            return;
        }
        for folder in entered_all(&self.start.folders, &used.folders, self.home).iter() {
            let found = match &*self.reach.repository(folder) {
                Repository::At(top) => entered(top, &top.join(".git/index")),
                Repository::WorkTree(top, _) => named(top).and_then(|at| entered(top, &at.join("index"))),
                Repository::None | Repository::Odd(_) => None,
            };
            if let Some(name) = found {
                self.ask(format!("{name} is a repository of its own, whose config can run programs"));
            }
        }
    }
}

/// Whether a repository inside keeps its settings outside of the outer one's folder.
fn keeps_own(top: &Path, inside: &Path) -> bool {
    match inside.join(".git").symlink_metadata() {
        Ok(about) if about.is_file() => {
            let kept = named(inside).and_then(|at| at.canonicalize().ok());
            let modules = top.join(".git").canonicalize();
            !kept.zip(modules.ok()).is_some_and(|(kept, outer)| kept.starts_with(outer))
        }
        Ok(_) => true,
        Err(_) => false,
    }
}

/// What a work tree says where its repository keeps things.
fn named(top: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(top.join(".git")).ok()?;
    Some(top.join(text.strip_prefix("gitdir:")?.trim()))
}

/// One that would be entered and keeps its own config: what git itself set up keeps it with the outer one's.
fn entered(top: &Path, index: &Path) -> Option<String> {
    let size = index.metadata().ok()?.len();
    if size > MOST {
        return Some("something in an index that is too long to look into".to_owned());
    }
    let index = std::fs::read(index).ok()?;
    let shared = index.get(4..8) == Some(&[0, 0, 0, 4]);
    for at in memchr::memmem::find_iter(&index, &LINK) {
        let Some(entry) = at.checked_sub(MODE_AT) else { continue };
        if shared {
            // Its paths are written as what differs from the one before.
            return Some("something in the index".to_owned());
        }
        for path in PATHS_AT.iter().filter_map(|from| index.get(entry + from..)) {
            let path = Path::new(OsStr::from_bytes(path.split(|byte| *byte == 0).next().unwrap_or_default()));
            let plain = path.is_relative() && !path.as_os_str().is_empty();
            if plain && keeps_own(top, &top.join(path)) {
                return Some(format!("`{}`", path.display()));
            }
        }
    }
    None
}
