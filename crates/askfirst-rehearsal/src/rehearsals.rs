//! The state of a session for runs on views: the store of changes, the roots and the folders of the session.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use askfirst_changes::{ChangeStore, KeepLimits, RecoveredCommit, RootId};
use askfirst_config::{Config, PathMode, UndoDeletes};
use askfirst_files::{RootView, Roots};
use askfirst_sandbox::{NoView, OSProfile, Sandbox, User};
use serde::{Deserialize, Serialize};

use crate::folders::SessionFolders;
use crate::temporary_layers::TemporaryLayers;
use crate::views::{RunViews, Views, open_folder, open_store};

/// The state of a session for runs on views. It is made for the first view.
pub struct Rehearsals {
    pub(crate) store: ChangeStore,
    /// The path of the store.
    pub(crate) folder: PathBuf,
    pub(crate) roots: Arc<Roots>,
    pub(crate) config: Config,
    state: PathBuf,
    /// The folders of build output that a person has approved in this session, besides those of the config.
    pub(crate) approved_products: Arc<Mutex<Vec<PathBuf>>>,
    session: OnceLock<Result<SessionFolders, String>>,
    /// The layers on a tmpfs, if the state folder cannot hold any.
    temporary: OnceLock<Result<TemporaryLayers, String>>,
}

impl Rehearsals {
    /// Opens the store beneath the state folder, and finishes what a killed process left there.
    ///
    /// # Errors
    /// Fails with the reason if views of the config's roots cannot be kept there.
    pub fn open(config: &Config, state: &Path) -> Result<Self, String> {
        let (state, store) = open_state(config, state)?;
        let folder = store_folder(&state);
        let roots = Arc::new(Roots::new(config).map_err(|e| e.to_string())?);
        let (config, approved_products) = (config.clone(), Arc::default());
        Ok(Self {
            store,
            folder,
            roots,
            config,
            state,
            approved_products,
            session: OnceLock::new(),
            temporary: OnceLock::new(),
        })
    }

    /// Returns why no view of a root can be made, or `None` if all views can be made.
    #[must_use]
    pub fn obstacle(&self, sandbox: &Sandbox) -> Option<String> {
        let mut writable = self.config.main.sandbox.paths.values().filter(|path| path.mode == PathMode::Rw);
        writable.find_map(|path| {
            let check = || sandbox.check_view(&path.root, self.layers().0, User::Same);
            let why = match check() {
                Err(NoView::Layers(_)) if self.temporary.get().is_none() => {
                    match self.temporary.get_or_init(TemporaryLayers::new) {
                        Ok(_) => check().err()?.to_string(),
                        Err(why) => why.clone(),
                    }
                }
                checked => checked.err()?.to_string(),
            };
            Some(format!("no view of `{}` can be made: {why}", path.root.display()))
        })
    }

    /// Returns the folder of the layers, and the store that makes them if it is not the one of the commits.
    pub(crate) fn layers(&self) -> (&Path, Option<&ChangeStore>) {
        match self.temporary.get() {
            Some(Ok(temporary)) => (&temporary.folder, Some(&temporary.store)),
            Some(Err(_)) | None => (&self.folder, None),
        }
    }

    /// Puts a view of each writable folder, the `/tmp` of the session, an empty home and the caches into a profile.
    /// `working` is the working folder of the program, and it writes the folders in `direct` directly. The paths in
    /// `missing` do not exist yet, and may never be created.
    ///
    /// # Errors
    /// Fails with the reason if a folder cannot be made.
    pub fn views(
        &self,
        profile: &mut OSProfile,
        working: &Path,
        direct: &[PathBuf],
        missing: &[PathBuf],
    ) -> Result<RunViews, String> {
        let mut views = Views::of(self, profile, direct)?;
        views.protect(missing);
        let home =
            self.session()?.add_to(profile, working).map_err(|e| format!("cannot make a folder: {e}"))?;
        Ok(RunViews { views, home })
    }

    /// Returns the folders of this session, made with the first run.
    fn session(&self) -> Result<&SessionFolders, String> {
        let new = || SessionFolders::new(&self.state).map_err(|e| format!("cannot make a folder: {e}"));
        self.session.get_or_init(new).as_ref().map_err(Clone::clone)
    }
}

/// How long an edit of another program may take before a new session records what it has changed.
const EDIT_PATIENCE: Duration = Duration::from_secs(600);

/// Opens the store beneath the state folder, and returns the real path of the state folder too. Finishes what killed
/// processes left in the roots of this config, and drops what need not be kept.
pub(crate) fn open_state(config: &Config, state: &Path) -> Result<(PathBuf, ChangeStore), String> {
    let state = std::path::absolute(state).map_err(|e| e.to_string())?;
    std::fs::create_dir_all(&state).map_err(|e| format!("cannot create `{}`: {e}", state.display()))?;
    let state = state.canonicalize().map_err(|e| format!("cannot open `{}`: {e}", state.display()))?;
    let roots = config.main.sandbox.paths.values().map(|path| &path.root);
    if let Some(root) = roots.into_iter().find(|root| state.starts_with(root)) {
        return Err(format!("the state folder `{}` is in the root `{}`", state.display(), root.display()));
    }
    let store = open_store(&store_folder(&state))?;
    let recovered = store.recover(|id| open_root(config, id)).map_err(|e| e.to_string())?;
    for (id, result) in recovered {
        if let RecoveredCommit::Failed(error) = result {
            return Err(format!("the commit `{id}` of an earlier session cannot be finished: {error}"));
        }
    }
    store.settle_changed(EDIT_PATIENCE, |id| open_root(config, id)).map_err(|e| e.to_string())?;
    let pruned = store.prune(&keep_limits(config), std::time::SystemTime::now());
    pruned.map_err(|e| e.to_string())?;
    Ok((state, store))
}

/// Opens the root of a config with this inode.
pub(crate) fn open_root(config: &Config, id: RootId) -> Option<OwnedFd> {
    config.main.sandbox.paths.values().find_map(|path| {
        let root = open_folder(&path.root).ok()?;
        (rustix::fs::fstat(&root).ok()?.st_ino == id.inode).then_some(root)
    })
}

/// Returns the folder of the store in a state folder.
pub(crate) fn store_folder(state: &Path) -> PathBuf {
    state.join("changes")
}

/// The note that the store keeps about a commit: the decision in the audit log, the folder and the command.
#[derive(Serialize, Deserialize)]
pub(crate) struct CommitNote {
    /// The id of the decision.
    pub(crate) decision: String,
    /// The folder that was changed.
    pub(crate) root: PathBuf,
    /// The command.
    pub(crate) command: String,
}

impl CommitNote {
    /// Reads the note of a commit.
    pub(crate) fn read(note: &str) -> Option<Self> {
        serde_json::from_str(note).ok()
    }

    /// Returns the id of the call that the decision is about.
    pub(crate) fn call_id(&self) -> &str {
        self.decision.rsplit_once('.').map_or(&self.decision, |(call, _)| call)
    }
}

impl std::fmt::Display for CommitNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}

pub(crate) fn asks_about_removals(config: &Config) -> bool {
    config.main.undo.deletes == UndoDeletes::Ask
}

pub(crate) fn keep_limits(config: &Config) -> KeepLimits {
    let undo = &config.main.undo;
    let age = Duration::from_secs(undo.days.saturating_mul(24 * 3600));
    KeepLimits { commits: undo.keep, age, bytes: undo.size }
}

/// Whether a path is build output.
pub(crate) fn is_product(config: &Config, path: &Path) -> bool {
    products(config).any(|product| path.starts_with(product))
}

fn products(config: &Config) -> impl Iterator<Item = PathBuf> {
    let paths = config.main.sandbox.paths.values();
    paths.flat_map(|path| path.products.iter().map(|product| path.root.join(product)))
}

impl Rehearsals {
    /// Returns the config, with the folders of build output that a person has approved in this session.
    pub(crate) fn current_config(&self) -> Config {
        let mut config = self.config.clone();
        for folder in self.approved_products.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let roots = config.main.sandbox.paths.values_mut().filter(|path| folder.starts_with(&path.root));
            let Some(root) = roots.max_by_key(|path| path.root.components().count()) else { continue };
            root.products.extend(folder.strip_prefix(&root.root).map(Path::to_owned));
        }
        config
    }

    /// Returns the folders of build output.
    pub(crate) fn products(&self) -> Vec<PathBuf> {
        products(&self.current_config()).collect()
    }

    /// Returns the package caches that exist, outside of the roots.
    pub(crate) fn caches(&self) -> Vec<PathBuf> {
        let sandbox = &self.config.main.sandbox;
        let view = RootView::new(&self.roots);
        let is_free = |path: &PathBuf| {
            sandbox.governing_root(path).is_none() && askfirst_shell::Roots::never_read(&view, path).is_none()
        };
        sandbox.cache_folders(self.roots.home()).into_iter().filter(is_free).collect()
    }

    /// Returns the folders of build output that exist. They are written directly, so that a build costs no copies.
    #[must_use]
    pub fn direct_folders(&self) -> Vec<PathBuf> {
        self.products().into_iter().filter(|path| is_real_folder(path)).collect()
    }
}

/// Whether a path is a folder that no link leads to. A link could lead anywhere, so a product behind one stays on the view.
pub(crate) fn is_real_folder(path: &Path) -> bool {
    path.is_dir() && path.canonicalize().is_ok_and(|real| real == *path)
}
