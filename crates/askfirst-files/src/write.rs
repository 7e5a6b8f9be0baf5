//! Writing a file so that it is there whole or not at all: a new file beside the old, synced, then renamed over it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

use super::basis;
use super::error::Trouble;
use super::handle::{self, Kind};
use super::place::{Ground, Spot, moved};

/// Where a file is written.
pub(crate) struct Target<'a> {
    folder: OwnedFd,
    name: OsString,
    /// Where that folder lies.
    real: PathBuf,
    label: &'a str,
    /// What was there when it was looked at.
    old: Option<Stat>,
    /// The digest of what is replaced, where somebody was shown that.
    shown: Option<String>,
    /// The mode of a file that is new; nothing for the usual one.
    mode: Option<Mode>,
}

impl<'a> Target<'a> {
    pub(crate) fn new(ground: &Ground<'_>, spot: &'a Spot) -> Result<Self, Trouble> {
        let (folder, name) = ground.folder_of(spot)?;
        let old = spot.thing.as_ref().map(|thing| thing.stat);
        let real = ground.real(spot)?;
        let real = real.parent().unwrap_or(&real).to_owned();
        Ok(Self { folder, name, real, label: &spot.label, old, shown: None, mode: None })
    }

    /// The same with a mode for a file that is new.
    pub(crate) fn with_mode(mut self, raw: u32) -> Self {
        self.mode = Some(Mode::from_raw_mode(raw & 0o777));
        self
    }

    /// The same, only in place of content of this digest.
    pub(crate) fn instead_of(mut self, shown: Option<String>) -> Self {
        self.shown = shown;
        self
    }

    /// Writes the file by `fill`. If anything fails, the old file is as it was and nothing else is left behind.
    pub(crate) fn replace(&self, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Trouble> {
        let fault = |e: io::Error| Trouble::failed(&format!("`{}` cannot be written", self.label), e);
        let (mut file, beside) = self.beside().map_err(|e| fault(e.into()))?;
        let done = fill(&mut file).map_err(fault).and_then(|()| self.keep(&file)).and_then(|()| {
            file.sync_all().map_err(fault)?;
            self.put(&beside)
        });
        if done.is_err() {
            // The fault itself is told; what cannot be cleared away is a file that nobody reads.
            let _ = rustix::fs::unlinkat(&self.folder, &beside, AtFlags::empty());
        }
        done?;
        sync(&self.folder, self.label)
    }

    /// A new file in the same folder, under a name that nobody can guess.
    fn beside(&self) -> Result<(File, OsString), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = if self.old.is_some() || self.mode.is_some() { 0o600 } else { 0o666 };
        let mut tried = 0;
        loop {
            let random = std::hash::RandomState::new().build_hasher().finish();
            let name = OsString::from(format!(".askfirst-{random:016x}.tmp"));
            match rustix::fs::openat(&self.folder, &name, flags, Mode::from_raw_mode(mode)) {
                Ok(file) => return Ok((File::from(file), name)),
                Err(Errno::EXIST) if tried < 8 => tried += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the new file the owner and mode of the old one.
    fn keep(&self, file: &File) -> Result<(), Trouble> {
        let fault =
            |e: Errno| Trouble::failed(&format!("`{}` cannot keep its owner and mode", self.label), e);
        let mut mode = self.mode;
        if let Some(old) = &self.old {
            let new = rustix::fs::fstat(file).map_err(fault)?;
            if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
                let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
                rustix::fs::fchown(file, Some(user), Some(group)).map_err(fault)?;
            }
            // Whoever changes a program does not pass on that it runs as somebody else.
            mode = Some(Mode::from_raw_mode(old.st_mode & 0o777));
        }
        mode.map_or(Ok(()), |mode| rustix::fs::fchmod(file, mode).map_err(fault))
    }

    /// Refuses to replace what nobody was shown. The times of a file do not tell: they may be coarse, and whoever has it
    /// mapped into memory may write without any of them changing.
    fn refuse_changed(&self) -> Result<(), Trouble> {
        let Some(shown) = &self.shown else { return Ok(()) };
        let fault = |e: io::Error| Trouble::failed(&format!("`{}` cannot be read", self.label), e);
        let mut file = match handle::readable(self.folder.as_fd(), Path::new(&self.name)) {
            Ok(file) => file,
            Err(Errno::LOOP | Errno::NOENT) => return Err(moved(self.label)),
            Err(error) => return Err(fault(error.into())),
        };
        let kind = Kind::of(&rustix::fs::fstat(&file).map_err(|e| fault(e.into()))?);
        if kind == Kind::File && basis::digest(&mut file).map_err(fault)? == *shown {
            Ok(())
        } else {
            Err(moved(self.label))
        }
    }

    /// Puts the new file in its place, if that is still as it was looked at.
    fn put(&self, beside: &OsStr) -> Result<(), Trouble> {
        if handle::real_of(&self.folder).ok().as_deref() != Some(&self.real) {
            return Err(moved(self.label));
        }
        let fault = |e: Errno| match e {
            Errno::EXIST => moved(self.label),
            error => Trouble::failed(&format!("`{}` cannot be put in place", self.label), error),
        };
        let Some(old) = &self.old else {
            let renamed = move_new(&self.folder, beside, &self.folder, &self.name);
            return renamed.map_err(fault);
        };
        self.refuse_changed()?;
        let now = handle::look(&self.folder, &self.name).map_err(fault)?;
        if !now.is_some_and(|now| handle::same(&now, old) && times(&now) == times(old)) {
            return Err(moved(self.label));
        }
        rustix::fs::renameat(&self.folder, beside, &self.folder, &self.name).map_err(fault)
    }
}

/// The time of the last change can be set back, but not that of the last change to anything about the file.
fn times(stat: &Stat) -> (i64, u64, i64, u64, i64) {
    (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec, stat.st_size)
}

/// Renames to a name that is free. Never replaces anything.
pub(crate) fn move_new(from: impl AsFd, name: &OsStr, to: impl AsFd, new_name: &OsStr) -> Result<(), Errno> {
    match rustix::fs::renameat_with(&from, name, &to, new_name, RenameFlags::NOREPLACE) {
        // Some file systems cannot; a second name and the end of the first are the same for a file.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(&from, name, &to, new_name, AtFlags::empty())?;
            rustix::fs::unlinkat(&from, name, AtFlags::empty())
        }
        done => done,
    }
}

/// Makes sure that a folder's names are on the disk.
pub(crate) fn sync(folder: impl AsFd, label: &str) -> Result<(), Trouble> {
    match rustix::fs::fsync(folder) {
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(e) => Err(Trouble::failed(&format!("`{label}` is written, but perhaps not on the disk yet"), e)),
    }
}

#[cfg(test)]
#[path = "write/tests.rs"]
mod tests;
