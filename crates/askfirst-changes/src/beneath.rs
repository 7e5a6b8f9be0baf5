//! All that touches the disk, always beneath a folder that is already open.
//!
//! No lookup follows a link, leaves its folder or enters another mount. Every change goes through a [`Disk`].

use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, RenameFlags, ResolveFlags, Stat, StatxFlags, XattrFlags,
};
use rustix::io::Errno;
use rustix::path::DecInt;

use crate::disk::Disk;

/// The longest path that a lookup takes.
pub(crate) const MAX_PATH: usize = 4000;

/// How often to try again if another process renames folders during the lookup.
const TRIES: usize = 32;

fn open(folder: impl AsFd, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    let path = if path.is_empty() { b"." } else { path };
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut tried = 0;
    loop {
        match rustix::fs::openat2(&folder, path, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) if tried < TRIES => tried += 1,
            opened => return opened,
        }
    }
}

/// Opens a folder for reading.
pub(crate) fn open_folder(folder: impl AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    open(folder, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a folder for lookups only.
pub(crate) fn open_lookup(folder: impl AsFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    open(folder, path, OFlags::PATH | OFlags::DIRECTORY)
}

/// Opens a file for reading. Never waits for the other end of a pipe, and never takes over a terminal.
pub(crate) fn open_file(folder: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    open(folder, name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
}

/// Inspects a name in a folder without following a link. Returns `None` if there is no such name.
pub(crate) fn stat(folder: impl AsFd, name: &[u8]) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An open folder and a name in it.
pub(crate) type Spot<'a> = (&'a OwnedFd, &'a [u8]);

/// A name in a folder, and whether it is surely a regular file's.
pub(crate) type NameInFolder = (Vec<u8>, bool);

/// Returns the names in a folder in order. Stops after more than `limit` names.
pub(crate) fn typed_names(folder: BorrowedFd<'_>, limit: usize) -> Result<Vec<NameInFolder>, Errno> {
    let mut buffer = [MaybeUninit::<u8>::uninit(); 16384];
    let mut found = Vec::new();
    rustix::fs::seek(folder, rustix::fs::SeekFrom::Start(0))?;
    let mut entries = RawDir::new(folder, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            found.push((name.to_vec(), entry.file_type() == FileType::RegularFile));
        }
        if found.len() > limit {
            break;
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Returns all names in a folder in order.
pub(crate) fn names(folder: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>, Errno> {
    Ok(typed_names(folder, usize::MAX)?.into_iter().map(|(name, _)| name).collect())
}

/// Splits a path into its folder and its name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default()),
        None => (b"", path),
    }
}

/// The way to an open object, for calls that take no descriptor.
fn magic_path(object: BorrowedFd<'_>) -> String {
    ["/proc/self/fd/", DecInt::from_fd(object).as_str()].concat()
}

/// Opens an object of any kind without touching it.
pub(crate) fn open_any(folder: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    open(folder, name, OFlags::PATH)
}

/// Returns the names of the extended attributes of exactly this object. `read` tells whether it is open for reading.
pub(crate) fn attribute_names(object: impl AsFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut buffer = [0_u8; 512];
    let split =
        |list: &[u8]| list.split(|byte| *byte == 0).filter(|n| !n.is_empty()).map(<[u8]>::to_vec).collect();
    match rustix::fs::flistxattr(&object, &mut buffer) {
        Ok(length) => Ok(split(buffer.get(..length).unwrap_or_default())),
        // An object that is only open for lookups.
        Err(Errno::BADF) => {
            let path = magic_path(object.as_fd());
            let mut list = vec![0; 65536];
            let length = rustix::fs::listxattr(path, &mut list)?;
            Ok(split(list.get(..length).unwrap_or_default()))
        }
        Err(Errno::RANGE) => {
            let mut list = vec![0; 65536];
            let length = rustix::fs::flistxattr(object, &mut list)?;
            Ok(split(list.get(..length).unwrap_or_default()))
        }
        Err(Errno::NOTSUP) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the value of an extended attribute of an object that is open for reading.
pub(crate) fn attribute(object: impl AsFd, name: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut value = vec![0; 65536];
    let length = rustix::fs::fgetxattr(object, name, &mut value)?;
    value.truncate(length);
    Ok(value)
}

/// Reads a whole file.
pub(crate) fn read_whole(folder: impl AsFd, name: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut bytes = Vec::new();
    let read = std::fs::File::from(open_file(folder, name)?).read_to_end(&mut bytes);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(bytes)
}

/// Returns true if a rename from one folder to the other can work.
pub(crate) fn on_same_mount(one: impl AsFd, other: impl AsFd) -> Result<bool, Errno> {
    let of = |folder: BorrowedFd<'_>| {
        let found = rustix::fs::statx(folder, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
        Ok::<_, Errno>((found.stx_mnt_id, found.stx_dev_major, found.stx_dev_minor))
    };
    Ok(of(one.as_fd())? == of(other.as_fd())?)
}

impl Disk {
    /// Sets the permission bits of exactly this object.
    pub(crate) fn set_mode(self, object: impl AsFd, mode: u32) -> Result<(), Errno> {
        self.begin_change()?;
        rustix::fs::chmod(magic_path(object.as_fd()), Mode::from_raw_mode(mode & 0o7777))
    }

    /// Sets the modification time of exactly this object.
    pub(crate) fn set_modified(self, object: impl AsFd, modified: (i64, u32)) -> Result<(), Errno> {
        self.begin_change()?;
        let time = rustix::fs::Timespec { tv_sec: modified.0, tv_nsec: i64::from(modified.1) };
        let times = rustix::fs::Timestamps {
            last_access: rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT },
            last_modification: time,
        };
        rustix::fs::utimensat(rustix::fs::CWD, magic_path(object.as_fd()), &times, AtFlags::empty())
    }

    /// Removes one extended attribute of exactly this object.
    pub(crate) fn remove_attribute(self, object: impl AsFd, name: &[u8]) -> Result<(), Errno> {
        self.begin_change()?;
        match rustix::fs::removexattr(magic_path(object.as_fd()), name) {
            Err(Errno::NODATA) => Ok(()),
            done => done,
        }
    }

    /// Sets one extended attribute of an open file or folder.
    pub(crate) fn set_attribute(self, object: impl AsFd, name: &[u8], value: &[u8]) -> Result<(), Errno> {
        self.begin_change()?;
        rustix::fs::fsetxattr(object, name, value, XattrFlags::empty())
    }

    /// Renames to a name that does not exist yet.
    pub(crate) fn rename_new(self, from: Spot<'_>, to: Spot<'_>) -> Result<(), Errno> {
        self.begin_change()?;
        rustix::fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE)
    }

    /// Exchanges two objects in one step.
    pub(crate) fn exchange(self, one: Spot<'_>, other: Spot<'_>) -> Result<(), Errno> {
        self.begin_change()?;
        rustix::fs::renameat_with(one.0, one.1, other.0, other.1, RenameFlags::EXCHANGE)
    }

    /// Renames within a folder and replaces what has the new name.
    pub(crate) fn rename_over(self, folder: &OwnedFd, from: &[u8], to: &[u8]) -> Result<(), Errno> {
        self.begin_change()?;
        rustix::fs::renameat(folder, from, folder, to)
    }

    /// Makes a folder, and fails if the name exists.
    pub(crate) fn make_folder(self, folder: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
        self.begin_change()?;
        rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o700))?;
        open_folder(folder, name)
    }

    /// Opens a folder, or makes it.
    pub(crate) fn make_or_open_folder(self, folder: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
        match self.make_folder(&folder, name) {
            Err(Errno::EXIST) => open_folder(folder, name),
            made => made,
        }
    }

    /// Makes a new file for writing.
    pub(crate) fn make_file(self, folder: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
        self.begin_change()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o600))
    }

    /// Writes all bytes.
    pub(crate) fn write(self, file: impl AsFd, mut bytes: &[u8]) -> Result<(), Errno> {
        self.begin_change()?;
        while !bytes.is_empty() {
            match rustix::io::write(&file, bytes) {
                Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes a file that replaces the one of this name as a whole, and syncs it.
    pub(crate) fn write_whole(self, folder: &OwnedFd, name: &[u8], bytes: &[u8]) -> Result<(), Errno> {
        let temporary = [name, b".tmp"].concat();
        self.remove(folder, &temporary, AtFlags::empty())?;
        let file = self.make_file(folder, &temporary)?;
        self.write(&file, bytes)?;
        self.sync(&file)?;
        self.rename_over(folder, &temporary, name)
    }

    /// Removes a name. A name that does not exist counts as removed.
    pub(crate) fn remove(self, folder: impl AsFd, name: &[u8], flags: AtFlags) -> Result<(), Errno> {
        self.begin_change()?;
        match rustix::fs::unlinkat(folder, name, flags) {
            Err(Errno::NOENT) => Ok(()),
            done => done,
        }
    }

    /// Writes a file, or the names in a folder, to the disk.
    pub(crate) fn sync(self, object: impl AsFd) -> Result<(), Errno> {
        self.begin_change()?;
        rustix::fs::fsync(object)
    }

    /// Writes everything on a file system to the disk.
    pub(crate) fn sync_all(self, object: impl AsFd) -> Result<(), Errno> {
        self.begin_change()?;
        rustix::fs::syncfs(object)
    }

    /// Removes a folder and everything in it, however deep. Opens only one folder at a time: it first moves each folder that
    /// it finds up to the top.
    pub(crate) fn remove_tree(self, parent: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        let Some(found) = stat(parent, name)? else { return Ok(()) };
        if crate::object::ObjectKind::of(&found) != crate::object::ObjectKind::Folder {
            return self.remove(parent, name, AtFlags::empty());
        }
        let top = self.open_writable(parent, name)?;
        let mut waiting = vec![Vec::new()];
        let mut moved = 0_u64;
        while let Some(next) = waiting.pop() {
            let folder =
                if next.is_empty() { open_folder(&top, b"")? } else { self.open_writable(&top, &next)? };
            for inner in names(folder.as_fd())? {
                match self.remove(&folder, &inner, AtFlags::empty()) {
                    Err(Errno::ISDIR | Errno::PERM) => {}
                    done => {
                        done?;
                        continue;
                    }
                }
                self.open_writable(&folder, &inner)?;
                loop {
                    let up = format!(".gone-{moved}").into_bytes();
                    moved += 1;
                    match self.rename_new((&folder, &inner), (&top, &up)) {
                        Err(Errno::EXIST) => {}
                        done => {
                            done?;
                            waiting.push(up);
                            break;
                        }
                    }
                }
            }
            if !next.is_empty() {
                self.remove(&top, &next, AtFlags::REMOVEDIR)?;
            }
        }
        self.remove(parent, name, AtFlags::REMOVEDIR)
    }

    /// Opens a folder that its owner may have protected from reading and writing.
    fn open_writable(self, parent: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
        let found = stat(parent, name)?.ok_or(Errno::NOENT)?;
        if found.st_mode & 0o700 != 0o700 {
            self.set_mode(open_any(parent, name)?, 0o700)?;
        }
        open_folder(parent, name)
    }
}
