//! Writes a program's input as fast as it reads; a program that stops reading neither blocks nor signals us.

use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

/// An input on its way.
pub(crate) struct Feed<'a> {
    pipe: PipeWriter,
    rest: &'a [u8],
}

impl<'a> Feed<'a> {
    pub(crate) fn new(pipe: PipeWriter, bytes: &'a [u8]) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        silence(&pipe)?;
        Ok(Self { pipe, rest: bytes })
    }

    pub(crate) fn pipe(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    /// Writes what fits. Gives itself back if there is more; otherwise the pipe is closed.
    pub(crate) fn go_on(mut self) -> io::Result<Option<Self>> {
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
fn silence(pipe: &PipeWriter) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    // SAFETY: sets a flag of an open descriptor; no memory is touched.
    let code = unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETNOSIGPIPE, 1) };
    if code == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(target_vendor = "apple")]
fn write(pipe: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    rustix::io::write(pipe, bytes)
}

/// No flag of the pipe does it here; see [`write`].
#[cfg(not(target_vendor = "apple"))]
fn silence(_pipe: &PipeWriter) -> io::Result<()> {
    Ok(())
}

/// Writing to a pipe that nobody reads raises `SIGPIPE` in this thread, which ends a process that has not set it
/// aside, and it is not ours to do so. So it is held back in this thread, and taken out if this write raised it.
#[cfg(not(target_vendor = "apple"))]
fn write(pipe: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
    use std::mem::MaybeUninit;
    use std::ptr;

    let mut signal = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    let mut pending = MaybeUninit::uninit();
    // SAFETY: each set is initialised by the call that first gets it; the pointers are to live locals; the mask
    // belongs to this thread and is put back below. Nothing between the two can panic.
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
        // SAFETY: `signal` was initialised above; the null pointer says that no details are wanted.
        unsafe { libc::sigtimedwait(signal.as_ptr(), ptr::null_mut(), &at_once) };
    }
    // SAFETY: `before` was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    result
}

#[cfg(test)]
mod tests;
