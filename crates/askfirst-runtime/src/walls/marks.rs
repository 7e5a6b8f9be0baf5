//! What there was, as marks that another process can compare with what it finds. Nothing can be read out of them.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::found::{Found, Sort};
use super::git::Way;
use super::protected::Known;

/// One thing, at its place and as it was.
pub type Mark = [u8; 16];

impl Known {
    /// A mark for everything that there is.
    #[must_use]
    pub fn marks(&self) -> HashSet<Mark> {
        let found = self.found.iter().map(|(path, found)| of_found(path, found));
        found.chain(self.ways.iter().map(|(path, way)| of_way(path, way))).collect()
    }

    /// Keeps only what has one of these marks: the rest appeared since, or is not what it was.
    pub fn keep(&mut self, marks: &HashSet<Mark>) {
        self.found.retain(|path, found| marks.contains(&of_found(path, found)));
        self.ways.retain(|path, way| marks.contains(&of_way(path, way)));
    }
}

fn of_found(path: &Path, found: &Found) -> Mark {
    let mut hash = begun("found", path);
    match found.sort {
        Sort::Name => {
            hash.update(b"name");
            hash.update(found.inode.to_le_bytes());
            let file = found.file.as_ref().filter(|_| found.is_linked());
            hash.update(format!("{:?} {file:?}", found.leads));
        }
        Sort::Link => hash.update(format!("link {} {:?}", found.inode, found.leads)),
        Sort::Aside => hash.update(format!("aside {}", found.inode)),
        Sort::Closed => hash.update(b"closed"),
        Sort::Pipe => hash.update(b"pipe"),
        Sort::Repository => hash.update(b"repository"),
    }
    ended(hash)
}

fn of_way(path: &Path, way: &Way) -> Mark {
    let mut hash = begun("way", path);
    hash.update(way.mark());
    ended(hash)
}

fn begun(what: &str, path: &Path) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(what);
    hash.update([0]);
    hash.update(path.as_os_str().as_bytes());
    hash.update([0]);
    hash
}

fn ended(hash: Sha256) -> Mark {
    let mut mark = Mark::default();
    mark.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    mark
}
