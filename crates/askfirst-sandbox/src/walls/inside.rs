//! The helper: the process between the launcher and the program. It makes the walls and starts the program behind
//! them, or says which step failed and starts nothing.
//!
//! Three processes: the helper, which waits outside; PID 1, which makes the walls, reaps and passes signals on; the
//! program. Whichever of the first two ends takes everything with it.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, mpsc};
use std::thread::Scope;

use libc::{c_int, c_ulong};

use super::landlock::{self, Rights, Rules, Tcp};
use super::mechanism::Mechanism;
use super::mounts::OfKernel;
use super::network::{self, Second};
use super::order::{Failed, Order, Way, Word};
use super::turns::Turns;
use super::{init, mounts, streams, sys, wire};
use crate::profile::User;

/// Where the launcher puts the order and the pipe for the answer.
pub(super) const ORDER: RawFd = 3;
pub(super) const ANSWER: RawFd = 4;

/// The code with which a helper ends that has said why.
pub(super) const SAID: i32 = 125;

/// The end of the pipe at which the launcher listens.
pub(super) struct Answer(OwnedFd);

impl Answer {
    pub(super) fn new(pipe: OwnedFd) -> Self {
        Self(pipe)
    }

    pub(super) fn say(&self, word: &Word) {
        // A launcher that is gone needs no answer, and its end ends everything.
        let _ = rustix::io::retry_on_intr(|| rustix::io::write(&self.0, &word.encode()));
    }

    pub(super) fn tell(&self, failed: &Failed) {
        self.say(&Word::Failed(failed.step.clone(), failed.cause.raw_os_error().unwrap_or(0)));
    }

    fn fail(&self, failed: &Failed) -> ! {
        self.tell(failed);
        end(SAID)
    }
}

/// Ends this process at once.
pub(super) fn end(code: i32) -> ! {
    // SAFETY: nothing of this process is needed any more.
    unsafe { libc::_exit(code) }
}

/// All of the helper. It does not return.
pub(super) fn main() -> ! {
    // SAFETY: the launcher has put both in place, and nobody else in this process knows them.
    let (order, answer) = unsafe { (OwnedFd::from_raw_fd(ORDER), OwnedFd::from_raw_fd(ANSWER)) };
    let answer = Answer(answer);
    let order = match read_order(order) {
        Ok(order) => order,
        Err(failed) => answer.fail(&failed),
    };
    let done = match order.way {
        Way::Own => own(&order, &answer),
        Way::Bubblewrap => inner(&order, &answer),
        Way::ContentOnly => content_only(&order, &answer),
    };
    match done {
        Ok(code) => end(code),
        Err(failed) => answer.fail(&failed),
    }
}

pub(super) fn read_order(from: OwnedFd) -> Result<Order, Failed> {
    let bad = || Failed { step: "reading the order".to_owned(), cause: io::ErrorKind::InvalidData.into() };
    rustix::io::fcntl_setfd(&from, rustix::io::FdFlags::CLOEXEC).map_err(Failed::at("reading the order"))?;
    // SAFETY: no memory is passed.
    let seals = unsafe { libc::fcntl(from.as_raw_fd(), libc::F_GET_SEALS) };
    if seals & super::SEALS != super::SEALS {
        return Err(bad());
    }
    let mut bytes = Vec::new();
    File::from(from).read_to_end(&mut bytes).map_err(Failed::at("reading the order"))?;
    wire::decode(&bytes).ok_or_else(bad)
}

/// Whoever takes what is left of a crash finds nothing of memory in it, even where our limit on that does not hold: one of
/// none may have been there before. It is kept by all that is started, who cannot write it.
pub(super) fn leave_nothing() -> Result<(), Failed> {
    match sys::tell("/proc/self/coredump_filter", "0") {
        // A kernel that keeps nothing.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done.map_err(Failed::at("leaving nothing of a crash")),
    }
}

/// The helper outside: gives up what it does not need, starts PID 1 and waits for it.
fn own(order: &Order, answer: &Answer) -> Result<i32, Failed> {
    die_with_parent(ANSWER)?;
    leave_nothing()?;
    become_user(order)?;
    init::block_signals().map_err(Failed::at("blocking signals"))?;
    let begun = begin(order, answer, &[])?;
    let code = init::wait_outside(begun.first).map_err(Failed::at("waiting"))?;
    drop(begun.hold);
    Ok(code)
}

/// PID 1, split off.
pub(super) struct Begun {
    first: libc::pid_t,
    /// Held while PID 1 may look whether we are still there.
    pub(super) hold: io::PipeWriter,
    pub(super) turns: Turns,
}

/// Splits PID 1 off, which makes the walls and starts the program. `ours` is not open there.
pub(super) fn begin(order: &Order, answer: &Answer, ours: &[RawFd]) -> Result<Begun, Failed> {
    let (alive, hold) = io::pipe().map_err(Failed::at("making a pipe"))?;
    let outside = Outside::now();
    let turns = Turns::begin();
    match sys::split(namespaces(order)).map_err(Failed::at("making the namespaces"))? {
        0 => {
            drop(hold);
            ours.iter().for_each(|fd| sys::close(*fd));
            let done = std::thread::scope(|scope| {
                let second = first(order, &outside, alive.as_raw_fd(), &turns, scope)?;
                init::run(order, answer, Some(turns), || second.end())
            });
            match done {
                Ok(never) => match never {},
                Err(failed) => answer.fail(&failed),
            }
        }
        first => Ok(Begun { first, hold, turns }),
    }
}

/// Who we are outside, to be mapped inside.
struct Outside {
    user: u32,
    group: u32,
}

impl Outside {
    fn now() -> Self {
        Self { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() }
    }
}

fn die_with_parent(pipe: RawFd) -> Result<(), Failed> {
    sys::control(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_ulong)
        .map_err(Failed::at("tying the life to the launcher's"))?;
    // It may have ended before this was set.
    if sys::is_alone(pipe) {
        end(SAID);
    }
    Ok(())
}

pub(super) fn become_user(order: &Order) -> Result<(), Failed> {
    let root = rustix::process::geteuid().is_root();
    match order.profile.user {
        User::Same if root => match sys::leave_groups() {
            // In a user namespace that forbids it, root is an ordinary user outside, whose groups it keeps.
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied && groups_are_fixed() => {}
            done => done.map_err(Failed::at("leaving the groups of root"))?,
        },
        User::Same => {}
        User::Other { user, group } => {
            sys::become_user(user, group).map_err(Failed::at("becoming another user"))?;
            // Otherwise the files of this process under `/proc` would be root's, and that for our parent is cleared.
            sys::control(libc::PR_SET_DUMPABLE, 1).map_err(Failed::at("becoming another user"))?;
            die_with_parent(ANSWER)?;
        }
    }
    Ok(())
}

fn groups_are_fixed() -> bool {
    std::fs::read_to_string("/proc/self/setgroups").is_ok_and(|said| said.trim() == "deny")
}

/// All but the network, which takes longer than the rest together.
fn namespaces(order: &Order) -> c_int {
    let kinds = [
        (Mechanism::IpcNamespace, libc::CLONE_NEWIPC),
        (Mechanism::PidNamespace, libc::CLONE_NEWPID),
        (Mechanism::UtsNamespace, libc::CLONE_NEWUTS),
        (Mechanism::CgroupNamespace, libc::CLONE_NEWCGROUP),
    ];
    let always = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
    kinds.into_iter().filter(|(kind, _)| order.has(*kind)).fold(always, |all, (_, flag)| all | flag)
}

/// PID 1, before anything runs: all that needs rights which are given up at the end. Gives a second thread, whose end is to
/// be waited for.
fn first<'scope>(
    order: &'scope Order,
    outside: &Outside,
    alive: RawFd,
    turns: &Turns,
    scope: &'scope Scope<'scope, '_>,
) -> Result<Second<'scope>, Failed> {
    if order.has(Mechanism::Tie) {
        die_with_parent(alive)?;
    }
    // SAFETY: sets a number of this process, which both threads use.
    let mask = unsafe { libc::umask(0) };
    let (moved, have_moved) = mpsc::channel::<Option<Arc<OfKernel>>>();
    let leave = move || match have_moved.recv() {
        Ok(of_kernel) => {
            mounts::leave_old()?;
            of_kernel.map_or(Ok(()), |of_kernel| of_kernel.put(order))
        }
        // Nothing is mounted; then either nothing is to be, or it has failed and is told there.
        Err(mpsc::RecvError) => Ok(()),
    };
    // First of all, since it takes longest.
    let network = network::begin(order, turns, scope, leave)?;
    let Outside { user, group } = outside;
    let map = |file: &str, text: String| {
        sys::tell(&format!("/proc/self/{file}"), &text).map_err(Failed::at(format!("writing `{file}`")))
    };
    map("setgroups", "deny".to_owned())?;
    map("uid_map", format!("{user} {user} 1"))?;
    map("gid_map", format!("{group} {group} 1"))?;
    streams::terminals()?;
    if order.has(Mechanism::Mounts) {
        // There is somebody to hear it unless the network has failed, which is told at the end.
        mounts::build(order, move |of_kernel| moved.send(of_kernel).unwrap_or(()))?;
    } else {
        drop(moved);
    }
    // SAFETY: as above.
    unsafe { libc::umask(mask) };
    let second = network.enter()?;
    streams::devices()?;
    give_up(order)?;
    Ok(second)
}

/// Gives up every right, for this thread and all that it starts.
fn give_up(order: &Order) -> Result<(), Failed> {
    if order.has(Mechanism::NoNewPrivileges) {
        sys::control(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(Failed::at("giving up new privileges"))?;
    }
    if order.has(Mechanism::Capabilities) {
        sys::drop_capabilities().map_err(Failed::at("giving up capabilities"))?;
    }
    // Nobody inside can look into this process.
    sys::control(libc::PR_SET_DUMPABLE, 0).map_err(Failed::at("closing this process")).map(drop)
}

/// Inside of bubblewrap: it has made the namespaces and the mounts.
fn inner(order: &Order, answer: &Answer) -> Result<i32, Failed> {
    die_with_parent(ANSWER)?;
    init::block_signals().map_err(Failed::at("blocking signals"))?;
    mounts::close_devices()?;
    streams::devices()?;
    give_up(order)?;
    match init::run(order, answer, None, || Ok(()))? {}
}

/// Landlock and seccomp alone: the launcher itself is the parent, and ends the tree.
fn content_only(order: &Order, answer: &Answer) -> Result<i32, Failed> {
    die_with_parent(ANSWER)?;
    leave_nothing()?;
    become_user(order)?;
    init::block_signals().map_err(Failed::at("blocking signals"))?;
    if order.has(Mechanism::NoNewPrivileges) {
        sys::control(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(Failed::at("giving up new privileges"))?;
    }
    if rustix::process::geteuid().is_root() {
        sys::drop_capabilities().map_err(Failed::at("giving up capabilities"))?;
    }
    sys::control(libc::PR_SET_DUMPABLE, 0).map_err(Failed::at("closing this process"))?;
    match init::run(order, answer, None, || Ok(()))? {}
}

/// The rules of Landlock for a program. Before the filter, which refuses what this needs.
pub(super) fn rules(order: &Order) -> Result<Option<Rules>, Failed> {
    if !order.has(Mechanism::Landlock) {
        return Ok(None);
    }
    let failed = || Failed::at::<io::Error>("making the rules of Landlock");
    match order.way {
        // The tree holds nothing that may not be read, so what is left to say is where may be written.
        Way::Own | Way::Bubblewrap => {
            let rules = Rules::new(landlock::LEAST_FULL, Tcp::Free).map_err(failed())?;
            rules.allow("/".as_ref(), Rights::Read).map_err(failed())?;
            rules.allow("/dev".as_ref(), Rights::Use).map_err(failed())?;
            let writable = order.profile.writable.iter().map(|grant| &grant.path);
            for path in writable.chain(&order.profile.private) {
                match rules.allow(path, Rights::Write) {
                    // Covered by something that is denied.
                    Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {}
                    Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                    done => done.map_err(failed())?,
                }
            }
            Ok(Some(rules))
        }
        Way::ContentOnly => super::content::rules(order).map(Some),
    }
}

/// The words of a command as the system wants them.
pub(super) fn c_strings(words: impl Iterator<Item = Vec<u8>>) -> Result<Vec<CString>, Failed> {
    words.map(|word| CString::new(word).map_err(Failed::at("reading the order"))).collect()
}
