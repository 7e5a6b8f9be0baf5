//! The seccomp filter: a list of refused system calls, by number and by plain arguments.
//!
//! The filter never reads memory behind a pointer, since a process could change it after the check.
//! It also refuses calls of another architecture, of the x32 ABI, and calls that later kernels added.

mod lists;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{c_int, c_long, sock_filter};

use super::bpf::{Assembler, Condition, Label};
use super::order::{Backend, Order};
use crate::profile::{Descriptors, Network};
use lists::{MACHINE, SHARED};

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// The last call that existed when this list was made (`removexattrat`).
const LAST_KNOWN: u32 = 466;

/// The first and last of the numbers below it that no call uses yet. Later kernels may use them from the front.
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
/// Reports success without doing anything.
const FAKE_SUCCESS: u32 = refuse(0);
const EPERM: u32 = refuse(libc::EPERM);
const ENOSYS: u32 = refuse(libc::ENOSYS);
const EOPNOTSUPP: u32 = refuse(libc::EOPNOTSUPP);
const EINVAL: u32 = refuse(libc::EINVAL);
const ENOMEM: u32 = refuse(libc::ENOMEM);

/// The flags of all namespaces that `clone` can create. There, the flag of the time namespace means a signal instead.
const NAMESPACES: u32 = 0x7e02_0000;
const TIME_NAMESPACE: u32 = 0x80;
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;

/// Whether PID 1 is notified about refused sockets, mounts and namespaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notification {
    On,
    Off,
}

/// The instructions of a filter.
pub(crate) struct Filter {
    code: Vec<sock_filter>,
}

/// The offset of the number of the call in the call data.
const NUMBER_OFFSET: u32 = 0;
/// The offset of its architecture.
const ARCH_OFFSET: u32 = 4;

/// The offset of the lower half of an argument.
const fn argument(index: u32) -> u32 {
    16 + 8 * index + if cfg!(target_endian = "big") { 4 } else { 0 }
}

/// The offset of the upper half of an argument.
const fn upper(index: u32) -> u32 {
    16 + 8 * index + if cfg!(target_endian = "big") { 0 } else { 4 }
}

/// A filter that is being built: the action for each call.
struct FilterBuilder {
    asm: Assembler,
    calls: BTreeMap<u32, Label>,
}

impl Filter {
    pub(crate) fn new(order: &Order, notification: Notification) -> Self {
        let reported = match notification {
            Notification::On => NOTIFY,
            Notification::Off => EPERM,
        };
        let mut builder = FilterBuilder::new();
        builder.namespaces(reported);
        builder.refuse(&MOUNTING, reported);
        builder.refuse(&[libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key], EPERM);
        builder.refuse(&SURFACE, EPERM);
        builder.refuse(&IO_URING, ENOSYS);
        builder.limits();
        builder.priorities(order);
        builder.descriptors();
        // With this flag, reserved space does not count as the size of a file, so the file limit would miss it.
        builder.refuse_bits(libc::SYS_fallocate, 1, libc::FALLOC_FL_KEEP_SIZE as u32, EOPNOTSUPP);
        // The kernel counts such memory as stack and not as data, so the memory limit would miss it.
        builder.refuse_bits(libc::SYS_mmap, 3, libc::MAP_GROWSDOWN as u32, ENOMEM);
        builder.refuse(&MACHINE, EPERM);
        // Without an IPC namespace, these objects are shared with all processes of the machine.
        if order.backend == Backend::ContentOnly {
            builder.refuse(&SHARED, ENOSYS);
        }
        builder.memory_files();
        builder.requests();
        builder.set_id();
        builder.sockets(order, reported);
        let (mut asm, first) = builder.assemble();
        let unknown = asm.ret(ENOSYS);
        let used = asm.branch(Condition::AtLeast(UNUSED.1 + 1), first, unknown);
        let first = asm.branch(Condition::AtLeast(UNUSED.0), used, first);
        let first = asm.branch(Condition::AtLeast(LAST_KNOWN + 1), unknown, first);
        let (number, other) = (asm.load(NUMBER_OFFSET, first), asm.ret(KILL));
        let architecture = asm.branch(Condition::Equal(ARCHITECTURE), number, other);
        let first = asm.load(ARCH_OFFSET, architecture);
        Self { code: asm.finish(first) }
    }

    /// Enforces the filter for this thread and what it starts. Returns the descriptor for notifications.
    pub(crate) fn enforce(&self, notification: Notification) -> io::Result<Option<OwnedFd>> {
        let len = u16::try_from(self.code.len()).map_err(|_| io::ErrorKind::InvalidData)?;
        let program = libc::sock_fprog { len, filter: self.code.as_ptr().cast_mut() };
        let flags = match notification {
            Notification::On => libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            Notification::Off => 0,
        };
        // SAFETY: the program points to as many instructions as it says, and they live through the call.
        let result =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &program) };
        match (notification, i32::try_from(result)) {
            // SAFETY: the call has just created this descriptor.
            (Notification::On, Ok(fd @ 0..)) => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
            (Notification::Off, Ok(0)) => Ok(None),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Imitates another machine, for a test: these calls do not exist, and the call in `with_bits` fails if its first
    /// argument has any of these bits.
    #[cfg(test)]
    pub(crate) fn imitating_machine_without(calls: &[c_long], with_bits: Option<(c_long, u32)>) -> Self {
        let mut builder = FilterBuilder::new();
        builder.refuse(calls, ENOSYS);
        if let Some((call, bits)) = with_bits {
            builder.refuse_bits(call, 0, bits, EPERM);
        }
        let (mut asm, first) = builder.assemble();
        let first = asm.load(NUMBER_OFFSET, first);
        Self { code: asm.finish(first) }
    }

    /// The instructions, for tests that interpret them.
    #[cfg(test)]
    pub(super) fn code(&self) -> &[sock_filter] {
        &self.code
    }
}

impl FilterBuilder {
    fn new() -> Self {
        Self { asm: Assembler::default(), calls: BTreeMap::new() }
    }

    /// Assembles the dispatch by number. Calls without an entry are allowed.
    fn assemble(self) -> (Assembler, Label) {
        let Self { mut asm, calls } = self;
        let first = asm.dispatch(&calls.into_iter().collect::<Vec<_>>(), ALLOW);
        (asm, first)
    }

    fn refuse(&mut self, calls: &[c_long], action: u32) {
        for call in calls {
            let step = self.asm.ret(action);
            self.put(*call, step);
        }
    }

    fn refuse_bits(&mut self, call: c_long, index: u32, bits: u32, action: u32) {
        self.check_argument(call, index, |asm| {
            let (refused, other) = (asm.ret(action), asm.ret(ALLOW));
            asm.branch(Condition::AnyBit(bits), refused, other)
        });
    }

    /// Decides by one argument of a call.
    fn check_argument(&mut self, call: c_long, index: u32, decide: impl FnOnce(&mut Assembler) -> Label) {
        let then = decide(&mut self.asm);
        let step = self.asm.load(argument(index), then);
        self.put(call, step);
    }

    /// Adds an entry for a call. The first entry for a call wins.
    fn put(&mut self, call: c_long, step: Label) {
        self.calls.entry(u32::try_from(call).unwrap_or(u32::MAX)).or_insert(step);
    }

    /// Refuses new namespaces, and entering existing ones.
    ///
    /// The flags of `clone3` are behind a pointer. Programs use `clone` on kernels without it.
    fn namespaces(&mut self, reported: u32) {
        self.refuse(&[libc::SYS_setns], reported);
        self.refuse(&[libc::SYS_clone3], ENOSYS);
        self.refuse_bits(libc::SYS_clone, 0, NAMESPACES, reported);
        self.refuse_bits(libc::SYS_unshare, 0, NAMESPACES | TIME_NAMESPACE, reported);
    }

    /// Refuses memory files that could be executed.
    fn memory_files(&mut self) {
        const NO_EXEC_SEAL: u32 = 8;
        self.check_argument(libc::SYS_memfd_create, 1, |asm| {
            let (sealed, other) = (asm.ret(ALLOW), asm.ret(ENOSYS));
            asm.branch(Condition::AnyBit(NO_EXEC_SEAL), sealed, other)
        });
    }

    /// Prevents the program from slowing down PID 1 or the helper outside.
    ///
    /// It could name them by pid, by user, or by process group: a program attached to a terminal shares the group of PID 1.
    /// Without a pid namespace, a process may name only itself and its own group, as zero.
    fn priorities(&mut self, order: &Order) {
        const FIRST: u32 = 1;
        const OWN: u32 = 0;
        const PROCESS: u32 = 0;
        const PROCESS_OF_DISK: u32 = 1;
        let decide = |asm: &mut Assembler| {
            let (refused, allowed) = (asm.ret(EPERM), asm.ret(ALLOW));
            match order.backend {
                Backend::Namespaces | Backend::Bubblewrap => {
                    asm.branch(Condition::Equal(FIRST), refused, allowed)
                }
                Backend::ContentOnly => asm.branch(Condition::Equal(OWN), allowed, refused),
            }
        };
        let by_number = [
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setattr,
            libc::SYS_sched_setaffinity,
        ];
        for call in by_number {
            self.check_argument(call, 0, decide);
        }
        // The first argument says what the second names: a process, a group (one more) or a user (two more).
        for (call, process) in [(libc::SYS_setpriority, PROCESS), (libc::SYS_ioprio_set, PROCESS_OF_DISK)] {
            self.check_argument(call, 0, |asm| {
                let (refused, other) = (asm.ret(EPERM), asm.ret(ALLOW));
                let named = decide(asm);
                let named = asm.load(argument(1), named);
                let group = match (order.profile.descriptors, order.backend) {
                    (Descriptors::Standard, Backend::Namespaces | Backend::Bubblewrap) => other,
                    (Descriptors::Standard, Backend::ContentOnly) => named,
                    (Descriptors::Terminal, Backend::ContentOnly) => refused,
                    (Descriptors::Terminal, Backend::Namespaces | Backend::Bubblewrap) => {
                        let group = asm.branch(Condition::Equal(OWN), refused, other);
                        asm.load(argument(1), group)
                    }
                };
                let other = asm.branch(Condition::Equal(process + 2), refused, other);
                let other = asm.branch(Condition::Equal(process + 1), group, other);
                asm.branch(Condition::Equal(process), named, other)
            });
        }
    }

    /// Allows a process to change only its own limits, since PID 1 must keep running.
    ///
    /// A change of the core limit reports success without effect, since a lower limit would allow core handlers. Programs
    /// that request no core files get none anyway, and some exit if the request fails.
    fn limits(&mut self) {
        let core = Condition::Equal(libc::RLIMIT_CORE);
        self.check_argument(libc::SYS_prlimit64, 0, |asm| {
            let (allowed, refused, faked) = (asm.ret(ALLOW), asm.ret(EPERM), asm.ret(FAKE_SUCCESS));
            // A null pointer as the new limit means that the call only reads the old one.
            let new = asm.branch(Condition::AnyBit(!0), faked, allowed);
            let new = asm.load(upper(2), new);
            let new = asm.branch(Condition::AnyBit(!0), faked, new);
            let new = asm.load(argument(2), new);
            let own = asm.branch(core, new, allowed);
            let own = asm.load(argument(1), own);
            asm.branch(Condition::Equal(0), own, refused)
        });
        self.check_argument(libc::SYS_setrlimit, 0, |asm| {
            let (faked, other) = (asm.ret(FAKE_SUCCESS), asm.ret(ALLOW));
            asm.branch(core, faked, other)
        });
    }

    /// Refuses requests to devices and files (`ioctl`).
    fn requests(&mut self) {
        let lists = [
            (&SPACE_REQUESTS[..], EOPNOTSUPP),
            (&ENCRYPTION_REQUESTS, EOPNOTSUPP),
            (&TERMINAL_REQUESTS, EPERM),
        ];
        self.check_argument(libc::SYS_ioctl, 1, |asm| {
            let mut other = asm.ret(ALLOW);
            for (requests, action) in lists {
                let refused = asm.ret(action);
                other =
                    requests.iter().fold(other, |no, one| asm.branch(Condition::Equal(*one), refused, no));
            }
            let (allowed, refused) = (other, asm.ret(EPERM));
            for (first, last) in CONSOLES {
                let inside = asm.branch(Condition::AtLeast(last + 1), allowed, refused);
                other = asm.branch(Condition::AtLeast(first), inside, other);
            }
            other
        });
    }

    /// Refuses commands of `fcntl` that need only read access but make openers outside wait.
    ///
    /// The error is that of a kernel without these commands. Commands of later kernels get the same error.
    fn descriptors(&mut self) {
        self.check_argument(libc::SYS_fcntl, 1, |asm| {
            let (refused, other) = (asm.ret(EINVAL), asm.ret(ALLOW));
            let other = asm.branch(Condition::AtLeast(LAST_COMMAND + 1), refused, other);
            BLOCKING_COMMANDS
                .iter()
                .fold(other, |other, command| asm.branch(Condition::Equal(*command), refused, other))
        });
    }

    /// Refuses set-uid and set-gid bits in every call whose mode is a plain argument.
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
        // Its mode is behind a pointer. Callers handle kernels without this call.
        self.refuse(&[libc::SYS_openat2], ENOSYS);
    }

    /// Refuses these bits in an open call. Without the creation flags, the mode argument is undefined and not checked.
    fn opens(&mut self, call: c_long, flags: u32) {
        let makes = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;
        self.check_argument(call, flags, |asm| {
            let (refused, other) = (asm.ret(EPERM), asm.ret(ALLOW));
            let mode = asm.branch(Condition::AnyBit(SET_ID), refused, other);
            let mode = asm.load(argument(flags + 1), mode);
            asm.branch(Condition::AnyBit(makes), mode, other)
        });
    }

    /// Refuses sockets that could reach programs outside.
    ///
    /// A unix socket could connect to a path or an abstract name, and a datagram pair can send to any of them. Connected
    /// pairs cannot.
    fn sockets(&mut self, order: &Order, reported: u32) {
        let inet = match (order.profile.network, order.backend) {
            (Network::Shared, _) | (Network::Own, Backend::Namespaces | Backend::Bubblewrap) => true,
            (Network::Own, Backend::ContentOnly) => false,
        };
        self.check_argument(libc::SYS_socket, 0, |asm| {
            let (refused, allowed) = (asm.ret(reported), asm.ret(ALLOW));
            if !inet {
                return refused;
            }
            let route = asm.branch(Condition::Equal(libc::NETLINK_ROUTE as u32), allowed, refused);
            let route = asm.load(argument(2), route);
            let other = asm.branch(Condition::Equal(libc::AF_NETLINK as u32), route, refused);
            let other = asm.branch(Condition::Equal(libc::AF_INET6 as u32), allowed, other);
            asm.branch(Condition::Equal(libc::AF_INET as u32), allowed, other)
        });
        self.check_argument(libc::SYS_socketpair, 0, |asm| {
            let (refused, allowed) = (asm.ret(reported), asm.ret(ALLOW));
            let kind = asm.branch(Condition::Equal(libc::SOCK_SEQPACKET as u32), allowed, refused);
            let kind = asm.branch(Condition::Equal(libc::SOCK_STREAM as u32), allowed, kind);
            let kind = asm.mask(0xf, kind);
            let kind = asm.load(argument(1), kind);
            asm.branch(Condition::Equal(libc::AF_UNIX as u32), kind, refused)
        });
    }
}

/// Whether a call changes mounts.
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

/// Leases, and notifications about changes in a folder.
const BLOCKING_COMMANDS: [u32; 2] = [libc::F_SETLEASE as u32, libc::F_NOTIFY as u32];

/// The last command of `fcntl` when this list was made (`F_SET_FILE_RW_HINT`).
const LAST_COMMAND: u32 = 1038;

/// Requests that push characters into a terminal, or leave it unusable for the next program.
const TERMINAL_REQUESTS: [u32; 4] =
    [libc::TIOCLINUX as u32, libc::TIOCSTI as u32, libc::TIOCSETD as u32, libc::TIOCSSERIAL as u32];

/// The ranges of requests that only the console of the machine understands. They control keyboard, screen and fonts (`KD…`),
/// and choose the virtual terminal (`VT_…`).
const CONSOLES: [(u32, u32); 2] = [(0x4b00, 0x4bff), (0x5600, 0x56ff)];

/// `FS_IOC_RESVSP`, `FS_IOC_UNRESVSP`, their 64-bit versions, and `FS_IOC_ZERO_RANGE`. All reserve space without changing
/// the size of the file.
const SPACE_REQUESTS: [u32; 5] = [0x4030_5828, 0x4030_5829, 0x4030_582a, 0x4030_582b, 0x4030_5839];

/// Requests that encrypt the names in a folder, or add or remove a key (`FS_IOC_SET_ENCRYPTION_POLICY`,
/// `FS_IOC_ADD_ENCRYPTION_KEY`, and the two that remove one). Without its key, askfirst could not search the folder.
const ENCRYPTION_REQUESTS: [u32; 4] = [0x800c_6613, 0xc050_6617, 0xc040_6618, 0xc040_6619];

const IO_URING: [c_long; 3] =
    [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

#[cfg(test)]
#[path = "filter/tests.rs"]
mod tests;
