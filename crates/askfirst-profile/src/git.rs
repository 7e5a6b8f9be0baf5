//! Finds git pointers: files that refer git to other files.
//!
//! - a `.git` that is not a folder;
//! - a `commondir`, which names the folder that worktrees share;
//! - settings that name other settings or a hooks folder.
//!
//! The targets of a pointer are protected like those in `.git`, whether or not git would treat their
//! folder as a repository. A pointer that cannot be read is an error, since its targets are unknown.

mod settings;
mod signs;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use askfirst_sandbox::Denial;

use super::entry::{EntryKind, ProtectedEntry};
use super::reading::{is_nowhere, read, real};
pub(super) use signs::{RepositorySigns, is_covered_by_rules};

use settings::{SettingKey, SettingValue, values};

/// The maximum number of settings files that include each other.
const MAX_INCLUDES: usize = 64;

/// The maximum size of the values of one settings file that are cached during a search. Larger ones are read again.
const MAX_CACHED: usize = 4096;

/// The names that git runs or follows in the folder of a repository, whatever the name of that folder is.
pub(super) const REPOSITORY_FILES: [&str; 5] =
    ["hooks", "config", "config.worktree", "commondir", "info/attributes"];

/// A file that refers git to other files, whose targets are protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitPointer {
    /// Its path with all links resolved.
    at: PathBuf,
    /// Its inode number and change time, if it is a settings file.
    settings: Option<(u64, (i64, i64))>,
    /// Its target, if it is a protected symbolic link.
    link: Option<PathBuf>,
}

impl GitPointer {
    /// Whether the pointer may stay if it is new. A protected link may not. So nothing is quarantined because of a new link:
    /// its target may belong to the user.
    pub(super) fn may_stay(&self) -> bool {
        self.link.is_none()
    }

    /// Whether the pointer is the same as before.
    ///
    /// - A settings file that was replaced is new. No program in the sandbox can do that, since it is covered.
    /// - A protected link with another target is new.
    /// - Git or a program may write any other pointer again, and it still counts as the same.
    pub(super) fn is_unchanged(&self, now: Option<&Self>) -> bool {
        now.is_none_or(|now| match (&self.link, &now.link) {
            (None, None) => self.settings.is_none() || self.settings == now.settings,
            (link, now) => link == now,
        })
    }

    /// The state that must be equal for the pointer to be the same.
    pub(super) fn state(&self) -> String {
        format!("{:?} {:?}", self.settings, self.link)
    }
}

/// The kind of a git pointer.
#[derive(Debug, Clone, Copy)]
enum PointerKind {
    Settings,
    /// A `.git`, a `commondir` or a `HEAD`.
    Plain,
}

/// The repositories that settings apply to.
#[derive(Debug, Clone, Copy)]
enum SettingsScope<'a> {
    /// The repository with its files in this folder.
    Tree(&'a Path),
    /// Every repository of the user.
    All,
}

/// The git pointers and their targets, as one search finds them.
pub(super) struct PointerSearch<'a> {
    roots: &'a [PathBuf],
    home: Option<&'a Path>,
    /// The pointers of an earlier search, if there was one.
    before: Option<&'a BTreeMap<PathBuf, GitPointer>>,
    /// The pointers of this search.
    pub(super) all: BTreeMap<PathBuf, GitPointer>,
    /// The targets of the pointers.
    pub(super) targets: Vec<(PathBuf, ProtectedEntry)>,
    /// The targets of settings that do not exist.
    pub(super) missing: Vec<PathBuf>,
    /// Pointers that cannot be read.
    pub(super) unreadable: Vec<(PathBuf, io::Error)>,
    /// The values of settings files, by resolved path.
    cache: HashMap<PathBuf, Rc<[SettingValue]>>,
    /// Hook folders that settings name for every repository, relative to its files.
    everywhere: Vec<(PathBuf, OsString)>,
}

/// The targets of a protected link that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkScope {
    Anything,
    FilesOnly,
}

/// The kind of target that a setting names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    Hooks,
    Settings,
}

impl<'a> PointerSearch<'a> {
    pub(super) fn new(
        roots: &'a [PathBuf],
        home: Option<&'a Path>,
        before: Option<&'a BTreeMap<PathBuf, GitPointer>>,
    ) -> Self {
        Self {
            roots,
            home,
            before,
            all: BTreeMap::new(),
            targets: Vec::new(),
            missing: Vec::new(),
            unreadable: Vec::new(),
            cache: HashMap::new(),
            everywhere: Vec::new(),
        }
    }

    /// Follows settings for every repository, and repositories above the roots.
    pub(super) fn follow_outside(&mut self, everywhere: &[PathBuf]) {
        // Programs in the sandbox cannot create files there, so what did not exist before need not be checked again.
        let before = self.before;
        let was_there = |path: &Path| {
            let from = |ways: &BTreeMap<PathBuf, GitPointer>| {
                let next = ways.range::<Path, _>((Bound::Included(path), Bound::Unbounded)).next();
                next.is_some_and(|(way, _)| way.starts_with(path))
            };
            before.is_none_or(from)
        };
        let there = |path: &Path| was_there(path) && path.symlink_metadata().is_ok();
        let there = everywhere.iter().filter(|settings| there(settings));
        let everywhere: Vec<PathBuf> = there.cloned().collect();
        for settings in &everywhere {
            let why = "git reads it for every repository".to_owned();
            self.targets.extend(
                ProtectedEntry::at(settings, Denial::Write, why, EntryKind::Name)
                    .map(|found| (settings.clone(), found)),
            );
        }
        self.follow_settings(everywhere, SettingsScope::All);
        let above: BTreeSet<&Path> = self.roots.iter().flat_map(|root| root.ancestors().skip(1)).collect();
        for folder in above {
            if self.is_inside(folder) {
                continue;
            }
            let (git, head) = (folder.join(".git"), folder.join("HEAD"));
            match Some(&git).filter(|git| was_there(git)).and_then(|git| git.symlink_metadata().ok()) {
                Some(found) if found.is_dir() => self.follow_git_folder(&git),
                Some(_) => self.follow_git_file(&git),
                None => {}
            }
            let there = |name: &str| folder.join(name).symlink_metadata().is_ok();
            if was_there(&head) && there("HEAD") && (there("commondir") || there("objects") && there("refs"))
            {
                self.follow_repository(folder, &head, folder, "git takes the folder for a repository");
            }
        }
    }

    fn is_inside(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Protects the targets of a `.git` folder.
    pub(super) fn follow_git_folder(&mut self, git: &Path) {
        let tree = git.parent().unwrap_or(git);
        self.follow_repository(git, &git.join("commondir"), tree, "it belongs to a git repository");
    }

    /// Protects the targets in the repository that a `.git` file or link points to.
    pub(super) fn follow_git_file(&mut self, git: &Path) {
        let Some(tree) = git.parent() else { return };
        let Some(at) = self.add_pointer(git, PointerKind::Plain) else { return };
        let to = match at.is_dir() {
            true => Some(at),
            // Git does not follow a pipe or device with this name.
            false if !at.is_file() => None,
            false => self.read(&at).and_then(|bytes| {
                let path = path_in(bytes.strip_prefix(b"gitdir: ")?);
                self.real(&tree.join(path))
            }),
        };
        if let Some(to) = to {
            self.follow_repository(
                &to,
                git,
                tree,
                &format!("`{}` makes it part of a repository", git.display()),
            );
        }
    }

    /// Protects what git runs or follows in the folder of a repository, and in the folder that it shares with others.
    ///
    /// Also follows the settings of both, for the files in `tree`. `by` is the pointer to the repository.
    pub(super) fn follow_repository(&mut self, folder: &Path, by: &Path, tree: &Path, why: &str) {
        self.add_pointer(by, PointerKind::Plain);
        self.targets.extend(repository_targets(folder, by, why));
        let common = self.shared_folder(folder).filter(|common| common != folder);
        self.targets.extend(common.iter().flat_map(|common| repository_targets(common, by, why)));
        let mut settings: Vec<PathBuf> =
            [Some(folder), common.as_deref()].into_iter().flatten().map(|it| it.join("config")).collect();
        settings.push(folder.join("config.worktree"));
        self.follow_settings(settings, SettingsScope::Tree(tree));
        for (settings, value) in self.everywhere.clone() {
            if let Some(path) = self.resolve_value(&value, Some(tree)) {
                let paths = target_paths(&path, TargetKind::Hooks, SettingsScope::Tree(tree));
                paths.into_iter().for_each(|path| self.add_target(&settings, path));
            }
        }
    }

    /// Follows settings files and the settings files that they include.
    fn follow_settings(&mut self, mut waiting: Vec<PathBuf>, scope: SettingsScope<'_>) {
        let mut seen: Vec<PathBuf> = Vec::new();
        while let Some(settings) = waiting.pop() {
            if seen.contains(&settings) {
                continue;
            }
            if seen.len() >= MAX_INCLUDES {
                let cause =
                    io::Error::other(format!("more than {MAX_INCLUDES} settings files include each other"));
                return self.unreadable.push((settings, cause));
            }
            for (path, kind) in self.settings_targets(&settings, scope) {
                self.add_target(&settings, path.clone());
                match kind {
                    TargetKind::Settings => waiting.push(path),
                    TargetKind::Hooks => {}
                }
            }
            seen.push(settings);
        }
    }

    /// Adds a target of a settings file.
    fn add_target(&mut self, settings: &Path, path: PathBuf) {
        let why = format!("`{}` refers git to it", settings.display());
        match ProtectedEntry::at(&path, Denial::Write, why, EntryKind::Name) {
            Some(found) => {
                let pointers = vec![settings.to_owned()];
                self.targets.push((path, ProtectedEntry { pointers, ..found }));
            }
            None => self.missing.push(path),
        }
    }

    /// Protects the target of a protected link in the roots like the link, since a program could read or change it there.
    ///
    /// A `.git` link points to a repository, which is not protected as a whole.
    pub(super) fn follow_link(&mut self, link: &Path, what: Denial, scope: LinkScope) {
        if link.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git")) {
            return;
        }
        let (said, real) = (link.read_link().ok(), link.canonicalize());
        if real.as_deref().is_ok_and(|at| !self.is_inside(at)) {
            return;
        }
        let scope = match self.all.get_mut(link) {
            // A git pointer counts whatever its target is.
            Some(GitPointer { settings: None, link: None, .. }) => LinkScope::FilesOnly,
            Some(way) => {
                way.link = said;
                scope
            }
            // Add the link even if its target does not exist yet.
            None => {
                let at = real.as_deref().unwrap_or(link).to_owned();
                self.all.insert(link.to_owned(), GitPointer { at, settings: None, link: said });
                scope
            }
        };
        let Ok(at) = real else { return };
        let around = link.starts_with(&at) || self.roots.iter().any(|root| root.starts_with(&at));
        if around || scope == LinkScope::FilesOnly && at.is_dir() {
            return;
        }
        let why = format!("`{}` links to it", link.display());
        if let Some(found) = ProtectedEntry::at(&at, what, why, EntryKind::Name) {
            self.targets.push((at, ProtectedEntry { pointers: vec![link.to_owned()], ..found }));
        }
    }

    /// Returns the folder that a repository shares with others.
    fn shared_folder(&mut self, folder: &Path) -> Option<PathBuf> {
        let at = self.add_pointer(&folder.join("commondir"), PointerKind::Plain)?;
        let bytes = self.read(&at)?;
        self.real(&folder.join(path_in(&bytes)))
    }

    /// Returns the paths that settings name.
    ///
    /// - `core.hooksPath`, relative to the files of the repository;
    /// - `init.templateDir`;
    /// - `include.path` and `includeIf.….path`, relative to the settings file.
    fn settings_targets(&mut self, settings: &Path, scope: SettingsScope<'_>) -> Vec<(PathBuf, TargetKind)> {
        let mut targets = Vec::new();
        for SettingValue { key, value } in self.values(settings).iter() {
            let (base, kind) = match (key, scope) {
                (SettingKey::HooksPath, SettingsScope::Tree(tree)) => (Some(tree), TargetKind::Hooks),
                (SettingKey::HooksPath, SettingsScope::All) => {
                    self.everywhere.push((settings.to_owned(), value.clone()));
                    (None, TargetKind::Hooks)
                }
                // Git copies hooks from there into every new repository.
                (SettingKey::TemplateDir, SettingsScope::Tree(_) | SettingsScope::All) => {
                    (None, TargetKind::Hooks)
                }
                (SettingKey::Include, SettingsScope::Tree(_) | SettingsScope::All) => {
                    (settings.parent(), TargetKind::Settings)
                }
            };
            let Some(path) = self.resolve_value(value, base) else { continue };
            targets.extend(target_paths(&path, kind, scope).into_iter().map(|path| (path, kind)));
        }
        targets
    }

    /// Returns the path that a value names. A relative value starts at `base`.
    fn resolve_value(&self, value: &OsStr, base: Option<&Path>) -> Option<PathBuf> {
        let bytes = value.as_bytes();
        let bytes = bytes.strip_prefix(b":(optional)").unwrap_or(bytes);
        match (bytes.strip_prefix(b"~"), bytes.first()) {
            (_, None) => None,
            (None, Some(b'/')) => Some(PathBuf::from(OsStr::from_bytes(bytes))),
            (None, Some(_)) => Some(base?.join(OsStr::from_bytes(bytes))),
            (Some(rest), Some(_)) => {
                let (name, below) = rest.split_at(memchr::memchr(b'/', rest).unwrap_or(rest.len()));
                let below = below.strip_prefix(b"/").unwrap_or(below);
                let home = if name.is_empty() { self.home.map(Path::to_owned) } else { home_of(name) };
                Some(home?.join(OsStr::from_bytes(below)))
            }
        }
    }

    /// Returns the values of a settings file; empty if there is none.
    fn values(&mut self, settings: &Path) -> Rc<[SettingValue]> {
        let Some(at) = self.add_pointer(settings, PointerKind::Settings) else { return Rc::new([]) };
        if let Some(said) = self.cache.get(&at) {
            return Rc::clone(said);
        }
        let Some(bytes) = self.read(&at) else { return Rc::new([]) };
        let Some(said) = values(&bytes, MAX_INCLUDES) else {
            self.fail::<()>(
                settings,
                io::Error::other(format!("it names more than {MAX_INCLUDES} other paths")),
            );
            return Rc::new([]);
        };
        let said: Rc<[SettingValue]> = said.into();
        // A program can create any number of settings files, by hard links at almost no cost.
        if said.iter().map(|it| it.value.len()).sum::<usize>() <= MAX_CACHED {
            self.cache.insert(at, Rc::clone(&said));
        }
        said
    }

    /// Records a possible pointer and returns its resolved path; `None` if it does not exist.
    ///
    /// A new pointer that resolves to a path outside the roots is ignored, since a program chose that path.
    fn add_pointer(&mut self, path: &Path, kind: PointerKind) -> Option<PathBuf> {
        let stat = match path.symlink_metadata() {
            Ok(stat) => stat,
            Err(cause) if is_nowhere(&cause) => return None,
            Err(cause) => return self.fail(path, cause),
        };
        // The folders above are already resolved.
        let (at, stat) = match stat.is_symlink() {
            false => (path.to_owned(), stat),
            true => {
                let at = self.real(path)?;
                let stat = at.symlink_metadata().ok()?;
                (at, stat)
            }
        };
        let known = |before: &BTreeMap<PathBuf, GitPointer>| before.get(path).is_some_and(|old| old.at == at);
        if !self.is_inside(&at) && !self.before.is_none_or(known) {
            return None;
        }
        let settings = match kind {
            PointerKind::Settings => Some((stat.ino(), (stat.ctime(), stat.ctime_nsec()))),
            PointerKind::Plain => None,
        };
        self.all.insert(path.to_owned(), GitPointer { at: at.clone(), settings, link: None });
        Some(at)
    }

    fn real(&mut self, path: &Path) -> Option<PathBuf> {
        real(path).unwrap_or_else(|cause| self.fail(path, cause))
    }

    fn read(&mut self, path: &Path) -> Option<Vec<u8>> {
        read(path).unwrap_or_else(|cause| self.fail(path, cause))
    }

    /// Records that a pointer cannot be read. If we may not read a file outside the roots, git may not either.
    fn fail<T>(&mut self, path: &Path, cause: io::Error) -> Option<T> {
        if cause.kind() != io::ErrorKind::PermissionDenied || self.is_inside(path) {
            self.unreadable.push((path.to_owned(), cause));
        }
        None
    }
}

/// Returns the settings files that apply to every repository of this user, wherever git is installed.
pub(super) fn global_settings(home: Option<&Path>) -> Vec<PathBuf> {
    let named = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = named("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config")));
    let own = [home.map(|home| home.join(".gitconfig")), config.map(|folder| folder.join("git/config"))];
    let said = [named("GIT_CONFIG_GLOBAL"), named("GIT_CONFIG_SYSTEM")];
    let system = ["/etc", "/usr/etc", "/usr/local/etc", "/opt/homebrew/etc"];
    let system = system.iter().map(|folder| Path::new(folder).join("gitconfig"));
    let real = |path: PathBuf| {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        folder.zip(path.file_name()).map_or_else(|| path.clone(), |(folder, name)| folder.join(name))
    };
    own.into_iter().chain(said).flatten().chain(system).map(real).collect()
}

/// Returns a path without links. Its end need not exist.
fn without_links(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    // `..` would climb out of a folder that is not there.
    let name = path.file_name()?;
    Some(without_links(path.parent()?)?.join(name))
}

/// Returns the path that a setting names, and its target if it is a link.
fn target_paths(path: &Path, kind: TargetKind, scope: SettingsScope<'_>) -> Vec<PathBuf> {
    let own = path.file_name().and_then(|name| Some(without_links(path.parent()?)?.join(name)));
    let real = path.canonicalize().ok().filter(|real| own.as_ref() != Some(real));
    // If the hooks are among the files of the repository, the whole tree is not closed.
    let around = |path: &PathBuf| match scope {
        SettingsScope::Tree(tree) => kind == TargetKind::Hooks && tree.starts_with(path),
        SettingsScope::All => false,
    };
    own.into_iter().chain(real).filter(|path| !around(path)).collect()
}

/// Returns the home folder of another user.
fn home_of(name: &[u8]) -> Option<PathBuf> {
    let users = read(Path::new("/etc/passwd")).ok()??;
    let mut lines = users.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b':'));
    lines.find_map(|mut parts| {
        let home = (parts.next()? == name).then(|| parts.nth(4))??;
        Some(PathBuf::from(OsStr::from_bytes(home)))
    })
}

/// Returns the path in a one-line file, as git reads it.
fn path_in(mut bytes: &[u8]) -> &Path {
    while let Some(rest) = bytes.strip_suffix(b"\n").or_else(|| bytes.strip_suffix(b"\r")) {
        bytes = rest;
    }
    // Git reads a C string, which ends at a NUL byte.
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    Path::new(OsStr::from_bytes(bytes.get(..end).unwrap_or(bytes)))
}

fn repository_targets(
    folder: &Path,
    by: &Path,
    why: &str,
) -> impl Iterator<Item = (PathBuf, ProtectedEntry)> {
    REPOSITORY_FILES.iter().filter_map(move |name| {
        let path = folder.join(name);
        let found = ProtectedEntry::at(&path, Denial::Write, why.to_owned(), EntryKind::Name)?;
        Some((path, ProtectedEntry { pointers: vec![by.to_owned()], ..found }))
    })
}
