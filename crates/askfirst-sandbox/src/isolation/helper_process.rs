//! The helper process between the launcher and the program. It sets up the sandbox and starts the program in it, or
//! reports which step failed and starts nothing.
//!
//! There are three processes:
//!
//! - the helper, which waits outside the sandbox;
//! - PID 1, which sets up the sandbox, reaps orphans and forwards signals;
//! - the program.
//!
//! If the helper or PID 1 ends, all processes end.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, mpsc};
use std::thread::Scope;

use libc::{c_int, c_ulong};

use super::cpu_pin::CpuPin;
use super::landlock::{self, AccessRights, Ruleset, Tcp};
use super::mounts::KernelMounts;
use super::network::{self, SetupThread};
use super::order::{Backend, HelperMessage, Order, OwnNetwork, SetupError, Task};
use super::{init, loopback, mounts, passing, streams, sys, wire};
use crate::profile::{OSProfile, User};

/// The descriptors at which the launcher passes the order and the message pipe.
pub(super) const ORDER: RawFd = 3;
pub(super) const MESSAGES: RawFd = 4;

/// The descriptor at which the launcher passes a network.
const NETWORK: RawFd = 5;

/// All namespaces except the network, which takes longer than all others together.
const NAMESPACES: c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// The exit code of a helper that has reported its failure.
pub(super) const REPORTED: i32 = 125;

/// The helper's end of the message pipe to the launcher.
pub(super) struct MessageWriter(OwnedFd);

impl MessageWriter {
    pub(super) fn new(pipe: OwnedFd) -> Self {
        Self(pipe)
    }

    pub(super) fn send(&self, message: &HelperMessage) {
        // If the launcher is gone, the message does not matter: the end of the launcher ends all processes.
        let _ = rustix::io::retry_on_intr(|| rustix::io::write(&self.0, &message.encode()));
    }

    pub(super) fn send_descriptor(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        passing::send(&self.0, &[fd])
    }

    pub(super) fn send_failure(&self, failed: &SetupError) {
        self.send(&HelperMessage::Failed(failed.step.clone(), failed.cause.raw_os_error().unwrap_or(0)));
    }

    fn fail(&self, failed: &SetupError) -> ! {
        self.send_failure(failed);
        end(REPORTED)
    }
}

/// Exits at once, without cleanup.
pub(super) fn end(code: i32) -> ! {
    // SAFETY: this process needs nothing any more.
    unsafe { libc::_exit(code) }
}

/// The main function of the helper. It does not return.
pub(super) fn main() -> ! {
    // SAFETY: the launcher has passed both descriptors, and no other code in this process uses them.
    let (order, messages) = unsafe { (OwnedFd::from_raw_fd(ORDER), OwnedFd::from_raw_fd(MESSAGES)) };
    let messages = MessageWriter(messages);
    let order = match read_order(order) {
        Ok(order) => order,
        Err(failed) => messages.fail(&failed),
    };
    let done = match order.backend {
        Backend::Namespaces if order.task == Task::Network => {
            die_with_parent(MESSAGES).and_then(|()| loopback::create_in_helper(&order, &messages))
        }
        Backend::Namespaces => run_with_namespaces(&order, &messages),
        Backend::Bubblewrap => run_in_bubblewrap(&order, &messages),
        Backend::ContentOnly => run_content_only(&order, &messages),
    };
    match done {
        Ok(code) => end(code),
        Err(failed) => messages.fail(&failed),
    }
}

pub(super) fn read_order(from: OwnedFd) -> Result<Order, SetupError> {
    let bad =
        || SetupError { step: "reading the order".to_owned(), cause: io::ErrorKind::InvalidData.into() };
    rustix::io::fcntl_setfd(&from, rustix::io::FdFlags::CLOEXEC)
        .map_err(SetupError::at("reading the order"))?;
    // SAFETY: no memory is passed.
    let seals = unsafe { libc::fcntl(from.as_raw_fd(), libc::F_GET_SEALS) };
    if seals & super::SEALS != super::SEALS {
        return Err(bad());
    }
    let mut bytes = Vec::new();
    File::from(from).read_to_end(&mut bytes).map_err(SetupError::at("reading the order"))?;
    wire::decode(&bytes).ok_or_else(bad)
}

/// Keeps memory contents out of core dumps.
///
/// Our core size limit alone is not enough: if the inherited limit is zero, it stays zero, and then the kernel passes dumps
/// to a core handler. All child processes inherit this setting, and the program cannot change it.
pub(super) fn disable_core_contents() -> Result<(), SetupError> {
    match sys::write_file("/proc/self/coredump_filter", "0") {
        // This kernel writes no core dumps.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(SetupError::at("disabling core dumps")),
    }
}

/// Runs the helper outside the sandbox: drops what it does not need, starts PID 1 and waits for it.
fn run_with_namespaces(order: &Order, messages: &MessageWriter) -> Result<i32, SetupError> {
    die_with_parent(MESSAGES)?;
    disable_core_contents()?;
    change_user(order)?;
    init::block_signals().map_err(SetupError::at("blocking signals"))?;
    let network = match order.own_network {
        OwnNetwork::New => None,
        // SAFETY: the launcher has passed this descriptor, and no other code in this process uses it.
        OwnNetwork::Passed => Some(unsafe { OwnedFd::from_raw_fd(NETWORK) }),
    };
    let init_process = start_init(order, messages, network, &[])?;
    let code = init::wait_outside(init_process.pid).map_err(SetupError::at("waiting for PID 1"))?;
    drop(init_process.hold);
    Ok(code)
}

/// PID 1, started by [`start_init`].
pub(super) struct InitProcess {
    pid: libc::pid_t,
    /// PID 1 checks the other end of this pipe to see whether the helper is alive.
    pub(super) hold: io::PipeWriter,
    pub(super) cpu_pin: CpuPin,
}

/// Forks PID 1, in the network if the order has been passed one. PID 1 sets up the sandbox and starts the program. It
/// closes the descriptors in `ours`.
pub(super) fn start_init(
    order: &Order,
    messages: &MessageWriter,
    network: Option<OwnedFd>,
    ours: &[RawFd],
) -> Result<InitProcess, SetupError> {
    let (alive, hold) = io::pipe().map_err(SetupError::at("creating a pipe"))?;
    let outer_ids = OuterIds::now();
    let cpu_pin = CpuPin::start();
    let forked = match &network {
        None => sys::fork_into(NAMESPACES),
        Some(network) => loopback::fork_inside(network.as_fd(), NAMESPACES),
    };
    match forked.map_err(SetupError::at("creating the namespaces"))? {
        0 => {
            drop((hold, network));
            ours.iter().for_each(|fd| sys::close(*fd));
            let done = std::thread::scope(|scope| {
                let second = set_up(order, &outer_ids, alive.as_raw_fd(), &cpu_pin, scope)?;
                init::run(order, messages, Some(cpu_pin), || second.join())
            });
            match done {
                Ok(never) => match never {},
                Err(failed) => messages.fail(&failed),
            }
        }
        pid => Ok(InitProcess { pid, hold, cpu_pin }),
    }
}

/// The user and group outside the sandbox, which are mapped to the same ids inside.
pub(super) struct OuterIds {
    user: u32,
    group: u32,
}

impl OuterIds {
    pub(super) fn now() -> Self {
        Self { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() }
    }

    /// Maps them in the new user namespace of this process.
    pub(super) fn map(&self) -> Result<(), SetupError> {
        let map = |file: &str, text: String| {
            sys::write_file(&format!("/proc/self/{file}"), &text)
                .map_err(SetupError::at(format!("writing `{file}`")))
        };
        map("setgroups", "deny".to_owned())?;
        map("uid_map", format!("{0} {0} 1", self.user))?;
        map("gid_map", format!("{0} {0} 1", self.group))
    }
}

/// Makes the kernel kill this process when its parent ends. `pipe` shows whether the parent has already ended.
fn die_with_parent(pipe: RawFd) -> Result<(), SetupError> {
    sys::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong)
        .map_err(SetupError::at("binding the helper to its launcher"))?;
    // The parent may have ended before this was set.
    if sys::is_peer_gone(pipe) {
        end(REPORTED);
    }
    Ok(())
}

pub(super) fn change_user(order: &Order) -> Result<(), SetupError> {
    let root = rustix::process::geteuid().is_root();
    match order.profile.user {
        User::Same if root => match sys::drop_groups() {
            // In a user namespace that forbids this, root is an ordinary user outside and keeps that user's groups.
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied && groups_are_fixed() => {}
            done => done.map_err(SetupError::at("dropping the groups of root"))?,
        },
        User::Same => {}
        User::Other { user, group } => {
            sys::change_user(user, group).map_err(SetupError::at("changing the user"))?;
            // Otherwise root would own the `/proc` files of this process. The change of user also clears the parent-death signal.
            sys::prctl(libc::PR_SET_DUMPABLE, 1).map_err(SetupError::at("changing the user"))?;
            die_with_parent(MESSAGES)?;
        }
    }
    Ok(())
}

fn groups_are_fixed() -> bool {
    std::fs::read_to_string("/proc/self/setgroups").is_ok_and(|text| text.trim() == "deny")
}

/// The setup of PID 1 that needs privileges, which are dropped at the end.
///
/// Returns a second thread. The caller must wait for its end before the program starts.
fn set_up<'scope>(
    order: &'scope Order,
    outer_ids: &OuterIds,
    alive: RawFd,
    cpu_pin: &CpuPin,
    scope: &'scope Scope<'scope, '_>,
) -> Result<SetupThread<'scope>, SetupError> {
    die_with_parent(alive)?;
    // SAFETY: sets a number of this process, which both threads use.
    let mask = unsafe { libc::umask(0) };
    let (moved, have_moved) = mpsc::channel::<Option<Arc<KernelMounts>>>();
    let leave = move || match have_moved.recv() {
        Ok(kernel_mounts) => {
            mounts::detach_old_tree()?;
            kernel_mounts.map_or(Ok(()), |kernel_mounts| kernel_mounts.attach(order))
        }
        // Mounting failed, and the other thread reports it.
        Err(mpsc::RecvError) => Ok(()),
    };
    // Start with the network, since it takes longest.
    let network = network::start(order, cpu_pin, scope, leave)?;
    outer_ids.map()?;
    streams::reopen_terminals()?;
    // The receiver is gone only if the network setup failed, which is reported at the end.
    mounts::build(order, move |kernel_mounts| moved.send(kernel_mounts).unwrap_or(()))?;
    // SAFETY: as above.
    unsafe { libc::umask(mask) };
    let second = network.enter()?;
    streams::reopen_devices()?;
    drop_privileges()?;
    Ok(second)
}

/// Drops all privileges of this thread and of every process that it starts.
fn drop_privileges() -> Result<(), SetupError> {
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(SetupError::at("disabling new privileges"))?;
    sys::drop_capabilities().map_err(SetupError::at("dropping capabilities"))?;
    // Processes inside cannot inspect this one.
    sys::prctl(libc::PR_SET_DUMPABLE, 0)
        .map_err(SetupError::at("hiding the helper from other processes"))
        .map(drop)
}

/// Runs as PID 1 inside bubblewrap, which has created the namespaces and the mounts.
fn run_in_bubblewrap(order: &Order, messages: &MessageWriter) -> Result<i32, SetupError> {
    die_with_parent(MESSAGES)?;
    init::block_signals().map_err(SetupError::at("blocking signals"))?;
    mounts::make_devices_read_only()?;
    streams::reopen_devices()?;
    drop_privileges()?;
    match init::run(order, messages, None, || Ok(()))? {}
}

/// Runs with Landlock and seccomp only. The launcher is the direct parent and kills the process tree.
fn run_content_only(order: &Order, messages: &MessageWriter) -> Result<i32, SetupError> {
    die_with_parent(MESSAGES)?;
    disable_core_contents()?;
    change_user(order)?;
    init::block_signals().map_err(SetupError::at("blocking signals"))?;
    sys::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(SetupError::at("disabling new privileges"))?;
    if rustix::process::geteuid().is_root() {
        sys::drop_capabilities().map_err(SetupError::at("dropping capabilities"))?;
    }
    sys::prctl(libc::PR_SET_DUMPABLE, 0).map_err(SetupError::at("hiding the helper from other processes"))?;
    match init::run(order, messages, None, || Ok(()))? {}
}

/// Creates the Landlock rules for the program. Must run before the filter, which denies the system calls for it.
pub(super) fn landlock_rules(order: &Order) -> Result<Ruleset, SetupError> {
    let failed = || SetupError::at::<io::Error>("creating the Landlock rules");
    match order.backend {
        // The mount tree contains only readable paths, so the rules only restrict writing.
        Backend::Namespaces | Backend::Bubblewrap => {
            let rules = Ruleset::new(landlock::MIN_VERSION_FULL, Tcp::Free).map_err(failed())?;
            rules.allow("/".as_ref(), AccessRights::Read).map_err(failed())?;
            rules.allow("/dev".as_ref(), AccessRights::Use).map_err(failed())?;
            let OSProfile { writable, scratch, .. } = &order.profile;
            let writable = writable.iter().chain(scratch).map(|grant| &grant.path);
            let kept = order.profile.kept.iter().map(|kept| &kept.at);
            for path in writable.chain(order.profile.private_folders()).chain(kept) {
                match rules.allow(path, AccessRights::Write) {
                    // A mount that denies the path covers it.
                    Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {}
                    Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                    done => done.map_err(failed())?,
                }
            }
            Ok(rules)
        }
        Backend::ContentOnly => super::content_only::rules(order),
    }
}

/// Converts words to C strings.
pub(super) fn c_strings(words: impl Iterator<Item = Vec<u8>>) -> Result<Vec<CString>, SetupError> {
    words.map(|message| CString::new(message).map_err(SetupError::at("reading the order"))).collect()
}
