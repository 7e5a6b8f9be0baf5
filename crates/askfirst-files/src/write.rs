//! Writes a file completely or not at all: creates a temporary file, syncs it, and renames it over the target.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

use super::basis;
use super::error::CallError;
use super::handle::{self, ObjectKind};
use super::location::Location;
use super::place::{RootView, changed_meanwhile};

/// The target of a write.
pub(crate) struct Target<'a> {
    folder: OwnedFd,
    name: OsString,
    /// The real path of the folder.
    real: PathBuf,
    label: &'a str,
    /// The state of the existing file when it was located.
    old: Option<Stat>,
    /// The digest of the content that a person was shown.
    shown: Option<String>,
    /// The mode of a new file, or `None` for the default.
    mode: Option<Mode>,
}

impl<'a> Target<'a> {
    pub(crate) fn new(view: &RootView<'_>, location: &'a Location) -> Result<Self, CallError> {
        let (folder, name) = view.open_parent(location)?;
        let old = location.object.as_ref().map(|object| object.stat);
        let real = view.real_path(location)?;
        let real = real.parent().unwrap_or(&real).to_owned();
        Ok(Self { folder, name, real, label: &location.label, old, shown: None, mode: None })
    }

    /// Sets the mode for a new file.
    pub(crate) fn with_mode(mut self, raw: u32) -> Self {
        self.mode = Some(Mode::from_raw_mode(raw & 0o777));
        self
    }

    /// Sets the digest of the content that the write may replace.
    pub(crate) fn expecting(mut self, shown: Option<String>) -> Self {
        self.shown = shown;
        self
    }

    /// Writes the content with `fill`. If anything fails, the old file is unchanged and no other file remains.
    pub(crate) fn replace(&self, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), CallError> {
        let fault = |e: io::Error| CallError::failed(&format!("cannot write `{}`", self.label), e);
        let (mut file, temporary) = self.create_temporary().map_err(|e| fault(e.into()))?;
        let written = fill(&mut file).map_err(fault).and_then(|()| self.keep_owner_and_mode(&file));
        let done = written.and_then(|()| {
            file.sync_all().map_err(fault)?;
            self.put_in_place(&temporary)
        });
        if done.is_err() {
            // The caller gets the first error. A temporary file that cannot be removed does no harm.
            let _ = rustix::fs::unlinkat(&self.folder, &temporary, AtFlags::empty());
        }
        done?;
        sync(&self.folder, self.label)
    }

    /// Creates a temporary file in the same folder, with a random name.
    fn create_temporary(&self) -> Result<(File, OsString), Errno> {
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
    fn keep_owner_and_mode(&self, file: &File) -> Result<(), CallError> {
        let fault =
            |e: Errno| CallError::failed(&format!("cannot keep the owner and mode of `{}`", self.label), e);
        let mut mode = self.mode;
        if let Some(old) = &self.old {
            let new = rustix::fs::fstat(file).map_err(fault)?;
            if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
                let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
                rustix::fs::fchown(file, Some(user), Some(group)).map_err(fault)?;
            }
            // Drops setuid and setgid: a program with new content must not run as another user.
            mode = Some(Mode::from_raw_mode(old.st_mode & 0o777));
        }
        mode.map_or(Ok(()), |mode| rustix::fs::fchmod(file, mode).map_err(fault))
    }

    /// Fails if the file has other content than a person was shown.
    ///
    /// The timestamps are not enough: they may be coarse, and a write through a memory map may not change them.
    fn refuse_changed(&self) -> Result<(), CallError> {
        let Some(shown) = &self.shown else { return Ok(()) };
        let fault = |e: io::Error| CallError::failed(&format!("cannot read `{}`", self.label), e);
        let mut file = match handle::open_file(self.folder.as_fd(), Path::new(&self.name)) {
            Ok(file) => file,
            Err(Errno::LOOP | Errno::NOENT) => return Err(changed_meanwhile(self.label)),
            Err(error) => return Err(fault(error.into())),
        };
        let kind = ObjectKind::of(&rustix::fs::fstat(&file).map_err(|e| fault(e.into()))?);
        if kind == ObjectKind::File && basis::digest(&mut file).map_err(fault)? == *shown {
            Ok(())
        } else {
            Err(changed_meanwhile(self.label))
        }
    }

    /// Renames the temporary file to the target, if the target is still as it was when it was located.
    fn put_in_place(&self, temporary: &OsStr) -> Result<(), CallError> {
        if handle::real_path(&self.folder).ok().as_deref() != Some(&self.real) {
            return Err(changed_meanwhile(self.label));
        }
        let fault = |e: Errno| match e {
            Errno::EXIST => changed_meanwhile(self.label),
            error => CallError::failed(&format!("cannot rename the new file to `{}`", self.label), error),
        };
        let Some(old) = &self.old else {
            let renamed = rename_to_new(&self.folder, temporary, &self.folder, &self.name);
            return renamed.map_err(fault);
        };
        self.refuse_changed()?;
        let now = handle::stat_name(&self.folder, &self.name).map_err(fault)?;
        if !now.is_some_and(|now| handle::is_same_file(&now, old) && version(&now) == version(old)) {
            return Err(changed_meanwhile(self.label));
        }
        rustix::fs::renameat(&self.folder, temporary, &self.folder, &self.name).map_err(fault)
    }
}

/// Returns the values that a write changes. A process can reset the modification time, but not the change time.
fn version(stat: &Stat) -> (i64, u64, i64, u64, i64) {
    (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec, stat.st_size)
}

/// Renames to a name that does not exist yet. Never replaces a file.
pub(crate) fn rename_to_new(
    from: impl AsFd,
    name: &OsStr,
    to: impl AsFd,
    new_name: &OsStr,
) -> Result<(), Errno> {
    match rustix::fs::renameat_with(&from, name, &to, new_name, RenameFlags::NOREPLACE) {
        // Some file systems do not support this flag. For a file, adding a hard link and removing the old name works.
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::linkat(&from, name, &to, new_name, AtFlags::empty())?;
            rustix::fs::unlinkat(&from, name, AtFlags::empty())
        }
        done => done,
    }
}

/// Syncs the names in a folder to disk.
pub(crate) fn sync(folder: impl AsFd, label: &str) -> Result<(), CallError> {
    match rustix::fs::fsync(folder) {
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(e) => Err(CallError::failed(&format!("`{label}` is written, but may not be on disk yet"), e)),
    }
}

#[cfg(test)]
#[path = "write/tests.rs"]
mod tests;
