//! Whether git could restore a file as it is: the index has it with this content, and the repository has the object.
//!
//! No git program runs, because a repository's own settings could make it run others.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::git_index::read_index;
use crate::sha1::Sha1;

/// The largest index, and the largest list of objects in a pack, that is read.
const MAX_LIST: u64 = 256 << 20;
/// The largest file whose content is compared.
const MAX_FILE: u64 = 64 << 20;

/// The repository around a root.
pub(crate) struct GitObjects {
    /// The folder `.git`.
    folder: PathBuf,
    /// The root, relative to the top of the work tree.
    below: PathBuf,
    /// The object of each tracked path.
    tracked: HashMap<PathBuf, Vec<u8>>,
    packs: OnceCell<Vec<Vec<u8>>>,
}

impl GitObjects {
    /// Reads the index of the repository that contains a root. Returns `None` if there is none that can be read.
    pub(crate) fn of(root: &Path) -> Option<Self> {
        let top = root.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok())?;
        let folder = top.join(".git");
        if !folder.symlink_metadata().ok()?.is_dir() {
            return None;
        }
        let entries = read_index(&read_limited(&folder.join("index"))?)?;
        let tracked = entries.into_iter().map(|entry| (entry.path, entry.object)).collect();
        let below = root.strip_prefix(top).ok()?.to_owned();
        Some(Self { folder, below, tracked, packs: OnceCell::new() })
    }

    /// Returns whether git could restore an open file at a path beneath the root.
    pub(crate) fn restores(&self, path: &Path, file: OwnedFd) -> bool {
        let Some(object) = self.tracked.get(&self.below.join(path)) else { return false };
        let mut content = Vec::new();
        let read = File::from(file).take(MAX_FILE + 1).read_to_end(&mut content);
        let is_whole = read.is_ok() && content.len() as u64 <= MAX_FILE;
        is_whole && blob_name(&content, object.len()).as_ref() == Some(object) && self.has(object)
    }

    fn has(&self, object: &[u8]) -> bool {
        let name: String = object.iter().map(|byte| format!("{byte:02x}")).collect();
        let Some((start, rest)) = name.split_at_checked(2) else { return false };
        let loose = self.folder.join("objects").join(start).join(rest);
        let is_there = loose.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() > 0);
        is_there || self.packs().iter().any(|pack| lists(pack, object))
    }

    /// The lists of objects of all packs.
    fn packs(&self) -> &[Vec<u8>] {
        self.packs.get_or_init(|| {
            let entries = fs::read_dir(self.folder.join("objects/pack")).into_iter().flatten().flatten();
            let lists = entries.map(|entry| entry.path()).filter(|path| {
                path.extension().is_some_and(|end| end == "idx") && path.with_extension("pack").is_file()
            });
            lists.filter_map(|path| read_limited(&path)).collect()
        })
    }
}

fn read_limited(path: &Path) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    let file =
        path.symlink_metadata().ok().filter(fs::Metadata::is_file).and_then(|_| File::open(path).ok())?;
    file.take(MAX_LIST + 1).read_to_end(&mut data).ok()?;
    (data.len() as u64 <= MAX_LIST).then_some(data)
}

/// Returns the name that git gives a file with this content, in a repository whose names have this length.
fn blob_name(content: &[u8], length: usize) -> Option<Vec<u8>> {
    let header = format!("blob {}\0", content.len());
    match length {
        20 => Some(Sha1::of(&[header.as_bytes(), content].concat()).to_vec()),
        32 => Some(Sha256::new().chain_update(header).chain_update(content).finalize().to_vec()),
        _ => None,
    }
}

/// Returns true if the list of a pack, in version 2, has an object.
fn lists(list: &[u8], object: &[u8]) -> bool {
    const NAMES: usize = 8 + 256 * 4;
    let count = |byte: usize| {
        let at = 8 + byte * 4;
        let number = u32::from_be_bytes(list.get(at..at + 4)?.try_into().ok()?);
        usize::try_from(number).ok()
    };
    let name = |number: usize| {
        let at = number.checked_mul(object.len())?.checked_add(NAMES)?;
        list.get(at..at.checked_add(object.len())?)
    };
    let Some(first) = object.first().map(|byte| usize::from(*byte)) else { return false };
    if !list.starts_with(b"\xfftOc\0\0\0\x02") {
        return false;
    }
    let from = if first == 0 { Some(0) } else { count(first - 1) };
    let (Some(mut from), Some(mut to)) = (from, count(first)) else { return false };
    while from < to {
        let middle = from.midpoint(to);
        match name(middle).map(|found| found.cmp(object)) {
            Some(std::cmp::Ordering::Equal) => return true,
            Some(std::cmp::Ordering::Less) => from = middle + 1,
            Some(std::cmp::Ordering::Greater) => to = middle,
            None => return false,
        }
    }
    false
}

#[cfg(test)]
#[path = "git_objects/tests.rs"]
mod tests;
