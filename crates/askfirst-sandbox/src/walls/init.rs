//! PID 1: starts the program, reaps what is left to it, passes signals on, answers for the filter, says how the
//! program ended. And the helper outside, which waits for it.

use std::convert::Infallible;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, pid_t, sigset_t};

use super::child::{self, Started};
use super::inside::{Answer, SAID, end};
use super::mechanism::Mechanism;
use super::notify::Notices;
use super::order::{Failed, Order, Way, Word};
use super::routes::Counters;
use super::seat::Seat;
use super::turns::Turns;
use super::violation::{Tried, Violation};
use crate::profile::Network;

/// Signals that are passed on to the program.
const PASSED: [c_int; 7] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH];

/// Signals that must not stop whoever watches over a program. PID 1 hears the first itself, if its group is told.
const HELD: [c_int; 2] = [libc::SIGTSTP, libc::SIGTTOU];

fn watched() -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is initialised by the first call.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in PASSED.into_iter().chain(HELD).chain([libc::SIGCHLD]) {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

fn mask(how: c_int) -> io::Result<()> {
    let set = watched();
    // SAFETY: the set is initialised; the old one is not wanted.
    let result = unsafe { libc::sigprocmask(how, &set, std::ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// So that they wait until they are looked at.
pub(super) fn block_signals() -> io::Result<()> {
    mask(libc::SIG_BLOCK)
}

pub(super) fn unblock_signals() -> io::Result<()> {
    mask(libc::SIG_UNBLOCK)
}

/// Whether a signal was sent by somebody, and not by a terminal, which tells everybody itself.
fn was_sent(code: i32) -> bool {
    code <= 0
}

fn pass(signal: c_int, to: pid_t) {
    // SAFETY: no memory is passed. If there is nobody any more, there is nothing to do.
    unsafe { libc::kill(to, signal) };
}

/// The helper outside: until PID 1 has ended, and with it everything inside.
pub(super) fn wait_outside(first: pid_t) -> io::Result<i32> {
    let set = watched();
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        // SAFETY: both structures live; the second is filled if the call succeeds.
        let signal = unsafe { libc::sigwaitinfo(&set, info.as_mut_ptr()) };
        if signal < 0 {
            continue;
        }
        // SAFETY: the call has succeeded.
        let info = unsafe { info.assume_init() };
        if signal != libc::SIGCHLD {
            if was_sent(info.si_code) && PASSED.contains(&signal) {
                pass(signal, first);
            }
            continue;
        }
        if let Some((pid, Became::Ended(status))) = reap(Wanted::Ends)?
            && pid == first
        {
            return Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { SAID });
        }
    }
}

/// What a helper that stays was told by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    ToEnd,
}

/// A helper that stays: looks at one signal, and collects whoever has ended.
pub(super) fn collect(signals: &OwnedFd) -> io::Result<Told> {
    let Some(info) = read_signal(signals) else { return Ok(Told::Nothing) };
    if info.ssi_signo as c_int != libc::SIGCHLD {
        return Ok(Told::ToEnd);
    }
    while reap(Wanted::Ends)?.is_some() {}
    Ok(Told::Nothing)
}

/// What is looked for among children.
#[derive(Clone, Copy)]
enum Wanted {
    Ends,
    EndsAndStops,
}

/// What a child has become.
enum Became {
    Ended(c_int),
    Stopped,
}

/// One child that has ended, if any has, or stopped.
fn reap(wanted: Wanted) -> io::Result<Option<(pid_t, Became)>> {
    let stops = match wanted {
        Wanted::Ends => 0,
        Wanted::EndsAndStops => libc::WUNTRACED,
    };
    loop {
        let mut status = 0;
        // SAFETY: the number lives.
        return match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG | stops) } {
            0 => Ok(None),
            pid @ 1.. if libc::WIFSTOPPED(status) => match go_on(pid, libc::WSTOPSIG(status)) {
                Err(_) if stops != 0 => Ok(Some((pid, Became::Stopped))),
                Ok(()) | Err(_) => continue,
            },
            pid @ 1.. => Ok(Some((pid, Became::Ended(status)))),
            _ => match io::Error::last_os_error() {
                cause if cause.raw_os_error() == Some(libc::ECHILD) => Ok(None),
                cause => Err(cause),
            },
        };
    }
}

/// Lets a child go on that has asked to be traced: nobody here does, and its stop is not its end. Fails if it has not.
fn go_on(pid: pid_t, signal: c_int) -> io::Result<()> {
    // The one that tells of a start would not have been sent without it.
    let signal = if signal == libc::SIGTRAP { 0 } else { signal };
    // SAFETY: with this request the last two are numbers. If it was ended meanwhile, there is nothing to do.
    let result = unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, libc::c_long::from(signal)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Starts the program, once what it is to wait for is done, and stays until it has ended.
pub(super) fn run(
    order: &Order,
    answer: &Answer,
    turns: Option<Turns>,
    wait: impl FnOnce() -> Result<(), Failed>,
) -> Result<Infallible, Failed> {
    let failed = || Failed::at::<io::Error>("following the program");
    let signals = signals().map_err(failed())?;
    let (program, listener) = match child::start(order, turns, wait)? {
        Started::Running(pid, listener) => (pid, listener),
        Started::Not(word) => {
            answer.say(&word);
            end(SAID)
        }
    };
    let mut seat = Seat::of(order);
    let mut notices = listener.map(Notices::new);
    let counters = has_own_network(order).then(Counters::open);
    let mut missed = None;
    // Not closed: that takes time in which somebody waits, and this process is about to end.
    let mut silent = None;
    loop {
        let mut polls = vec![poll_of(&signals)];
        polls.extend(notices.as_ref().map(|notices| poll_of(notices.listener())));
        polls.extend(seat.as_ref().map(|seat| poll_of(seat.calls())));
        let count = polls.len() as libc::nfds_t;
        // SAFETY: as many structures are passed as are said.
        if unsafe { libc::poll(polls.as_mut_ptr(), count, -1) } < 0 {
            match io::Error::last_os_error() {
                cause if cause.kind() == io::ErrorKind::Interrupted => continue,
                cause => return Err(failed()(cause)),
            }
        }
        let mut told = polls.iter().map(|poll| poll.revents);
        let signalled = told.next().is_some_and(|told| told != 0);
        let noticed = notices.as_ref().and_then(|_| told.next()).unwrap_or(0);
        let called = seat.as_ref().and_then(|_| told.next()).is_some_and(|told| told != 0);
        if noticed & libc::POLLIN != 0 {
            if let Some(told) = notices.as_mut().and_then(Notices::answer) {
                answer.say(&Word::Refused(told));
            }
        } else if noticed != 0 {
            // Nobody is left whom it watches, so nothing more will be counted; the program is still being taken down.
            missed = counters.as_ref().map(outside);
            silent = notices.take();
        }
        let ended = if signalled || called {
            attend(&signals, program, seat.as_mut(), answer).map_err(failed())?
        } else {
            None
        };
        if called && seat.as_mut().is_some_and(|seat| seat.answer(program).is_err()) {
            seat = None;
        }
        if let Some(status) = ended {
            if let Some(told) = missed.or_else(|| counters.as_ref().map(outside)).flatten() {
                answer.say(&Word::Refused(told));
            }
            if is_first(order) {
                end_others().map_err(failed())?;
                answer.say(&Word::Gone(status));
            } else {
                answer.say(&Word::Status(status));
            }
            drop(silent);
            end(0);
        }
    }
}

/// Whether this process is the first of a namespace of its own, so that all others in it came from the program.
fn is_first(order: &Order) -> bool {
    order.way == Way::Own && order.has(Mechanism::PidNamespace) && std::process::id() == 1
}

/// Ends whatever the program left, and waits until nothing of it is there any more.
fn end_others() -> io::Result<()> {
    loop {
        // SAFETY: no memory is passed. In a namespace of its own this reaches nobody outside, and not this process.
        unsafe { libc::kill(-1, libc::SIGKILL) };
        let mut status = 0;
        // SAFETY: the number lives.
        if unsafe { libc::waitpid(-1, &mut status, 0) } < 0 {
            match io::Error::last_os_error() {
                cause if cause.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
                cause if cause.kind() == io::ErrorKind::Interrupted => {}
                cause => return Err(cause),
            }
        }
    }
}

/// Whether it is in a network that leads nowhere.
fn has_own_network(order: &Order) -> bool {
    match (order.profile.network, order.way) {
        (Network::Own, Way::Own) => order.has(Mechanism::NetworkNamespace),
        (Network::Own, Way::Bubblewrap) => true,
        (Network::Own, Way::ContentOnly) | (Network::Shared, _) => false,
    }
}

/// What was tried there.
fn outside(counters: &Counters) -> Option<Violation> {
    let missed = counters.missed();
    (missed > 0).then(|| Violation { tried: Tried::Outside(missed), program: String::new() })
}

pub(super) fn poll_of(fd: &OwnedFd) -> libc::pollfd {
    libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

pub(super) fn signals() -> io::Result<OwnedFd> {
    let set = watched();
    // SAFETY: the set is initialised.
    let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The next signal, if one has come.
fn read_signal(signals: &OwnedFd) -> Option<libc::signalfd_siginfo> {
    // SAFETY: all zero is a valid value of this plain structure.
    let mut info: libc::signalfd_siginfo = unsafe { mem::zeroed() };
    let size = size_of_val(&info);
    // SAFETY: the structure is as large as is said.
    let count = unsafe { libc::read(signals.as_raw_fd(), (&raw mut info).cast(), size) };
    (usize::try_from(count) == Ok(size)).then_some(info)
}

/// Looks at all signals that have come. Gives the status of the program if it has ended.
fn attend(
    signals: &OwnedFd,
    program: pid_t,
    mut seat: Option<&mut Seat>,
    answer: &Answer,
) -> io::Result<Option<c_int>> {
    let mut ended = None;
    while let Some(info) = read_signal(signals) {
        match (info.ssi_signo as c_int, seat.as_deref_mut()) {
            (libc::SIGCHLD, seat) => ended = ended.or(look_after(program, seat, answer)?),
            (libc::SIGTTOU, _) => {}
            (signal, Some(seat)) => seat.pass(signal, program),
            (signal, None) if was_sent(info.ssi_code) => pass(signal, program),
            (_, None) => {}
        }
    }
    Ok(ended)
}

/// Collects children. Gives the status of the program if it has ended, and says so if it has stopped.
fn look_after(program: pid_t, seat: Option<&mut Seat>, answer: &Answer) -> io::Result<Option<c_int>> {
    let wanted = if seat.is_some() { Wanted::EndsAndStops } else { Wanted::Ends };
    let (mut ended, mut stopped) = (None, false);
    while let Some((pid, became)) = reap(wanted)? {
        match became {
            Became::Ended(status) if pid == program => ended = Some(status),
            Became::Stopped if pid == program => stopped = true,
            Became::Ended(_) | Became::Stopped => {}
        }
    }
    if let Some(seat) = seat.filter(|_| stopped && ended.is_none()) {
        seat.stopped();
        answer.say(&Word::Stopped);
    }
    Ok(ended)
}
