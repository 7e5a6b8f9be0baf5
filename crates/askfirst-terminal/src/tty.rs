//! The terminal itself: opened, put into raw mode, read with care, and always put back as it was.

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
use crate::signals::{self, Hold, hold};
use crate::surface::Stage;

/// What reads lines, echoes and makes signals of keys: not while a prompt stands.
const LINES: LocalModes = LocalModes::ICANON
    .union(LocalModes::ECHO)
    .union(LocalModes::ECHONL)
    .union(LocalModes::ISIG)
    .union(LocalModes::IEXTEN);
/// What changes keys on their way.
const CHANGES: InputModes = InputModes::BRKINT
    .union(InputModes::ICRNL)
    .union(InputModes::INLCR)
    .union(InputModes::IGNCR)
    .union(InputModes::ISTRIP)
    .union(InputModes::IXON);

/// Why the terminal is of no more use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Gone {
    /// It hung up or failed.
    #[error("the terminal went away")]
    Lost,
    /// Somebody wants the prompt to end.
    #[error("the question was taken back")]
    Woken,
}

/// How a prompt ended.
pub(crate) enum Ended {
    /// With an answer.
    Answered(Answer),
    /// Somebody wants it to end.
    Woken,
    /// The terminal is too small for a screen.
    TooSmall,
}

/// What a wait ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Waited {
    /// Bytes.
    Bytes(Vec<u8>),
    /// The time is over.
    TimeOver,
    /// Somebody wants the prompt to end.
    Woken,
    /// The input ended.
    EndOfInput,
    /// The terminal hung up or failed.
    Lost,
}

/// The terminal that a person sits at, if there is one: standard input's, else the controlling one.
pub(crate) fn find() -> Option<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let stdin = rustix::stdio::stdin();
    let controlling = || open("/dev/tty", flags, Mode::empty()).ok();
    if !isatty(stdin) {
        return controlling();
    }
    // Opened anew, so that our way of reading does not change that of others.
    let anew =
        ttyname(stdin, Vec::new()).ok().and_then(|name| open(name.as_c_str(), flags, Mode::empty()).ok());
    anew.or_else(controlling).or_else(|| rustix::io::fcntl_dupfd_cloexec(stdin, 3).ok())
}

/// The right to ask on a terminal, which one program at a time has.
#[derive(Debug)]
pub struct Turn(#[expect(dead_code, reason = "held, not looked at")] Option<OwnedFd>);

/// A few bytes are written within this time, also on a busy machine.
const AT_ONCE: Duration = Duration::from_millis(150);
/// So long a terminal that takes nothing is waited for before it is left.
const LAST_WORD: Duration = Duration::from_millis(300);

/// How often it is looked whether another program is done.
const LOOK: Duration = Duration::from_millis(40);

/// Longer than this nobody waits to print something: whoever asks may be stopped.
const PRINT_PATIENCE: Duration = Duration::from_secs(600);

/// Waits while another program asks on a terminal, so that what is printed there does not stand in its question. Nobody asks
/// before what is given back is dropped. Where this program asks, or is `told` to end, nothing is waited for.
pub fn turn_to_print(out: impl AsFd, told: impl Fn() -> bool) -> Turn {
    let since = Instant::now();
    let Some(lock) = lock_of(out.as_fd()) else { return Turn(None) };
    while !told() && !signals::is_held() && since.elapsed() < PRINT_PATIENCE {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Turn(Some(lock)),
            Err(Errno::WOULDBLOCK) => std::thread::sleep(LOOK),
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    Turn(None)
}

/// What is locked by whoever asks on a terminal.
fn lock_of(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    name_of(fd).and_then(|name| open(name, flags, Mode::empty()).ok())
}

/// Waits until no other program asks on a terminal. Where nobody can tell, it is asked at once.
pub(crate) fn turn(fd: &OwnedFd, wake: BorrowedFd<'_>) -> Result<Turn, Gone> {
    let Some(lock) = lock_of(fd.as_fd()) else { return Ok(Turn(None)) };
    loop {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Turn(Some(lock))),
            Err(Errno::WOULDBLOCK) => match is_over(fd, wake, LOOK) {
                None => {}
                Some(Waited::Woken) => return Err(Gone::Woken),
                Some(_) => return Err(Gone::Lost),
            },
            Err(Errno::INTR) => {}
            Err(_) => return Ok(Turn(None)),
        }
    }
}

/// The name that every program on a terminal knows it by. `/dev/tty` is another terminal to everybody.
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

/// Waits without reading a key; gives what ends the prompt, if it came.
fn is_over(fd: &OwnedFd, wake: BorrowedFd<'_>, time: Duration) -> Option<Waited> {
    let time = Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
    let mut fds = [PollFd::new(fd, PollFlags::empty()), PollFd::from_borrowed_fd(wake, PollFlags::IN)];
    match poll(&mut fds, Some(&time)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(_) => return Some(Waited::Lost),
    }
    let [tty, wake] = fds.map(|fd| fd.revents());
    if wake.intersects(PollFlags::IN) {
        return Some(Waited::Woken);
    }
    has_failed(tty).then_some(Waited::Lost)
}

/// A terminal in raw mode. Dropped, it is as it was before.
pub(crate) struct Tty<'a> {
    fd: OwnedFd,
    wake: BorrowedFd<'a>,
    before: Termios,
    style: Style,
    hold: Hold,
}

impl<'a> Tty<'a> {
    /// Takes a terminal over. What was typed before is thrown away.
    pub(crate) fn take(fd: OwnedFd, wake: BorrowedFd<'a>, style: Style) -> Result<Self, Gone> {
        let before = tcgetattr(&fd).map_err(|_| Gone::Lost)?;
        let hold = hold(fd.as_fd(), &before, wake, codes(style));
        let mut tty = Self { fd, wake, before, style, hold };
        tty.raw()?;
        Ok(tty)
    }

    /// Raw mode, with nothing typed. Output is still made of lines.
    pub(crate) fn raw(&mut self) -> Result<(), Gone> {
        let mut raw = self.before.clone();
        raw.local_modes -= LINES;
        raw.input_modes -= CHANGES;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        self.flush();
        tcsetattr(&self.fd, OptionalActions::Now, &raw).map_err(|_| Gone::Lost)?;
        self.flush();
        match self.style {
            // Pasted text is marked as such, and the terminal says whether it is looked at.
            Style::Coloured | Style::Uncoloured => self.write("\x1b[?2004h\x1b[?1004h"),
            Style::Plain => Ok(()),
        }
    }

    /// Whether it still is in raw mode. Somebody else may have changed that, as a shell does after a stop.
    pub(crate) fn is_raw(&self) -> bool {
        let raw = |now: Termios| !now.local_modes.intersects(LINES) && !now.input_modes.intersects(CHANGES);
        // One that cannot be asked is lost, which the next wait finds out.
        tcgetattr(&self.fd).map_or(true, raw)
    }

    /// Writes what may say that keys count, and tells whether something was typed before it stood there.
    pub(crate) fn write_mark(&mut self, text: &str) -> Result<bool, Gone> {
        let (begun, before) = (Instant::now(), self.has_input());
        self.write(text)?;
        // Stopped in between, it cannot tell what was typed when.
        Ok(before || (begun.elapsed() > AT_ONCE && self.has_input()))
    }

    /// Whether something was typed that nobody has read.
    fn has_input(&self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// The mode from before.
    pub(crate) fn cooked(&mut self) {
        self.last_word(codes(self.style));
        self.flush();
        let _ = tcsetattr(&self.fd, OptionalActions::Now, &self.before);
    }

    /// Says where is drawn now, for whoever must put the terminal back.
    pub(crate) fn draws(&self, stage: Stage) {
        self.hold.draws(stage);
    }

    /// Writes to a terminal that may be gone or full: it is waited for a little, and nothing depends on it.
    fn last_word(&self, bytes: &[u8]) {
        let time = Timespec { tv_sec: 0, tv_nsec: LAST_WORD.subsec_nanos().into() };
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

    /// Throws away what was typed and not read.
    pub(crate) fn flush(&self) {
        let _ = tcflush(&self.fd, QueueSelector::IFlush);
    }

    pub(crate) fn columns(&self) -> usize {
        usize::from(self.size().0)
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Columns and rows.
    pub(crate) fn size(&self) -> (u16, u16) {
        match tcgetwinsize(&self.fd) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            Ok(_) | Err(_) => (80, 24),
        }
    }

    /// Another handle on the terminal, for a program that needs it.
    pub(crate) fn handle(&self) -> Option<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let name = ttyname(&self.fd, Vec::new()).ok()?;
        open(name.as_c_str(), flags, Mode::empty()).ok()
    }

    /// Writes all of a text, or says why not.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), Gone> {
        let mut left = text.as_bytes();
        while !left.is_empty() {
            match rustix::io::write(&self.fd, left) {
                Ok(written) => left = left.get(written..).unwrap_or_default(),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait_to_write()?,
                Err(_) => return Err(Gone::Lost),
            }
        }
        Ok(())
    }

    fn wait_to_write(&self) -> Result<(), Gone> {
        let mut fds =
            [PollFd::new(&self.fd, PollFlags::OUT), PollFd::from_borrowed_fd(self.wake, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Err(Gone::Lost),
        }
        let [tty, wake] = fds.map(|fd| fd.revents());
        if wake.intersects(PollFlags::IN) {
            return Err(Gone::Woken);
        }
        if has_failed(tty) { Err(Gone::Lost) } else { Ok(()) }
    }

    /// Waits without reading a key; gives what ends the prompt, if it came.
    pub(crate) fn is_over(&self, time: Duration) -> Option<Waited> {
        is_over(&self.fd, self.wake, time)
    }

    /// Waits for keys, a wake-up or the time.
    pub(crate) fn wait(&self, time: Option<Duration>) -> Waited {
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
                Ok(0) => return Waited::TimeOver,
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return Waited::Lost,
            }
            let [tty, wake] = fds.map(|fd| fd.revents());
            if wake.intersects(PollFlags::IN) {
                return Waited::Woken;
            }
            if has_failed(tty) {
                return Waited::Lost;
            }
            let mut bytes = [0; 4096];
            match rustix::io::read(&self.fd, &mut bytes) {
                Ok(0) => return Waited::EndOfInput,
                Ok(read) => return Waited::Bytes(bytes.get(..read).unwrap_or_default().to_vec()),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return Waited::Lost,
            }
        }
    }
}

/// What takes back what a terminal was told for a prompt.
const fn codes(style: Style) -> &'static [u8] {
    match style {
        Style::Coloured => b"\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[0m",
        Style::Uncoloured => b"\x1b[?1004l\x1b[?2004l\x1b[?25h",
        Style::Plain => b"",
    }
}

fn has_failed(events: PollFlags) -> bool {
    events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

impl Drop for Tty<'_> {
    fn drop(&mut self) {
        self.cooked();
    }
}
