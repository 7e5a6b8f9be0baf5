//! Restores the terminal when a signal ends the program during a prompt. The program then ends by that signal.
//!
//! Signals that the program handles or ignores itself are not watched. Such a program calls [`restore_terminals`].

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

/// Signals that end a program by default.
const TERMINATING: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2];
/// The time that a prompt has to end on its own.
const PATIENCE: Duration = Duration::from_secs(1);

/// The escape code that leaves the alternate screen.
const LEAVE: &[u8] = b"\x1b[?1049l";

/// A terminal that a prompt took over.
struct HeldTerminal {
    number: u64,
    fd: OwnedFd,
    before: Termios,
    wake: OwnedFd,
    /// The escape codes that undo the settings of the prompt.
    codes: &'static [u8],
    stage: Stage,
}

static HELD: Mutex<Vec<HeldTerminal>> = Mutex::new(Vec::new());
static RELEASED: Condvar = Condvar::new();
static ENDING: AtomicBool = AtomicBool::new(false);

/// Registers a terminal as taken over until it is dropped.
#[derive(Debug)]
pub(crate) struct TerminalHold(Option<u64>);

/// Registers a terminal with its earlier modes, before a prompt changes them.
pub(crate) fn hold(
    fd: BorrowedFd<'_>,
    before: &Termios,
    wake: BorrowedFd<'_>,
    codes: &'static [u8],
) -> TerminalHold {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    watch_signals();
    let (Ok(fd), Ok(wake)) = (fcntl_dupfd_cloexec(fd, 3), fcntl_dupfd_cloexec(wake, 3)) else {
        return TerminalHold(None);
    };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    held().push(HeldTerminal { number, fd, before: before.clone(), wake, codes, stage: Stage::Inline });
    TerminalHold(Some(number))
}

impl TerminalHold {
    /// Stores the current stage of the prompt.
    pub(crate) fn set_stage(&self, stage: Stage) {
        if let Some(one) = held().iter_mut().find(|one| Some(one.number) == self.0) {
            one.stage = stage;
        }
    }
}

impl Drop for TerminalHold {
    fn drop(&mut self) {
        held().retain(|one| Some(one.number) != self.0);
        RELEASED.notify_all();
    }
}

/// Whether the program is about to end.
pub(crate) fn is_ending() -> bool {
    ENDING.load(Ordering::SeqCst)
}

/// Whether a prompt of this program holds a terminal.
pub(crate) fn is_held() -> bool {
    !held().is_empty()
}

/// Waits briefly if the program is about to end.
pub(crate) fn wait_for_exit() {
    if is_ending() {
        std::thread::sleep(PATIENCE * 2);
    }
}

/// Ends every prompt of this program and restores its terminal. Call this before exiting during a prompt.
///
/// Open questions are refused, and the program cannot ask again.
pub fn restore_terminals() {
    ENDING.store(true, Ordering::SeqCst);
    let held = held();
    for one in held.iter() {
        // This fails only if the wake-up is already pending.
        let _ = rustix::io::write(&one.wake, &1_u64.to_ne_bytes());
    }
    let released = RELEASED.wait_timeout_while(held, PATIENCE, |held| !held.is_empty());
    let held = released.unwrap_or_else(PoisonError::into_inner).0;
    for one in held.iter() {
        // The prompt did not end in time, so its terminal is restored from here.
        if one.stage == Stage::Full {
            let _ = rustix::io::write(&one.fd, LEAVE);
        }
        let _ = rustix::io::write(&one.fd, one.codes);
        let _ = tcsetattr(one.fd.as_fd(), OptionalActions::Now, &one.before);
    }
}

/// Waits briefly until no prompt of this program holds a terminal, so that later output is below the prompt.
///
/// Call this after a question ended without an answer.
pub fn wait_until_released() {
    drop(RELEASED.wait_timeout_while(held(), PATIENCE, |held| !held.is_empty()));
}

/// Starts watching signals, once for the program.
fn watch_signals() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let wanted: Vec<i32> =
            TERMINATING.into_iter().filter(|signal| has_default_action(&status, *signal)).collect();
        let (sender, receiver) = channel::<Signals>();
        let wait = move || {
            let Ok(mut signals) = receiver.recv() else { return };
            for signal in signals.forever() {
                restore_terminals();
                // If this signal cannot end the program, another one may.
                let _ = emulate_default_handler(signal);
            }
        };
        let thread = std::thread::Builder::new().name("askfirst-restore".to_owned()).spawn(wait);
        // Without the thread, watched signals would have no effect, so none is watched then.
        if let (Ok(_), Ok(signals)) = (thread, Signals::new(&wanted)) {
            let _ = sender.send(signals);
        }
    });
}

/// Whether the program neither handles nor ignores a signal, according to `/proc/self/status`.
fn has_default_action(status: &str, signal: i32) -> bool {
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

fn held() -> MutexGuard<'static, Vec<HeldTerminal>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "signals/tests.rs"]
mod tests;
