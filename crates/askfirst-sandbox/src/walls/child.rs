//! The last steps before the program takes over: limits, Landlock, the filter, and the start itself.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use libc::{c_char, c_int, c_void};

use super::filter::{Filter, Telling};
use super::inside::{c_strings, end, rules};
use super::mechanism::Mechanism;
use super::order::{Failed, Inside, Order, Way, Word};
use super::turns::Turns;
use super::{check, init, seat, sys};
use crate::profile::Descriptors;
use crate::terminal::Place;

/// How the start went.
pub(super) enum Started {
    /// The program runs, and refusals are told here.
    Running(libc::pid_t, Option<OwnedFd>),
    /// It does not, and this is to be said.
    Not(Word),
}

/// Everything that is made beforehand, since between the split and the start nothing may fail for lack of memory.
struct Ready<'a> {
    order: &'a Order,
    programs: Vec<CString>,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    landlock: Option<super::landlock::Rules>,
    filter: Filter,
    telling: Telling,
    turns: Option<Turns>,
    /// What came of it, written by the child in memory that both share.
    result: Outcome,
    listener: Option<OwnedFd>,
}

enum Outcome {
    Untold,
    Failed(Failed),
    NotStarted(i32),
}

/// Starts the program when all is ready and `wait` is done. The child borrows our memory and our descriptors until the
/// program takes over, and we stand still meanwhile: nothing is copied.
pub(super) fn start(
    order: &Order,
    turns: Option<Turns>,
    wait: impl FnOnce() -> Result<(), Failed>,
) -> Result<Started, Failed> {
    let args = std::iter::once(&order.program).chain(&order.args);
    let argv = c_strings(args.map(|arg| arg.as_bytes().to_vec()))?;
    let passed = |name: &OsStr| {
        name == crate::marker::VARIABLE
            || order.profile.environment.iter().any(|allowed| allowed == name)
            || !order.has(Mechanism::Environment)
    };
    let env = order.env.iter().filter(|(name, _)| passed(name));
    let envp = c_strings(env.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat()))?;
    let pointers = |strings: &[CString]| {
        strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>()
    };
    // Nobody listens while the check looks around.
    let telling = match order.inside {
        Inside::Program => Telling::Told,
        Inside::Check => Telling::Silent,
    };
    let mut ready = Ready {
        order,
        programs: programs(order)?,
        argv: pointers(&argv),
        envp: pointers(&envp),
        landlock: rules(order)?,
        filter: Filter::new(order, telling),
        telling,
        turns,
        result: Outcome::Untold,
        listener: None,
    };
    // Nothing runs before the old tree is left, which is the working folder until then.
    wait()?;
    let folder = sys::c_path(&order.folder).map_err(Failed::at("entering the folder"))?;
    // SAFETY: the path is NUL-ended.
    if unsafe { libc::chdir(folder.as_ptr()) } != 0 {
        let cause = io::Error::last_os_error();
        return Err(Failed {
            step: format!("entering the folder `{}`", crate::error::shown(&order.folder)),
            cause,
        });
    }
    let mut stack = vec![0_u8; 256 << 10];
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: the end of the stack, brought down to the alignment that both architectures want.
    let top = unsafe { top.sub(top.addr() % 16) };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::SIGCHLD;
    let argument: *mut Ready<'_> = &mut ready;
    // SAFETY: the child runs on a stack of its own and uses `ready` while this thread, the only one, stands still
    // (CLONE_VFORK); it ends by starting the program or by `_exit`.
    let pid = unsafe { libc::clone(child, top.cast::<c_void>(), flags, argument.cast::<c_void>()) };
    if pid < 0 {
        return Err(Failed { step: "starting the program".to_owned(), cause: io::Error::last_os_error() });
    }
    drop((stack, argv, envp));
    match ready.result {
        Outcome::Untold => Ok(Started::Running(pid, ready.listener)),
        Outcome::Failed(failed) => Err(failed),
        Outcome::NotStarted(number) => Ok(Started::Not(Word::NotStarted(number))),
    }
}

/// Where the program may lie, in the order in which it is tried. Only absolute folders of `PATH` count.
fn programs(order: &Order) -> Result<Vec<CString>, Failed> {
    let paths: Vec<_> = if order.program.as_bytes().contains(&b'/') {
        vec![order.folder.join(&order.program)]
    } else {
        let path = order.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        std::env::split_paths(path.unwrap_or_default())
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&order.program))
            .collect()
    };
    paths.iter().map(|path| sys::c_path(path).map_err(Failed::at("reading the order"))).collect()
}

extern "C" fn child(ready: *mut c_void) -> c_int {
    // SAFETY: the parent passes a pointer to a `Ready` and stands still until this process is another program or gone.
    let ready = unsafe { &mut *ready.cast::<Ready<'_>>() };
    match prepare(ready) {
        Ok(()) => ready.result = Outcome::NotStarted(execute(ready)),
        Err(failed) => ready.result = Outcome::Failed(failed),
    }
    end(127)
}

fn prepare(ready: &mut Ready<'_>) -> Result<(), Failed> {
    let order = ready.order;
    match (order.place, order.profile.descriptors) {
        (place @ (Place::Front | Place::Behind), _) => {
            seat::sit_down(place).map_err(Failed::at("handing over the terminal"))?;
        }
        // SAFETY: no memory is passed; it can fail only for a leader of a group, which has a session already.
        (Place::Apart, Descriptors::Standard) => drop(unsafe { libc::setsid() }),
        (Place::Apart, Descriptors::Terminal) => {}
    }
    init::unblock_signals().map_err(Failed::at("unblocking signals"))?;
    // The standard library ignores it for the helper, and what is ignored stays so.
    // SAFETY: handlers are not shared with PID 1, and the program is to find the default.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    if let Some(turns) = &ready.turns {
        turns.free();
    }
    if order.has(Mechanism::Limits) {
        limits(order)?;
    }
    if order.has(Mechanism::Descriptors) {
        // The table is shared with PID 1, which starts no program itself and so keeps them.
        sys::close_from(3).map_err(Failed::at("closing descriptors"))?;
    }
    if let Some(rules) = ready.landlock.take() {
        rules.enforce().map_err(Failed::at("enforcing the rules of Landlock"))?;
    }
    ready.listener = ready.filter.enforce(ready.telling).map_err(Failed::at("enforcing the filter"))?;
    match order.inside {
        Inside::Program => Ok(()),
        Inside::Check => check::look_around(order),
    }
}

fn limits(order: &Order) -> Result<(), Failed> {
    let failed = |name: &'static str| Failed::at::<io::Error>(format!("setting the limit `{name}`"));
    let limits = &order.profile.limits;
    // Too little for a file; and to a program that takes what is left of others, the kernel hands nothing over only with
    // this limit, not with none.
    sys::set_limit(libc::RLIMIT_CORE, 1, 1).map_err(failed("core"))?;
    if let Some(cpu) = limits.cpu {
        let seconds = cpu.as_secs();
        sys::set_limit(libc::RLIMIT_CPU, seconds, seconds.saturating_add(1)).map_err(failed("cpu"))?;
    }
    if let Some(bytes) = limits.memory {
        sys::set_limit(libc::RLIMIT_DATA, bytes, bytes).map_err(failed("memory"))?;
    }
    if let Some(bytes) = limits.file {
        sys::set_limit(libc::RLIMIT_FSIZE, bytes, bytes).map_err(failed("file"))?;
    }
    if let Some(more) = limits.processes {
        // In a user namespace of its own only what runs there is counted, and PID 1 does.
        let others = match order.way {
            Way::Own | Way::Bubblewrap => 1,
            Way::ContentOnly => crate::process::tasks_of_user().map_err(failed("processes"))?,
        };
        let most = more.saturating_add(others);
        sys::set_limit(libc::RLIMIT_NPROC, most, most).map_err(failed("processes"))?;
    }
    Ok(())
}

/// Returns only if no program could be started, with the error that says most.
fn execute(ready: &Ready<'_>) -> i32 {
    let mut error = libc::ENOENT;
    for program in &ready.programs {
        // SAFETY: both lists end with a null pointer and point to NUL-ended strings that live.
        unsafe { libc::execve(program.as_ptr(), ready.argv.as_ptr(), ready.envp.as_ptr()) };
        match io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOENT) {
            libc::ENOENT | libc::ENOTDIR => {}
            other => error = other,
        }
    }
    error
}
