//! Signals that end the program while a prompt stands: the terminal is put back first, then the program ends by them.
//!
//! A signal that the program itself handles or ignores is left alone; such a program has [`put_back`].

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::termios::{OptionalActions, Termios, tcsetattr};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::surface::Stage;

/// Signals that end a program which does nothing about them.
const ENDING: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2];
/// So long a prompt may take to go away by itself.
const PATIENCE: Duration = Duration::from_secs(1);

/// Leaves the whole screen.
const LEAVE: &[u8] = b"\x1b[?1049l";

/// A terminal that a prompt has taken over.
struct Held {
    number: u64,
    fd: OwnedFd,
    before: Termios,
    wake: OwnedFd,
    /// What takes back what the terminal was told.
    codes: &'static [u8],
    stage: Stage,
}

static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());
static LEFT: Condvar = Condvar::new();
static OVER: AtomicBool = AtomicBool::new(false);

/// Says that a terminal is taken over, until it is dropped.
#[derive(Debug)]
pub(crate) struct Hold(Option<u64>);

/// Remembers how a terminal was before it is changed.
pub(crate) fn hold(fd: BorrowedFd<'_>, before: &Termios, wake: BorrowedFd<'_>, codes: &'static [u8]) -> Hold {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    watch();
    let (Ok(fd), Ok(wake)) = (fcntl_dupfd_cloexec(fd, 3), fcntl_dupfd_cloexec(wake, 3)) else {
        return Hold(None);
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    held().push(Held { number, fd, before: before.clone(), wake, codes, stage: Stage::Inline });
    Hold(Some(number))
}

impl Hold {
    /// Says where on the terminal is drawn now.
    pub(crate) fn draws(&self, stage: Stage) {
        if let Some(one) = held().iter_mut().find(|one| Some(one.number) == self.0) {
            one.stage = stage;
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        held().retain(|one| Some(one.number) != self.0);
        LEFT.notify_all();
    }
}

/// Whether the program is about to end.
pub(crate) fn is_over() -> bool {
    OVER.load(Ordering::SeqCst)
}

/// Whether a prompt of this program has a terminal.
pub(crate) fn is_held() -> bool {
    !held().is_empty()
}

/// Waits a little where the program is about to end.
pub(crate) fn let_it_end() {
    if is_over() {
        std::thread::sleep(PATIENCE * 2);
    }
}

/// Ends every prompt of this program and puts its terminal back: for a program that is about to exit by itself.
/// Nothing is asked after it; what was being asked is refused.
pub fn put_back() {
    OVER.store(true, Ordering::SeqCst);
    let held = held();
    for one in held.iter() {
        // It can only fail because it is awake already.
        let _ = rustix::io::write(&one.wake, &1_u64.to_ne_bytes());
    }
    let left = LEFT.wait_timeout_while(held, PATIENCE, |held| !held.is_empty());
    let held = left.unwrap_or_else(PoisonError::into_inner).0;
    for one in held.iter() {
        // The last that can be done for a prompt that does not go away.
        if one.stage == Stage::Full {
            let _ = rustix::io::write(&one.fd, LEAVE);
        }
        let _ = rustix::io::write(&one.fd, one.codes);
        let _ = tcsetattr(one.fd.as_fd(), OptionalActions::Now, &one.before);
    }
}

/// Waits a little until no prompt of this program has a terminal: what is printed then stands below it. For whoever knows
/// that a question is over which nobody answered.
pub fn wait_until_left() {
    drop(LEFT.wait_timeout_while(held(), PATIENCE, |held| !held.is_empty()));
}

/// Waits for signals, once for the program.
fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let wanted: Vec<i32> = ENDING.into_iter().filter(|signal| is_left_alone(&status, *signal)).collect();
        let (sender, receiver) = channel::<Signals>();
        let wait = move || {
            let Ok(mut signals) = receiver.recv() else { return };
            for signal in signals.forever() {
                put_back();
                // Where it cannot end the program, another signal may.
                let _ = emulate_default_handler(signal);
            }
        };
        let thread = std::thread::Builder::new().name("askfirst-put-back".to_owned()).spawn(wait);
        // Without a thread nothing would come of a signal any more, so then none is watched.
        if let (Ok(_), Ok(signals)) = (thread, Signals::new(&wanted)) {
            let _ = sender.send(signals);
        }
    });
}

/// Whether nobody handles or ignores a signal, going by what the system says about this program.
fn is_left_alone(status: &str, signal: i32) -> bool {
    let set = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
    };
    let bit = 1_u64.checked_shl(u32::try_from(signal - 1).unwrap_or(64)).unwrap_or(0);
    match (set("SigIgn:"), set("SigCgt:")) {
        (Some(ignored), Some(caught)) => (ignored | caught) & bit == 0,
        (_, _) => false,
    }
}

fn held() -> MutexGuard<'static, Vec<Held>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "signals/tests.rs"]
mod tests;
