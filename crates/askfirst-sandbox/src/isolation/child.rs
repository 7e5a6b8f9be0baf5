//! The last steps before the program runs: limits, Landlock, the filter, and the exec itself.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use libc::{c_char, c_int, c_void};

use super::cpu_pin::CpuPin;
use super::filter::{Filter, Notification};
use super::helper_process::{c_strings, end, landlock_rules};
use super::landlock::Ruleset;
use super::order::{Backend, HelperMessage, Order, SetupError, Task};
use super::{init, job_control, self_test, sys};
use crate::profile::Descriptors;
use crate::terminal::TerminalAccess;

/// The result of starting the program.
pub(super) enum StartResult {
    /// The program runs. The descriptor, if any, delivers the refusals of the filter.
    Running(libc::pid_t, Option<OwnedFd>),
    /// The program could not be executed. This message goes to the launcher.
    NotRunning(HelperMessage),
}

/// Everything that is allocated before the clone, since no allocation may fail between clone and exec.
struct ChildSetup<'a> {
    order: &'a Order,
    programs: Vec<CString>,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    landlock: Ruleset,
    filter: Filter,
    notification: Notification,
    cpu_pin: Option<CpuPin>,
    /// The result, which the child writes into the shared memory.
    result: ExecResult,
    listener: Option<OwnedFd>,
}

/// The result of the child's steps before the exec.
enum ExecResult {
    /// The child executed the program, or has not finished yet.
    Pending,
    Failed(SetupError),
    NotStarted(i32),
}

/// Starts the program after all preparations and after `wait`.
///
/// The child shares our memory and descriptors until the exec, and this process is suspended meanwhile, so that nothing
/// is copied.
pub(super) fn start(
    order: &Order,
    cpu_pin: Option<CpuPin>,
    wait: impl FnOnce() -> Result<(), SetupError>,
) -> Result<StartResult, SetupError> {
    let args = std::iter::once(&order.program).chain(&order.args);
    let argv = c_strings(args.map(|arg| arg.as_bytes().to_vec()))?;
    let passed = |name: &OsStr| {
        name == crate::marker::VARIABLE || order.profile.environment.iter().any(|allowed| allowed == name)
    };
    let env = order.env.iter().filter(|(name, _)| passed(name));
    let envp = c_strings(env.map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat()))?;
    let pointers = |strings: &[CString]| {
        strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>()
    };
    // No process reads notifications during the self-test.
    let notification = match order.task {
        Task::Program => Notification::On,
        Task::SelfTest | Task::Network => Notification::Off,
    };
    let mut setup = ChildSetup {
        order,
        programs: programs(order)?,
        argv: pointers(&argv),
        envp: pointers(&envp),
        landlock: landlock_rules(order)?,
        filter: Filter::new(order, notification),
        notification,
        cpu_pin,
        result: ExecResult::Pending,
        listener: None,
    };
    // Until the old tree is detached, it is the working folder. So nothing may run before that.
    wait()?;
    let folder = sys::c_path(&order.folder).map_err(SetupError::at("entering the folder"))?;
    // SAFETY: the path is NUL-terminated.
    if unsafe { libc::chdir(folder.as_ptr()) } != 0 {
        let cause = io::Error::last_os_error();
        return Err(SetupError {
            step: format!("entering the folder `{}`", crate::error::escape(&order.folder)),
            cause,
        });
    }
    let mut stack = vec![0_u8; 256 << 10];
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: the end of the stack, rounded down to the alignment that both architectures require.
    let top = unsafe { top.sub(top.addr() % 16) };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::SIGCHLD;
    let argument: *mut ChildSetup<'_> = &mut setup;
    // SAFETY: the child runs on its own stack and uses `setup` while this thread, the only one, is suspended
    // (CLONE_VFORK). The child ends with an exec or with `_exit`.
    let pid = unsafe { libc::clone(child, top.cast::<c_void>(), flags, argument.cast::<c_void>()) };
    if pid < 0 {
        return Err(SetupError {
            step: "starting the program".to_owned(),
            cause: io::Error::last_os_error(),
        });
    }
    drop((stack, argv, envp));
    match setup.result {
        ExecResult::Pending => Ok(StartResult::Running(pid, setup.listener)),
        ExecResult::Failed(failed) => Err(failed),
        ExecResult::NotStarted(number) => Ok(StartResult::NotRunning(HelperMessage::NotStarted(number))),
    }
}

/// Returns the paths of the program, in the order in which they are tried. Only absolute folders of `PATH` count.
fn programs(order: &Order) -> Result<Vec<CString>, SetupError> {
    let paths: Vec<_> = if order.program.as_bytes().contains(&b'/') {
        vec![order.folder.join(&order.program)]
    } else {
        let path = order.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
        std::env::split_paths(path.unwrap_or_default())
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&order.program))
            .collect()
    };
    paths.iter().map(|path| sys::c_path(path).map_err(SetupError::at("reading the order"))).collect()
}

extern "C" fn child(setup: *mut c_void) -> c_int {
    // SAFETY: the parent passes a pointer to a `ChildSetup` and is suspended until this process has executed or exited.
    let setup = unsafe { &mut *setup.cast::<ChildSetup<'_>>() };
    match restrict(setup) {
        Ok(()) => setup.result = ExecResult::NotStarted(execute(setup)),
        Err(failed) => setup.result = ExecResult::Failed(failed),
    }
    end(127)
}

fn restrict(setup: &mut ChildSetup<'_>) -> Result<(), SetupError> {
    let order = setup.order;
    match (order.terminal, order.profile.descriptors) {
        (terminal @ (TerminalAccess::Foreground | TerminalAccess::Background), _) => {
            job_control::join_terminal(terminal).map_err(SetupError::at("handing over the terminal"))?;
        }
        // SAFETY: no memory is passed. The call fails only for a group leader, which already has its own session.
        (TerminalAccess::Detached, Descriptors::Standard) => drop(unsafe { libc::setsid() }),
        (TerminalAccess::Detached, Descriptors::Terminal) => {}
    }
    init::unblock_signals().map_err(SetupError::at("unblocking signals"))?;
    // The Rust runtime ignores SIGPIPE in the helper, and an exec would keep that.
    // SAFETY: handlers are not shared with PID 1, and the program must start with the default.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    if let Some(cpu_pin) = &setup.cpu_pin {
        cpu_pin.release();
    }
    set_limits(order)?;
    // PID 1 shares this descriptor table. It never executes a program, so its descriptors stay open.
    sys::close_on_exec_from(3).map_err(SetupError::at("closing descriptors"))?;
    setup.landlock.enforce().map_err(SetupError::at("enforcing the Landlock rules"))?;
    setup.listener =
        setup.filter.enforce(setup.notification).map_err(SetupError::at("enforcing the filter"))?;
    self_test::run(order, setup.notification)
}

fn set_limits(order: &Order) -> Result<(), SetupError> {
    let failed = |name: &'static str| SetupError::at::<io::Error>(format!("setting the limit `{name}`"));
    let limits = &order.profile.limits;
    // A core file of one byte is useless. At a limit of exactly 1, the kernel passes no dump to a core handler; at 0 it would.
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
        // The user namespace counts only processes inside it, and PID 1 is one of them.
        let others = match order.backend {
            Backend::Namespaces | Backend::Bubblewrap => 1,
            Backend::ContentOnly => crate::process::tasks_of_user().map_err(failed("processes"))?,
        };
        let most = more.saturating_add(others);
        sys::set_limit(libc::RLIMIT_NPROC, most, most).map_err(failed("processes"))?;
    }
    Ok(())
}

/// Tries to execute each path. Returns only if all fail, with the most informative error.
fn execute(setup: &ChildSetup<'_>) -> i32 {
    let mut error = libc::ENOENT;
    for program in &setup.programs {
        // SAFETY: both lists end with a null pointer and point to live NUL-terminated strings.
        unsafe { libc::execve(program.as_ptr(), setup.argv.as_ptr(), setup.envp.as_ptr()) };
        match io::Error::last_os_error().raw_os_error().unwrap_or(libc::ENOENT) {
            libc::ENOENT | libc::ENOTDIR => {}
            other => error = other,
        }
    }
    error
}
