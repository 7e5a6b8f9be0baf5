//! Where a path leads, as the kernel would follow it, also where the end of it does not exist yet.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::world::{Link, World};

/// So many links are followed.
const MAX_LINKS: usize = 40;

/// Where an absolute path leads. Nothing if it goes in circles.
pub(super) fn real(path: &Path, world: &dyn World) -> Option<PathBuf> {
    world.resolve(Path::new("/"), path)
}

/// Follows a path link by link, from a folder on whose own way there is no link.
pub(super) fn follow<W: World + ?Sized>(world: &W, folder: &Path, path: &Path) -> Option<PathBuf> {
    let mut at = PathBuf::with_capacity(folder.as_os_str().len() + path.as_os_str().len() + 1);
    at.push(folder);
    let mut left = path.components();
    // Below what is not there is nothing.
    let mut gone = false;
    while let Some(component) = left.next() {
        match component {
            Component::RootDir | Component::Prefix(_) => {
                at.push("/");
                gone = false;
            }
            Component::CurDir => {}
            Component::ParentDir => {
                at.pop();
                gone = false;
            }
            Component::Normal(name) => {
                at.push(name);
                match if gone { continue } else { world.link(&at) } {
                    Link::To(target) => {
                        at.pop();
                        let rest = parts(&target).into_iter().chain(parts(left.as_path()));
                        return followed(world, at, rest.collect());
                    }
                    Link::NoLink => {}
                    Link::Missing => gone = true,
                }
            }
        }
    }
    Some(at)
}

/// Where the rest of a way leads after its first link.
fn followed<W: World + ?Sized>(world: &W, mut at: PathBuf, mut left: VecDeque<PathPart>) -> Option<PathBuf> {
    let mut links = 1;
    while let Some(part) = left.pop_front() {
        let name = match part {
            PathPart::Root => {
                at = PathBuf::from("/");
                continue;
            }
            PathPart::Up => {
                at.pop();
                continue;
            }
            PathPart::Name(name) => name,
        };
        at.push(&name);
        let Link::To(target) = world.link(&at) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return None;
        }
        at.pop();
        for part in parts(&target).into_iter().rev() {
            left.push_front(part);
        }
    }
    Some(at)
}

/// The same, taken by its text alone.
pub(super) fn plain(path: PathBuf) -> PathBuf {
    let mut names = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
    if names.next() == Some(b"") && names.all(|name| !matches!(name, b"" | b"." | b"..")) {
        return path;
    }
    let mut at = PathBuf::from("/");
    for part in parts(&path) {
        match part {
            PathPart::Root => at = PathBuf::from("/"),
            PathPart::Up => {
                at.pop();
            }
            PathPart::Name(name) => at.push(name),
        }
    }
    at
}

enum PathPart {
    Root,
    Up,
    Name(OsString),
}

fn parts(path: &Path) -> VecDeque<PathPart> {
    let part = |component: Component<'_>| match component {
        Component::RootDir | Component::Prefix(_) => Some(PathPart::Root),
        Component::CurDir => None,
        Component::ParentDir => Some(PathPart::Up),
        Component::Normal(name) => Some(PathPart::Name(name.to_owned())),
    };
    path.components().filter_map(part).collect()
}

#[cfg(test)]
#[path = "real/tests.rs"]
mod tests;
