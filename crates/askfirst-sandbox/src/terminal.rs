//! The standard streams of this process while a program uses them itself: what it sets for them, and for the terminal
//! behind them, is put back when it has ended. Otherwise whoever reads there next would not find it as it was.
//!
//! A program with the terminal has a process group of its own, so stopping and going on is ours to pass on.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::termios::{self, Action, OptionalActions, Termios};

/// A program that stops again so soon cannot go on: nobody is left who could bring it to the front. It is let go on only
/// as often, then. And so long a group may take to be gone whose last process has ended.
const SOON: Duration = Duration::from_millis(100);

/// Where a program is that may share the terminal of its launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It does not.
    Apart,
    /// It has the terminal from the start.
    Front,
    /// Others have it.
    Behind,
}

impl Place {
    /// How the launcher says where a program is to go on.
    pub(crate) fn call(self) -> [u8; 1] {
        match self {
            Self::Front => [b'f'],
            Self::Behind | Self::Apart => [b'b'],
        }
    }

    pub(crate) fn of_call(call: [u8; 1]) -> Option<Self> {
        match call {
            [b'f'] => Some(Self::Front),
            [b'b'] => Some(Self::Behind),
            _ => None,
        }
    }
}

/// Our place at the terminal of our session, for a program that has it meanwhile.
pub(crate) struct Seat {
    /// Nothing if the session has none.
    terminal: Option<File>,
    /// Where it is said how to go on.
    calls: PipeWriter,
    /// When this was said last.
    called: Cell<Option<Instant>>,
}

impl Seat {
    /// With the end at which the program's side listens.
    pub(crate) fn new() -> io::Result<(Self, PipeReader)> {
        let (theirs, calls) = io::pipe()?;
        Ok((Self { terminal: File::open("/dev/tty").ok(), calls, called: Cell::new(None) }, theirs))
    }

    /// In front, if we are and can let somebody else be.
    pub(crate) fn place(&self) -> Place {
        match self.terminal.as_ref().map(termios::tcgetpgrp) {
            Some(Ok(group)) if group == rustix::process::getpgrp() => Place::Front,
            Some(_) | None => Place::Behind,
        }
    }

    /// The program has stopped: so does everybody of our group, until whoever sees to that lets us go on, and then so does
    /// the program. If we are in front ourselves, somebody has brought us there, and the program comes too.
    pub(crate) fn stop_too(&self) -> io::Result<()> {
        match self.place() {
            Place::Front => {}
            Place::Behind | Place::Apart => stop_group(),
        }
        if self.called.get().is_some_and(|called| called.elapsed() < SOON) {
            thread::sleep(SOON);
        }
        match (&self.calls).write_all(&self.place().call()) {
            // It was ended meanwhile.
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {}
            said => said?,
        }
        self.called.set(Some(Instant::now()));
        Ok(())
    }
}

/// Stops all processes of our group, this one last, as a key of the terminal would. The system does not do so where nobody
/// could let them go on.
fn stop_group() {
    let mut before = MaybeUninit::uninit();
    // SAFETY: the structure is filled by the first call before it is read by the last; the others take numbers. The signal
    // to this thread is looked at before that call returns, with nothing of ours being called.
    unsafe {
        if libc::sigaction(libc::SIGTSTP, std::ptr::null(), before.as_mut_ptr()) != 0 {
            return;
        }
        libc::signal(libc::SIGTSTP, libc::SIG_IGN);
        libc::kill(0, libc::SIGTSTP);
        libc::signal(libc::SIGTSTP, libc::SIG_DFL);
        libc::pthread_kill(libc::pthread_self(), libc::SIGTSTP);
        libc::sigaction(libc::SIGTSTP, before.as_ptr(), std::ptr::null_mut());
    }
}

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
            Ok(group) if self.foreground != Some(group) && is_gone(group) => {
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

/// Whether nobody is in a group, or soon will be: those that have ended may wait to be collected by somebody else.
fn is_gone(group: Pid) -> bool {
    let begun = Instant::now();
    while rustix::process::test_kill_process_group(group) != Err(Errno::SRCH) {
        if begun.elapsed() >= SOON {
            return false;
        }
        thread::sleep(SOON / 20);
    }
    true
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
