//! Writes the input of a program as fast as the program reads it, without blocking and without raising `SIGPIPE`.

use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

/// The input of a program, partly written.
pub(crate) struct Feed<'a> {
    pipe: PipeWriter,
    rest: &'a [u8],
}

impl<'a> Feed<'a> {
    pub(crate) fn new(pipe: PipeWriter, bytes: &'a [u8]) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        suppress_sigpipe(&pipe)?;
        Ok(Self { pipe, rest: bytes })
    }

    pub(crate) fn pipe(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Writes as much as fits. Returns itself if there is more to write; otherwise closes the pipe.
    pub(crate) fn write_more(mut self) -> io::Result<Option<Self>> {
        loop {
            if self.rest.is_empty() {
                return Ok(None);
            }
            match write(self.pipe.as_fd(), self.rest) {
                Ok(count) => self.rest = self.rest.get(count..).unwrap_or_default(),
                Err(Errno::AGAIN) => return Ok(Some(self)),
                Err(Errno::PIPE) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(cause) => return Err(cause.into()),
            }
        }
    }
}

#[cfg(target_vendor = "apple")]
fn suppress_sigpipe(pipe: &PipeWriter) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: sets a flag of an open descriptor; no memory is accessed.
    let code = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETNOSIGPIPE, 1) };
    if code == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(target_vendor = "apple")]
fn write(pipe: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    rustix::io::write(pipe, bytes)
}

/// Does nothing: pipes have no flag for it on this system. See [`write()`].
#[cfg(not(target_vendor = "apple"))]
fn suppress_sigpipe(_pipe: &PipeWriter) -> io::Result<()> {
    Ok(())
}

/// Writes with `SIGPIPE` blocked in this thread, and removes the signal if this write raised it.
///
/// A write to a pipe without a reader raises `SIGPIPE`, which ends a process that does not handle it. A library must not
/// change the handler, so it blocks the signal for the duration of the write.
#[cfg(not(target_vendor = "apple"))]
fn write(pipe: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    use std::mem::MaybeUninit;
    use std::ptr;

    let mut signal = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    let mut pending = MaybeUninit::uninit();
    // SAFETY: each set is initialised by the call that gets it first. The pointers refer to live locals. The mask
    // belongs to this thread and is restored below. No code between the two can panic.
    let was_pending = unsafe {
        libc::sigemptyset(signal.as_mut_ptr());
        libc::sigaddset(signal.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, signal.as_ptr(), before.as_mut_ptr());
        libc::sigemptyset(pending.as_mut_ptr());
        libc::sigpending(pending.as_mut_ptr());
        libc::sigismember(pending.as_ptr(), libc::SIGPIPE) == 1
    };
    let result = rustix::io::write(pipe, bytes);
    if result == Err(Errno::PIPE) && !was_pending {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `signal` was initialised above; a null pointer means that no details are returned.
        unsafe { libc::sigtimedwait(signal.as_ptr(), ptr::null_mut(), &at_once) };
    }
    // SAFETY: `before` was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    result
}

#[cfg(test)]
mod tests;
