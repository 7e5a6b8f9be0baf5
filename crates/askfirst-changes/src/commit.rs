//! Commits a change set, undoes a commit, and applies an undone commit again.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::fs::fstat;

use crate::apply::{Private, Sides, TopFolder};
use crate::beneath;
use crate::change::ChangeSet;
use crate::collect::root_id;
use crate::copied;
use crate::error::{ChangeError, failed};
use crate::history::CommitSummary;
use crate::journal::{CommitState, Journal};
use crate::operation::{self, Direction, Operation};
use crate::store::{ChangeStore, CommitFolder, PendingCommit};
use crate::verify::{Match, verify};

/// Which crashes a commit survives as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// A killed process and a power cut.
    #[default]
    PowerCut,
    /// A killed process.
    Kill,
}

/// Whether a commit may contain special files: devices, pipes, sockets, setuid and the like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpecialFiles {
    /// They make the commit fail before anything is applied.
    #[default]
    Refused,
    /// A person approved them.
    Approved,
}

/// Whether the replaced content exists elsewhere too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OldContent {
    /// Only the store has it, so pruning keeps it for the full time.
    #[default]
    OnlyHere,
    /// For example git can restore it.
    Elsewhere,
}

/// How to commit.
#[derive(Debug, Clone, Default)]
pub struct CommitOptions {
    /// A text for the list of commits, such as the command line.
    pub note: String,
    /// Whether special files may be committed.
    pub special: SpecialFiles,
    /// Whether the replaced content exists elsewhere.
    pub replaced: OldContent,
    /// Which crashes the commit survives.
    pub durability: Durability,
}

impl PendingCommit {
    /// Commits exactly these changes, or nothing. `upper` is the layer from which they were collected: the one of this
    /// commit, or another one, such as a tmpfs, from which everything is copied.
    ///
    /// # Errors
    ///
    /// `Conflict` if either side is not as it was collected: nothing was applied, and the caller may collect again.
    pub fn commit(
        &self,
        root: impl AsFd,
        upper: impl AsFd,
        changes: &ChangeSet,
        options: &CommitOptions,
    ) -> Result<CommitSummary, ChangeError> {
        let root = open_root(&root, &self.commit.id, changes.root.inode)?;
        refuse_special(changes, options)?;
        let _locked = self.store.lock_root(root_id(&root)?)?;
        if let Some(state) = self.commit.state()? {
            return Err(wrong_state(&self.commit, state));
        }
        let is_copied = self.is_elsewhere(&root, upper.as_fd())?;
        let mut rows = changes.rows.clone();
        let operations = operation::plan(&root, &rows)?;
        let top = beneath::open_folder(&root, b"").map_err(failed("open", b"."))?;
        let layer = beneath::open_folder(&upper, b"").map_err(failed("open", b"upper"))?;
        let old = TopFolder::new(self.commit.inner("old")?);
        let private = Private { new: TopFolder::new(layer), old, is_copied: false };
        let mut sides = Sides { root: TopFolder::new(top), private, disk: self.commit.disk };
        let exactly = (Match::Untouched, Match::Untouched);
        verify(&mut sides, &rows, &operations, Direction::Forward, exactly)?;
        if is_copied {
            copied::stage_commit(&self.commit, &mut sides, &mut rows, &operations)
                .inspect_err(|_| self.commit.remove_stage(&root).unwrap_or_default())?;
        }
        let journal = Journal { root: changes.root, is_copied, rows, operations };
        let summary = CommitSummary::new(&self.commit.id, changes, options);
        let sealed = summary.write(&self.commit).and_then(|()| journal.write(&self.commit)).and_then(|()| {
            if options.durability == Durability::PowerCut {
                // The upper layer of a view is not synced by itself.
                self.commit.disk.sync_all(&self.commit.folder).map_err(failed("sync", b"commits"))?;
            }
            Journal::replace(&self.commit, CommitState::Sealed)?;
            self.commit.disk.sync(&self.commit.folder).map_err(failed("sync", b"commits"))
        });
        if let Err(error) = sealed {
            // Whether the journal was sealed before the error or not: it must not be applied later.
            CommitState::Sealed.become_state(&self.commit, None)?;
            self.commit.remove_stage(&root)?;
            return Err(error);
        }
        run(&self.commit, &root, &journal, CommitState::Sealed)?;
        self.commit.unlock();
        Ok(summary)
    }

    /// Returns true if objects cannot simply move between this upper layer and the root.
    fn is_elsewhere(&self, root: &OwnedFd, upper: BorrowedFd<'_>) -> Result<bool, ChangeError> {
        let fault = || failed("inspect", b"upper");
        let (theirs, ours) = (fstat(upper).map_err(fault())?, fstat(self.upper()).map_err(fault())?);
        let is_ours = (theirs.st_dev, theirs.st_ino) == (ours.st_dev, ours.st_ino);
        Ok(!is_ours || !beneath::on_same_mount(root, self.upper()).map_err(fault())?)
    }
}

pub(crate) fn open_root(root: impl AsFd, id: &str, inode: u64) -> Result<OwnedFd, ChangeError> {
    let root = beneath::open_folder(root, b"").map_err(failed("open", b"."))?;
    // The number of a device may change when the machine starts again.
    if root_id(&root)?.inode == inode { Ok(root) } else { Err(ChangeError::OtherRoot(id.to_owned())) }
}

fn refuse_special(changes: &ChangeSet, options: &CommitOptions) -> Result<(), ChangeError> {
    let special = changes.rows.iter().find(|row| !row.special().is_empty());
    match special.filter(|_| options.special == SpecialFiles::Refused) {
        Some(row) => Err(ChangeError::Unsupported {
            path: row.path().to_owned(),
            reason: "a special file needs approval",
        }),
        None => Ok(()),
    }
}

pub(crate) fn wrong_state(commit: &CommitFolder, state: CommitState) -> ChangeError {
    ChangeError::WrongState { id: commit.id.clone(), state: state.as_str() }
}

impl ChangeStore {
    /// Puts back everything that a commit replaced, or nothing.
    ///
    /// # Errors
    ///
    /// `Conflict` if anything that the commit changed has changed since: nothing was applied.
    pub fn undo(&self, id: &str, root: impl AsFd) -> Result<CommitSummary, ChangeError> {
        self.turn(id, root, CommitState::Done, CommitState::Undoing)
    }

    /// Applies an undone commit again.
    ///
    /// # Errors
    ///
    /// `Conflict` if anything that the undo changed has changed since: nothing was applied.
    pub fn redo(&self, id: &str, root: impl AsFd) -> Result<CommitSummary, ChangeError> {
        self.turn(id, root, CommitState::Undone, CommitState::Redoing)
    }

    fn turn(
        &self,
        id: &str,
        root: impl AsFd,
        from: CommitState,
        to: CommitState,
    ) -> Result<CommitSummary, ChangeError> {
        let commit = self.open_commit(id)?;
        match commit.state()? {
            Some(state) if state == from => {}
            Some(state) => return Err(wrong_state(&commit, state)),
            None => return Err(ChangeError::UnknownCommit(id.to_owned())),
        }
        let mut journal = Journal::read(&commit.folder, from)?;
        let root = open_root(root, id, journal.root.inode)?;
        let _locked = self.lock_root(root_id(&root)?)?;
        let direction = to.direction().unwrap_or(Direction::Backward);
        let prepared = if journal.is_copied {
            copied::stage_turn(&commit, &root, &mut journal, direction)
                .and_then(|()| journal.write(&commit))
                .and_then(|()| Journal::replace(&commit, from))
        } else {
            let same = (Match::Version, Match::Version);
            let sides = commit.sides(&root, &journal);
            sides
                .and_then(|mut sides| verify(&mut sides, &journal.rows, &journal.operations, direction, same))
        };
        let begun = prepared.and_then(|()| from.become_state(&commit, Some(to)));
        if let Err(error) = begun {
            commit.remove_stage(&root)?;
            return Err(error);
        }
        commit.disk.sync(&commit.folder).map_err(failed("sync", id.as_bytes()))?;
        run(&commit, &root, &journal, to)?;
        CommitSummary::read(&commit)
    }
}

/// Does the work that is left in a state. If it meets a conflict or an error, takes everything back.
pub(crate) fn run(
    commit: &CommitFolder,
    root: &OwnedFd,
    journal: &Journal,
    state: CommitState,
) -> Result<(), ChangeError> {
    let mut sides = commit.sides(root, journal)?;
    let Some(direction) = state.direction() else { return Ok(()) };
    if state == CommitState::TakingBack {
        return take_back(&mut sides, commit, root, journal, state);
    }
    let Err(error) = apply_all(&mut sides, journal, direction) else {
        return finish(commit, root, journal, state, state.next());
    };
    let back = state.reversed();
    state.become_state(commit, Some(back))?;
    take_back(&mut sides, commit, root, journal, back)?;
    Err(error)
}

/// Goes back as far as possible.
fn take_back(
    sides: &mut Sides,
    commit: &CommitFolder,
    root: &OwnedFd,
    journal: &Journal,
    state: CommitState,
) -> Result<(), ChangeError> {
    let mut torn = Vec::new();
    let direction = state.direction().unwrap_or(Direction::Backward);
    for (number, operation) in in_order(journal, direction) {
        if sides.apply(&journal.rows, operation, number, direction).is_err() {
            torn.push(PathBuf::from(OsStr::from_bytes(&operation.path)));
        }
    }
    if torn.is_empty() {
        return finish(commit, root, journal, state, state.next());
    }
    state.become_state(commit, Some(CommitState::Torn))?;
    Err(ChangeError::Torn(torn))
}

/// Returns the operations with their numbers, in the order of a direction.
fn in_order(journal: &Journal, direction: Direction) -> Vec<(usize, &Operation)> {
    let mut numbered: Vec<_> = journal.operations.iter().enumerate().collect();
    if direction == Direction::Backward {
        numbered.reverse();
    }
    numbered
}

fn finish(
    commit: &CommitFolder,
    root: &OwnedFd,
    journal: &Journal,
    state: CommitState,
    next: Option<CommitState>,
) -> Result<(), ChangeError> {
    if journal.is_copied {
        // The journal is on another file system, which may be written to the disk before this one.
        commit.disk.sync_all(root).map_err(failed("sync", b"."))?;
    }
    state.become_state(commit, next)?;
    if journal.is_copied { commit.remove_stage(root) } else { Ok(()) }
}

fn apply_all(sides: &mut Sides, journal: &Journal, direction: Direction) -> Result<(), ChangeError> {
    for (number, operation) in in_order(journal, direction) {
        sides.apply(&journal.rows, operation, number, direction)?;
    }
    if direction == Direction::Forward { sides.remove_marks(&journal.rows) } else { Ok(()) }
}
