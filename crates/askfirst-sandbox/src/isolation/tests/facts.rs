//! Tests of what a run reports besides its output, and that nothing of it is left when it returns.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::runs::{bubblewrap_sandbox, sandbox};
use super::setup::{Home, home, profile, sh};
use crate::isolation::{Sandbox, SandboxRun, launch_in_sandbox};
use crate::spec::{End, Lasts, RunFacts, Spec};
use crate::stop::Stop;

fn run_in(sandbox: &Sandbox, home: &Home, script: &str, wall: Duration) -> SandboxRun {
    let mut spec = sh(&home.path.join("A"), script);
    spec.limits.wall = Some(wall);
    launch_in_sandbox(sandbox, &profile(&home.path), &spec, &Stop::new()).unwrap()
}

fn facts(script: &str) -> RunFacts {
    run_in(&sandbox(), &home(), script, Duration::from_secs(60)).facts
}

/// A script that starts a program of Python.
fn python(program: &str) -> String {
    format!("python3 -c '{program}'")
}

#[test]
fn processes_left_behind_are_counted() {
    let script =
        "sleep 600 & (setsid sleep 600 &); (setsid sh -c 'trap \"\" TERM HUP; sleep 600; true' &); sleep 0.1";
    assert_eq!(facts(script).left_processes, 4);
    assert_eq!(facts("sleep 0.05; (true &); exit 3"), RunFacts::default());
}

#[test]
fn process_that_ends_soon_is_not_left_behind() {
    let home = home();
    let over = run_in(&sandbox(), &home, "(sleep 0.03; echo end > end) & exit 7", Duration::from_secs(60));
    assert_eq!((over.finished.end, over.facts), (End::Exited(7), RunFacts::default()));
    assert_eq!(fs::read_to_string(home.path.join("A/end")).unwrap(), "end\n");
}

const LISTEN: &str = "
import os, socket, sys, time
held = [socket.socket(f) for f in (socket.AF_INET, socket.AF_INET6)]
for one, at in zip(held, ((\"127.0.0.1\", 8124), (\"::1\", 8123))):
    one.bind(at); one.listen()
client = socket.create_connection((\"127.0.0.1\", 8124))";

#[test]
fn ports_of_a_server_left_behind_are_reported() {
    let left = facts(&python(&format!("{LISTEN}\nif os.fork() == 0: time.sleep(600)")));
    assert_eq!((left.listening, left.left_processes), (vec![8123, 8124], 1));
    assert_eq!(facts(&python(LISTEN)), RunFacts::default());
}

#[test]
fn ports_are_reported_when_the_time_is_over() {
    let ready = Duration::from_millis(1500);
    let script = python(&format!("{LISTEN}\nos.fork()\ntime.sleep(600)"));
    let over = run_in(&sandbox(), &home(), &format!("exec {script}"), ready);
    assert_eq!(over.finished.end, End::TimedOut);
    assert_eq!((over.facts.listening, over.facts.left_processes), (vec![8123, 8124], 1));
    assert!(over.finished.took >= ready && over.finished.took < ready + Duration::from_millis(900));
}

#[test]
fn bubblewrap_reports_the_same_facts() {
    let Some(second) = bubblewrap_sandbox() else {
        return super::skip("bubblewrap_reports_the_same_facts", "no bubblewrap 0.12 or newer");
    };
    let script = python(&format!("{LISTEN}\nos.fork()\ntime.sleep(600)"));
    let over = run_in(&second, &home(), &format!("exec {script}"), Duration::from_millis(1500));
    assert_eq!(over.finished.end, End::TimedOut);
    assert_eq!((over.facts.listening, over.facts.left_processes), (vec![8123, 8124], 1));
}

#[test]
fn programs_that_exist_only_outside_are_reported() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!(
        "exec 2>/dev/null; for n in 1 2; do bash -c 'echo > /dev/tcp/127.0.0.1/{port}'; done
         bash -c 'echo > /dev/udp/127.0.0.1/53; echo > /dev/udp/::1/53'; true"
    );
    let over = run_in(&sandbox(), &home(), &script, Duration::from_secs(60));
    assert_eq!((over.facts.refused_connections, over.facts.refused_datagrams), (2, 2));
    assert!(over.violations.is_empty(), "{:?}", over.violations);
}

/// Starts processes that are hard to find and to end. Each holds `held` open and writes to it. Ends with `last`.
fn clingers(last: &str) -> String {
    python(&format!(
        "
import ctypes, mmap, os, signal, threading, time
held = os.open(\"held\", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
os.ftruncate(held, 1 << 12)
def write():
    while True: os.write(held, b\"x\")
def daemon(then):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for at in (0, 1, 2): os.close(at)
            then()
        os._exit(0)
def deaf():
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP): signal.signal(number, signal.SIG_IGN)
    write()
def stopped():
    os.kill(os.getpid(), signal.SIGSTOP)
    write()
def headless():
    threading.Thread(target=write).start()
    ctypes.CDLL(None).syscall({exit}, 0)
def forking():
    while True:
        if os.fork(): os._exit(0)
        os.setsid()
        os.write(held, b\"f\")
def mapped():
    page = mmap.mmap(held, 1 << 12)
    while True: page[0] = (page[0] + 1) % 256
for then in (write, deaf, stopped, headless, forking, mapped): daemon(then)
time.sleep(0.3)
open(\"ready\", \"w\").close()
{last}",
        exit = libc::SYS_exit
    ))
}

/// Whether no process has the file open: every open descriptor holds its own lock.
fn is_closed_everywhere(file: &Path) -> bool {
    let mut holders = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let fds = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        if fds.into_iter().any(|fd| fs::read_link(fd.path()).is_ok_and(|to| to == file)) {
            holders.push(process.file_name());
        }
    }
    // A lease is refused while another descriptor of the file is open for writing.
    let file = File::open(file).unwrap();
    // SAFETY: no memory is passed.
    let leased = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) } == 0;
    holders.is_empty() && leased
}

fn assert_nothing_is_left(sandbox: &Sandbox, last: &str, end: End) {
    let home = home();
    let file = home.path.join("A/held");
    let mut spec = sh(&home.path.join("A"), &format!("exec {}", clingers(last)));
    spec.limits.wall = Some(Duration::from_secs(if end == End::TimedOut { 3 } else { 60 }));
    spec.limits.file = Some(1 << 30);
    let stop = Stop::new();
    let stopper = stop.clone();
    let over = thread::scope(|scope| {
        if end == End::Stopped {
            scope.spawn(|| {
                let begun = Instant::now();
                while !home.path.join("A/ready").exists() && begun.elapsed() < Duration::from_secs(30) {
                    thread::sleep(Duration::from_millis(5));
                }
                stopper.stop();
            });
        }
        launch_in_sandbox(sandbox, &profile(&home.path), &spec, &stop).unwrap()
    });
    let (closed, first) = (is_closed_everywhere(&file), fs::read(&file).unwrap());
    assert!(closed, "{end:?}: a process has the file open");
    assert_eq!((over.finished.end, over.finished.survivors), (end, Vec::new()), "{:?}", over.finished.stderr);
    assert!(home.path.join("A/ready").exists(), "{end:?}: the processes were not ready");
    assert!(end == End::Stopped || over.facts.left_processes >= 5, "{:?}", over.facts);
    thread::sleep(Duration::from_millis(100));
    assert!(fs::read(&file).unwrap() == first, "{end:?}: the file has changed");
}

// invariant: 4
#[test]
fn no_process_is_left_when_a_launch_returns() {
    assert_nothing_is_left(&sandbox(), "os._exit(3)", End::Exited(3));
    assert_nothing_is_left(&sandbox(), "os.kill(os.getpid(), signal.SIGKILL)", End::Signalled(libc::SIGKILL));
    assert_nothing_is_left(&sandbox().with_helper_pool(), "os._exit(3)", End::Exited(3));
}

// invariant: 4
#[test]
fn no_process_is_left_after_a_timeout_or_a_stop() {
    assert_nothing_is_left(&sandbox(), "write()", End::TimedOut);
    assert_nothing_is_left(&sandbox(), "time.sleep(600)", End::Stopped);
    assert_nothing_is_left(&sandbox().with_helper_pool(), "time.sleep(600)", End::TimedOut);
    assert_nothing_is_left(&sandbox().with_helper_pool(), "write()", End::Stopped);
}

#[test]
fn run_of_all_processes_lasts_until_the_last_one_ends() {
    let home = home();
    let mut spec = sh(&home.path.join("A"), "(sleep 0.3; sleep 0.3; echo end > end) & exit 7");
    spec.lasts = Lasts::AllProcesses;
    let run = |spec: &Spec| launch_in_sandbox(&sandbox(), &profile(&home.path), spec, &Stop::new()).unwrap();
    let over = run(&spec);
    assert_eq!((over.finished.end, over.facts), (End::Exited(7), RunFacts::default()));
    assert_eq!(fs::read_to_string(home.path.join("A/end")).unwrap(), "end\n");
    let mut endless = Spec { lasts: Lasts::AllProcesses, ..sh(&home.path.join("A"), "sleep 600 & exit 0") };
    endless.limits.wall = Some(Duration::from_millis(500));
    assert_eq!(run(&endless).finished.end, End::TimedOut);
}
