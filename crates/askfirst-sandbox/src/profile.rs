//! What a process behind walls may reach: data only. What is not granted here is not there for it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::spec::Limits;

/// Everything that a process may reach. [`OSProfile::nothing`] grants nothing but the paths that programs need to
/// start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OSProfile {
    /// Folders and files that may be read and executed.
    pub readable: Vec<Grant>,
    /// Folders and files that may also be changed.
    pub writable: Vec<Grant>,
    /// What is denied inside of what is granted. It must exist; whoever makes a profile looks again before each start.
    pub denied: Vec<Denied>,
    /// What programs need to start, read only. What of it does not exist is passed over.
    pub system: Vec<PathBuf>,
    /// Empty folders of its own, gone when it ends.
    pub private: Vec<PathBuf>,
    /// Whether it shares the network of this machine.
    pub network: Network,
    /// What it may use up; the stricter of these and those of the [`Spec`](crate::Spec) hold.
    pub limits: Limits,
    /// The names of variables that reach it; others of the [`Spec`](crate::Spec) do not.
    pub environment: Vec<OsString>,
    /// Which descriptors reach it.
    pub descriptors: Descriptors,
    /// Which user it runs as.
    pub user: User,
}

impl OSProfile {
    /// No root, no network, no variable.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            readable: Vec::new(),
            writable: Vec::new(),
            denied: Vec::new(),
            system: SYSTEM_PATHS.iter().map(PathBuf::from).collect(),
            private: vec![PathBuf::from("/tmp")],
            network: Network::Own,
            limits: Limits::default(),
            environment: Vec::new(),
            descriptors: Descriptors::Standard,
            user: User::Same,
        }
    }

    /// All grants, those that contain others first.
    pub(crate) fn grants(&self) -> Vec<(&Grant, Mode)> {
        let readable = self.readable.iter().map(|grant| (grant, Mode::Read));
        let writable = self.writable.iter().map(|grant| (grant, Mode::Write));
        let mut all: Vec<_> = readable.chain(writable).collect();
        all.sort_by(|(a, _), (b, _)| depth(&a.path).cmp(&depth(&b.path)).then(a.path.cmp(&b.path)));
        all
    }

    /// The innermost grant that contains a path.
    pub(crate) fn grant_of(&self, path: &Path) -> Option<(&Grant, Mode)> {
        self.grants().into_iter().rfind(|(grant, _)| path.starts_with(&grant.path))
    }

    /// Where something must be mounted over what is granted, from the outside in: on what is denied, and on the folders
    /// above it in what can be written, since a mount point cannot be moved. So it is above a grant inside of another:
    /// with the folder around it, it could be moved to where other rights hold. Each place comes once, or what is mounted
    /// later would hide what lies in it.
    pub(crate) fn covers(&self) -> Vec<(&Path, Option<Denial>)> {
        let mut points: BTreeMap<(usize, &Path), Option<Denial>> = BTreeMap::new();
        for denied in &self.denied {
            let Some((grant, mode)) = self.grant_of(&denied.path) else { continue };
            let point = points.entry((depth(&denied.path), &denied.path)).or_default();
            *point = (*point).max(Some(denied.what));
            let above = denied.path.ancestors().skip(1).take_while(|above| *above != grant.path);
            for above in above.filter(|_| mode == Mode::Write) {
                points.entry((depth(above), above)).or_default();
            }
        }
        for (inner, _) in self.grants() {
            let around = inner.path.parent().and_then(|above| self.grant_of(above));
            let Some((outer, Mode::Write)) = around else { continue };
            let above = inner.path.ancestors().skip(1).take_while(|above| *above != outer.path);
            for above in above {
                points.entry((depth(above), above)).or_default();
            }
        }
        points.into_iter().map(|((_, path), denial)| (path, denial)).collect()
    }
}

/// How many names a path has.
pub(crate) fn depth(path: &Path) -> usize {
    path.components().count()
}

/// What programs need to start: read only, the same for everybody, and nothing of a person's.
pub const SYSTEM_PATHS: [&str; 29] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
];

/// Something that is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Absolute, without symbolic links.
    pub path: PathBuf,
    /// Which file or folder it must be; another one at this path is not granted.
    pub is: Identity,
}

impl Grant {
    /// What lies at a path now.
    ///
    /// # Errors
    ///
    /// If nothing does, or a symbolic link.
    pub fn of(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let found = fs::symlink_metadata(&path)?;
        if found.is_symlink() {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        Ok(Self { is: Identity { device: found.dev(), inode: found.ino() }, path })
    }
}

/// What tells a file or folder from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The number of its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// Something that is denied inside of what is granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Absolute, without symbolic links.
    pub path: PathBuf,
    /// What is denied.
    pub what: Denial,
}

/// What is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Denial {
    /// Changing it, and moving it or any folder above it.
    Write,
    /// That and reading it.
    All,
}

/// Whether a grant may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    Read,
    Write,
}

/// Whether a process shares the network of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Network {
    /// It has a network of its own with nobody else in it.
    Own,
    /// It shares this machine's.
    Shared,
}

/// Which descriptors reach a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descriptors {
    /// The three standard streams.
    Standard,
    /// Those, and they may be the terminal that it stays attached to.
    Terminal,
}

/// Which user a process runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The one of this process. If that is root: without any capability.
    Same,
    /// Another, which only root can choose.
    Other {
        /// The user's number.
        user: u32,
        /// The group's number.
        group: u32,
    },
}
