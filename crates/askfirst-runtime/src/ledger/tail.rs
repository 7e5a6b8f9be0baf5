//! The end of a file: the last whole line, and the bytes after it, from a torn write or another program.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use askfirst::Digest;
use serde::{Deserialize, Serialize};

use super::error::LedgerError;
use super::line::{self, ChainPosition, MAX_LINE};

/// How many bytes from the end are searched for a whole line.
const FARTHEST: u64 = 2 * MAX_LINE as u64;

/// The end of a file.
#[derive(Debug)]
pub(super) struct Tail {
    /// The last whole line.
    pub(super) last: Option<ChainPosition>,
    /// Whether that line says that the file is closed.
    pub(super) closed: bool,
    /// The bytes after it, if there are any.
    pub(super) left: Option<TailBytes>,
    /// Whether the file ends in the middle of a line.
    pub(super) open_line: bool,
}

/// The bytes after the last whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TailBytes {
    /// A torn write left them.
    Torn(TornWrite),
    /// No torn write can leave such bytes.
    Altered(TornWrite),
}

/// The bytes that a torn write left. If there are none, only the newline was missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TornWrite {
    /// The number of bytes.
    #[serde(rename = "torn_bytes")]
    pub(super) bytes: u64,
    /// Their digest.
    #[serde(rename = "torn_sha256")]
    pub(super) digest: Digest,
}

/// Examines the end of a file of `size` bytes.
pub(super) fn look(path: &Path, file: &File, size: u64) -> Result<Tail, LedgerError> {
    let mut window = 64 << 10;
    loop {
        let length = size.min(window);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, size - length).map_err(LedgerError::step("read", path))?;
        if let Some(tail) = last_line(&bytes, length == size) {
            return Ok(tail);
        }
        if length == size {
            return no_line(path, &bytes);
        }
        if length >= FARTHEST {
            return Err(LedgerError::NoGoodLine { path: path.to_owned(), searched: length });
        }
        window = window.saturating_mul(8).min(FARTHEST);
    }
}

/// Finds the last whole line in some bytes. The first line counts only if the bytes are `all` of the file.
fn last_line(bytes: &[u8], all: bool) -> Option<Tail> {
    let mut end = bytes.len();
    loop {
        let before = bytes.get(..end)?;
        let start = before.iter().rposition(|b| *b == b'\n').map(|newline| newline + 1);
        if start.is_none() && !all {
            return None;
        }
        let found = before.get(start.unwrap_or(0)..)?;
        if let Ok(last) = line::place(found) {
            let rest = bytes.get(end..)?;
            return Some(Tail {
                last: Some(last),
                closed: kind(found).is_some_and(|kind| kind == "rotated"),
                left: left_over(rest.strip_prefix(b"\n").unwrap_or(rest), rest.is_empty()),
                open_line: bytes.last() != Some(&b'\n'),
            });
        }
        end = start?.checked_sub(1)?;
    }
}

fn left_over(rest: &[u8], no_newline: bool) -> Option<TailBytes> {
    if rest.is_empty() && !no_newline {
        return None;
    }
    let left = TornWrite { bytes: rest.len() as u64, digest: Digest::of(rest) };
    let torn = rest.split(|byte| *byte == b'\n').all(line::may_be_torn);
    Some(if torn { TailBytes::Torn(left) } else { TailBytes::Altered(left) })
}

/// Handles a file without a whole line: it is new, or its first line was torn. Any other file is not an audit log.
fn no_line(path: &Path, bytes: &[u8]) -> Result<Tail, LedgerError> {
    let ours = line::may_begin(bytes) || bytes.iter().all(|byte| *byte == 0);
    if !ours {
        let why = "it has other content".to_owned();
        return Err(LedgerError::Refused { path: path.to_owned(), why });
    }
    let open_line = bytes.last().is_some_and(|byte| *byte != b'\n');
    Ok(Tail { last: None, closed: false, left: left_over(bytes, false), open_line })
}

/// Returns the kind of entry that a line holds.
pub(super) fn kind(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct LineKind {
        kind: String,
    }
    serde_json::from_slice::<LineKind>(line).ok().map(|line| line.kind)
}
