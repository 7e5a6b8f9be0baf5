//! The roots: folders that are opened once, by name, with what may be done in them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::Because;
use askfirst_config::{Config, PathConfig, PathMode};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::error::{FilesError, plain};
use super::handle::{self, Links, real_of};
use super::never::Never;
use super::rights::Rights;

/// One root.
pub(crate) struct Root {
    pub(crate) name: String,
    pub(crate) folder: Arc<OwnedFd>,
    pub(crate) rights: Arc<Rights>,
    pub(crate) origin: Because,
}

/// What a stricter layer says about a folder.
#[derive(Clone)]
pub(crate) struct Floor {
    /// Where the config says that it is.
    path: Option<PathBuf>,
    folder: Option<Arc<OwnedFd>>,
    pub(crate) rights: Arc<Rights>,
}

impl Floor {
    /// Where it lies now, and where it lay: a folder that is swapped for another does not shake off its rules.
    pub(crate) fn reals(&self) -> impl Iterator<Item = Cow<'_, Path>> {
        let now = self.folder.as_ref().and_then(|folder| real_of(folder).ok());
        let now = now.filter(|now| self.path.as_ref() != Some(now)).map(Cow::Owned);
        self.path.as_deref().map(Cow::Borrowed).into_iter().chain(now)
    }
}

/// All roots of one toolset.
pub struct Roots {
    pub(crate) all: Vec<Root>,
    /// Layers that can only make it stricter: in each, the deepest folder that contains a place speaks.
    pub(crate) floors: Vec<Vec<Floor>>,
    pub(crate) never: Arc<Never>,
    /// The folder that plain paths begin at.
    pub(crate) folder: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

/// A root of a derived sandbox: a part of a root that is there already. What is left out stays as it is.
#[derive(Debug, Clone, Default)]
pub struct NarrowerRoot {
    /// The root that it is a part of.
    pub of: String,
    /// The folder in it; empty for all of it.
    pub folder: String,
    /// Whether it can be written.
    pub mode: Option<PathMode>,
    /// The suffixes of files that are touched.
    pub suffixes: Option<Vec<String>>,
    /// The size of files that are touched.
    pub max_file_bytes: Option<u64>,
    /// What is asked about.
    pub approval: Option<askfirst_config::PathApproval>,
}

impl Roots {
    /// Opens the roots of a config.
    ///
    /// # Errors
    /// Fails if a root cannot be opened, or if the system cannot confine access to it.
    pub fn new(config: &Config) -> Result<Self, FilesError> {
        let sandbox = &config.main.sandbox;
        let all = sandbox.paths.iter().map(|(name, path)| open(name, path)).collect::<Result<_, _>>()?;
        let floor = |path: &PathConfig| Floor {
            path: Some(path.root.clone()),
            folder: handle::open_root(&path.root).ok().map(Arc::new),
            rights: Arc::new(Rights::of(path)),
        };
        let layer = |paths: &BTreeMap<String, PathConfig>| paths.values().map(floor).collect();
        let mut floors: Vec<Vec<Floor>> =
            config.floors.iter().map(|settings| layer(&settings.sandbox.paths)).collect();
        // Where the roots lie now is known from themselves; here it counts where the config says that they are.
        let said = |path: &PathConfig| Floor {
            path: Some(path.root.clone()),
            folder: None,
            rights: Arc::new(Rights::of(path)),
        };
        floors.push(sandbox.paths.values().map(said).collect());
        let layers = || std::iter::once(&config.main).chain(&config.floors);
        let never = Never::new(
            layers().flat_map(|layer| &layer.sandbox.never_read),
            layers().flat_map(|layer| &layer.sandbox.never_write),
        )?;
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        if let Some(rule) = never.about_home().filter(|_| home.is_none()) {
            let cause = "the home folder is not known".to_owned();
            return Err(FilesError::Rule { rule: rule.to_owned(), cause });
        }
        Ok(Self {
            all,
            floors,
            never: Arc::new(never),
            folder: located(&config.folder).unwrap_or_else(|| config.folder.clone()),
            home: home.map(|home| located(&home).unwrap_or(home)),
        })
    }

    /// The folder of the config, without links.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The home folder of the user, without links.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Whether one root speaks for all that lies in it, by its own settings alone.
    pub(crate) fn is_lone(&self) -> bool {
        let [root] = self.all.as_slice() else { return false };
        self.floors.iter().flatten().all(|floor| floor.rights == root.rights)
    }

    /// The roots in words, for an agent that asked for something else.
    pub(crate) fn text(&self) -> String {
        let word = |root: &Root| match root.rights.mode {
            PathMode::Ro => format!("`{}:` (read only)", root.name),
            PathMode::Rw => format!("`{}:`", root.name),
        };
        let words: Vec<String> = self.all.iter().map(word).collect();
        if words.is_empty() {
            "there are no roots".to_owned()
        } else {
            format!("roots: {}", words.join(", "))
        }
    }

    /// Parts of these roots. The roots themselves stay as a floor, so that nothing can become wider.
    pub(crate) fn derive(&self, narrower: &BTreeMap<String, NarrowerRoot>) -> Result<Self, FilesError> {
        let all = narrower.iter().map(|(name, part)| self.part(name, part)).collect::<Result<_, _>>()?;
        let floor = |root: &Root| Floor {
            path: None,
            folder: Some(Arc::clone(&root.folder)),
            rights: Arc::clone(&root.rights),
        };
        let mut floors = self.floors.clone();
        floors.push(self.all.iter().map(floor).collect());
        let never = Arc::clone(&self.never);
        Ok(Self { all, floors, never, folder: self.folder.clone(), home: self.home.clone() })
    }

    fn part(&self, name: &str, part: &NarrowerRoot) -> Result<Root, FilesError> {
        let of = self.all.iter().find(|root| root.name == part.of);
        let of = of.ok_or_else(|| FilesError::NoSuchRoot(part.of.clone()))?;
        let wider = |what: String| FilesError::Wider { root: name.to_owned(), of: of.name.clone(), what };
        let mut rights = Rights::clone(&of.rights);
        if let Some(mode) = part.mode {
            if mode > rights.mode {
                return Err(wider("it is read only".to_owned()));
            }
            rights.mode = mode;
        }
        if let Some(suffixes) = &part.suffixes {
            let known = |suffix: &&String| rights.takes(suffix.as_ref());
            if suffixes.is_empty() && !rights.suffixes.is_empty() {
                return Err(wider("all suffixes".to_owned()));
            }
            if let Some(new) = suffixes.iter().find(|suffix| !known(suffix)) {
                return Err(wider(format!("the suffix `{new}`")));
            }
            if !suffixes.is_empty() {
                rights.suffixes.push(suffixes.clone());
            }
        }
        if let Some(max) = part.max_file_bytes {
            if !rights.holds(max) {
                return Err(wider(format!("files of {max} bytes")));
            }
            rights.max_file_bytes = Some(max);
        }
        if let Some(new) = part.approval {
            let old = rights.approval;
            let pairs = [("read", new.read, old.read), ("write", new.write, old.write)];
            let pairs = pairs.into_iter().chain([("attach", new.attach, old.attach)]);
            if let Some((what, new, old)) = pairs.into_iter().find(|(_, new, old)| new < old) {
                return Err(wider(format!("`{what}: {new}` instead of `{old}`")));
            }
            rights.approval = new;
        }
        let cause = |error: Errno| FilesError::Root {
            name: name.to_owned(),
            cause: if error == Errno::XDEV {
                "it leads out of its root".to_owned()
            } else {
                plain(&error.into())
            },
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder = handle::beneath(of.folder.as_fd(), Path::new(&part.folder), flags, Links::Follow);
        Ok(Root {
            name: name.to_owned(),
            folder: Arc::new(folder.map_err(cause)?),
            rights: Arc::new(rights),
            origin: of.origin.clone(),
        })
    }
}

fn open(name: &str, config: &PathConfig) -> Result<Root, FilesError> {
    let cause = |e: Errno| FilesError::Root { name: name.to_owned(), cause: plain(&e.into()) };
    let folder = handle::open_root(&config.root).map_err(cause)?;
    let unconfined = |cause: String| FilesError::NotConfined { name: name.to_owned(), cause };
    match handle::beneath(folder.as_fd(), Path::new(""), OFlags::PATH, Links::Refuse) {
        Ok(_) => {}
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
            return Err(unconfined("the system has no `openat2`".to_owned()));
        }
        Err(error) => return Err(cause(error)),
    }
    real_of(&folder)
        .map_err(|e| unconfined(format!("`/proc` does not say where it lies: {}", plain(&e.into()))))?;
    Ok(Root {
        name: name.to_owned(),
        folder: Arc::new(folder),
        rights: Arc::new(Rights::of(config)),
        origin: config.origin.clone(),
    })
}

fn located(folder: &Path) -> Option<PathBuf> {
    handle::open_root(folder).ok().and_then(|folder| real_of(&folder).ok())
}
