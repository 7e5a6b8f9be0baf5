//! Tests of pooled helpers: every program finds the same conditions, and no process outlives its launch.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::runs::sandbox;
use super::setup::{Home, home, profile, sh};
use crate::error::LaunchError;
use crate::isolation::order::Task;
use crate::isolation::{Sandbox, SandboxRun, Tier, launch, launch_in_sandbox, wire};
use crate::spawn::ChildStreams;
use crate::spec::{End, Spec};
use crate::stop::Stop;

fn keeping() -> Sandbox {
    sandbox().with_helper_pool()
}

fn run(sandbox: &Sandbox, home: &Home, script: &str) -> SandboxRun {
    launch_in_sandbox(sandbox, &profile(&home.path), &sh(&home.path.join("A"), script), &Stop::new()).unwrap()
}

fn text(over: &SandboxRun) -> String {
    assert_eq!(over.finished.end, End::Exited(0), "{:?}", over.finished.stderr);
    String::from_utf8(over.finished.stdout.whole().unwrap()).unwrap()
}

/// The pids of the idle helpers.
fn idle_helpers(sandbox: &Sandbox) -> Vec<i32> {
    sandbox.pool.as_ref().unwrap().pids()
}

#[test]
fn pooled_helper_gives_every_program_the_same_conditions() {
    let (sandbox, home) = (keeping(), home());
    let script = "ls -a /tmp; set -- /proc/[0-9]*; echo $#; cat /proc/self/oom_score_adj; ulimit -a; umask; env | sort; \
        ls -l /proc/self/fd | wc -l; cat /proc/net/dev; touch /tmp/left; hostname; sleep 300 & sleep 300 <&- >&- 2>&- &";
    let first = text(&run(&sandbox, &home, script));
    let helper = idle_helpers(&sandbox);
    assert_eq!(helper.len(), 1);
    for _ in 0..3 {
        assert_eq!(text(&run(&sandbox, &home, script)), first);
        assert_eq!(idle_helpers(&sandbox), helper, "another was started");
    }
}

#[test]
fn helper_of_the_probe_serves_the_first_program() {
    let helper = sandbox().helper;
    let (sandbox, home) = (Sandbox::probe_with_helper_pool(helper, Tier::Full).unwrap(), home());
    let helper = idle_helpers(&sandbox);
    assert_eq!(helper.len(), 1);
    text(&run(&sandbox, &home, "true"));
    assert_eq!(idle_helpers(&sandbox), helper, "another was started");
}

#[test]
fn launch_returns_after_leftover_processes_are_gone() {
    let (sandbox, home) = (keeping(), home());
    let beat = home.path.join("A/beat");
    for _ in 0..10 {
        text(&run(
            &sandbox,
            &home,
            "(trap '' TERM HUP; while :; do echo x >> beat; done) & while [ ! -e beat ]; do :; done",
        ));
        let size = fs::metadata(&beat).unwrap().len();
        thread::sleep(Duration::from_millis(20));
        assert_eq!(fs::metadata(&beat).unwrap().len(), size, "it was still written");
        fs::remove_file(&beat).unwrap();
    }
}

/// The processes start others faster than a search could find them.
#[test]
fn launch_returns_after_a_process_storm_is_over() {
    let (sandbox, home) = (keeping(), home());
    let beat = home.path.join("A/beat");
    let script = "s() { while :; do sh -c 'echo x >> beat; sh -c \"echo x >> beat\" &' & done; }; \
        s & s & s & while [ ! -e beat ]; do :; done; sleep 0.1";
    let mut spec = sh(&home.path.join("A"), script);
    spec.limits.processes = Some(100);
    for _ in 0..5 {
        let over = launch_in_sandbox(&sandbox, &profile(&home.path), &spec, &Stop::new()).unwrap();
        assert_eq!(over.finished.end, End::Exited(0));
        let size = fs::metadata(&beat).unwrap().len();
        thread::sleep(Duration::from_millis(30));
        assert_eq!(fs::metadata(&beat).unwrap().len(), size, "it was still written");
        fs::remove_file(&beat).unwrap();
    }
}

#[test]
fn end_helpers_leaves_no_helper_process() {
    let (sandbox, home) = (keeping(), home());
    text(&run(&sandbox, &home, "true"));
    let [helper] = idle_helpers(&sandbox)[..] else { panic!("none waits") };
    sandbox.end_helpers();
    assert_eq!(idle_helpers(&sandbox), []);
    assert!(!Path::new(&format!("/proc/{helper}")).exists());
    assert_eq!(text(&run(&sandbox, &home, "echo on")), "on\n");
}

#[test]
fn concurrent_launches_use_one_helper_each() {
    let (sandbox, home) = (keeping(), home());
    thread::scope(|scope| {
        for n in 0..6 {
            let (sandbox, home) = (&sandbox, &home);
            scope.spawn(move || {
                for i in 0..4 {
                    assert_eq!(
                        text(&run(sandbox, home, &format!("sleep 0.05; echo {n} {i}"))),
                        format!("{n} {i}\n")
                    );
                }
            });
        }
    });
    assert!((1..=4).contains(&idle_helpers(&sandbox).len()));
}

#[test]
fn killed_helper_is_not_used_again() {
    let (sandbox, home) = (keeping(), home());
    text(&run(&sandbox, &home, "true"));
    let [first] = idle_helpers(&sandbox)[..] else { panic!("none waits") };
    let pid = rustix::process::Pid::from_raw(first).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(text(&run(&sandbox, &home, "echo on")), "on\n");
    let second = idle_helpers(&sandbox);
    assert_ne!(second, [first]);

    let spec = Spec {
        limits: crate::Limits { wall: Some(Duration::from_millis(200)), ..Default::default() },
        ..sh(&home.path.join("A"), "(while :; do echo x >> beat; done) & sleep 300")
    };
    let over = launch_in_sandbox(&sandbox, &profile(&home.path), &spec, &Stop::new()).unwrap();
    assert_eq!((over.finished.end, over.finished.survivors), (End::TimedOut, Vec::new()));
    assert_eq!(idle_helpers(&sandbox), []);
    let size = fs::metadata(home.path.join("A/beat")).unwrap().len();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(fs::metadata(home.path.join("A/beat")).unwrap().len(), size, "it goes on");

    let missing =
        launch_in_sandbox(&sandbox, &profile(&home.path), &Spec::new("/no/such", &home.path), &Stop::new());
    assert!(matches!(missing, Err(LaunchError::Hidden(_))), "{missing:?}");
    let moved = profile(&home.path);
    fs::rename(home.path.join("A"), home.path.join("A2")).unwrap();
    let refused = launch_in_sandbox(&sandbox, &moved, &sh(&home.path, "true"), &Stop::new());
    assert!(matches!(refused, Err(LaunchError::Sandbox { .. })), "{refused:?}");
    fs::rename(home.path.join("A2"), home.path.join("A")).unwrap();
    assert_eq!(text(&run(&sandbox, &home, "echo on")), "on\n");
}

#[test]
fn helper_is_not_used_after_a_change_of_user() {
    let sandbox = keeping();
    let pool = sandbox.pool.as_ref().unwrap();
    let mut helper = pool.take(&sandbox.helper).unwrap().unwrap();
    let first = helper.pid;
    helper.as_if_started_by(rustix::process::geteuid().as_raw() + 1);
    pool.put(helper);
    assert_ne!(pool.take(&sandbox.helper).unwrap().unwrap().pid, first);
}

/// For the helper, a killed launcher looks like a closed socket.
#[test]
fn helper_and_its_programs_end_with_the_launcher() {
    let (sandbox, home) = (keeping(), home());
    let beat = home.path.join("A/beat");
    let spec = sh(&home.path.join("A"), "while :; do echo x >> beat; sleep 0.02; done");
    let order = launch::build_order(&sandbox, &profile(&home.path), &spec, Task::Program).unwrap();
    let helper = sandbox.pool.as_ref().unwrap().take(&sandbox.helper).unwrap().unwrap();
    let (_answer, said) = std::io::pipe().unwrap();
    let null = || fs::File::options().read(true).write(true).open("/dev/null").unwrap();
    let ends = ChildStreams::new(null(), null(), null()).unwrap();
    let sealed = launch::seal(&wire::encode(&order)).unwrap();
    helper.send(&sealed, &OwnedFd::from(said), &ends, None).unwrap();
    let started = Instant::now();
    while !beat.exists() {
        assert!(started.elapsed() < Duration::from_secs(20), "it did not start");
        thread::sleep(Duration::from_millis(10));
    }
    drop(helper);
    thread::sleep(Duration::from_millis(200));
    let size = fs::metadata(&beat).unwrap().len();
    thread::sleep(Duration::from_millis(200));
    assert_eq!(fs::metadata(&beat).unwrap().len(), size, "it goes on");
}
