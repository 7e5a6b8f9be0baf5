//! Prints everything that this program prints. It escapes text that an agent wrote, and turns a failed write into a
//! failed exit code.

use std::io::{ErrorKind, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::Duration;

use askfirst_display::escape::{escaped, escaped_line, width};
use askfirst_display::page::plural;
use askfirst_display::redact::{Mark, Redactor};
use askfirst_terminal::{TerminalLock, lock_for_printing};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde_json::ser::Formatter;

use crate::exit::Exit;
use crate::session::ended_by;

/// Waits until no other program asks on this terminal, and locks it for printing.
fn turn(out: impl AsFd + IsTerminal) -> Option<TerminalLock> {
    out.is_terminal().then(|| lock_for_printing(out, || ended_by().is_some()))
}

/// Returns a count with its noun: `1 thing`, `2 things`.
pub fn counted(number: u64, thing: &str) -> String {
    format!("{number} {}", plural(usize::try_from(number).unwrap_or(usize::MAX), thing))
}

/// The first error of writing standard output.
static FAILED: OnceLock<String> = OnceLock::new();

/// Keeps an error for the end of the program. A closed pipe is not an error.
fn keep(written: std::io::Result<()>) {
    match written {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => drop(FAILED.set(e.to_string())),
        Ok(()) | Err(_) => {}
    }
}

/// Returns the exit of the program: a success counts as a failure if standard output could not be written.
pub fn end(exit: Exit) -> Exit {
    keep(std::io::stdout().flush());
    let Some(why) = FAILED.get() else { return exit };
    err(&format!("error: cannot write standard output: {why}"));
    match exit {
        Exit::Done | Exit::Child(0) => Exit::ToolFailed,
        Exit::ToolFailed
        | Exit::Usage
        | Exit::Policy
        | Exit::Person
        | Exit::NoOne
        | Exit::Unrecorded
        | Exit::Child(_) => exit,
    }
}

/// Writes a line to standard output, escaped.
pub fn out(text: &str) {
    let _turn = turn(std::io::stdout());
    keep(writeln!(std::io::stdout(), "{}", escaped_line(text)));
}

/// Writes a line to standard error, escaped, and redacts secrets of a known shape.
pub fn err(text: &str) {
    let text = Redactor::default().text(text, Mark::Record).left;
    let _turn = turn(std::io::stderr());
    drop(writeln!(std::io::stderr(), "{}", escaped_line(&text)));
}

/// Writes several lines to standard error, escaped, and redacts secrets of a known shape.
pub fn err_lines(text: &str) {
    err_of_tool(&Redactor::default().text(text, Mark::Record).left);
}

/// Writes the standard error of a tool to ours, escaped.
pub fn err_of_tool(text: &str) {
    let _turn = turn(std::io::stderr());
    drop(writeln!(std::io::stderr(), "{}", escaped(text)));
}

/// Writes a text wrapped to the terminal. The first row follows `head`, and the others are indented by its width.
pub fn print_wrapped(head: &str, text: &str) {
    let room = askfirst_terminal::columns().min(80).saturating_sub(width(head) + 1);
    for (at, row) in rows_of(&escaped_line(text), room).iter().enumerate() {
        let begin = if at == 0 { head.to_owned() } else { " ".repeat(width(head)) };
        out(&format!("{begin}{row}"));
    }
}

/// Wraps a text between words. Splits only words that are longer than a row.
pub fn rows_of(text: &str, room: usize) -> Vec<String> {
    let room = room.max(8);
    let mut rows: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match rows.last_mut() {
            Some(row) if width(row) + 1 + width(word) <= room => {
                row.push(' ');
                row.push_str(word);
            }
            Some(_) | None => {
                let mut row = String::new();
                for c in word.chars() {
                    if width(&row) + width(c.encode_utf8(&mut [0; 4])) > room {
                        rows.push(std::mem::take(&mut row));
                    }
                    row.push(c);
                }
                rows.push(row);
            }
        }
    }
    rows
}

/// Writes a result to standard output: unchanged into a pipe, escaped on a terminal.
pub fn result(text: &str) {
    let mut stdout = std::io::stdout();
    let _turn = turn(std::io::stdout());
    let text = if stdout.is_terminal() { escaped(text) } else { text.to_owned() };
    keep(
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| if text.ends_with('\n') { Ok(()) } else { writeln!(stdout) }),
    );
}

/// Writes a row of CSV, which ends with CRLF.
pub fn csv(row: &str) {
    let _turn = turn(std::io::stdout());
    keep(write!(std::io::stdout(), "{row}\r\n"));
}

/// Waits, and returns whether the reader of standard output is still there.
pub fn is_read_for(time: Duration) -> bool {
    let stdout = std::io::stdout();
    // Without events, only an error or a closed end counts.
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let time = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
    !poll(&mut fds, Some(&time)).is_ok_and(|ready| ready > 0)
}

/// Writes a value as one line of JSON to standard output.
pub fn json(value: &impl Serialize) {
    let mut stdout = std::io::stdout();
    let _turn = turn(std::io::stdout());
    keep(json_line(&mut stdout, value).and_then(|()| writeln!(stdout)));
}

/// Writes a value as JSON in which everything but plain ASCII is escaped.
pub fn json_line(output: &mut impl Write, value: &impl Serialize) -> std::io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(output, Ascii);
    value.serialize(&mut serializer).map_err(Into::into)
}

struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> std::io::Result<()> {
        for c in fragment.chars() {
            if c.is_ascii() && c != '\u{7f}' {
                write!(writer, "{c}")?;
            } else {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}
