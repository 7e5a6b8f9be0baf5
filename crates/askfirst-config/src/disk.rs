//! The disk of this machine, as the analysis of command lines looks at it.

use std::fs::{FileType, Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use askfirst_shell::{FileInfo, FileKind, Link, Listing, World};
use rustix::fs::{CWD, OFlags, readlinkat_raw};

/// The disk of this machine, with the home folder of the user.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    home: Option<PathBuf>,
}

impl Disk {
    /// The disk as a user with this home folder sees it.
    #[must_use]
    pub fn new(home: Option<PathBuf>) -> Self {
        Self { home }
    }
}

impl World for Disk {
    fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    fn info(&self, path: &Path) -> Option<FileInfo> {
        path.symlink_metadata().ok().map(info)
    }

    fn info_behind(&self, path: &Path) -> Option<FileInfo> {
        path.metadata().ok().map(info)
    }

    fn read(&self, path: &Path, limit: u64) -> Option<Vec<u8>> {
        // Without blocking, so that a pipe instead of a file does not make the check hang.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        let length = file.metadata().map_or(0, |about| about.len()).min(limit);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        file.take(limit).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    fn list(&self, folder: &Path, limit: usize) -> Option<Listing> {
        let mut listing = Listing::default();
        for entry in std::fs::read_dir(folder).ok()? {
            match entry {
                Ok(_) if listing.len() == limit => {
                    listing.cut();
                    break;
                }
                Ok(entry) => {
                    listing.push(&entry.file_name(), entry.file_type().map_or(FileKind::Other, kind))
                }
                Err(_) => listing.cut(),
            }
        }
        Some(listing)
    }

    fn link(&self, path: &Path) -> Link {
        // For a name that is no link the kernel says so without a buffer for the target.
        let is_link = readlinkat_raw(CWD, path, &mut [0_u8]).map_err(std::io::Error::from);
        match is_link.and_then(|_| std::fs::read_link(path)) {
            Ok(target) => Link::To(target),
            Err(error) if error.kind() == ErrorKind::NotFound => Link::Missing,
            Err(_) => Link::NoLink,
        }
    }
}

fn info(about: Metadata) -> FileInfo {
    FileInfo { kind: kind(about.file_type()), length: if about.is_file() { about.len() } else { 0 } }
}

fn kind(kind: FileType) -> FileKind {
    if kind.is_file() {
        FileKind::File
    } else if kind.is_dir() {
        FileKind::Folder
    } else if kind.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    }
}

#[cfg(test)]
#[path = "disk/tests.rs"]
mod tests;
