//! Tests how launches end: all their processes end with them, and no other process does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use askfirst_sandbox::{End, LaunchError, Spec, Stop};

use crate::{HANGS, Process, alone, nap, run, running, sh, text, try_run};

fn wait_for(file: &Path) {
    let start = Instant::now();
    while !file.exists() {
        assert!(start.elapsed() < HANGS, "{} was never created", file.display());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn exit_codes_and_signals_are_returned() {
    for code in [0, 1, 125, 255] {
        assert_eq!(run(sh("exit $1", &[&code.to_string()])).end, End::Exited(code));
    }
    for signal in [libc::SIGTERM, libc::SIGKILL, libc::SIGSEGV] {
        assert_eq!(run(sh("kill -$1 $$", &[&signal.to_string()])).end, End::Signalled(signal));
    }
}

#[test]
fn timeout_kills_a_daemon_that_left_the_session() {
    // Forked twice, in its own session, without a parent, and holding the output open.
    let mut spec = sh(&format!("(setsid sh -c '{0} & {0}' &); {0}", nap(3)), &[]);
    spec.limits.wall = Some(Duration::from_secs(1));
    assert_eq!(run(spec).end, End::TimedOut);
    assert_eq!(running(&nap(3)), 0);
}

#[test]
fn timeout_kills_children_with_cleared_environment() {
    let mut spec = sh(&format!("env -i setsid sh -c '{0} & wait' & env -i {0} & wait", nap(4)), &[]);
    spec.limits.wall = Some(Duration::from_secs(1));
    assert_eq!(run(spec).end, End::TimedOut);
    assert_eq!(running(&nap(4)), 0);
}

#[test]
fn exit_kills_a_daemon() {
    let home = tempfile::tempdir().unwrap();
    let script = format!(
        "(setsid sh -c 'touch up; {0}' >/dev/null 2>&1 &)
        until [ -e up ]; do sleep 0.01; done; exit 6",
        nap(5)
    );
    let mut spec = sh(&script, &[]);
    spec.folder = home.path().into();
    assert_eq!(run(spec).end, End::Exited(6));
    assert_eq!(running(&nap(5)), 0);
}

#[test]
fn timeout_kills_processes_that_keep_starting_others() {
    // They would end on their own after a while, so that a failure does no harm.
    let inner = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); sleep 0.001 & done";
    let tag = format!("many{}", std::process::id());
    let script = "for i in 1 2; do setsid sh -c \"$1\" $2 & done; sleep 60";
    let mut spec = sh(script, &[inner, &tag]);
    spec.limits.wall = Some(Duration::from_millis(300));
    assert_eq!(run(spec).end, End::TimedOut);
    assert_eq!(running(&format!("sh -c {inner} {tag}")), 0);
}

#[test]
fn exit_kills_a_chain_of_short_lived_processes() {
    let home = tempfile::tempdir().unwrap();
    let tool = home.path().join("hop");
    let script = "#!/bin/sh\n[ $1 -gt 0 ] && setsid ./hop $(($1 - 1)) >/dev/null 2>&1 &\n";
    fs::write(home.path().join("text"), script).unwrap();
    // Copy in another process: a process that another thread starts could inherit the open copy, and then it is busy.
    let copied = std::process::Command::new("cp").arg(home.path().join("text")).arg(&tool).status();
    assert!(copied.unwrap().success());
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    for _ in 0..8 {
        let mut spec = sh("./hop 3000; sleep 0.05; echo up", &[]);
        spec.folder = home.path().into();
        assert_eq!(text(&run(spec).stdout), "up\n");
        assert_eq!(running_in(home.path()), [""; 0]);
    }
}

fn running_in(folder: &Path) -> Vec<String> {
    let folder = folder.canonicalize().unwrap();
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    pids.filter(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder)).collect()
}

#[test]
fn processes_started_during_the_kill_are_killed() {
    // Each has cleared its mark and started its own session. Only its parent identifies it, and that has left our session.
    let home = tempfile::tempdir().unwrap();
    let inner = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); env -i setsid sleep 60 & done";
    let mut spec = sh("setsid sh -c \"$1\" & sleep 60", &[inner]);
    spec.folder = home.path().into();
    spec.limits.wall = Some(Duration::from_millis(200));
    assert_eq!(run(spec).end, End::TimedOut);
    assert_eq!(running_in(home.path()), [""; 0]);
}

#[test]
fn exit_kills_a_daemon_whose_main_thread_ended() {
    let home = tempfile::tempdir().unwrap();
    let script = "LOSE_FIRST_THREAD=1 setsid setsid $1 >/dev/null 2>&1 </dev/null
        until [ -e up ]; do sleep 0.01; done; sleep 0.2; cat /proc/$(cat up)/status";
    let mut spec = sh(script, &[std::env::current_exe().unwrap().to_str().unwrap()]);
    spec.folder = home.path().into();
    let finished = run(spec);
    let status = text(&finished.stdout);
    assert!(status.contains("State:\tZ (zombie)") && status.contains("Threads:\t2"), "{status}");
    let pid = fs::read_to_string(home.path().join("up")).unwrap();
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, |tasks| tasks.count());
    assert!(tasks <= 1, "{tasks} threads are left");
}

/// Runs before `main`, on the main thread: that is the only way to end that thread alone.
#[used]
#[unsafe(link_section = ".init_array")]
#[allow(unsafe_code, reason = "an entry in the list of functions that run before `main`")]
static LOSE_FIRST_THREAD: extern "C" fn() = lose_first_thread;

#[allow(unsafe_code, reason = "a thread that ends itself without ending the process")]
extern "C" fn lose_first_thread() {
    // SAFETY: a lookup by a NUL-terminated name, before there is a thread that could change the environment.
    if unsafe { libc::getenv(c"LOSE_FIRST_THREAD".as_ptr()) }.is_null() {
        return;
    }
    thread::spawn(|| {
        fs::write("up.new", std::process::id().to_string()).unwrap();
        fs::rename("up.new", "up").unwrap();
        thread::sleep(Duration::from_secs(60));
    });
    // SAFETY: ends this thread, which holds nothing that others wait for.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
}

#[test]
fn timeout_kills_a_program_that_ignores_signals() {
    let mut spec = sh(&format!("trap '' TERM INT HUP; while :; do {0}; done", nap(7)), &[]);
    spec.limits.wall = Some(Duration::from_millis(300));
    assert_eq!(run(spec).end, End::TimedOut);
    assert_eq!(running(&nap(7)), 0);
}

#[test]
fn timeout_kills_no_other_processes() {
    let mut others = [
        Command::new("sleep")
            .args(nap(8).split(' ').skip(1))
            .env("ASKFIRST_LAUNCH", "0".repeat(32))
            .spawn()
            .unwrap(),
        Command::new("setsid").args(nap(8).split(' ')).env_clear().spawn().unwrap(),
    ];
    let mut spec = sh(&nap(9), &[]);
    spec.limits.wall = Some(Duration::from_millis(300));
    assert_eq!(run(spec).end, End::TimedOut);
    assert_eq!(running(&nap(8)), 2);
    for other in &mut others {
        let ended = other.try_wait().unwrap();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(ended, None);
    }
}

#[test]
fn stop_ends_every_launch_with_its_handle() {
    let home = tempfile::tempdir().unwrap();
    let stop = Stop::new();
    let launches: Vec<_> = (0..3)
        .map(|number| {
            let mut spec = sh(&format!("touch up$1; (setsid {0} &); {0}", nap(10)), &[&number.to_string()]);
            spec.folder = home.path().into();
            let stop = stop.clone();
            thread::spawn(move || try_run(spec, &stop))
        })
        .collect();
    (0..3).for_each(|number| wait_for(&home.path().join(format!("up{number}"))));
    stop.stop();
    for launch in launches {
        assert_eq!(launch.join().unwrap().unwrap().end, End::Stopped);
    }
    assert_eq!(running(&nap(10)), 0);
}

#[test]
fn launch_after_stop_starts_nothing() {
    let home = tempfile::tempdir().unwrap();
    let stop = Stop::new();
    stop.stop();
    let mut spec = sh("touch up", &[]);
    spec.folder = home.path().into();
    assert_eq!(try_run(spec, &stop).unwrap().end, End::Stopped);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn stop_after_the_end_changes_nothing() {
    let stop = Stop::new();
    assert_eq!(try_run(sh("exit 2", &[]), &stop).unwrap().end, End::Exited(2));
    stop.stop();
}

#[test]
#[allow(unsafe_code, reason = "there is no safe way to change a signal handler")]
fn ignored_sigchld_is_an_error_and_leaves_no_process() {
    let name = "ends::ignored_sigchld_is_an_error_and_leaves_no_process";
    if alone(name, &[]) == Process::Shared {
        return;
    }
    // SAFETY: no handler is set. In its own process, ended children are collected by the kernel.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let error = try_run(sh(&format!("(setsid {0} &); exit 0", nap(11)), &[]), &Stop::new()).unwrap_err();
    assert!(matches!(error, LaunchError::Lost(_)), "{error}");
    let want = "lost the exit status of program `sh`: another part of this process collected it";
    assert_eq!(error.to_string(), want);
    assert_eq!(running(&nap(11)), 0);
}

#[test]
fn very_long_time_limit_is_accepted() {
    let mut spec = Spec::new("/bin/echo", "/");
    spec.limits.wall = Some(Duration::MAX);
    assert_eq!(text(&run(spec).stdout), "\n");
}
