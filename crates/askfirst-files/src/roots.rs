//! The roots: named folders that are opened once, each with its rights.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::Because;
use askfirst_config::{Config, PathConfig, PathMode};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::error::{FilesError, describe};
use super::handle::{self, LinkPolicy, real_path};
use super::never::NeverRules;
use super::rights::Rights;

/// One root.
pub(crate) struct Root {
    pub(crate) name: String,
    pub(crate) folder: Arc<OwnedFd>,
    pub(crate) rights: Arc<Rights>,
    pub(crate) origin: Because,
}

/// The rights of a floor for one folder.
#[derive(Clone)]
pub(crate) struct Floor {
    /// The path in the config.
    path: Option<PathBuf>,
    folder: Option<Arc<OwnedFd>>,
    pub(crate) rights: Arc<Rights>,
}

impl Floor {
    /// Returns the configured path and, if the folder was moved, its current path.
    ///
    /// The rights apply at both paths, so moving a folder does not remove its rules.
    pub(crate) fn paths(&self) -> impl Iterator<Item = Cow<'_, Path>> {
        let now = self.folder.as_ref().and_then(|folder| real_path(folder).ok());
        let now = now.filter(|now| self.path.as_ref() != Some(now)).map(Cow::Owned);
        self.path.as_deref().map(Cow::Borrowed).into_iter().chain(now)
    }
}

/// All roots of one toolset.
pub struct Roots {
    pub(crate) all: Vec<Root>,
    /// The floors. In each, the deepest folder that contains a path governs it.
    pub(crate) floors: Vec<Vec<Floor>>,
    pub(crate) never: Arc<NeverRules>,
    /// The folder that plain paths are relative to, unless the call has a `cwd`.
    pub(crate) folder: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

/// A derived root: part of an existing root. A setting that is `None` stays the same.
#[derive(Debug, Clone, Default)]
pub struct NarrowerRoot {
    /// The name of the existing root.
    pub of: String,
    /// The folder in that root, or an empty text for the whole root.
    pub folder: String,
    /// Whether tools may write in the folder.
    pub mode: Option<PathMode>,
    /// The file suffixes that the file tools accept.
    pub suffixes: Option<Vec<String>>,
    /// The size in bytes of the largest file that the file tools accept.
    pub max_file_bytes: Option<u64>,
    /// The approval values.
    pub approval: Option<askfirst_config::PathApproval>,
}

impl Roots {
    /// Opens the roots of a config.
    ///
    /// # Errors
    /// Fails if a root cannot be opened, if the system cannot confine access to it, or if a path rule is invalid.
    pub fn new(config: &Config) -> Result<Self, FilesError> {
        let sandbox = &config.main.sandbox;
        let all = sandbox.paths.iter().map(|(name, path)| open(name, path)).collect::<Result<_, _>>()?;
        let floor = |path: &PathConfig| Floor {
            path: Some(path.root.clone()),
            folder: handle::open_root(&path.root).ok().map(Arc::new),
            rights: Arc::new(Rights::from_config(path)),
        };
        let layer = |paths: &BTreeMap<String, PathConfig>| paths.values().map(floor).collect();
        let mut floors: Vec<Vec<Floor>> =
            config.floors.iter().map(|settings| layer(&settings.sandbox.paths)).collect();
        // The roots themselves know their current paths. These floors keep the rights at the configured paths.
        let configured = |path: &PathConfig| Floor {
            path: Some(path.root.clone()),
            folder: None,
            rights: Arc::new(Rights::from_config(path)),
        };
        floors.push(sandbox.paths.values().map(configured).collect());
        let layers = || std::iter::once(&config.main).chain(&config.floors);
        let never = NeverRules::new(
            layers().flat_map(|layer| &layer.sandbox.never_read),
            layers().flat_map(|layer| &layer.sandbox.never_write),
        )?;
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        if let Some(rule) = never.about_home().filter(|_| home.is_none()) {
            let cause = "the home folder is unknown".to_owned();
            return Err(FilesError::Rule { rule: rule.to_owned(), cause });
        }
        Ok(Self {
            all,
            floors,
            never: Arc::new(never),
            folder: resolve(&config.folder).unwrap_or_else(|| config.folder.clone()),
            home: home.map(|home| resolve(&home).unwrap_or(home)),
        })
    }

    /// Returns the folder of the config, without links.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the home folder of the user, without links.
    #[must_use]
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns true if there is only one root, and no floor differs from it.
    pub(crate) fn is_single_root(&self) -> bool {
        let [root] = self.all.as_slice() else { return false };
        self.floors.iter().flatten().all(|floor| floor.rights == root.rights)
    }

    /// Lists the roots for an agent that used a path outside them.
    pub(crate) fn describe(&self) -> String {
        let describe = |root: &Root| match root.rights.mode {
            PathMode::Ro => format!("`{}:` (read-only)", root.name),
            PathMode::Rw => format!("`{}:`", root.name),
        };
        let names: Vec<String> = self.all.iter().map(describe).collect();
        if names.is_empty() {
            "there are no roots".to_owned()
        } else {
            format!("roots: {}", names.join(", "))
        }
    }

    /// Creates roots from parts of these roots. These roots become a floor, so the parts cannot allow more.
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
                return Err(wider(format!("`{}` is read-only", of.name)));
            }
            rights.mode = mode;
        }
        if let Some(suffixes) = &part.suffixes {
            let is_allowed = |suffix: &&String| rights.allows_name(suffix.as_ref());
            if suffixes.is_empty() && !rights.suffixes.is_empty() {
                return Err(wider("all suffixes".to_owned()));
            }
            if let Some(new) = suffixes.iter().find(|suffix| !is_allowed(suffix)) {
                return Err(wider(format!("the suffix `{new}`")));
            }
            if !suffixes.is_empty() {
                rights.suffixes.push(suffixes.clone());
            }
        }
        if let Some(max) = part.max_file_bytes {
            if !rights.allows_size(max) {
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
                "it leads outside its root".to_owned()
            } else {
                describe(&error.into())
            },
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let folder =
            handle::open_beneath(of.folder.as_fd(), Path::new(&part.folder), flags, LinkPolicy::Follow);
        Ok(Root {
            name: name.to_owned(),
            folder: Arc::new(folder.map_err(cause)?),
            rights: Arc::new(rights),
            origin: of.origin.clone(),
        })
    }
}

fn open(name: &str, config: &PathConfig) -> Result<Root, FilesError> {
    let cause = |e: Errno| FilesError::Root { name: name.to_owned(), cause: describe(&e.into()) };
    let folder = handle::open_root(&config.root).map_err(cause)?;
    let unconfined = |cause: String| FilesError::NotConfined { name: name.to_owned(), cause };
    match handle::open_beneath(folder.as_fd(), Path::new(""), OFlags::PATH, LinkPolicy::Refuse) {
        Ok(_) => {}
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
            return Err(unconfined("the system has no `openat2`".to_owned()));
        }
        Err(error) => return Err(cause(error)),
    }
    real_path(&folder)
        .map_err(|e| unconfined(format!("cannot find its path in `/proc`: {}", describe(&e.into()))))?;
    Ok(Root {
        name: name.to_owned(),
        folder: Arc::new(folder),
        rights: Arc::new(Rights::from_config(config)),
        origin: config.origin.clone(),
    })
}

fn resolve(folder: &Path) -> Option<PathBuf> {
    handle::open_root(folder).ok().and_then(|folder| real_path(&folder).ok())
}
