//! Several processes write one audit log. The test binary starts itself again as a writer.

use std::process::{Child, Command, Output, Stdio};

use super::*;

const JOB: &str = "ASKFIRST_LEDGER_JOB";
const PLACE: &str = "ASKFIRST_LEDGER_PLACE";

/// Starts a process that does `job` with the audit log at `path`.
pub(super) fn start(job: &str, path: &Path) -> Child {
    command(Command::new(std::env::current_exe().unwrap()), job, path).spawn().unwrap()
}

fn command(mut command: Command, job: &str, path: &Path) -> Command {
    command
        .args([
            "--exact",
            "--ignored",
            "--nocapture",
            "ledger::tests::processes::child_process_runs_the_job_of_its_test",
        ])
        .env(JOB, job)
        .env(PLACE, path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Returns the output of a process that does `job` as an unprivileged user, or `None` if that is impossible here.
pub(super) fn as_nobody(job: &str, path: &Path) -> Option<String> {
    // Other users may be unable to read the build folder, so the binary is copied.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let binary = folder.path().join("test");
    // Copy in another process. Otherwise a child of another thread could hold the copy open, and it could not be run.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&binary).status().unwrap();
    assert!(copied.success());
    let mut other = Command::new("setpriv");
    other.args(["--reuid=60001", "--regid=60001", "--clear-groups"]).arg(binary);
    let output = command(other, job, path).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.contains("said: ").then_some(text)
}

/// Returns the ids that were confirmed to a process as logged.
pub(super) fn acknowledged(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.split_once("recorded: ").map(|(_, id)| id.to_owned())).collect()
}

#[test]
#[ignore = "started by other tests as a process of its own"]
fn child_process_runs_the_job_of_its_test() {
    let (job, path) = (std::env::var(JOB).unwrap(), PathBuf::from(std::env::var(PLACE).unwrap()));
    let words: Vec<&str> = job.split(' ').collect();
    match words[..] {
        ["open"] => match open_on(Box::new(RealDisk), settings(&path)) {
            Ok(_) => println!("said: opened"),
            Err(e) => println!("said: {e}"),
        },
        ["write", name, count, rotate] => {
            write(&open_small(&path, rotate.parse().unwrap()), name, count.parse().unwrap());
        }
        ["die", name, count, rotate, step, how] => {
            let disk = kill::Dying::new(step.parse().unwrap(), how);
            let settings = LedgerSettings { rotate: rotate.parse().unwrap(), ..with_head(&path) };
            write(&open_on(Box::new(disk), settings).unwrap(), name, count.parse().unwrap());
        }
        _ => panic!("no such job: {job}"),
    }
}

fn write(ledger: &Ledger, name: &str, count: usize) {
    for i in 0..count {
        let id = format!("{name}-{i}");
        let firmly = if i % 2 == 0 { Durability::Synced } else { Durability::Written };
        ledger.append(&executed(&id), firmly).unwrap();
        println!("recorded: {id}");
    }
}

fn four_write(path: &Path, count: usize, rotate: u64) {
    let children: Vec<Child> = (0..4).map(|n| start(&format!("write w{n} {count} {rotate}"), path)).collect();
    let outputs: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    outputs.iter().for_each(|output| assert!(output.status.success(), "{output:?}"));
    let mut expected: Vec<String> =
        (0..4).flat_map(|n| (0..count).map(move |i| format!("w{n}-{i}"))).collect();
    let mut told: Vec<String> = outputs.iter().flat_map(acknowledged).collect();
    let mut found = call_ids(path);
    assert_eq!(faults(path), Vec::<String>::new());
    [&mut expected, &mut told, &mut found].into_iter().for_each(|ids| ids.sort());
    assert_eq!(told, expected);
    assert_eq!(found, expected);
}

#[test]
fn four_processes_write_one_chain() {
    let (_folder, path) = scratch();
    four_write(&path, 200, ROTATE);
    assert_eq!(verify(&path, None).unwrap().entries, 800);
}

#[test]
fn four_processes_write_one_chain_across_many_files() {
    let (_folder, path) = scratch();
    four_write(&path, 100, 2500);
    assert!(verify(&path, None).unwrap().files.len() > 20);
}

#[test]
fn threads_of_one_process_write_one_chain() {
    let (_folder, path) = scratch();
    let ledger = open_small(&path, 4000);
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            let (ledger, path) = (&ledger, &path);
            scope.spawn(move || write(ledger, name, 50));
            scope.spawn(move || write(&open_small(path, 4000), &name.repeat(2), 50));
        }
    });
    assert_eq!((call_ids(&path).len(), faults(&path)), (300, Vec::new()));
}

#[test]
fn reader_never_sees_half_an_entry() {
    let (_folder, path) = scratch();
    let mut child = start("write w 300 2500", &path);
    while child.try_wait().unwrap().is_none() {
        if let Ok(checked) = verify_with_head(&path, None, path.parent().unwrap()) {
            assert_eq!(checked.faults, []);
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(call_ids(&path).len(), 300);
}
