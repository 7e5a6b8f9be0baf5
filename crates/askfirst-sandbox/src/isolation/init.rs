//! PID 1 of the sandbox: starts the program, reaps orphans, forwards signals, and reports how the program ended.
//!
//! This file also contains the helper's wait for PID 1, outside the sandbox.

use std::cell::Cell;
use std::convert::Infallible;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use libc::{c_int, pid_t, sigset_t};

use super::child::{self, StartResult};
use super::cpu_pin::CpuPin;
use super::helper_process::{MessageWriter, REPORTED, end};
use super::job_control::JobControl;
use super::leftovers::{self, Children};
use super::notify::RefusalListener;
use super::order::{Backend, HelperMessage, Order, SetupError};
use super::routes::{Attempts, Counters};
use super::sys;
use super::violation::{Attempt, Violation};
use crate::profile::Network;
use crate::spec::{Lasts, RunFacts};

/// Signals that are forwarded to the program.
const FORWARDED: [c_int; 7] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH];

/// Signals that must not stop the processes that supervise the program. PID 1 itself gets the first if its group does.
const NOT_STOPPING: [c_int; 2] = [libc::SIGTSTP, libc::SIGTTOU];

fn watched_signals() -> sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call initialises the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in FORWARDED.into_iter().chain(NOT_STOPPING).chain([libc::SIGCHLD]) {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

fn mask(how: c_int) -> io::Result<()> {
    let set = watched_signals();
    // SAFETY: the set is initialised; a null pointer means that the old set is not returned.
    let result = unsafe { libc::sigprocmask(how, &set, std::ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Blocks the watched signals, so that they stay pending until this process reads them.
pub(super) fn block_signals() -> io::Result<()> {
    mask(libc::SIG_BLOCK)
}

pub(super) fn unblock_signals() -> io::Result<()> {
    mask(libc::SIG_UNBLOCK)
}

/// Whether a process sent the signal. A terminal sends its signals to the whole group, so those are not forwarded.
fn is_from_process(code: i32) -> bool {
    code <= 0
}

fn forward(signal: c_int, to: pid_t) {
    // SAFETY: no memory is passed. If the process is gone, the call fails without effect.
    unsafe { libc::kill(to, signal) };
}

/// Waits outside the sandbox until PID 1 has ended, and with it every process inside.
pub(super) fn wait_outside(first: pid_t) -> io::Result<i32> {
    let set = watched_signals();
    loop {
        let mut info = MaybeUninit::<libc::siginfo_t>::uninit();
        // SAFETY: both structures live; the call fills the second if it succeeds.
        let signal = unsafe { libc::sigwaitinfo(&set, info.as_mut_ptr()) };
        if signal < 0 {
            continue;
        }
        // SAFETY: the call has succeeded.
        let info = unsafe { info.assume_init() };
        if signal != libc::SIGCHLD {
            if is_from_process(info.si_code) && FORWARDED.contains(&signal) {
                forward(signal, first);
            }
            continue;
        }
        if let Some((pid, ChildEvent::Exited(status))) = reap(ReapMode::Exits)?
            && pid == first
        {
            return Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { REPORTED });
        }
    }
}

/// The request that a signal makes to a pooled helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HelperRequest {
    None,
    Exit,
}

/// Reads one signal in a pooled helper, and collects children that have ended.
pub(super) fn handle_signal(signals: &OwnedFd) -> io::Result<HelperRequest> {
    let Some(info) = read_signal(signals) else { return Ok(HelperRequest::None) };
    if info.ssi_signo as c_int != libc::SIGCHLD {
        return Ok(HelperRequest::Exit);
    }
    while reap(ReapMode::Exits)?.is_some() {}
    Ok(HelperRequest::None)
}

/// The events of children that [`reap`] returns.
#[derive(Clone, Copy)]
enum ReapMode {
    Exits,
    ExitsAndStops,
}

/// An event of a child process.
enum ChildEvent {
    Exited(c_int),
    Stopped,
}

/// Returns the next event of a child, if there is one.
fn reap(mode: ReapMode) -> io::Result<Option<(pid_t, ChildEvent)>> {
    let stops = match mode {
        ReapMode::Exits => 0,
        ReapMode::ExitsAndStops => libc::WUNTRACED,
    };
    loop {
        let mut status = 0;
        // SAFETY: the number lives.
        return match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG | stops) } {
            0 => Ok(None),
            pid @ 1.. if libc::WIFSTOPPED(status) => match detach_traced(pid, libc::WSTOPSIG(status)) {
                Err(_) if stops != 0 => Ok(Some((pid, ChildEvent::Stopped))),
                Ok(()) | Err(_) => continue,
            },
            pid @ 1.. => Ok(Some((pid, ChildEvent::Exited(status)))),
            _ => match io::Error::last_os_error() {
                cause if cause.raw_os_error() == Some(libc::ECHILD) => Ok(None),
                cause => Err(cause),
            },
        };
    }
}

/// Detaches a child that has requested tracing, since no process traces it here. Fails if the child has not requested it.
fn detach_traced(pid: pid_t, signal: c_int) -> io::Result<()> {
    // Without tracing, the kernel would not have sent the signal that reports the start of a program.
    let signal = if signal == libc::SIGTRAP { 0 } else { signal };
    // SAFETY: with this request, the last two arguments are numbers. If the child has been killed, the call fails.
    let result = unsafe { libc::ptrace(libc::PTRACE_DETACH, pid, 0, libc::c_long::from(signal)) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Calls `wait`, starts the program, and stays until it has ended.
pub(super) fn run(
    order: &Order,
    messages: &MessageWriter,
    cpu_pin: Option<CpuPin>,
    wait: impl FnOnce() -> Result<(), SetupError>,
) -> Result<Infallible, SetupError> {
    let failed = || SetupError::at::<io::Error>("following the program");
    let signals = signals().map_err(failed())?;
    let counters = has_separate_network(order).then(|| Counters::open(order.own_network));
    let scratch_before = Cell::new(None);
    let wait = || {
        wait()?;
        scratch_before.set(scratch_files(order));
        Ok(())
    };
    let (program, listener) = match child::start(order, cpu_pin, wait)? {
        StartResult::Running(pid, listener) => (pid, listener),
        StartResult::NotRunning(message) => {
            messages.send(&message);
            end(REPORTED)
        }
    };
    let mut job_control = JobControl::of(order);
    let mut refusals = listener.map(RefusalListener::new);
    let ending = Ending {
        order,
        messages,
        program,
        counters,
        scratch_before: scratch_before.get(),
        deadline: order.profile.limits.wall.filter(|_| has_own_processes(order)).and_then(deadline_after),
    };
    let (mut attempts, mut status) = (None, None);
    // Do not close the listener yet: that takes time for which the launcher would wait, and this process is about to exit.
    let mut closed_listener = None;
    loop {
        let mut polls = vec![poll_of(&signals)];
        polls.extend(refusals.as_ref().map(|refusals| poll_of(refusals.listener())));
        polls.extend(job_control.as_ref().map(|job_control| poll_of(job_control.resume_fd())));
        let count = polls.len() as libc::nfds_t;
        // SAFETY: the array has as many entries as the count says.
        if unsafe { libc::poll(polls.as_mut_ptr(), count, ending.milliseconds_left()) } < 0 {
            match io::Error::last_os_error() {
                cause if cause.kind() == io::ErrorKind::Interrupted => continue,
                cause => return Err(failed()(cause)),
            }
        }
        let mut events = polls.iter().map(|poll| poll.revents);
        let signalled = events.next().is_some_and(|event| event != 0);
        let noticed = refusals.as_ref().and_then(|_| events.next()).unwrap_or(0);
        let called = job_control.as_ref().and_then(|_| events.next()).is_some_and(|event| event != 0);
        if noticed & libc::POLLIN != 0 {
            if let Some(violation) = refusals.as_mut().and_then(RefusalListener::refuse_next) {
                messages.send(&HelperMessage::Refused(violation));
            }
        } else if noticed != 0 {
            // No filtered process is left, so the counters are final. The program itself is still being removed.
            attempts = ending.attempts();
            closed_listener = refusals.take();
        }
        if signalled || called {
            let ended = handle_signals(&signals, program, job_control.as_mut(), messages);
            status = status.or(ended.map_err(failed())?);
        }
        if called && job_control.as_mut().is_some_and(|job_control| job_control.resume(program).is_err()) {
            job_control = None;
        }
        let is_over = match order.lasts {
            Lasts::AllProcesses if has_own_processes(order) => {
                status.is_some() && leftovers::collect(libc::WNOHANG).map_err(failed())? == Children::None
            }
            Lasts::Program | Lasts::AllProcesses => true,
        };
        if let Some(status) = status.filter(|_| is_over) {
            ending.report_end(status, attempts).map_err(failed())?;
        } else if ending.milliseconds_left() == 0 {
            ending.report_timeout().map_err(failed())?;
        } else {
            continue;
        }
        drop(closed_listener);
        end(0);
    }
}

/// The last steps of PID 1: it reports facts, ends what is left, and reports the end.
struct Ending<'a> {
    order: &'a Order,
    messages: &'a MessageWriter,
    program: pid_t,
    counters: Option<Counters>,
    scratch_before: Option<u64>,
    deadline: Option<Instant>,
}

impl Ending<'_> {
    /// The time until the deadline, as `poll` takes it.
    fn milliseconds_left(&self) -> c_int {
        let Some(deadline) = self.deadline else { return -1 };
        let left = deadline.saturating_duration_since(Instant::now());
        // Round up, so that a last part of a millisecond is not waited for in a loop.
        let rounded = left.as_millis() + u128::from(left.subsec_nanos() % 1_000_000 > 0);
        c_int::try_from(rounded).unwrap_or(c_int::MAX)
    }

    fn attempts(&self) -> Option<Attempts> {
        self.counters.as_ref().map(Counters::attempts)
    }

    /// Reports that the program has ended, after all other processes have ended too.
    fn report_end(&self, status: c_int, attempts: Option<Attempts>) -> io::Result<()> {
        let left = match has_own_processes(self.order) {
            true => leftovers::wait_for_all()?,
            false => Children::None,
        };
        self.send_facts(attempts.or_else(|| self.attempts()), left);
        self.finish(status)
    }

    /// Reports that the time is over, and ends the program and all other processes.
    fn report_timeout(&self) -> io::Result<()> {
        self.messages.send(&HelperMessage::TimedOut);
        self.send_facts(self.attempts(), Children::Some);
        self.finish(libc::SIGKILL)
    }

    fn send_facts(&self, attempts: Option<Attempts>, left: Children) {
        let Attempts { outside, connections, datagrams } = attempts.unwrap_or_default();
        if outside > 0 {
            let attempt = Attempt::Outside(i32::try_from(outside).unwrap_or(i32::MAX));
            self.messages.send(&HelperMessage::Refused(Violation { attempt, program: String::new() }));
        }
        let mut facts = RunFacts {
            refused_connections: connections,
            refused_datagrams: datagrams,
            scratch_files: self.new_scratch_files(),
            ..RunFacts::default()
        };
        if left == Children::Some {
            facts.left_processes = leftovers::count(self.program);
            facts.listening = self.counters.as_ref().map(Counters::new_ports).unwrap_or_default();
        }
        if facts != RunFacts::default() {
            self.messages.send(&HelperMessage::Facts(facts));
        }
    }

    fn new_scratch_files(&self) -> u32 {
        let counts = self.scratch_before.zip(scratch_files(self.order));
        counts.map_or(0, |(before, after)| u32::try_from(after.saturating_sub(before)).unwrap_or(u32::MAX))
    }

    fn finish(&self, status: c_int) -> io::Result<()> {
        if has_own_processes(self.order) {
            leftovers::kill_all()?;
        }
        // Where bubblewrap or the launcher is the parent, that process sees this one end.
        self.messages.send(&match self.order.backend {
            Backend::Namespaces => HelperMessage::Gone(status),
            Backend::Bubblewrap | Backend::ContentOnly => HelperMessage::Status(status),
        });
        Ok(())
    }
}

fn deadline_after(wall: Duration) -> Option<Instant> {
    Instant::now().checked_add(wall)
}

/// The number of files and folders in the throw-away layers. All layers are in one file system, and an overlay reports
/// the numbers of its layer.
fn scratch_files(order: &Order) -> Option<u64> {
    let overlay = |path: &Path| {
        let is_overlay = rustix::fs::statfs(path).ok()?.f_type == sys::OVERLAY;
        let numbers = rustix::fs::statvfs(path).ok().filter(|_| is_overlay)?;
        Some(numbers.f_files.saturating_sub(numbers.f_ffree))
    };
    match order.backend {
        Backend::Namespaces => order.profile.scratch.iter().find_map(|grant| overlay(&grant.path)),
        Backend::Bubblewrap | Backend::ContentOnly => None,
    }
}

/// Whether this process is the first in a pid namespace, so that all others there descend from the program.
fn has_own_processes(order: &Order) -> bool {
    match order.backend {
        Backend::Namespaces | Backend::Bubblewrap => std::process::id() == 1,
        Backend::ContentOnly => false,
    }
}

/// Whether the program is in a network without a connection to the outside.
fn has_separate_network(order: &Order) -> bool {
    match (order.profile.network, order.backend) {
        (Network::Own, Backend::Namespaces | Backend::Bubblewrap) => true,
        (Network::Own, Backend::ContentOnly) | (Network::Shared, _) => false,
    }
}

pub(super) fn poll_of(fd: &OwnedFd) -> libc::pollfd {
    libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 }
}

pub(super) fn signals() -> io::Result<OwnedFd> {
    let set = watched_signals();
    // SAFETY: the set is initialised.
    let fd = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just created this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the next pending signal, if there is one.
fn read_signal(signals: &OwnedFd) -> Option<libc::signalfd_siginfo> {
    // SAFETY: all zero is a valid value of this plain structure.
    let mut info: libc::signalfd_siginfo = unsafe { mem::zeroed() };
    let size = size_of_val(&info);
    // SAFETY: the structure has the given size.
    let count = unsafe { libc::read(signals.as_raw_fd(), (&raw mut info).cast(), size) };
    (usize::try_from(count) == Ok(size)).then_some(info)
}

/// Handles all pending signals. Returns the status of the program if it has ended.
fn handle_signals(
    signals: &OwnedFd,
    program: pid_t,
    mut job_control: Option<&mut JobControl>,
    messages: &MessageWriter,
) -> io::Result<Option<c_int>> {
    let mut ended = None;
    while let Some(info) = read_signal(signals) {
        match (info.ssi_signo as c_int, job_control.as_deref_mut()) {
            (libc::SIGCHLD, job_control) => ended = ended.or(reap_children(program, job_control, messages)?),
            (libc::SIGTTOU, _) => {}
            (signal, Some(job_control)) => job_control.forward(signal, program),
            (signal, None) if is_from_process(info.ssi_code) => forward(signal, program),
            (_, None) => {}
        }
    }
    Ok(ended)
}

/// Collects children. Returns the status of the program if it has ended, and reports to the launcher if it has stopped.
fn reap_children(
    program: pid_t,
    job_control: Option<&mut JobControl>,
    messages: &MessageWriter,
) -> io::Result<Option<c_int>> {
    let mode = if job_control.is_some() { ReapMode::ExitsAndStops } else { ReapMode::Exits };
    let (mut ended, mut stopped) = (None, false);
    while let Some((pid, event)) = reap(mode)? {
        match event {
            ChildEvent::Exited(status) if pid == program => ended = Some(status),
            ChildEvent::Stopped if pid == program => stopped = true,
            ChildEvent::Exited(_) | ChildEvent::Stopped => {}
        }
    }
    if let Some(job_control) = job_control.filter(|_| stopped && ended.is_none()) {
        job_control.set_stopped();
        messages.send(&HelperMessage::Stopped);
    }
    Ok(ended)
}
