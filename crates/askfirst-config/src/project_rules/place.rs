//! Finds the project of a session: the folder whose real path is the key of the user's own rules.

use std::path::{Path, PathBuf};

use super::super::layers::{LoadOptions, find_project};
use super::super::read::folder_of;
use super::{FOLDER, Project, worktree};

impl Project {
    /// Finds the project that a config with these options belongs to.
    ///
    /// It is the folder of the config file; without one, the nearest folder with `.git`. Your home folder and `/` are no
    /// projects, because rules for them would apply nearly everywhere.
    #[must_use]
    pub fn find(options: &LoadOptions) -> Option<Self> {
        let start = std::path::absolute(&options.folder).ok()?;
        let folder = match &options.explicit {
            Some(file) => start.join(folder_of(file)),
            None => match find_project(&start).ok()? {
                Some(config) => folder_of(&config),
                None => with_git(&start.canonicalize().ok()?)?,
            },
        };
        let folder = folder.canonicalize().ok()?;
        let home = options.places.home.as_deref();
        let files = options.places.state.join(FOLDER);
        let main = worktree::main_folder(&folder).and_then(|main| Self::at(&main, &files, home));
        Some(Self { main: main.map(Box::new), ..Self::at(&folder, &files, home)? })
    }

    fn at(folder: &Path, files: &Path, home: Option<&Path>) -> Option<Self> {
        let is_home = home.and_then(|home| home.canonicalize().ok()).is_some_and(|home| home == folder);
        if is_home || folder.parent().is_none() {
            return None;
        }
        Some(Self { folder: folder.to_str()?.to_owned(), files: files.to_owned(), main: None })
    }
}

/// Returns the nearest folder with `.git`, which is a file in a worktree.
pub(super) fn with_git(folder: &Path) -> Option<PathBuf> {
    let has_git = |above: &&Path| above.join(".git").symlink_metadata().is_ok();
    folder.ancestors().find(has_git).map(Path::to_owned)
}
