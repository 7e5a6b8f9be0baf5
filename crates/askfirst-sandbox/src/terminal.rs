//! The standard streams of this process while a program uses them itself: what it sets for them, and for the terminal
//! behind them, is put back when it has ended. Otherwise whoever reads there next would not find it as it was.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::termios::{self, Action, OptionalActions, Termios};

/// How the streams were; put back in the end.
pub(crate) struct Kept(Vec<Stream>);

struct Stream {
    fd: BorrowedFd<'static>,
    flags: OFlags,
    terminal: Option<Terminal>,
}

struct Terminal {
    modes: Termios,
    /// Who reads there.
    foreground: Option<Pid>,
    exclusive: Exclusive,
}

/// Whether others may open it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exclusive {
    Yes,
    No,
}

impl Kept {
    /// As they are now. One that is closed has nothing to keep.
    pub(crate) fn now() -> Self {
        let all = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        let stream = |fd| {
            let flags = rustix::fs::fcntl_getfl(fd).ok()?;
            Some(Stream { fd, flags, terminal: Terminal::of(fd) })
        };
        Self(all.into_iter().filter_map(stream).collect())
    }
}

impl Drop for Kept {
    /// What cannot be put back is gone, as a terminal that was closed.
    fn drop(&mut self) {
        let _unstopped = Unstopped::begin();
        for Stream { fd, flags, terminal } in &self.0 {
            if rustix::fs::fcntl_getfl(fd).is_ok_and(|now| now != *flags) {
                let _ = rustix::fs::fcntl_setfl(fd, *flags);
            }
            if let Some(terminal) = terminal {
                terminal.put_back(*fd);
            }
        }
    }
}

impl Terminal {
    fn of(fd: BorrowedFd<'_>) -> Option<Self> {
        let modes = termios::tcgetattr(fd).ok()?;
        let mut exclusive = 0;
        // SAFETY: one number is written.
        unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCGEXCL, &mut exclusive) };
        let exclusive = if exclusive == 0 { Exclusive::No } else { Exclusive::Yes };
        Some(Self { modes, foreground: termios::tcgetpgrp(fd).ok(), exclusive })
    }

    fn put_back(&self, fd: BorrowedFd<'_>) {
        if self.exclusive == Exclusive::No {
            let _ = termios::ioctl_tiocnxcl(fd);
        }
        match termios::tcgetpgrp(fd) {
            Ok(group) if group == rustix::process::getpgrp() => {}
            Ok(group) if rustix::process::test_kill_process_group(group) == Err(Errno::SRCH) => {
                // The program took it for a group that is gone.
                if let Some(before) = self.foreground {
                    let _ = termios::tcsetpgrp(fd, before);
                }
            }
            // It is not the terminal of our session, where nobody is before anybody.
            Err(Errno::NOTTY) => {}
            // Somebody else reads there now, and has set it to their liking.
            Ok(_) | Err(_) => return,
        }
        // Whatever is written waits as long as its output is held, and no key lets it go on.
        let _ = termios::tcflow(fd, Action::OOn);
        let _ = termios::tcsetattr(fd, OptionalActions::Now, &self.modes);
    }
}

/// While this is held, setting a terminal in which others are before us does not stop this process.
struct Unstopped(libc::sigset_t);

impl Unstopped {
    fn begin() -> Self {
        let (mut set, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the first set is initialised before it is read, and the second by the last call, which cannot fail:
        // what is asked is known and both sets live.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigemptyset(before.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTTOU);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for Unstopped {
    fn drop(&mut self) {
        // SAFETY: the set is initialised; the old one is not wanted.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}
