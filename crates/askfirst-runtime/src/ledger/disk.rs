//! The disk operations of the audit log, behind a trait so that a test can fail or die at each one.
//!
//! askfirst never opens a symbolic link, a special file, a file of another user or a file that others can write.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::error::LedgerError;

/// The operations that change a disk.
pub(super) trait Disk: Send + Sync {
    /// Opens an existing file for reading and appending.
    fn open(&self, path: &Path) -> io::Result<File>;
    /// Opens a file for reading and appending, and creates it if it does not exist.
    fn create(&self, path: &Path) -> io::Result<File>;
    /// Does one write, and returns how many bytes were written.
    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize>;
    /// Syncs the content of a file to the disk.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// Renames a file. The new name must be free.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Syncs a folder to the disk, with the files that were created or renamed in it.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Replaces a small file that only the user can access, in one step and without syncing it.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
}

/// The real disk.
#[derive(Debug)]
pub(super) struct RealDisk;

const FLAGS: OFlags = OFlags::RDWR
    .union(OFlags::APPEND)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY)
    .union(OFlags::NONBLOCK);

impl Disk for RealDisk {
    fn open(&self, path: &Path) -> io::Result<File> {
        Ok(File::from(rustix::fs::open(path, FLAGS, Mode::empty())?))
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(File::from(rustix::fs::open(path, FLAGS | OFlags::CREATE, mode)?))
    }

    fn append(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match file.write(bytes) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Some file systems cannot do this in one step. The caller holds the lock.
            Err(Errno::INVAL | Errno::NOSYS) if to.symlink_metadata().is_err() => std::fs::rename(from, to),
            done => Ok(done?),
        }
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let spare = spare_name(path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::open(&spare, flags, Mode::RUSR | Mode::WUSR)?);
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        // Two files that take turns make the next sync of the log no slower. A new file for each turn would.
        match rustix::fs::renameat_with(CWD, &spare, CWD, path, RenameFlags::EXCHANGE) {
            Err(Errno::NOENT | Errno::INVAL | Errno::NOSYS) => std::fs::rename(spare, path),
            done => Ok(done?),
        }
    }
}

/// Returns the name of the file that takes the place of another one next.
pub(super) fn spare_name(path: &Path) -> PathBuf {
    path.with_extension("spare")
}

/// Returns the folder of a file.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens the audit log, or creates it and its folder.
pub(super) fn open_or_create(disk: &dyn Disk, path: &Path) -> Result<File, LedgerError> {
    let file = match disk.open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let folder = folder(path);
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(LedgerError::open(folder))?;
            let file = disk.create(path).map_err(|e| refused(path, e))?;
            disk.sync_folder(folder).map_err(LedgerError::step("sync", folder))?;
            file
        }
        opened => opened.map_err(|e| refused(path, e))?,
    };
    check(path, &file)?;
    Ok(file)
}

/// Explains why a file cannot be opened, where the system's error is unclear.
pub(super) fn refused(path: &Path, cause: io::Error) -> LedgerError {
    let why = match Errno::from_io_error(&cause) {
        Some(Errno::LOOP) => "it is a symbolic link",
        Some(Errno::ISDIR) => "it is a folder",
        _ => return LedgerError::Open { path: path.to_owned(), cause },
    };
    LedgerError::Refused { path: path.to_owned(), why: why.to_owned() }
}

fn check(path: &Path, file: &File) -> Result<(), LedgerError> {
    let found = file.metadata().map_err(LedgerError::open(path))?;
    let me = rustix::process::geteuid().as_raw();
    let why = if !found.is_file() {
        "it is not a plain file".to_owned()
    } else if found.uid() != me {
        format!("it belongs to user {}, not to {me}", found.uid())
    } else if found.mode() & 0o022 != 0 {
        format!("other users can write to it (mode {:03o})", found.mode() & 0o777)
    } else {
        return Ok(());
    };
    Err(LedgerError::Refused { path: path.to_owned(), why })
}
