//! Lists folders, searches them for names that stay hidden, and knows whether one has changed since.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, FileType, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::fence::Fence;
use crate::folder_cache::{Reader, Writer, now};

/// The maximum number of names in one folder.
const MAX_NAMES: usize = 16_384;
/// The maximum number of names in a folder that is searched completely.
const MAX_SEARCHED: usize = 4_096;

/// The maximum number of names that stay hidden in one folder. Each takes time before every command.
pub(super) const MAX_HIDDEN: usize = 256;

/// How much of a script is read to find its interpreter.
const MAX_SHEBANG: u64 = 256;

/// A folder that changed less than this many seconds ago may change again within the same clock tick.
const SETTLED: i64 = 2;

/// Which folder it is, and when it changed last.
type FolderState = (u64, u64, i64, i64);

/// The folders that were listed, with the time of their last change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Folders(BTreeMap<PathBuf, FolderState>);

/// A name in a folder.
pub(super) struct FolderEntry {
    pub(super) path: PathBuf,
    kind: FileType,
}

impl FolderEntry {
    pub(super) fn is_link(&self) -> bool {
        self.kind.is_symlink()
    }

    /// Whether it is a file and no link.
    pub(super) fn is_file(&self) -> bool {
        self.kind.is_file()
    }

    /// Whether it is a folder and no link.
    pub(super) fn is_folder(&self) -> bool {
        self.kind.is_dir()
    }

    /// Whether it is a program and no link.
    pub(super) fn is_program(&self) -> bool {
        self.kind.is_file() && self.path.metadata().is_ok_and(|found| is_program(&found))
    }
}

/// Whether it is a file that someone may execute.
pub(super) fn is_program(found: &Metadata) -> bool {
    found.is_file() && found.permissions().mode() & 0o111 != 0
}

/// Returns the absolute path that the first line of a script names.
pub(super) fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    fs::File::open(script).ok()?.take(MAX_SHEBANG).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(word))).filter(|path| path.is_absolute())
}

fn state(folder: &Path) -> Option<FolderState> {
    let found = fs::metadata(folder).ok()?;
    Some((found.dev(), found.ino(), found.ctime(), found.ctime_nsec()))
}

fn stays_hidden(entry: &FolderEntry, fence: &Fence) -> bool {
    fence.hides(&entry.path) || entry.path.file_name().is_some_and(|name| name == ".git")
}

/// Returns the names among the entries that stay hidden, except for links.
///
/// A link with a hidden name hides its target, if that is below `path`, which is shown.
pub(super) fn hidden(path: &Path, entries: &[FolderEntry], fence: &Fence) -> Vec<PathBuf> {
    let names = entries.iter().filter(|entry| stays_hidden(entry, fence));
    let names = names.filter_map(|entry| match entry.is_link() {
        true => entry.path.canonicalize().ok().filter(|target| target != path && target.starts_with(path)),
        false => Some(entry.path.clone()),
    });
    names.collect()
}

impl Folders {
    /// Lists a folder. Returns `None` if it cannot be listed, or has too many names.
    pub(super) fn list(&mut self, folder: &Path) -> Option<Vec<FolderEntry>> {
        self.0.insert(folder.to_owned(), state(folder)?);
        let entries = fs::read_dir(folder).ok()?.take(MAX_NAMES + 1).map(|entry| {
            let entry = entry.ok()?;
            Some(FolderEntry { path: entry.path(), kind: entry.file_type().ok()? })
        });
        entries.collect::<Option<Vec<_>>>().filter(|entries| entries.len() <= MAX_NAMES)
    }

    /// Returns the names below a path that stay hidden, as [`hidden`] does. Returns `None` if there is too much to search.
    pub(super) fn search(&mut self, path: &Path, fence: &Fence) -> Option<Vec<PathBuf>> {
        let (mut hidden, mut waiting, mut count) = (Vec::new(), vec![path.to_owned()], 0);
        while let Some(folder) = waiting.pop() {
            if !folder.is_dir() {
                continue;
            }
            let entries = self.list(&folder)?;
            count += entries.len();
            if count > MAX_SEARCHED {
                return None;
            }
            hidden.extend(self::hidden(path, &entries, fence));
            let folders =
                entries.into_iter().filter(|entry| entry.is_folder() && !stays_hidden(entry, fence));
            waiting.extend(folders.map(|entry| entry.path));
            if hidden.len() > MAX_HIDDEN {
                return None;
            }
        }
        Some(hidden)
    }

    /// Whether no folder had changed just before it was listed. It could change again within the same clock tick.
    pub(super) fn are_settled(&self) -> bool {
        self.0.values().all(|(_, _, changed, _)| now().saturating_sub(*changed) > SETTLED)
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.list(&Vec::from_iter(&self.0), |out, (path, (device, inode, seconds, nanos))| {
            out.path(path);
            [*device, *inode, *seconds as u64, *nanos as u64]
                .into_iter()
                .for_each(|number| out.number(number));
        });
    }

    pub(super) fn decode(from: &mut Reader<'_>) -> Option<Self> {
        let folders = from.list(|from| {
            let path = from.path()?;
            let (device, inode) = (from.number()?, from.number()?);
            Some((path, (device, inode, from.number()? as i64, from.number()? as i64)))
        });
        folders.map(Self)
    }

    /// Whether all folders are as they were when they were listed.
    pub(super) fn are_unchanged(&self) -> bool {
        self.0.iter().all(|(folder, old)| state(folder) == Some(*old))
    }
}
