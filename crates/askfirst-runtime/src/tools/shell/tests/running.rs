//! The command that runs is the command that was judged.

use std::time::Duration;

use askfirst::{ApprovalAware, ApprovalContext, Invocation, ToolError, Toolset};
use serde_json::{Value, json};

use super::world;
use crate::blocking::block_on;
use crate::launcher::PlainLauncher;

#[test]
fn judged_bytes_are_handed_to_a_clean_shell() {
    let world = world(
        "  rules: [ { pattern: 'ls', approval: none } ]\n  env: { pass: [PATH, BASH_ENV, ENV, IFS] }\n  limits: { wall: 10s }\n",
    );
    let text = "ls   -l  # a comment";
    world.run(json!({"command": text, "cwd": "src", "timeout": 3, "stdin": "in"}), None).unwrap();
    world.run(json!({"argv": ["ls", "$X"], "timeout": 60}), None).unwrap();
    let [line, words] = world.launches().try_into().unwrap();
    assert_eq!(line.argv, ["bash", "--noprofile", "--norc", "-c", text]);
    assert!(line.folder.ends_with("src"));
    assert_eq!((line.wall, line.stdin.as_slice()), (Some(Duration::from_secs(3)), b"in".as_slice()));
    assert!(line.env.iter().all(|(name, _)| name == "PATH"), "{:?}", line.env);
    assert_eq!(words.argv, ["ls", "$X"]);
    assert_eq!(words.wall, Some(Duration::from_secs(10)));
}

#[test]
fn path_changed_since_it_was_shown_does_not_run() {
    let world = world("");
    let args = json!({"command": "touch sub/x"});
    let basis = world.shown("touch sub/x").basis;
    assert!(world.run(args.clone(), basis.clone()).is_ok());
    std::fs::remove_dir(world.folder.path().join("sub")).unwrap();
    std::os::unix::fs::symlink("/etc", world.folder.path().join("sub")).unwrap();
    assert!(matches!(world.run(args.clone(), basis), Err(ToolError::Stale(_))));
    assert!(matches!(world.run(args, None), Err(ToolError::Stale(_))));
    assert_eq!(world.launches().len(), 1);
}

#[test]
fn contradictory_arguments_are_refused() {
    let world = world("  default: { approval: none }\n");
    for args in [
        json!({}),
        json!({"command": ""}),
        json!({"command": 1}),
        json!({"command": "a\u{0}b"}),
        json!({"command": "ls", "x": 1}),
        json!({"command": "ls", "timeout": 0}),
        json!({"command": "ls", "timeout": -1}),
        json!({"command": "ls", "background": "yes"}),
        json!({"argv": []}),
        json!({"argv": ["ls", 1]}),
        json!({"argv": [""]}),
    ] {
        assert_eq!(super::approval(&world.assess(args.clone())), askfirst::Approval::Deny, "{args}");
        assert!(world.run(args, None).is_err());
    }
    assert!(world.launches().is_empty());
}

fn about(world: &super::World, tool: &str, args: Value) -> Result<Value, ToolError> {
    let call = ApprovalContext::new(tool, args.as_object().unwrap().clone());
    assert_eq!(world.tools.check_approval(&call).view, askfirst::View::Harmless);
    block_on(world.tools.call(Invocation::new(call)))
}

fn live() -> super::World {
    let world = world("  default: { approval: none }\n");
    let launcher = std::sync::Arc::new(PlainLauncher::default());
    let tools = super::ShellToolset::new(&super::config(&world.folder), launcher).unwrap();
    super::World { tools, ..world }
}

#[test]
fn background_command_can_be_read_and_stopped() {
    let world = live();
    let started = world.run(json!({"command": "sleep 60 & sleep 60", "background": true}), None).unwrap();
    let id = started["id"].as_str().unwrap().to_owned();
    assert_eq!(about(&world, "shell_output", json!({"id": id})).unwrap()["state"], "running");
    assert!(matches!(about(&world, "shell_stop", json!({"id": id})), Err(ToolError::Ended { .. })));
    let quick = world.run(json!({"command": "echo done", "background": true}), None).unwrap();
    let told = about(&world, "shell_output", json!({"id": quick["id"], "wait": 20})).unwrap();
    assert_eq!(told["stdout"], "done\n");
    assert!(matches!(about(&world, "shell_output", json!({"id": "job-99"})), Err(ToolError::BadArgs(_))));
}

#[test]
fn output_of_a_running_command_is_capped_and_keeps_its_end() {
    let world = live();
    // Write more output than is kept, then a word at the end, and keep running.
    let command = "head -c 3000000 /dev/zero | tr '\\0' x; echo the-end; echo oops >&2; sleep 60";
    let started = world.run(json!({"command": command, "background": true}), None).unwrap();
    let id = started["id"].as_str().unwrap().to_owned();
    let told = loop {
        let told = about(&world, "shell_output", json!({"id": id, "wait": 0.02})).unwrap();
        assert_eq!(told["state"], "running");
        if told["stdout"].as_str().unwrap().ends_with("the-end\n") && told["stderr"] == "oops\n" {
            break told;
        }
    };
    let stdout = told["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("xxx") && stdout.contains(" bytes left out]\n"), "{} bytes", stdout.len());
    assert!(stdout.len() < 2_000_000, "{} bytes", stdout.len());
    assert_eq!(told["left_out_bytes"].as_u64().unwrap() + (1 << 20), 3_000_000 + 8);
    assert!(matches!(about(&world, "shell_stop", json!({"id": id})), Err(ToolError::Ended { .. })));
}

#[test]
fn stopping_a_command_leaves_those_of_other_sessions_alone() {
    let (one, other) = (live(), live());
    let start = |world: &super::World| {
        let started = world.run(json!({"command": "sleep 60", "background": true}), None).unwrap();
        started["id"].as_str().unwrap().to_owned()
    };
    let (stopped, left) = (start(&one), start(&other));
    assert!(matches!(about(&one, "shell_stop", json!({"id": stopped})), Err(ToolError::Ended { .. })));
    assert_eq!(about(&other, "shell_output", json!({"id": left, "wait": 0.3})).unwrap()["state"], "running");
}

#[test]
fn background_command_ends_with_its_session() {
    let world = live();
    let mark = world.folder.path().join("late");
    let command = format!("sleep 3; touch {}", mark.display());
    world.run(json!({"command": command, "background": true}), None).unwrap();
    drop(world.tools);
    std::thread::sleep(Duration::from_secs(4));
    assert!(!mark.exists());
}
