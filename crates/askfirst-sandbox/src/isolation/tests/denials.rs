//! Probes against denied paths inside grants.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use super::world::{reads, writes};
use super::{Probe, c, did, io, probe};

pub(super) const PROBES: &[Probe] = &[
    probe("make_a_hook", |w| io(File::create(w.a(".git/hooks/pre-commit")))),
    probe("make_a_hook_by_descriptor", |w| {
        // SAFETY: both paths are NUL-terminated.
        unsafe {
            let at = libc::open(c(w.a(".git")).as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY);
            did(libc::openat(at, c"hooks/x".as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o700))
        }
    }),
    probe("move_a_hook_in", |w| io(fs::rename(w.a("file"), w.a(".git/hooks/post-commit")))),
    probe("link_a_hook_in", |w| io(fs::hard_link(w.a("file"), w.a(".git/hooks/pre-push")))),
    probe("move_the_repository", |w| io(fs::rename(w.a(".git"), w.a(".git2")))),
    probe("exchange_the_repository", |w| {
        let (from, to) = (c(w.a(".git")), c(w.a("other")));
        let (at, how) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
        // SAFETY: both paths are NUL-terminated.
        did(unsafe { libc::renameat2(at, from.as_ptr(), at, to.as_ptr(), how) })
    }),
    probe("move_the_hooks", |w| io(fs::rename(w.a(".git/hooks"), w.a(".git/hooks2")))),
    probe("replace_the_hooks_by_a_link", |w| {
        io(fs::remove_dir(w.a(".git/hooks"))).and_then(|()| io(symlink(w.a("other"), w.a(".git/hooks"))))
    }),
    probe("chmod_the_hooks", |w| did(unsafe { libc::chmod(c(w.a(".git/hooks")).as_ptr(), 0o700) })),
    probe("write_the_settings", |w| writes(w.a(".git/config"))),
    probe("replace_the_settings", |w| io(fs::rename(w.a("file"), w.a(".git/config")))),
    probe("remove_the_settings", |w| io(fs::remove_file(w.a(".git/config")))),
    // SAFETY: the path is NUL-terminated.
    probe("truncate_the_settings", |w| did(unsafe { libc::truncate(c(w.a(".git/config")).as_ptr(), 0) })),
    probe("write_the_settings_by_another_name", |w| {
        io(fs::hard_link(w.a(".git/config"), w.a("c"))).and_then(|()| writes(w.a("c")))
    }),
    probe("read_what_is_never_read", |w| reads(w.a(".env"))),
    probe("read_it_by_the_root_of_proc", |w| reads(format!("/proc/self/root{}", w.a(".env").display()))),
    probe("read_it_after_chmod", |w| {
        // SAFETY: the path is NUL-terminated.
        unsafe { libc::chmod(c(w.a(".env")).as_ptr(), 0o777) };
        reads(w.a(".env"))
    }),
    probe("read_it_by_another_name", |w| {
        io(fs::hard_link(w.a(".env"), w.a("env"))).and_then(|()| reads(w.a("env")))
    }),
    probe("read_it_through_a_link", |w| {
        io(symlink(w.a(".env"), w.a("envlink"))).and_then(|()| reads(w.a("envlink")))
    }),
    probe("write_what_is_never_read", |w| writes(w.a(".env"))),
    probe("remove_what_is_never_read", |w| io(fs::remove_file(w.a(".env")))),
    probe("move_what_is_never_read", |w| {
        io(fs::rename(w.a(".env"), w.a("env2"))).and_then(|()| reads(w.a("env2")))
    }),
    probe("replace_what_is_never_read", |w| io(fs::rename(w.a("file2"), w.a(".env")))),
    probe("read_it_further_down", |w| reads(w.a("sub/.env"))),
    probe("read_it_after_moving_its_folder", |w| {
        io(fs::rename(w.a("sub"), w.a("sub2"))).and_then(|()| reads(w.a("sub2/.env")))
    }),
    probe("read_it_after_exchanging_its_folder", |w| {
        let (from, to) = (c(w.a("sub")), c(w.a("empty")));
        let (at, how) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
        // SAFETY: both paths are NUL-terminated.
        did(unsafe { libc::renameat2(at, from.as_ptr(), at, to.as_ptr(), how) })
            .and_then(|()| reads(w.a("empty/.env")))
    }),
    probe("list_a_folder_that_is_never_read", |w| io(fs::read_dir(w.b("private")))),
    probe("read_in_a_folder_that_is_never_read", |w| reads(w.b("private/file"))),
];
