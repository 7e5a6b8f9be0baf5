//! Files in the user's state folder: written as a whole or not at all, under a lock, and read only if no one else can
//! write them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::places::writable_by;

/// The version of every file.
pub const VERSION: u32 = 1;

/// The reason why a file in the state folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    /// The file cannot be read, or another user could have written it.
    #[error("cannot read `{path}`: {reason}", path = path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// The file cannot be written.
    #[error("cannot write `{path}`: {error}", path = path.display())]
    Unwritable {
        /// The path of the file, or its folder.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
}

/// A locked folder below the state folder. The lock ends when this value is dropped.
pub struct LockedFolder {
    path: PathBuf,
    open: File,
}

impl LockedFolder {
    /// Creates the folder, private to the user, and locks it. Without the lock, one of two simultaneous changes would
    /// be lost.
    ///
    /// # Errors
    /// Fails if the folder cannot be created or locked.
    pub fn open(path: &Path) -> io::Result<Self> {
        create_private(path)?;
        let open = File::open(path)?;
        rustix::fs::flock(&open, rustix::fs::FlockOperation::LockExclusive).map_err(io::Error::from)?;
        Ok(Self { path: path.to_owned(), open })
    }

    /// Writes a file as JSON, and makes sure that it is on disk.
    ///
    /// # Errors
    /// Fails if the file cannot be written. The old one is then unchanged.
    pub fn write(&self, name: &str, content: &impl Serialize) -> io::Result<()> {
        let mut json = serde_json::to_vec_pretty(content).map_err(io::Error::from)?;
        json.push(b'\n');
        replace(&self.path, name, &json)?;
        self.open.sync_all()
    }
}

/// Creates a folder that only the user can access.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a new file and renames it over the old one. After a crash, the file is either the old one or the new one.
pub(crate) fn replace(folder: &Path, name: &str, text: &[u8]) -> io::Result<()> {
    let new = folder.join(format!("{name}.new"));
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&new, folder.join(name))
}

/// Reads a file of this version. Returns `None` if there is no file.
///
/// # Errors
/// Fails if the file cannot be read, if another user could have written it, or if it has another version.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StateFileError> {
    let unreadable = |reason: String| StateFileError::Unreadable { path: path.to_path_buf(), reason };
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error.kind().to_string())),
    };
    if !meta.is_file() {
        return Err(unreadable("it is not a regular file".to_owned()));
    }
    let folder =
        path.parent().map(Path::metadata).transpose().map_err(|e| unreadable(e.kind().to_string()))?;
    let other_writer = writable_by(&meta).or_else(|| folder.as_ref().and_then(writable_by));
    if let Some(who) = other_writer {
        return Err(unreadable(format!("it is writable by {who}")));
    }
    let bytes = fs::read(path).map_err(|error| unreadable(error.kind().to_string()))?;
    let value = askfirst::json::parse(&bytes).map_err(|error| unreadable(error.to_string()))?;
    if value.get("version").is_some_and(|version| *version != VERSION) {
        return Err(unreadable("it was written by another version of askfirst".to_owned()));
    }
    serde_json::from_value(value).map(Some).map_err(|error| unreadable(error.to_string()))
}

/// The identity of a file's content: device, inode, size, and the times of its last changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp([i64; 7]);

impl FileStamp {
    /// Returns the stamp of a file, or `None` if there is no file that can be inspected.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let meta = path.symlink_metadata().ok()?;
        let [device, inode, size] = [meta.dev(), meta.ino(), meta.size()].map(u64::cast_signed);
        let (written, changed) = (meta.mtime(), meta.ctime());
        Some(Self([device, inode, size, written, meta.mtime_nsec(), changed, meta.ctime_nsec()]))
    }
}
