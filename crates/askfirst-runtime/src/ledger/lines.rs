//! The lines of an audit log as of one moment, file by file. Readers do not block writers for long.

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

/// How often to check for a file that a writer is about to create, one millisecond apart.
const TRIES: usize = 200;

/// One file of an audit log.
#[derive(Debug, Clone)]
pub(super) struct LogFile {
    pub(super) path: PathBuf,
    /// For a closed file, the first and last number in its name.
    pub(super) closed: Option<(u64, u64)>,
}

/// All files of an audit log, oldest first, and the size of the newest one to read.
#[derive(Debug)]
pub(super) struct Moment {
    pub(super) parts: Vec<LogFile>,
    newest: Option<(File, u64)>,
}

impl Moment {
    /// Returns the files at a moment when no writer is in the middle of an entry.
    pub(super) fn of(path: &Path) -> Result<Self, LedgerError> {
        for _ in 0..TRIES {
            if let Some(moment) = Self::try_of(path)? {
                return Ok(moment);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // The writer that closed the last file died before it created the next one.
        let parts = closed_parts(path);
        if parts.is_empty() {
            Err(LedgerError::Restless(path.to_owned()))
        } else {
            Ok(Self { parts, newest: None })
        }
    }

    /// Returns `None` if a writer is about to create the next file.
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
        // If this fails, closing the file releases the lock.
        let _ = file.unlock();
        parts.push(LogFile { path: path.to_owned(), closed: None });
        Ok(Some(Self { parts, newest: Some((file, size)) }))
    }

    /// Returns the lines of one file.
    pub(super) fn lines(&self, part: &LogFile) -> Result<Lines, LedgerError> {
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

/// Opens a file without blocking, even if it is not a regular file. It follows no link, as writers do not either.
fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

fn closed_parts(path: &Path) -> Vec<LogFile> {
    let closed = files::closed(path).unwrap_or_default().into_iter();
    closed.map(|file| LogFile { path: file.path, closed: Some((file.first, file.last)) }).collect()
}

fn is_still_at(file: &File, path: &Path) -> bool {
    let at = |found: std::fs::Metadata| (found.dev(), found.ino());
    file.metadata().map(at).is_ok_and(|here| path.metadata().map(at).is_ok_and(|there| here == there))
}

/// Waits for writers, but only two seconds: a slow writer must not prevent reading.
fn wait_for_writers(file: &File) {
    let since = Instant::now();
    while file.try_lock_shared().is_err() && since.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Iterates over the lines of a file.
#[derive(Debug)]
pub(super) struct Lines {
    reader: Take<BufReader<File>>,
    bytes: Vec<u8>,
    number: u64,
    cut: bool,
}

/// A line as it is in the file, or a part of one that is too long.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawLine<'a> {
    pub(super) number: u64,
    /// The bytes without the newline.
    pub(super) bytes: &'a [u8],
    /// Whether the newline is there.
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
