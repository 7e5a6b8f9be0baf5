//! The changes that a call would make, for the code that judges them and keeps what they replace.

use std::borrow::Cow;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use askfirst::record::CommitRecord;
use askfirst::{Effects, EffectsPolicy};

use super::error::CallError;
use super::file_call::FileCall;
use super::handle::ObjectKind;
use super::location::Location;
use super::place::RootView;
use super::plan::Plan;
use super::{read, show};

/// How much of a copied file the decision about the change reads. It looks at the first bytes, and at ignore rules.
const MAX_LOOK: u64 = 1 << 20;

/// One path that a call would change.
#[derive(Debug)]
pub struct PlannedChange<'a> {
    /// The open root.
    pub root: BorrowedFd<'a>,
    /// The real path of the root.
    pub folder: PathBuf,
    /// The path beneath the root, without links.
    pub path: PathBuf,
    /// The absolute path that the call named, if a link led from it to another path.
    pub requested: Option<PathBuf>,
    /// Its planned state.
    pub becomes: NewState<'a>,
}

/// The planned state of a path.
#[derive(Debug)]
pub enum NewState<'a> {
    /// Nothing.
    Nothing,
    /// A new folder.
    Folder,
    /// A file with this content.
    File {
        /// The content, or the start of it.
        content: Cow<'a, [u8]>,
        /// Its permissions, if there is no file yet.
        mode: u32,
    },
    /// The object that is now at a path of a root, with everything in it.
    Moved {
        /// The open root.
        root: BorrowedFd<'a>,
        /// The path beneath that root.
        path: PathBuf,
    },
}

/// Classifies what calls would change, in the same way as what commands changed, and keeps what they replace.
pub trait ChangeGuard: Send + Sync {
    /// Returns the effects of changes, and what the decision about them depends on besides.
    ///
    /// # Errors
    /// Fails with the reason if the paths cannot be inspected. The call then does not run.
    fn effects(
        &self,
        ground: &RootView<'_>,
        changes: &[PlannedChange<'_>],
    ) -> Result<(Effects, EffectsPolicy), String>;

    /// Keeps what is at the paths of changes, before they are made.
    ///
    /// # Errors
    /// Fails with the reason if undo could not restore it. The call then does not run.
    fn keep(
        &self,
        changes: &[PlannedChange<'_>],
        call_id: &str,
        what: &str,
    ) -> Result<Box<dyn KeptChanges>, String>;

    /// Notes that the audit log has the entries of these commits.
    fn mark_logged(&self, commits: &[CommitRecord]);
}

/// The kept files of a call that is about to run.
pub trait KeptChanges {
    /// Records what the call has changed. Returns an entry for each changed root.
    fn settle(self: Box<Self>) -> Vec<CommitRecord>;
}

impl RootView<'_> {
    /// Returns everything that a call would change.
    pub(crate) fn planned<'s>(
        &'s self,
        call: &'s FileCall<'_>,
        plan: &Plan,
    ) -> Result<Vec<PlannedChange<'s>>, CallError> {
        let one = |location: &Location, becomes| Ok(vec![self.planned_change(location, becomes)?]);
        let file = |content, mode| NewState::File { content, mode };
        match call {
            FileCall::Read { .. }
            | FileCall::Attach { .. }
            | FileCall::List { .. }
            | FileCall::Find { .. }
            | FileCall::Stat { .. } => Ok(Vec::new()),
            FileCall::Write { content, .. } => one(plan.first()?, file(Cow::Borrowed(&**content), 0o644)),
            FileCall::Edit { edit, .. } => {
                let location = plan.first()?;
                // An edit that does not apply changes nothing, and says so when it runs.
                let edited = show::apply_edit(self, location, edit, None);
                let content = edited.map(|(_, new)| new.into_bytes()).unwrap_or_default();
                one(location, file(Cow::Owned(content), 0o644))
            }
            FileCall::Make { .. } => {
                let location = plan.first()?;
                if location.object.is_some() { Ok(Vec::new()) } else { one(location, NewState::Folder) }
            }
            FileCall::Delete { .. } => one(plan.first()?, NewState::Nothing),
            FileCall::Move { .. } => {
                let (from, to) = plan.source_and_target()?;
                let root = self.root(from.root)?.folder.as_fd();
                let moved = NewState::Moved { root, path: from.path.clone() };
                Ok(vec![self.planned_change(from, NewState::Nothing)?, self.planned_change(to, moved)?])
            }
            FileCall::Copy { .. } => {
                let (from, to) = plan.source_and_target()?;
                let Some(object) = from.object.as_ref().filter(|object| object.kind == ObjectKind::File)
                else {
                    return Ok(Vec::new());
                };
                let (source, _) = self.open_file(from)?;
                let start = read::read_bytes(&source, &from.label, 0, MAX_LOOK)?;
                one(to, file(Cow::Owned(start), object.stat.st_mode & 0o777))
            }
        }
    }

    fn planned_change<'s>(
        &'s self,
        location: &Location,
        becomes: NewState<'s>,
    ) -> Result<PlannedChange<'s>, CallError> {
        let real = self.real_path(location)?;
        let mut folder = real.into_owned();
        for _ in location.path.iter() {
            folder.pop();
        }
        Ok(PlannedChange {
            root: self.root(location.root)?.folder.as_fd(),
            folder,
            path: location.path.clone(),
            requested: location.requested.clone(),
            becomes,
        })
    }
}
