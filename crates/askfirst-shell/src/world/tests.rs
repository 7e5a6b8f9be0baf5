//! The disk of this machine as a world for tests, and the empty world.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::{Empty, FileInfo, FileKind, Link, Listing, World};

/// The disk of this machine, without a home.
pub(crate) struct TestDisk;

fn kind(kind: std::fs::FileType) -> FileKind {
    match (kind.is_file(), kind.is_dir(), kind.is_symlink()) {
        (true, _, _) => FileKind::File,
        (_, true, _) => FileKind::Folder,
        (_, _, true) => FileKind::Link,
        (false, false, false) => FileKind::Other,
    }
}

fn info(about: std::fs::Metadata) -> FileInfo {
    FileInfo { kind: kind(about.file_type()), length: if about.is_file() { about.len() } else { 0 } }
}

impl World for TestDisk {
    fn home(&self) -> Option<&Path> {
        None
    }

    fn info(&self, path: &Path) -> Option<FileInfo> {
        path.symlink_metadata().ok().map(info)
    }

    fn info_behind(&self, path: &Path) -> Option<FileInfo> {
        path.metadata().ok().map(info)
    }

    fn read(&self, path: &Path, limit: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        std::fs::File::open(path).ok()?.take(limit).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn list(&self, folder: &Path, limit: usize) -> Option<Listing> {
        let mut listing = Listing::default();
        for entry in folder.read_dir().ok()? {
            let entry = entry.ok()?;
            if listing.len() == limit {
                listing.cut();
                break;
            }
            listing.push(&entry.file_name(), kind(entry.file_type().ok()?));
        }
        Some(listing)
    }

    fn link(&self, path: &Path) -> Link {
        match (path.read_link(), self.exists(path)) {
            (Ok(target), _) => Link::To(target),
            (Err(_), true) => Link::NoLink,
            (Err(_), false) => Link::Missing,
        }
    }
}

#[test]
fn empty_world_has_an_empty_root_and_nothing_else() {
    let root = Path::new("/");
    assert!(Empty.is_folder(root) && Empty.list(root, 1).unwrap().is_empty());
    assert!(!Empty.exists(Path::new("/etc")) && Empty.list(Path::new("/etc"), 1).is_none());
    assert_eq!(Empty.resolve(root, Path::new("etc/../x")), Some(PathBuf::from("/x")));
    assert_eq!(Empty.home(), None);
}

#[test]
fn listing_returns_each_name_with_its_kind() {
    let mut listing = Listing::default();
    listing.push("a".as_ref(), FileKind::File);
    listing.push("folder".as_ref(), FileKind::Folder);
    let all: Vec<_> = listing.iter().collect();
    assert_eq!(all, [("a".as_ref(), FileKind::File), ("folder".as_ref(), FileKind::Folder)]);
    assert!(listing.len() == 2 && !listing.is_cut());
}
