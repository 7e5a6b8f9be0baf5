//! `demo`: a scripted agent on a scratch folder. Real tools, a real prompt, a real record; nothing of yours is touched.

use std::path::{Path, PathBuf};

use anyhow::Context;
use askfirst::ports::Clock;
use askfirst::{ApprovalContext, Outcome};
use askfirst_runtime::block_on::block_on;
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::config::Places;
use askfirst_runtime::ledger::SessionId;
use serde_json::{Value, json};

use crate::args::{Common, ModeFlags};
use crate::exit::Exit;
use crate::print::{err, out};
use crate::session::{Offered, Session, read_config_in};

const CONFIG: &str = include_str!("demo/askfirst.yaml");

/// What the agent says, and the calls that it then makes together.
struct Step {
    says: &'static str,
    calls: Vec<(&'static str, Value)>,
}

fn script() -> Vec<Step> {
    let one = |says, tool, args| Step { says, calls: vec![(tool, args)] };
    vec![
        one("Let me see which notes there are.", "list_notes", json!({})),
        one("I read the plan. The config lets me read notes.", "read_note", json!({"name": "plan.md"})),
        one(
            "And a file that is no note. That I have to ask for.",
            "read_note",
            json!({"name": "../secret.txt"}),
        ),
        one(
            "I count the words of the plan. (`s` answers this for the session.)",
            "count_words",
            json!({"name": "plan.md"}),
        ),
        one("I count them once more.", "count_words", json!({"name": "plan.md"})),
        Step {
            says: "Now two copies at once.",
            calls: vec![
                ("copy_note", json!({"from": "plan.md", "to": "plan-1.md"})),
                ("copy_note", json!({"from": "plan.md", "to": "plan-2.md"})),
            ],
        },
        one("I delete the old list. That cannot be undone.", "delete_note", json!({"name": "old-list.md"})),
        one("And I tidy up everything.", "wipe", json!({})),
    ]
}

/// Plays the script.
pub fn demo(common: &Common, mode: ModeFlags) -> anyhow::Result<Exit> {
    let scratch = Scratch::new().context("a scratch folder cannot be made")?;
    let state = scratch.0.join("state");
    let places = Places { state: state.clone(), ..Places::from_env() };
    let config = read_config_in(Some(scratch.0.join("askfirst.yaml")), scratch.0.clone(), places)?;
    out("A scripted agent works on notes in a scratch folder. Whatever it does goes through askfirst.");
    out("Keys: y yes, n no, s yes for this session, r no with a reason, v view all, ? facts, q stop.");
    let session = Session::open(Offered::new(config)?, common, mode, "demo", &state)?;
    let mut exit = Exit::Done;
    for step in script() {
        if session.tools.controller().is_stopped() {
            break;
        }
        exit = exit.max(play(&session, &step));
    }
    out("");
    out("What was decided and what ran, from the record:");
    crate::commands::log::print_entries(session.ledger.path(), usize::MAX)?;
    out("");
    out("Next: write an askfirst.yaml for a folder of yours (docs/guide/first-config.md), try it with");
    out("      askfirst explain TOOL --args JSON, then let your agent call through askfirst run -");
    Ok(exit)
}

fn play(session: &Session, step: &Step) -> Exit {
    out("");
    out(&format!("agent: {}", step.says));
    let batch = if step.calls.len() > 1 { Some("demo") } else { None };
    let calls = step.calls.iter().map(|(tool, args)| {
        let call = ApprovalContext::new(*tool, args.as_object().cloned().unwrap_or_default());
        let call = call.with_metadata("caller", "the demo's agent");
        batch.map_or(call.clone(), |batch| call.with_metadata("batch_id", batch))
    });
    let outcomes = block_on(session.tools.call_many(calls.collect()));
    let mut exit = Exit::Done;
    for ((tool, _), outcome) in step.calls.iter().zip(&outcomes) {
        exit = exit.max(tell(tool, outcome));
    }
    exit
}

/// One line about an outcome, and how the agent takes a refusal. A refusal does not make the demo fail.
fn tell(tool: &str, outcome: &Outcome) -> Exit {
    let (word, rest) = crate::outcome::in_words(outcome);
    let result = match outcome {
        Outcome::Done(result) => result.get("stdout").and_then(Value::as_str).unwrap_or_default(),
        Outcome::Denied(_) | Outcome::Failed(_) => "",
    };
    let result = result.trim_end().replace('\n', " · ");
    out(format!("  {word:<8} {tool}: {rest}{result}").trim_end_matches([' ', ':']));
    match Exit::of(outcome) {
        exit @ (Exit::Nobody | Exit::Unrecorded) => exit,
        Exit::Person => {
            out("agent: Understood, I leave that alone.");
            Exit::Done
        }
        Exit::Done | Exit::ToolFailed | Exit::Usage | Exit::Policy | Exit::Child(_) => Exit::Done,
    }
}

/// A folder that is gone when the demo ends.
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
        std::fs::create_dir(scratch.0.join("notes"))?;
        write("notes/plan.md", "# Plan\n\nAsk first, then act.\n")?;
        write("notes/old-list.md", "- milk\n- bread\n")?;
        write("secret.txt", "nobody should read this\n")?;
        write("askfirst.yaml", CONFIG)?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(e) = std::fs::remove_dir_all(&self.0) {
            err(&format!("warning: `{}` could not be removed: {e}", Path::display(&self.0)));
        }
    }
}
