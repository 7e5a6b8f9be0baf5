//! The filter on system calls: a list of what is refused, by number and by plain arguments. What lies behind a
//! pointer is never looked at, since it can change after the look.
//!
//! Calls of another architecture, of the other numbering of this one, and those added by later kernels are refused too.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{c_int, c_long, sock_filter};

use super::mechanism::Mechanism;
use super::order::{Order, Way};
use crate::profile::Network;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// The last call that was looked at when this list was made (`removexattrat`).
const LAST_KNOWN: u32 = 466;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const NOTIFY: u32 = 0x7fc0_0000;
const fn refuse(errno: c_int) -> u32 {
    0x0005_0000 | (errno as u32 & 0xffff)
}
const EPERM: u32 = refuse(libc::EPERM);
const ENOSYS: u32 = refuse(libc::ENOSYS);

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

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

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// If the test holds, the next step, else the one after `skip`.
fn when(code: u16, k: u32, skip: u8) -> sock_filter {
    sock_filter { code, jt: 0, jf: skip, k }
}

/// If the test holds, the one after `skip`, else the next.
fn unless(code: u16, k: u32, skip: u8) -> sock_filter {
    sock_filter { code, jt: skip, jf: 0, k }
}

/// The lower half of an argument.
fn argument(index: u32) -> sock_filter {
    step(LOAD, 16 + 8 * index + if cfg!(target_endian = "big") { 4 } else { 0 })
}

impl Filter {
    pub(crate) fn new(order: &Order, telling: Telling) -> Self {
        let told = match telling {
            Telling::Told => NOTIFY,
            Telling::Silent => EPERM,
        };
        let mut filter = Self { code: Vec::with_capacity(300) };
        filter.code.extend([
            step(LOAD, 4),
            unless(EQUAL, ARCHITECTURE, 1),
            step(RETURN, KILL),
            step(LOAD, 0),
        ]);
        if order.has(Mechanism::Numbering) {
            filter.code.extend([when(AT_LEAST, LAST_KNOWN + 1, 1), step(RETURN, ENOSYS)]);
        }
        if order.has(Mechanism::Nesting) {
            filter.refuse(&[libc::SYS_setns], told);
            filter.refuse(&[libc::SYS_clone3], ENOSYS);
            filter.refuse_bits(libc::SYS_clone, 0, NAMESPACES, told);
            filter.refuse_bits(libc::SYS_unshare, 0, NAMESPACES | TIME_NAMESPACE, told);
        }
        if order.has(Mechanism::Mounting) {
            filter.refuse(&MOUNTING, told);
        }
        if order.has(Mechanism::Keys) {
            filter.refuse(&[libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key], EPERM);
        }
        if order.has(Mechanism::Surface) {
            filter.refuse(&SURFACE, EPERM);
            filter.refuse(&IO_URING, ENOSYS);
        }
        if order.has(Mechanism::Machine) {
            filter.refuse(&MACHINE, EPERM);
        }
        if order.has(Mechanism::MemoryPrograms) {
            const NO_EXEC_SEAL: u32 = 8;
            filter.block(
                libc::SYS_memfd_create,
                &[argument(1), unless(ANY_BIT, NO_EXEC_SEAL, 1), step(RETURN, ENOSYS)],
            );
        }
        if order.has(Mechanism::Terminal) {
            filter.block(
                libc::SYS_ioctl,
                &[
                    argument(1),
                    when(EQUAL, libc::TIOCSTI as u32, 1),
                    step(RETURN, EPERM),
                    when(EQUAL, libc::TIOCLINUX as u32, 1),
                    step(RETURN, EPERM),
                ],
            );
        }
        if order.has(Mechanism::SetId) {
            filter.set_id();
        }
        if order.has(Mechanism::Sockets) {
            filter.sockets(order, told);
        }
        filter.code.push(step(RETURN, ALLOW));
        filter
    }

    fn refuse(&mut self, calls: &[c_long], action: u32) {
        for call in calls {
            self.block(*call, &[step(RETURN, action)]);
        }
    }

    fn refuse_bits(&mut self, call: c_long, index: u32, bits: u32, action: u32) {
        self.block(call, &[argument(index), when(ANY_BIT, bits, 1), step(RETURN, action)]);
    }

    /// What is done with one call; at the end of its steps it is allowed.
    fn block(&mut self, call: c_long, steps: &[sock_filter]) {
        let skip = u8::try_from(steps.len() + 1).unwrap_or(u8::MAX);
        self.code.push(when(EQUAL, u32::try_from(call).unwrap_or(u32::MAX), skip));
        self.code.extend(steps);
        self.code.push(step(RETURN, ALLOW));
    }

    /// Wherever a mode is given, and not behind a pointer.
    fn set_id(&mut self) {
        let modes: [(c_long, u32); 5] = [
            (libc::SYS_fchmod, 1),
            (libc::SYS_fchmodat, 2),
            (libc::SYS_fchmodat2, 2),
            (libc::SYS_mknodat, 2),
            #[cfg(target_arch = "x86_64")]
            (libc::SYS_creat, 1),
            #[cfg(not(target_arch = "x86_64"))]
            (libc::SYS_fchmod, 1),
        ];
        for (call, index) in modes {
            self.refuse_bits(call, index, SET_ID, EPERM);
        }
        #[cfg(target_arch = "x86_64")]
        for (call, index) in [(libc::SYS_chmod, 1), (libc::SYS_mknod, 1)] {
            self.refuse_bits(call, index, SET_ID, EPERM);
        }
        // Without these flags the mode is whatever happens to be there.
        let makes = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)) as u32;
        let opens = |flags: u32| {
            [
                argument(flags),
                when(ANY_BIT, makes, 3),
                argument(flags + 1),
                when(ANY_BIT, SET_ID, 1),
                step(RETURN, EPERM),
            ]
        };
        self.block(libc::SYS_openat, &opens(2));
        #[cfg(target_arch = "x86_64")]
        self.block(libc::SYS_open, &opens(1));
        // Its mode lies behind a pointer; callers know kernels that do not have it.
        self.block(libc::SYS_openat2, &[step(RETURN, ENOSYS)]);
    }

    /// A socket in the file system or in the abstract room would reach programs outside, and a datagram pair can be
    /// sent to any of them; connected pairs cannot.
    fn sockets(&mut self, order: &Order, told: u32) {
        let mut families = vec![step(RETURN, told)];
        let inet = match (order.profile.network, order.way) {
            (Network::Shared, _) | (Network::Own, Way::Own | Way::Bubblewrap) => true,
            (Network::Own, Way::ContentOnly) => false,
        };
        if inet {
            let allow = |family: c_int| [when(EQUAL, family as u32, 1), step(RETURN, ALLOW)];
            let netlink = [
                when(EQUAL, libc::AF_NETLINK as u32, 4),
                argument(2),
                when(EQUAL, libc::NETLINK_ROUTE as u32, 1),
                step(RETURN, ALLOW),
                step(RETURN, told),
            ];
            let more: Vec<_> =
                [allow(libc::AF_INET), allow(libc::AF_INET6)].concat().into_iter().chain(netlink).collect();
            families.splice(0..0, more);
        }
        families.insert(0, argument(0));
        self.block(libc::SYS_socket, &families);
        let connected = |kind: c_int| [when(EQUAL, kind as u32, 1), step(RETURN, ALLOW)];
        let mut pairs = vec![argument(0), when(EQUAL, libc::AF_UNIX as u32, 6), argument(1), step(AND, 0xf)];
        pairs.extend(connected(libc::SOCK_STREAM));
        pairs.extend(connected(libc::SOCK_SEQPACKET));
        pairs.push(step(RETURN, told));
        self.block(libc::SYS_socketpair, &pairs);
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
        let mut filter = Self { code: vec![step(LOAD, 0)] };
        filter.refuse(calls, ENOSYS);
        if let Some((call, bits)) = with_bits {
            filter.refuse_bits(call, 0, bits, EPERM);
        }
        filter.code.push(step(RETURN, ALLOW));
        filter
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

const SURFACE: [c_long; 7] = [
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_quotactl,
];

const IO_URING: [c_long; 3] =
    [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

#[cfg(target_arch = "x86_64")]
const MACHINE: [c_long; 20] = [
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];

#[cfg(not(target_arch = "x86_64"))]
const MACHINE: [c_long; 17] = [
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];
