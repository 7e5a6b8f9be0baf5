//! Rehearsed commands as users meet them: the audit log of killed sessions, and `undo`.

use std::fs;
use std::path::PathBuf;

use crate::commands::Place;

const CONFIG: &str = "
version: 1
sandbox:
  paths:
    work: { root: ./work, mode: rw, approval: { read: none, write: none } }
shell:
  default: { approval: rehearse }
ledger: { path: ./record.jsonl }
";

/// Creates a project in which one command has changed a file.
fn place() -> Place {
    let place = Place::new(CONFIG);
    fs::create_dir(place.path().join("work")).unwrap();
    fs::write(place.path().join("work/b"), "old\n").unwrap();
    call(&place, "echo new > b");
    assert_eq!(fs::read_to_string(place.path().join("work/b")).unwrap(), "new\n");
    place
}

fn call(place: &Place, command: &str) {
    let args = serde_json::json!({"command": command, "cwd": "work"}).to_string();
    let (code, out, err) = place.run(&["call", "--config", "c.yaml", "--strict", "shell", "--args", &args]);
    assert_eq!(code, 0, "{out}{err}");
}

fn the_commit(place: &Place) -> PathBuf {
    let commits = fs::read_dir(place.path().join("state/askfirst/changes/commits")).unwrap();
    commits.map(|entry| entry.unwrap().path()).next().unwrap()
}

// invariant: 8
#[test]
fn undo_that_cannot_be_logged_does_not_happen() {
    let place = place();
    let log = place.path().join("record.jsonl");
    fs::rename(&log, place.path().join("kept")).unwrap();
    fs::create_dir(&log).unwrap();
    let (code, out, err) = place.run(&["undo", "--config", "c.yaml"]);
    assert!(code != 0 && !out.contains("undone"), "{out}{err}");
    assert_eq!(fs::read_to_string(place.path().join("work/b")).unwrap(), "new\n");
    fs::remove_dir(&log).unwrap();
    fs::rename(place.path().join("kept"), &log).unwrap();
    let (code, out, err) = place.run(&["undo", "--config", "c.yaml"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(fs::read_to_string(place.path().join("work/b")).unwrap(), "old\n");
    assert_eq!(fs::read_to_string(log).unwrap().matches("\"kind\":\"undone\"").count(), 1);
}

// invariant: 8
#[test]
fn commit_of_a_killed_session_is_logged_by_the_next() {
    let place = place();
    let (commit, log) = (the_commit(&place), place.path().join("record.jsonl"));
    // Like a kill between the commit and its entry: the entry is missing, and so is the mark that it was written.
    fs::remove_file(commit.join("logged")).unwrap();
    fs::remove_file(&log).unwrap();
    let summary = fs::read_to_string(commit.join("summary")).unwrap();
    let mut old: serde_json::Value = serde_json::from_str(&summary).unwrap();
    old["made"] = (old["made"].as_u64().unwrap() - 60).into();
    fs::write(commit.join("summary"), old.to_string()).unwrap();
    for _ in 0..2 {
        call(&place, "cat b");
        let entries = fs::read_to_string(&log).unwrap();
        let committed: Vec<&str> =
            entries.lines().filter(|line| line.contains("\"kind\":\"committed\"")).collect();
        assert_eq!(committed.len(), 1, "{entries}");
        assert!(committed[0].contains(commit.file_name().unwrap().to_str().unwrap()));
    }
}

// invariant: 11
#[test]
fn refused_undo_names_the_edited_file() {
    let place = place();
    fs::write(place.path().join("work/b"), "edited\n").unwrap();
    let (code, out, err) = place.run(&["undo", "--config", "c.yaml"]);
    assert!(code != 0 && err.contains("`b`"), "{out}{err}");
    assert_eq!(fs::read_to_string(place.path().join("work/b")).unwrap(), "edited\n");
}

const TOOLS: &str = "
  remove: { command: [rm, -rf, work/src], approval: none }
  rewrite: { command: [cp, work/b, work/Makefile], approval: none }
";

fn place_with_tools() -> Place {
    let place = Place::new(&format!("{CONFIG}tools:{TOOLS}"));
    fs::create_dir_all(place.path().join("work/src")).unwrap();
    fs::write(place.path().join("work/src/a"), "a\n").unwrap();
    fs::write(place.path().join("work/b"), "b\n").unwrap();
    place
}

#[test]
fn changes_of_a_command_tool_can_be_undone() {
    let place = place_with_tools();
    let (code, out, err) = place.run(&["call", "--config", "c.yaml", "--strict", "remove"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(!place.path().join("work/src").exists());
    let (code, out, err) = place.run(&["undo", "--config", "c.yaml"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(fs::read_to_string(place.path().join("work/src/a")).unwrap(), "a\n");
}

// invariant: 11
#[test]
fn command_tool_cannot_change_a_shown_file_unasked() {
    let place = place_with_tools();
    let (code, out, err) = place.run(&["call", "--config", "c.yaml", "--strict", "rewrite"]);
    assert_eq!(code, 3, "{out}{err}");
    assert!(!place.path().join("work/Makefile").exists());
}

#[test]
fn undo_lists_and_shows_each_change() {
    let place = place();
    let id = the_commit(&place).file_name().unwrap().to_str().unwrap().to_owned();
    let (code, out, err) = place.run(&["undo", "--config", "c.yaml", "--list"]);
    assert!(code == 0 && out.contains(&id) && out.contains("echo new > b"), "{out}{err}");
    let (code, out, err) = place.run(&["undo", "--config", "c.yaml", "--show", &id]);
    assert!(code == 0 && out.contains("changed  b"), "{out}{err}");
    assert_eq!(fs::read_to_string(place.path().join("work/b")).unwrap(), "new\n");
}

#[test]
fn decide_and_explain_report_a_rehearsal() {
    let place = Place::new(CONFIG);
    fs::create_dir(place.path().join("work")).unwrap();
    let args = serde_json::json!({"command": "python3 x.py", "cwd": "work"});
    let call = serde_json::json!({"tool": "shell", "args": args}).to_string();
    let (_, decided, err) = place.feed(&["decide", "--config", "c.yaml"], call.as_bytes());
    assert!(decided.contains("\"verdict\":\"rehearse\""), "{decided}{err}");
    let args = args.to_string();
    let (_, explained, err) = place.run(&["explain", "--config", "c.yaml", "shell", "--args", &args]);
    assert!(explained.contains("rehearse"), "{explained}{err}");
}

/// Runs a script in mount namespaces in which the state folder is on an overlay, as in a container. `$1` is askfirst.
fn in_a_container(place: &Place, script: &str) -> (i32, String, String) {
    let mounts = "
        mount -t tmpfs tmpfs mounts
        mkdir mounts/upper mounts/work mounts/lower
        mount -t overlay -o lowerdir=mounts/lower,upperdir=mounts/upper,workdir=mounts/work,userxattr overlay state";
    let mut command = std::process::Command::new("setsid");
    let script = format!("{mounts}\n{script}");
    command.args(["--wait", "unshare", "-Urm", "sh", "-ec", &script, "sh", env!("CARGO_BIN_EXE_askfirst")]);
    command.current_dir(place.path());
    place.alone(&mut command);
    crate::commands::told(command.output().unwrap())
}

#[test]
fn command_is_rehearsed_where_the_state_is_on_an_overlay() {
    let place = Place::new(CONFIG);
    for folder in ["work/src", "state", "mounts"] {
        fs::create_dir_all(place.path().join(folder)).unwrap();
    }
    fs::write(place.path().join("work/src/a"), "a\n").unwrap();
    let (code, out, err) = in_a_container(
        &place,
        r#"
        call() { "$1" call --config c.yaml --strict shell --args "{\"command\":\"$2\",\"cwd\":\"work\"}"; }
        call "$1" "echo new > b && rm -r src && mkdir -p src/sub && chmod 0 src/sub"
        cat work/b
        ls -A work/src
        call "$1" "echo x > .git/config" || echo "exit $?"
        "$1" undo --config c.yaml
        cat work/src/a
        ls -A work
        "#,
    );
    assert_eq!(code, 0, "{out}{err}");
    let lines: Vec<&str> = out.lines().filter(|line| !line.starts_with("undone:")).collect();
    assert_eq!(lines, ["new", "sub", "exit 3", "a", "src"], "{out}{err}");
    // A later session removes the folders themselves.
    let sessions = fs::read_dir("/dev/shm").unwrap().flatten();
    let commits = sessions.filter_map(|entry| fs::read_dir(entry.path().join("layers/commits")).ok());
    assert_eq!(commits.flatten().count(), 0);
}
