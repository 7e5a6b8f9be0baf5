//! Copies of other programs' config files, from before askfirst changed them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use askfirst::Digest;
use serde::{Deserialize, Serialize};

use super::places::Places;
use super::state_file::{self, LockedFolder, StateFileError, VERSION};

/// The folder of the copies, and of the list of them.
const FOLDER: &str = "hooks";
const FILE: &str = "backups.json";

/// The state of a file before and after askfirst changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// The digest of the old content, if there was a file.
    pub before: Option<Digest>,
    /// The digest of the content that askfirst wrote.
    pub after: Digest,
    /// The folders that askfirst created for the file, the outermost first.
    pub folders: Vec<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BackupList {
    version: u32,
    files: BTreeMap<String, Backup>,
}

impl Default for BackupList {
    fn default() -> Self {
        Self { version: VERSION, files: BTreeMap::new() }
    }
}

/// All backups, locked until this value is dropped.
pub struct Backups {
    folder: LockedFolder,
    path: PathBuf,
    list: BackupList,
}

impl Backups {
    /// Reads the list and locks it, so that no other process changes a file that has a backup.
    ///
    /// # Errors
    /// Fails if the list cannot be read safely, or if its folder cannot be created.
    pub fn open(places: &Places) -> Result<Self, StateFileError> {
        let path = places.state.join(FOLDER);
        let folder = LockedFolder::open(&path)
            .map_err(|error| StateFileError::Unwritable { path: path.clone(), error })?;
        let list = state_file::read(&path.join(FILE))?.unwrap_or_default();
        Ok(Self { folder, path, list })
    }

    /// Returns the backup of a file.
    #[must_use]
    pub fn of(&self, file: &Path) -> Option<&Backup> {
        self.list.files.get(file.to_str()?)
    }

    /// Returns the old content of a file, or `None` if there was no file.
    ///
    /// # Errors
    /// Fails if the copy is missing or damaged.
    pub fn content(&self, backup: &Backup) -> Result<Option<Vec<u8>>, StateFileError> {
        let Some(digest) = backup.before else { return Ok(None) };
        let path = self.path.join(digest.to_string());
        let unreadable = |reason: String| StateFileError::Unreadable { path: path.clone(), reason };
        let content = fs::read(&path).map_err(|error| unreadable(error.kind().to_string()))?;
        if Digest::of(&content) == digest {
            Ok(Some(content))
        } else {
            Err(unreadable("it was changed".to_owned()))
        }
    }

    /// Stores a backup and its content, in place of an older one.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn keep(
        &mut self,
        file: &Path,
        backup: Backup,
        content: Option<&[u8]>,
    ) -> Result<(), StateFileError> {
        self.change(|path, list| {
            let key = file.to_str().ok_or_else(|| io::Error::other("the path is not valid UTF-8"))?;
            if let (Some(digest), Some(content)) = (backup.before, content) {
                state_file::replace(path, &digest.to_string(), content)?;
            }
            list.files.insert(key.to_owned(), backup);
            Ok(())
        })
    }

    /// Removes the backup of a file.
    ///
    /// # Errors
    /// Fails if the list cannot be written.
    pub fn forget(&mut self, file: &Path) -> Result<(), StateFileError> {
        self.change(|_, list| {
            file.to_str().and_then(|key| list.files.remove(key));
            Ok(())
        })
    }

    fn change(
        &mut self,
        change: impl FnOnce(&Path, &mut BackupList) -> io::Result<()>,
    ) -> Result<(), StateFileError> {
        let written = change(&self.path, &mut self.list).and_then(|()| self.folder.write(FILE, &self.list));
        written.map_err(|error| StateFileError::Unwritable { path: self.path.join(FILE), error })?;
        let used: Vec<String> = self
            .list
            .files
            .values()
            .filter_map(|backup| backup.before)
            .map(|digest| digest.to_string())
            .collect();
        let found = fs::read_dir(&self.path).into_iter().flatten().filter_map(Result::ok);
        let unused = found.filter(|file| {
            let name = file.file_name();
            name != FILE && !used.iter().any(|used| name == used.as_str())
        });
        // An old copy does no harm.
        unused.for_each(|file| drop(fs::remove_file(file.path())));
        Ok(())
    }
}

#[cfg(test)]
#[path = "backups/tests.rs"]
mod tests;
