//! The state folder: one folder for each commit, with its upper layer, its journal and what it replaced.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::apply::{Private, Sides, TopFolder};
use crate::beneath;
use crate::change::RootId;
use crate::collect::root_id;
use crate::disk::Disk;
use crate::error::{ChangeError, failed};
use crate::journal::{CommitState, Journal};

/// The prefix of a commit folder that is being removed.
pub(crate) const DROPPED: &str = "dropped-";

/// A file in the commit folder that names the root as long as copies may be beneath it.
const STAGED: &[u8] = b"staged";

/// How often to make another commit folder if a recovery drops it.
const TRIES: usize = 100;

/// The state folder of all roots.
#[derive(Debug, Clone)]
pub struct ChangeStore {
    pub(crate) commits: Arc<OwnedFd>,
    locks: Arc<OwnedFd>,
    pub(crate) disk: Disk,
}

/// A lock that is released when it is dropped, or when the process ends.
#[derive(Debug)]
pub(crate) struct StoreLock(OwnedFd);

impl Drop for StoreLock {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}

impl ChangeStore {
    /// Opens the state folder, which only its owner may enter from now on.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be changed.
    pub fn open(folder: impl AsFd) -> Result<Self, ChangeError> {
        Self::on_disk(Disk::REAL, folder)
    }

    /// Opens the state folder on a disk.
    pub(crate) fn on_disk(disk: Disk, folder: impl AsFd) -> Result<Self, ChangeError> {
        let fault = || failed("open", b"the state folder");
        let folder = beneath::open_folder(folder, b"").map_err(fault())?;
        rustix::fs::fchmod(&folder, Mode::from_raw_mode(0o700)).map_err(fault())?;
        let commits = disk.make_or_open_folder(&folder, b"commits").map_err(fault())?;
        let locks = disk.make_or_open_folder(&folder, b"locks").map_err(fault())?;
        Ok(Self { commits: Arc::new(commits), locks: Arc::new(locks), disk })
    }

    /// Makes the folder of a new commit, for a view of `root` to begin with.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be made.
    pub fn begin(&self, root: impl AsFd) -> Result<PendingCommit, ChangeError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut number = u64::try_from(now.as_millis()).unwrap_or(0);
        let mut tried = 0;
        loop {
            let id = format!("{number:012x}");
            let made = self.disk.make_folder(&self.commits, id.as_bytes());
            // A recovery in another process may drop the folder before it is locked.
            let is_gone = || beneath::stat(&self.commits, id.as_bytes()).is_ok_and(|found| found.is_none());
            match made {
                Ok(folder) => match PendingCommit::new(self, id.clone(), folder, root.as_fd()) {
                    Err(_) if is_gone() && tried < TRIES => {}
                    made => return made,
                },
                Err(Errno::EXIST) => {}
                Err(Errno::NOENT) if tried < TRIES => {}
                Err(error) => return Err(failed("make", id.as_bytes())(error)),
            }
            number += 1;
            tried += 1;
        }
    }

    /// Returns a number that changes with each commit, undo and recovery of this root. Waits for the end of a running one:
    /// its number would already be the new one, and its changes would come later.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub fn generation(&self, root: impl AsFd) -> Result<u64, ChangeError> {
        let (name, file) = self.open_lock(root_id(root)?)?;
        retry(|| rustix::fs::flock(&file, FlockOperation::LockShared)).map_err(failed("lock", &name))?;
        read_generation(&file).map_err(failed("read the lock", &name))
    }

    /// Waits until no other commit or undo works on this root, and announces that this one does.
    pub(crate) fn lock_root(&self, root: RootId) -> Result<StoreLock, ChangeError> {
        let (name, file) = self.open_lock(root)?;
        retry(|| rustix::fs::flock(&file, FlockOperation::LockExclusive)).map_err(failed("lock", &name))?;
        let locked = StoreLock(file);
        let next = read_generation(&locked.0).map_err(failed("read the lock", &name))?.wrapping_add(1);
        rustix::io::pwrite(&locked.0, &next.to_le_bytes(), 0).map_err(failed("write the lock", &name))?;
        Ok(locked)
    }

    fn open_lock(&self, root: RootId) -> Result<(Vec<u8>, OwnedFd), ChangeError> {
        let name = format!("{:x}-{:x}", root.device, root.inode).into_bytes();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.locks, &name, flags, Mode::from_raw_mode(0o600))
            .map_err(failed("open the lock", &name))?;
        Ok((name, file))
    }

    /// Opens and locks the folder of a commit.
    pub(crate) fn open_commit(&self, id: &str) -> Result<CommitFolder, ChangeError> {
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(ChangeError::UnknownCommit(id.to_owned()));
        }
        let folder = match beneath::open_folder(&self.commits, id.as_bytes()) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Err(ChangeError::UnknownCommit(id.to_owned())),
            Err(error) => return Err(failed("open", id.as_bytes())(error)),
        };
        let locked = retry(|| rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive));
        match locked {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(ChangeError::WrongState { id: id.to_owned(), state: "in use" });
            }
            Err(error) => return Err(failed("lock", id.as_bytes())(error)),
        }
        // Another process may have dropped it before it was locked.
        match beneath::stat(&self.commits, id.as_bytes()).map_err(failed("inspect", id.as_bytes()))? {
            Some(_) => Ok(CommitFolder { id: id.to_owned(), folder, disk: self.disk }),
            None => Err(ChangeError::UnknownCommit(id.to_owned())),
        }
    }

    /// Returns the names in the store: ids, and folders that are being removed.
    pub(crate) fn names(&self) -> Result<Vec<String>, ChangeError> {
        let names = beneath::names(self.commits.as_fd()).map_err(failed("list", b"commits"))?;
        Ok(names.into_iter().filter_map(|name| String::from_utf8(name).ok()).collect())
    }

    /// Removes a commit folder and everything in it.
    pub(crate) fn drop_commit(&self, commit: &CommitFolder) -> Result<(), ChangeError> {
        let (name, gone) = (commit.id.as_bytes(), format!("{DROPPED}{}", commit.id).into_bytes());
        let removed = self
            .disk
            .rename_over(&self.commits, name, &gone)
            .and_then(|()| self.disk.remove_tree(&self.commits, &gone));
        removed.map_err(failed("remove", name))
    }
}

fn read_generation(file: &OwnedFd) -> Result<u64, Errno> {
    let mut bytes = [0; 8];
    let read = rustix::io::pread(file, &mut bytes, 0)?;
    Ok(if read == bytes.len() { u64::from_le_bytes(bytes) } else { 0 })
}

fn retry(mut call: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

/// The open and locked folder of a commit.
#[derive(Debug)]
pub(crate) struct CommitFolder {
    pub(crate) id: String,
    pub(crate) folder: OwnedFd,
    pub(crate) disk: Disk,
}

impl CommitFolder {
    pub(crate) fn state(&self) -> Result<Option<CommitState>, ChangeError> {
        CommitState::of(&self.folder)
    }

    /// Lets others work on a finished commit.
    pub(crate) fn unlock(&self) {
        // A child process that another thread is starting may hold a copy of the descriptor, and the lock with it.
        let _ = rustix::fs::flock(&self.folder, FlockOperation::Unlock);
    }

    /// Opens a folder within the commit folder.
    pub(crate) fn inner(&self, name: &str) -> Result<OwnedFd, ChangeError> {
        self.disk.make_or_open_folder(&self.folder, name.as_bytes()).map_err(failed("open", name.as_bytes()))
    }

    /// Returns the root beneath which copies may be left.
    pub(crate) fn staged(&self) -> Result<Option<RootId>, ChangeError> {
        match beneath::read_whole(&self.folder, STAGED) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(failed("read", STAGED)(error)),
        }
    }

    /// Notes that copies may be beneath the root, before there are any.
    pub(crate) fn note_stage(&self, root: RootId) -> Result<(), ChangeError> {
        let text = serde_json::to_vec(&root)?;
        self.disk.write_whole(&self.folder, STAGED, &text).map_err(failed("write", STAGED))
    }

    /// Removes the copies beneath the root.
    pub(crate) fn remove_stage(&self, root: &OwnedFd) -> Result<(), ChangeError> {
        if self.staged()?.is_none() {
            return Ok(());
        }
        let name = self.stage_name();
        let removed = self.disk.remove_tree(root, &name);
        let removed = removed.and_then(|()| self.disk.remove(&self.folder, STAGED, AtFlags::empty()));
        removed.map_err(failed("remove", &name))
    }

    /// The name of the folder beneath the root that holds copies during a commit.
    pub(crate) fn stage_name(&self) -> Vec<u8> {
        format!(".askfirst-{}.tmp", self.id).into_bytes()
    }

    /// Opens both sides of a commit.
    pub(crate) fn sides(&self, root: &OwnedFd, journal: &Journal) -> Result<Sides, ChangeError> {
        let top = beneath::open_folder(root, b"").map_err(failed("open", b"."))?;
        let private = if journal.is_copied {
            let name = self.stage_name();
            let fault = || failed("open", &name);
            let stage = self.disk.make_or_open_folder(root, &name).map_err(fault())?;
            let new = self.disk.make_or_open_folder(&stage, b"new").map_err(fault())?;
            let old = self.disk.make_or_open_folder(&stage, b"old").map_err(fault())?;
            Private { new: TopFolder::new(new), old: TopFolder::new(old), is_copied: true }
        } else {
            let (new, old) = (self.inner("upper")?, self.inner("old")?);
            Private { new: TopFolder::new(new), old: TopFolder::new(old), is_copied: false }
        };
        Ok(Sides { root: TopFolder::new(top), private, disk: self.disk })
    }
}

impl Drop for CommitFolder {
    fn drop(&mut self) {
        self.unlock();
    }
}

/// A commit that has not begun: a folder with an empty upper layer and a work folder for an overlay.
#[derive(Debug)]
pub struct PendingCommit {
    pub(crate) store: ChangeStore,
    pub(crate) commit: CommitFolder,
    upper: OwnedFd,
    work: OwnedFd,
}

impl PendingCommit {
    fn new(
        store: &ChangeStore,
        id: String,
        folder: OwnedFd,
        root: BorrowedFd<'_>,
    ) -> Result<Self, ChangeError> {
        let fault = || failed("make", b"a commit");
        rustix::fs::flock(&folder, FlockOperation::LockExclusive).map_err(fault())?;
        let commit = CommitFolder { id, folder, disk: store.disk };
        let upper = commit.inner("upper")?;
        let work = commit.inner("work")?;
        // The top of a view has the permissions of the upper layer, not of the root.
        let mode = rustix::fs::fstat(root).map_err(fault())?.st_mode & 0o7777;
        store.disk.set_mode(&upper, mode).map_err(fault())?;
        Ok(Self { store: store.clone(), commit, upper, work })
    }

    /// The id of the commit.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.commit.id
    }

    /// The folder for the upper layer of the view.
    #[must_use]
    pub fn upper(&self) -> BorrowedFd<'_> {
        self.upper.as_fd()
    }

    /// The work folder of the view.
    #[must_use]
    pub fn work(&self) -> BorrowedFd<'_> {
        self.work.as_fd()
    }

    /// Throws away all changes of the view.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be removed: the next recovery tries again. Fails if the view was committed: only
    /// [`ChangeStore::prune`] drops what can be undone.
    pub fn discard(self) -> Result<(), ChangeError> {
        match self.commit.state()? {
            Some(state) => Err(ChangeError::WrongState { id: self.commit.id.clone(), state: state.as_str() }),
            None => self.store.drop_commit(&self.commit),
        }
    }
}
