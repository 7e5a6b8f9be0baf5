//! Saves and restores the standard streams and the terminal while an attached program uses them.
//!
//! A program may change the flags of the streams and the modes of the terminal. When it has ended, this module restores
//! them, so that the next reader finds them unchanged.
//!
//! An attached program has its own process group, so this module also stops and resumes together with it.

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

/// If a program stops again within this time after it was resumed, it cannot continue: no process is left that could
/// bring it to the foreground. The program is then resumed at most once per this interval.
///
/// Also how long to wait until a process group is gone whose last process has ended.
const SHORTLY: Duration = Duration::from_millis(100);

/// How a program uses the terminal of its launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TerminalAccess {
    /// It does not use it.
    Detached,
    /// It is in the foreground.
    Foreground,
    /// It is in the background: another process group has the terminal.
    Background,
}

impl TerminalAccess {
    /// The message by which the launcher resumes a program in the foreground or background.
    pub(crate) fn resume_message(self) -> [u8; 1] {
        match self {
            Self::Foreground => [b'f'],
            Self::Background | Self::Detached => [b'b'],
        }
    }

    pub(crate) fn from_resume_message(message: [u8; 1]) -> Option<Self> {
        match message {
            [b'f'] => Some(Self::Foreground),
            [b'b'] => Some(Self::Background),
            _ => None,
        }
    }
}

/// The launcher's side of job control for an attached program.
pub(crate) struct TerminalHandoff {
    /// The terminal of our session, if it has one.
    terminal: Option<File>,
    /// The pipe to PID 1 for resume messages.
    resume: PipeWriter,
    /// When the program was last resumed.
    resumed: Cell<Option<Instant>>,
}

impl TerminalHandoff {
    /// Also returns the end of the pipe for PID 1.
    pub(crate) fn new() -> io::Result<(Self, PipeReader)> {
        let (theirs, resume) = io::pipe()?;
        Ok((Self { terminal: File::open("/dev/tty").ok(), resume, resumed: Cell::new(None) }, theirs))
    }

    /// Whether this process is in the foreground of its terminal.
    pub(crate) fn access(&self) -> TerminalAccess {
        match self.terminal.as_ref().map(termios::tcgetpgrp) {
            Some(Ok(group)) if group == rustix::process::getpgrp() => TerminalAccess::Foreground,
            Some(_) | None => TerminalAccess::Background,
        }
    }

    /// Follows a program that has stopped: stops our process group too, and resumes the program when we are resumed.
    ///
    /// If we are in the foreground, the shell has brought us there, and the program is resumed in the foreground.
    pub(crate) fn follow_stop(&self) -> io::Result<()> {
        match self.access() {
            TerminalAccess::Foreground => {}
            TerminalAccess::Background | TerminalAccess::Detached => stop_group(),
        }
        if self.resumed.get().is_some_and(|resumed| resumed.elapsed() < SHORTLY) {
            thread::sleep(SHORTLY);
        }
        match (&self.resume).write_all(&self.access().resume_message()) {
            // The program has been killed in the meantime.
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {}
            written => written?,
        }
        self.resumed.set(Some(Instant::now()));
        Ok(())
    }
}

/// Stops all processes of our group, this one last, as Ctrl-Z would. The kernel does not stop an orphaned group, which no
/// shell could resume.
fn stop_group() {
    let mut before = MaybeUninit::uninit();
    // SAFETY: the first call fills the structure before the last one reads it; the others take numbers. The kernel
    // delivers the signal to this thread before `pthread_kill` returns, with the default action.
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

/// The state of the standard streams. Dropping it restores them.
pub(crate) struct SavedStreams(Vec<SavedStream>);

struct SavedStream {
    fd: BorrowedFd<'static>,
    flags: OFlags,
    terminal: Option<TerminalState>,
}

struct TerminalState {
    modes: Termios,
    /// The process group in the foreground.
    foreground: Option<Pid>,
    exclusive: Exclusive,
}

/// Whether other processes may open the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exclusive {
    Yes,
    No,
}

impl SavedStreams {
    /// Saves the current state. A closed stream has none.
    pub(crate) fn now() -> Self {
        let all = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        let stream = |fd| {
            let flags = rustix::fs::fcntl_getfl(fd).ok()?;
            Some(SavedStream { fd, flags, terminal: TerminalState::of(fd) })
        };
        Self(all.into_iter().filter_map(stream).collect())
    }
}

impl Drop for SavedStreams {
    /// Ignores errors: a stream that cannot be restored is gone, such as a terminal that was closed.
    fn drop(&mut self) {
        let _blocked = BlockedTtou::begin();
        for SavedStream { fd, flags, terminal } in &self.0 {
            if rustix::fs::fcntl_getfl(fd).is_ok_and(|now| now != *flags) {
                let _ = rustix::fs::fcntl_setfl(fd, *flags);
            }
            if let Some(terminal) = terminal {
                terminal.restore(*fd);
            }
        }
    }
}

impl TerminalState {
    fn of(fd: BorrowedFd<'_>) -> Option<Self> {
        let modes = termios::tcgetattr(fd).ok()?;
        let mut exclusive = 0;
        // SAFETY: the call writes one number.
        unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCGEXCL, &mut exclusive) };
        let exclusive = if exclusive == 0 { Exclusive::No } else { Exclusive::Yes };
        Some(Self { modes, foreground: termios::tcgetpgrp(fd).ok(), exclusive })
    }

    fn restore(&self, fd: BorrowedFd<'_>) {
        if self.exclusive == Exclusive::No {
            let _ = termios::ioctl_tiocnxcl(fd);
        }
        match termios::tcgetpgrp(fd) {
            Ok(group) if group == rustix::process::getpgrp() => {}
            Ok(group) if self.foreground != Some(group) && is_gone(group) => {
                // The program gave the terminal to a process group that no longer exists.
                if let Some(before) = self.foreground {
                    let _ = termios::tcsetpgrp(fd, before);
                }
            }
            // It is not the terminal of our session, so it has no foreground group for us.
            Err(Errno::NOTTY) => {}
            // Another process group uses the terminal now, with its own settings.
            Ok(_) | Err(_) => return,
        }
        // If the program suspended output, every write would block, and no key could resume it.
        let _ = termios::tcflow(fd, Action::OOn);
        let _ = termios::tcsetattr(fd, OptionalActions::Now, &self.modes);
    }
}

/// Whether a process group is gone, or will be within [`SHORTLY`]: ended processes may still wait to be collected.
fn is_gone(group: Pid) -> bool {
    let begun = Instant::now();
    while rustix::process::test_kill_process_group(group) != Err(Errno::SRCH) {
        if begun.elapsed() >= SHORTLY {
            return false;
        }
        thread::sleep(SHORTLY / 20);
    }
    true
}

/// Blocks `SIGTTOU` while it exists, so that changing the terminal from the background does not stop this process.
struct BlockedTtou(libc::sigset_t);

impl BlockedTtou {
    fn begin() -> Self {
        let (mut set, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the first set is initialised before it is read. The last call fills the second and cannot fail, since
        // its arguments are valid and both sets live.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigemptyset(before.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTTOU);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for BlockedTtou {
    fn drop(&mut self) {
        // SAFETY: the set is initialised; a null pointer means that the old set is not returned.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}
