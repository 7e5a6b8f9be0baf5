//! The lines of an audit log as of one moment, file by file. Readers do not block writers for long.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};
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
#[derive(Debug, Default)]
pub(super) struct LogSnapshot {
    pub(super) parts: Vec<LogFile>,
    newest: Option<(File, u64)>,
}

impl LogSnapshot {
    /// Returns the files at a moment when no writer is in the middle of an entry.
    pub(super) fn of(path: &Path) -> Result<Self, LedgerError> {
        for _ in 0..TRIES {
            if let Some(snapshot) = Self::try_of(path)? {
                return Ok(snapshot);
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

    /// Returns the lines of one file. If it is the file that `after` is in, returns only the lines from there on.
    pub(super) fn lines(&self, part: &LogFile, after: Option<Position>) -> Result<Lines, LedgerError> {
        let opened = || -> io::Result<(File, u64, FileId)> {
            let (file, size) = match (part.closed, &self.newest) {
                (None, Some((file, size))) => (file.try_clone()?, Some(*size)),
                _ => (open_to_read(&part.path)?, None),
            };
            let found = file.metadata()?;
            Ok((file, size.unwrap_or(found.len()), file_id(&found)))
        };
        let read = || -> io::Result<Lines> {
            let (mut file, size, id) = opened()?;
            let start = Position { file: id, offset: 0, line: 0 };
            let start = after.filter(|after| after.file == id && after.offset <= size).unwrap_or(start);
            file.seek(SeekFrom::Start(start.offset))?;
            let reader = BufReader::with_capacity(64 << 10, file).take(size.saturating_sub(start.offset));
            let (offset, number) = (start.offset, start.line);
            Ok(Lines { reader, bytes: Vec::new(), number, cut: false, offset, end: start })
        };
        read().map_err(LedgerError::open(&part.path))
    }

    /// Removes the files before the one that a position is in. Returns `false` if that file is gone, or too short.
    pub(super) fn skip_to(&mut self, position: Position) -> bool {
        let is_there = |part: &LogFile| {
            let found = match (part.closed, &self.newest) {
                (None, Some((file, _))) => file.metadata(),
                _ => part.path.symlink_metadata(),
            };
            found.is_ok_and(|found| file_id(&found) == position.file && position.offset <= found.len())
        };
        let Some(at) = self.parts.iter().position(is_there) else { return false };
        self.parts.drain(..at);
        true
    }

    /// Returns whether the newest file is still the same and has the same size.
    pub(super) fn is_current(&self, path: &Path) -> bool {
        let Some((file, size)) = &self.newest else { return false };
        let same = |there: Metadata| there.len() == *size && is_same(file, &there);
        path.symlink_metadata().is_ok_and(same)
    }
}

/// The device and the inode of a file.
pub(super) type FileId = (u64, u64);

pub(super) fn file_id(found: &Metadata) -> FileId {
    (found.dev(), found.ino())
}

fn is_same(file: &File, there: &Metadata) -> bool {
    file.metadata().is_ok_and(|here| file_id(&here) == file_id(there))
}

/// How far a file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    file: FileId,
    offset: u64,
    line: u64,
}

/// Opens a file without blocking, even if it is not a regular file. It follows no link, as writers do not either.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

fn closed_parts(path: &Path) -> Vec<LogFile> {
    let closed = files::closed(path).unwrap_or_default().into_iter();
    closed.map(|file| LogFile { path: file.path, closed: Some((file.first, file.last)) }).collect()
}

fn is_still_at(file: &File, path: &Path) -> bool {
    path.metadata().is_ok_and(|there| is_same(file, &there))
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
    offset: u64,
    /// The end of the last whole line.
    pub(super) end: Position,
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
        self.offset += read as u64;
        if ended {
            (self.end.offset, self.end.line) = (self.offset, self.number);
        }
        Ok(Some(RawLine { number: self.number, bytes: &self.bytes, ended }))
    }
}
