//! Where git is led: by a `.git` that is no folder, by the folder that worktrees share, by settings that name others or
//! a folder of hooks. What lies there is protected as it is in `.git`, whether or not git would take the folder for a
//! repository by itself. What might lead somewhere and cannot be read is noted: then nobody knows where.

mod settings;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use askfirst_sandbox::Denial;

use super::found::{Found, Sort};
use super::reading::{read, real};
use settings::{Value, values};

/// So many settings that name each other are followed.
const INCLUDED: usize = 64;

/// What git runs or obeys in the folder of a repository, whatever that folder is called.
pub(super) const OF_GIT: [&str; 5] = ["hooks", "config", "config.worktree", "commondir", "info/attributes"];

/// Where git is led, as it is found out in one search.
pub(super) struct Ways<'a> {
    home: Option<&'a Path>,
    /// What is protected because git is led to it.
    pub(super) led: Vec<(PathBuf, Found)>,
    /// What might lead somewhere and cannot be read.
    pub(super) unreadable: Vec<(PathBuf, io::Error)>,
    /// What settings say, by where they lie.
    said: HashMap<PathBuf, Rc<[Value]>>,
}

/// What settings lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leads {
    ToHooks,
    ToSettings,
}

impl<'a> Ways<'a> {
    pub(super) fn new(home: Option<&'a Path>) -> Self {
        Self { home, led: Vec::new(), unreadable: Vec::new(), said: HashMap::new() }
    }

    /// What is protected in the repository that a `.git` leads to.
    pub(super) fn by_git(&mut self, git: &Path) {
        let Some(tree) = git.parent() else { return };
        let Some(at) = self.real(git) else { return };
        let to = match at.is_dir() {
            true => Some(at),
            // Git follows no pipe or device of this name.
            false if !at.is_file() => None,
            false => self.read(&at).and_then(|bytes| {
                let path = path_in(bytes.strip_prefix(b"gitdir: ")?);
                self.real(&tree.join(path))
            }),
        };
        if let Some(to) = to {
            self.in_repository(&to, git, tree, &format!("`{}` makes it git's", git.display()));
        }
    }

    /// What git runs or obeys in the folder of a repository, in the folder that this shares with others, and where the
    /// settings of both lead for the files in `tree`; all because of `by`.
    pub(super) fn in_repository(&mut self, folder: &Path, by: &Path, tree: &Path, why: &str) {
        self.led.extend(of_git(folder, by, why));
        let common = self.common(folder).filter(|common| common != folder);
        self.led.extend(common.iter().flat_map(|common| of_git(common, by, why)));
        let mut waiting: Vec<PathBuf> =
            [Some(folder), common.as_deref()].into_iter().flatten().map(|it| it.join("config")).collect();
        waiting.push(folder.join("config.worktree"));
        let mut seen: Vec<PathBuf> = Vec::new();
        while let Some(settings) = waiting.pop() {
            if seen.contains(&settings) {
                continue;
            }
            if seen.len() >= INCLUDED {
                let cause =
                    io::Error::other(format!("more than {INCLUDED} files of settings name each other"));
                return self.unreadable.push((settings, cause));
            }
            for (path, leads) in self.by_settings(&settings, tree) {
                let why = format!("`{}` leads git to it", settings.display());
                if let Some(found) = Found::at(&path, Denial::Write, why, Sort::Name) {
                    let by = vec![settings.clone(), by.to_owned()];
                    self.led.push((path.clone(), Found { by, ..found }));
                }
                match leads {
                    Leads::ToSettings => waiting.push(path),
                    Leads::ToHooks => {}
                }
            }
            seen.push(settings);
        }
    }

    /// The folder that a repository shares with others.
    fn common(&mut self, folder: &Path) -> Option<PathBuf> {
        let at = self.real(&folder.join("commondir"))?;
        let bytes = self.read(&at)?;
        self.real(&folder.join(path_in(&bytes)))
    }

    /// The places that settings lead git to: `core.hooksPath` from where the files of the repository are, and
    /// `include.path` and `includeIf.….path` from the settings. A link is named with where it leads.
    fn by_settings(&mut self, settings: &Path, tree: &Path) -> Vec<(PathBuf, Leads)> {
        let mut led = Vec::new();
        for Value { section, key, value } in self.values(settings).iter() {
            let (base, leads) = match (section.as_str(), key.as_str()) {
                ("core", "hookspath") => (Some(tree), Leads::ToHooks),
                ("include" | "includeif", "path") => (settings.parent(), Leads::ToSettings),
                _ => continue,
            };
            let Some(path) = self.place(value, base) else { continue };
            let own = path.file_name().and_then(|name| Some(path.parent()?.canonicalize().ok()?.join(name)));
            let real = path.canonicalize().ok().filter(|real| own.as_ref() != Some(real));
            // Where files of the repository are hooks, not all of them are closed.
            let around = |path: &PathBuf| leads == Leads::ToHooks && tree.starts_with(path);
            led.extend(own.into_iter().chain(real).filter(|path| !around(path)).map(|path| (path, leads)));
        }
        led
    }

    /// The place that a value names.
    fn place(&self, value: &OsStr, base: Option<&Path>) -> Option<PathBuf> {
        let bytes = value.as_bytes();
        let bytes = bytes.strip_prefix(b":(optional)").unwrap_or(bytes);
        match (bytes.strip_prefix(b"~"), bytes.is_empty()) {
            (_, true) => None,
            (None, false) => Some(base?.join(OsStr::from_bytes(bytes))),
            (Some(rest), false) => {
                let (name, below) = rest.split_at(memchr::memchr(b'/', rest).unwrap_or(rest.len()));
                let below = below.strip_prefix(b"/").unwrap_or(below);
                let home = if name.is_empty() { self.home.map(Path::to_owned) } else { home_of(name) };
                Some(home?.join(OsStr::from_bytes(below)))
            }
        }
    }

    /// What settings say; nothing if there are none.
    fn values(&mut self, settings: &Path) -> Rc<[Value]> {
        let Some(at) = self.real(settings) else { return Rc::new([]) };
        if let Some(said) = self.said.get(&at) {
            return Rc::clone(said);
        }
        let said: Rc<[Value]> = self.read(&at).map(|bytes| values(&bytes)).unwrap_or_default().into();
        self.said.insert(at, Rc::clone(&said));
        said
    }

    fn real(&mut self, path: &Path) -> Option<PathBuf> {
        real(path).unwrap_or_else(|cause| {
            self.unreadable.push((path.to_owned(), cause));
            None
        })
    }

    fn read(&mut self, path: &Path) -> Option<Vec<u8>> {
        read(path).unwrap_or_else(|cause| {
            self.unreadable.push((path.to_owned(), cause));
            None
        })
    }
}

/// The home of somebody else on this machine.
fn home_of(name: &[u8]) -> Option<PathBuf> {
    let users = read(Path::new("/etc/passwd")).ok()??;
    let mut lines = users.split(|byte| *byte == b'\n').map(|line| line.split(|byte| *byte == b':'));
    lines.find_map(|mut parts| {
        let home = (parts.next()? == name).then(|| parts.nth(4))??;
        Some(PathBuf::from(OsStr::from_bytes(home)))
    })
}

/// The path in a file of one line, as git reads it.
fn path_in(mut bytes: &[u8]) -> &Path {
    while let Some(rest) = bytes.strip_suffix(b"\n").or_else(|| bytes.strip_suffix(b"\r")) {
        bytes = rest;
    }
    // Git, a program in C, reads up to here.
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    Path::new(OsStr::from_bytes(bytes.get(..end).unwrap_or(bytes)))
}

fn of_git(folder: &Path, by: &Path, why: &str) -> impl Iterator<Item = (PathBuf, Found)> {
    OF_GIT.iter().filter_map(move |name| {
        let path = folder.join(name);
        let found = Found::at(&path, Denial::Write, why.to_owned(), Sort::Name)?;
        Some((path, Found { by: vec![by.to_owned()], ..found }))
    })
}

/// Whether the rules about `.git` speak for a folder: it is one, or of a submodule or worktree of one.
pub(super) fn is_known_to_rules(path: &Path, roots: &[PathBuf]) -> bool {
    let inside =
        roots.iter().filter_map(|root| path.strip_prefix(root).ok()).min_by_key(|it| it.as_os_str().len());
    // By their bytes: a name that is no text is a name too.
    let names: Vec<&[u8]> = inside.unwrap_or(path).iter().map(OsStrExt::as_bytes).collect();
    let git = names.iter().position(|name| *name == b".git");
    match git.and_then(|at| names.get(at + 1..)) {
        Some([]) | Some([b"modules", _, ..]) => true,
        Some([b"worktrees", _]) => path.join("commondir").is_file() && !path.join("objects").exists(),
        Some(_) | None => false,
    }
}

/// What makes git take a folder for a repository: `HEAD` beside `objects` and `refs`, or beside the way to them.
#[derive(Default)]
pub(super) struct Marks {
    head: bool,
    objects: bool,
    refs: bool,
    commondir: bool,
}

impl Marks {
    pub(super) fn see(&mut self, path: &Path) {
        match path.file_name().and_then(|name| name.to_str()) {
            Some("HEAD") => self.head = true,
            Some("objects") => self.objects = true,
            Some("refs") => self.refs = true,
            Some("commondir") => self.commondir = true,
            Some(_) | None => {}
        }
    }

    pub(super) fn are_there(&self) -> bool {
        self.head && (self.objects && self.refs || self.commondir)
    }
}
