//! The filter on system calls: a list of what is refused, by number and by plain arguments. What lies behind a
//! pointer is never looked at, since it can change after the look.
//!
//! Calls of another architecture, of the other numbering of this one, and those added by later kernels are refused too.

mod lists;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{c_int, c_long, sock_filter};

use super::mechanism::Mechanism;
use super::order::{Order, Way};
use super::steps::{Ask, Step, Steps};
use crate::profile::{Descriptors, Network};
use lists::{MACHINE, SHARED};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// The last call that was looked at when this list was made (`removexattrat`).
const LAST_KNOWN: u32 = 466;

/// Numbers below it that no call has yet, the first and the last. Later kernels may fill them from the front.
#[cfg(target_arch = "x86_64")]
const UNUSED: (u32, u32) = (337, 423);
#[cfg(target_arch = "aarch64")]
const UNUSED: (u32, u32) = (295, 423);

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const NOTIFY: u32 = 0x7fc0_0000;
const fn refuse(errno: c_int) -> u32 {
    0x0005_0000 | (errno as u32 & 0xffff)
}
/// Nothing is done, and nothing said.
const PRETEND: u32 = refuse(0);
const EPERM: u32 = refuse(libc::EPERM);
const ENOSYS: u32 = refuse(libc::ENOSYS);
const EOPNOTSUPP: u32 = refuse(libc::EOPNOTSUPP);
const EINVAL: u32 = refuse(libc::EINVAL);
const ENOMEM: u32 = refuse(libc::ENOMEM);

/// Namespaces of every kind that `clone` can make. Another one, of time, shares its bit with the signal there.
const NAMESPACES: u32 = 0x7e02_0000;
const TIME_NAMESPACE: u32 = 0x80;
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;

/// Whether refusals of sockets, mounts and namespaces are told to PID 1.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Telling {
    Told,
    Silent,
}

/// The program of a filter.
pub(crate) struct Filter {
    code: Vec<sock_filter>,
}

/// The number of a call, where the kernel puts it.
const NUMBER: u32 = 0;
/// Its architecture.
const OF: u32 = 4;

/// The lower half of an argument.
const fn argument(index: u32) -> u32 {
    16 + 8 * index + if cfg!(target_endian = "big") { 4 } else { 0 }
}

/// Its upper half.
const fn upper(index: u32) -> u32 {
    16 + 8 * index + if cfg!(target_endian = "big") { 0 } else { 4 }
}

/// A filter while it is made: what is done with each call.
struct Making {
    steps: Steps,
    calls: BTreeMap<u32, Step>,
}

impl Filter {
    pub(crate) fn new(order: &Order, telling: Telling) -> Self {
        let told = match telling {
            Telling::Told => NOTIFY,
            Telling::Silent => EPERM,
        };
        let mut making = Making::new();
        if order.has(Mechanism::Nesting) {
            making.refuse(&[libc::SYS_setns], told);
            making.refuse(&[libc::SYS_clone3], ENOSYS);
            making.refuse_bits(libc::SYS_clone, 0, NAMESPACES, told);
            making.refuse_bits(libc::SYS_unshare, 0, NAMESPACES | TIME_NAMESPACE, told);
        }
        if order.has(Mechanism::Mounting) {
            making.refuse(&MOUNTING, told);
        }
        if order.has(Mechanism::Keys) {
            making.refuse(&[libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key], EPERM);
        }
        if order.has(Mechanism::Surface) {
            making.refuse(&SURFACE, EPERM);
            making.refuse(&IO_URING, ENOSYS);
            making.limits();
            making.pace(order);
            making.descriptors();
            // Room that no size tells of is not counted as a file's.
            making.refuse_bits(libc::SYS_fallocate, 1, libc::FALLOC_FL_KEEP_SIZE as u32, EOPNOTSUPP);
            // Memory that counts as a stack, and not as a process's own.
            making.refuse_bits(libc::SYS_mmap, 3, libc::MAP_GROWSDOWN as u32, ENOMEM);
        }
        if order.has(Mechanism::Machine) {
            making.refuse(&MACHINE, EPERM);
        }
        // Where it has no room of its own for them, they are those of everybody.
        if order.way == Way::ContentOnly && order.has(Mechanism::IpcNamespace) {
            making.refuse(&SHARED, ENOSYS);
        }
        if order.has(Mechanism::MemoryPrograms) {
            const NO_EXEC_SEAL: u32 = 8;
            making.look_at(libc::SYS_memfd_create, 1, |steps| {
                let (sealed, other) = (steps.answer(ALLOW), steps.answer(ENOSYS));
                steps.ask(Ask::AnyBit(NO_EXEC_SEAL), sealed, other)
            });
        }
        making.requests(order);
        if order.has(Mechanism::SetId) {
            making.set_id();
        }
        if order.has(Mechanism::Sockets) {
            making.sockets(order, told);
        }
        let (mut steps, mut first) = making.choose();
        if order.has(Mechanism::Numbering) {
            let unknown = steps.answer(ENOSYS);
            let used = steps.ask(Ask::AtLeast(UNUSED.1 + 1), first, unknown);
            first = steps.ask(Ask::AtLeast(UNUSED.0), used, first);
            first = steps.ask(Ask::AtLeast(LAST_KNOWN + 1), unknown, first);
        }
        let (number, other) = (steps.load(NUMBER, first), steps.answer(KILL));
        let architecture = steps.ask(Ask::Equal(ARCHITECTURE), number, other);
        let first = steps.load(OF, architecture);
        Self { code: steps.finish(first) }
    }

    /// From now on, for this thread and what it starts. Gives the end at which refusals are told.
    pub(crate) fn enforce(&self, telling: Telling) -> io::Result<Option<OwnedFd>> {
        let len = u16::try_from(self.code.len()).map_err(|_| io::ErrorKind::InvalidData)?;
        let program = libc::sock_fprog { len, filter: self.code.as_ptr().cast_mut() };
        let flags = match telling {
            Telling::Told => libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            Telling::Silent => 0,
        };
        // SAFETY: the program points to as many steps as it says, and they live through the call.
        let result =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &program) };
        match (telling, i32::try_from(result)) {
            // SAFETY: the call has just made this descriptor.
            (Telling::Told, Ok(fd @ 0..)) => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
            (Telling::Silent, Ok(0)) => Ok(None),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// For a test that stands for another machine: these calls are not there, the last only with any of these bits in
    /// its first argument.
    #[cfg(test)]
    pub(crate) fn lacking(calls: &[c_long], with_bits: Option<(c_long, u32)>) -> Self {
        let mut making = Making::new();
        making.refuse(calls, ENOSYS);
        if let Some((call, bits)) = with_bits {
            making.refuse_bits(call, 0, bits, EPERM);
        }
        let (mut steps, first) = making.choose();
        let first = steps.load(NUMBER, first);
        Self { code: steps.finish(first) }
    }

    /// For tests that follow it by hand.
    #[cfg(test)]
    pub(super) fn code(&self) -> &[sock_filter] {
        &self.code
    }
}

impl Making {
    fn new() -> Self {
        Self { steps: Steps::default(), calls: BTreeMap::new() }
    }

    /// By number, and allowed where nothing is said.
    fn choose(self) -> (Steps, Step) {
        let Self { mut steps, calls } = self;
        let first = steps.choose(&calls.into_iter().collect::<Vec<_>>(), ALLOW);
        (steps, first)
    }

    fn refuse(&mut self, calls: &[c_long], action: u32) {
        for call in calls {
            let step = self.steps.answer(action);
            self.put(*call, step);
        }
    }

    fn refuse_bits(&mut self, call: c_long, index: u32, bits: u32, action: u32) {
        self.look_at(call, index, |steps| {
            let (refused, other) = (steps.answer(action), steps.answer(ALLOW));
            steps.ask(Ask::AnyBit(bits), refused, other)
        });
    }

    /// Decides by an argument of a call.
    fn look_at(&mut self, call: c_long, index: u32, decide: impl FnOnce(&mut Steps) -> Step) {
        let then = decide(&mut self.steps);
        let step = self.steps.load(argument(index), then);
        self.put(call, step);
    }

    /// What was said first about a call stands.
    fn put(&mut self, call: c_long, step: Step) {
        self.calls.entry(u32::try_from(call).unwrap_or(u32::MAX)).or_insert(step);
    }

    /// PID 1 is not slowed down, nor whoever waits outside: not by its number, not as one of a user's, and not as one
    /// of a group, which it shares with a program that stays attached to a terminal. Where numbers are those of everybody,
    /// a process names itself and its group alone, as zero.
    fn pace(&mut self, order: &Order) {
        const FIRST: u32 = 1;
        const OWN: u32 = 0;
        const PROCESS: u32 = 0;
        const PROCESS_OF_DISK: u32 = 1;
        let decide = |steps: &mut Steps| {
            let (refused, allowed) = (steps.answer(EPERM), steps.answer(ALLOW));
            match order.way {
                Way::Own | Way::Bubblewrap => steps.ask(Ask::Equal(FIRST), refused, allowed),
                Way::ContentOnly => steps.ask(Ask::Equal(OWN), allowed, refused),
            }
        };
        let by_number = [
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setattr,
            libc::SYS_sched_setaffinity,
        ];
        for call in by_number {
            self.look_at(call, 0, decide);
        }
        // The first argument says what the second names: a process, or one more a group, or two more a user.
        for (call, process) in [(libc::SYS_setpriority, PROCESS), (libc::SYS_ioprio_set, PROCESS_OF_DISK)] {
            self.look_at(call, 0, |steps| {
                let (refused, other) = (steps.answer(EPERM), steps.answer(ALLOW));
                let named = decide(steps);
                let named = steps.load(argument(1), named);
                let group = match (order.profile.descriptors, order.way) {
                    (Descriptors::Standard, Way::Own | Way::Bubblewrap) => other,
                    (Descriptors::Standard, Way::ContentOnly) => named,
                    (Descriptors::Terminal, Way::ContentOnly) => refused,
                    (Descriptors::Terminal, Way::Own | Way::Bubblewrap) => {
                        let group = steps.ask(Ask::Equal(OWN), refused, other);
                        steps.load(argument(1), group)
                    }
                };
                let other = steps.ask(Ask::Equal(process + 2), refused, other);
                let other = steps.ask(Ask::Equal(process + 1), group, other);
                steps.ask(Ask::Equal(process), named, other)
            });
        }
    }

    /// Only its own: PID 1 must be able to go on. That on cores stays, since less of it would let more through; programs
    /// that want none have none anyway, and some end if they are told that they cannot say so.
    fn limits(&mut self) {
        let core = Ask::Equal(libc::RLIMIT_CORE);
        self.look_at(libc::SYS_prlimit64, 0, |steps| {
            let (allowed, refused, pretended) =
                (steps.answer(ALLOW), steps.answer(EPERM), steps.answer(PRETEND));
            // Without a new one the old one is asked for.
            let new = steps.ask(Ask::AnyBit(!0), pretended, allowed);
            let new = steps.load(upper(2), new);
            let new = steps.ask(Ask::AnyBit(!0), pretended, new);
            let new = steps.load(argument(2), new);
            let own = steps.ask(core, new, allowed);
            let own = steps.load(argument(1), own);
            steps.ask(Ask::Equal(0), own, refused)
        });
        self.look_at(libc::SYS_setrlimit, 0, |steps| {
            let (pretended, other) = (steps.answer(PRETEND), steps.answer(ALLOW));
            steps.ask(core, pretended, other)
        });
    }

    /// What is asked of devices and files.
    fn requests(&mut self, order: &Order) {
        let lists = [
            (Mechanism::Surface, &ROOM[..], EOPNOTSUPP),
            (Mechanism::Surface, &HIDING, EOPNOTSUPP),
            (Mechanism::Terminal, &LASTING, EPERM),
        ];
        self.look_at(libc::SYS_ioctl, 1, |steps| {
            let mut other = steps.answer(ALLOW);
            for (mechanism, requests, action) in lists {
                if order.has(mechanism) {
                    let refused = steps.answer(action);
                    other = requests.iter().fold(other, |no, one| steps.ask(Ask::Equal(*one), refused, no));
                }
            }
            if order.has(Mechanism::Terminal) {
                let (allowed, refused) = (other, steps.answer(EPERM));
                for (first, last) in CONSOLES {
                    let inside = steps.ask(Ask::AtLeast(last + 1), allowed, refused);
                    other = steps.ask(Ask::AtLeast(first), inside, other);
                }
            }
            other
        });
    }

    /// What a file that may only be read suffices for, and whoever opens it outside has to wait for. The answer is that of
    /// a kernel without it, and so it is for commands of later ones.
    fn descriptors(&mut self) {
        self.look_at(libc::SYS_fcntl, 1, |steps| {
            let (refused, other) = (steps.answer(EINVAL), steps.answer(ALLOW));
            let other = steps.ask(Ask::AtLeast(LAST_COMMAND + 1), refused, other);
            WAITED_FOR.iter().fold(other, |other, command| steps.ask(Ask::Equal(*command), refused, other))
        });
    }

    /// Wherever a mode is given, and not behind a pointer.
    fn set_id(&mut self) {
        let modes = [
            (libc::SYS_fchmod, 1),
            (libc::SYS_fchmodat, 2),
            (libc::SYS_fchmodat2, 2),
            (libc::SYS_mknodat, 2),
        ];
        for (call, index) in modes {
            self.refuse_bits(call, index, SET_ID, EPERM);
        }
        #[cfg(target_arch = "x86_64")]
        for (call, index) in [(libc::SYS_chmod, 1), (libc::SYS_mknod, 1), (libc::SYS_creat, 1)] {
            self.refuse_bits(call, index, SET_ID, EPERM);
        }
        self.opens(libc::SYS_openat, 2);
        #[cfg(target_arch = "x86_64")]
        self.opens(libc::SYS_open, 1);
        // Its mode lies behind a pointer; callers know kernels that do not have it.
        self.refuse(&[libc::SYS_openat2], ENOSYS);
    }

    /// Without these flags the mode, which comes after them, is whatever happens to be there.
    fn opens(&mut self, call: c_long, flags: u32) {
        let makes = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;
        self.look_at(call, flags, |steps| {
            let (refused, other) = (steps.answer(EPERM), steps.answer(ALLOW));
            let mode = steps.ask(Ask::AnyBit(SET_ID), refused, other);
            let mode = steps.load(argument(flags + 1), mode);
            steps.ask(Ask::AnyBit(makes), mode, other)
        });
    }

    /// A socket in the file system or in the abstract room would reach programs outside, and a datagram pair can be
    /// sent to any of them; connected pairs cannot.
    fn sockets(&mut self, order: &Order, told: u32) {
        let inet = match (order.profile.network, order.way) {
            (Network::Shared, _) | (Network::Own, Way::Own | Way::Bubblewrap) => true,
            (Network::Own, Way::ContentOnly) => false,
        };
        self.look_at(libc::SYS_socket, 0, |steps| {
            let (refused, allowed) = (steps.answer(told), steps.answer(ALLOW));
            if !inet {
                return refused;
            }
            let route = steps.ask(Ask::Equal(libc::NETLINK_ROUTE as u32), allowed, refused);
            let route = steps.load(argument(2), route);
            let other = steps.ask(Ask::Equal(libc::AF_NETLINK as u32), route, refused);
            let other = steps.ask(Ask::Equal(libc::AF_INET6 as u32), allowed, other);
            steps.ask(Ask::Equal(libc::AF_INET as u32), allowed, other)
        });
        self.look_at(libc::SYS_socketpair, 0, |steps| {
            let (refused, allowed) = (steps.answer(told), steps.answer(ALLOW));
            let kind = steps.ask(Ask::Equal(libc::SOCK_SEQPACKET as u32), allowed, refused);
            let kind = steps.ask(Ask::Equal(libc::SOCK_STREAM as u32), allowed, kind);
            let kind = steps.keep(0xf, kind);
            let kind = steps.load(argument(1), kind);
            steps.ask(Ask::Equal(libc::AF_UNIX as u32), kind, refused)
        });
    }
}

/// Whether a call is one that changes mounts.
pub(crate) fn mounts(call: c_long) -> bool {
    MOUNTING.contains(&call)
}

const OPEN_TREE_ATTR: c_long = 467;

const MOUNTING: [c_long; 12] = [
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
];

const SURFACE: [c_long; 8] = [
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
];

/// Leases, and notes about what happens in a folder.
const WAITED_FOR: [u32; 2] = [libc::F_SETLEASE as u32, libc::F_NOTIFY as u32];

/// The last command of `fcntl` that was looked at (`F_SET_FILE_RW_HINT`).
const LAST_COMMAND: u32 = 1038;

/// What pushes characters into a terminal, or leaves it useless to whoever uses it next.
const LASTING: [u32; 4] =
    [libc::TIOCLINUX as u32, libc::TIOCSTI as u32, libc::TIOCSETD as u32, libc::TIOCSSERIAL as u32];

/// Everything that only the console of the machine understands, the first and the last of each kind: keyboard, screen
/// and fonts (`KD…`), and which of its terminals is shown (`VT_…`).
const CONSOLES: [(u32, u32); 2] = [(0x4b00, 0x4bff), (0x5600, 0x56ff)];

/// `FS_IOC_RESVSP`, `FS_IOC_UNRESVSP`, the same two with 64 bits, and `FS_IOC_ZERO_RANGE`: all leave a size as it is.
const ROOM: [u32; 5] = [0x4030_5828, 0x4030_5829, 0x4030_582a, 0x4030_582b, 0x4030_5839];

/// Whatever makes the names in a folder readable with a key alone, or has a key come or go (`FS_IOC_SET_ENCRYPTION_POLICY`,
/// `FS_IOC_ADD_ENCRYPTION_KEY`, and the two that remove one): such a folder could not be searched.
const HIDING: [u32; 4] = [0x800c_6613, 0xc050_6617, 0xc040_6618, 0xc040_6619];

const IO_URING: [c_long; 3] =
    [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

#[cfg(test)]
#[path = "filter/tests.rs"]
mod tests;
