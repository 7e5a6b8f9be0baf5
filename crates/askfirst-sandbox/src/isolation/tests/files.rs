//! Probes that change files: outside the roots, in the read-only root, and in ways that outlast the program.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

use super::world::{World, writes};
use super::{Probe, ProbeResult, c, did, io, probe, root, seen, sys};

fn create(path: impl AsRef<Path>) -> ProbeResult {
    io(File::options().write(true).create_new(true).open(path))
}

fn new(place: &str, world: &World) -> std::path::PathBuf {
    Path::new(place).join(format!("{}-new", world.tag()))
}

fn chmod(path: impl AsRef<Path>, mode: u32) -> ProbeResult {
    // SAFETY: the path is NUL-terminated.
    did(unsafe { libc::chmod(c(path).as_ptr(), mode) })
}

fn chown(path: impl AsRef<Path>) -> ProbeResult {
    // SAFETY: the path is NUL-terminated; the numbers are our own.
    did(unsafe { libc::chown(c(path).as_ptr(), libc::getuid(), libc::getgid()) })
}

fn times(path: impl AsRef<Path>) -> ProbeResult {
    // SAFETY: the path is NUL-terminated; no times mean now.
    did(unsafe { libc::utimensat(libc::AT_FDCWD, c(path).as_ptr(), std::ptr::null(), 0) })
}

fn attribute(path: impl AsRef<Path>) -> ProbeResult {
    let name = c"user.askfirst".as_ptr();
    // SAFETY: path and name are NUL-terminated, and one byte is passed.
    did(unsafe { libc::setxattr(c(path).as_ptr(), name, b"x".as_ptr().cast(), 1, 0) })
}

fn rename2(from: impl AsRef<Path>, to: impl AsRef<Path>, flags: libc::c_uint) -> ProbeResult {
    let (from, to) = (c(from), c(to));
    // SAFETY: both paths are NUL-terminated.
    did(unsafe { libc::renameat2(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), flags) })
}

fn with_mode(path: impl AsRef<Path>, mode: u32) -> ProbeResult {
    use std::os::unix::fs::MetadataExt;
    io(File::options().write(true).create_new(true).mode(mode).open(&path))?;
    let got = fs::metadata(path).map_err(|e| e.to_string())?.mode();
    if got & 0o6000 == 0 { Err("without the bit".to_owned()) } else { Ok(()) }
}

pub(super) const PROBES: &[Probe] = &[
    probe("write_through_a_link", |w| writes(w.a("link"))),
    probe("create_through_a_folder_link", |w| create(w.a("linkdir/new"))),
    probe("create_outside", |w| create(w.out("new"))),
    probe("append_outside", |w| io(File::options().append(true).open(w.out("secret")))),
    // SAFETY: the path is NUL-terminated.
    probe("truncate_outside", |w| did(unsafe { libc::truncate(c(w.out("file")).as_ptr(), 0) })),
    probe("unlink_outside", |w| io(fs::remove_file(w.out("file")))),
    probe("rename_outside", |w| io(fs::rename(w.out("file"), w.out("renamed")))),
    probe("make_a_folder_outside", |w| io(fs::create_dir(w.out("folder")))),
    probe("remove_a_folder_outside", |w| io(fs::remove_dir_all(w.out("sub")))),
    probe("make_a_link_outside", |w| io(symlink("x", w.out("newlink")))),
    // SAFETY: the path is NUL-terminated.
    probe("make_a_pipe_outside", |w| did(unsafe { libc::mkfifo(c(w.out("fifo")).as_ptr(), 0o600) })),
    probe("hard_link_the_secret", |w| io(fs::hard_link(w.out("secret"), w.a("hard")))),
    probe("hard_link_out_of_b", |w| {
        io(fs::hard_link(w.b("file"), w.a("hardb"))).and_then(|()| writes(w.a("hardb")))
    }),
    probe("move_from_a_to_b", |w| io(fs::rename(w.a("file"), w.b("moved")))),
    probe("move_from_b_to_a", |w| io(fs::rename(w.b("file2"), w.a("moved")))),
    probe("move_from_a_to_outside", |w| io(fs::rename(w.a("file2"), w.out("moved")))),
    probe("move_from_outside_to_a", |w| io(fs::rename(w.out("file2"), w.a("moved2")))),
    probe("exchange_a_and_b", |w| rename2(w.a("file"), w.b("file"), libc::RENAME_EXCHANGE)),
    probe("exchange_a_and_outside", |w| rename2(w.a("file"), w.out("secret"), libc::RENAME_EXCHANGE)),
    probe("create_in_b", |w| create(w.b("new"))),
    probe("write_in_b", |w| writes(w.b("file"))),
    probe("append_in_b", |w| io(File::options().append(true).open(w.b("file")))),
    probe("unlink_in_b", |w| io(fs::remove_file(w.b("file3")))),
    probe("make_a_folder_in_b", |w| io(fs::create_dir(w.b("folder")))),
    probe("remove_a_folder_in_b", |w| io(fs::remove_dir(w.b("empty")))),
    probe("rename_in_b", |w| io(fs::rename(w.b("sub"), w.b("sub2")))),
    probe("hard_link_in_b", |w| io(fs::hard_link(w.b("file"), w.b("hard")))),
    probe("make_a_link_in_b", |w| io(symlink("x", w.b("newlink")))),
    // SAFETY: the path is NUL-terminated.
    probe("truncate_in_b", |w| did(unsafe { libc::truncate(c(w.b("file")).as_ptr(), 0) })),
    probe("truncate_in_b_by_opening_to_read", |w| {
        // SAFETY: the path is NUL-terminated.
        did(unsafe { libc::open(c(w.b("file")).as_ptr(), libc::O_RDONLY | libc::O_TRUNC) })
    }),
    probe("chmod_in_b", |w| chmod(w.b("file"), 0o600)),
    probe("chmod_in_b_by_descriptor", |w| {
        let file = File::open(w.b("file")).map_err(|e| e.to_string())?;
        // SAFETY: no memory is passed.
        did(unsafe { libc::fchmod(file.as_raw_fd(), 0o600) })
    }),
    probe("chmod_in_b_by_the_newer_call", |w| {
        // SAFETY: the path is NUL-terminated.
        did(unsafe { libc::syscall(libc::SYS_fchmodat2, libc::AT_FDCWD, c(w.b("file")).as_ptr(), 0o600, 0) })
    }),
    probe("chown_in_b", |w| chown(w.b("file"))),
    probe("times_in_b", |w| times(w.b("file"))),
    probe("times_in_b_by_descriptor", |w| {
        let file = File::open(w.b("file")).map_err(|e| e.to_string())?;
        // SAFETY: no times mean now.
        did(unsafe { libc::futimens(file.as_raw_fd(), std::ptr::null()) })
    }),
    probe("attribute_in_b", |w| attribute(w.b("file"))),
    probe("chmod_of_b", |w| chmod(w.b("."), 0o700)),
    probe("chmod_outside", |w| chmod(w.out("secret"), 0o600)),
    probe("chown_outside", |w| chown(w.out("secret"))),
    probe("times_outside", |w| times(w.out("secret"))),
    probe("attribute_outside", |w| attribute(w.out("secret"))),
    probe("chmod_through_a_link", |w| chmod(w.a("link"), 0o600)),
    probe("replace_root_a", |w| {
        io(fs::rename(w.a(""), w.base.join("A2"))).and_then(|()| io(symlink(w.out(""), w.base.join("A"))))
    }),
    probe("move_root_b", |w| io(fs::rename(w.b(""), w.base.join("B2")))),
    seen("create_beside_the_roots", |w| create(w.base.join("beside")), |w| w.base.join("beside").exists()),
    seen("create_in_tmp", |w| create(new("/tmp", w)), |w| new("/tmp", w).exists()),
    seen("create_in_var_tmp", |w| create(new("/var/tmp", w)), |w| new("/var/tmp", w).exists()),
    seen("create_in_shared_memory", |w| create(new("/dev/shm", w)), |w| new("/dev/shm", w).exists()),
    probe("write_at_home", |w| create(w.out("home/.bashrc"))),
    probe("nameless_file_outside", |w| {
        // SAFETY: the path is NUL-terminated.
        did(unsafe { libc::open(c(w.out("")).as_ptr(), libc::O_TMPFILE | libc::O_WRONLY, 0o600) })
    }),
    probe("name_a_nameless_file_outside", |w| {
        // SAFETY: the path is NUL-terminated.
        let fd = sys(unsafe { libc::open(c(w.a("")).as_ptr(), libc::O_TMPFILE | libc::O_WRONLY, 0o600) })?;
        let (from, to) = (c(format!("/proc/self/fd/{fd}")), c(w.out("named")));
        let follow = libc::AT_SYMLINK_FOLLOW;
        // SAFETY: both paths are NUL-terminated.
        did(unsafe { libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), follow) })
    }),
    probe("create_by_an_inherited_folder", |_| {
        // SAFETY: the path is NUL-terminated; descriptor 8 is inherited if nothing prevents it.
        did(unsafe { libc::openat(8, c"inherited".as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o600) })
    }),
    probe("write_to_an_inherited_file", |_| {
        // SAFETY: one byte is passed; descriptor 9 is inherited if nothing prevents it.
        did(unsafe { libc::write(9, b"x".as_ptr().cast(), 1) } as i64)
    }),
    probe("write_by_the_root_of_proc", |w| writes(format!("/proc/self/root{}", w.out("secret").display()))),
    probe("set_id_in_a", |w| chmod(w.a("file"), 0o4755)),
    probe("set_group_id_in_a", |w| chmod(w.a("file"), 0o2755)),
    probe("set_id_in_a_by_descriptor", |w| {
        let file = File::open(w.a("file")).map_err(|e| e.to_string())?;
        // SAFETY: no memory is passed.
        did(unsafe { libc::fchmod(file.as_raw_fd(), 0o4755) })
    }),
    probe("set_id_in_a_by_the_newer_call", |w| {
        // SAFETY: the path is NUL-terminated.
        did(unsafe { libc::syscall(libc::SYS_fchmodat2, libc::AT_FDCWD, c(w.a("file")).as_ptr(), 0o4755, 0) })
    }),
    probe("set_id_in_a_from_the_start", |w| with_mode(w.a("setid"), 0o4755)),
    probe("set_id_in_a_by_openat2", |w| {
        // SAFETY: all zero is a valid value of this plain structure.
        let mut how: libc::open_how = unsafe { std::mem::zeroed() };
        how.flags = (libc::O_CREAT | libc::O_WRONLY) as u64;
        how.mode = 0o4755;
        let path = c(w.a("setid2"));
        // SAFETY: the path is NUL-terminated and the structure of the given size.
        did(unsafe {
            libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path.as_ptr(), &how, size_of_val(&how))
        })
    }),
    // SAFETY: the path is NUL-terminated.
    probe("set_id_in_a_by_mknod", |w| {
        did(unsafe { libc::mknod(c(w.a("setid3")).as_ptr(), libc::S_IFREG | 0o4755, 0) })
    }),
    probe("make_others_wait_who_write_a_file", |w| commands(w.b("file3"), libc::F_SETLEASE, libc::F_RDLCK)),
    probe("make_others_wait_who_open_a_file", |w| commands(w.b("file3"), libc::F_SETLEASE, libc::F_WRLCK)),
    probe("hear_of_changes_in_a_folder", |w| commands(w.b("sub"), libc::F_NOTIFY, 4)),
    root("write_in_etc", |w| writes_and_restores(Path::new("/etc"), w)),
    root("write_in_usr", |w| writes_and_restores(Path::new("/usr"), w)),
    root("times_in_usr", |_| times("/usr/bin")),
    root("mode_of_a_device", |_| chmod("/dev/full", 0o666)),
    root("owner_of_a_device", |_| chown("/dev/full")),
    root("times_of_a_device", |_| times("/dev/full")),
    root("mode_of_the_input", |_| {
        // SAFETY: no memory is passed; it is the mode that `/dev/null` has.
        did(unsafe { libc::fchmod(0, 0o666) })
    }),
    root("mode_of_the_input_by_proc", |_| chmod("/proc/self/fd/0", 0o666)),
    // SAFETY: the path is NUL-terminated.
    root("make_a_device_in_a", |w| {
        did(unsafe { libc::mknod(c(w.a("device")).as_ptr(), libc::S_IFCHR | 0o600, libc::makedev(1, 3)) })
    }),
    // SAFETY: the path is NUL-terminated.
    root("give_a_file_away", |w| did(unsafe { libc::chown(c(w.a("file")).as_ptr(), 12345, 12345) })),
];

/// Sends an `fcntl` command to a file that is open for reading.
fn commands(path: impl AsRef<Path>, command: i32, argument: i32) -> ProbeResult {
    let file = File::open(path).map_err(|cause| cause.to_string())?;
    // SAFETY: with these commands the last is a number.
    did(unsafe { libc::fcntl(file.as_raw_fd(), command, argument) })
}

fn writes_and_restores(folder: &Path, world: &World) -> ProbeResult {
    let path = folder.join(format!("{}-new", world.tag()));
    create(&path)?;
    io(fs::remove_file(path))
}
