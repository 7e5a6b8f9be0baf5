//! The walls as users meet them: tools that start programs, `sandbox` and `doctor`.

use std::fs;

use crate::commands::Place;

const CONFIG: &str = r#"
version: 1
sandbox:
  paths:
    work: { root: ./work, mode: rw, approval: { write: none } }
    asked: { root: ./asked, mode: rw }
    fixed: { root: ./fixed }
  never_read: [".env"]
ledger: { path: ./record.jsonl }
tools:
  free: { command: [sh, -c, "{script}"], args: { script: { type: string } }, approval: none }
  asks: { command: [sh, -c, "{script}"], args: { script: { type: string } } }
"#;

fn place() -> Place {
    let place = Place::new(CONFIG);
    for folder in ["work", "asked", "fixed"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    fs::write(place.path().join("work/.env"), "secret").unwrap();
    fs::write(place.path().join("beside"), "secret").unwrap();
    place
}

fn call(place: &Place, tool: &str, script: &str, flags: &[&str]) -> (i32, String, String) {
    let args = serde_json::json!({ "script": script }).to_string();
    place.run(&[&["call", "--config", "c.yaml", tool, "--args", &args], flags].concat())
}

#[test]
fn an_unasked_call_gets_only_what_needs_no_asking() {
    let place = place();
    let script = "cat beside work/.env; for root in work asked fixed; do touch $root/new && echo $root; done";
    let (_, out, err) = call(&place, "free", script, &[]);
    assert!(out.contains("work") && !out.contains("asked") && !out.contains("fixed"), "{out}{err}");
    assert!(!out.contains("secret"));
    assert!(place.path().join("work/new").exists() && !place.path().join("asked/new").exists());
    let record = fs::read_to_string(place.path().join("record.jsonl")).unwrap();
    assert!(record.contains(r#""walled":{"tier":"full""#), "{record}");
}

#[test]
fn an_approved_call_gets_what_the_modes_say() {
    let place = place();
    let script = "for root in work asked fixed; do touch $root/new && echo $root; done; cat work/.env beside";
    let (_, out, err) = call(&place, "asks", script, &["--approve-all"]);
    assert!(out.contains("work") && out.contains("asked") && !out.contains("fixed"), "{out}{err}");
    assert!(!out.contains("secret"));
}

#[test]
fn what_appears_is_moved_aside_and_told_to_the_agent_and_the_record() {
    let place = place();
    let (_, _, err) = call(&place, "free", "echo x > work/.bashrc", &[]);
    assert!(err.contains("work/.bashrc` appeared, but the built-in list has `.bashrc`"), "{err}");
    assert!(!place.path().join("work/.bashrc").exists());
    let record = fs::read_to_string(place.path().join("record.jsonl")).unwrap();
    assert!(record.contains("appeared, but the built-in list has `.bashrc`"), "{record}");
}

#[test]
fn sandbox_runs_anything_and_ends_as_it_does() {
    let place = place();
    let run = |words: &[&str]| place.run(&[&["--config", "c.yaml", "sandbox"], words].concat());
    let (code, out, err) = run(&["--", "sh", "-c", "cat beside; touch asked/x fixed/x; ls asked; exit 7"]);
    assert_eq!((code, out.as_str()), (7, "x\n"), "{err}");
    assert_eq!(run(&["--", "sh", "-c", "kill -TERM $$"]).0, 128 + 15);
    let (code, _, err) = run(&["--", "there-is-no-such-program"]);
    assert_eq!(
        (code, err.as_str()),
        (125, "error: program `there-is-no-such-program` is not there behind the walls\n")
    );
}

#[test]
fn the_flags_of_sandbox_stay_within_the_config() {
    let place = place();
    let run = |words: &[&str]| place.run(&[&["--config", "c.yaml", "sandbox"], words].concat());
    let (code, out, err) =
        run(&["--write", "work", "--", "sh", "-c", "touch work/y && touch asked/y; ls work asked"]);
    assert_eq!((code, out.contains('y'), place.path().join("asked/y").exists()), (0, true, false), "{err}");
    for flags in [["--write", "fixed"], ["--write", "."], ["--read", "/etc"], ["--network", "on"]] {
        let (code, _, err) = run(&[&flags[..], &["--", "touch", "work/ran"]].concat());
        assert_eq!(code, 2, "{flags:?} {err}");
        assert!(!place.path().join("work/ran").exists());
    }
}

#[test]
fn doctor_says_what_this_machine_enforces() {
    let place = place();
    let (code, out, err) = place.run(&["--config", "c.yaml", "doctor"]);
    assert_eq!(code, 0, "{err}");
    for text in
        ["walls     full, tried by running a program", "readable for every program besides the roots: /usr"]
    {
        assert!(out.contains(text), "{out}");
    }
}

#[test]
fn a_search_past_what_is_never_read_runs_unasked_only_where_walls_must_hide_it() {
    let shell = "shell: { rules: [{ pattern: grep, approval: none }] }\n";
    let place = Place::new(&format!("{CONFIG}{shell}"));
    for folder in ["work", "asked", "fixed"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    fs::write(place.path().join("work/.env"), "secret").unwrap();
    fs::write(place.path().join("work/open"), "not secret").unwrap();
    let args = r#"{"command":"grep -rh secret .","cwd":"work"}"#;
    let grep = || place.run(&["call", "--config", "c.yaml", "shell", "--args", args, "--strict"]);
    assert_eq!(grep().0, 3);
    let demanded = CONFIG.replace("sandbox:", "sandbox:\n  require_os_sandbox: true");
    fs::write(place.path().join("c.yaml"), format!("{demanded}{shell}")).unwrap();
    let (_, out, err) = grep();
    assert!(out.contains("not secret") && !out.lines().any(|line| line == "secret"), "{out}{err}");
}

#[test]
fn what_a_person_must_answer_every_time_is_not_open_to_what_the_mode_approved() {
    let config = CONFIG.replace(
        "asked: { root: ./asked, mode: rw }",
        "asked: { root: ./asked, mode: rw, approval: { write: human } }",
    );
    let place = Place::new(&config);
    for folder in ["work", "asked", "fixed"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    let script = "for root in work asked; do touch $root/new && echo $root; done";
    let (_, out, err) = call(&place, "asks", script, &["--approve-all"]);
    assert!(out.contains("work") && !out.contains("asked"), "{out}{err}");
    assert!(!place.path().join("asked/new").exists());
}
