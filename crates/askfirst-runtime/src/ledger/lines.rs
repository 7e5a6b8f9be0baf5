//! The lines of a ledger as they are at one moment, file by file, without taking any of them for good.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Take};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use super::disk::refused;
use super::error::LedgerError;
use super::files;
use super::line::MAX_LINE;

/// How often, a millisecond apart, a file is waited for that a writer is about to begin.
const TRIES: usize = 200;

/// One file of a ledger.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) path: PathBuf,
    /// First and last number, as its name says, of a file that is closed.
    pub(super) closed: Option<(u64, u64)>,
}

/// All files of a ledger, oldest first, and how much of the newest there is to read.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) parts: Vec<Part>,
    newest: Option<(File, u64)>,
}

impl Moment {
    /// The files as they are when no writer is in the middle of anything.
    pub(super) fn of(path: &Path) -> Result<Self, LedgerError> {
        for _ in 0..TRIES {
            if let Some(moment) = Self::try_of(path)? {
                return Ok(moment);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // Whoever closed the last file did not live to begin the next.
        let parts = closed_parts(path);
        if parts.is_empty() {
            Err(LedgerError::Restless(path.to_owned()))
        } else {
            Ok(Self { parts, newest: None })
        }
    }

    /// Nothing if a writer is just about to go on to the next file.
    fn try_of(path: &Path) -> Result<Option<Self>, LedgerError> {
        let file = match open_to_read(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound && !closed_parts(path).is_empty() => {
                return Ok(None);
            }
            Err(e) => return Err(refused(path, e)),
        };
        if !file.metadata().map_err(LedgerError::open(path))?.is_file() {
            let why = "it is not a plain file".to_owned();
            return Err(LedgerError::Refused { path: path.to_owned(), why });
        }
        wait_for_writers(&file);
        let mut parts = closed_parts(path);
        if !is_still_at(&file, path) {
            return Ok(None);
        }
        let size = file.metadata().map_err(LedgerError::open(path))?.len();
        // Closing the file gives the lock back too, if this fails.
        let _ = file.unlock();
        parts.push(Part { path: path.to_owned(), closed: None });
        Ok(Some(Self { parts, newest: Some((file, size)) }))
    }

    /// The lines of one of the files.
    pub(super) fn lines(&self, part: &Part) -> Result<Lines, LedgerError> {
        let opened = || -> io::Result<(File, u64)> {
            if let (None, Some((file, size))) = (part.closed, &self.newest) {
                let mut file = file.try_clone()?;
                file.rewind()?;
                return Ok((file, *size));
            }
            let file = open_to_read(&part.path)?;
            let size = file.metadata()?.len();
            Ok((file, size))
        };
        let (file, size) = opened().map_err(LedgerError::open(&part.path))?;
        Ok(Lines {
            reader: BufReader::with_capacity(64 << 10, file).take(size),
            bytes: Vec::new(),
            number: 0,
            cut: false,
        })
    }
}

/// Waits for nobody, also where something else than a file lies there, and follows no link: no writer does.
fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

fn closed_parts(path: &Path) -> Vec<Part> {
    let closed = files::closed(path).unwrap_or_default().into_iter();
    closed.map(|file| Part { path: file.path, closed: Some((file.first, file.last)) }).collect()
}

fn is_still_at(file: &File, path: &Path) -> bool {
    let at = |found: std::fs::Metadata| (found.dev(), found.ino());
    file.metadata().map(at).is_ok_and(|here| path.metadata().map(at).is_ok_and(|there| here == there))
}

/// A writer that holds on for long does not keep anybody from reading.
fn wait_for_writers(file: &File) {
    let since = Instant::now();
    while file.try_lock_shared().is_err() && since.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One line after the other.
#[derive(Debug)]
pub(super) struct Lines {
    reader: Take<BufReader<File>>,
    bytes: Vec<u8>,
    number: u64,
    cut: bool,
}

/// A line as it stands there, or a piece of one that is too long.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawLine<'a> {
    pub(super) number: u64,
    /// Without the newline.
    pub(super) bytes: &'a [u8],
    /// Whether it has its newline.
    pub(super) ended: bool,
}

impl Lines {
    pub(super) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.bytes.clear();
        if self.bytes.capacity() > 1 << 20 {
            self.bytes = Vec::new();
        }
        let read = self.reader.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut self.bytes)?;
        if read == 0 {
            return Ok(None);
        }
        if !self.cut {
            self.number += 1;
        }
        let ended = self.bytes.last() == Some(&b'\n');
        if ended {
            self.bytes.pop();
        }
        self.cut = !ended;
        Ok(Some(RawLine { number: self.number, bytes: &self.bytes, ended }))
    }
}
