//! A helper that takes one order after another: each program finds what the first found, and none outlives its launch.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::runs::walls;
use super::setup::{Home, home, profile, sh};
use crate::error::LaunchError;
use crate::spawn::Ends;
use crate::spec::{End, Spec};
use crate::stop::Stop;
use crate::walls::order::Inside;
use crate::walls::{Behind, Tier, Walls, behind, launch_behind, wire};

fn keeping() -> Walls {
    walls().keeping_helpers()
}

fn run(walls: &Walls, home: &Home, script: &str) -> Behind {
    launch_behind(walls, &profile(&home.path), &sh(&home.path.join("A"), script), &Stop::new()).unwrap()
}

fn text(over: &Behind) -> String {
    assert_eq!(over.finished.end, End::Exited(0), "{:?}", over.finished.stderr);
    String::from_utf8(over.finished.stdout.whole().unwrap()).unwrap()
}

/// The processes that wait.
fn waiting(walls: &Walls) -> Vec<i32> {
    walls.pool.as_ref().unwrap().pids()
}

#[test]
fn one_helper_serves_several_and_each_finds_what_the_first_found() {
    let (walls, home) = (keeping(), home());
    let script = "ls -a /tmp; set -- /proc/[0-9]*; echo $#; cat /proc/self/oom_score_adj; ulimit -a; umask; env | sort; \
        ls -l /proc/self/fd | wc -l; cat /proc/net/dev; touch /tmp/left; hostname; sleep 300 & sleep 300 <&- >&- 2>&- &";
    let first = text(&run(&walls, &home, script));
    let helper = waiting(&walls);
    assert_eq!(helper.len(), 1);
    for _ in 0..3 {
        assert_eq!(text(&run(&walls, &home, script)), first);
        assert_eq!(waiting(&walls), helper, "another was started");
    }
}

#[test]
fn the_helper_of_the_try_serves_the_first_program() {
    let helper = walls().helper;
    let (walls, home) = (Walls::probe_keeping(helper, Tier::Full).unwrap(), home());
    let helper = waiting(&walls);
    assert_eq!(helper.len(), 1);
    text(&run(&walls, &home, "true"));
    assert_eq!(waiting(&walls), helper, "another was started");
}

#[test]
fn what_a_program_left_is_gone_when_its_end_is_told() {
    let (walls, home) = (keeping(), home());
    let beat = home.path.join("A/beat");
    for _ in 0..10 {
        text(&run(
            &walls,
            &home,
            "(trap '' TERM HUP; while :; do echo x >> beat; done) & while [ ! -e beat ]; do :; done",
        ));
        let size = fs::metadata(&beat).unwrap().len();
        thread::sleep(Duration::from_millis(20));
        assert_eq!(fs::metadata(&beat).unwrap().len(), size, "it was still written");
        fs::remove_file(&beat).unwrap();
    }
}

/// Those that start others faster than anybody could look for them, too.
#[test]
fn a_storm_of_processes_is_over_when_its_end_is_told() {
    let (walls, home) = (keeping(), home());
    let beat = home.path.join("A/beat");
    let script = "s() { while :; do sh -c 'echo x >> beat; sh -c \"echo x >> beat\" &' & done; }; \
        s & s & s & while [ ! -e beat ]; do :; done; sleep 0.1";
    let mut spec = sh(&home.path.join("A"), script);
    spec.limits.processes = Some(100);
    for _ in 0..5 {
        let over = launch_behind(&walls, &profile(&home.path), &spec, &Stop::new()).unwrap();
        assert_eq!(over.finished.end, End::Exited(0));
        let size = fs::metadata(&beat).unwrap().len();
        thread::sleep(Duration::from_millis(30));
        assert_eq!(fs::metadata(&beat).unwrap().len(), size, "it was still written");
        fs::remove_file(&beat).unwrap();
    }
}

#[test]
fn at_the_end_no_helper_is_left_and_none_to_be_collected() {
    let (walls, home) = (keeping(), home());
    text(&run(&walls, &home, "true"));
    let [helper] = waiting(&walls)[..] else { panic!("none waits") };
    walls.end_helpers();
    assert_eq!(waiting(&walls), []);
    assert!(!Path::new(&format!("/proc/{helper}")).exists());
    assert_eq!(text(&run(&walls, &home, "echo on")), "on\n");
}

#[test]
fn several_at_once_have_a_helper_each() {
    let (walls, home) = (keeping(), home());
    thread::scope(|scope| {
        for n in 0..6 {
            let (walls, home) = (&walls, &home);
            scope.spawn(move || {
                for i in 0..4 {
                    assert_eq!(
                        text(&run(walls, home, &format!("sleep 0.05; echo {n} {i}"))),
                        format!("{n} {i}\n")
                    );
                }
            });
        }
    });
    assert!((1..=4).contains(&waiting(&walls).len()));
}

#[test]
fn one_that_was_killed_or_had_to_be_is_not_used_again() {
    let (walls, home) = (keeping(), home());
    text(&run(&walls, &home, "true"));
    let [first] = waiting(&walls)[..] else { panic!("none waits") };
    let pid = rustix::process::Pid::from_raw(first).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(text(&run(&walls, &home, "echo on")), "on\n");
    let second = waiting(&walls);
    assert_ne!(second, [first]);

    let spec = Spec {
        limits: crate::Limits { wall: Some(Duration::from_millis(200)), ..Default::default() },
        ..sh(&home.path.join("A"), "(while :; do echo x >> beat; done) & sleep 300")
    };
    let over = launch_behind(&walls, &profile(&home.path), &spec, &Stop::new()).unwrap();
    assert_eq!((over.finished.end, over.finished.survivors), (End::TimedOut, Vec::new()));
    assert_eq!(waiting(&walls), []);
    let size = fs::metadata(home.path.join("A/beat")).unwrap().len();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(fs::metadata(home.path.join("A/beat")).unwrap().len(), size, "it goes on");

    let missing =
        launch_behind(&walls, &profile(&home.path), &Spec::new("/no/such", &home.path), &Stop::new());
    assert!(matches!(missing, Err(LaunchError::Hidden(_))), "{missing:?}");
    let moved = profile(&home.path);
    fs::rename(home.path.join("A"), home.path.join("A2")).unwrap();
    let refused = launch_behind(&walls, &moved, &sh(&home.path, "true"), &Stop::new());
    assert!(matches!(refused, Err(LaunchError::Walls { .. })), "{refused:?}");
    fs::rename(home.path.join("A2"), home.path.join("A")).unwrap();
    assert_eq!(text(&run(&walls, &home, "echo on")), "on\n");
}

#[test]
fn whoever_runs_as_somebody_else_by_now_gets_a_new_one() {
    let walls = keeping();
    let pool = walls.pool.as_ref().unwrap();
    let mut helper = pool.take(&walls.helper).unwrap();
    let first = helper.pid;
    helper.as_if_started_by(rustix::process::geteuid().as_raw() + 1);
    pool.put(helper);
    assert_ne!(pool.take(&walls.helper).unwrap().pid, first);
}

/// What the helper sees of a launcher that is killed is that the socket is closed.
#[test]
fn without_its_launcher_a_helper_ends_and_all_that_it_started() {
    let (walls, home) = (keeping(), home());
    let beat = home.path.join("A/beat");
    let spec = sh(&home.path.join("A"), "while :; do echo x >> beat; sleep 0.02; done");
    let order = behind::order(&walls, &profile(&home.path), &spec, Inside::Program).unwrap();
    let helper = walls.pool.as_ref().unwrap().take(&walls.helper).unwrap();
    let (_answer, said) = std::io::pipe().unwrap();
    let null = || fs::File::options().read(true).write(true).open("/dev/null").unwrap();
    let ends = Ends::new(null(), null(), null()).unwrap();
    let sealed = behind::seal(&wire::encode(&order)).unwrap();
    helper.hand(&sealed, &OwnedFd::from(said), &ends).unwrap();
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
