//! Where configs and state lie on this machine, and whether somebody else could have written them.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::file::MAX_BYTES;

/// The places that a config is looked for in. A test brings its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The system's config.
    pub managed: PathBuf,
    /// The user's own config.
    pub user: PathBuf,
    /// The folder for ledger, pins, sockets and trust.
    pub state: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
}

impl Places {
    /// The usual places of this machine and user. Without a home they are where nothing can be, so that nothing
    /// is read from or written to a place that somebody else might own.
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

/// A file's bytes, read once, and what is known about who can write it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) bytes: Vec<u8>,
    /// Who else can write it, in words.
    pub(crate) open_to: Option<String>,
}

/// Reads a file; nothing if it is not there. A link that leads nowhere is there.
pub(crate) fn fetch(path: &Path) -> Result<Option<Found>, String> {
    // Without blocking, so that a pipe in the place of a file cannot hold us.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return if leads_nowhere(path) { Err("the link leads nowhere".to_owned()) } else { Ok(None) };
        }
        Err(error) => return Err(format!("it cannot be opened: {}", error.kind())),
    };
    let meta = file.metadata().map_err(|error| format!("it cannot be looked at: {}", error.kind()))?;
    if !meta.is_file() {
        return Err("it is not a file".to_owned());
    }
    let bytes =
        read_some(file, meta.len()).map_err(|error| format!("it cannot be read: {}", error.kind()))?;
    Ok(Some(Found { bytes, open_to: open_to(&meta, path) }))
}

/// Whether what is there of a path ends in a link to nothing.
fn leads_nowhere(path: &Path) -> bool {
    let there = path.ancestors().find(|above| above.symlink_metadata().is_ok());
    there.is_some_and(|above| above.is_symlink() && above.metadata().is_err())
}

fn read_some(file: File, size: u64) -> std::io::Result<Vec<u8>> {
    // One byte more than is allowed, so that too much is seen and not cut.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(MAX_BYTES).min(MAX_BYTES) + 1);
    file.take(u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_to(meta: &Metadata, path: &Path) -> Option<String> {
    if let Some(who) = writable_by(meta) {
        return Some(format!("the file can be written by {who}"));
    }
    let real = path.canonicalize().ok();
    let folder = real.as_deref().and_then(Path::parent).and_then(|folder| folder.metadata().ok());
    match folder {
        None => Some("its folder cannot be looked at".to_owned()),
        // In a sticky folder only the owner can replace the file.
        Some(folder) if folder.mode() & 0o1000 != 0 => None,
        Some(folder) => writable_by(&folder).map(|who| format!("its folder can be written by {who}")),
    }
}

/// Who else can write something: another owner, everybody, or a group that is not the user's own.
pub(crate) fn writable_by(meta: &Metadata) -> Option<&'static str> {
    let me = rustix::process::geteuid().as_raw();
    let own_group = meta.gid() == meta.uid() || meta.gid() == 0;
    if meta.uid() != me && meta.uid() != 0 {
        Some("another user, who owns it")
    } else if meta.mode() & 0o002 != 0 {
        Some("everybody")
    } else if meta.mode() & 0o020 != 0 && !own_group {
        Some("its group")
    } else {
        None
    }
}
