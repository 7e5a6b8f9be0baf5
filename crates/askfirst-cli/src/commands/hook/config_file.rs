//! The config file of an agent on the disk: read, and replaced as a whole or not at all.
//!
//! It follows no link silently, and changes no file of another user.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// A larger file is no config.
const MAX_BYTES: u64 = 16 << 20;

/// Opens a folder on the way to another one, which needs no right to list it.
#[cfg(target_os = "linux")]
const ON_THE_WAY: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const ON_THE_WAY: OFlags = OFlags::RDONLY;

/// The reason why a config file cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigFileError {
    #[error("`{0}` is a broken link: its target does not exist")]
    BrokenLink(PathBuf),
    #[error("`{0}` belongs to another user, so askfirst does not change it")]
    OtherOwner(PathBuf),
    #[error("`{0}` is not a regular file")]
    NoFile(PathBuf),
    #[error("`{0}` is too large to be a config")]
    TooLarge(PathBuf),
    #[error("`{0}` is not valid UTF-8")]
    NotText(PathBuf),
    #[error("`{0}` changed in the meantime, so nothing was written; hint: run the command again")]
    Changed(PathBuf),
    #[error("cannot read `{0}`: {1}")]
    Read(PathBuf, std::io::Error),
    #[error("cannot write `{0}`: {1}")]
    Write(PathBuf, std::io::Error),
}

/// A config file, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// The path that the agent uses, with the folder above it resolved.
    pub path: PathBuf,
    /// The file behind all links.
    pub real: PathBuf,
    /// The content, if there is a file.
    pub text: Option<String>,
}

impl ConfigFile {
    /// Reads the file at a path below a folder. Links in the path of the folder itself are not reported.
    pub fn read(folder: &Path, relative: &Path) -> Result<Self, ConfigFileError> {
        let path = resolve(folder).join(relative);
        if path.is_symlink() && !path.exists() {
            return Err(ConfigFileError::BrokenLink(path));
        }
        let real = resolve(&path);
        let existing = real.ancestors().skip(1).find(|above| above.exists()).unwrap_or(Path::new("/"));
        let folder =
            open_folder(existing).map_err(|error| ConfigFileError::Read(real.clone(), error.into()))?;
        is_ours(&folder, existing)?;
        let text = if real.parent() == Some(existing) { content(&folder, &real)? } else { None };
        Ok(Self { path, real, text })
    }

    /// Returns the file behind a link.
    pub fn target(&self) -> Option<&Path> {
        Some(self.real.as_path()).filter(|real| *real != self.path)
    }

    /// Returns the folders that a new file needs, the outermost first.
    pub fn missing_folders(&self) -> Vec<PathBuf> {
        let missing = self.real.ancestors().skip(1).take_while(|above| !above.exists());
        let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        missing.reverse();
        missing
    }

    /// Fails if the file is no longer as it was read.
    pub fn check_unchanged(&self) -> Result<(), ConfigFileError> {
        let folder = self.real.parent().and_then(|folder| open_folder(folder).ok());
        let text = folder.map(|folder| content(&folder, &self.real)).transpose()?.flatten();
        if text == self.text { Ok(()) } else { Err(ConfigFileError::Changed(self.real.clone())) }
    }

    /// Replaces the content, or removes the file. Fails if the file is no longer as it was read.
    pub fn replace(&self, new: Option<&str>) -> Result<(), ConfigFileError> {
        let failed = |error: Errno| ConfigFileError::Write(self.real.clone(), error.into());
        for folder in self.missing_folders() {
            let above = open_folder(folder.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
            match rustix::fs::mkdirat(&above, name_of(&folder), Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let folder = open_folder(self.real.parent().unwrap_or(Path::new("/"))).map_err(failed)?;
        // Two commands with different state folders may change the same file.
        rustix::fs::flock(&folder, FlockOperation::LockExclusive).map_err(failed)?;
        is_ours(&folder, &self.real)?;
        if content(&folder, &self.real)? != self.text {
            return Err(ConfigFileError::Changed(self.real.clone()));
        }
        let name = name_of(&self.real);
        let Some(new) = new else {
            rustix::fs::unlinkat(&folder, &name, AtFlags::empty()).map_err(failed)?;
            return rustix::fs::fsync(&folder).map_err(failed);
        };
        let mut beside = OsString::from(".");
        beside.push(&name);
        beside.push(".askfirst-new");
        // Left by a command that was killed: the folder is locked.
        match rustix::fs::unlinkat(&folder, &beside, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed(error)),
        }
        let done = self.write_beside(&folder, &beside, new).and_then(|()| {
            if self.text.is_some() {
                rustix::fs::renameat(&folder, &beside, &folder, &name)?;
            } else {
                // Unlike a rename, this replaces no file that was created in the meantime.
                rustix::fs::linkat(&folder, &beside, &folder, &name, AtFlags::empty())?;
                rustix::fs::unlinkat(&folder, &beside, AtFlags::empty())?;
            }
            Ok(())
        });
        if let Err(error) = done {
            let _ = rustix::fs::unlinkat(&folder, &beside, AtFlags::empty());
            return Err(ConfigFileError::Write(self.real.clone(), error));
        }
        rustix::fs::fsync(&folder).map_err(failed)
    }

    /// Writes the new content beside the file, with the mode and the group of the file.
    fn write_beside(&self, folder: &OwnedFd, name: &OsString, text: &str) -> std::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = if self.text.is_some() { 0o600 } else { 0o666 };
        let mut file = File::from(rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(mode))?);
        if self.text.is_some() {
            let old = rustix::fs::statat(folder, name_of(&self.real), AtFlags::SYMLINK_NOFOLLOW)?;
            if file.metadata()?.gid() != old.st_gid {
                rustix::fs::fchown(&file, None, Some(rustix::fs::Gid::from_raw(old.st_gid)))?;
            }
            rustix::fs::fchmod(&file, Mode::from_raw_mode(old.st_mode & 0o7777))?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }
}

fn name_of(path: &Path) -> OsString {
    path.file_name().unwrap_or_default().to_owned()
}

/// Resolves the links in the part of a path that exists.
fn resolve(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = existing else { return path.to_owned() };
    path.strip_prefix(above)
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty())
        .map_or(real.clone(), |rest| real.join(rest))
}

/// Opens a folder by its resolved path. A folder that became a link in the meantime is an error.
fn open_folder(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
    });
    let root = rustix::fs::openat(CWD, "/", flags | ON_THE_WAY, Mode::empty())?;
    let folder = names.into_iter().try_fold(root, |folder, name| {
        rustix::fs::openat(&folder, name, flags | ON_THE_WAY, Mode::empty())
    })?;
    rustix::fs::openat(&folder, ".", flags | OFlags::RDONLY, Mode::empty())
}

/// In a folder of another user, that user could replace the file.
fn is_ours(folder: &OwnedFd, path: &Path) -> Result<(), ConfigFileError> {
    let about = rustix::fs::fstat(folder);
    let owner = about.map_err(|error| ConfigFileError::Read(path.to_owned(), error.into()))?.st_uid;
    if owner == rustix::process::geteuid().as_raw() || owner == 0 {
        return Ok(());
    }
    Err(ConfigFileError::OtherOwner(path.to_owned()))
}

/// Reads a file of this user in an open folder. Returns `None` if there is no file.
fn content(folder: &OwnedFd, path: &Path) -> Result<Option<String>, ConfigFileError> {
    let failed = |error: std::io::Error| ConfigFileError::Read(path.to_owned(), error);
    // Without blocking: opening a named pipe must not make askfirst wait.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(folder, name_of(path), flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(failed(error.into())),
    };
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(ConfigFileError::NoFile(path.to_owned()));
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(ConfigFileError::OtherOwner(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ConfigFileError::TooLarge(path.to_owned()));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| ConfigFileError::NotText(path.to_owned()))
}
