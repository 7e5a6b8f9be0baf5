//! Tests the answer of the filter, call by call, against the lists.

use super::*;
use crate::isolation::bpf::tests::interpret;
use crate::isolation::order::Task;
use crate::profile::OSProfile;
use crate::terminal::TerminalAccess;

fn order(backend: Backend, network: Network) -> Order {
    Order {
        backend,
        task: Task::Program,
        program: "true".into(),
        args: Vec::new(),
        env: Vec::new(),
        folder: "/".into(),
        terminal: TerminalAccess::Detached,
        own_network: crate::isolation::order::OwnNetwork::New,
        lasts: crate::spec::Lasts::Program,
        profile: OSProfile { network, ..OSProfile::nothing() },
    }
}

/// The answer of a filter to a call with these arguments; all further ones are zero.
fn answer(filter: &Filter, call: c_long, arguments: [u32; 3]) -> u32 {
    interpret(filter.code(), |place| match place {
        NUMBER_OFFSET => u32::try_from(call).unwrap(),
        ARCH_OFFSET => ARCHITECTURE,
        place => *arguments.get(usize::try_from((place - 16) / 8).unwrap()).unwrap_or(&0),
    })
}

fn full() -> Filter {
    Filter::new(&order(Backend::Namespaces, Network::Own), Notification::On)
}

#[test]
fn every_call_number_is_answered_as_listed() {
    let filter = full();
    for call in 0..=2_000 {
        let told = MOUNTING.contains(&call) && call <= LAST_KNOWN.into() || call == libc::SYS_setns;
        let refused = [&SURFACE[..], &MACHINE, &[libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key]]
            .iter()
            .any(|list| list.contains(&call));
        let missing = [&IO_URING[..], &[libc::SYS_clone3, libc::SYS_openat2, libc::SYS_memfd_create]]
            .iter()
            .any(|list| list.contains(&call))
            || call > LAST_KNOWN.into()
            || (c_long::from(UNUSED.0)..=c_long::from(UNUSED.1)).contains(&call);
        let expected = match (told, refused, missing) {
            // Their first arguments are zero here: no family, no pair.
            _ if [libc::SYS_socket, libc::SYS_socketpair].contains(&call) => NOTIFY,
            (true, _, _) => NOTIFY,
            (_, true, _) => EPERM,
            (_, _, true) => ENOSYS,
            (false, false, false) => ALLOW,
        };
        assert_eq!(answer(&filter, call, [0; 3]), expected, "{call}");
    }
}

#[test]
fn foreign_architecture_kills_and_x32_numbers_are_missing() {
    let filter = full();
    for other in [0x4000_0003, 0xc000_00b7, 0xc000_003e, 0].into_iter().filter(|one| *one != ARCHITECTURE) {
        assert_eq!(interpret(filter.code(), |place| if place == ARCH_OFFSET { other } else { 0 }), KILL);
    }
    for call in [0x4000_0000, 0x4000_0001, c_long::from(LAST_KNOWN) + 1, u32::MAX.into()] {
        assert_eq!(answer(&filter, call, [0; 3]), ENOSYS, "{call:#x}");
    }
}

#[test]
fn arguments_decide_about_listed_calls() {
    let filter = full();
    let cases = [
        (libc::SYS_clone, [libc::CLONE_NEWUSER as u32, 0, 0], NOTIFY),
        (libc::SYS_clone, [libc::CLONE_NEWNET as u32 | 17, 0, 0], NOTIFY),
        (libc::SYS_clone, [(libc::CLONE_VM | libc::CLONE_THREAD) as u32, 0, 0], ALLOW),
        (libc::SYS_unshare, [TIME_NAMESPACE, 0, 0], NOTIFY),
        (libc::SYS_unshare, [libc::CLONE_FILES as u32, 0, 0], ALLOW),
        (libc::SYS_memfd_create, [0, 8, 0], ALLOW),
        (libc::SYS_memfd_create, [0, 1, 0], ENOSYS),
        (libc::SYS_ioctl, [0, libc::TIOCSTI as u32, 0], EPERM),
        (libc::SYS_ioctl, [0, libc::TIOCLINUX as u32, 0], EPERM),
        (libc::SYS_ioctl, [0, libc::TIOCSETD as u32, 0], EPERM),
        (libc::SYS_ioctl, [0, libc::TIOCSSERIAL as u32, 0], EPERM),
        (libc::SYS_ioctl, [0, libc::TIOCGWINSZ as u32, 0], ALLOW),
        (libc::SYS_ioctl, [0, libc::TCSETS as u32, 0], ALLOW),
        (libc::SYS_ioctl, [0, libc::TIOCGPTN as u32, 0], ALLOW),
        // The modes of a screen and of a keyboard, and a switch to another screen.
        (libc::SYS_ioctl, [0, 0x4b3a, 0], EPERM),
        (libc::SYS_ioctl, [0, 0x4b45, 0], EPERM),
        (libc::SYS_ioctl, [0, 0x5606, 0], EPERM),
        (libc::SYS_ioctl, [0, 0x4aff, 0], ALLOW),
        (libc::SYS_ioctl, [0, 0x4c00, 0], ALLOW),
        (libc::SYS_ioctl, [0, 0x55ff, 0], ALLOW),
        (libc::SYS_ioctl, [0, 0x5700, 0], ALLOW),
        (libc::SYS_ioctl, [0, 0x4030_5828, 0], EOPNOTSUPP),
        (libc::SYS_ioctl, [0, 0x4030_5829, 0], EOPNOTSUPP),
        (libc::SYS_ioctl, [0, 0x4030_582a, 0], EOPNOTSUPP),
        (libc::SYS_ioctl, [0, 0x4030_582b, 0], EOPNOTSUPP),
        (libc::SYS_ioctl, [0, 0x4030_5839, 0], EOPNOTSUPP),
        (libc::SYS_ioctl, [0, 0x4030_5827, 0], ALLOW),
        // File names that are readable only with a key.
        (libc::SYS_ioctl, [0, 0x800c_6613, 0], EOPNOTSUPP),
        (libc::SYS_ioctl, [0, 0xc050_6617, 0], EOPNOTSUPP),
        (libc::SYS_ioctl, [0, 0xc040_6618, 0], EOPNOTSUPP),
        (libc::SYS_ioctl, [0, 0xc040_6619, 0], EOPNOTSUPP),
        // Reading the encryption policy is allowed.
        (libc::SYS_ioctl, [0, 0xc009_6616, 0], ALLOW),
        (libc::SYS_fcntl, [0, libc::F_SETLEASE as u32, 0], EINVAL),
        (libc::SYS_fcntl, [0, libc::F_NOTIFY as u32, 0], EINVAL),
        (libc::SYS_fcntl, [0, libc::F_GETLEASE as u32, 0], ALLOW),
        (libc::SYS_fcntl, [0, libc::F_SETLKW as u32, 0], ALLOW),
        (libc::SYS_fcntl, [0, libc::F_DUPFD_CLOEXEC as u32, 0], ALLOW),
        (libc::SYS_fcntl, [0, LAST_COMMAND, 0], ALLOW),
        (libc::SYS_fcntl, [0, LAST_COMMAND + 1, 0], EINVAL),
        (libc::SYS_fallocate, [0, libc::FALLOC_FL_KEEP_SIZE as u32, 0], EOPNOTSUPP),
        (libc::SYS_fchmod, [0, 0o4755, 0], EPERM),
        (libc::SYS_fchmod, [0, 0o755, 0], ALLOW),
        (libc::SYS_fchmodat, [0, 0, 0o2755], EPERM),
        (libc::SYS_fchmodat2, [0, 0, 0o4000], EPERM),
        (libc::SYS_mknodat, [0, 0, 0o4000], EPERM),
        (libc::SYS_mknodat, [0, 0o4000, 0o644], ALLOW),
        (libc::SYS_socket, [libc::AF_INET as u32, 0, 0], ALLOW),
        (libc::SYS_socket, [libc::AF_INET6 as u32, 0, 0], ALLOW),
        (libc::SYS_socket, [libc::AF_UNIX as u32, 0, 0], NOTIFY),
        (libc::SYS_socket, [libc::AF_VSOCK as u32, 0, 0], NOTIFY),
        (libc::SYS_socket, [libc::AF_NETLINK as u32, 0, libc::NETLINK_ROUTE as u32], ALLOW),
        (libc::SYS_socket, [libc::AF_NETLINK as u32, 0, libc::NETLINK_AUDIT as u32], NOTIFY),
        (libc::SYS_socketpair, [libc::AF_UNIX as u32, libc::SOCK_STREAM as u32, 0], ALLOW),
        (
            libc::SYS_socketpair,
            [libc::AF_UNIX as u32, (libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC) as u32, 0],
            ALLOW,
        ),
        (libc::SYS_socketpair, [libc::AF_UNIX as u32, libc::SOCK_DGRAM as u32, 0], NOTIFY),
        (libc::SYS_socketpair, [libc::AF_INET as u32, libc::SOCK_STREAM as u32, 0], NOTIFY),
    ];
    for (call, arguments, expected) in cases {
        assert_eq!(answer(&filter, call, arguments), expected, "{call} {arguments:x?}");
    }
}

#[test]
fn program_cannot_change_the_priority_of_pid_1() {
    let attached = {
        let mut order = order(Backend::Namespaces, Network::Own);
        order.profile.descriptors = Descriptors::Terminal;
        Filter::new(&order, Notification::On)
    };
    for filter in [&full(), &attached] {
        for call in [
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setattr,
            libc::SYS_sched_setaffinity,
        ] {
            for (pid, expected) in [(0, ALLOW), (1, EPERM), (2, ALLOW), (u32::MAX, ALLOW)] {
                assert_eq!(answer(filter, call, [pid, 1, 1]), expected, "{call} {pid}");
            }
        }
        for (call, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
            for (which, who, expected) in [
                (process, 0, ALLOW),
                (process, 1, EPERM),
                (process, 2, ALLOW),
                (process + 1, 7, ALLOW),
                (process + 2, 0, EPERM),
                (process + 2, 60001, EPERM),
                (process + 3, 1, ALLOW),
            ] {
                assert_eq!(answer(filter, call, [which, who, 1]), expected, "{call} {which} {who}");
            }
        }
    }
    for (call, group) in [(libc::SYS_setpriority, 1), (libc::SYS_ioprio_set, 2)] {
        assert_eq!(answer(&full(), call, [group, 0, 1]), ALLOW);
        assert_eq!(answer(&attached, call, [group, 0, 1]), EPERM);
    }
}

// invariant: 4
#[test]
fn content_only_filter_protects_other_processes() {
    let own = Filter::new(&order(Backend::ContentOnly, Network::Own), Notification::On);
    let attached = {
        let mut order = order(Backend::ContentOnly, Network::Own);
        order.profile.descriptors = Descriptors::Terminal;
        Filter::new(&order, Notification::On)
    };
    for filter in [&own, &attached] {
        for call in SHARED {
            assert_eq!(answer(filter, call, [0; 3]), ENOSYS, "{call}");
            assert_eq!(answer(&full(), call, [0; 3]), ALLOW, "{call}");
        }
        let by_number = [
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setattr,
            libc::SYS_sched_setaffinity,
        ];
        for call in by_number {
            for (pid, expected) in [(0, ALLOW), (1, EPERM), (2, EPERM), (u32::MAX, EPERM)] {
                assert_eq!(answer(filter, call, [pid, 1, 1]), expected, "{call} {pid}");
            }
        }
        for (call, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
            for (which, who, expected) in [
                (process, 0, ALLOW),
                (process, 2, EPERM),
                (process + 1, 7, EPERM),
                (process + 2, 0, EPERM),
                (process + 2, 60001, EPERM),
            ] {
                assert_eq!(answer(filter, call, [which, who, 1]), expected, "{call} {which} {who}");
            }
        }
    }
    for (call, group) in [(libc::SYS_setpriority, 1), (libc::SYS_ioprio_set, 2)] {
        assert_eq!(answer(&own, call, [group, 0, 1]), ALLOW);
        assert_eq!(answer(&attached, call, [group, 0, 1]), EPERM);
    }
}

#[test]
fn set_id_mode_is_refused_only_if_a_file_is_created() {
    let filter = full();
    let made = |flags: c_int, mode: u32| {
        interpret(filter.code(), |place| match place {
            NUMBER_OFFSET => libc::SYS_openat as u32,
            ARCH_OFFSET => ARCHITECTURE,
            place if place == argument(2) => flags as u32,
            place if place == argument(3) => mode,
            place => panic!("{place}"),
        })
    };
    assert_eq!(made(libc::O_RDONLY, 0o6755), ALLOW);
    assert_eq!(made(libc::O_DIRECTORY, 0o6755), ALLOW);
    assert_eq!(made(libc::O_CREAT | libc::O_WRONLY, 0o4755), EPERM);
    assert_eq!(made(libc::O_TMPFILE | libc::O_RDWR, 0o2755), EPERM);
    assert_eq!(made(libc::O_CREAT | libc::O_WRONLY, 0o755), ALLOW);
}

#[test]
fn core_limit_can_be_read_but_not_changed() {
    let filter = full();
    let asked = |pid: u32, resource: u32, (upper_half, lower_half): (u32, u32)| {
        interpret(filter.code(), |place| match place {
            NUMBER_OFFSET => libc::SYS_prlimit64 as u32,
            ARCH_OFFSET => ARCHITECTURE,
            place if place == argument(0) => pid,
            place if place == argument(1) => resource,
            place if place == argument(2) => lower_half,
            place if place == upper(2) => upper_half,
            place => panic!("{place}"),
        })
    };
    let (core, data) = (libc::RLIMIT_CORE, libc::RLIMIT_DATA);
    for (new, expected) in
        [((0, 0), ALLOW), ((0, 8), FAKE_SUCCESS), ((1, 0), FAKE_SUCCESS), ((1, 8), FAKE_SUCCESS)]
    {
        assert_eq!(asked(0, core, new), expected);
        assert_eq!(asked(0, data, new), ALLOW);
        assert_eq!(asked(1, data, new), EPERM);
        assert_eq!(asked(1, core, new), EPERM);
    }
    assert_eq!(answer(&filter, libc::SYS_setrlimit, [core, 8, 0]), FAKE_SUCCESS);
    assert_eq!(answer(&filter, libc::SYS_setrlimit, [data, 8, 0]), ALLOW);
}

#[test]
fn memory_that_grows_like_a_stack_is_refused() {
    let filter = full();
    let mapped = |flags: c_int| {
        interpret(filter.code(), |place| match place {
            NUMBER_OFFSET => libc::SYS_mmap as u32,
            ARCH_OFFSET => ARCHITECTURE,
            place if place == argument(3) => flags as u32,
            place => panic!("{place}"),
        })
    };
    assert_eq!(mapped(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_GROWSDOWN), ENOMEM);
    assert_eq!(mapped(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK), ALLOW);
}

#[test]
fn content_only_tier_without_network_allows_no_sockets() {
    let filter = Filter::new(&order(Backend::ContentOnly, Network::Own), Notification::Off);
    for family in [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_UNIX] {
        assert_eq!(answer(&filter, libc::SYS_socket, [family as u32, 0, 0]), EPERM);
    }
    let shared = Filter::new(&order(Backend::ContentOnly, Network::Shared), Notification::Off);
    assert_eq!(answer(&shared, libc::SYS_socket, [libc::AF_INET as u32, 0, 0]), ALLOW);
    assert_eq!(answer(&shared, libc::SYS_socket, [libc::AF_UNIX as u32, 0, 0]), EPERM);
}

#[test]
fn filter_has_fewer_than_220_instructions() {
    assert!(full().code().len() < 220, "{}", full().code().len());
}
