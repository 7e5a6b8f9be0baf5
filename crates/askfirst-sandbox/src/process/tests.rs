//! Tests that `/proc` is parsed correctly, also for process names that imitate other fields.

use super::*;

#[test]
fn process_name_with_parenthesis_cannot_forge_fields() {
    let tail = "S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 12345 1 1";
    let line = format!("42 (evil) R 1 1 1\n) {tail}\n");
    let process = Process::parse(42, line.as_bytes()).unwrap();
    let want = Process { pid: 42, parent: 7, session: 9, started: 12345, state: ProcessState::Alive };
    assert_eq!(process, want);
}

#[test]
fn ended_and_kernel_processes_are_distinguished() {
    let state = |state: &str, flags: u64, threads: u64| {
        let line = format!("1 (x) {state} 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 {threads} 0 5 0");
        Process::parse(1, line.as_bytes()).unwrap().state
    };
    assert_eq!(state("Z", 4, 1), ProcessState::Ended);
    assert_eq!(state("Z", 4, 2), ProcessState::Headless);
    assert_eq!(state("T", 4, 1), ProcessState::Alive);
    assert_eq!(state("I", 0x0020_8040, 1), ProcessState::Kernel);
}

#[test]
fn malformed_stat_line_is_no_process() {
    for text in ["", "1", "1 (a", "1 (a) R", "1 (a) R x y z", ")"] {
        assert_eq!(Process::parse(1, text.as_bytes()), None, "{text}");
    }
}

#[test]
fn own_process_is_listed_with_its_parent() {
    let own = i32::try_from(std::process::id()).unwrap();
    let process = Process::read(own).unwrap();
    assert_eq!(process.parent, i32::try_from(std::os::unix::process::parent_id()).unwrap());
    assert_eq!(process.state, ProcessState::Alive);
    assert!(process.belongs_to_this_user());
    assert!(pids().unwrap().any(|pid| pid == own));
}

#[test]
fn task_count_includes_threads() {
    let own = std::fs::read_dir("/proc/self/task").unwrap().count() as u64;
    assert!(own >= 2, "the test and its runner");
    assert!(tasks_of_user().unwrap() >= own);
}
