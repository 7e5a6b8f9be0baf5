//! A stream to which lines are written. A slow reader delays only the thread that writes the line.

use std::io::{ErrorKind, IoSlice, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::out::LineSink;

/// The destination of lines. Each line is written whole.
pub(crate) struct Sink {
    open: Mutex<Option<OpenStream>>,
    closed: AtomicBool,
    /// The start time of the write in progress.
    since: Mutex<Option<Instant>>,
}

struct OpenStream {
    output: Box<dyn Write + Send>,
    /// A line with its line ending, so that one write sends both and the reader wakes up once.
    whole: Vec<u8>,
}

/// A line longer than this is written without a copy, in bytes.
const SHORT: usize = 64 << 10;

impl Sink {
    pub(crate) fn new(output: Box<dyn Write + Send>) -> Self {
        let open = OpenStream { output, whole: Vec::new() };
        Self { open: Mutex::new(Some(open)), closed: AtomicBool::new(false), since: Mutex::default() }
    }

    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, line: &[u8]) -> std::io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let OpenStream { output, whole } = open.as_mut().ok_or(std::io::ErrorKind::BrokenPipe)?;
        *self.since() = Some(Instant::now());
        // A line break in JSON is only whitespace, but some readers treat it as the end of the message.
        let written = if memchr::memchr2(b'\n', b'\r', line).is_some() {
            let blank = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
            output.write_all(&line.iter().map(blank).chain([b'\n']).collect::<Vec<u8>>())
        } else if line.len() < SHORT {
            whole.clear();
            whole.extend_from_slice(line);
            whole.push(b'\n');
            output.write_all(whole)
        } else {
            write_whole(output, line)
        };
        let written = written.and_then(|()| output.flush());
        *self.since() = None;
        written
    }

    fn drop_output(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Writes a line and its line ending, in one system call if the other side accepts it.
fn write_whole(output: &mut dyn Write, line: &[u8]) -> std::io::Result<()> {
    let mut parts = [IoSlice::new(line), IoSlice::new(b"\n")];
    let mut left = parts.as_mut_slice();
    while !left.is_empty() {
        match output.write_vectored(left) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut left, count),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

impl LineSink for Sink {
    fn line(&self, line: &[u8]) -> std::io::Result<()> {
        let written = self.write(line);
        // `close` does not wait for a write in progress.
        if self.closed.load(Ordering::SeqCst) {
            self.drop_output();
        }
        written
    }

    /// Does not wait: the other side may never read the rest of a write in progress.
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        if let Ok(mut open) = self.open.try_lock() {
            *open = None;
        }
    }

    fn stuck(&self) -> Option<Duration> {
        self.since().map(|since| since.elapsed())
    }
}

#[cfg(test)]
#[path = "sink/tests.rs"]
mod tests;
