//! `decide`: prints the judge's verdict alone. It uses no mode, memory or audit log, asks no one and runs nothing.

use std::cell::OnceCell;
use std::io::{BufRead, BufReader, IsTerminal, Write};

use anyhow::Context;
use askfirst::json::JsonFault;
use askfirst::{ApprovalContext, ApprovalRequest, Args, Because, Verdict};
use askfirst_display::redact::{Mark, Redactor};
use askfirst_runtime::assess::JudgedCall;
use askfirst_runtime::tools::catalog::{Catalog, redactor};
use serde::Serialize;
use serde_json::Value;

use crate::commands::call::shell_call;
use crate::exit::Exit;

/// The maximum length of a line, in bytes.
const MAX_LINE: usize = 16 << 20;

#[derive(Serialize)]
struct VerdictLine<'a> {
    id: &'a Value,
    verdict: Verdict,
    because: Vec<Because>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<ApprovalRequest>,
}

/// Writes a verdict for each call, in order. Reads the calls from standard input, unless `words` is a command line.
pub fn decide(catalog: &Catalog, words: &[String]) -> anyhow::Result<Exit> {
    let stdout = std::io::stdout();
    let escape = stdout.is_terminal();
    let mut output = std::io::BufWriter::with_capacity(1 << 16, stdout.lock());
    let mut writer = LineWriter { catalog, hides: OnceCell::new(), line: Vec::new(), escape };
    if words.is_empty() {
        decide_input(&mut output, &mut writer)?;
    } else {
        answer(Ok((Value::Null, shell_call(words))), 1, &mut output, &mut writer)
            .context("cannot write standard output")?;
    }
    output.flush().context("cannot write standard output")?;
    Ok(Exit::Done)
}

fn decide_input(output: &mut impl Write, writer: &mut LineWriter<'_>) -> anyhow::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, std::io::stdin().lock());
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = read_line(&mut input, &mut line).context("cannot read standard input")?;
        if read == InputLine::End {
            break;
        }
        if line.iter().all(u8::is_ascii_whitespace) && read == InputLine::Line {
            continue;
        }
        let call = match read {
            InputLine::Line => parse(&line),
            InputLine::TooLong | InputLine::End => Err(format!("longer than {} MiB", MAX_LINE >> 20)),
        };
        answer(call, number, output, writer).context("cannot write standard output")?;
        // A caller that sent half a line may be waiting for the answer to the previous line.
        if !input.buffer().contains(&b'\n') {
            output.flush().context("cannot write standard output")?;
        }
    }
    Ok(())
}

fn answer(
    call: Result<(Value, ApprovalContext), String>,
    number: u32,
    output: &mut impl Write,
    writer: &mut LineWriter<'_>,
) -> std::io::Result<()> {
    let catalog = writer.catalog;
    let (id, call) = match call {
        Ok(call) => call,
        Err(why) => {
            let because = Because { line: Some(number), ..Because::built_in("standard input", why) };
            let line = VerdictLine {
                id: &Value::Null,
                verdict: Verdict::Deny,
                because: vec![because],
                request: None,
            };
            return writer.write(output, line, &Args::new());
        }
    };
    catalog.decide(call, |JudgedCall { call, judgement, .. }| {
        let (because, request) = (judgement.because(), judgement.request());
        writer.write(
            output,
            VerdictLine { id: &id, verdict: judgement.verdict(), because, request },
            &call.args,
        )
    })
}

/// Writes lines, and redacts those that could contain a secret.
struct LineWriter<'a> {
    catalog: &'a Catalog,
    /// Built when needed: the line of an allowed call has only text of the config.
    hides: OnceCell<Redactor>,
    line: Vec<u8>,
    escape: bool,
}

impl LineWriter<'_> {
    fn write(
        &mut self,
        output: &mut impl Write,
        mut line: VerdictLine<'_>,
        args: &Args,
    ) -> std::io::Result<()> {
        self.put(&line)?;
        if line.verdict != Verdict::Allow && !self.is_clean(args) {
            self.clean(&mut line, args);
            self.put(&line)?;
        }
        output.write_all(&self.line)
    }

    fn is_clean(&self, args: &Args) -> bool {
        self.hides().is_clean(&self.line) && self.hides().has_plain_names(args)
    }

    fn hides(&self) -> &Redactor {
        // An invalid glob was already reported.
        self.hides.get_or_init(|| redactor(&self.catalog.config).unwrap_or_default())
    }

    fn put(&mut self, line: &VerdictLine<'_>) -> std::io::Result<()> {
        self.line.clear();
        if self.escape {
            crate::print::json_line(&mut self.line, line)?;
        } else {
            serde_json::to_writer(&mut self.line, line)?;
        }
        self.line.push(b'\n');
        Ok(())
    }

    /// Redacts the texts about a call. The arguments and the payload stay, because the caller asks and remembers with them.
    fn clean(&self, line: &mut VerdictLine<'_>, args: &Args) {
        let about = self.hides().about(args);
        about.because(args, &mut line.because, Mark::Record);
        let clean = |text: &mut String| *text = about.text_about(args, text, Mark::Record).left;
        if let Some(request) = &mut line.request {
            request.tool_name = self.hides().text(&request.tool_name, Mark::Record).left;
            clean(&mut request.description);
            for fact in &mut request.facts {
                fact.text = about.fact(args, fact, Mark::Record).left;
            }
        }
    }
}

/// Parses one call strictly. The error contains no secrets.
pub fn parse(line: &[u8]) -> Result<(Value, ApprovalContext), String> {
    read(line).map_err(|why| Redactor::default().text(&why, Mark::Record).left)
}

fn read(line: &[u8]) -> Result<(Value, ApprovalContext), String> {
    // The position in the line is left; the number of the line is not the parser's to know.
    let place = |e: JsonFault| format!("not valid JSON: {e}").replace(" at line 1 column ", " at column ");
    let mut map = askfirst::json::parse_object(line).map_err(place)?;
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
        return Err(format!("unknown key `{key}`: expected id, tool, args or metadata"));
    }
    Ok((id, ApprovalContext { metadata, ..ApprovalContext::new(tool, args) }))
}

#[derive(PartialEq, Eq, Clone, Copy)]
pub enum InputLine {
    Line,
    TooLong,
    End,
}

/// Reads a line, and never keeps more than the limit in memory.
pub fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<InputLine> {
    let mut any = false;
    let mut too_long = false;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if buffer.is_empty() {
            let end = if any { InputLine::Line } else { InputLine::End };
            return Ok(if too_long { InputLine::TooLong } else { end });
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
            return Ok(if too_long { InputLine::TooLong } else { InputLine::Line });
        }
    }
}
