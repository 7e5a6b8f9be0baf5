//! Reads git's index: the paths that it tracks, and which of them `git status` does not look at.
//!
//! No git program runs, because a repository's own settings could make it run others.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A path in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The path, relative to the top of the work tree.
    pub path: PathBuf,
    /// Whether git does not compare it with its file: `assume-unchanged` or `skip-worktree`.
    pub is_hidden: bool,
    /// The name of the object with its content.
    pub object: Vec<u8>,
}

/// Returns the entries of an index, or `None` if it has a form that is not known here, such as a split index.
#[must_use]
pub fn read_index(data: &[u8]) -> Option<Vec<IndexEntry>> {
    // Names of objects are SHA-1 or SHA-256. Only the right length leads to the end of the data.
    [20, 32].into_iter().find_map(|hash| read_with(data, hash))
}

fn read_with(data: &[u8], hash: usize) -> Option<Vec<IndexEntry>> {
    const ASSUMED: u16 = 1 << 15;
    const EXTENDED: u16 = 1 << 14;
    const SKIPPED: u16 = 1 << 14;
    let number = |at: usize| Some(u32::from_be_bytes(data.get(at..at.checked_add(4)?)?.try_into().ok()?));
    let short = |at: usize| Some(u16::from_be_bytes(data.get(at..at.checked_add(2)?)?.try_into().ok()?));
    let end = data.len().checked_sub(hash)?;
    let version = number(4)?;
    if !data.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut name, mut found) = (12_usize, Vec::new(), Vec::new());
    for _ in 0..number(8)? {
        let object = data.get(at.checked_add(40)?..at.checked_add(40 + hash)?)?.to_vec();
        // After 40 bytes of stat data and the name of the object.
        let flags = short(at.checked_add(40 + hash)?)?;
        let mut start = at.checked_add(42 + hash)?;
        let mut is_hidden = flags & ASSUMED != 0;
        if flags & EXTENDED != 0 {
            is_hidden |= short(start)? & SKIPPED != 0;
            start = start.checked_add(2)?;
        }
        if version == 4 {
            let (left_out, next) = variable(data, start)?;
            name.truncate(name.len().checked_sub(left_out)?);
            start = next;
        } else {
            name.clear();
        }
        let length = data.get(start..end)?.iter().position(|byte| *byte == 0)?;
        name.extend(data.get(start..start.checked_add(length)?)?);
        let after = start.checked_add(length)?;
        // Before version 4, one to eight zeros make the length a multiple of eight.
        at = if version == 4 { after.checked_add(1)? } else { at + (after.checked_sub(at)? / 8 + 1) * 8 };
        found.push(IndexEntry { path: PathBuf::from(OsStr::from_bytes(&name)), is_hidden, object });
    }
    while at < end {
        // The extension `link` says that another file has more entries.
        let size = usize::try_from(number(at.checked_add(4)?)?).ok()?;
        if data.get(at..at.checked_add(4)?)? == b"link" {
            return None;
        }
        at = at.checked_add(8)?.checked_add(size)?;
    }
    (at == end).then_some(found)
}

/// Reads how much of the end of the name before is left out: seven bits in each byte. Returns the place behind it.
fn variable(data: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *data.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at = at.checked_add(1)?;
        byte = *data.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
    }
    Some((value, at.checked_add(1)?))
}
