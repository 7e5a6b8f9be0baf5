//! The terminal device: finds it, sets raw mode, reads and writes it, and always restores it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use askfirst::machine::Answer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, major, minor, open, stat};
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, isatty, tcflush,
    tcgetattr, tcgetwinsize, tcsetattr, ttyname,
};

use crate::Style;
use crate::signals::{self, TerminalHold, hold};
use crate::surface::Stage;

/// The modes that read lines, echo input and turn keys into signals. A prompt switches them off.
const LINES: LocalModes = LocalModes::ICANON
    .union(LocalModes::ECHO)
    .union(LocalModes::ECHONL)
    .union(LocalModes::ISIG)
    .union(LocalModes::IEXTEN);
/// The modes that change input bytes. A prompt switches them off.
const CHANGES: InputModes = InputModes::BRKINT
    .union(InputModes::ICRNL)
    .union(InputModes::INLCR)
    .union(InputModes::IGNCR)
    .union(InputModes::ISTRIP)
    .union(InputModes::IXON);

/// The reason why a prompt cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Interruption {
    /// The terminal hung up or failed.
    #[error("the terminal was lost")]
    Lost,
    /// The question was withdrawn.
    #[error("the request was withdrawn")]
    Woken,
}

/// The end of a prompt.
pub(crate) enum PromptEnd {
    /// The person answered.
    Answered(Answer),
    /// The question may have been withdrawn.
    Woken,
    /// The terminal is too small to draw in place.
    TooSmall,
}

/// The result of waiting for input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WaitResult {
    /// Input arrived.
    Bytes(Vec<u8>),
    /// The time ran out.
    TimeOver,
    /// The question may have been withdrawn.
    Woken,
    /// The input ended.
    EndOfInput,
    /// The terminal hung up or failed.
    Lost,
}

/// Opens the terminal of standard input, or else the controlling terminal.
pub(crate) fn find_terminal() -> Option<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let stdin = rustix::stdio::stdin();
    let controlling = || open("/dev/tty", flags, Mode::empty()).ok();
    if !isatty(stdin) {
        return controlling();
    }
    // A new handle, so that non-blocking reads here do not affect other readers.
    let reopened =
        ttyname(stdin, Vec::new()).ok().and_then(|name| open(name.as_c_str(), flags, Mode::empty()).ok());
    reopened.or_else(controlling).or_else(|| rustix::io::fcntl_dupfd_cloexec(stdin, 3).ok())
}

/// The lock of a terminal. One program at a time holds it, to ask or to print.
#[derive(Debug)]
pub struct TerminalLock(#[expect(dead_code, reason = "dropping it releases the lock")] Option<OwnedFd>);

/// The time within which a few bytes are written, even on a busy machine.
const WRITE_TIME: Duration = Duration::from_millis(150);
/// The time to wait for a terminal that accepts no output before giving up.
const FINAL_WRITE: Duration = Duration::from_millis(300);

/// The interval between attempts to get the lock.
const RETRY: Duration = Duration::from_millis(40);

/// The longest wait before printing. The program that holds the lock may be stopped.
const PRINT_PATIENCE: Duration = Duration::from_secs(600);

/// Waits while another program asks on a terminal, so that output does not land inside its question.
///
/// No program asks on the terminal until the returned lock is dropped.
/// The wait ends at once if this program holds a terminal itself, or if `is_ending` returns `true`.
pub fn lock_for_printing(out: impl AsFd, is_ending: impl Fn() -> bool) -> TerminalLock {
    let since = Instant::now();
    let Some(lock) = open_lock(out.as_fd()) else { return TerminalLock(None) };
    while !is_ending() && !signals::is_held() && since.elapsed() < PRINT_PATIENCE {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return TerminalLock(Some(lock)),
            Err(Errno::WOULDBLOCK) => std::thread::sleep(RETRY),
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    TerminalLock(None)
}

/// Opens the file that serves as the lock of a terminal.
fn open_lock(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    name_of(fd).and_then(|name| open(name, flags, Mode::empty()).ok())
}

/// Waits until no other program asks on a terminal. If the terminal has no lock, this returns at once.
pub(crate) fn lock_terminal(fd: &OwnedFd, wake: BorrowedFd<'_>) -> Result<TerminalLock, Interruption> {
    let Some(lock) = open_lock(fd.as_fd()) else { return Ok(TerminalLock(None)) };
    loop {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(TerminalLock(Some(lock))),
            Err(Errno::WOULDBLOCK) => match wait_for_end(fd, wake, RETRY) {
                None => {}
                Some(WaitResult::Woken) => return Err(Interruption::Woken),
                Some(_) => return Err(Interruption::Lost),
            },
            Err(Errno::INTR) => {}
            Err(_) => return Ok(TerminalLock(None)),
        }
    }
}

/// The name of a terminal that is the same for every program. `/dev/tty` means a different terminal in each session.
fn name_of(fd: BorrowedFd<'_>) -> Option<String> {
    let name = ttyname(fd, Vec::new()).ok()?.into_string().ok()?;
    if name != "/dev/tty" {
        return Some(name);
    }
    let stat_line = std::fs::read_to_string("/proc/self/stat").ok()?;
    let number: i64 = stat_line.rsplit_once(')')?.1.split_whitespace().nth(4)?.parse().ok()?;
    let number = u64::try_from(number).ok()?;
    let (high, low) = (number >> 8 & 0xfff, number & 0xff | number >> 12 & 0xf_ff00);
    let name = match high {
        136 => format!("/dev/pts/{low}"),
        4 => format!("/dev/tty{low}"),
        _ => return None,
    };
    let device = stat(name.as_str()).ok()?.st_rdev;
    (u64::from(major(device)) == high && u64::from(minor(device)) == low).then_some(name)
}

/// Waits without reading input. Returns the event that ends the prompt, if one arrived.
fn wait_for_end(fd: &OwnedFd, wake: BorrowedFd<'_>, time: Duration) -> Option<WaitResult> {
    let time = Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    let mut fds = [PollFd::new(fd, PollFlags::empty()), PollFd::from_borrowed_fd(wake, PollFlags::IN)];
    match poll(&mut fds, Some(&time)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(_) => return Some(WaitResult::Lost),
    }
    let [tty, wake] = fds.map(|fd| fd.revents());
    if wake.intersects(PollFlags::IN) {
        return Some(WaitResult::Woken);
    }
    has_failed(tty).then_some(WaitResult::Lost)
}

/// A terminal in raw mode. Dropping it restores the earlier mode.
pub(crate) struct Tty<'a> {
    fd: OwnedFd,
    wake: BorrowedFd<'a>,
    before: Termios,
    style: Style,
    hold: TerminalHold,
}

impl<'a> Tty<'a> {
    /// Takes over a terminal and discards earlier input.
    pub(crate) fn take(fd: OwnedFd, wake: BorrowedFd<'a>, style: Style) -> Result<Self, Interruption> {
        let before = tcgetattr(&fd).map_err(|_| Interruption::Lost)?;
        let hold = hold(fd.as_fd(), &before, wake, reset_codes(style));
        let mut tty = Self { fd, wake, before, style, hold };
        tty.set_raw()?;
        Ok(tty)
    }

    /// Sets raw mode and discards earlier input. Output processing stays on.
    pub(crate) fn set_raw(&mut self) -> Result<(), Interruption> {
        let mut raw = self.before.clone();
        raw.local_modes -= LINES;
        raw.input_modes -= CHANGES;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        self.flush();
        tcsetattr(&self.fd, OptionalActions::Now, &raw).map_err(|_| Interruption::Lost)?;
        self.flush();
        match self.style {
            // The terminal marks pasted text and reports its focus.
            Style::Colored | Style::Uncolored => self.write("\x1b[?2004h\x1b[?1004h"),
            Style::Plain => Ok(()),
        }
    }

    /// Whether the terminal is still in raw mode. Another program may have changed it, as a shell does after a stop.
    pub(crate) fn is_raw(&self) -> bool {
        let raw = |now: Termios| !now.local_modes.intersects(LINES) && !now.input_modes.intersects(CHANGES);
        // If the modes cannot be read, the terminal is lost, and the next wait reports that.
        tcgetattr(&self.fd).map_or(true, raw)
    }

    /// Writes text that may contain the ready mark. Returns whether input arrived before the text was on screen.
    pub(crate) fn write_mark(&mut self, text: &str) -> Result<bool, Interruption> {
        let (begun, before) = (Instant::now(), self.has_input());
        self.write(text)?;
        // If the write took long, the program may have been stopped, and the order of events is unknown.
        Ok(before || (begun.elapsed() > WRITE_TIME && self.has_input()))
    }

    /// Whether there is unread input.
    fn has_input(&self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Restores the earlier mode.
    pub(crate) fn restore(&mut self) {
        self.write_best_effort(reset_codes(self.style));
        self.flush();
        let _ = tcsetattr(&self.fd, OptionalActions::Now, &self.before);
    }

    /// Stores the current stage for the code that restores the terminal.
    pub(crate) fn set_stage(&self, stage: Stage) {
        self.hold.set_stage(stage);
    }

    /// Writes to a terminal that may be lost or full. It waits briefly and ignores errors.
    fn write_best_effort(&self, bytes: &[u8]) {
        let time = Timespec { tv_sec: 0, tv_nsec: FINAL_WRITE.subsec_nanos().into() };
        let mut left = bytes;
        while !left.is_empty() {
            let mut fds = [PollFd::new(&self.fd, PollFlags::OUT)];
            match (poll(&mut fds, Some(&time)), rustix::io::write(&self.fd, left)) {
                (_, Ok(written)) => left = left.get(written..).unwrap_or_default(),
                (Ok(ready), Err(Errno::AGAIN | Errno::INTR)) if ready > 0 => {}
                (_, Err(_)) => return,
            }
        }
    }

    /// Discards unread input.
    pub(crate) fn flush(&self) {
        let _ = tcflush(&self.fd, QueueSelector::IFlush);
    }

    pub(crate) fn columns(&self) -> usize {
        usize::from(self.size().0)
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// The size in columns and rows.
    pub(crate) fn size(&self) -> (u16, u16) {
        match tcgetwinsize(&self.fd) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            Ok(_) | Err(_) => (80, 24),
        }
    }

    /// Opens another handle for a child process, such as an editor.
    pub(crate) fn handle(&self) -> Option<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let name = ttyname(&self.fd, Vec::new()).ok()?;
        open(name.as_c_str(), flags, Mode::empty()).ok()
    }

    /// Writes a whole text.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Interruption> {
        let mut left = text.as_bytes();
        while !left.is_empty() {
            match rustix::io::write(&self.fd, left) {
                Ok(written) => left = left.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait_to_write()?,
                Err(_) => return Err(Interruption::Lost),
            }
        }
        Ok(())
    }

    fn wait_to_write(&self) -> Result<(), Interruption> {
        let mut fds =
            [PollFd::new(&self.fd, PollFlags::OUT), PollFd::from_borrowed_fd(self.wake, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Err(Interruption::Lost),
        }
        let [tty, wake] = fds.map(|fd| fd.revents());
        if wake.intersects(PollFlags::IN) {
            return Err(Interruption::Woken);
        }
        if has_failed(tty) { Err(Interruption::Lost) } else { Ok(()) }
    }

    /// Waits without reading input. Returns the event that ends the prompt, if one arrived.
    pub(crate) fn wait_for_end(&self, time: Duration) -> Option<WaitResult> {
        wait_for_end(&self.fd, self.wake, time)
    }

    /// Waits for input, a wake-up or the end of the time.
    pub(crate) fn wait(&self, time: Option<Duration>) -> WaitResult {
        let until = time.map(|time| Instant::now() + time);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let time = left.map(|left| Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            });
            let mut fds =
                [PollFd::new(&self.fd, PollFlags::IN), PollFd::from_borrowed_fd(self.wake, PollFlags::IN)];
            match poll(&mut fds, time.as_ref()) {
                Ok(0) => return WaitResult::TimeOver,
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return WaitResult::Lost,
            }
            let [tty, wake] = fds.map(|fd| fd.revents());
            if wake.intersects(PollFlags::IN) {
                return WaitResult::Woken;
            }
            if has_failed(tty) {
                return WaitResult::Lost;
            }
            let mut bytes = [0; 4096];
            match rustix::io::read(&self.fd, &mut bytes) {
                Ok(0) => return WaitResult::EndOfInput,
                Ok(read) => return WaitResult::Bytes(bytes.get(..read).unwrap_or_default().to_vec()),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return WaitResult::Lost,
            }
        }
    }
}

/// The escape codes that undo the settings of a prompt.
const fn reset_codes(style: Style) -> &'static [u8] {
    match style {
        Style::Colored => b"\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[0m",
        Style::Uncolored => b"\x1b[?1004l\x1b[?2004l\x1b[?25h",
        Style::Plain => b"",
    }
}

fn has_failed(events: PollFlags) -> bool {
    events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

impl Drop for Tty<'_> {
    fn drop(&mut self) {
        self.restore();
    }
}
