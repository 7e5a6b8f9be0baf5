//! Layers of views on a tmpfs, for a state folder whose file system cannot hold any, such as the overlay of a container.
//!
//! The commit copies the new files out of such a layer, and what they replace into the store.

use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use askfirst_changes::ChangeStore;

use crate::folders::new_name;
use crate::views::open_store;

/// The folder of a tmpfs that every user can write.
const SHARED_MEMORY: &str = "/dev/shm";
const PREFIX: &str = "askfirst-layers-";

/// The layers of one session. Dropping it removes them.
pub(crate) struct TemporaryLayers {
    pub(crate) folder: PathBuf,
    pub(crate) store: ChangeStore,
    /// Locked as long as the session lives, so that others know when the folder may be removed.
    _lock: File,
}

impl TemporaryLayers {
    /// Makes the folder of a session, and removes those of sessions that are gone.
    pub(crate) fn new() -> Result<Self, String> {
        let failed = |e| format!("cannot make a folder in `{SHARED_MEMORY}`: {e}");
        let all = Path::new(SHARED_MEMORY);
        remove_old(all);
        let name = new_name().map_err(failed)?;
        // Until it is locked, the folder has a name that no other session looks at.
        let (new, folder) = (all.join(format!(".{PREFIX}{name}")), all.join(format!("{PREFIX}{name}")));
        fs::DirBuilder::new().mode(0o700).create(&new).map_err(failed)?;
        let lock = File::create_new(new.join("lock")).and_then(|lock| lock.lock().map(|()| lock));
        let lock = lock.and_then(|lock| fs::rename(&new, &folder).map(|()| lock)).map_err(failed)?;
        Ok(Self { store: open_store(&folder.join("layers"))?, folder: folder.join("layers"), _lock: lock })
    }
}

impl Drop for TemporaryLayers {
    fn drop(&mut self) {
        remove(self.folder.parent().unwrap_or(&self.folder));
    }
}

/// Removes the folders of this user whose sessions are gone.
fn remove_old(all: &Path) {
    let Ok(entries) = fs::read_dir(all) else { return };
    for entry in entries.flatten() {
        let is_one = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        let own = rustix::process::geteuid().as_raw();
        let is_own = entry.path().symlink_metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == own);
        let lock = || File::open(entry.path().join("lock"));
        if is_one && is_own && lock().is_ok_and(|lock| lock.try_lock().is_ok()) {
            remove(&entry.path());
        }
    }
}

/// Removes the folder of a session. The store knows how to remove folders that no one may read.
fn remove(folder: &Path) {
    // The next session tries again to remove what is left.
    if let Ok(store) = open_store(&folder.join("layers")) {
        drop(store.recover(|_| None));
    }
    drop(fs::remove_dir_all(folder));
}
