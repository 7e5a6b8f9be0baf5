//! `run`: runs a list of calls in one session. It judges adjacent lines with the same `batch_id` before it asks about the
//! first. It prints each call as soon as it ends. After a stop, it lists the calls that did not run.

pub mod line;
pub mod live;

use std::io::{BufRead, BufReader, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::Context;
use askfirst::{ApprovalContext, Outcome};
use askfirst_config::Places;
use askfirst_display::redact::{Mark, Redactor};
use askfirst_runtime::Session;
use askfirst_runtime::assess::Unknown;
use askfirst_runtime::pipeline::next_call_id;
use askfirst_runtime::tools::catalog::redactor;
use serde_json::{Value, json};

use crate::args::{Common, ModeFlags};
use crate::commands::decide::{InputLine, parse, read_line};
use crate::exit::Exit;
use crate::session::{FrontEnd, end_commands, ended_by, listen, open, read_config};
use live::{Audience, CallSummary, LiveRows};

/// How long a batch waits for its next line.
const BATCH_PATIENCE: Duration = Duration::from_millis(200);

/// How long it takes at most to notice a signal while `run` waits for a line.
const SIGNAL_PATIENCE: Duration = Duration::from_millis(50);

/// The hint for a line that is not a call.
const EXAMPLE: &str =
    r#"each line is one call, such as {"tool": "read_file", "args": {"path": "README.md"}}"#;

/// One line of the list.
struct Item {
    number: u32,
    call: Result<(Value, ApprovalContext), String>,
}

impl Item {
    fn batch(&self) -> Option<&str> {
        self.call.as_ref().ok().and_then(|(_, call)| call.batch_id())
    }
}

/// Runs the calls of a file, or of standard input for `-`.
pub fn run(common: &Common, mode: ModeFlags, file: &Path) -> anyhow::Result<Exit> {
    let input: Box<dyn BufRead + Send> = if file == Path::new("-") {
        // Keys would count as lines, and lines as answers.
        anyhow::ensure!(
            !std::io::stdin().is_terminal(),
            "`run -` cannot read calls from a terminal; hint: use `askfirst run FILE`, a pipe, or `askfirst call`"
        );
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let opened = std::fs::File::open(file);
        Box::new(BufReader::new(opened.with_context(|| format!("cannot read `{}`", file.display()))?))
    };
    let config = read_config(common)?;
    let redactor = Arc::new(redactor(&config)?);
    let audience = if common.json { Audience::Program } else { Audience::Person };
    let live = Arc::new(LiveRows::new(audience, Arc::clone(&redactor)));
    let builder = Session::builder(config).unknown(Unknown::Unnamed).observe(Arc::clone(&live) as _);
    let state = Places::from_env().state;
    let session =
        open(&FrontEnd { name: "run", withheld: &[] }, builder, common, mode, &state, |_, terminal| {
            terminal
        })?;
    let _listening = listen(&session, &state);
    let run = ActiveRun { session: &session, common, redactor, live };
    let exit = run.calls(&lines_of(input));
    end_commands(&session);
    Ok(exit)
}

/// A run in progress.
struct ActiveRun<'a> {
    session: &'a Session,
    common: &'a Common,
    redactor: Arc<Redactor>,
    live: Arc<LiveRows>,
}

impl ActiveRun<'_> {
    fn calls(&self, lines: &Receiver<Item>) -> Exit {
        let Self { session, common, .. } = self;
        let mut exit = Exit::Done;
        let mut next = wait_for(lines);
        let mut not_run = 0;
        while let Some(first) = next.take() {
            let batch = first.batch().map(str::to_owned);
            let mut together = vec![first];
            next = match &batch {
                None => None,
                Some(batch) => gather(&mut together, batch, lines),
            };
            if session.tools.controller().is_stopped() {
                not_run += together.len();
                together.iter().for_each(|item| self.print_not_run(item));
            } else {
                exit = exit.max(self.make(together));
            }
            if next.is_none() {
                next = wait_for(lines);
            }
        }
        if (not_run > 0 || ended_by().is_some()) && !common.json {
            crate::print::out(&format!("stopped: {not_run} not run"));
        }
        exit
    }

    fn make(&self, items: Vec<Item>) -> Exit {
        let common = self.common;
        let mut exit = Exit::Done;
        let mut good = Vec::new();
        for item in items {
            match item.call {
                Ok((id, call)) => {
                    let call = ApprovalContext { id: next_call_id(), ..call };
                    good.push((item.number, id, Arc::new(call)));
                }
                Err(why) => {
                    print_bad_line(item.number, &why, common);
                    exit = exit.max(Exit::Usage);
                }
            }
        }
        self.live.expect(good.iter().map(|(number, _, call)| (*number, call)));
        let calls = good.iter().map(|(_, _, call)| ApprovalContext::clone(call)).collect();
        let outcomes = self.session.tools.call_many_sync(calls);
        for ((number, id, call), outcome) in good.iter().zip(&outcomes) {
            let summary = self.live.settle(call.id, outcome);
            if common.json {
                self.print_outcome(*number, id, call, outcome, &summary);
            }
        }
        outcomes.iter().map(Exit::of).fold(exit, Exit::max)
    }

    fn print_outcome(
        &self,
        number: u32,
        id: &Value,
        call: &ApprovalContext,
        outcome: &Outcome,
        over: &CallSummary,
    ) {
        let tool = self.redactor.text(&call.tool_name, Mark::Record).left;
        let mut line = json!({
            "line": number, "id": id, "tool": tool, "by": over.by,
            "took_ms": over.took_ms, "waited_ms": over.waited_ms,
        });
        if let Some(line) = line.as_object_mut() {
            line.extend(crate::outcome::as_json(outcome, over));
        }
        crate::print::json(&line);
    }

    fn print_not_run(&self, item: &Item) {
        let tool = item.call.as_ref().map_or("", |(_, call)| call.tool_name.as_str());
        let tool = self.redactor.text(tool, Mark::Record).left;
        if self.common.json {
            let id = item.call.as_ref().map_or(&Value::Null, |(id, _)| id);
            crate::print::json(&json!({"line": item.number, "id": id, "tool": tool, "outcome": "not_run"}));
        } else {
            crate::print::out(&format!("{:>4}  not run  {tool}", item.number));
        }
    }
}

/// Waits for the next line. After a signal, returns only lines that have already arrived.
fn wait_for(lines: &Receiver<Item>) -> Option<Item> {
    loop {
        match lines.recv_timeout(SIGNAL_PATIENCE) {
            Ok(item) => return Some(item),
            Err(RecvTimeoutError::Timeout) if ended_by().is_none() => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Collects the lines of a batch. Returns the first line after the batch.
fn gather(together: &mut Vec<Item>, batch: &str, lines: &Receiver<Item>) -> Option<Item> {
    loop {
        match lines.recv_timeout(BATCH_PATIENCE) {
            Ok(item) if item.batch() == Some(batch) => together.push(item),
            Ok(item) => return Some(item),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn print_bad_line(number: u32, why: &str, common: &Common) {
    if common.json {
        let line = json!({"line": number, "id": null, "outcome": "bad_line", "error": why, "hint": EXAMPLE});
        crate::print::json(&line);
    } else {
        crate::print::out(&format!("{number:>4}  not read line {number}: {why}"));
        crate::print::err(&format!("hint: {EXAMPLE}"));
    }
}

/// Reads lines on a separate thread, so that a batch does not wait for a line that never comes.
fn lines_of(mut input: Box<dyn BufRead + Send>) -> Receiver<Item> {
    let (send, receive) = sync_channel(64);
    std::thread::spawn(move || {
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let call = match read_line(&mut input, &mut line) {
                Ok(InputLine::End) => break,
                Ok(InputLine::TooLong) => Err("the line is too long".to_owned()),
                Ok(InputLine::Line) if line.iter().all(u8::is_ascii_whitespace) => continue,
                Ok(InputLine::Line) => parse(&line),
                Err(e) => Err(format!("cannot read the input: {e}")),
            };
            let broken = call.as_ref().is_err_and(|why| why.starts_with("cannot read the input"));
            if send.send(Item { number, call }).is_err() || broken {
                break;
            }
        }
    });
    receive
}
