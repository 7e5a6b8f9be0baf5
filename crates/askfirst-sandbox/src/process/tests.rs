//! `/proc` is read right, also for names made to mislead.

use super::*;

#[test]
fn a_name_cannot_forge_fields() {
    let tail = "S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 12345 1 1";
    let line = format!("42 (evil) R 1 1 1\n) {tail}\n");
    let process = Process::parse(42, line.as_bytes()).unwrap();
    let want = Process { pid: 42, parent: 7, session: 9, started: 12345, kind: Kind::Alive };
    assert_eq!(process, want);
}

#[test]
fn ended_and_kernel_processes_are_told_apart() {
    let kind = |state: &str, flags: u64, threads: u64| {
        let line = format!("1 (x) {state} 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 {threads} 0 5 0");
        Process::parse(1, line.as_bytes()).unwrap().kind
    };
    assert_eq!(kind("Z", 4, 1), Kind::Ended);
    assert_eq!(kind("Z", 4, 2), Kind::Headless);
    assert_eq!(kind("T", 4, 1), Kind::Alive);
    assert_eq!(kind("I", 0x0020_8040, 1), Kind::Kernel);
}

#[test]
fn nonsense_is_no_process() {
    for text in ["", "1", "1 (a", "1 (a) R", "1 (a) R x y z", ")"] {
        assert_eq!(Process::parse(1, text.as_bytes()), None, "{text}");
    }
}

#[test]
fn this_process_is_seen() {
    let own = i32::try_from(std::process::id()).unwrap();
    let process = Process::read(own).unwrap();
    assert_eq!(process.parent, i32::try_from(std::os::unix::process::parent_id()).unwrap());
    assert_eq!(process.kind, Kind::Alive);
    assert!(process.is_of_this_user());
    assert!(pids().unwrap().any(|pid| pid == own));
}

#[test]
fn threads_of_the_user_are_counted() {
    let own = std::fs::read_dir("/proc/self/task").unwrap().count() as u64;
    assert!(own >= 2, "the test and its runner");
    assert!(tasks_of_user().unwrap() >= own);
}
