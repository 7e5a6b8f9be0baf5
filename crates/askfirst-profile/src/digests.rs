//! Digests of a snapshot that another process can compare with its own. They do not reveal any name or content.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::entry::{EntryKind, ProtectedEntry};
use super::git::GitPointer;
use super::protected::Snapshot;

/// The digest of one entry: its path and its state.
pub type EntryDigest = [u8; 16];

impl Snapshot {
    /// Returns the digests of all entries.
    #[must_use]
    pub fn digests(&self) -> HashSet<EntryDigest> {
        let found = self.found.iter().map(|(path, found)| entry_digest(path, found));
        found.chain(self.git_pointers.iter().map(|(path, pointer)| pointer_digest(path, pointer))).collect()
    }

    /// Removes every entry that has none of these digests: it appeared or changed since they were made.
    pub fn retain_matching(&mut self, digests: &HashSet<EntryDigest>) {
        self.found.retain(|path, found| digests.contains(&entry_digest(path, found)));
        self.git_pointers.retain(|path, pointer| digests.contains(&pointer_digest(path, pointer)));
    }
}

fn entry_digest(path: &Path, found: &ProtectedEntry) -> EntryDigest {
    let mut hash = hash_path("found", path);
    match found.kind {
        EntryKind::Name => {
            hash.update(b"name");
            hash.update(found.inode.to_le_bytes());
            let file = found.file.as_ref().filter(|_| found.is_linked());
            hash.update(format!("{:?} {file:?}", found.link_target));
        }
        EntryKind::Link => hash.update(format!("link {} {:?}", found.inode, found.link_target)),
        EntryKind::Quarantined => hash.update(format!("aside {}", found.inode)),
        EntryKind::Closed => hash.update(b"closed"),
        EntryKind::Pipe => hash.update(b"pipe"),
        EntryKind::Repository => hash.update(b"repository"),
    }
    finish(hash)
}

fn pointer_digest(path: &Path, pointer: &GitPointer) -> EntryDigest {
    let mut hash = hash_path("way", path);
    hash.update(pointer.state());
    finish(hash)
}

fn hash_path(what: &str, path: &Path) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(what);
    hash.update([0]);
    hash.update(path.as_os_str().as_bytes());
    hash.update([0]);
    hash
}

fn finish(hash: Sha256) -> EntryDigest {
    let mut digest = EntryDigest::default();
    digest.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    digest
}
