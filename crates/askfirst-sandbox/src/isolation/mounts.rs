//! Builds the file tree that a program sees: an empty root that contains only what is granted.
//!
//! All mounts use descriptors. Nothing is created in a tree that another process can write, and no symbolic link is
//! followed.

mod grants;
mod kernel_mounts;
mod links;
mod scratch;

use std::collections::HashMap;
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use grants::{copy, pick_grant, pick_kept};
pub(super) use kernel_mounts::KernelMounts;

use super::order::{Order, SetupError};
use super::sys::{self, MountScope, NO_DEVICES, NO_PROGRAMS, NO_SET_ID, READ_ONLY};
use crate::error::escape;
use crate::profile::{Denial, Descriptors, Mode, depth};

/// Devices that every program may use. They give access to nothing else.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Files in `/proc` about the whole machine that every user can read and no program needs.
pub(super) const PROC_COVERED: [&CStr; 6] =
    [c"keys", c"key-users", c"kallsyms", c"sched_debug", c"iomem", c"ioports"];

/// More such files, which only root can read.
pub(super) const PROC_OF_ROOT: [&CStr; 10] = [
    c"kcore",
    c"kmsg",
    c"timer_list",
    c"sysrq-trigger",
    c"kpagecount",
    c"kpageflags",
    c"kpagecgroup",
    c"pagetypeinfo",
    c"vmallocinfo",
    c"slabinfo",
];

/// The folder with the empty file and folder that cover denied paths.
const COVERS: &str = "/.sandbox";

fn mounting(path: &Path) -> impl FnOnce(io::Error) -> SetupError + use<> {
    let step = format!("mounting `{}`", escape(path));
    move |cause| SetupError { step, cause }
}

/// The new root while it is being built.
struct TreeBuilder<'a> {
    order: &'a Order,
    root: OwnedFd,
    /// The file systems that this helper has created. New files and folders are created only there.
    ours: Vec<u64>,
    folders: HashMap<PathBuf, OwnedFd>,
}

/// Builds the tree and moves into it, in a process with new mount and pid namespaces.
///
/// Calls `moved` as soon as the new root is in place, with the mounts that another thread may put in place meanwhile.
/// After that, the caller detaches the old tree with [`detach_old_tree`].
pub(super) fn build(order: &Order, moved: impl FnOnce(Option<Arc<KernelMounts>>)) -> Result<(), SetupError> {
    let profile = &order.profile;
    sys::keep_mounts_private().map_err(SetupError::at("isolating the mounts"))?;
    // Open everything that is needed from the old tree before anything is covered.
    let system =
        profile.system.iter().filter_map(|path| SystemEntry::pick(path, &profile.system).transpose());
    let system = system.collect::<Result<Vec<_>, _>>()?;
    let grants = profile
        .grants()
        .into_iter()
        .map(|(grant, mode)| Ok((grant, mode, pick_grant(profile, grant, mode)?)));
    let grants = grants.collect::<Result<Vec<_>, SetupError>>()?;
    let kept = profile.kept.iter().map(|kept| Ok((kept.at.as_path(), pick_kept(kept)?)));
    let kept = kept.collect::<Result<Vec<_>, SetupError>>()?;
    let devices = devices(order)?;
    let proc = new_proc()?;
    let grants = scratch::add_layers(profile, grants)?;

    let made = |step: &'static str| SetupError::at::<io::Error>(step);
    let root = sys::new_mount(c"tmpfs", &[(c"mode", c"0755")], NO_SET_ID | NO_DEVICES)
        .map_err(made("creating an empty root"))?;
    let place = sys::open_path(libc::AT_FDCWD, c"/proc").map_err(made("creating an empty root"))?;
    sys::attach(root.as_fd(), place.as_fd()).map_err(made("attaching the root"))?;
    let ours = vec![device_of(root.as_fd()).map_err(made("inspecting the root"))?];
    sys::change_root(root.as_fd()).map_err(made("changing the root"))?;
    let mut builder = TreeBuilder { order, root, ours, folders: HashMap::new() };
    builder.covers()?;
    let root = builder.root.try_clone().map_err(made("duplicating the root descriptor"))?;
    let kernel_mounts = Arc::new(KernelMounts::new(root, devices, proc));
    moved(kernel_mounts::is_independent(order).then(|| kernel_mounts.clone()));

    builder.system(system)?;
    builder.private(kept)?;
    for (grant, mount) in &grants {
        let entry_kind = entry_kind(mount.as_fd()).map_err(mounting(&grant.path))?;
        let onto = builder.place(&grant.path, entry_kind).map_err(mounting(&grant.path))?;
        sys::attach(mount.as_fd(), onto.as_fd()).map_err(mounting(&grant.path))?;
    }
    builder.links()?;
    builder.denials()?;
    kernel_mounts.attach(order)?;
    builder.place(&order.folder, EntryKind::Folder).map_err(mounting(&order.folder))?;
    kernel_mounts.wait();
    builder.close()
}

/// A system path, opened in the old tree.
enum SystemEntry {
    Mount(PathBuf, OwnedFd, EntryKind),
    /// A link such as `/bin`, created again unchanged, or a link to another system path.
    Link(PathBuf, PathBuf),
}

impl SystemEntry {
    fn pick(path: &Path, all: &[PathBuf]) -> Result<Option<Self>, SetupError> {
        let copy = |path: &Path| {
            let copy = sys::copy_path(libc::AT_FDCWD, &sys::c_path(path)?)?;
            sys::set_attributes(copy.as_fd(), READ_ONLY | NO_SET_ID | NO_DEVICES, MountScope::Tree)?;
            let kind = sys::stat(copy.as_fd())?.st_mode & libc::S_IFMT;
            Ok((copy, kind))
        };
        // Check for a link first, since the kernel takes long to release a copy that is not used.
        let found = match fs::read_link(path) {
            Ok(to) if path.parent() == Some(Path::new("/")) => {
                return Ok(Some(Self::Link(path.to_owned(), to)));
            }
            // Links in `/etc` point to files elsewhere. Those files are mounted here, unless another system path contains them.
            Ok(_) => match fs::canonicalize(path) {
                Ok(real) if all.iter().any(|other| other != path && real.starts_with(other)) => {
                    return Ok(Some(Self::Link(path.to_owned(), real)));
                }
                real => real.and_then(|real| copy(&real)),
            },
            Err(cause) if is_absent(&cause) => return Ok(None),
            Err(_) => copy(path),
        };
        match found {
            // The link was created after the check above.
            Ok((_, libc::S_IFLNK)) => Err(mounting(path)(io::Error::from_raw_os_error(libc::ELOOP))),
            Ok((mount, libc::S_IFDIR)) => Ok(Some(Self::Mount(path.to_owned(), mount, EntryKind::Folder))),
            Ok((mount, _)) => Ok(Some(Self::Mount(path.to_owned(), mount, EntryKind::File))),
            Err(cause) if is_absent(&cause) => Ok(None),
            Err(cause) => Err(mounting(path)(cause)),
        }
    }
}

fn is_absent(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn devices(order: &Order) -> Result<Vec<(CString, OwnedFd)>, SetupError> {
    let terminal = match order.profile.descriptors {
        Descriptors::Standard => None,
        Descriptors::Terminal => Some("tty"),
    };
    let pick = |name: &str| {
        let copy = sys::copy_path(libc::AT_FDCWD, &CString::new(format!("/dev/{name}"))?)?;
        // A device on a read-only mount can be written, but its mode, owner and times cannot be changed.
        sys::set_attributes(copy.as_fd(), READ_ONLY | NO_SET_ID | NO_PROGRAMS, MountScope::Mount)?;
        Ok((CString::new(name)?, copy))
    };
    let picked = DEVICES
        .into_iter()
        .chain(terminal)
        .map(|name| pick(name).map_err(SetupError::at::<io::Error>(format!("mounting `/dev/{name}`"))));
    picked.collect()
}

/// Makes the devices that bubblewrap has mounted read-only. In the worst case that makes them unusable.
///
/// Only root owns devices, and only root may do this there.
pub(super) fn make_devices_read_only() -> Result<(), SetupError> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    for path in DEVICES.into_iter().chain(["tty"]).map(|name| Path::new("/dev").join(name)) {
        let device = sys::c_path(&path).and_then(|path| sys::open_path(libc::AT_FDCWD, &path));
        device
            .and_then(|device| sys::set_attributes(device.as_fd(), READ_ONLY, MountScope::Mount))
            .map_err(mounting(&path))?;
    }
    Ok(())
}

fn new_proc() -> Result<OwnedFd, SetupError> {
    sys::new_mount(c"proc", &[], READ_ONLY | NO_SET_ID | NO_DEVICES | NO_PROGRAMS)
        .map_err(SetupError::at("mounting `/proc`"))
}

fn device_of(handle: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(sys::stat(handle)?.st_dev)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Folder,
    File,
}

fn entry_kind(handle: BorrowedFd<'_>) -> io::Result<EntryKind> {
    let folder = sys::stat(handle)?.st_mode & libc::S_IFMT == libc::S_IFDIR;
    Ok(if folder { EntryKind::Folder } else { EntryKind::File })
}

impl TreeBuilder<'_> {
    /// Opens the place at a path. Creates it if it is missing, but only in our own file systems and in kept folders.
    fn place(&self, path: &Path, kind: EntryKind) -> io::Result<OwnedFd> {
        let relative = relative(path)?;
        match sys::open_path(self.root.as_raw_fd(), &relative) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        let mut names: Vec<&OsStr> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(name),
                Component::RootDir | Component::CurDir | Component::ParentDir | Component::Prefix(_) => None,
            })
            .collect();
        let Some(last) = names.pop() else { return Err(io::ErrorKind::InvalidInput.into()) };
        let mut within: Option<OwnedFd> = None;
        let mut folder = PathBuf::from("/");
        for name in names {
            let at = within.as_ref().map_or(self.root.as_fd(), AsFd::as_fd);
            within = Some(self.step(at, &folder, name, EntryKind::Folder)?);
            folder.push(name);
        }
        self.step(within.as_ref().map_or(self.root.as_fd(), AsFd::as_fd), &folder, last, kind)
    }

    /// Whether something may be created in the folder at this path, which this handle holds.
    fn may_create(&self, at: BorrowedFd<'_>, folder: &Path) -> io::Result<bool> {
        Ok(self.ours.contains(&device_of(at)?) || self.order.profile.is_kept(folder))
    }

    fn step(&self, at: BorrowedFd<'_>, folder: &Path, name: &OsStr, kind: EntryKind) -> io::Result<OwnedFd> {
        let name = CString::new(name.as_bytes())?;
        match sys::open_path(at.as_raw_fd(), &name) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        if !self.may_create(at, folder)? {
            return Err(io::Error::from_raw_os_error(libc::ENOENT));
        }
        let created = match kind {
            EntryKind::Folder => sys::make_folder(at.as_raw_fd(), &name, 0o755),
            EntryKind::File => sys::make_file(at.as_raw_fd(), &name, 0o644),
        };
        match created {
            // Another sandbox with the same kept folder has just created it.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            created => created?,
        }
        sys::open_path(at.as_raw_fd(), &name)
    }

    fn system(&mut self, parts: Vec<SystemEntry>) -> Result<(), SetupError> {
        for part in parts {
            match part {
                SystemEntry::Link(path, to) => {
                    self.link(&path, &to)
                        .map_err(SetupError::at(format!("creating the link `{}`", escape(&path))))?;
                }
                SystemEntry::Mount(path, mount, kind) => {
                    self.put(&path, &mount, kind).map_err(mounting(&path))?;
                }
            }
        }
        self.folders.clear();
        Ok(())
    }

    /// Attaches a mount at a path in one of our own folders.
    fn put(&mut self, path: &Path, mount: &OwnedFd, kind: EntryKind) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        match kind {
            EntryKind::Folder => sys::make_folder(folder.as_raw_fd(), &name, 0o755)?,
            EntryKind::File => sys::make_file(folder.as_raw_fd(), &name, 0o644)?,
        }
        sys::attach_at(mount.as_fd(), folder.as_fd(), &name)
    }

    fn link(&mut self, path: &Path, to: &Path) -> io::Result<()> {
        let (folder, name) = self.above(path)?;
        sys::make_link(&sys::c_path(to)?, folder.as_raw_fd(), &name)
    }

    /// Returns the folder of a path and its name there. Folders are cached, since many paths share one.
    fn above(&mut self, path: &Path) -> io::Result<(BorrowedFd<'_>, CString)> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let folder = match self.folders.remove(above) {
            Some(folder) => folder,
            None if above.parent().is_none() => sys::open_path(self.root.as_raw_fd(), c".")?,
            None => self.place(above, EntryKind::Folder)?,
        };
        let folder: &OwnedFd = self.folders.entry(above.to_owned()).or_insert(folder);
        Ok((folder.as_fd(), CString::new(name.as_bytes())?))
    }

    /// Mounts the private folders and the kept ones, and links `/var/tmp` to `/tmp`.
    fn private(&mut self, kept: Vec<(&Path, OwnedFd)>) -> Result<(), SetupError> {
        let profile = &self.order.profile;
        let size = self.order.profile.limits.memory.map(|bytes| bytes.to_string());
        let size = size.map(CString::new).transpose().unwrap_or_default();
        let mut options = vec![(c"mode", c"1777")];
        options.extend(size.as_deref().map(|size| (c"size", size)));
        let private = profile.private_folders().map(|path| (path.as_path(), None));
        let mut all: Vec<_> = private.chain(kept.into_iter().map(|(at, kept)| (at, Some(kept)))).collect();
        all.sort_by_key(|(path, _)| depth(path));
        let known = all.iter().any(|(path, _)| path.starts_with("/var"));
        for (path, kept) in all {
            let onto = self.place(path, EntryKind::Folder).map_err(mounting(path))?;
            if let Some(kept) = kept {
                sys::attach(kept.as_fd(), onto.as_fd()).map_err(mounting(path))?;
                continue;
            }
            let mount = sys::new_mount(c"tmpfs", &options, NO_SET_ID | NO_DEVICES).map_err(mounting(path))?;
            sys::attach(mount.as_fd(), onto.as_fd()).map_err(mounting(path))?;
            self.ours.push(device_of(mount.as_fd()).map_err(mounting(path))?);
        }
        let other = Path::new("/var/tmp");
        if !known && profile.grant_of(other).is_none() {
            self.place(Path::new("/var"), EntryKind::Folder).map_err(mounting(other))?;
            sys::make_link(c"../tmp", self.root.as_raw_fd(), c"var/tmp").map_err(mounting(other))?;
        }
        Ok(())
    }

    /// Creates an empty file and an empty folder that cannot be opened, on their own mount. Copies of it are equally closed.
    fn covers(&self) -> Result<(), SetupError> {
        let make = || {
            let folder = self.place(Path::new(COVERS), EntryKind::Folder)?;
            sys::make_folder(folder.as_raw_fd(), c"folder", 0)?;
            sys::make_file(folder.as_raw_fd(), c"file", 0)?;
            let copy = sys::copy_tree(folder.as_fd())?;
            let closed = READ_ONLY | NO_SET_ID | NO_DEVICES | NO_PROGRAMS;
            sys::set_attributes(copy.as_fd(), closed, MountScope::Mount)?;
            sys::attach(copy.as_fd(), folder.as_fd())
        };
        make().map_err(SetupError::at("creating the covers"))
    }

    fn new_cover(&self, kind: EntryKind) -> io::Result<OwnedFd> {
        let name = match kind {
            EntryKind::Folder => c".sandbox/folder",
            EntryKind::File => c".sandbox/file",
        };
        sys::copy_path(self.root.as_raw_fd(), name)
    }

    fn cover(&self, onto: &OwnedFd) -> io::Result<()> {
        let cover = self.new_cover(entry_kind(onto.as_fd())?)?;
        sys::attach(cover.as_fd(), onto.as_fd())
    }

    /// Covers what must not be read, mounts read-only what must not be written, and pins the folders above: a mount point
    /// cannot be renamed.
    fn denials(&self) -> Result<(), SetupError> {
        let mut whole: Vec<&Path> = Vec::new();
        for (path, denial) in self.order.profile.covers() {
            if whole.iter().any(|covered| path.starts_with(covered)) {
                continue;
            }
            let covered = self.deny(path, denial);
            whole.extend(covered.map_err(SetupError::at(format!("denying `{}`", escape(path))))?);
        }
        Ok(())
    }

    /// Denies one path.
    ///
    /// If a closed folder hides the path, denies the nearest reachable folder above it and returns that folder. The owner
    /// could open the closed folder later.
    fn deny<'p>(&self, path: &'p Path, denial: Option<Denial>) -> io::Result<Option<&'p Path>> {
        let handle = match sys::open_path(self.root.as_raw_fd(), &relative(path)?) {
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
                let profile = &self.order.profile;
                let grants = profile.grants();
                let is_grant = |path: &Path| grants.iter().any(|(grant, _)| grant.path == path);
                let above = path.parent().filter(|above| !is_grant(above));
                let above = above.filter(|above| profile.grant_of(above).is_some()).ok_or(cause)?;
                return self.deny(above, Some(Denial::All)).map(|further| further.or(Some(above)));
            }
            found => found?,
        };
        let kind = sys::stat(handle.as_fd())?.st_mode & libc::S_IFMT;
        let same = |mode| sys::attach(copy(&handle, mode)?.as_fd(), handle.as_fd());
        match (denial, kind) {
            (_, libc::S_IFLNK) => return Err(io::Error::from_raw_os_error(libc::ELOOP)),
            (None, _) => same(Mode::Write)?,
            (Some(Denial::Write), libc::S_IFREG | libc::S_IFDIR) => same(Mode::Read)?,
            // Pipes and other special files can be written even on a read-only mount.
            (Some(Denial::Write | Denial::All), _) => self.cover(&handle)?,
        }
        Ok(None)
    }

    fn dev(&self, devices: Vec<(CString, OwnedFd)>) -> Result<(), SetupError> {
        let make = || {
            let dev = self.place(Path::new("/dev"), EntryKind::Folder)?;
            for (name, mount) in &devices {
                sys::make_file(dev.as_raw_fd(), name, 0o666)?;
                sys::attach_at(mount.as_fd(), dev.as_fd(), name)?;
            }
            let links = [
                (c"/proc/self/fd", c"fd"),
                (c"/proc/self/fd/0", c"stdin"),
                (c"/proc/self/fd/1", c"stdout"),
                (c"/proc/self/fd/2", c"stderr"),
                (c"/tmp", c"shm"),
                (c"pts/ptmx", c"ptmx"),
            ];
            for (to, name) in links {
                sys::make_link(to, dev.as_raw_fd(), name)?;
            }
            let options = [(c"ptmxmode", c"0666"), (c"mode", c"0620")];
            let pts = sys::new_mount(c"devpts", &options, NO_SET_ID | NO_PROGRAMS)?;
            sys::make_folder(dev.as_raw_fd(), c"pts", 0o755)?;
            sys::attach_at(pts.as_fd(), dev.as_fd(), c"pts")
        };
        make().map_err(SetupError::at("creating `/dev`"))
    }

    fn proc(&self, proc: OwnedFd) -> Result<(), SetupError> {
        let make = || -> io::Result<()> {
            let onto = self.place(Path::new("/proc"), EntryKind::Folder)?;
            sys::attach(proc.as_fd(), onto.as_fd())?;
            let of_root = rustix::process::geteuid().is_root().then_some(PROC_OF_ROOT);
            // If a file is missing, use its cover for the next one: the kernel takes long to release an unused one.
            let mut names = PROC_COVERED.into_iter().chain(of_root.into_iter().flatten()).peekable();
            let mut cover = None;
            while let Some(name) = names.next() {
                if names.peek().is_none() && !sys::exists(proc.as_fd(), name)? {
                    break;
                }
                let with = cover.take().map_or_else(|| self.new_cover(EntryKind::File), Ok)?;
                match sys::attach_at(with.as_fd(), proc.as_fd(), name) {
                    Err(cause) if cause.kind() == io::ErrorKind::NotFound => cover = Some(with),
                    done => done?,
                }
            }
            Ok(())
        };
        make().map_err(SetupError::at("creating `/proc`"))
    }

    fn close(self) -> Result<(), SetupError> {
        sys::set_attributes(self.root.as_fd(), READ_ONLY, MountScope::Mount)
            .map_err(SetupError::at("making the root read-only"))
    }
}

/// Detaches the old tree, so that nothing in it can be reached any more.
pub(super) fn detach_old_tree() -> Result<(), SetupError> {
    sys::detach_old_root().map_err(SetupError::at("detaching the old root"))
}

/// Returns the path relative to the root.
fn relative(path: &Path) -> io::Result<CString> {
    let relative = path.strip_prefix("/").map_err(|_| io::ErrorKind::InvalidInput)?;
    if relative.as_os_str().is_empty() { Ok(c".".to_owned()) } else { sys::c_path(relative) }
}
