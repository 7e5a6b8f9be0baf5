//! From the text of a path to the thing itself: which root is asked, what lies there, and who speaks for it.
//!
//! Text only says which root to begin at. Where a path leads, the kernel says; and the rules of the place where the
//! thing really lies hold for it, whatever the path was called.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use askfirst::ApprovalContext;
use rustix::fs::{OFlags, Stat, fstat};
use rustix::io::Errno;
use serde_json::Value;

use super::error::{Trouble, plain};
use super::handle::{self, Kind, Links, real_of};
use super::never::Names;
use super::rights::Rights;
use super::roots::Roots;

/// A path as it was asked for: a root, and a way that never climbs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) root: usize,
    pub(crate) path: PathBuf,
}

/// What becomes of a thing after it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grip {
    /// Nothing is done that rests on this look: it is told, or the file is opened and looked at anew.
    Loose,
    /// It is held, so that its number cannot come to mean another file meanwhile.
    Firm,
}

/// What was found.
#[derive(Debug)]
pub(crate) struct Thing {
    /// Open, where it is held or was found by a way of several names.
    held: Option<OwnedFd>,
    pub(crate) stat: Stat,
    pub(crate) kind: Kind,
}

impl Thing {
    /// Where it lies now.
    fn real(&self) -> Result<PathBuf, Errno> {
        self.held.as_ref().map_or(Err(Errno::NOENT), real_of)
    }
}

/// A place: where it really lies, and what may be done there.
#[derive(Debug)]
pub(crate) struct Spot {
    /// The root that speaks for it.
    pub(crate) root: usize,
    /// The way from that root, without links.
    pub(crate) path: PathBuf,
    /// Where it lies on this machine, if that was needed to tell who speaks for it. Never shown to anybody.
    real: Option<PathBuf>,
    pub(crate) rights: Arc<Rights>,
    /// What is there, if anything is.
    pub(crate) thing: Option<Thing>,
    /// Where the path that was asked for would lie without links, if that is elsewhere.
    pub(crate) asked: Option<PathBuf>,
    /// `root:path` as people and agents write it.
    pub(crate) label: String,
    /// How it was asked for, where a link led elsewhere.
    pub(crate) through: Option<String>,
}

impl Spot {
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.thing.as_ref().map(|thing| thing.kind)
    }

    pub(crate) fn size(&self) -> u64 {
        self.thing.as_ref().map_or(0, |thing| handle::size_of(&thing.stat))
    }

    /// How many names the file has.
    pub(crate) fn names(&self) -> u64 {
        let file = self.thing.as_ref().filter(|thing| thing.kind == Kind::File);
        file.map_or(1, |thing| thing.stat.st_nlink)
    }
}

/// All roots as they lie at this moment.
pub struct Ground<'a> {
    pub(crate) roots: &'a Roots,
    /// Where each root lies now.
    pub(crate) reals: Reals<'a>,
    floors: OnceCell<Layers>,
    /// The folder that plain paths begin at.
    from: From,
}

/// Each layer's folders: which it is, and where it lies or lay.
type Layers = Vec<Vec<(usize, PathBuf)>>;

/// Where each root lies now; nothing if it is gone. The kernel is asked when somebody first wants to know.
pub(crate) struct Reals<'a> {
    roots: &'a Roots,
    known: OnceCell<Vec<Option<PathBuf>>>,
}

impl Reals<'_> {
    fn known(&self) -> &[Option<PathBuf>] {
        self.known.get_or_init(|| self.roots.all.iter().map(|root| real_of(&root.folder).ok()).collect())
    }

    fn get(&self, root: usize) -> Option<&PathBuf> {
        self.known().get(root)?.as_ref()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Option<PathBuf>> {
        self.known().iter()
    }
}

/// Where the plain paths of a call begin.
enum From {
    /// The config's folder.
    Config,
    /// A place in a root, as the call's metadata say.
    Asked(Asked),
    /// The metadata say something that is no folder in a root. Plain paths are blocked for this reason.
    Nowhere(Trouble),
}

impl<'a> Ground<'a> {
    /// The roots, for a call without a folder of its own.
    #[must_use]
    pub fn new(roots: &'a Roots) -> Self {
        let reals = Reals { roots, known: OnceCell::new() };
        Self { roots, reals, floors: OnceCell::new(), from: From::Config }
    }

    fn floors(&self) -> &Layers {
        let floor = |layer: &Vec<super::roots::Floor>| {
            let reals = layer.iter().enumerate().map(|(index, floor)| (index, floor.reals()));
            reals.flat_map(|(index, reals)| reals.map(move |real| (index, real.into_owned()))).collect()
        };
        self.floors.get_or_init(|| self.roots.floors.iter().map(floor).collect())
    }

    /// The same for a call: its plain paths begin in its `cwd`, if the metadata have one.
    pub(crate) fn of_call(roots: &'a Roots, call: &ApprovalContext) -> Self {
        let mut ground = Self::new(roots);
        ground.from = match call.metadata.get("cwd") {
            None | Some(Value::Null) => From::Config,
            Some(Value::String(folder)) => ground.begin(folder).map_or_else(From::Nowhere, From::Asked),
            Some(_) => From::Nowhere(Trouble::Blocked("the call's folder, `cwd`, is no text".to_owned())),
        };
        ground
    }

    /// The folder that a call names as its own. It must lie in a root; whether it is there, each path will tell.
    fn begin(&self, folder: &str) -> Result<Asked, Trouble> {
        self.asked(folder).map_err(|_| {
            let hint = "write paths as `root:path`";
            let roots = self.roots.text();
            Trouble::Blocked(format!(
                "the call's folder, `cwd`, is outside every root; {roots}; hint: {hint}"
            ))
        })
    }

    /// Reads a path: `name:way`, or plain, from the call's folder or else the config's.
    pub(crate) fn asked(&self, text: &str) -> Result<Asked, Trouble> {
        if text.is_empty() || text.contains('\0') {
            return Err(Trouble::BadArgs("a path must not be empty or have a NUL byte".to_owned()));
        }
        let name = text.split('/').next().and_then(|first| first.split_once(':')).map(|(name, _)| name);
        if let Some(name) = name {
            let rest = text.get(name.len() + 1..).unwrap_or_default();
            let Some(root) = self.roots.all.iter().position(|root| root.name == name) else {
                let hint = "a file with a colon in its name is written `./…`";
                let roots = self.roots.text();
                return Err(Trouble::Blocked(format!("there is no root `{name}`; {roots}; hint: {hint}")));
            };
            let path = clean(Path::new(rest.trim_start_matches('/')));
            let path = path.ok_or_else(|| Trouble::Blocked(format!("`{text}` leads out of its root")))?;
            return Ok(Asked { root, path });
        }
        let start = match &self.from {
            _ if text.starts_with('/') => PathBuf::new(),
            From::Config => self.roots.folder.clone(),
            From::Asked(folder) => self.plainly(folder).unwrap_or_default(),
            From::Nowhere(trouble) => return Err(trouble.clone()),
        };
        let whole = start.join(text);
        let whole = whole.strip_prefix("/").ok().and_then(clean).map(|path| Path::new("/").join(path));
        let found = whole.as_deref().and_then(|whole| self.deepest(whole));
        let (root, path) = found.ok_or_else(|| {
            Trouble::Blocked(format!("`{text}` is outside every root; {}", self.roots.text()))
        })?;
        Ok(Asked { root, path: path.to_owned() })
    }

    /// Where a path would lie on this machine without links.
    pub(crate) fn place_of(&self, text: &str) -> Option<PathBuf> {
        self.plainly(&self.asked(text).ok()?)
    }

    /// The deepest root that a location lies in, and the way from it.
    fn deepest<'p>(&self, real: &'p Path) -> Option<(usize, &'p Path)> {
        let within = |(index, root): (usize, &Option<PathBuf>)| Some((index, below(real, root.as_ref()?)?));
        let found = self.reals.iter().enumerate().filter_map(within);
        // All are ends of one path, so the shortest has the fewest names.
        found.min_by_key(|(_, path)| path.as_os_str().len())
    }

    /// Where paths of rules begin: in the config's folder, or, where that lies in no root, in the root of this one.
    pub(crate) fn base_of(&self, cwd: &Path) -> &Path {
        let folder = &self.roots.folder;
        let root = || self.deepest(cwd).and_then(|(root, _)| self.reals.get(root));
        if self.deepest(folder).is_some() { folder } else { root().unwrap_or(folder) }
    }

    /// Who speaks for a location, the way from there, and the strictest of everything that is said about it.
    pub(crate) fn speaks<'p>(&self, real: &'p Path) -> Option<(usize, &'p Path, Arc<Rights>)> {
        let (index, path) = self.deepest(real)?;
        let mut rights = Arc::clone(&self.roots.all.get(index)?.rights);
        for (layer, reals) in self.roots.floors.iter().zip(self.floors()) {
            let within = |(floor, root): &(usize, PathBuf)| Some((*floor, below(real, root)?));
            let found = reals.iter().filter_map(within).min_by_key(|(_, path)| path.as_os_str().len());
            if let Some(floor) =
                found.and_then(|(floor, _)| layer.get(floor)).filter(|floor| floor.rights != rights)
            {
                rights = Arc::new(Rights::clone(&rights).and(&floor.rights));
            }
        }
        Some((index, path, rights))
    }

    /// Whether a root lies at or below a location.
    pub(crate) fn has_root(&self, real: &Path) -> bool {
        self.reals.iter().flatten().any(|root| root.starts_with(real))
    }

    /// Whether other rules begin somewhere inside a root. Then the spelling of a path does not say which hold: a file
    /// system may take two spellings for one name.
    pub(crate) fn has_inner(&self, root: usize) -> bool {
        let Some(outer) = self.reals.get(root) else { return true };
        let floors = self.floors().iter().flatten().map(|(_, real)| real.as_path());
        let mut all = self.reals.iter().flatten().map(PathBuf::as_path).chain(floors);
        all.any(|real| real != outer && real.starts_with(outer))
    }

    /// Looks up a path.
    pub(crate) fn find(&self, text: &str, links: Links, grip: Grip) -> Result<Spot, Trouble> {
        let asked = self.asked(text)?;
        let root = self.root(asked.root)?;
        let label = self.label(asked.root, &asked.path);
        let look = |links| look(root.folder.as_fd(), &asked.path, links, grip);
        // Where no link is on the way, it lies where the path says, and the kernel need not be asked where. Where nobody
        // else speaks in the root, it need not be known at all.
        let lone = self.roots.is_lone();
        let plain = if lone || (self.reals.get(asked.root).is_some() && !self.has_inner(asked.root)) {
            match look(Links::Refuse) {
                // A root that is gone still has its own folder open, which is in no other.
                Ok(thing) if thing.kind != Kind::Link && thing.stat.st_nlink > 0 => Some(Some(thing)),
                // A link on the way would be another error than this.
                Err(Errno::NOENT) if self.reals.get(asked.root).is_some() => Some(None),
                Ok(_) | Err(_) => None,
            }
        } else {
            None
        };
        let (by_itself, real, thing) = match plain {
            Some(thing) if lone => {
                let (Asked { root, path }, rights) = (asked, Arc::clone(&root.rights));
                let (real, asked, through) = (None, None, None);
                return Ok(Spot { root, path, real, rights, thing, asked, label, through });
            }
            Some(thing) => (true, self.plainly(&asked).ok_or(Errno::NOENT), thing),
            None => match look(links) {
                Ok(thing) => (false, thing.real(), Some(thing)),
                Err(Errno::NOENT) => (false, self.nearest(asked.root, &asked.path, &label)?, None),
                Err(error) => return Err(lost(&label, error)),
            },
        };
        let real = real.map_err(|e| Trouble::failed(&format!("`{label}` cannot be looked up"), e))?;
        let (root, path, rights) = self.speaks(&real).ok_or_else(|| out_of_root(&label))?;
        if path.to_str().is_none() {
            return Err(Trouble::Blocked(format!("`{label}` leads to a name that is not UTF-8")));
        }
        let path = path.to_owned();
        let asked = if by_itself { None } else { self.plainly(&asked).filter(|plain| *plain != real) };
        let own = self.label(root, &path);
        let through = (own != label && asked.is_some()).then_some(label);
        Ok(Spot { root, path, real: Some(real), rights, thing, asked, label: own, through })
    }

    /// Where something that is not there would lie: the nearest folder that exists, and the names below it.
    fn nearest(&self, root: usize, path: &Path, label: &str) -> Result<Result<PathBuf, Errno>, Trouble> {
        let folder = self.root(root)?.folder.as_fd();
        let mut missing: Vec<OsString> = Vec::new();
        let mut head = path;
        loop {
            let name = head.file_name().ok_or_else(|| out_of_root(label))?.to_owned();
            head = head.parent().unwrap_or(Path::new(""));
            match handle::beneath(folder, head, OFlags::PATH | OFlags::DIRECTORY, Links::Follow) {
                Ok(above) => {
                    // A link that leads nowhere would be followed by whoever comes next.
                    if handle::look(&above, &name).map_err(|e| lost(label, e))?.is_some() {
                        let what = format!("`{label}` goes through a link that leads nowhere");
                        return Err(Trouble::Blocked(what));
                    }
                    missing.push(name);
                    let whole = |real: PathBuf| missing.iter().rev().fold(real, |path, name| path.join(name));
                    return Ok(real_of(&above).map(whole));
                }
                Err(Errno::NOENT) => missing.push(name),
                Err(error) => return Err(lost(label, error)),
            }
        }
    }

    pub(crate) fn root(&self, index: usize) -> Result<&'a super::roots::Root, Trouble> {
        self.roots.all.get(index).ok_or_else(|| Trouble::Failed("there is no such root".to_owned()))
    }

    /// `root:path` as people and agents write it.
    pub(crate) fn label(&self, root: usize, path: &Path) -> String {
        let name = self.roots.all.get(root).map_or("", |root| root.name.as_str());
        match path.to_str() {
            Some(path) => [name, ":", path].concat(),
            None => format!("{name}:{}", path.display()),
        }
    }

    /// Opens the folder that a place lies in. Its name there is the second.
    pub(crate) fn folder_of(&self, spot: &Spot) -> Result<(OwnedFd, OsString), Trouble> {
        let root_itself = || Trouble::Blocked(format!("`{}` is a root itself", spot.label));
        let name = spot.path.file_name().ok_or_else(root_itself)?.to_owned();
        let above = spot.path.parent().unwrap_or(Path::new(""));
        let folder = handle::folder(self.root(spot.root)?.folder.as_fd(), above).map_err(|e| match e {
            Errno::NOENT => Trouble::Failed(format!(
                "there is no folder `{}`; hint: make it with make_folder",
                self.label(spot.root, above)
            )),
            Errno::LOOP => moved(&spot.label),
            error => Trouble::failed(&format!("the folder of `{}` cannot be opened", spot.label), error),
        })?;
        if real_of(&folder).ok().as_deref() != self.real(spot)?.parent() {
            return Err(moved(&spot.label));
        }
        Ok((folder, name))
    }

    /// Opens a file that was looked up, and makes sure that it is still the same.
    pub(crate) fn open(&self, spot: &Spot) -> Result<(File, Stat), Trouble> {
        let Some(thing) = &spot.thing else {
            return Err(Trouble::Failed(format!("there is no file `{}`", spot.label)));
        };
        match thing.kind {
            Kind::File => {}
            Kind::Folder => return Err(Trouble::Failed(format!("`{}` is a folder", spot.label))),
            Kind::Link | Kind::Other(_) => {
                let what = format!("`{}` is a {}, not a file", spot.label, thing.kind.as_str());
                return Err(Trouble::Blocked(what));
            }
        }
        let file =
            handle::readable(self.root(spot.root)?.folder.as_fd(), &spot.path).map_err(|e| match e {
                Errno::LOOP | Errno::NOENT => moved(&spot.label),
                error => Trouble::failed(&format!("`{}` cannot be opened", spot.label), error),
            })?;
        let stat = fstat(&file).map_err(|e| Trouble::failed(&spot.label, e))?;
        // It was opened from its root by its own way, on which there was no link; so it still lies there. What was only
        // glanced at may be another file by the same number, so it must not have come under other rules.
        let holds = |stat| spot.rights.holds(handle::size_of(stat));
        let as_it_was = handle::same(&stat, &thing.stat)
            && Kind::of(&stat) == Kind::File
            && (holds(&stat) || !holds(&thing.stat))
            && (stat.st_nlink <= 1 || spot.names() > 1);
        if !as_it_was {
            return Err(moved(&spot.label));
        }
        Ok((file, stat))
    }

    /// Looks at a location by every name that a rule may know it by: from each root that it lies in.
    pub(crate) fn by_names<T>(&self, real: &Path, look: impl Fn(Names<'_>) -> Option<T>) -> Option<T> {
        let in_home = self.roots.home.as_ref().and_then(|home| below(real, home));
        self.reals.iter().flatten().find_map(|root| {
            let in_root = below(real, root)?;
            if let Some(whole) = below(real, &self.roots.folder) {
                return look(Names { whole, in_root, in_home });
            }
            let above_root = root.file_name().map(Path::new).unwrap_or(Path::new("")).join(in_root);
            look(Names { whole: &above_root, in_root, in_home })
        })
    }

    /// Where a place lies on this machine.
    pub(crate) fn real<'s>(&self, spot: &'s Spot) -> Result<Cow<'s, Path>, Trouble> {
        if let Some(real) = &spot.real {
            return Ok(Cow::Borrowed(real));
        }
        let root = self.reals.get(spot.root).ok_or_else(|| gone(&spot.label))?;
        Ok(Cow::Owned(root.join(&spot.path)))
    }

    /// Where a path would lie if no link were on its way.
    pub(crate) fn plainly(&self, asked: &Asked) -> Option<PathBuf> {
        Some(self.reals.get(asked.root)?.join(&asked.path))
    }
}

/// The way from a folder to a location below it: as `strip_prefix`, which takes every name apart.
fn below<'p>(real: &'p Path, folder: &Path) -> Option<&'p Path> {
    let rest = real.as_os_str().as_bytes().strip_prefix(folder.as_os_str().as_bytes());
    match rest {
        Some([]) => Some(Path::new("")),
        // Where a name begins that is none of the odd ones, the rest is the way.
        Some([b'/', rest @ ..]) if !matches!(rest, [] | [b'/' | b'.', ..]) => {
            Some(Path::new(OsStr::from_bytes(rest)))
        }
        Some(_) | None => real.strip_prefix(folder).ok(),
    }
}

/// Looks at what lies at the end of a way.
fn look(folder: BorrowedFd<'_>, path: &Path, links: Links, grip: Grip) -> Result<Thing, Errno> {
    let mut names = path.iter();
    if let (Grip::Loose, Links::Refuse, Some(name), None) = (grip, links, names.next(), names.next()) {
        // A name in a folder that is open leads nowhere else.
        let stat = handle::look(folder, name)?.ok_or(Errno::NOENT)?;
        return Ok(Thing { held: None, kind: Kind::of(&stat), stat });
    }
    let held = handle::beneath(folder, path, OFlags::PATH, links)?;
    let stat = fstat(&held)?;
    Ok(Thing { held: Some(held), kind: Kind::of(&stat), stat })
}

/// The way without `.` and `..`; nothing if it climbs out.
fn clean(path: &Path) -> Option<PathBuf> {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => cleaned.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !cleaned.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(cleaned)
}

/// Somebody changed the way while it was looked at.
pub(crate) fn moved(label: &str) -> Trouble {
    Trouble::Stale(format!("`{label}` changed while it was looked at"))
}

fn gone(label: &str) -> Trouble {
    Trouble::Failed(format!("the root of `{label}` is gone"))
}

fn out_of_root(label: &str) -> Trouble {
    Trouble::Blocked(format!("`{label}` leads out of its root"))
}

fn lost(label: &str, error: Errno) -> Trouble {
    match error {
        Errno::XDEV => out_of_root(label),
        Errno::LOOP => {
            Trouble::Blocked(format!("`{label}` goes in circles, or through a link of the system"))
        }
        Errno::AGAIN => moved(label),
        error => Trouble::Blocked(format!("`{label}` cannot be looked up: {}", plain(&error.into()))),
    }
}
