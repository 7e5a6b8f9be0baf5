//! The description of what a process in a sandbox may reach. Everything that is not granted does not exist for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::spec::Limits;

/// Everything that a process may reach. [`OSProfile::nothing`] grants only the paths that programs need to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OSProfile {
    /// Folders and files that the process may read and execute.
    pub readable: Vec<Grant>,
    /// Folders and files that the process may also change.
    pub writable: Vec<Grant>,
    /// Folders that the process may read, and write for itself alone: what it writes is gone when it ends. Package caches
    /// are such folders. Without own namespaces, or where no such layer can be mounted, the folder is read-only.
    pub scratch: Vec<Grant>,
    /// Copy-on-write views of writable grants. The process changes the layers, and the files stay as they are.
    /// A writable grant inside a viewed one that has no view itself is mounted directly.
    pub views: Vec<View>,
    /// Paths inside grants that are denied. They must exist, so the caller searches again before each start.
    pub denied: Vec<DeniedPath>,
    /// Read-only paths that programs need to start. Missing ones are skipped.
    pub system: Vec<PathBuf>,
    /// Links outside the grants, each with its target, so that a path through one leads where it leads outside. A link
    /// grants nothing.
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Paths of empty folders that only this process sees. They are deleted when it ends.
    pub private: Vec<PathBuf>,
    /// Folders that the process sees at other paths, writable. The content-only tier and macOS have neither these nor
    /// private folders.
    pub kept: Vec<KeptFolder>,
    /// Whether the process shares the network of this machine.
    pub network: Network,
    /// Resource limits. The stricter of these and the limits of the [`Spec`](crate::Spec) apply.
    pub limits: Limits,
    /// Names of the environment variables that the process gets. Other variables of the [`Spec`](crate::Spec) are removed.
    pub environment: Vec<OsString>,
    /// The descriptors that the process gets.
    pub descriptors: Descriptors,
    /// The user that the process runs as.
    pub user: User,
}

impl OSProfile {
    /// A profile without grants, network or environment variables.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            readable: Vec::new(),
            writable: Vec::new(),
            scratch: Vec::new(),
            views: Vec::new(),
            denied: Vec::new(),
            system: SYSTEM_PATHS.iter().map(PathBuf::from).collect(),
            links: Vec::new(),
            private: vec![PathBuf::from("/tmp")],
            kept: Vec::new(),
            network: Network::Own,
            limits: Limits::default(),
            environment: Vec::new(),
            descriptors: Descriptors::Standard,
            user: User::Same,
        }
    }

    /// Returns all grants, outer ones before those inside them.
    pub(crate) fn grants(&self) -> Vec<(&Grant, Mode)> {
        let readable = self.readable.iter().map(|grant| (grant, Mode::Read));
        let writable = self.writable.iter().map(|grant| (grant, Mode::Write));
        let scratch = self.scratch.iter().map(|grant| (grant, Mode::Scratch));
        let mut all: Vec<_> = readable.chain(writable).chain(scratch).collect();
        all.sort_by(|(a, _), (b, _)| depth(&a.path).cmp(&depth(&b.path)).then(a.path.cmp(&b.path)));
        all
    }

    /// The paths that are created in the folder kept at `at`, relative to it, so that something can be mounted there.
    ///
    /// They are empty folders and files, and links. `folder` is the working folder of the program. A search for the
    /// files that the process wrote skips these paths.
    #[must_use]
    pub fn mount_points_in(&self, at: &Path, folder: &Path) -> BTreeSet<PathBuf> {
        let grants = self.grants().into_iter().map(|(grant, _)| grant.path.as_path());
        let others = self.system.iter().chain(&self.private).chain(self.links.iter().map(|(path, _)| path));
        let others = others.map(PathBuf::as_path).chain(self.kept.iter().map(|kept| kept.at.as_path()));
        let inside = grants.chain(others).chain([folder]).filter_map(|path| path.strip_prefix(at).ok());
        let paths = inside.flat_map(Path::ancestors).filter(|path| !path.as_os_str().is_empty());
        paths.map(Path::to_owned).collect()
    }

    /// The private folders, without those whose place a kept one takes.
    pub(crate) fn private_folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.private.iter().filter(|path| self.kept.iter().all(|kept| kept.at != **path))
    }

    /// Whether a kept folder is the innermost mount around a path.
    pub(crate) fn is_kept(&self, path: &Path) -> bool {
        let kept = self.kept.iter().map(|kept| &kept.at).filter(|at| path.starts_with(at));
        let Some(kept) = kept.map(|at| depth(at)).max() else { return false };
        let grants = self.grants().into_iter().map(|(grant, _)| &grant.path);
        let mut others = grants.chain(&self.system).chain(self.private_folders());
        !others.any(|other| path.starts_with(other) && depth(other) > kept)
    }

    /// Returns the innermost grant that contains a path.
    pub(crate) fn grant_of(&self, path: &Path) -> Option<(&Grant, Mode)> {
        self.grants().into_iter().rfind(|(grant, _)| path.starts_with(&grant.path))
    }

    /// Returns the places inside grants that need a mount of their own, outer ones first.
    ///
    /// - A denied path gets a mount that denies it.
    /// - Each folder between a writable grant and a denied path gets a mount, since a mount point cannot be renamed.
    /// - Each folder between a writable grant and another grant inside it gets a mount too. Otherwise a process could move
    ///   the inner grant to a place with other rights.
    ///
    /// Each place occurs once, since a second mount would hide the mounts inside the first.
    pub(crate) fn covers(&self) -> Vec<(&Path, Option<Denial>)> {
        let mut points: BTreeMap<(usize, &Path), Option<Denial>> = BTreeMap::new();
        for denied in &self.denied {
            let Some((grant, mode)) = self.grant_of(&denied.path) else { continue };
            let point = points.entry((depth(&denied.path), &denied.path)).or_default();
            *point = (*point).max(Some(denied.what));
            let above = denied.path.ancestors().skip(1).take_while(|above| *above != grant.path);
            for above in above.filter(|_| mode != Mode::Read) {
                points.entry((depth(above), above)).or_default();
            }
        }
        for (inner, _) in self.grants() {
            let around = inner.path.parent().and_then(|above| self.grant_of(above));
            let Some((outer, Mode::Write | Mode::Scratch)) = around else { continue };
            let above = inner.path.ancestors().skip(1).take_while(|above| *above != outer.path);
            for above in above {
                points.entry((depth(above), above)).or_default();
            }
        }
        points.into_iter().map(|((_, path), denial)| (path, denial)).collect()
    }
}

/// The number of components of a path.
pub(crate) fn depth(path: &Path) -> usize {
    path.components().count()
}

/// Read-only paths that programs need to start. They are the same for every user and contain no personal files.
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

/// A file or folder that a process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// An absolute path without symbolic links.
    pub path: PathBuf,
    /// The file or folder that must be at this path. Another one at the same path is not granted.
    pub identity: Identity,
}

impl Grant {
    /// Grants the file or folder that is at a path now.
    ///
    /// # Errors
    ///
    /// Fails if nothing is there, or a symbolic link.
    pub fn of(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        let found = fs::symlink_metadata(&path)?;
        if found.is_symlink() {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        Ok(Self { identity: Identity { device: found.dev(), inode: found.ino() }, path })
    }
}

/// The device and inode numbers that identify a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The number of its file system.
    pub device: u64,
    /// Its number in that file system.
    pub inode: u64,
}

/// A copy-on-write view of a writable grant. Only the backend with own namespaces can make one.
///
/// The caller creates both layer folders, empty and for this one run, where no other process can change them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The path of the writable grant.
    pub root: PathBuf,
    /// The folder that gets what the process changes, in the format of overlayfs.
    pub upper: Grant,
    /// A folder on the same file system as `upper`, which the kernel uses while the process runs.
    pub work: Grant,
}

/// A folder of the caller that a process sees at another path, writable, for example to keep `/tmp` from run to run.
///
/// It takes the place of a private folder of the same path. Its size is not limited. If a grant lies inside `at`, its
/// place is created there; see [`OSProfile::mount_points_in`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFolder {
    /// The path at which the process sees the folder.
    pub at: PathBuf,
    /// The folder, which belongs to the user that the process runs as.
    pub folder: Grant,
}

/// A path inside a grant that is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeniedPath {
    /// An absolute path without symbolic links.
    pub path: PathBuf,
    /// The access that is denied.
    pub what: Denial,
}

/// The access that is denied at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Denial {
    /// Changing it, and renaming it or any folder above it.
    Write,
    /// Reading it, in addition to `Write`.
    All,
}

/// Whether a process may change what a grant contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    Read,
    /// The process can write, and its files are gone when it ends.
    Scratch,
    Write,
}

/// Whether a process shares the network of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Network {
    /// The process has its own network, without any other process in it.
    Own,
    /// The process shares the network of this machine.
    Shared,
}

/// The descriptors that a process gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descriptors {
    /// Only the three standard streams.
    Standard,
    /// The three standard streams, which may be the terminal that the process stays attached to.
    Terminal,
}

/// The user that a process runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The user of this process. Root runs without capabilities.
    Same,
    /// Another user. Only root can choose one.
    Other {
        /// The user id.
        user: u32,
        /// The group id.
        group: u32,
    },
}
