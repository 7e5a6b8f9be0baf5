//! Tests which processes count as part of a launch.

use std::process::{Child, Command};

use super::*;

fn process(pid: i32, parent: i32) -> Process {
    let line = format!("{pid} (x) S {parent} 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0");
    Process::parse(pid, line.as_bytes()).unwrap()
}

fn sleeper(mark: &str) -> Child {
    Command::new("sleep").arg("3600").env("ASKFIRST_LAUNCH", mark).spawn().unwrap()
}

#[test]
fn descendants_of_all_generations_are_found() {
    let others = [(30, 20), (9, 1), (40, 30), (20, 10), (41, 9), (50, 2)];
    let others = others.into_iter().map(|(pid, parent)| process(pid, parent)).collect();
    let mut found: Vec<i32> =
        descendants(&[process(10, 1), process(2, 1)], others).iter().map(|one| one.pid).collect();
    found.sort_unstable();
    assert_eq!(found, [20, 30, 40, 50]);
}

#[test]
fn marked_process_counts_only_if_younger_than_program() {
    let marker = Marker::fresh().unwrap();
    let mut child = sleeper(marker.value());
    let process = Process::read(i32::try_from(child.id()).unwrap()).unwrap();
    let mut search = Search { leader: 0, since: process.started, marker: &marker, known: HashSet::new() };
    let before = matches!(search.relation(&process, PidHold::Held, &mut 10_000), Relation::Ours);
    search.since += 1;
    let after = matches!(search.relation(&process, PidHold::Held, &mut 10_000), Relation::Other);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(before && after);
}

#[test]
fn session_member_counts_only_while_pid_is_held() {
    let marker = Marker::fresh().unwrap();
    let mut child = sleeper("");
    let process = Process::read(i32::try_from(child.id()).unwrap()).unwrap();
    let search = Search { leader: process.session, since: 0, marker: &marker, known: HashSet::new() };
    let held = matches!(search.relation(&process, PidHold::Held, &mut 10_000), Relation::Ours);
    let lost = matches!(search.relation(&process, PidHold::Lost, &mut 10_000), Relation::Other);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(held && lost);
}

#[test]
fn own_process_never_counts() {
    let marker = Marker::fresh().unwrap();
    let own = Process::read(i32::try_from(std::process::id()).unwrap()).unwrap();
    let search = Search { leader: own.session, since: 0, marker: &marker, known: HashSet::from([own.id()]) };
    assert!(matches!(search.relation(&own, PidHold::Held, &mut 10_000), Relation::Other));
}

#[test]
fn ended_process_counts_as_gone() {
    let marker = Marker::fresh().unwrap();
    let mut child = sleeper(marker.value());
    let pid = i32::try_from(child.id()).unwrap();
    let search = Search { leader: 0, since: 0, marker: &marker, known: HashSet::new() };
    let running = Process::read(pid).unwrap();
    running.signal(Signal::KILL);
    rustix::process::waitid(
        rustix::process::WaitId::Pid(rustix::process::Pid::from_raw(pid).unwrap()),
        rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
    )
    .unwrap();
    let ended = Process::read(pid).unwrap();
    assert_eq!(ended.state, ProcessState::Ended);
    assert!(matches!(search.relation(&ended, PidHold::Held, &mut 10_000), Relation::Gone));
    child.wait().unwrap();
}
