//! Where git is led: by a `.git` that is no folder, by the folder that worktrees share, by settings that name others or
//! a folder of hooks. What lies there is protected as it is in `.git`, whether or not git would take the folder for a
//! repository by itself. What might lead somewhere and cannot be read is noted: then nobody knows where.

mod settings;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use askfirst_sandbox::Denial;
use rustix::fs::FileType;

use super::found::{Found, Sort};
use super::reading::{is_nowhere, read, real};
use settings::{Names, Value, values};

/// So many settings that name each other are followed.
const INCLUDED: usize = 64;

/// So many bytes of what settings say are remembered for as long as a search takes; more is read again.
const REMEMBERED: usize = 4096;

/// What git runs or obeys in the folder of a repository, whatever that folder is called.
pub(super) const OF_GIT: [&str; 5] = ["hooks", "config", "config.worktree", "commondir", "info/attributes"];

/// Something that leads git somewhere, or says what it does: whatever lies where it leads is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Where it lies itself, past all links.
    at: PathBuf,
    /// Its number and when it was changed, if it is settings.
    settings: Option<(u64, (i64, i64))>,
    /// What it says, if it is a link that is protected itself.
    link: Option<PathBuf>,
}

impl Way {
    /// Whether it may stay if it appeared. A protected link does not, so nothing is moved aside because of one: whatever it
    /// leads to may be the owner's.
    pub(super) fn may_stay(&self) -> bool {
        self.link.is_none()
    }

    /// Whether it was there before. Settings that somebody outside has replaced meanwhile are new; a program cannot, since
    /// they are covered. A protected link that says something else is new too. What else leads somewhere may be made anew by
    /// git or by a program, and leads there still.
    pub(super) fn is_still(&self, now: Option<&Self>) -> bool {
        now.is_none_or(|now| match (&self.link, &now.link) {
            (None, None) => self.settings.is_none() || self.settings == now.settings,
            (link, now) => link == now,
        })
    }

    /// What must be the same for it to be there still.
    pub(super) fn mark(&self) -> String {
        format!("{:?} {:?}", self.settings, self.link)
    }
}

/// What leads somewhere.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Settings,
    /// A `.git`, a `commondir` or a `HEAD`.
    Plain,
}

/// What settings are of.
#[derive(Debug, Clone, Copy)]
enum Of<'a> {
    /// A repository with its files here.
    Tree(&'a Path),
    /// Every repository there is.
    All,
}

/// Where git is led, as it is found out in one search.
pub(super) struct Ways<'a> {
    roots: &'a [PathBuf],
    home: Option<&'a Path>,
    /// What led somewhere before, if this is not the first look.
    before: Option<&'a BTreeMap<PathBuf, Way>>,
    /// What leads somewhere now.
    pub(super) all: BTreeMap<PathBuf, Way>,
    /// What is protected because git is led to it.
    pub(super) led: Vec<(PathBuf, Found)>,
    /// What might lead somewhere and cannot be read.
    pub(super) unreadable: Vec<(PathBuf, io::Error)>,
    /// What settings say, by where they lie.
    said: HashMap<PathBuf, Rc<[Value]>>,
    /// Hooks that settings name for every repository, from where its files are.
    everywhere: Vec<(PathBuf, OsString)>,
}

/// What a protected link may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    Anything,
    Files,
}

/// What settings lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leads {
    ToHooks,
    ToSettings,
}

impl<'a> Ways<'a> {
    pub(super) fn new(
        roots: &'a [PathBuf],
        home: Option<&'a Path>,
        before: Option<&'a BTreeMap<PathBuf, Way>>,
    ) -> Self {
        Self {
            roots,
            home,
            before,
            all: BTreeMap::new(),
            led: Vec::new(),
            unreadable: Vec::new(),
            said: HashMap::new(),
            everywhere: Vec::new(),
        }
    }

    /// Where settings lead that hold for every repository, and those of repositories above the roots.
    pub(super) fn outside(&mut self, everywhere: &[PathBuf]) {
        // A program can make nothing out there, so what was not there need not be asked for again.
        let before = self.before;
        let was_there = |path: &Path| {
            let from = |ways: &BTreeMap<PathBuf, Way>| {
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
            self.led.extend(
                Found::at(settings, Denial::Write, why, Sort::Name).map(|found| (settings.clone(), found)),
            );
        }
        self.by_all_settings(everywhere, Of::All);
        let above: BTreeSet<&Path> = self.roots.iter().flat_map(|root| root.ancestors().skip(1)).collect();
        for folder in above {
            if self.is_inside(folder) {
                continue;
            }
            let (git, head) = (folder.join(".git"), folder.join("HEAD"));
            match Some(&git).filter(|git| was_there(git)).and_then(|git| git.symlink_metadata().ok()) {
                Some(found) if found.is_dir() => self.in_git(&git),
                Some(_) => self.by_git(&git),
                None => {}
            }
            let there = |name: &str| folder.join(name).symlink_metadata().is_ok();
            if was_there(&head) && there("HEAD") && (there("commondir") || there("objects") && there("refs"))
            {
                self.in_repository(folder, &head, folder, "git takes the folder for a repository");
            }
        }
    }

    fn is_inside(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// What is protected because of a folder `.git`.
    pub(super) fn in_git(&mut self, git: &Path) {
        let tree = git.parent().unwrap_or(git);
        self.in_repository(git, &git.join("commondir"), tree, "it is of a repository");
    }

    /// What is protected in the repository that a `.git` leads to.
    pub(super) fn by_git(&mut self, git: &Path) {
        let Some(tree) = git.parent() else { return };
        let Some(at) = self.way(git, Kind::Plain) else { return };
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
        self.way(by, Kind::Plain);
        self.led.extend(of_git(folder, by, why));
        let common = self.common(folder).filter(|common| common != folder);
        self.led.extend(common.iter().flat_map(|common| of_git(common, by, why)));
        let mut settings: Vec<PathBuf> =
            [Some(folder), common.as_deref()].into_iter().flatten().map(|it| it.join("config")).collect();
        settings.push(folder.join("config.worktree"));
        self.by_all_settings(settings, Of::Tree(tree));
        for (settings, value) in self.everywhere.clone() {
            if let Some(path) = self.place(&value, Some(tree)) {
                let places = places(&path, Leads::ToHooks, Of::Tree(tree));
                places.into_iter().for_each(|path| self.lead(&settings, path));
            }
        }
    }

    /// Follows settings, and those that they name.
    fn by_all_settings(&mut self, mut waiting: Vec<PathBuf>, of: Of<'_>) {
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
            for (path, leads) in self.by_settings(&settings, of) {
                self.lead(&settings, path.clone());
                match leads {
                    Leads::ToSettings => waiting.push(path),
                    Leads::ToHooks => {}
                }
            }
            seen.push(settings);
        }
    }

    /// Notes that settings lead to a place.
    fn lead(&mut self, settings: &Path, path: PathBuf) {
        let why = format!("`{}` leads git to it", settings.display());
        if let Some(found) = Found::at(&path, Denial::Write, why, Sort::Name) {
            self.led.push((path, Found { by: vec![settings.to_owned()], ..found }));
        }
    }

    /// What a protected link leads to in the roots is protected as the link is: there it would be read or changed. A `.git`
    /// leads to a repository, of which not everything is.
    pub(super) fn by_link(&mut self, link: &Path, what: Denial, to: To) {
        if link.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git")) {
            return;
        }
        let (said, real) = (link.read_link().ok(), link.canonicalize());
        if real.as_deref().is_ok_and(|at| !self.is_inside(at)) {
            return;
        }
        let to = match self.all.get_mut(link) {
            // Git's own way, which counts whatever it says.
            Some(Way { settings: None, link: None, .. }) => To::Files,
            Some(way) => {
                way.link = said;
                to
            }
            // Noted also if it leads to nothing yet.
            None => {
                let at = real.as_deref().unwrap_or(link).to_owned();
                self.all.insert(link.to_owned(), Way { at, settings: None, link: said });
                to
            }
        };
        let Ok(at) = real else { return };
        let around = link.starts_with(&at) || self.roots.iter().any(|root| root.starts_with(&at));
        if around || to == To::Files && at.is_dir() {
            return;
        }
        let why = format!("`{}` leads to it", link.display());
        if let Some(found) = Found::at(&at, what, why, Sort::Name) {
            self.led.push((at, Found { by: vec![link.to_owned()], ..found }));
        }
    }

    /// The folder that a repository shares with others.
    fn common(&mut self, folder: &Path) -> Option<PathBuf> {
        let at = self.way(&folder.join("commondir"), Kind::Plain)?;
        let bytes = self.read(&at)?;
        self.real(&folder.join(path_in(&bytes)))
    }

    /// The places that settings lead git to: `core.hooksPath` from where the files of the repository are,
    /// `init.templateDir`, and `include.path` and `includeIf.….path` from the settings.
    fn by_settings(&mut self, settings: &Path, of: Of<'_>) -> Vec<(PathBuf, Leads)> {
        let mut led = Vec::new();
        for Value { names, value } in self.values(settings).iter() {
            let (base, leads) = match (names, of) {
                (Names::Hooks, Of::Tree(tree)) => (Some(tree), Leads::ToHooks),
                (Names::Hooks, Of::All) => {
                    self.everywhere.push((settings.to_owned(), value.clone()));
                    (None, Leads::ToHooks)
                }
                // From there hooks are copied into every repository that is made.
                (Names::Template, Of::Tree(_) | Of::All) => (None, Leads::ToHooks),
                (Names::Settings, Of::Tree(_) | Of::All) => (settings.parent(), Leads::ToSettings),
            };
            let Some(path) = self.place(value, base) else { continue };
            led.extend(places(&path, leads, of).into_iter().map(|path| (path, leads)));
        }
        led
    }

    /// The place that a value names, from `base` if it does not say where that begins.
    fn place(&self, value: &OsStr, base: Option<&Path>) -> Option<PathBuf> {
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

    /// What settings say; nothing if there are none.
    fn values(&mut self, settings: &Path) -> Rc<[Value]> {
        let Some(at) = self.way(settings, Kind::Settings) else { return Rc::new([]) };
        if let Some(said) = self.said.get(&at) {
            return Rc::clone(said);
        }
        let Some(bytes) = self.read(&at) else { return Rc::new([]) };
        let Some(said) = values(&bytes, INCLUDED) else {
            self.fail::<()>(settings, io::Error::other(format!("it leads to more than {INCLUDED} places")));
            return Rc::new([]);
        };
        let said: Rc<[Value]> = said.into();
        // A program can make as many as it likes, by hard links almost for nothing.
        if said.iter().map(|it| it.value.len()).sum::<usize>() <= REMEMBERED {
            self.said.insert(at, Rc::clone(&said));
        }
        said
    }

    /// Where something lies that may lead somewhere, and that is noted; nothing if it is not there. What appeared and lies
    /// outside of the roots in truth is not looked at: a program chose it.
    fn way(&mut self, path: &Path, kind: Kind) -> Option<PathBuf> {
        let stat = match path.symlink_metadata() {
            Ok(stat) => stat,
            Err(cause) if is_nowhere(&cause) => return None,
            Err(cause) => return self.fail(path, cause),
        };
        // The folders above were followed to get here.
        let (at, stat) = match stat.is_symlink() {
            false => (path.to_owned(), stat),
            true => {
                let at = self.real(path)?;
                let stat = at.symlink_metadata().ok()?;
                (at, stat)
            }
        };
        let known = |before: &BTreeMap<PathBuf, Way>| before.get(path).is_some_and(|old| old.at == at);
        if !self.is_inside(&at) && !self.before.is_none_or(known) {
            return None;
        }
        let settings = match kind {
            Kind::Settings => Some((stat.ino(), (stat.ctime(), stat.ctime_nsec()))),
            Kind::Plain => None,
        };
        self.all.insert(path.to_owned(), Way { at: at.clone(), settings, link: None });
        Some(at)
    }

    fn real(&mut self, path: &Path) -> Option<PathBuf> {
        real(path).unwrap_or_else(|cause| self.fail(path, cause))
    }

    fn read(&mut self, path: &Path) -> Option<Vec<u8>> {
        read(path).unwrap_or_else(|cause| self.fail(path, cause))
    }

    /// Notes that something cannot be read. What is closed to its reader outside of the roots is closed to git too.
    fn fail<T>(&mut self, path: &Path, cause: io::Error) -> Option<T> {
        if cause.kind() != io::ErrorKind::PermissionDenied || self.is_inside(path) {
            self.unreadable.push((path.to_owned(), cause));
        }
        None
    }
}

/// The settings that hold for every repository of this user on this machine, wherever git was put.
pub(super) fn settings_of_all(home: Option<&Path>) -> Vec<PathBuf> {
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

/// A place that settings name, with where it leads if it is a link.
fn places(path: &Path, leads: Leads, of: Of<'_>) -> Vec<PathBuf> {
    let own = path.file_name().and_then(|name| Some(path.parent()?.canonicalize().ok()?.join(name)));
    let real = path.canonicalize().ok().filter(|real| own.as_ref() != Some(real));
    // Where files of the repository are hooks, not all of them are closed.
    let around = |path: &PathBuf| match of {
        Of::Tree(tree) => leads == Leads::ToHooks && tree.starts_with(path),
        Of::All => false,
    };
    own.into_iter().chain(real).filter(|path| !around(path)).collect()
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
pub(super) fn is_known_to_rules(path: &Path, roots: &[PathBuf], marks: &Marks) -> bool {
    let inside =
        roots.iter().filter_map(|root| path.strip_prefix(root).ok()).min_by_key(|it| it.as_os_str().len());
    // By their bytes: a name that is no text is a name too.
    let names: Vec<&[u8]> = inside.unwrap_or(path).iter().map(OsStrExt::as_bytes).collect();
    let git = names.iter().position(|name| *name == b".git");
    match git.and_then(|at| names.get(at + 1..)) {
        Some([]) | Some([b"modules", _, ..]) => true,
        Some([b"worktrees", _]) => marks.commondir == Some(FileType::RegularFile) && !marks.objects,
        Some(_) | None => false,
    }
}

/// What makes git take a folder for a repository: `HEAD` beside `objects` and `refs`, or beside the way to them.
#[derive(Default)]
pub(super) struct Marks {
    head: bool,
    objects: bool,
    refs: bool,
    commondir: Option<FileType>,
}

impl Marks {
    pub(super) fn see(&mut self, path: &Path, kind: FileType) {
        match path.file_name().and_then(|name| name.to_str()) {
            Some("HEAD") => self.head = true,
            Some("objects") => self.objects = true,
            Some("refs") => self.refs = true,
            Some("commondir") => self.commondir = Some(kind),
            Some(_) | None => {}
        }
    }

    pub(super) fn are_there(&self) -> bool {
        self.head && (self.objects && self.refs || self.commondir.is_some())
    }
}
