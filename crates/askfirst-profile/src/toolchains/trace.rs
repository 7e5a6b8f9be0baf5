//! Follows a path link by link, as the kernel does, and stops at a link that a process in the sandbox could have made.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::fence::{Fence, HiddenReason};

/// The maximum number of links in one path. Linux has the same limit.
const MAX_LINKS: usize = 40;

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trace {
    /// The path without links.
    pub(super) real: PathBuf,
    /// The links on the path itself, each with its target without links.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
}

/// Follows an absolute path. Returns `None` if it leads nowhere.
pub(super) fn trace(path: &Path, fence: &Fence) -> Result<Option<Trace>, HiddenReason> {
    let names = |path: &Path| -> Vec<OsString> { path.iter().rev().map(OsString::from).collect() };
    let (mut at, mut left) = (PathBuf::new(), names(path));
    let mut links: Vec<(PathBuf, PathBuf)> = Vec::new();
    // The link that is being followed, with the number of names behind it.
    let mut open: Option<(PathBuf, usize)> = None;
    let mut count = 0;
    while let Some(name) = left.pop() {
        if name == ".." {
            at.pop();
        } else if name != "." {
            let next = at.join(&name);
            match fs::read_link(&next) {
                Err(_) => at = next,
                Ok(to) => {
                    count += 1;
                    if count > MAX_LINKS {
                        return Err(HiddenReason::Circle);
                    }
                    if let Some(reason) = refuses_link(&next, fence) {
                        return Err(reason);
                    }
                    open = open.or(Some((next, left.len())));
                    // An absolute target starts with `/`, which replaces the path so far.
                    left.extend(names(&to));
                }
            }
        }
        if let Some((link, _)) = open.take_if(|(_, behind)| left.len() <= *behind) {
            links.push((link, at.clone()));
        }
    }
    Ok(at.symlink_metadata().is_ok().then_some(Trace { real: at, links }))
}

/// Why a link is not followed. A process in the sandbox could have made a link in a root.
fn refuses_link(link: &Path, fence: &Fence) -> Option<HiddenReason> {
    match fence.root_around(link) {
        Some(root) => Some(HiddenReason::Root(root.clone())),
        None if ["/proc", "/dev"].iter().any(|system| link.starts_with(system)) => {
            Some(HiddenReason::Collection)
        }
        None => fence
            .refuses(link)
            .filter(|reason| matches!(reason, HiddenReason::NeverRead(_) | HiddenReason::Secrets)),
    }
}
