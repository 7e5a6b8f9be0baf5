//! Recognizes installed toolchains by their content, and names the parts that their programs need to start.

use std::fs;
use std::path::{Path, PathBuf};

use super::fence::Fence;

/// The parts of every installation.
const PARTS: [&str; 8] = ["bin", "sbin", "lib", "lib32", "lib64", "libexec", "share", "include"];

/// One kind of installation.
struct Layout {
    /// Paths that all exist in such a folder. A `*` stands for the end of a name.
    signs: &'static [&'static str],
    /// The parts that its programs need besides [`PARTS`].
    more: &'static [&'static str],
}

const fn layout(signs: &'static [&'static str], more: &'static [&'static str]) -> Layout {
    Layout { signs, more }
}

const LAYOUTS: [Layout; 14] = [
    // Python, its virtual environments, and conda.
    layout(&["pyvenv.cfg"], &["pyvenv.cfg"]),
    layout(&["conda-meta"], &["conda-meta", "condabin", "compiler_compat", "envs", "etc", "shell", "ssl"]),
    layout(&["lib/python*/os.py"], &[]),
    layout(&["lib/pypy*/os.py"], &[]),
    // A toolchain of Rust, and a prefix of npm or Node.
    layout(&["lib/rustlib"], &[]),
    layout(&["lib/node_modules"], &[]),
    layout(&["lib/ruby"], &[]),
    layout(&["gems", "specifications"], &["gems", "specifications", "extensions"]),
    layout(&["pkg/tool", "src/runtime"], &["pkg", "src", "go.env", "VERSION"]),
    // Java, before and since version 9.
    layout(&["jre/lib/rt.jar"], &["jre", "release"]),
    layout(&["lib/modules"], &["conf", "jmods", "release"]),
    layout(&["Cellar"], &["Cellar", "opt", "etc"]),
    // pyenv and its relatives, and asdf and mise.
    layout(
        &["shims", "versions"],
        &["shims", "versions", "version", "plugins", "completions", "pyenv.d", "rbenv.d", "nodenv.d"],
    ),
    layout(&["shims", "installs"], &["shims", "installs", "plugins", "asdf.sh"]),
];

/// Folders that contain one installation each, so that links in them are followed.
pub(super) const COLLECTIONS: [&str; 3] = ["versions", "installs", "toolchains"];

/// An installation and its parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Installation {
    pub(super) root: PathBuf,
    /// The parts that exist. Some may be links.
    pub(super) parts: Vec<PathBuf>,
}

/// Returns the innermost installation that contains a path without links.
pub(super) fn around(path: &Path, fence: &Fence) -> Option<Installation> {
    let shown = |folder: &&Path| fence.refuses(folder).is_none();
    path.ancestors().take_while(shown).find_map(at)
}

/// Returns the installation at a folder, if there is one.
pub(super) fn at(folder: &Path) -> Option<Installation> {
    let known = LAYOUTS.iter().find(|layout| layout.signs.iter().all(|sign| has(folder, sign)));
    let more = match known {
        Some(layout) => layout.more,
        None if is_plain_installation(folder) => &[],
        None => return None,
    };
    let parts = PARTS.iter().chain(more).map(|part| folder.join(part));
    let parts = parts.filter(|part| part.symlink_metadata().is_ok()).collect();
    Some(Installation { root: folder.to_owned(), parts })
}

/// Whether a path exists in a folder.
fn has(folder: &Path, sign: &str) -> bool {
    let Some((start, rest)) = sign.split_once("*/") else { return folder.join(sign).exists() };
    let (above, start) = start.rsplit_once('/').unwrap_or((".", start));
    let Ok(entries) = fs::read_dir(folder.join(above)) else { return false };
    entries.flatten().any(|entry| {
        entry.file_name().to_str().is_some_and(|name| name.starts_with(start))
            && entry.path().join(rest).exists()
    })
}

/// Whether a folder contains nothing but what `make install` creates, and text files about it.
fn is_plain_installation(folder: &Path) -> bool {
    const OTHERS: [&str; 6] = ["etc", "man", "doc", "docs", "licenses", "var"];
    let has = |names: &[&str]| names.iter().any(|name| folder.join(name).is_dir());
    if folder.components().count() < 3 || !has(&["bin"]) || !has(&["lib", "lib64", "libexec", "share"]) {
        return false;
    }
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    entries.all(|entry| {
        let Ok(entry) = entry else { return false };
        let Ok(name) = entry.file_name().into_string() else { return false };
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        let is_about = is_file && name.starts_with(|first: char| first.is_ascii_uppercase());
        PARTS.contains(&name.as_str()) || OTHERS.contains(&name.as_str()) || is_about
    })
}
