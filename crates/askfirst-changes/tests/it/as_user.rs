//! The same as an ordinary user, whom permissions stop.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::{Project, equivalence};

/// Runs a job in this test program as an ordinary user, or returns `None` if only root could become one.
fn as_nobody(job: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        run_job(job);
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("test");
    // Copied by another process: a child of another thread could hold the copy open, and it could not be run.
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    let output = Command::new("setpriv")
        .args(["--reuid=60001", "--regid=60001", "--clear-groups"])
        .arg(&program)
        .args(["--exact", "--ignored", "--nocapture", "as_user::does_what_another_test_tells_it"])
        .env("ASKFIRST_CHANGES_JOB", job)
        .env("TMPDIR", "/tmp")
        .current_dir("/")
        .output()
        .unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("said: done"), "{text}");
    Some(text)
}

#[test]
#[ignore = "started by other tests as a process of its own"]
fn does_what_another_test_tells_it() {
    run_job(&std::env::var("ASKFIRST_CHANGES_JOB").unwrap());
    println!("said: done");
}

fn run_job(job: &str) {
    match job {
        "commands" => equivalence::check_some(0, 4),
        "others" => equivalence::check_some(2, 4),
        "protected" => protected_folders(),
        "unreadable" => unreadable_file(),
        _ => panic!("no such job: {job}"),
    }
}

#[test]
fn commands_of_an_ordinary_user_leave_the_same_tree_1() {
    as_nobody("commands");
}

#[test]
fn commands_of_an_ordinary_user_leave_the_same_tree_2() {
    as_nobody("others");
}

/// Folders without write permission, in each way in which a command can touch them.
fn protected_folders() {
    let project = Project::new(
        "mkdir -p shut/in gone/in open; echo a > shut/a; echo b > shut/in/b; echo g > gone/in/g; chmod 555 shut gone gone/in",
    );
    let before = project.tree();
    let summary = project.run(
        "chmod 755 shut; echo n > shut/n; echo more >> shut/a; chmod 555 shut; chmod -R u+w gone; rm -rf gone;
         mkdir new; echo x > new/x; chmod 555 new; chmod 555 open",
    );
    let after = project.tree();
    assert_eq!(after[std::path::Path::new("shut")].1, 0o555);
    assert_eq!(after[std::path::Path::new("new")].1, 0o555);
    project.undo(&summary.id);
    super::assert_same("undo", &project.tree(), &before);
    project.store().redo(&summary.id, project.open_root()).unwrap();
    super::assert_same("redo", &project.tree(), &after);
    project.direct("chmod -R u+w .");
}

#[test]
fn protected_folders_of_an_ordinary_user_are_committed() {
    as_nobody("protected");
}

fn unreadable_file() {
    let project = Project::new("echo a > a; chmod 000 a; echo b > b");
    let expected = ["Removed a Unreadable", "Added n Unreadable"];
    assert_eq!(project.effects("rm -f a; echo n > n; chmod 000 n"), expected);
    // The content of such a folder is unknown, so nothing may take its place.
    let project = Project::new("mkdir d; echo 1 > d/1; chmod 300 d");
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, "echo 2 > d/2");
    let limits = askfirst_changes::CollectLimits::default();
    let error = askfirst_changes::collect(project.open_root(), pending.upper(), &limits).unwrap_err();
    assert_eq!(error.to_string(), "cannot commit `d`: the folder cannot be read");
}

#[test]
fn unreadable_file_of_an_ordinary_user_is_special() {
    as_nobody("unreadable");
}
