//! Probes against the kernel: namespaces, mounts, root-only operations, risky features, and limits.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::ptr;

use super::world::{World, reads, writes};
use super::{Observation, Probe, ProbeResult, Who, c, did, io, probe, root, sys};

const fn user(name: &'static str, attempt: fn(&World) -> ProbeResult) -> Probe {
    Probe { name, who: Who::User, seen: Observation::Inside, attempt }
}

/// Creates a user namespace, in which this process is root.
fn new_user(more: i32) -> ProbeResult {
    // SAFETY: no memory is passed.
    did(unsafe { libc::unshare(libc::CLONE_NEWUSER | more) })
}

fn mount_tmpfs(on: impl AsRef<std::path::Path>) -> ProbeResult {
    let kind = c"tmpfs".as_ptr();
    // SAFETY: all texts are NUL-terminated.
    did(unsafe { libc::mount(kind, c(on).as_ptr(), kind, 0, ptr::null()) })
}

fn split(flags: u64) -> ProbeResult {
    // SAFETY: without a stack and shared memory this is `fork`, and the child ends at once.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD as u64, 0, 0, 0, 0) };
    if pid == 0 {
        super::super::helper_process::end(0);
    }
    did(pid)
}

fn known(result: i64) -> ProbeResult {
    match std::io::Error::last_os_error().raw_os_error() {
        _ if result >= 0 => Ok(()),
        Some(libc::ENOSYS) => Err(super::ABSENT.to_owned()),
        Some(libc::EPERM | libc::EACCES) => Err(std::io::Error::last_os_error().to_string()),
        _ => Ok(()),
    }
}

/// Opens a file of the kernel for writing. Some kernels do not have it.
fn opens(path: &str) -> ProbeResult {
    if !fs::exists("/proc/sys/kernel").unwrap_or(false) || !fs::exists(path).unwrap_or(true) {
        return Err(super::ABSENT.to_owned());
    }
    io(File::options().write(true).open(path))
}

fn limit(resource: libc::__rlimit_resource_t) -> ProbeResult {
    let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure lives.
    did(unsafe { libc::setrlimit(resource, &unlimited) })
}

/// Sets the core size limit, and checks whether it took effect.
fn core(soft: libc::rlim_t) -> ProbeResult {
    let mut limit = libc::rlimit { rlim_cur: soft, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure lives.
    unsafe {
        did(libc::setrlimit(libc::RLIMIT_CORE, &limit))?;
        did(libc::getrlimit(libc::RLIMIT_CORE, &mut limit))?;
    }
    if limit.rlim_cur == soft { Ok(()) } else { Err("unchanged".to_owned()) }
}

fn memory_program(flags: u32) -> ProbeResult {
    // SAFETY: all texts are NUL-terminated, and both lists end with a null pointer.
    unsafe {
        let fd = sys(libc::memfd_create(c"program".as_ptr(), flags))? as i32;
        let bytes = fs::read("/bin/true").map_err(|e| e.to_string())?;
        io(fs::write(format!("/proc/self/fd/{fd}"), bytes))?;
        let pid = sys(libc::fork())?;
        if pid == 0 {
            let none = [ptr::null()];
            libc::fexecve(fd, [c"true".as_ptr(), ptr::null()].as_ptr(), none.as_ptr());
            libc::_exit(1);
        }
        let mut status = 0;
        libc::waitpid(pid as i32, &mut status, 0);
        if status == 0 { Ok(()) } else { Err("it did not start".to_owned()) }
    }
}

/// Starts many processes at once.
fn crowd() -> ProbeResult {
    let mut pids = Vec::new();
    let mut failed = None;
    for _ in 0..80 {
        // SAFETY: the child only waits.
        match unsafe { libc::fork() } {
            0 => loop {
                // SAFETY: no memory is passed.
                unsafe { libc::pause() };
            },
            pid if pid > 0 => pids.push(pid),
            _ => failed = Some(std::io::Error::last_os_error().to_string()),
        }
    }
    for pid in pids {
        // SAFETY: these are our children.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, ptr::null_mut(), 0);
        }
    }
    failed.map_or(Ok(()), Err)
}

fn large_file(world: &World) -> ProbeResult {
    // SAFETY: ignores a signal.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let mut file = File::create(world.a("large")).map_err(|e| e.to_string())?;
    file.seek(SeekFrom::Start(20 << 20)).map_err(|e| e.to_string())?;
    io(file.write_all(b"x"))
}

fn room_without_size(world: &World) -> ProbeResult {
    use std::os::fd::AsRawFd;
    let file = File::create(world.a("room")).map_err(|e| e.to_string())?;
    // SAFETY: no memory is passed.
    did(unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, 20 << 20) })
}

/// Reserves space without changing the file size, with a request of older programs.
fn room_by_request(world: &World, request: libc::Ioctl) -> ProbeResult {
    use std::os::fd::AsRawFd;
    #[repr(C)]
    struct Room {
        kind: i16,
        from: i16,
        start: i64,
        size: i64,
        rest: [i32; 6],
    }
    let file = File::create(world.a("room")).map_err(|e| e.to_string())?;
    let room = Room { kind: 0, from: 0, start: 0, size: 20 << 20, rest: [0; 6] };
    // SAFETY: the structure is as these requests want it.
    did(unsafe { libc::ioctl(file.as_raw_fd(), request, &room) })
}

/// Sets a limit of the parent process to its current value.
fn limit_of_another() -> ProbeResult {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure lives.
    unsafe {
        let above = libc::getppid();
        did(libc::prlimit(above, libc::RLIMIT_NOFILE, ptr::null(), &mut limit))?;
        did(libc::prlimit(above, libc::RLIMIT_NOFILE, &limit, ptr::null_mut()))
    }
}

fn much_memory(more: i32) -> ProbeResult {
    let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | more;
    // SAFETY: new memory that no code uses.
    let at = unsafe { libc::mmap(ptr::null_mut(), 1 << 30, libc::PROT_READ | libc::PROT_WRITE, how, -1, 0) };
    if at == libc::MAP_FAILED { Err(std::io::Error::last_os_error().to_string()) } else { Ok(()) }
}

pub(super) const PROBES: &[Probe] = &[
    probe("room_without_size", room_without_size),
    probe("room_without_size_by_request", |w| room_by_request(w, 0x4030_5828)),
    probe("room_without_size_by_the_wider_request", |w| room_by_request(w, 0x4030_582a)),
    probe("room_of_zeroes_without_size", |w| room_by_request(w, 0x4030_5839)),
    probe("limit_of_another", |_| limit_of_another()),
    probe("new_user_namespace", |_| new_user(0)),
    probe("new_user_namespace_by_clone", |_| split(libc::CLONE_NEWUSER as u64)),
    probe("new_user_namespace_by_clone3", |_| {
        // SAFETY: all zero is a valid value of this plain structure.
        let mut how: libc::clone_args = unsafe { std::mem::zeroed() };
        how.flags = libc::CLONE_NEWUSER as u64;
        how.exit_signal = libc::SIGCHLD as u64;
        // SAFETY: the structure is of the given size; without a stack this is `fork`.
        let pid = unsafe { libc::syscall(libc::SYS_clone3, &how, size_of_val(&how)) };
        if pid == 0 {
            super::super::helper_process::end(0);
        }
        did(pid)
    }),
    probe("new_process_numbers", |_| new_user(libc::CLONE_NEWPID)),
    probe("new_network", |_| new_user(libc::CLONE_NEWNET)),
    probe("mount_in_a_new_namespace", |w| {
        new_user(libc::CLONE_NEWNS).and_then(|()| mount_tmpfs(w.a("empty")))
    }),
    probe("unmask_in_a_new_namespace", |w| {
        new_user(libc::CLONE_NEWNS)?;
        // SAFETY: the path is NUL-terminated.
        unsafe { libc::umount2(c(w.a(".env")).as_ptr(), libc::MNT_DETACH) };
        reads(w.a(".env"))
    }),
    probe("write_b_in_a_new_namespace", |w| new_user(libc::CLONE_NEWNS).and_then(|()| writes(w.b("file")))),
    probe("change_root_in_a_new_namespace", |w| {
        new_user(0)?;
        // SAFETY: the path is NUL-terminated.
        did(unsafe { libc::chroot(c(w.a("")).as_ptr()) })
    }),
    probe("new_file_system_in_a_new_namespace", |_| {
        new_user(libc::CLONE_NEWNS)?;
        // SAFETY: the name is NUL-terminated.
        did(unsafe { libc::syscall(libc::SYS_fsopen, c"tmpfs".as_ptr(), 0) })
    }),
    // SAFETY: the path is NUL-terminated.
    probe("hold_a_mount", |_| {
        did(unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, c"/".as_ptr(), 0) })
    }),
    root("mount", |w| {
        mount_tmpfs(w.a("empty"))?;
        // Without a sandbox, the mount appears on this machine.
        // SAFETY: the path is NUL-terminated.
        did(unsafe { libc::umount2(c(w.a("empty")).as_ptr(), libc::MNT_DETACH) })
    }),
    root("unshare_mounts", |_| did(unsafe { libc::unshare(libc::CLONE_NEWNS) })),
    // SAFETY: the path is NUL-terminated.
    root("change_root", |w| did(unsafe { libc::chroot(c(w.a("")).as_ptr()) })),
    root("unmask", |w| {
        // SAFETY: the path is NUL-terminated.
        unsafe { libc::umount2(c(w.a(".env")).as_ptr(), libc::MNT_DETACH) };
        reads(w.a(".env"))
    }),
    root("press_the_system_key", |_| opens("/proc/sysrq-trigger")),
    root("name_the_module_loader", |_| opens("/proc/sys/kernel/modprobe")),
    root("name_the_core_handler", |_| opens("/proc/sys/kernel/core_pattern")),
    root("write_the_kernel_log", |_| opens("/dev/kmsg")),
    root("write_the_memory_settings", |_| opens("/proc/sys/vm/overcommit_memory")),
    // SAFETY: garbage is refused after the question of rights.
    root("load_a_module", |_| {
        known(unsafe { libc::syscall(libc::SYS_init_module, b"x".as_ptr(), 1, c"".as_ptr()) })
    }),
    // SAFETY: there is no such module.
    root("unload_a_module", |_| {
        known(unsafe { libc::syscall(libc::SYS_delete_module, c"askfirst-none".as_ptr(), 0) })
    }),
    // SAFETY: with neither time nor zone nothing changes.
    root("set_the_time", |_| {
        did(unsafe { libc::syscall(libc::SYS_settimeofday, ptr::null::<u8>(), ptr::null::<u8>()) })
    }),
    // SAFETY: with wrong numbers nothing happens but the question of rights.
    root("reboot", |_| known(unsafe { libc::syscall(libc::SYS_reboot, 0, 0, 0, 0) })),
    // SAFETY: there is no such file.
    root("use_a_swap_file", |_| known(unsafe { libc::swapon(c"/askfirst-none".as_ptr(), 0) }.into())),
    // SAFETY: there is no such file.
    root("account", |_| known(unsafe { libc::acct(c"/askfirst-none".as_ptr()) }.into())),
    root("name_the_host", |_| {
        let name = rustix::system::uname().nodename().to_owned();
        // SAFETY: the name is as long as is said.
        did(unsafe { libc::sethostname(name.as_ptr(), name.to_bytes().len()) })
    }),
    // SAFETY: no memory is passed.
    root("read_the_size_of_the_kernel_log", |_| did(unsafe { libc::klogctl(10, ptr::null_mut(), 0) })),
    root("write_a_program_for_the_kernel", |_| {
        let map = [2_u32, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        // SAFETY: the attributes are of the given size.
        did(unsafe { libc::syscall(libc::SYS_bpf, 0, map.as_ptr(), size_of_val(&map)) })
    }),
    // SAFETY: no memory is passed.
    probe("handle_page_faults", |_| did(unsafe { libc::syscall(libc::SYS_userfaultfd, 1) })),
    probe("use_io_uring", |_| {
        let mut settings = [0_u32; 30];
        // SAFETY: the structure is as large as the call wants it.
        did(unsafe { libc::syscall(libc::SYS_io_uring_setup, 4, settings.as_mut_ptr()) })
    }),
    probe("count_events", |_| {
        // Size 64, a software clock, of user mode alone.
        let mut event = [0_u64; 16];
        event[0] = 1 | 64 << 32;
        event[5] = 1 << 5 | 1 << 6;
        // SAFETY: the structure has the size that it states.
        did(unsafe { libc::syscall(libc::SYS_perf_event_open, event.as_ptr(), 0, -1, -1, 0) })
    }),
    probe("watch_file_systems", |_| {
        const REPORT: u32 = 0x200;
        // SAFETY: no memory is passed.
        did(unsafe { libc::syscall(libc::SYS_fanotify_init, REPORT, 0) })
    }),
    #[cfg(target_arch = "x86_64")]
    // SAFETY: nothing is read into an empty buffer.
    probe("read_the_descriptor_table", |_| {
        did(unsafe { libc::syscall(libc::SYS_modify_ldt, 0, ptr::null::<u8>(), 0) })
    }),
    probe("a_call_of_a_later_kernel", |_| {
        const FILE_GETATTR: i64 = 468;
        // SAFETY: null pointers are refused after the question whether there is such a call.
        known(unsafe {
            libc::syscall(FILE_GETATTR, libc::AT_FDCWD, ptr::null::<u8>(), ptr::null::<u8>(), 0, 0)
        })
    }),
    probe("a_program_in_memory", |_| memory_program(0)),
    probe("a_program_in_memory_said_to_be_one", |_| memory_program(0x10)),
    probe("a_large_file", large_file),
    probe("much_memory", |_| much_memory(0)),
    probe("much_memory_like_a_stack", |_| much_memory(libc::MAP_GROWSDOWN)),
    user("a_crowd", |_| crowd()),
    probe("endless_time", |_| limit(libc::RLIMIT_CPU)),
    probe("endless_files", |_| limit(libc::RLIMIT_FSIZE)),
    probe("a_core_file", |_| core(libc::RLIM_INFINITY)),
    probe("a_core_for_a_program", |_| core(0)),
];
