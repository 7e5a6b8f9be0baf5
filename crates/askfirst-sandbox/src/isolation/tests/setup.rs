//! Tests of what happens before the program starts and after it ends: races, swapped folders, links and exits.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::c;
use super::runs::sandbox;
use crate::error::LaunchError;
use crate::isolation::order::Task;
use crate::isolation::{Attempt, Helper, Sandbox, SandboxRun, Tier, launch, launch_in_sandbox};
use crate::profile::{Denial, DeniedPath, Grant, OSProfile};
use crate::spec::{End, Spec};
use crate::stop::Stop;
use crate::unproven::UnprovenSandbox;

pub(super) struct Home {
    _held: tempfile::TempDir,
    pub(super) path: PathBuf,
}

/// Creates a folder with the roots `A` and `B`, and with `OUT` next to them.
pub(super) fn home() -> Home {
    let held = tempfile::tempdir().unwrap();
    let path = held.path().canonicalize().unwrap();
    for name in ["A", "B", "OUT"] {
        fs::create_dir(path.join(name)).unwrap();
    }
    fs::write(path.join("OUT/secret"), "secret").unwrap();
    Home { _held: held, path }
}

pub(super) fn profile(home: &Path) -> OSProfile {
    OSProfile {
        readable: vec![Grant::of(home.join("B")).unwrap()],
        writable: vec![Grant::of(home.join("A")).unwrap()],
        environment: ["PATH", "HOME", "TMPDIR"].map(Into::into).to_vec(),
        ..OSProfile::nothing()
    }
}

pub(super) fn sh(folder: &Path, script: &str) -> Spec {
    let mut spec = Spec::new("sh", folder);
    spec.args = vec!["-c".into(), script.into()];
    spec.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    spec.limits.wall = Some(Duration::from_secs(60));
    spec
}

fn run(profile: &OSProfile, spec: &Spec) -> SandboxRun {
    launch_in_sandbox(&sandbox(), profile, spec, &Stop::new()).unwrap()
}

fn text(over: &SandboxRun) -> String {
    String::from_utf8(over.finished.stdout.whole().unwrap()).unwrap()
}

fn refusal(profile: &OSProfile, spec: &Spec) -> String {
    launch_in_sandbox(&sandbox(), profile, spec, &Stop::new()).unwrap_err().to_string()
}

#[test]
fn root_replaced_by_a_link_is_refused() {
    let home = home();
    let profile = profile(&home.path);
    fs::rename(home.path.join("A"), home.path.join("A2")).unwrap();
    symlink("/", home.path.join("A")).unwrap();
    let said = refusal(&profile, &sh(Path::new("/"), "true"));
    assert!(said.contains("mounting") && said.contains("symbolic links"), "{said}");
}

#[test]
fn swapped_root_is_refused() {
    let home = home();
    let profile = profile(&home.path);
    fs::rename(home.path.join("A"), home.path.join("A2")).unwrap();
    fs::rename(home.path.join("OUT"), home.path.join("A")).unwrap();
    let said = refusal(&profile, &sh(Path::new("/"), "true"));
    assert!(said.contains("it has been replaced since the check"), "{said}");
}

#[test]
fn denied_link_is_refused_and_not_followed() {
    let home = home();
    symlink(home.path.join("OUT/secret"), home.path.join("A/.env")).unwrap();
    let mut profile = profile(&home.path);
    profile.denied = vec![DeniedPath { path: home.path.join("A/.env"), what: Denial::All }];
    assert!(refusal(&profile, &sh(&home.path, "true")).contains("denying"));
    assert_eq!(fs::read_to_string(home.path.join("OUT/secret")).unwrap(), "secret");
}

#[test]
fn denied_path_below_a_link_is_refused() {
    let home = home();
    fs::create_dir(home.path.join("OUT/hooks")).unwrap();
    symlink(home.path.join("OUT"), home.path.join("A/.git")).unwrap();
    let mut profile = profile(&home.path);
    profile.denied = vec![DeniedPath { path: home.path.join("A/.git/hooks"), what: Denial::Write }];
    assert!(refusal(&profile, &sh(&home.path, "true")).contains("denying"));
}

#[test]
fn denied_pipe_cannot_be_written_and_does_not_block() {
    let home = home();
    let pipe = home.path.join("A/hooks");
    // SAFETY: the path is NUL-terminated.
    assert_eq!(unsafe { libc::mkfifo(c(&pipe).as_ptr(), 0o600) }, 0);
    let mut profile = profile(&home.path);
    profile.denied = vec![DeniedPath { path: pipe, what: Denial::Write }];
    let over =
        run(&profile, &sh(&home.path.join("A"), "echo x 1<>hooks || echo held; rm -f hooks || echo held"));
    assert_eq!(text(&over), "held\nheld\n");
}

#[test]
fn root_inside_another_root_keeps_its_own_mode() {
    let home = home();
    for name in ["A/ro", "B/rw"] {
        fs::create_dir(home.path.join(name)).unwrap();
    }
    let mut profile = profile(&home.path);
    profile.readable.push(Grant::of(home.path.join("A/ro")).unwrap());
    profile.writable.push(Grant::of(home.path.join("B/rw")).unwrap());
    let script = "for f in A/x A/ro/x B/x B/rw/x; do touch $f 2>/dev/null && echo $f; done; mv A/ro A/y 2>&1 | grep -c busy";
    assert_eq!(text(&run(&profile, &sh(&home.path, script))), "A/x\nB/rw/x\n1\n");
}

#[test]
fn no_write_escapes_while_roots_are_swapped_for_links() {
    let home = home();
    let base = home.path.clone();
    symlink(base.join("OUT"), base.join("link")).unwrap();
    let profile = profile(&base);
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (a, b) = (c(base.join("A")), c(base.join("link")));
            while !over.load(Ordering::Relaxed) {
                // SAFETY: both paths are NUL-terminated.
                unsafe {
                    libc::renameat2(
                        libc::AT_FDCWD,
                        a.as_ptr(),
                        libc::AT_FDCWD,
                        b.as_ptr(),
                        libc::RENAME_EXCHANGE,
                    )
                };
            }
        });
        let (mut ran, mut held) = (0, 0);
        for _ in 0..60 {
            let spec = sh(Path::new("/"), &format!("touch {}/A/new", base.display()));
            match launch_in_sandbox(&sandbox(), &profile, &spec, &Stop::new()) {
                Ok(_) => ran += 1,
                Err(LaunchError::Sandbox { .. }) => held += 1,
                Err(other) => panic!("{other}"),
            }
            assert!(!base.join("OUT/new").exists());
        }
        over.store(true, Ordering::Relaxed);
        println!("{ran} ran, {held} were refused");
    });
}

#[test]
fn crashed_program_leaves_no_core_dump() {
    let home = home();
    let script = "cat /proc/self/coredump_filter; python3 -c '
import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print(*resource.getrlimit(resource.RLIMIT_CORE))'";
    let over = run(&profile(&home.path), &sh(&home.path, script));
    let mut had = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure lives.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_CORE, &mut had) }, 0);
    // A lower inherited limit cannot be raised.
    let least = had.rlim_max.min(1);
    assert_eq!(text(&over), format!("00000000\n{least} {least}\n"));
}

#[test]
fn exit_status_and_missing_program_are_reported() {
    let home = home();
    let profile = profile(&home.path);
    assert_eq!(run(&profile, &sh(&home.path, "exit 7")).finished.end, End::Exited(7));
    assert_eq!(run(&profile, &sh(&home.path, "kill -TERM $$")).finished.end, End::Signalled(libc::SIGTERM));
    let missing = Spec::new("/usr/bin/there-is-no-such-program", "/");
    let error = refusal(&profile, &missing);
    assert_eq!(error, "program `/usr/bin/there-is-no-such-program` does not exist inside the sandbox");
    let hidden = home.path.join("OUT/program");
    fs::copy("/bin/true", &hidden).unwrap();
    assert!(refusal(&profile, &Spec::new(&hidden, "/")).ends_with("does not exist inside the sandbox"));
}

#[test]
fn program_that_requests_tracing_runs_to_its_end() {
    let home = home();
    let script = "exec python3 -c '
import ctypes, os, signal
signal.signal(signal.SIGUSR1, lambda *_: print(\"told\", flush=True))
trace = ctypes.CDLL(None).ptrace
for _ in range(2):
    assert trace(0, 0, 0, 0) == 0
    os.kill(os.getpid(), signal.SIGUSR1)
trace(0, 0, 0, 0)
os.execv(\"/bin/sh\", [\"sh\", \"-c\", \"echo started; exit 7\"])'";
    let over = run(&profile(&home.path), &sh(&home.path, script));
    assert_eq!((text(&over).as_str(), over.finished.end), ("told\ntold\nstarted\n", End::Exited(7)));
}

#[test]
fn program_changes_its_own_priority_but_not_that_of_pid_1() {
    let home = home();
    let script = "python3 -c '
import os, subprocess
set = lambda *a: os.setpriority(*a)
idle = os.sched_param(0)
child = subprocess.Popen([\"sleep\", \"60\"])
for pid in (0, child.pid, 1):
    for name, do in {
        \"nice\": lambda: set(os.PRIO_PROCESS, pid, 19),
        \"group\": lambda: set(os.PRIO_PGRP, 0, 19),
        \"user\": lambda: set(os.PRIO_USER, pid, 19),
        \"pin\": lambda: os.sched_setaffinity(pid, os.sched_getaffinity(0)),
        \"batch\": lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, idle),
        \"same\": lambda: os.sched_setparam(pid, idle),
        \"disk\": lambda: subprocess.run([\"ionice\", \"-c3\", \"-p\", str(pid or os.getpid())], check=True, stderr=-3),
    }.items():
        try: do()
        except (PermissionError, subprocess.CalledProcessError): print(name, \"child\" if pid > 1 else pid)
child.kill()'";
    let over = run(&profile(&home.path), &sh(&home.path, script));
    let held = "user 0\nuser child\nnice 1\nuser 1\npin 1\nbatch 1\nsame 1\ndisk 1\n";
    assert_eq!(text(&over), held, "{:?}", over.finished.stderr);
}

#[test]
fn timeout_and_stop_kill_the_whole_tree() {
    let home = home();
    let script = "(setsid sh -c 'while :; do echo x >> beat; sleep 0.02; done' &) ; sleep 600";
    for stopped in [false, true] {
        let mut spec = sh(&home.path.join("A"), script);
        spec.limits.wall = Some(Duration::from_millis(if stopped { 60_000 } else { 400 }));
        let stop = Stop::new();
        let other = stop.clone();
        let over = thread::scope(|scope| {
            if stopped {
                scope.spawn(move || {
                    thread::sleep(Duration::from_millis(400));
                    other.stop();
                });
            }
            launch_in_sandbox(&sandbox(), &profile(&home.path), &spec, &stop).unwrap()
        });
        assert_eq!(over.finished.end, if stopped { End::Stopped } else { End::TimedOut });
        assert_eq!(over.finished.survivors, [0; 0]);
        assert!(heartbeat(&home.path.join("A/beat")) == Heartbeat::Stopped);
    }
}

#[derive(PartialEq, Eq)]
enum Heartbeat {
    Running,
    Stopped,
}

/// Whether a file keeps growing.
fn heartbeat(file: &Path) -> Heartbeat {
    let size = || fs::metadata(file).map(|found| found.len()).unwrap_or(0);
    let first = size();
    thread::sleep(Duration::from_millis(300));
    if size() == first { Heartbeat::Stopped } else { Heartbeat::Running }
}

#[test]
fn end_of_the_helper_ends_the_program() {
    let home = home();
    let beat = home.path.join("A/beat");
    let spec = sh(&home.path.join("A"), "while :; do echo x >> beat; sleep 0.02; done");
    let sandbox = sandbox();
    let mut order = launch::build_order(&sandbox, &profile(&home.path), &spec, Task::Program).unwrap();
    // If nothing else ends the program, this limit does.
    order.profile.limits.file = Some(4 << 10);
    let (read, write) = std::io::pipe().unwrap();
    let ready = launch::start_only(&sandbox, order, &write).unwrap();
    let started = Instant::now();
    while !beat.exists() && started.elapsed() < Duration::from_secs(20) {
        thread::sleep(Duration::from_millis(10));
    }
    rustix::process::kill_process(ready, rustix::process::Signal::KILL).unwrap();
    rustix::process::waitpid(Some(ready), rustix::process::WaitOptions::empty()).unwrap();
    thread::sleep(Duration::from_millis(100));
    drop(read);
    assert!(heartbeat(&beat) == Heartbeat::Stopped);
}

#[test]
fn refused_calls_are_reported_as_violations() {
    let home = home();
    let script = "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'; unshare -Ur true; true";
    let over = run(&profile(&home.path), &sh(&home.path, script));
    let attempts: Vec<_> =
        over.violations.iter().map(|violation| (violation.attempt, violation.program.as_str())).collect();
    assert_eq!(attempts, [(Attempt::Socket(libc::AF_UNIX), "python3"), (Attempt::Namespace, "unshare")]);
    assert_eq!(
        over.violations[0].to_string(),
        "`python3` tried to open a unix socket, which could reach other programs"
    );
}

#[test]
fn connection_attempts_to_the_outside_are_reported() {
    let home = home();
    let script =
        "for to in 192.0.2.1 192.0.2.2; do bash -c \"echo > /dev/tcp/$to/80\"; done 2>/dev/null; true";
    let over = run(&profile(&home.path), &sh(&home.path, script));
    let reports: Vec<_> = over.violations.iter().map(ToString::to_string).collect();
    assert_eq!(reports, ["the sandbox blocked 2 attempts to reach an outside address"]);
    let over =
        run(&profile(&home.path), &sh(&home.path, "bash -c 'echo > /dev/tcp/127.0.0.1/9' 2>/dev/null; true"));
    assert!(over.violations.is_empty(), "{:?}", over.violations);
}

#[test]
fn working_folder_that_is_not_granted_is_empty() {
    let home = home();
    let over = run(&profile(&home.path), &sh(&home.path.join("OUT"), "pwd; ls -A; touch x || echo held"));
    assert!(text(&over).ends_with("/OUT\nheld\n") || text(&over).ends_with("/OUT\n"), "{}", text(&over));
    assert!(!home.path.join("OUT/x").exists());
}

#[test]
fn unsealed_order_is_refused() {
    use std::os::unix::process::CommandExt;
    let mut command = std::process::Command::new(super::runs::program());
    command.arg0(crate::isolation::helper::NAME);
    let (mut reader, writer) = std::io::pipe().unwrap();
    let order = fs::File::open("/dev/null").unwrap();
    // SAFETY: the closure only makes system calls.
    unsafe {
        command.pre_exec(move || {
            use std::os::fd::AsRawFd;
            let (order, writer) = (libc::dup(order.as_raw_fd()), libc::dup(writer.as_raw_fd()));
            libc::dup2(order, 3);
            libc::dup2(writer, 4);
            Ok(())
        });
    }
    assert_eq!(command.status().unwrap().code(), Some(125));
    drop(command);
    let mut message = Vec::new();
    std::io::Read::read_to_end(&mut reader, &mut message).unwrap();
    assert!(String::from_utf8_lossy(&message).contains("reading the order"));
}

#[test]
fn content_only_tier_protects_file_contents() {
    use crate::isolation::order::Backend;
    let home = home();
    for name in ["A/.env", "B/file", "A/sub/file"] {
        fs::create_dir_all(home.path.join(name).parent().unwrap()).unwrap();
        fs::write(home.path.join(name), "text").unwrap();
    }
    let mut profile = profile(&home.path);
    profile.denied = vec![DeniedPath { path: home.path.join("A/.env"), what: Denial::All }];
    let script = "cat A/sub/file B/file; echo x > A/sub/new && echo wrote; \
                  for f in OUT/secret A/.env; do cat $f 2>/dev/null; done; \
                  for f in B/new OUT/new A/.env A/new; do echo x > $f; done 2>/dev/null; \
                  python3 -c 'import socket; socket.socket()' 2>/dev/null || echo no network";
    let mut weaker = sandbox();
    weaker.backend = Backend::ContentOnly;
    let over = launch_in_sandbox(&weaker, &profile, &sh(&home.path, script), &Stop::new()).unwrap();
    assert_eq!(text(&over), "texttextwrote\nno network\n");
    assert_eq!(fs::read_to_string(home.path.join("A/.env")).unwrap(), "text");
    for name in ["B/new", "OUT/new", "A/new"] {
        assert!(!home.path.join(name).exists(), "{name}");
    }
    assert!(over.violations.iter().any(|violation| violation.attempt == Attempt::Socket(libc::AF_INET)));
}

#[test]
fn everyday_commands_work_with_bubblewrap() {
    let Some(second) = super::runs::bubblewrap_sandbox() else {
        return super::skip("everyday_commands_work_with_bubblewrap", "no bubblewrap 0.12 or newer");
    };
    let home = home();
    for name in ["A/.env", "A/.git/hooks/x", "B/file", "A/sub/file"] {
        fs::create_dir_all(home.path.join(name).parent().unwrap()).unwrap();
        fs::write(home.path.join(name), "text").unwrap();
    }
    let mut profile = profile(&home.path);
    profile.denied = vec![
        DeniedPath { path: home.path.join("A/.env"), what: Denial::All },
        DeniedPath { path: home.path.join("A/.git/hooks"), what: Denial::Write },
    ];
    let script = "cat A/sub/file B/file A/.git/hooks/x; echo x > A/new && cat A/new; echo y > /tmp/y && cat /tmp/y; \
                  for f in OUT/secret A/.env; do cat $f; done; mv A/.git A/moved; \
                  for f in B/new OUT/new A/.env A/.git/hooks/new /usr/new; do echo x > $f; done; \
                  bash -c 'echo > /dev/tcp/192.0.2.1/80'; unshare -Ur true; exit 7";
    let over = launch_in_sandbox(&second, &profile, &sh(&home.path, script), &Stop::new()).unwrap();
    assert_eq!((text(&over).as_str(), over.finished.end), ("texttexttextx\ny\n", End::Exited(7)));
    let attempts: Vec<_> = over.violations.iter().map(|violation| violation.attempt).collect();
    assert_eq!(attempts, [Attempt::Namespace, Attempt::Outside(1)]);
    assert_eq!(fs::read_to_string(home.path.join("A/.env")).unwrap(), "text");
    for name in ["B/new", "OUT/new", "A/.git/hooks/new", "A/moved"] {
        assert!(!home.path.join(name).exists(), "{name}");
    }
}

#[test]
fn first_program_tests_its_own_sandbox() {
    let home = home();
    let sandbox = UnprovenSandbox::new(Helper::own().unwrap(), Tier::Full);
    let mut starts = 0;
    let mut start = |folder: &str, profile: &OSProfile| {
        sandbox.run(|sandbox| {
            starts += 1;
            launch_in_sandbox(sandbox, profile, &sh(&home.path.join(folder), "echo x >> ran"), &Stop::new())
        })
    };
    let swapped = OSProfile {
        writable: vec![Grant { path: home.path.join("A"), ..Grant::of(home.path.join("B")).unwrap() }],
        ..OSProfile::nothing()
    };
    let refused = start("A", &swapped).unwrap_err().to_string();
    assert!(refused.contains("it has been replaced since the check"), "{refused}");
    for _ in 0..2 {
        assert_eq!(start("A", &profile(&home.path)).unwrap().finished.end, End::Exited(0));
    }
    assert_eq!((starts, fs::read_to_string(home.path.join("A/ran")).unwrap().as_str()), (3, "x\nx\n"));
    assert!(sandbox.proven().is_some_and(|sandbox| sandbox.rejected_backends().is_empty()));
}

#[test]
fn helper_started_early_runs_the_programs() {
    let home = home();
    let sandbox = UnprovenSandbox::new(Helper::own().unwrap(), Tier::Full);
    sandbox.start_helper();
    let run = |script: &str| {
        let start = |sandbox: &Sandbox| {
            launch_in_sandbox(sandbox, &profile(&home.path), &sh(&home.path.join("A"), script), &Stop::new())
        };
        sandbox.run(start).unwrap()
    };
    let idle = || sandbox.proven().unwrap().pool.as_ref().unwrap().pids();
    assert_eq!(text(&run("echo one")), "one\n");
    let [first] = idle()[..] else { panic!("no helper waits") };
    assert_eq!(text(&run("echo two")), "two\n");
    assert_eq!(idle(), [first]);
    sandbox.proven().unwrap().end_helpers();
    assert_eq!(text(&run("echo three")), "three\n");
    assert_eq!(idle(), [0; 0], "a helper was kept that no one asked for");
}
