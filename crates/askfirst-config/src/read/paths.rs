//! Resolves the paths in a config: relative to its file, with `~` for the home folder.
//!
//! A function follows links only if its documentation says so.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use askfirst::when::Glob;

use super::ConfigReader;
use crate::node::Node;
use crate::quote::escape;

/// The maximum number of links in one path. Linux has the same limit.
const MAX_LINKS: usize = 40;

impl ConfigReader<'_> {
    /// Returns the absolute path that a text names, without following links.
    pub(super) fn read_path(&mut self, node: &Node) -> Option<PathBuf> {
        let text = node.as_text()?;
        if text.is_empty() {
            self.fault(&node.position, "the path is empty");
            return None;
        }
        match self.expand_path(text) {
            Ok(path) => Some(path),
            Err(message) => {
                self.fault(&node.position, message);
                None
            }
        }
    }

    pub(super) fn expand_path(&self, text: &str) -> Result<PathBuf, String> {
        if text == "~" || text.starts_with("~/") {
            let home = self.base.home.as_deref().ok_or("cannot expand `~`: the home folder is unknown")?;
            return Ok(clean(&home.join(text.trim_start_matches('~').trim_start_matches('/'))));
        }
        if text.starts_with('~') {
            let text = escape(text);
            return Err(format!("cannot expand `{text}`: `~` works only for your own home folder"));
        }
        Ok(clean(&self.base.folder.join(text)))
    }

    /// Returns a glob for absolute paths. Follows the links in the part before the first wildcard.
    pub(super) fn read_path_glob(&self, text: &str) -> Result<Glob, String> {
        let fixed = Glob::literal_prefix(text);
        // The fixed part ends after the last complete folder before the first wildcard.
        let cut =
            if fixed.len() == text.len() { text.len() } else { fixed.rfind('/').map_or(0, |at| at + 1) };
        let (fixed, wild) = text.split_at_checked(cut).unwrap_or((text, ""));
        if wild.split('/').any(|part| part == "..") {
            return Err(format!("invalid path `{}`: `..` cannot follow a wildcard", escape(text)));
        }
        let folder = follow(&self.expand_path(fixed)?);
        let folder =
            folder.to_str().ok_or_else(|| format!("the path `{}` is not valid UTF-8", escape(text)))?;
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
        Glob::new(&glob).map_err(|error| escape(&error.to_string()))
    }
}

/// Removes `.` and `..` from a path. Follows the links before each `..`.
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

/// Follows the links in the part of a path that exists.
pub(crate) fn follow(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_path_buf()
}

/// Finds the first link on a path whose own folder passes `is_inside`. A path that cannot be inspected is no link.
pub(super) fn find_link(path: &Path, is_inside: impl Fn(&Path) -> bool) -> Option<PathBuf> {
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
        if is_inside(&at) || links > MAX_LINKS {
            return Some(next);
        }
        // An absolute target starts with `/`, which replaces the path so far.
        left.extend(names(&to));
    }
    None
}
