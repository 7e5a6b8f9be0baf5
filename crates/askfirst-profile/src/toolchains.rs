//! Finds the toolchains that processes in the sandbox may read: what the programs on `PATH` need to start.
//!
//! The folders follow only from `PATH` and the home folder of this process. Nothing in a root adds one, since a process
//! could have written it: a link or a `pyvenv.cfg` there only selects among folders that are shown anyway. The home folder
//! itself, roots and what `never_read` covers are never shown as a toolchain.

mod fence;
mod layout;
mod listing;
mod missing;
mod scan;
mod stored;
mod trace;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use askfirst_config::{Config, Places, Settings, ToolchainAccess};
use askfirst_sandbox::{Denial, DeniedPath, Grant, OSProfile, User};

pub use fence::HiddenReason;
use fence::{Fence, is_system};
use listing::Folders;
use scan::Scan;
use trace::trace;

/// The environment that toolchains follow from, as this process was started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartEnvironment {
    /// The entries of `PATH`.
    pub path: Vec<PathBuf>,
    /// The config files, the state folder and the home folder.
    pub places: Places,
}

impl StartEnvironment {
    /// Reads the environment of this process.
    #[must_use]
    pub fn read() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut seen = std::collections::HashSet::new();
        let path = std::env::split_paths(&path).filter(|entry| seen.insert(entry.clone())).collect();
        Self { path, places: Places::from_env() }
    }
}

/// The toolchains that processes in the sandbox may read under a config.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Toolchains {
    /// The files and folders, without links.
    shown: Vec<PathBuf>,
    /// Names in them that stay hidden.
    denied: Vec<PathBuf>,
    /// Links outside of them, each with its target without links.
    links: Vec<(PathBuf, PathBuf)>,
    /// The paths that stay hidden, as `PATH`, a link or the config names them.
    hidden: BTreeMap<PathBuf, HiddenReason>,
    variables: Vec<(OsString, OsString)>,
    folders: Folders,
    start: Option<StartEnvironment>,
    access: ToolchainAccess,
}

impl Toolchains {
    /// Finds the toolchains under a config.
    #[must_use]
    pub fn find(config: &Config, start: &StartEnvironment) -> Self {
        let home = start.places.home.as_deref().and_then(|home| home.canonicalize().ok());
        let own = config.main.ledger.path.iter().chain([&start.places.state]);
        let own = own.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect();
        let Some(fence) = Fence::new(config, home, own) else { return Self::default() };
        let access = &config.main.sandbox.toolchains;
        let mut scan = Scan::new(&fence);
        access.paths.iter().for_each(|path| scan.show_named(path));
        if access.auto {
            scan.search_path(&start.path);
        }
        let floors = config.floors.iter().filter(|floor| floor.is_set("sandbox.toolchains"));
        floors.for_each(|floor| restrict(&mut scan, &fence, floor));
        let Scan { mut shown, mut denied, mut links, mut hidden, variables, folders, .. } = scan;
        denied.extend(fence.named.iter().cloned());
        shown.retain(|path| !denied.contains(path));
        let is_in = |path: &Path| path.ancestors().any(|above| shown.contains(above));
        let outermost = |path: &&PathBuf| !path.ancestors().skip(1).any(|above| shown.contains(above));
        denied.retain(|path| is_in(path));
        for entry in start.path.iter().filter(|entry| entry.is_absolute()) {
            let Ok(Some(found)) = trace(entry, &fence) else { continue };
            let real = found.real;
            let has_shown = || shown.iter().any(|path| path.parent() == Some(&real));
            if is_in(&real) || has_shown() || is_system(&real) || fence.root_around(&real).is_some() {
                links.extend(found.links);
            } else if real.is_dir() {
                hidden.entry(entry.clone()).or_insert(HiddenReason::NotIncluded);
            }
        }
        links.retain(|link, _| !is_in(link) && !is_system(link));
        Self {
            shown: shown.iter().filter(outermost).cloned().collect(),
            denied: denied.into_iter().collect(),
            links: links.into_iter().collect(),
            hidden,
            variables,
            folders,
            start: Some(start.clone()),
            access: access.clone(),
        }
    }

    /// The files and folders that every process in the sandbox may read, in addition to the system's. They have no links.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.shown.iter().map(PathBuf::as_path)
    }

    /// Names these files and folders for a person. Many files of one folder are counted.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        const MAX_NAMED: usize = 4;
        let folder_of = |path: &PathBuf| path.parent().filter(|_| path.is_file()).map(Path::to_owned);
        let mut files: BTreeMap<PathBuf, usize> = BTreeMap::new();
        self.shown.iter().filter_map(folder_of).for_each(|folder| *files.entry(folder).or_default() += 1);
        files.retain(|_, count| *count > MAX_NAMED);
        let is_counted = |path: &PathBuf| folder_of(path).is_some_and(|folder| files.contains_key(&folder));
        let named = self.shown.iter().filter(|path| !is_counted(path)).map(|path| self.shorten(path));
        let counted =
            files.iter().map(|(folder, count)| format!("{}/* ({count} files)", self.shorten(folder)));
        named.chain(counted).collect()
    }

    /// Whether every process in the sandbox may read a path as part of a toolchain. The path must have no links; one with
    /// `..` is in no toolchain.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        let is_in = |paths: &[PathBuf]| paths.iter().any(|outer| path.starts_with(outer));
        is_in(&self.shown) && !is_in(&self.denied) && !path.iter().any(|name| name == "..")
    }

    /// The names in these folders that stay hidden.
    pub fn hidden_inside(&self) -> impl Iterator<Item = &Path> {
        self.denied.iter().map(PathBuf::as_path)
    }

    /// Returns the hidden paths, with the reasons: entries of `PATH`, links of programs, and paths of the config.
    pub fn hidden(&self) -> impl Iterator<Item = (&Path, &HiddenReason)> {
        self.hidden.iter().map(|(path, reason)| (path.as_path(), reason))
    }

    /// The environment variables that programs need to find their folders.
    #[must_use]
    pub fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// Returns the line of the config that would show a hidden path, if there is one.
    #[must_use]
    pub fn config_line(&self, path: &Path) -> Option<String> {
        let reason = self.hidden.get(path)?;
        let is_entry = self.start.as_ref().is_some_and(|start| start.path.iter().any(|entry| entry == path));
        let mut words: Vec<String> =
            self.access.paths.iter().map(|path| quoted(&self.shorten(path))).collect();
        match reason {
            // A floor, not this list, leaves it out.
            HiddenReason::NotIncluded if self.access.auto || !is_entry => return None,
            HiddenReason::NotIncluded => words.insert(0, "auto".to_owned()),
            reason if reason.can_be_named() => {
                words.insert(0, "auto".to_owned());
                words.push(quoted(&self.shorten(path)));
            }
            _ => return None,
        }
        Some(match words.as_slice() {
            [only] if only == "auto" => "sandbox.toolchains: auto".to_owned(),
            words => format!("sandbox.toolchains: [{}]", words.join(", ")),
        })
    }

    /// Returns a path as text, with `~` for the home folder.
    #[must_use]
    pub fn shorten(&self, path: &Path) -> String {
        let home = self.start.as_ref().and_then(|start| start.places.home.as_deref());
        match home.and_then(|home| path.strip_prefix(home).ok()) {
            Some(inside) if inside.as_os_str().is_empty() => "~".to_owned(),
            Some(inside) => format!("~/{}", inside.display()),
            None => path.display().to_string(),
        }
    }

    /// Whether nothing has changed in the folders that were examined.
    pub fn is_current(&self) -> bool {
        self.folders.are_unchanged()
    }

    /// Adds the toolchains to a profile. Leaves out what is gone, has become a link, or is closed to the profile's user.
    pub fn add_to(&self, profile: &mut OSProfile) {
        let user = profile.user;
        for path in self.shown.iter().filter(|path| is_real(path) && is_reachable(path, user)) {
            profile.readable.extend(Grant::of(path));
        }
        let denied = self.denied.iter().filter(|path| is_real(path) && is_reachable(path, user));
        let denied = denied.map(|path| DeniedPath { path: path.clone(), what: Denial::All });
        profile.denied.extend(denied);
        profile.links.extend(self.links.iter().cloned());
        profile.environment.extend(self.variables.iter().map(|(name, _)| name.clone()));
    }
}

/// Removes what a floor does not include. A floor with `auto` includes everything that follows from `PATH`.
fn restrict(scan: &mut Scan<'_>, fence: &Fence, floor: &Settings) {
    let ToolchainAccess { auto, paths } = &floor.sandbox.toolchains;
    let found = std::mem::take(&mut scan.shown);
    for path in found {
        if *auto && !scan.named.contains(&path) || paths.iter().any(|outer| path.starts_with(outer)) {
            scan.shown.insert(path);
        } else {
            let inner =
                paths.iter().filter(|inner| inner.starts_with(&path) && fence.forbids(inner).is_none());
            scan.shown.extend(inner.cloned());
            // For a file in an entry of `PATH`, the entry is reported.
            if !path.parent().is_some_and(|folder| scan.searched.contains(folder)) {
                scan.hidden.insert(path, HiddenReason::NotIncluded);
            }
        }
    }
}

/// Whether a path exists and has no links.
fn is_real(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real == path)
}

/// Whether a user without other groups can open a path. This process can.
fn is_reachable(path: &Path, user: User) -> bool {
    let User::Other { user, group } = user else { return true };
    path.ancestors().skip(1).all(|folder| {
        let Ok(found) = folder.metadata() else { return false };
        let bit = match (found.uid() == user, found.gid() == group) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        found.mode() & bit != 0
    })
}

/// Returns a path as an item of a list in YAML.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+~".contains(c);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("\"{}\"", path.escape_debug()),
    }
}

#[cfg(test)]
mod tests;
