//! The views of one run: one for each writable folder of its profile.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::ports::{CommitFailed, HeldChanges};
use askfirst::record::CommitRecord;
use askfirst::{Digest, RunFact};
use askfirst_changes::{
    ChangeError, ChangeSet, ChangeStore, CollectLimits, CommitOptions, OldContent, PendingCommit,
    SpecialFiles, collect,
};
use askfirst_files::RootView;
use askfirst_sandbox::{Denial, Grant, OSProfile, View};
use rustix::fs::{Mode, OFlags};

use crate::changed_root::ChangedRoot;
use crate::effects;
use crate::folders::RunHome;
use crate::held::HeldRun;
use crate::rehearsals::Rehearsals;

/// A folder with its view, before and while the process runs.
struct PendingView {
    path: PathBuf,
    root: OwnedFd,
    pending: PendingCommit,
    /// The layer on a tmpfs, if the one of the commit cannot be used.
    temporary: Option<PendingCommit>,
    generation: u64,
    protected: Vec<PathBuf>,
}

/// A folder with its view, after the process. Dropping it throws its layer away.
pub(crate) struct CollectedView {
    pub(crate) path: PathBuf,
    pub(crate) root: OwnedFd,
    pub(crate) changes: ChangeSet,
    /// The paths that the program could not write without a view, such as files that git's settings include.
    pub(crate) protected: Vec<PathBuf>,
    store: ChangeStore,
    pending: Option<PendingCommit>,
    temporary: Option<PendingCommit>,
    generation: u64,
}

/// The views of one run.
pub(crate) struct Views {
    all: Vec<PendingView>,
    store: ChangeStore,
}

pub(crate) fn open_store(folder: &Path) -> Result<ChangeStore, String> {
    let opened = std::fs::create_dir_all(folder).and_then(|()| Ok(open_folder(folder)?));
    let opened = opened.map_err(|e| format!("cannot open `{}`: {e}", folder.display()))?;
    ChangeStore::open(opened).map_err(|e| e.to_string())
}

pub(crate) fn open_folder(path: &Path) -> Result<OwnedFd, rustix::io::Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

impl Views {
    /// Makes a view of each writable folder of a profile, and puts it into the profile.
    ///
    /// A view does not cover files that must never be written. The write lands on the view, and the decision about the
    /// effects refuses it by name. The folders in `direct` are written directly.
    pub(crate) fn of(
        rehearsals: &Rehearsals,
        profile: &mut OSProfile,
        direct: &[PathBuf],
    ) -> Result<Self, String> {
        let store = &rehearsals.store;
        let mut all = Vec::new();
        for grant in &profile.writable {
            let root = open_folder(&grant.path)
                .map_err(|e| format!("cannot open `{}`: {e}", grant.path.display()))?;
            let generation = store.generation(&root).map_err(|e| e.to_string())?;
            let pending = store.begin(&root).map_err(|e| e.to_string())?;
            let (folder, layers) = rehearsals.layers();
            let temporary =
                layers.map(|layers| layers.begin(&root)).transpose().map_err(|e| e.to_string())?;
            let id = temporary.as_ref().unwrap_or(&pending).id();
            let layer = folder.join("commits").join(id);
            let at = |name: &str| {
                Grant::of(layer.join(name)).map_err(|e| format!("cannot use `{}`: {e}", layer.display()))
            };
            profile.views.push(View { root: grant.path.clone(), upper: at("upper")?, work: at("work")? });
            let protected = Vec::new();
            all.push(PendingView {
                path: grant.path.clone(),
                root,
                pending,
                temporary,
                generation,
                protected,
            });
        }
        let is_direct = |path: &Path| direct.iter().any(|folder| path.starts_with(folder));
        let view_of = |all: &[PendingView], path: &Path| {
            let around = all.iter().enumerate().filter(|(_, view)| path.starts_with(&view.path));
            let nearest = around.max_by_key(|(_, view)| view.path.components().count());
            nearest.map(|(at, _)| at).filter(|_| !is_direct(path))
        };
        profile.denied.retain(|denied| {
            let at = view_of(&all, &denied.path).filter(|_| denied.what != Denial::All);
            let view = at.and_then(|at| all.get_mut(at));
            view.map(|view| view.protected.push(denied.path.clone())).is_none()
        });
        for folder in direct.iter().filter(|folder| all.iter().any(|view| folder.starts_with(&view.path))) {
            let grant = Grant::of(folder);
            profile.writable.push(grant.map_err(|e| format!("cannot use `{}`: {e}", folder.display()))?);
        }
        // A cache that cannot be shown is one that a program fills again.
        profile.scratch.extend(rehearsals.caches().into_iter().filter_map(|cache| Grant::of(cache).ok()));
        Ok(Self { all, store: store.clone() })
    }

    /// Protects paths that do not exist yet.
    pub(crate) fn protect(&mut self, paths: &[PathBuf]) {
        for path in paths {
            let view = self.all.iter_mut().filter(|view| path.starts_with(&view.path));
            if let Some(view) = view.max_by_key(|view| view.path.components().count()) {
                view.protected.push(path.clone());
            }
        }
    }

    /// Collects the changes of all views. All processes have ended.
    pub(crate) fn collect(self, limits: &CollectLimits) -> Result<Vec<CollectedView>, ChangeError> {
        let Self { all, store } = self;
        let mut collected = Vec::new();
        let mut failed = None;
        for view in all {
            let PendingView { path, root, pending, temporary, generation, protected } = view;
            match collect(&root, temporary.as_ref().unwrap_or(&pending).upper(), limits) {
                Ok(changes) => {
                    let (store, pending) = (store.clone(), Some(pending));
                    collected.push(CollectedView {
                        path,
                        root,
                        changes,
                        protected,
                        store,
                        pending,
                        temporary,
                        generation,
                    });
                }
                Err(error) => {
                    drop(pending.discard());
                    drop(temporary.map(PendingCommit::discard));
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(collected), Err)
    }
}

impl CollectedView {
    /// The layer with the changes.
    fn upper(&self) -> Option<BorrowedFd<'_>> {
        self.temporary.as_ref().or(self.pending.as_ref()).map(PendingCommit::upper)
    }

    /// Opens a changed file as it is on the view.
    pub(crate) fn open_new(&self, path: &Path) -> Option<OwnedFd> {
        open_file(self.upper()?, path)
    }

    /// Opens a changed file as it is in the real folder.
    pub(crate) fn open_old(&self, path: &Path) -> Option<OwnedFd> {
        open_file(self.root.as_fd(), path)
    }

    /// Whether the program opened or removed anything on the view, even if nothing has changed.
    fn has_written(&self) -> bool {
        let upper = self.upper().and_then(|upper| rustix::fs::Dir::read_from(upper).ok());
        let is_entry = |name: &[u8]| name != b"." && name != b"..";
        upper.is_none_or(|upper| upper.flatten().any(|entry| is_entry(entry.file_name().to_bytes())))
    }

    /// Returns the root with its changes.
    fn changed_root(&self) -> ChangedRoot<'_> {
        ChangedRoot {
            path: &self.path,
            root: self.root.as_fd(),
            changes: &self.changes,
            protected: &self.protected,
            requested: BTreeMap::new(),
            new: Box::new(|path| Some(Box::new(File::from(self.open_new(path)?)))),
        }
    }

    /// Whether the folder has got another commit since the view was made.
    ///
    /// A run that only read is not outdated. One that wrote what the other commit wrote too is: it has no changes, but it
    /// may have counted from the same start.
    fn is_outdated(&self) -> bool {
        self.has_written() && self.store.generation(&self.root).ok() != Some(self.generation)
    }
}

impl Drop for CollectedView {
    fn drop(&mut self) {
        if let Some(temporary) = self.temporary.take() {
            drop(temporary.discard());
        }
        if let Some(pending) = self.pending.take() {
            // If this fails, the next session removes it.
            drop(pending.discard());
        }
    }
}

/// The views of one run, with its home.
pub struct RunViews {
    pub(crate) views: Views,
    pub(crate) home: Option<RunHome>,
}

/// The views of a run that has ended, with its changes.
pub struct CollectedRun {
    views: Vec<CollectedView>,
    lost: Option<String>,
}

impl RunViews {
    /// Collects the changes. All processes of the run must have ended.
    ///
    /// # Errors
    /// Fails with the reason if the changes cannot be read, or are too many.
    pub fn collect(self) -> Result<CollectedRun, String> {
        let lost = self.home.and_then(|home| home.lost());
        let views = self.views.collect(&CollectLimits::default()).map_err(|e| e.to_string())?;
        Ok(CollectedRun { views, lost })
    }
}

impl CollectedRun {
    /// Whether a commit of another call has changed a folder since its view was made, so that the run must be repeated.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        self.views.iter().any(CollectedView::is_outdated)
    }

    /// Says what the run wrote to places that are thrown away, if it did.
    #[must_use]
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Holds the changes back. `command` is the text for the list of commits.
    #[must_use]
    pub fn hold(self, rehearsals: &Rehearsals, facts: Vec<RunFact>, command: String) -> Arc<dyn HeldChanges> {
        let roots: Vec<_> = self.views.iter().map(CollectedView::changed_root).collect();
        let ground = RootView::new(&rehearsals.roots);
        let undo_obstacle = rehearsals.undo_obstacle(&self.views);
        let effects =
            effects::of(&roots, &ground, &rehearsals.current_config(), facts, undo_obstacle.as_deref());
        drop(roots);
        Arc::new(HeldRun::new(rehearsals, self.views, effects, command, undo_obstacle))
    }
}

/// Opens a regular file beneath a folder, without following links.
pub(crate) fn open_file(folder: impl AsFd, path: &Path) -> Option<OwnedFd> {
    use rustix::fs::{FileType, ResolveFlags, fstat, openat2};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = openat2(folder, path, flags, Mode::empty(), beneath).ok()?;
    let is_file = FileType::from_raw_mode(fstat(&file).ok()?.st_mode) == FileType::RegularFile;
    is_file.then_some(file)
}

/// Commits the changes of all views. If one fails, those before it are taken back.
pub(crate) fn commit(
    views: Vec<CollectedView>,
    digest: Digest,
    note: impl Fn(&Path) -> String,
) -> Result<Vec<CommitRecord>, CommitFailed> {
    let mut done: Vec<(String, OwnedFd, ChangeStore)> = Vec::new();
    let mut records = Vec::new();
    for mut view in views.into_iter().filter(|view| !view.changes.is_empty()) {
        let Some(pending) = view.pending.take() else { continue };
        // A person has seen special files, or the effects would not have been approved.
        let options = CommitOptions {
            note: note(&view.path),
            special: SpecialFiles::Approved,
            // A commit that only added files loses nothing, so `undo.keep` limits it.
            replaced: if view.changes.replaced_bytes() == 0 {
                OldContent::Elsewhere
            } else {
                OldContent::OnlyHere
            },
            ..CommitOptions::default()
        };
        let upper = view.temporary.as_ref().unwrap_or(&pending).upper();
        match pending.commit(&view.root, upper, &view.changes, &options) {
            Ok(summary) => {
                records.push(CommitRecord {
                    call_id: String::new(),
                    commit: summary.id.clone(),
                    root: view.path.display().to_string(),
                    changes: Some(digest),
                    by: None,
                });
                if let Ok(root) = view.root.try_clone() {
                    done.push((summary.id, root, view.store.clone()));
                }
            }
            Err(error) => {
                view.pending = Some(pending);
                let back: Vec<String> = done
                    .iter()
                    .filter_map(|(id, root, store)| Some(format!("{id}: {}", store.undo(id, root).err()?)))
                    .collect();
                return Err(failure(&error, &back));
            }
        }
    }
    Ok(records)
}

fn failure(error: &ChangeError, not_taken_back: &[String]) -> CommitFailed {
    match error {
        ChangeError::Conflict(_) if not_taken_back.is_empty() => CommitFailed::Conflict(error.to_string()),
        _ if not_taken_back.is_empty() => CommitFailed::Failed(error.to_string()),
        _ => CommitFailed::Failed(format!(
            "{error}; these commits could not be taken back: {}",
            not_taken_back.join("; ")
        )),
    }
}
