//! Verifies an audit log from the first line to the last, and states what that covers and what it does not.

use std::path::{Path, PathBuf};

use askfirst::{Args, Digest};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::error::LedgerError;
use super::files;
use super::head::{HeadFile, StoredHead};
use super::line::{self, ChainPosition, Hex, NO_HASH};
use super::lines::{LogFile, LogSnapshot, RawLine};
use super::read::{fields, wrong};
use super::tail::TornWrite;

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The files, oldest first.
    pub files: Vec<PathBuf>,
    /// The number of whole entries.
    pub entries: u64,
    /// The number of the first entry.
    pub first: Option<u64>,
    /// The number of the last entry.
    pub last: Option<u64>,
    /// The hash of the last entry. If you keep it elsewhere, it can later prove that no entry up to here was removed.
    pub head: Option<Digest>,
    /// The number of the entry that the stored head names, if a head is stored.
    pub stored: Option<u64>,
    /// The number of torn writes that a later entry explains.
    pub torn: u64,
    /// All faults.
    pub faults: Vec<VerifyFault>,
    /// The scope of the check, and its limits.
    pub covers: String,
}

impl Verification {
    /// Returns whether there are no faults.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.faults.is_empty()
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {what}", .file.display())]
pub struct VerifyFault {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1; 0 for the whole file.
    pub line: u64,
    /// The problem.
    pub what: String,
}

const COVERS: &str = "covered: the hash of every line, the chain from each line to the next, numbers without gaps, \
    the links between files, and that every torn write is explained by the entry after it";
const NOT_COVERED: &str = "not covered: removal of the newest entries or of everything, and a chain that was \
    rewritten as a whole";
const WITH_HEAD: &str = "the hash that you noted covers everything up to its entry; not covered: removal or rewriting \
    of later entries";

/// Verifies all files of an audit log. `expect_head` is a hash from an earlier check that must still be in the chain.
///
/// # Errors
/// Fails if the audit log does not exist or cannot be opened. Anything wrong inside it is a fault.
pub fn verify(path: &Path, expect_head: Option<Digest>) -> Result<Verification, LedgerError> {
    Ok(Check::new(expect_head).all(&LogSnapshot::of(path)?, path))
}

/// Verifies all files of an audit log like [`verify`], and compares them with the head that is stored below `state`.
///
/// # Errors
/// Fails if the audit log cannot be opened, or if neither the log nor its head exists.
pub fn verify_with_head(
    path: &Path,
    expect_head: Option<Digest>,
    state: &Path,
) -> Result<Verification, LedgerError> {
    let head_file = HeadFile::of(path, state);
    // The head comes first: an entry that is written from now on only makes the log longer.
    let stored = head_file.read();
    let snapshot = match LogSnapshot::of(path) {
        Err(LedgerError::Open { cause, .. })
            if cause.kind() == std::io::ErrorKind::NotFound && !matches!(stored, Ok(None)) =>
        {
            LogSnapshot::default()
        }
        snapshot => snapshot?,
    };
    let place = head_file.path.display().to_string();
    let head = Some(HeadCheck { place, stored, is_there: false });
    Ok(Check { head, ..Check::new(expect_head) }.all(&snapshot, path))
}

/// The stored head, and whether its entry is in the chain.
struct HeadCheck {
    place: String,
    stored: Result<Option<StoredHead>, String>,
    is_there: bool,
}

impl HeadCheck {
    fn compare(&mut self, entry: ChainPosition) {
        if let Ok(Some(stored)) = &self.stored {
            self.is_there |= stored.seq == entry.seq && stored.hash.hex() == entry.hash;
        }
    }

    /// Returns what is wrong with a log whose last entry has the number `last`.
    fn fault(&self, snapshot: &LogSnapshot, last: u64) -> Option<String> {
        let place = &self.place;
        let stored = match &self.stored {
            Ok(None) => return None,
            Ok(Some(stored)) => stored,
            Err(why) => return Some(format!("the stored head cannot be used: {why} (`{place}`)")),
        };
        let number = stored.seq;
        let known = |part: &LogFile| part.path.metadata().is_ok_and(|found| stored.was_in(&found));
        let file = if snapshot.parts.iter().any(known) { "" } else { ", and its file is another one" };
        if snapshot.parts.is_empty() {
            Some(format!("the log is missing, but the stored head is entry {number} (`{place}`)"))
        } else if last < number {
            let first = last.saturating_add(1);
            Some(format!(
                "entries {first} to {number} are missing at the end: the stored head is entry {number}{file} (`{place}`)"
            ))
        } else if !self.is_there {
            Some(format!("entry {number} is not the one that the stored head names{file} (`{place}`)"))
        } else {
            None
        }
    }

    fn covers(&self) -> String {
        let place = &self.place;
        match &self.stored {
            Ok(Some(stored)) => format!(
                "the stored head covers everything up to entry {}; not covered: removal or rewriting of later entries, \
                 and a change of both the log and the stored head (`{place}`)",
                stored.seq
            ),
            Ok(None) | Err(_) => format!("{NOT_COVERED}, because no head of this log is stored in `{place}`"),
        }
    }
}

struct Check {
    head: Option<HeadCheck>,
    expect: Option<Hex>,
    seen_expected: bool,
    seq: u64,
    hash: Hex,
    entries: u64,
    first: Option<u64>,
    torn: u64,
    faults: Vec<VerifyFault>,
    file: PathBuf,
    before: Option<String>,
    first_in_file: Option<u64>,
    closed: bool,
    region: Option<Region>,
}

/// Consecutive lines that are not entries. The last byte is kept apart: it may be the newline before the next entry.
struct Region {
    line: u64,
    what: &'static str,
    bytes: u64,
    hasher: Sha256,
    last: Option<u8>,
    /// Whether no torn write could have left these lines.
    altered: bool,
}

impl Region {
    fn push(&mut self, line: RawLine<'_>) {
        self.altered |= !line::may_be_torn(line.bytes);
        let newline: &[u8] = if line.ended { b"\n" } else { b"" };
        for part in [line.bytes, newline] {
            if let Some((last, rest)) = part.split_last() {
                self.hasher.update(self.last.as_slice());
                self.hasher.update(rest);
                self.last = Some(*last);
                self.bytes += part.len() as u64;
            }
        }
    }

    fn is(self, torn: &TornWrite) -> bool {
        let digest = |hasher: Sha256| *torn.digest.as_bytes() == <[u8; 32]>::from(hasher.finalize());
        if torn.bytes == self.bytes {
            return digest(self.hasher.chain_update(self.last.as_slice()));
        }
        torn.bytes.checked_add(1) == Some(self.bytes) && self.last == Some(b'\n') && digest(self.hasher)
    }
}

impl Check {
    fn new(expect_head: Option<Digest>) -> Self {
        Self {
            head: None,
            expect: expect_head.map(|digest| digest.hex()),
            seen_expected: false,
            seq: 0,
            hash: NO_HASH,
            entries: 0,
            first: None,
            torn: 0,
            faults: Vec::new(),
            file: PathBuf::new(),
            before: None,
            first_in_file: None,
            closed: false,
            region: None,
        }
    }

    fn all(mut self, snapshot: &LogSnapshot, path: &Path) -> Verification {
        snapshot.parts.iter().for_each(|part| self.file(snapshot, part));
        self.end(snapshot, path)
    }

    fn fault(&mut self, line: u64, what: impl Into<String>) {
        self.faults.push(VerifyFault { file: self.file.clone(), line, what: what.into() });
    }

    fn file(&mut self, snapshot: &LogSnapshot, part: &LogFile) {
        self.file.clone_from(&part.path);
        self.first_in_file = None;
        let mut lines = match snapshot.lines(part, None) {
            Ok(lines) => lines,
            Err(e) => return self.fault(0, e.to_string()),
        };
        let mut last_line = 0;
        loop {
            match lines.next() {
                Ok(None) => break,
                Ok(Some(line)) => {
                    last_line = line.number;
                    self.line(line);
                }
                Err(e) => {
                    self.fault(last_line, format!("cannot read the rest: {e}"));
                    break;
                }
            }
        }
        self.end_of_region("no later entry explains this line");
        if let Some((first, last)) = part.closed {
            self.end_of_closed(last_line, first, last);
        }
        self.before = Some(files::name(&part.path));
    }

    fn end_of_closed(&mut self, line: u64, first: u64, last: u64) {
        if !self.closed {
            self.fault(line, "the file does not end with its closing line");
        }
        if self.first_in_file != Some(first) || self.seq != last {
            let found =
                self.first_in_file.map_or_else(|| "none".to_owned(), |n| format!("{n} to {}", self.seq));
            self.fault(0, format!("its name says entries {first} to {last}, but it has {found}"));
        }
    }

    fn line(&mut self, line: RawLine<'_>) {
        let place = match line::place(line.bytes) {
            Ok(place) => place,
            Err(no_place) => {
                let region = self.region.get_or_insert_with(|| Region {
                    line: line.number,
                    what: wrong(no_place),
                    bytes: 0,
                    hasher: Sha256::new(),
                    last: None,
                    altered: false,
                });
                return region.push(line);
            }
        };
        match fields(line.bytes) {
            Ok(fields) => self.entry(line.number, place, &fields),
            Err(what) => {
                self.fault(line.number, what);
                self.chain(line.number, place);
            }
        }
        if !line.ended {
            self.fault(line.number, "the end of the last line is missing, and no later entry explains it");
        }
    }

    fn entry(&mut self, line: u64, place: ChainPosition, fields: &Args) {
        let kind = fields.get("kind").and_then(Value::as_str).unwrap_or_default();
        self.closed = kind == "rotated";
        let own = matches!(kind, "recovered" | "continued");
        let torn: Option<TornWrite> =
            serde_json::from_value(Value::Object(fields.clone())).ok().filter(|_| own);
        match (self.region.take(), torn) {
            (Some(region), Some(torn)) => {
                let (at, altered) = (region.line, region.altered);
                if altered {
                    self.fault(
                        at,
                        "this line was changed or inserted: no torn write can leave this, although an entry says so",
                    );
                } else if region.is(&torn) {
                    self.torn += 1;
                } else {
                    self.fault(at, "this line was changed after the entry that explains it was written");
                }
            }
            (region @ Some(_), None) => {
                self.region = region;
                self.end_of_region("the next entry does not explain this line");
            }
            (None, Some(torn)) if torn.bytes > 0 => {
                self.fault(
                    line,
                    format!("this entry explains a torn write of {} bytes that does not exist", torn.bytes),
                );
            }
            (None, Some(_)) => self.torn += 1,
            (None, None) => {}
        }
        if self.first_in_file.is_none() && self.before.is_some() && kind != "continued" {
            self.fault(line, "the file does not begin with a line that continues the file before it");
        }
        if kind == "altered" {
            self.fault(line, "when it was written, the lines before it had been changed or removed");
        }
        if kind == "continued" {
            self.continued(line, fields);
        }
        self.chain(line, place);
    }

    fn continued(&mut self, line: u64, fields: &Args) {
        let named = fields.get("previous").and_then(Value::as_str);
        match named {
            None => self.fault(line, "the file before this one was removed while askfirst wrote to it"),
            Some(named) if self.before.as_deref() != Some(named) && self.first_in_file.is_none() => {
                self.fault(line, format!("the file before this one, `{named}`, is missing"));
            }
            Some(_) => {}
        }
    }

    fn chain(&mut self, line: u64, place: ChainPosition) {
        let expected = self.seq.saturating_add(1);
        if place.seq != expected {
            let what = match place.seq.cmp(&expected) {
                std::cmp::Ordering::Greater => format!("entries {expected} to {} are missing", place.seq - 1),
                std::cmp::Ordering::Less | std::cmp::Ordering::Equal => {
                    format!("this entry has number {} instead of {expected}", place.seq)
                }
            };
            self.fault(line, what);
        } else if place.prev != self.hash {
            self.fault(line, "this entry does not follow from the one before it");
        }
        self.seen_expected |= self.expect == Some(place.hash);
        if let Some(head) = &mut self.head {
            head.compare(place);
        }
        self.first.get_or_insert(place.seq);
        self.first_in_file.get_or_insert(place.seq);
        (self.seq, self.hash) = (place.seq, place.hash);
        self.entries += 1;
    }

    fn end_of_region(&mut self, why: &str) {
        if let Some(region) = self.region.take() {
            self.fault(region.line, format!("{}, and {why} ({} bytes)", region.what, region.bytes));
        }
    }

    fn end(mut self, snapshot: &LogSnapshot, path: &Path) -> Verification {
        self.file = path.to_owned();
        if snapshot.parts.last().is_some_and(|part| part.closed.is_some()) {
            self.fault(0, "the newest file is missing: the one before it was closed, and nothing follows");
        }
        let expected = self.expect.as_ref().and_then(line::digest);
        if let Some(expected) = expected.filter(|_| !self.seen_expected) {
            self.fault(0, format!("the hash `{expected}` is not in the chain"));
        }
        if let Some(fault) = self.head.as_ref().and_then(|head| head.fault(snapshot, self.seq)) {
            self.fault(0, fault);
        }
        let head = line::digest(&self.hash).filter(|_| self.entries > 0);
        let limits = match &self.head {
            _ if expected.is_some() => WITH_HEAD.to_owned(),
            Some(head) => head.covers(),
            None => format!("{NOT_COVERED}, because this check looks only at the files"),
        };
        let stored = self.head.and_then(|head| head.stored.ok().flatten());
        Verification {
            files: snapshot.parts.iter().map(|part| part.path.clone()).collect(),
            entries: self.entries,
            first: self.first,
            last: self.first.map(|_| self.seq),
            head,
            stored: stored.map(|stored| stored.seq),
            torn: self.torn,
            faults: self.faults,
            covers: format!("{COVERS}; {limits}"),
        }
    }
}
