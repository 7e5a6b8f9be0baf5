//! `decide`: the judge's verdict alone. No mode, memory, ledger, question or run.

use std::io::{BufRead, BufReader, IsTerminal, Write};

use anyhow::Context;
use askfirst::{ApprovalContext, ApprovalRequest, Because, Policy, Toolset, Verdict, judge};
use askfirst_runtime::assess::{self, Unknown};
use serde::Serialize;
use serde_json::Value;

use crate::exit::Exit;
use crate::session::Offered;

/// The longest line that is read.
const MAX_LINE: usize = 16 << 20;

#[derive(Serialize)]
struct Line<'a> {
    id: &'a Value,
    verdict: Verdict,
    because: Vec<Because>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<ApprovalRequest>,
}

/// Reads calls from standard input and writes a verdict for each, in order.
pub fn decide(offered: &Offered) -> anyhow::Result<Exit> {
    let mut input = BufReader::with_capacity(1 << 16, std::io::stdin().lock());
    let stdout = std::io::stdout();
    let escape = stdout.is_terminal();
    let mut output = std::io::BufWriter::with_capacity(1 << 16, stdout.lock());
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = read_line(&mut input, &mut line).context("standard input cannot be read")?;
        if read == Read::End {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) && read == Read::Line {
            continue;
        }
        let call = match read {
            Read::Line => parse(&line),
            Read::TooLong | Read::End => Err(format!("longer than {} MiB", MAX_LINE >> 20)),
        };
        answer(call, number, offered, &mut output, escape).context("standard output cannot be written")?;
        // Whoever has sent half a line may be waiting for the answer to the one before.
        if !input.buffer().contains(&b'\n') {
            output.flush().context("standard output cannot be written")?;
        }
    }
    output.flush().context("standard output cannot be written")?;
    Ok(Exit::Done)
}

fn answer(
    call: Result<(Value, ApprovalContext), String>,
    number: u32,
    offered: &Offered,
    output: &mut impl Write,
    escape: bool,
) -> std::io::Result<()> {
    match call {
        Ok((id, call)) => write_line(output, escape, &verdict(&id, call, &*offered.toolset, &offered.policy)),
        Err(why) => {
            let because = Because { line: Some(number), ..Because::built_in("standard input", why) };
            let line =
                Line { id: &Value::Null, verdict: Verdict::Deny, because: vec![because], request: None };
            write_line(output, escape, &line)
        }
    }
}

fn verdict<'a>(id: &'a Value, call: ApprovalContext, toolset: &dyn Toolset, policy: &Policy) -> Line<'a> {
    let call = assess::prepare(call, toolset, policy);
    let assessment = assess::assess(&call, toolset, Unknown::Silent);
    let judgement = judge(&call, &assessment, policy);
    Line { id, verdict: judgement.verdict(), because: judgement.because(), request: judgement.request() }
}

fn write_line(output: &mut impl Write, escape: bool, line: &Line<'_>) -> std::io::Result<()> {
    if escape {
        crate::print::json_line(output, line)?;
    } else {
        serde_json::to_writer(&mut *output, line)?;
    }
    output.write_all(b"\n")
}

/// One call, read strictly.
pub fn parse(line: &[u8]) -> Result<(Value, ApprovalContext), String> {
    let mut map = askfirst::json::parse_object(line).map_err(|e| e.to_string())?;
    let id = map.remove("id").unwrap_or(Value::Null);
    let tool = match map.remove("tool") {
        Some(Value::String(tool)) if !tool.is_empty() => tool,
        Some(_) => return Err("`tool` must be a name".to_owned()),
        None => return Err("`tool` is missing".to_owned()),
    };
    let mut object = |key: &str| match map.remove(key) {
        Some(Value::Object(object)) => Ok(object),
        None => Ok(serde_json::Map::new()),
        Some(other) => Err(format!("`{key}` must be an object, not {}", askfirst::json::kind(&other))),
    };
    let (args, metadata) = (object("args")?, object("metadata")?);
    if let Some(key) = map.keys().next() {
        return Err(format!("`{key}` is not known here; the keys are id, tool, args, metadata"));
    }
    Ok((id, ApprovalContext { metadata, ..ApprovalContext::new(tool, args) }))
}

#[derive(PartialEq, Eq, Clone, Copy)]
pub enum Read {
    Line,
    TooLong,
    End,
}

/// Reads a line, but never more than the limit into memory.
pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<Read> {
    let mut any = false;
    let mut too_long = false;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if buffer.is_empty() {
            let end = if any { Read::Line } else { Read::End };
            return Ok(if too_long { Read::TooLong } else { end });
        }
        any = true;
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let take = newline.map_or(buffer.len(), |at| at + 1);
        if line.len() + take > MAX_LINE {
            too_long = true;
            line.clear();
        } else if !too_long {
            line.extend(buffer.iter().take(newline.unwrap_or(take)));
        }
        input.consume(take);
        if newline.is_some() {
            return Ok(if too_long { Read::TooLong } else { Read::Line });
        }
    }
}
