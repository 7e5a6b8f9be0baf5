//! Repositories that git enters by itself: those that the index of another one names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::Looker;
use crate::line::tree::Word;
use crate::paths::{Repository, entered_all};
use crate::programs::used::Used;
use crate::real::real;
use crate::world::{FileKind, World};

/// What looks whether a repository inside has changed, and so runs git in it.
const ENTERING: [&str; 8] =
    ["add", "commit", "describe", "diff", "diff-files", "diff-index", "stash", "status"];
/// The longest index that is looked into.
const MOST: u64 = 64 << 20;
/// At most so many bytes of a file `.git` are read. Git refuses a longer one.
const MAX_POINTER: u64 = 1 << 20;
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
        for folder in entered_all(&self.start.folders, &used.folders, self.world).iter() {
            let world = self.world;
            let found = match &*self.reach.repository(folder) {
                Repository::At(top) => entered(top, &top.join(".git/index"), world),
                Repository::WorkTree(top, _) => {
                    named(top, world).and_then(|at| entered(top, &at.join("index"), world))
                }
                Repository::None | Repository::Odd(_) => None,
            };
            if let Some(name) = found {
                self.wonder(format!("{name} is a separate repository, and its config can run programs"));
            }
        }
    }
}

/// Whether a repository inside keeps its settings outside of the outer one's folder.
fn keeps_own(top: &Path, inside: &Path, world: &dyn World) -> bool {
    // As the kernel resolves a path: it fails where a part of the path is missing.
    let there = |path: &Path| world.info_behind(path).and_then(|_| real(path, world));
    match world.info(&inside.join(".git")) {
        Some(info) if info.kind == FileKind::File => {
            let kept = named(inside, world).and_then(|at| there(&at));
            let modules = there(&top.join(".git"));
            !kept.zip(modules).is_some_and(|(kept, outer)| kept.starts_with(outer))
        }
        Some(_) => true,
        None => false,
    }
}

/// What a work tree says where its repository keeps things.
fn named(top: &Path, world: &dyn World) -> Option<PathBuf> {
    let text = world.read_text(&top.join(".git"), MAX_POINTER)?;
    Some(top.join(text.strip_prefix("gitdir:")?.trim()))
}

/// One that would be entered and keeps its own config: what git itself set up keeps it with the outer one's.
fn entered(top: &Path, index: &Path, world: &dyn World) -> Option<String> {
    if world.info_behind(index)?.length > MOST {
        return Some("an entry in an index that is too long to check".to_owned());
    }
    let index = world.read(index, MOST)?;
    let shared = index.get(4..8) == Some(&[0, 0, 0, 4]);
    for at in memchr::memmem::find_iter(&index, &LINK) {
        let Some(entry) = at.checked_sub(MODE_AT) else { continue };
        if shared {
            // Its paths are written as what differs from the one before.
            return Some("an entry in the index".to_owned());
        }
        for path in PATHS_AT.iter().filter_map(|from| index.get(entry + from..)) {
            let path = Path::new(OsStr::from_bytes(path.split(|byte| *byte == 0).next().unwrap_or_default()));
            let plain = path.is_relative() && !path.as_os_str().is_empty();
            if plain && keeps_own(top, &top.join(path), world) {
                return Some(format!("`{}`", path.display()));
            }
        }
    }
    None
}
