//! Finds the config files and the state folder on this machine, and checks who else can write a config.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::file::MAX_BYTES;

/// The paths of the config files and of the state folder. A test sets its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The managed config, which the administrator of the machine writes.
    pub managed: PathBuf,
    /// The user's config.
    pub user: PathBuf,
    /// The folder for the audit log, pins, sockets and trust.
    pub state: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
}

impl Places {
    /// Returns the default paths for this machine and user.
    ///
    /// Without a home folder, the user's paths are below `/dev/null`, where no file can exist.
    /// So askfirst never uses a folder that another user might own.
    #[must_use]
    pub fn from_env() -> Self {
        let absolute =
            |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let nowhere = PathBuf::from("/dev/null");
        let below = |name: &str, usual: &str| {
            let folder = absolute(name).or_else(|| Some(home.as_ref()?.join(usual)));
            folder.unwrap_or_else(|| nowhere.clone()).join("askfirst")
        };
        Self {
            managed: PathBuf::from("/etc/askfirst/askfirst.yaml"),
            user: below("XDG_CONFIG_HOME", ".config").join("askfirst.yaml"),
            state: below("XDG_STATE_HOME", ".local/state"),
            home,
        }
    }
}

/// The content of a config file, and who else can write that file.
#[derive(Debug)]
pub(crate) struct RawConfig {
    pub(crate) bytes: Vec<u8>,
    /// A sentence that says which other users can write the file or replace it.
    pub(crate) other_writers: Option<String>,
}

/// Reads a config file. Returns `None` if there is no file, and an error for a broken link.
pub(crate) fn fetch(path: &Path) -> Result<Option<RawConfig>, String> {
    // Without blocking: opening a named pipe must not make askfirst wait.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return if is_broken_link(path) { Err(BROKEN_LINK.to_owned()) } else { Ok(None) };
        }
        Err(error) => return Err(format!("cannot open the file: {}", error.kind())),
    };
    let meta = file.metadata().map_err(|error| format!("cannot inspect the file: {}", error.kind()))?;
    if !meta.is_file() {
        return Err("this is not a regular file".to_owned());
    }
    let bytes =
        read_limited(file, meta.len()).map_err(|error| format!("cannot read the file: {}", error.kind()))?;
    Ok(Some(RawConfig { bytes, other_writers: other_writers(&meta, path) }))
}

/// The error message for a config file that is a broken link.
pub(crate) const BROKEN_LINK: &str = "broken link: its target does not exist";

/// Returns true if the existing part of a path ends in a link whose target does not exist.
fn is_broken_link(path: &Path) -> bool {
    let existing = path.ancestors().find(|above| above.symlink_metadata().is_ok());
    existing.is_some_and(|above| above.is_symlink() && above.metadata().is_err())
}

fn read_limited(file: File, size: u64) -> std::io::Result<Vec<u8>> {
    // Reads one byte more than allowed. The caller then sees that the file is too large.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(MAX_BYTES).min(MAX_BYTES) + 1);
    file.take(u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn other_writers(meta: &Metadata, path: &Path) -> Option<String> {
    if let Some(who) = writable_by(meta) {
        return Some(format!("the file is writable by {who}"));
    }
    let real = path.canonicalize().ok();
    let folder = real.as_deref().and_then(Path::parent).and_then(|folder| folder.metadata().ok());
    match folder {
        None => Some("its folder cannot be inspected".to_owned()),
        // In a sticky folder only the owner can replace the file.
        Some(folder) if folder.mode() & 0o1000 != 0 => None,
        Some(folder) => writable_by(&folder).map(|who| format!("its folder is writable by {who}")),
    }
}

/// Returns who else can write a file or folder: another owner, everyone, or a group other than the user's own.
pub(crate) fn writable_by(meta: &Metadata) -> Option<&'static str> {
    let me = rustix::process::geteuid().as_raw();
    let own_group = meta.gid() == meta.uid() || meta.gid() == 0;
    if meta.uid() != me && meta.uid() != 0 {
        Some("another user, its owner")
    } else if meta.mode() & 0o002 != 0 {
        Some("everyone")
    } else if meta.mode() & 0o020 != 0 && !own_group {
        Some("its group")
    } else {
        None
    }
}
