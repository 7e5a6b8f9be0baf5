//! The answers of the world that the reading of a line depends on. They can be checked again later.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::world::{FileInfo, Link, Listing, World};

/// So many different looks are kept.
const MAX_LOOKS: usize = 256;
/// So many names in listings are kept.
const MAX_NAMES: usize = 4_096;

/// One question to the world, and its answer.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    Home(Option<PathBuf>),
    Info(PathBuf, Option<FileInfo>),
    InfoBehind(PathBuf, Option<FileInfo>),
    Read(PathBuf, u64, Option<Vec<u8>>),
    List(PathBuf, usize, Option<Listing>),
    Link(PathBuf, Link),
    Resolve(PathBuf, PathBuf, Option<PathBuf>),
}

impl Look {
    /// Whether the world gives the same answer now.
    fn holds(&self, world: &dyn World) -> bool {
        match self {
            Self::Home(home) => world.home() == home.as_deref(),
            Self::Info(path, info) => world.info(path) == *info,
            Self::InfoBehind(path, info) => world.info_behind(path) == *info,
            Self::Read(path, limit, bytes) => world.read(path, *limit) == *bytes,
            Self::List(folder, limit, listing) => world.list(folder, *limit) == *listing,
            Self::Link(path, link) => world.link(path) == *link,
            Self::Resolve(folder, path, place) => world.resolve(folder, path) == *place,
        }
    }
}

/// The looks that the reading of a line made, each once.
#[derive(Debug, Default)]
pub(super) struct Assumptions {
    looks: Vec<Look>,
    names: usize,
    /// There were too many to keep.
    overflow: bool,
}

impl Assumptions {
    /// Whether every look gives the same answer now. If there were too many to keep, nobody can tell.
    pub(super) fn hold(&self, world: &dyn World) -> bool {
        !self.overflow && self.looks.iter().all(|look| look.holds(world))
    }

    fn note(&mut self, names: usize, look: impl FnOnce() -> Look) {
        if self.overflow {
            return;
        }
        // If the same question got another answer before, both stay, and the assumptions never hold.
        let new = (names <= MAX_NAMES).then(look);
        if new.as_ref().is_some_and(|look| self.looks.contains(look)) {
            return;
        }
        let fits = self.looks.len() < MAX_LOOKS && self.names + names <= MAX_NAMES;
        match new.filter(|_| fits) {
            Some(look) => {
                self.names += names;
                self.looks.push(look);
            }
            None => *self = Self { overflow: true, ..Self::default() },
        }
    }
}

/// A world that notes every question and its answer.
pub(super) struct Recorder<'w> {
    world: &'w dyn World,
    noted: RefCell<Assumptions>,
}

impl<'w> Recorder<'w> {
    pub(super) fn new(world: &'w dyn World) -> Self {
        Self { world, noted: RefCell::default() }
    }

    /// Everything that was noted.
    pub(super) fn finish(self) -> Assumptions {
        self.noted.into_inner()
    }

    fn note(&self, look: impl FnOnce() -> Look) {
        self.noted.borrow_mut().note(0, look);
    }
}

impl World for Recorder<'_> {
    fn home(&self) -> Option<&Path> {
        let home = self.world.home();
        self.note(|| Look::Home(home.map(Path::to_owned)));
        home
    }

    fn info(&self, path: &Path) -> Option<FileInfo> {
        let info = self.world.info(path);
        self.note(|| Look::Info(path.to_owned(), info));
        info
    }

    fn info_behind(&self, path: &Path) -> Option<FileInfo> {
        let info = self.world.info_behind(path);
        self.note(|| Look::InfoBehind(path.to_owned(), info));
        info
    }

    fn read(&self, path: &Path, limit: u64) -> Option<Vec<u8>> {
        let bytes = self.world.read(path, limit);
        self.note(|| Look::Read(path.to_owned(), limit, bytes.clone()));
        bytes
    }

    fn list(&self, folder: &Path, limit: usize) -> Option<Listing> {
        let listing = self.world.list(folder, limit);
        let names = listing.as_ref().map_or(0, Listing::len);
        self.noted.borrow_mut().note(names, || Look::List(folder.to_owned(), limit, listing.clone()));
        listing
    }

    fn link(&self, path: &Path) -> Link {
        let link = self.world.link(path);
        self.note(|| Look::Link(path.to_owned(), link.clone()));
        link
    }

    /// One look for the whole path, not one for each name on it.
    fn resolve(&self, folder: &Path, path: &Path) -> Option<PathBuf> {
        let place = self.world.resolve(folder, path);
        self.note(|| Look::Resolve(folder.to_owned(), path.to_owned(), place.clone()));
        place
    }
}

#[cfg(test)]
#[path = "assumptions/tests.rs"]
mod tests;
