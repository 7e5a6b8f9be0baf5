//! The folder of the watcher, which only the user can access. It holds the socket and the secret for the proofs.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::WatchError;
pub(super) use crate::random::SIZE;

/// The secret, which only processes of the user can read.
pub(super) struct Secret(pub(super) [u8; SIZE]);

/// The folder of the watcher.
pub(super) struct WatcherFolder(PathBuf);

/// Whether to create a missing folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingFolder {
    Create,
    Fail,
}

impl WatcherFolder {
    /// Opens the folder below `state`. Fails if other users can access it.
    pub(super) fn open(state: &Path, missing: MissingFolder) -> Result<Self, WatchError> {
        let folder = state.join("watch");
        let io = |e| WatchError::Io(folder.clone(), e);
        if missing == MissingFolder::Create {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(io)?;
        }
        match std::fs::symlink_metadata(&folder) {
            Ok(found) if found.is_dir() && is_ours(&found) => Ok(Self(folder)),
            Ok(_) => Err(WatchError::NotOurs(folder)),
            Err(e) if e.kind() == ErrorKind::NotFound => Err(WatchError::NoWatcher),
            Err(e) => Err(io(e)),
        }
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }

    /// Locks the folder for one watcher. The lock is held as long as the file is open.
    pub(super) fn lock(&self) -> Result<File, WatchError> {
        let path = self.0.join("lock");
        let io = |e| WatchError::Io(path.clone(), e);
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).custom_flags(nofollow());
        let file = file.open(&path).map_err(io)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(WatchError::Busy),
            Err(e) => Err(io(e.into())),
        }
    }

    /// Reads the secret, which must exist.
    pub(super) fn secret(&self) -> Result<Secret, WatchError> {
        let path = self.secret_path();
        let io = |e| WatchError::Io(path.clone(), e);
        let mut file = OpenOptions::new().read(true).custom_flags(nofollow()).open(&path).map_err(io)?;
        let found = file.metadata().map_err(io)?;
        if !found.is_file() || !is_ours(&found) || found.len() != SIZE as u64 {
            return Err(WatchError::NotOurs(path));
        }
        let mut secret = [0; SIZE];
        file.read_exact(&mut secret).map_err(io)?;
        Ok(Secret(secret))
    }

    /// Reads the secret, and creates it if it does not exist.
    pub(super) fn secret_or_new(&self) -> Result<Secret, WatchError> {
        let path = self.secret_path();
        let io = |e| WatchError::Io(path.clone(), e);
        if std::fs::symlink_metadata(&path).is_err() {
            let new = self.0.join(format!("secret.{}", crate::random::hex(&random()?)));
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(0o600).open(&new).map_err(io)?;
            file.write_all(&random()?).and_then(|()| file.sync_all()).map_err(io)?;
            // If another process was faster, its secret counts.
            let linked = std::fs::hard_link(&new, &path);
            drop(std::fs::remove_file(&new));
            linked.or_else(|e| if e.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(io(e)) })?;
        }
        self.secret()
    }

    fn secret_path(&self) -> PathBuf {
        self.0.join("secret")
    }
}

fn nofollow() -> i32 {
    (OFlags::NOFOLLOW | OFlags::CLOEXEC).bits().cast_signed()
}

/// Returns whether only the user can access the file.
fn is_ours(found: &std::fs::Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw() && found.permissions().mode() & 0o077 == 0
}

/// Returns random bytes that no one can guess.
pub(super) fn random() -> Result<[u8; SIZE], WatchError> {
    crate::random::bytes().map_err(|e| WatchError::Io(PathBuf::from("getrandom"), e))
}
