//! Which package caches processes may read in the sandbox.

use std::path::{Path, PathBuf};

use super::SandboxConfig;

/// The package caches that are shown unless the config sets `sandbox.caches`, relative to the home folder.
pub const DEFAULT_CACHES: [&str; 10] = [
    ".cargo/registry",
    ".cargo/git",
    ".npm/_cacache",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    "go/pkg/mod",
    ".gradle/caches",
    ".m2/repository",
    ".nuget/packages",
];

/// Folders in the home folder that contain tokens next to caches.
const WITH_TOKENS: [&str; 6] = [".cache", ".cargo", ".gradle", ".m2", ".npm", ".nuget"];

impl SandboxConfig {
    /// Returns the cache folders that exist, with links followed.
    ///
    /// Leaves out a folder that holds tokens, and one that contains the home folder or a root.
    #[must_use]
    pub fn cache_folders(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let is_safe = |folder: &PathBuf| {
            let holds_root = self.paths.values().any(|root| root.root.starts_with(folder));
            !holds_root && !home.is_some_and(|home| holds_tokens(folder, home))
        };
        let folders = self.caches.iter().filter_map(|path| path.canonicalize().ok());
        let mut folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).filter(is_safe).collect();
        folders.sort();
        folders.dedup();
        folders
    }
}

/// Returns the default cache folders below a home folder.
pub(crate) fn default_caches(home: Option<&Path>) -> Vec<PathBuf> {
    home.into_iter().flat_map(|home| DEFAULT_CACHES.map(|path| home.join(path))).collect()
}

/// Returns true if a folder is or contains the home folder, or one of the folders in it that contain tokens.
pub(crate) fn holds_tokens(folder: &Path, home: &Path) -> bool {
    let is_in = |path: &Path| {
        path.starts_with(folder) || path.canonicalize().is_ok_and(|real| real.starts_with(folder))
    };
    is_in(home) || WITH_TOKENS.iter().any(|name| is_in(&home.join(name)))
}

#[cfg(test)]
#[path = "caches/tests.rs"]
mod tests;
