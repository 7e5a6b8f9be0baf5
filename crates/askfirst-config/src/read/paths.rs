//! Paths in a config: relative to its file, with `~` for home. It follows links only where that is asked for.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use askfirst::when::Glob;

use super::Reader;
use crate::node::Node;
use crate::quote::quoted;

/// So many links lead somewhere at the most, as the system has it.
const MOST_LINKS: usize = 40;

impl Reader<'_> {
    /// The absolute path that a text names, links not followed.
    pub(super) fn path(&mut self, node: &Node) -> Option<PathBuf> {
        let text = node.as_text()?;
        if text.is_empty() {
            self.fault(&node.place, "the path is empty");
            return None;
        }
        match self.absolute(text) {
            Ok(path) => Some(path),
            Err(message) => {
                self.fault(&node.place, message);
                None
            }
        }
    }

    fn absolute(&self, text: &str) -> Result<PathBuf, String> {
        if text == "~" || text.starts_with("~/") {
            let home = self.base.home.as_deref().ok_or("`~` is used, but there is no home folder")?;
            return Ok(clean(&home.join(text.trim_start_matches('~').trim_start_matches('/'))));
        }
        if text.starts_with('~') {
            return Err(format!("`{}`: the home of another user cannot be named by `~`", quoted(text)));
        }
        Ok(clean(&self.base.folder.join(text)))
    }

    /// The glob of absolute paths that a text names, with the links of its fixed part followed.
    pub(super) fn path_glob(&self, text: &str) -> Result<Glob, String> {
        let fixed = Glob::literal_prefix(text);
        // The last whole folder before the first wildcard.
        let cut =
            if fixed.len() == text.len() { text.len() } else { fixed.rfind('/').map_or(0, |at| at + 1) };
        let (fixed, wild) = text.split_at_checked(cut).unwrap_or((text, ""));
        if wild.split('/').any(|part| part == "..") {
            return Err(format!("`{}`: `..` cannot stand behind a wildcard", quoted(text)));
        }
        let folder = follow(&self.absolute(fixed)?);
        let folder = folder.to_str().ok_or_else(|| format!("`{}` is not UTF-8", quoted(text)))?;
        let mut glob = globset::escape(&folder.trim_end_matches('/').replace('\\', "\\\\"));
        match (wild, text.ends_with('/')) {
            ("", true) => glob.push_str("/**"),
            ("", false) if glob.is_empty() => glob.push('/'),
            ("", false) => {}
            (wild, below) => {
                glob.push('/');
                glob.push_str(wild);
                glob.push_str(if below { "**" } else { "" });
            }
        }
        Glob::new(&glob).map_err(|error| quoted(&error.to_string()))
    }
}

/// The path without `.`, and without `..` where what stands before is no link to elsewhere.
fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out = follow(&out);
                out.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => out.push(part),
        }
    }
    out
}

/// The path with the links of its existing part followed.
pub(crate) fn follow(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_path_buf()
}

/// The first link on the way to a path that lies in such a folder. What cannot be looked at is no link.
pub(super) fn link_on_the_way(path: &Path, inside: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let names = |path: &Path| -> Vec<OsString> { path.iter().rev().map(OsString::from).collect() };
    let (mut at, mut left) = (PathBuf::new(), names(path));
    let mut links = 0;
    while let Some(name) = left.pop() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&name);
        let Ok(to) = std::fs::read_link(&next) else {
            at = next;
            continue;
        };
        links += 1;
        if inside(&at) || links > MOST_LINKS {
            return Some(next);
        }
        // What is absolute begins anew by itself.
        left.extend(names(&to));
    }
    None
}
