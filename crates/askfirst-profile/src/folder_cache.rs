//! Stores the listings of the roots' folders across processes, so that a command does not read every folder again.
//!
//! A folder counts as unchanged if its device, inode and times are the same. The file is in the state folder. It is used
//! only if no program in the sandbox can write there.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use askfirst_config::{Config, Settings};
use askfirst_sandbox::Denial;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::entry::{EntryKind, ProtectedEntry};
use super::hard_links::{HardLinks, LinkFolder, LinkedName};
use super::protected::{FolderListing, ProtectedNames};

/// The first bytes of a cache. Another version reads the folders again.
const HEAD: &[u8] = concat!("askfirst folders 1 ", env!("CARGO_PKG_VERSION")).as_bytes();

/// The folder of the caches, in the state folder.
const FOLDER: &str = "folders";

/// A larger cache is not read.
const MAX_SIZE: u64 = 256 << 20;

/// A folder that changed less than this before it was read may change again within the same clock tick.
const SETTLED_SECONDS: i64 = 2;

/// The facts by which an unchanged folder is recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderStamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) changed: (i64, i64),
    pub(super) modified: (i64, i64),
}

impl FolderStamp {
    pub(super) fn of(stat: &fs::Metadata) -> Self {
        Self {
            device: stat.dev(),
            inode: stat.ino(),
            changed: (stat.ctime(), stat.ctime_nsec()),
            modified: (stat.mtime(), stat.mtime_nsec()),
        }
    }

    pub(super) fn of_handle(stat: &rustix::fs::Stat) -> Self {
        let nanos = |nanos: u64| i64::try_from(nanos).unwrap_or_default();
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            changed: (stat.st_ctime, nanos(stat.st_ctime_nsec)),
            modified: (stat.st_mtime, nanos(stat.st_mtime_nsec)),
        }
    }

    /// Whether the folder had not changed for a while when it was read, which was just now.
    pub(super) fn is_settled(&self) -> bool {
        now().saturating_sub(self.changed.0) > SETTLED_SECONDS
    }
}

/// The time in seconds.
pub(super) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}

/// The findings of earlier processes in the folders.
#[derive(Debug, Default)]
pub struct CachedFolders {
    pub(super) listings: HashMap<PathBuf, Arc<FolderListing>>,
    pub(super) links: HashMap<PathBuf, LinkFolder>,
}

/// A file in the state folder that only this user, and no program in the sandbox, can write.
#[derive(Debug)]
pub(super) struct PrivateFile {
    path: PathBuf,
    key: [u8; 32],
}

/// The cache for the roots and rules of one config.
#[derive(Debug)]
pub struct FolderCache(PrivateFile);

impl PrivateFile {
    /// The file for a config and for what `more` says; `None` if a root contains the state folder.
    pub(super) fn new(state: &Path, config: &Config, more: &str) -> Option<Self> {
        let layers = || std::iter::once(&config.main).chain(&config.floors);
        let roots = |layer: &Settings| -> Vec<PathBuf> {
            layer.sandbox.paths.values().map(|path| path.root.clone()).collect()
        };
        let is_in_a_root = |path: &Path| layers().flat_map(roots).any(|root| path.starts_with(root));
        let existing = state.ancestors().find_map(|above| above.canonicalize().ok())?;
        if is_in_a_root(&existing) {
            return None;
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(state.join(FOLDER)).ok()?;
        let folder = state.join(FOLDER).canonicalize().ok()?;
        if is_in_a_root(&folder) {
            return None;
        }
        let rules = layers().map(|layer| {
            let Settings { sandbox, .. } = layer;
            format!("{:?} {:?} {:?}", roots(layer), sandbox.never_read, sandbox.never_write)
        });
        let user = rustix::process::geteuid().as_raw();
        let home = std::env::var_os("HOME");
        let text = format!("{:?} {:?} {home:?} {user} {more}", rules.collect::<Vec<_>>(), config.folder);
        let key: [u8; 32] = Sha256::digest(text).into();
        let name: String = key.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Some(Self { path: folder.join(name), key })
    }

    fn open(&self) -> io::Result<Vec<u8>> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
        let file = File::options().read(true).custom_flags(flags as i32).open(&self.path)?;
        let stat = file.metadata()?;
        let ours = stat.uid() == rustix::process::geteuid().as_raw() && stat.mode() & 0o077 == 0;
        if !stat.is_file() || !ours || stat.len() > MAX_SIZE {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stat.len()).unwrap_or(0) + 1);
        file.take(MAX_SIZE).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the content. Returns nothing if there is none, or if another user could have written it.
    pub(super) fn read(&self) -> Option<Vec<u8>> {
        let mut bytes = self.open().ok()?;
        let (content, sum) = bytes.split_last_chunk::<32>()?;
        if <[u8; 32]>::from(Sha256::digest(content)) != *sum {
            return None;
        }
        let end = content.len();
        content.strip_prefix(HEAD)?.strip_prefix(&self.key)?;
        bytes.truncate(end);
        bytes.drain(..HEAD.len() + self.key.len());
        Some(bytes)
    }

    /// Replaces the content. Errors are ignored: the file is only a shortcut.
    pub(super) fn write(&self, content: &[u8]) {
        let mut bytes = [HEAD, &self.key, content].concat();
        let sum = Sha256::digest(&bytes);
        bytes.extend(sum);
        let temporary = self.path.with_extension(std::process::id().to_string());
        let write = || {
            let mut file = File::options().write(true).create_new(true).mode(0o600).open(&temporary)?;
            file.write_all(&bytes)?;
            fs::rename(&temporary, &self.path)
        };
        if write().is_err() {
            // A full disk, or another thread of this process.
            let _ = fs::remove_file(&temporary);
        }
    }
}

impl FolderCache {
    /// The cache of a config in a state folder; `None` if a root contains the state folder.
    #[must_use]
    pub fn new(state: &Path, config: &Config) -> Option<Self> {
        PrivateFile::new(state, config, "folders").map(Self)
    }

    /// Reads the cache. Returns nothing if there is none, or if another user could have written it.
    #[must_use]
    pub fn load(&self) -> CachedFolders {
        self.0.read().and_then(|bytes| decode(&bytes)).unwrap_or_default()
    }

    /// Writes the cache if something has changed. Without it, the next process reads the folders again.
    pub fn store(&self, names: &ProtectedNames, links: &HardLinks) {
        // Both are asked, so that both forget their changes.
        let changed = [names.take_changed(), links.take_changed()];
        if !changed.contains(&true) {
            return;
        }
        self.0.write(&encode(&names.listings(), &links.folders()));
    }
}

fn encode(listings: &[(PathBuf, Arc<FolderListing>)], links: &[(PathBuf, LinkFolder)]) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(1 << 16));
    out.list(listings, |out, (path, listing)| {
        out.path(path);
        out.listing(listing);
    });
    out.list(links, |out, (path, folder)| {
        out.path(path);
        out.stamp(&folder.stamp);
        out.number(folder.searched as u64);
        out.list(&folder.folders, |out, name| out.text(name.as_bytes()));
        out.list(&folder.linked, |out, LinkedName { name, id: (device, inode), links }| {
            out.text(name.as_bytes());
            [device, inode, links].into_iter().for_each(|number| out.number(*number));
        });
    });
    out.0
}

fn decode(bytes: &[u8]) -> Option<CachedFolders> {
    let mut from = Reader(bytes);
    let listings = from.list(|from| {
        let path = from.path()?;
        let listing = from.listing(&path)?;
        Some((path, Arc::new(listing)))
    })?;
    let links = from.list(|from| {
        let path = from.path()?;
        let stamp = from.stamp()?;
        let searched = from.number()? as i64;
        let folders = from.list(Reader::name)?;
        let linked = from.list(|from| {
            let name = from.name()?;
            Some(LinkedName { name, id: (from.number()?, from.number()?), links: from.number()? })
        })?;
        Some((path, LinkFolder { stamp, searched, folders, linked }))
    })?;
    let done = CachedFolders { listings, links };
    from.0.is_empty().then_some(done)
}

pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.extend(text);
    }

    pub(super) fn path(&mut self, path: &Path) {
        self.text(path.as_os_str().as_bytes());
    }

    /// Writes the last part of a path.
    fn name(&mut self, path: &Path) {
        self.text(path.file_name().unwrap_or_default().as_bytes());
    }

    pub(super) fn list<T>(&mut self, items: &[T], item: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        items.iter().for_each(|one| item(self, one));
    }

    fn stamp(&mut self, stamp: &FolderStamp) {
        let FolderStamp { device, inode, changed, modified } = *stamp;
        let times = [changed.0, changed.1, modified.0, modified.1].map(|time| time as u64);
        [device, inode].into_iter().chain(times).for_each(|number| self.number(number));
    }

    fn listing(&mut self, listing: &FolderListing) {
        let FolderListing { stamp, found, folders, hidden, git, repository } = listing;
        self.stamp(stamp);
        self.list(found, |out, (path, entry, is_file)| {
            out.name(path);
            out.number(match entry.denial {
                Denial::Write => 0,
                Denial::All => 1,
            });
            out.text(entry.reason.as_bytes());
            out.number(entry.inode);
            out.list(entry.link_target.as_slice(), |out, to| out.path(to));
            out.number(KINDS.iter().position(|kind| *kind == entry.kind).unwrap_or(KINDS.len()) as u64);
            out.number((*is_file).into());
        });
        self.list(folders, |out, path| out.name(path));
        self.list(hidden, |out, (path, inode)| {
            out.name(path);
            out.number(*inode);
        });
        self.number(git.is_some().into());
        self.number((*repository).into());
    }
}

const KINDS: [EntryKind; 6] = [
    EntryKind::Name,
    EntryKind::Link,
    EntryKind::Closed,
    EntryKind::Pipe,
    EntryKind::Quarantined,
    EntryKind::Repository,
];

pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    pub(super) fn path(&mut self) -> Option<PathBuf> {
        self.text().map(|text| OsString::from_vec(text.to_vec()).into())
    }

    pub(super) fn name(&mut self) -> Option<OsString> {
        self.text().map(|text| OsString::from_vec(text.to_vec()))
    }

    pub(super) fn list<T, C: Default + Extend<T>>(
        &mut self,
        item: impl Fn(&mut Self) -> Option<T>,
    ) -> Option<C> {
        let count = usize::try_from(self.number()?).ok()?;
        let mut all = Vec::with_capacity(count.min(self.0.len()));
        for _ in 0..count {
            all.push(item(self)?);
        }
        let mut list = C::default();
        // The length is known, so that a map reserves its space at once.
        list.extend(all);
        Some(list)
    }

    fn stamp(&mut self) -> Option<FolderStamp> {
        let mut number = || self.number();
        let (device, inode) = (number()?, number()?);
        let mut time = || Some((number()? as i64, number()? as i64));
        Some(FolderStamp { device, inode, changed: time()?, modified: time()? })
    }

    fn listing(&mut self, folder: &Path) -> Option<FolderListing> {
        let stamp = self.stamp()?;
        let found = self.list(|from| {
            let path = folder.join(from.name()?);
            let denial = if from.flag()? { Denial::All } else { Denial::Write };
            let reason = String::from_utf8(from.text()?.to_vec()).ok()?;
            let inode = from.number()?;
            let link_target = from.list::<_, Vec<PathBuf>>(Self::path)?.pop();
            let kind = *KINDS.get(usize::try_from(from.number()?).ok()?)?;
            let is_file = from.flag()?;
            let entry =
                ProtectedEntry { denial, reason, inode, link_target, kind, pointers: Vec::new(), file: None };
            Some((path, entry, is_file))
        })?;
        let folders = self.list(|from| Some(folder.join(from.name()?)))?;
        let hidden = self.list(|from| Some((folder.join(from.name()?), from.number()?)))?;
        let git = self.flag()?.then(|| folder.join(".git"));
        Some(FolderListing { stamp, found, folders, hidden, git, repository: self.flag()? })
    }
}
