//! Probes that read or find out: files outside the roots, other processes, and inherited descriptors.

use std::fs;
use std::io::Read;

use super::world::{SECRET, World, reads};
use super::{Probe, ProbeResult, c, did, io, probe, root, sys};

fn of_victim(world: &World, name: &str) -> String {
    format!("/proc/{}/{name}", world.victim)
}

fn holds(path: String, what: &str) -> ProbeResult {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    if String::from_utf8_lossy(&bytes).contains(what) { Ok(()) } else { Err("another content".to_owned()) }
}

/// Opens a machine-wide file in `/proc`. Some kernels do not have it.
fn of_the_machine(name: &str) -> ProbeResult {
    let path = format!("/proc/{name}");
    if fs::exists(&path).unwrap_or(true) { io(fs::File::open(path)) } else { Err(super::ABSENT.to_owned()) }
}

pub(super) const PROBES: &[Probe] = &[
    probe("read_the_secret", |w| reads(w.out("secret"))),
    probe("read_through_a_link_in_a", |w| reads(w.a("link"))),
    probe("read_through_a_link_in_b", |w| reads(w.b("link"))),
    probe("read_through_a_folder_link", |w| reads(w.a("linkdir/secret"))),
    probe("read_by_climbing", |w| reads(w.a("../OUT/secret"))),
    probe("read_through_a_new_link", |w| {
        io(std::os::unix::fs::symlink(w.out("secret"), w.a("newlink")))?;
        reads(w.a("newlink"))
    }),
    probe("read_by_the_root_of_proc", |w| reads(format!("/proc/self/root{}", w.out("secret").display()))),
    probe("read_by_the_root_of_the_first_process", |w| {
        reads(format!("/proc/{}/root{}", w.victim, w.out("secret").display()))
    }),
    probe("read_by_the_folder_of_the_victim", |w| reads(of_victim(w, "cwd/secret"))),
    probe("read_by_a_descriptor_of_the_victim", |w| reads(of_victim(w, "fd/7"))),
    probe("read_the_variables_of_the_victim", |w| holds(of_victim(w, "environ"), "VICTIM_TOKEN")),
    probe("read_the_words_of_the_victim", |w| holds(of_victim(w, "cmdline"), "victim")),
    probe("read_the_memory_map_of_the_victim", |w| holds(of_victim(w, "maps"), "stack")),
    probe("read_the_memory_of_the_victim", |w| {
        let maps = fs::read_to_string(of_victim(w, "maps")).map_err(|e| e.to_string())?;
        let start = maps.split('-').next().and_then(|at| u64::from_str_radix(at, 16).ok()).ok_or("no map")?;
        let memory = fs::File::open(of_victim(w, "mem")).map_err(|e| e.to_string())?;
        io(std::os::unix::fs::FileExt::read_at(&memory, &mut [0; 16], start))
    }),
    probe("read_the_memory_of_the_victim_by_call", |w| {
        let maps = fs::read_to_string(of_victim(w, "maps")).map_err(|e| e.to_string())?;
        let start =
            maps.split('-').next().and_then(|at| usize::from_str_radix(at, 16).ok()).ok_or("no map")?;
        let mut bytes = [0_u8; 16];
        let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 16 };
        let remote = libc::iovec { iov_base: start as *mut libc::c_void, iov_len: 16 };
        // SAFETY: the local memory is of the given size; the remote one is the victim's.
        did(unsafe { libc::process_vm_readv(w.victim, &local, 1, &remote, 1, 0) } as i64)
    }),
    probe("reopen_by_handle", |w| {
        // SAFETY: the path is NUL-terminated.
        let fd = sys(unsafe { libc::open(c(w.out("secret")).as_ptr(), libc::O_PATH) })?;
        reads(format!("/proc/self/fd/{fd}"))
    }),
    probe("read_by_an_inherited_folder", |_| {
        // SAFETY: the path is NUL-terminated; descriptor 8 is inherited if nothing prevents it.
        did(unsafe { libc::openat(8, c"secret".as_ptr(), libc::O_RDONLY) })
    }),
    probe("climb_from_an_inherited_folder", |_| {
        // SAFETY: as above.
        did(unsafe { libc::openat(8, c"../OUT/secret".as_ptr(), libc::O_RDONLY) })
    }),
    probe("read_an_inherited_file", |_| {
        let mut byte = [0_u8];
        // SAFETY: one byte is read into one byte.
        did(unsafe { libc::pread(9, byte.as_mut_ptr().cast(), 1, 0) } as i64)
    }),
    probe("read_shared_memory", |w| reads(std::path::Path::new("/dev/shm").join(w.tag()))),
    probe("list_outside", |w| io(fs::read_dir(w.out("")))),
    probe("list_the_world", |w| {
        let names = fs::read_dir(&w.base).map_err(|e| e.to_string())?;
        if names.flatten().any(|name| name.file_name() == "OUT") {
            Ok(())
        } else {
            Err("not seen".to_owned())
        }
    }),
    probe("stat_the_secret", |w| io(fs::metadata(w.out("secret")))),
    // SAFETY: the path is NUL-terminated.
    probe("access_the_secret", |w| did(unsafe { libc::access(c(w.out("secret")).as_ptr(), libc::F_OK) })),
    probe("read_a_link_outside", |w| io(fs::read_link(w.out("link")))),
    probe("enter_outside", |w| io(std::env::set_current_dir(w.out("")))),
    probe("watch_outside", |w| {
        // SAFETY: the path is NUL-terminated.
        unsafe {
            did(libc::inotify_add_watch(libc::inotify_init(), c(w.out("")).as_ptr(), libc::IN_ALL_EVENTS))
        }
    }),
    probe("read_at_home", |w| reads(w.out("home/token"))),
    probe("read_a_variable_that_is_not_listed", |_| {
        if std::env::var("SCENE_TOKEN").is_ok_and(|token| token == SECRET) {
            Ok(())
        } else {
            Err("not there".to_owned())
        }
    }),
    probe("read_the_first_variables", |_| holds("/proc/self/environ".to_owned(), "SCENE_TOKEN")),
    probe("find_the_victim", |w| io(fs::metadata(of_victim(w, "stat")))),
    probe("count_processes", |_| {
        let names = fs::read_dir("/proc").map_err(|e| e.to_string())?;
        let count =
            names.flatten().filter(|name| name.file_name().to_string_lossy().parse::<u32>().is_ok()).count();
        if count > 9 { Ok(()) } else { Err(format!("{count}")) }
    }),
    probe("see_other_mounts", |_| holds("/proc/self/mountinfo".to_owned(), " /sys ")),
    probe("list_the_system", |_| io(fs::read_dir("/sys/kernel"))),
    probe("list_logs", |_| io(fs::read_dir("/var/log"))),
    probe("list_etc", |_| io(fs::metadata("/etc/shadow"))),
    probe("read_the_symbols_of_the_kernel", |_| holds("/proc/kallsyms".to_owned(), "_text")),
    root("read_how_often_memory_is_used", |_| of_the_machine("kpagecount")),
    root("read_what_memory_is_used_for", |_| of_the_machine("kpageflags")),
    root("read_whose_memory_is_used", |_| of_the_machine("kpagecgroup")),
    root("read_what_kinds_of_memory_there_are", |_| of_the_machine("pagetypeinfo")),
    root("read_where_the_kernel_has_its_memory", |_| of_the_machine("vmallocinfo")),
    root("read_what_the_kernel_keeps", |_| of_the_machine("slabinfo")),
    root("read_the_timers_of_the_machine", |_| of_the_machine("timer_list")),
    probe("read_where_devices_have_their_memory", |_| of_the_machine("iomem")),
    probe("read_where_devices_are", |_| of_the_machine("ioports")),
    probe("read_the_keys_of_the_machine", |_| io(fs::read("/proc/key-users"))),
    root("read_the_passwords", |_| io(fs::read("/etc/shadow"))),
    root("read_the_home_of_root", |_| io(fs::read_dir("/root"))),
    root("read_the_disk", |_| {
        let parts = fs::read_to_string("/proc/partitions").map_err(|e| e.to_string())?;
        let name = parts.lines().nth(2).and_then(|line| line.split_whitespace().last()).ok_or("no disk")?;
        let disk = fs::File::open(format!("/dev/{name}"));
        if disk.as_ref().is_err_and(|cause| cause.raw_os_error() == Some(libc::EPERM)) {
            return Err(super::ABSENT.to_owned());
        }
        let mut disk = disk.map_err(|e| e.to_string())?;
        io(disk.read_exact(&mut [0; 512]))
    }),
    root("read_the_kernel_log", |_| io(fs::File::open("/dev/kmsg"))),
    root("open_by_number", |w| {
        #[repr(C)]
        struct Handle {
            size: u32,
            kind: i32,
            bytes: [u8; 128],
        }
        let mut handle = Handle { size: 128, kind: 0, bytes: [0; 128] };
        let (mut mount, path) = (0, c(w.a("file")));
        // SAFETY: the path is NUL-terminated, and the handle has the size that it states.
        unsafe {
            did(libc::syscall(
                libc::SYS_name_to_handle_at,
                libc::AT_FDCWD,
                path.as_ptr(),
                &mut handle,
                &mut mount,
                0,
            ))?;
            let at = libc::open(c(w.a("")).as_ptr(), libc::O_RDONLY);
            did(libc::syscall(libc::SYS_open_by_handle_at, at, &handle, libc::O_RDONLY))
        }
    }),
];
