//! Resolves the text of a path: which root it starts at, what exists there, and which rules govern it.
//!
//! The text decides only which root the path starts at. The kernel then resolves the path.
//! The rules of the resolved location apply, whatever the requested path was.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use askfirst::ApprovalContext;
use askfirst_shell::Names;
use rustix::fs::{OFlags, Stat, fstat};
use rustix::io::Errno;
use serde_json::Value;

use super::error::{CallError, describe};
use super::handle::{self, LinkPolicy, ObjectKind, real_path};
use super::location::{FileObject, HandlePolicy, Location, RootedPath};
use super::rights::Rights;
use super::roots::Roots;

pub use self::RootView as Ground;

/// The roots at their current paths, as one call sees them.
pub struct RootView<'a> {
    pub(crate) roots: &'a Roots,
    /// The current path of each root.
    pub(crate) reals: RootPaths<'a>,
    floors: OnceCell<FloorPaths>,
    /// The folder that plain paths are relative to.
    start: PathStart,
}

/// For each floor, the index and path of each of its folders. A folder that was moved has two paths.
type FloorPaths = Vec<Vec<(usize, PathBuf)>>;

/// The current path of each root, or `None` for a deleted root. The kernel is asked on first use.
pub(crate) struct RootPaths<'a> {
    roots: &'a Roots,
    known: OnceCell<Vec<Option<PathBuf>>>,
}

impl RootPaths<'_> {
    fn known(&self) -> &[Option<PathBuf>] {
        self.known.get_or_init(|| self.roots.all.iter().map(|root| real_path(&root.folder).ok()).collect())
    }

    fn get(&self, root: usize) -> Option<&PathBuf> {
        self.known().get(root)?.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Option<PathBuf>> {
        self.known().iter()
    }
}

/// The folder that the plain paths of a call are relative to.
enum PathStart {
    /// The folder of the config.
    ConfigFolder,
    /// The `cwd` of the call, which is in a root.
    CallFolder(RootedPath),
    /// The call has an invalid `cwd`. Plain paths are blocked with this error.
    Invalid(CallError),
}

impl<'a> RootView<'a> {
    /// Creates a view for a call without a `cwd`.
    #[must_use]
    pub fn new(roots: &'a Roots) -> Self {
        let reals = RootPaths { roots, known: OnceCell::new() };
        Self { roots, reals, floors: OnceCell::new(), start: PathStart::ConfigFolder }
    }

    fn floors(&self) -> &FloorPaths {
        let floor = |layer: &Vec<super::roots::Floor>| {
            let paths = layer.iter().enumerate().map(|(index, floor)| (index, floor.paths()));
            paths.flat_map(|(index, paths)| paths.map(move |path| (index, path.into_owned()))).collect()
        };
        self.floors.get_or_init(|| self.roots.floors.iter().map(floor).collect())
    }

    /// Creates a view for a call. Plain paths are relative to its `cwd`, if the metadata has one.
    pub(crate) fn for_call(roots: &'a Roots, call: &ApprovalContext) -> Self {
        let mut view = Self::new(roots);
        view.start = match call.metadata.get("cwd") {
            None | Some(Value::Null) => PathStart::ConfigFolder,
            Some(Value::String(cwd)) => {
                view.parse_cwd(cwd).map_or_else(PathStart::Invalid, PathStart::CallFolder)
            }
            Some(_) => PathStart::Invalid(CallError::Blocked("the call's `cwd` is not a string".to_owned())),
        };
        view
    }

    /// Parses the `cwd` of a call. It must be in a root; the lookup of each path checks that it exists.
    fn parse_cwd(&self, cwd: &str) -> Result<RootedPath, CallError> {
        self.parse_path(cwd).map_err(|_| {
            let hint = "write paths as `root:path`";
            let roots = self.roots.describe();
            CallError::Blocked(format!("the call's `cwd` is outside every root; {roots}; hint: {hint}"))
        })
    }

    /// Parses a path: `root:path`, or a plain path relative to the call's `cwd` or the config's folder.
    pub(crate) fn parse_path(&self, text: &str) -> Result<RootedPath, CallError> {
        if text.is_empty() || text.contains('\0') {
            return Err(CallError::BadArgs("a path must not be empty or contain a NUL byte".to_owned()));
        }
        let name = text.split('/').next().and_then(|first| first.split_once(':')).map(|(name, _)| name);
        if let Some(name) = name {
            let rest = text.get(name.len() + 1..).unwrap_or_default();
            let Some(root) = self.roots.all.iter().position(|root| root.name == name) else {
                let hint = "write a file name that contains a colon as `./…`";
                let roots = self.roots.describe();
                return Err(CallError::Blocked(format!("unknown root `{name}`; {roots}; hint: {hint}")));
            };
            let path = normalize(Path::new(rest.trim_start_matches('/')));
            let path = path.ok_or_else(|| out_of_root(text))?;
            return Ok(RootedPath { root, path });
        }
        let start = match &self.start {
            _ if text.starts_with('/') => PathBuf::new(),
            PathStart::ConfigFolder => self.roots.folder.clone(),
            PathStart::CallFolder(folder) => self.without_links(folder).unwrap_or_default(),
            PathStart::Invalid(error) => return Err(error.clone()),
        };
        let whole = start.join(text);
        let whole = whole.strip_prefix("/").ok().and_then(normalize).map(|path| Path::new("/").join(path));
        let found = whole.as_deref().and_then(|whole| self.deepest_root(whole));
        let (root, path) = found.ok_or_else(|| {
            CallError::Blocked(format!("`{text}` is outside every root; {}", self.roots.describe()))
        })?;
        Ok(RootedPath { root, path: path.to_owned() })
    }

    /// Returns the absolute path that a text names, without following links.
    pub(crate) fn unresolved_path(&self, text: &str) -> Option<PathBuf> {
        self.without_links(&self.parse_path(text).ok()?)
    }

    /// Finds the deepest root that contains a real path. Returns its index and the path inside it.
    fn deepest_root<'p>(&self, real: &'p Path) -> Option<(usize, &'p Path)> {
        let within =
            |(index, root): (usize, &Option<PathBuf>)| Some((index, strip_folder(real, root.as_ref()?)?));
        let found = self.reals.iter().enumerate().filter_map(within);
        // All candidates are suffixes of the same path, so the shortest is in the deepest root.
        found.min_by_key(|(_, path)| path.as_os_str().len())
    }

    /// Returns the folder that the paths in shell rules are relative to.
    ///
    /// This is the config's folder or, if that is in no root, the root that contains `cwd`.
    pub(crate) fn base_of(&self, cwd: &Path) -> &Path {
        let folder = &self.roots.folder;
        let root = || self.deepest_root(cwd).and_then(|(root, _)| self.reals.get(root));
        if self.deepest_root(folder).is_some() { folder } else { root().unwrap_or(folder) }
    }

    /// Finds the root that governs a real path.
    ///
    /// Returns the index of the root, the path inside it, and the strictest rights of the root and all floors.
    pub(crate) fn governing_root<'p>(&self, real: &'p Path) -> Option<(usize, &'p Path, Arc<Rights>)> {
        let (index, path) = self.deepest_root(real)?;
        let mut rights = Arc::clone(&self.roots.all.get(index)?.rights);
        for (layer, paths) in self.roots.floors.iter().zip(self.floors()) {
            let within = |(floor, root): &(usize, PathBuf)| Some((*floor, strip_folder(real, root)?));
            let found = paths.iter().filter_map(within).min_by_key(|(_, path)| path.as_os_str().len());
            if let Some(floor) =
                found.and_then(|(floor, _)| layer.get(floor)).filter(|floor| floor.rights != rights)
            {
                rights = Arc::new(Rights::clone(&rights).strictest(&floor.rights));
            }
        }
        Some((index, path, rights))
    }

    /// Calls [`RootView::governing_root`]; kept for `governing.rs`, which uses the earlier name.
    pub(crate) fn speaks<'p>(&self, real: &'p Path) -> Option<(usize, &'p Path, Arc<Rights>)> {
        self.governing_root(real)
    }

    /// Returns true if a real path is a root or contains one.
    pub(crate) fn contains_root(&self, real: &Path) -> bool {
        self.reals.iter().flatten().any(|root| root.starts_with(real))
    }

    /// Returns true if another root or floor is inside this root.
    ///
    /// The spelling of a path then does not decide which rules apply, because a file system may
    /// treat two spellings as the same name.
    pub(crate) fn has_inner_rules(&self, root: usize) -> bool {
        let Some(outer) = self.reals.get(root) else { return true };
        let floors = self.floors().iter().flatten().map(|(_, real)| real.as_path());
        let mut all = self.reals.iter().flatten().map(PathBuf::as_path).chain(floors);
        all.any(|real| real != outer && real.starts_with(outer))
    }

    /// Resolves a path to its location.
    pub(crate) fn locate(
        &self,
        text: &str,
        links: LinkPolicy,
        policy: HandlePolicy,
    ) -> Result<Location, CallError> {
        let requested = self.parse_path(text)?;
        let root = self.root(requested.root)?;
        let label = self.label(requested.root, &requested.path);
        let stat = |links| stat_path(root.folder.as_fd(), &requested.path, links, policy);
        // A path without links is where its text says, so the kernel need not resolve it.
        // If no other rules apply inside the root, the real path is not needed at all.
        let is_single = self.roots.is_single_root();
        let has_one_rule_set =
            is_single || (self.reals.get(requested.root).is_some() && !self.has_inner_rules(requested.root));
        let unlinked = if has_one_rule_set {
            match stat(LinkPolicy::Refuse) {
                // The open folder of a deleted root can still be inspected, but its link count is 0.
                Ok(object) if object.kind != ObjectKind::Link && object.stat.st_nlink > 0 => {
                    Some(Some(object))
                }
                // A link on the path would give another error.
                Err(Errno::NOENT) if self.reals.get(requested.root).is_some() => Some(None),
                Ok(_) | Err(_) => None,
            }
        } else {
            None
        };
        let (is_unlinked, real, object) = match unlinked {
            Some(object) if is_single => {
                let (RootedPath { root, path }, rights) = (requested, Arc::clone(&root.rights));
                let (real, requested, requested_label) = (None, None, None);
                return Ok(Location { root, path, real, rights, object, requested, label, requested_label });
            }
            Some(object) => (true, self.without_links(&requested).ok_or(Errno::NOENT), object),
            None => match stat(links) {
                Ok(object) => (false, object.real_path(), Some(object)),
                Err(Errno::NOENT) => {
                    (false, self.locate_missing(requested.root, &requested.path, &label)?, None)
                }
                Err(error) => return Err(lookup_error(&label, error)),
            },
        };
        let real = real.map_err(|e| CallError::failed(&format!("cannot resolve `{label}`"), e))?;
        let (root, path, rights) = self.governing_root(&real).ok_or_else(|| out_of_root(&label))?;
        if path.to_str().is_none() {
            return Err(CallError::Blocked(format!("`{label}` leads to a name that is not valid UTF-8")));
        }
        let path = path.to_owned();
        let requested =
            if is_unlinked { None } else { self.without_links(&requested).filter(|plain| *plain != real) };
        let own = self.label(root, &path);
        let requested_label = (own != label && requested.is_some()).then_some(label);
        Ok(Location { root, path, real: Some(real), rights, object, requested, label: own, requested_label })
    }

    /// Returns the real path that a missing file would have: the nearest existing folder plus the missing names.
    fn locate_missing(
        &self,
        root: usize,
        path: &Path,
        label: &str,
    ) -> Result<Result<PathBuf, Errno>, CallError> {
        let folder = self.root(root)?.folder.as_fd();
        let mut missing: Vec<OsString> = Vec::new();
        let mut head = path;
        loop {
            let name = head.file_name().ok_or_else(|| out_of_root(label))?.to_owned();
            head = head.parent().unwrap_or(Path::new(""));
            match handle::open_beneath(folder, head, OFlags::PATH | OFlags::DIRECTORY, LinkPolicy::Follow) {
                Ok(above) => {
                    // The next open would follow a broken link once its target exists.
                    if handle::stat_name(&above, &name).map_err(|e| lookup_error(label, e))?.is_some() {
                        return Err(CallError::Blocked(format!("`{label}` goes through a broken link")));
                    }
                    missing.push(name);
                    let whole = |real: PathBuf| missing.iter().rev().fold(real, |path, name| path.join(name));
                    return Ok(real_path(&above).map(whole));
                }
                Err(Errno::NOENT) => missing.push(name),
                Err(error) => return Err(lookup_error(label, error)),
            }
        }
    }

    pub(crate) fn root(&self, index: usize) -> Result<&'a super::roots::Root, CallError> {
        self.roots.all.get(index).ok_or_else(|| CallError::Failed("no such root".to_owned()))
    }

    /// Returns `root:path`, the form that people and agents use.
    pub(crate) fn label(&self, root: usize, path: &Path) -> String {
        let name = self.roots.all.get(root).map_or("", |root| root.name.as_str());
        match path.to_str() {
            Some(path) => [name, ":", path].concat(),
            None => format!("{name}:{}", path.display()),
        }
    }

    /// Opens the folder that contains a location. Returns the folder and the name in it.
    pub(crate) fn open_parent(&self, location: &Location) -> Result<(OwnedFd, OsString), CallError> {
        let is_root = || CallError::Blocked(format!("`{}` is a root", location.label));
        let name = location.path.file_name().ok_or_else(is_root)?.to_owned();
        let above = location.path.parent().unwrap_or(Path::new(""));
        let folder =
            handle::open_folder(self.root(location.root)?.folder.as_fd(), above).map_err(|e| match e {
                Errno::NOENT => CallError::Failed(format!(
                    "the folder `{}` does not exist; hint: create it with make_folder",
                    self.label(location.root, above)
                )),
                Errno::LOOP => changed_meanwhile(&location.label),
                error => CallError::failed(
                    &format!("cannot open the folder that contains `{}`", location.label),
                    error,
                ),
            })?;
        if real_path(&folder).ok().as_deref() != self.real_path(location)?.parent() {
            return Err(changed_meanwhile(&location.label));
        }
        Ok((folder, name))
    }

    /// Opens a located file for reading, and checks that it is still the same file.
    pub(crate) fn open_file(&self, location: &Location) -> Result<(File, Stat), CallError> {
        let label = &location.label;
        let Some(object) = &location.object else {
            return Err(CallError::Failed(format!("the file `{label}` does not exist")));
        };
        match object.kind {
            ObjectKind::File => {}
            ObjectKind::Folder => {
                return Err(CallError::Failed(format!("`{label}` is a folder, not a file")));
            }
            ObjectKind::Link | ObjectKind::Other(_) => {
                let text = format!("`{label}` is a {}, not a file", object.kind.as_str());
                return Err(CallError::Blocked(text));
            }
        }
        let file = handle::open_file(self.root(location.root)?.folder.as_fd(), &location.path).map_err(
            |e| match e {
                Errno::LOOP | Errno::NOENT => changed_meanwhile(label),
                error => CallError::failed(&format!("cannot open `{label}`"), error),
            },
        )?;
        let stat = fstat(&file).map_err(|e| CallError::failed(&format!("cannot inspect `{label}`"), e))?;
        // The file was opened from its root through a path without links, so it is still at that path.
        // If the lookup did not keep it open, it may be another file with a reused inode number.
        // So the size limit and the number of hard links are checked again.
        let is_size_allowed = |stat| location.rights.allows_size(handle::size_of(stat));
        let is_unchanged = handle::is_same_file(&stat, &object.stat)
            && ObjectKind::of(&stat) == ObjectKind::File
            && (is_size_allowed(&stat) || !is_size_allowed(&object.stat))
            && (stat.st_nlink <= 1 || location.link_count() > 1);
        if !is_unchanged {
            return Err(changed_meanwhile(label));
        }
        Ok((file, stat))
    }

    /// Calls `find` with the names that a rule may match, once for each root that contains the real path.
    pub(crate) fn by_names<T>(&self, real: &Path, find: impl Fn(Names<'_>) -> Option<T>) -> Option<T> {
        let in_home = self.roots.home.as_ref().and_then(|home| strip_folder(real, home));
        self.reals.iter().flatten().find_map(|root| {
            let in_root = strip_folder(real, root)?;
            if let Some(whole) = strip_folder(real, &self.roots.folder) {
                return find(Names { whole, in_root, in_home });
            }
            let above_root = root.file_name().map(Path::new).unwrap_or(Path::new("")).join(in_root);
            find(Names { whole: &above_root, in_root, in_home })
        })
    }

    /// Returns the absolute path of a location on this machine.
    pub(crate) fn real_path<'s>(&self, location: &'s Location) -> Result<Cow<'s, Path>, CallError> {
        if let Some(real) = &location.real {
            return Ok(Cow::Borrowed(real));
        }
        let root = self.reals.get(location.root).ok_or_else(|| root_gone(&location.label))?;
        Ok(Cow::Owned(root.join(&location.path)))
    }

    /// Returns the path of a location as the person knows it: relative to the folder of the config, or absolute.
    pub(crate) fn path_for_person(&self, location: &Location) -> String {
        let Ok(real) = self.real_path(location) else { return location.label.clone() };
        let shown = strip_folder(&real, &self.roots.folder).filter(|path| !path.as_os_str().is_empty());
        shown.unwrap_or(&real).to_string_lossy().into_owned()
    }

    /// Returns the absolute path of a rooted path, without following links.
    pub(crate) fn without_links(&self, path: &RootedPath) -> Option<PathBuf> {
        Some(self.reals.get(path.root)?.join(&path.path))
    }
}

/// Returns the path from a folder to a path below it. Equals `strip_prefix`, but avoids splitting most paths.
fn strip_folder<'p>(real: &'p Path, folder: &Path) -> Option<&'p Path> {
    let rest = real.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    match rest {
        Some([]) => Some(Path::new("")),
        // A single slash and then a name without a leading dot: the rest needs no normalization.
        Some([b'/', rest @ ..]) if !matches!(rest, [] | [b'/' | b'.', ..]) => {
            Some(Path::new(OsStr::from_bytes(rest)))
        }
        Some(_) | None => real.strip_prefix(folder).ok(),
    }
}

/// Looks up the object at a path.
fn stat_path(
    folder: BorrowedFd<'_>,
    path: &Path,
    links: LinkPolicy,
    policy: HandlePolicy,
) -> Result<FileObject, Errno> {
    let mut names = path.iter();
    if let (HandlePolicy::OpenIfNeeded, LinkPolicy::Refuse, Some(name), None) =
        (policy, links, names.next(), names.next())
    {
        // A single name in an open folder cannot lead to another folder.
        let stat = handle::stat_name(folder, name)?.ok_or(Errno::NOENT)?;
        return Ok(FileObject { handle: None, kind: ObjectKind::of(&stat), stat });
    }
    let opened = handle::open_beneath(folder, path, OFlags::PATH, links)?;
    let stat = fstat(&opened)?;
    Ok(FileObject { handle: Some(opened), kind: ObjectKind::of(&stat), stat })
}

/// Removes `.` and `..` from a relative path. Returns `None` if it leaves its start folder.
fn normalize(path: &Path) -> Option<PathBuf> {
    let mut normalized = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => normalized.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !normalized.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(normalized)
}

/// The error for a path that another process changed between the check and the use.
pub(crate) fn changed_meanwhile(label: &str) -> CallError {
    CallError::Stale(format!("`{label}` changed while it was being checked"))
}

fn root_gone(label: &str) -> CallError {
    CallError::Failed(format!("the root of `{label}` no longer exists"))
}

fn out_of_root(label: &str) -> CallError {
    CallError::Blocked(format!("`{label}` leads outside its root"))
}

fn lookup_error(label: &str, error: Errno) -> CallError {
    match error {
        Errno::XDEV => out_of_root(label),
        Errno::LOOP => CallError::Blocked(format!(
            "`{label}` goes through a circular link, or through a link in `/proc`"
        )),
        Errno::AGAIN => changed_meanwhile(label),
        error => CallError::Blocked(format!("cannot resolve `{label}`: {}", describe(&error.into()))),
    }
}
