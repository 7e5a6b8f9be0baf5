//! `run`: a list of calls, one session. Neighbouring lines with one `batch_id` are judged before the first question.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::Context;
use askfirst::{ApprovalContext, Outcome};
use askfirst_runtime::block_on::block_on;
use askfirst_runtime::config::Places;
use askfirst_runtime::sessions;
use serde_json::{Value, json};

use crate::args::{Common, ModeFlags};
use crate::commands::decide::{Read, parse, read_line};
use crate::exit::Exit;
use crate::session::{Offered, Session, read_config};

/// How long a batch waits for its next line when lines come one by one.
const BATCH_PATIENCE: Duration = Duration::from_millis(200);

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
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let opened = std::fs::File::open(file);
        Box::new(BufReader::new(opened.with_context(|| format!("`{}` cannot be read", file.display()))?))
    };
    let offered = Offered::new(read_config(common)?)?;
    let session = Session::open(offered, common, mode, "run", &Places::from_env().state)?;
    let listening = sessions::listen(&session.state, &session.id, session.tools.controller());
    if let Err(e) = &listening {
        crate::print::err(&format!("warning: this session cannot be looked at from outside: {e}"));
    }
    Ok(calls(&session, common, &lines_of(input)))
}

fn calls(session: &Session, common: &Common, lines: &Receiver<Item>) -> Exit {
    let mut exit = Exit::Done;
    let mut next = lines.recv().ok();
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
            together.iter().for_each(|item| print_not_run(item, common));
        } else {
            exit = exit.max(make(session, common, together));
        }
        if next.is_none() {
            next = lines.recv().ok();
        }
    }
    if not_run > 0 && !common.json {
        crate::print::out(&format!("stopped: {not_run} not run"));
    }
    exit
}

/// Adds the lines of a batch. Gives the first line that is not of it.
fn gather(together: &mut Vec<Item>, batch: &str, lines: &Receiver<Item>) -> Option<Item> {
    loop {
        match lines.recv_timeout(BATCH_PATIENCE) {
            Ok(item) if item.batch() == Some(batch) => together.push(item),
            Ok(item) => return Some(item),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn make(session: &Session, common: &Common, items: Vec<Item>) -> Exit {
    let mut exit = Exit::Done;
    let mut good = Vec::new();
    for item in items {
        match item.call {
            Ok((id, call)) => good.push((item.number, id, call)),
            Err(why) => {
                print_bad_line(item.number, &why, common);
                exit = exit.max(Exit::Usage);
            }
        }
    }
    let started = session.clock.now();
    let outcomes = block_on(session.tools.call_many(good.iter().map(|(_, _, call)| call.clone()).collect()));
    let took = session.clock.now().0.saturating_sub(started.0);
    for ((number, id, call), outcome) in good.iter().zip(&outcomes) {
        exit = exit.max(Exit::of(outcome));
        print_outcome(*number, id, &call.tool_name, outcome, took, common);
    }
    exit
}

fn print_outcome(number: u32, id: &Value, tool: &str, outcome: &Outcome, took: u64, common: &Common) {
    if common.json {
        let mut line = json!({"line": number, "id": id, "tool": tool});
        if let (Some(line), Value::Object(more)) = (line.as_object_mut(), crate::outcome::as_json(outcome)) {
            line.extend(more);
        }
        return crate::print::json(&line);
    }
    let (word, rest) = crate::outcome::in_words(outcome);
    crate::print::out(format!("{number:>4}  {word:<8} {tool:<24} {took:>6} ms  {rest}").trim_end());
}

fn print_bad_line(number: u32, why: &str, common: &Common) {
    if common.json {
        crate::print::json(&json!({"line": number, "id": null, "outcome": "bad_line", "error": why}));
    } else {
        crate::print::out(&format!("{number:>4}  not read {why}"));
    }
}

fn print_not_run(item: &Item, common: &Common) {
    let tool = item.call.as_ref().map_or("", |(_, call)| call.tool_name.as_str());
    if common.json {
        let id = item.call.as_ref().map_or(&Value::Null, |(id, _)| id);
        crate::print::json(&json!({"line": item.number, "id": id, "tool": tool, "outcome": "not_run"}));
    } else {
        crate::print::out(&format!("{:>4}  not run  {tool}", item.number));
    }
}

/// Reads lines on a thread of its own, so that a batch does not wait for a line that never comes.
fn lines_of(mut input: Box<dyn BufRead + Send>) -> Receiver<Item> {
    let (send, receive) = sync_channel(64);
    std::thread::spawn(move || {
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let call = match read_line(&mut input, &mut line) {
                Ok(Read::End) => break,
                Ok(Read::TooLong) => Err("the line is too long".to_owned()),
                Ok(Read::Line) if line.iter().all(u8::is_ascii_whitespace) => continue,
                Ok(Read::Line) => parse(&line),
                Err(e) => Err(format!("cannot be read: {e}")),
            };
            let broken = call.as_ref().is_err_and(|why| why.starts_with("cannot be read"));
            if send.send(Item { number, call }).is_err() || broken {
                break;
            }
        }
    });
    receive
}
