//! Everything that this program prints goes through here, so that nothing an agent wrote reaches a screen raw.

use std::io::{IsTerminal, Write};

use askfirst_runtime::present::escape::escaped;
use serde::Serialize;
use serde_json::ser::Formatter;

/// Writes a line to standard output, escaped. A reader that went away is no reason to fail.
pub fn out(text: &str) {
    drop(writeln!(std::io::stdout(), "{}", escaped(text)));
}

/// Writes a line to standard error, escaped.
pub fn err(text: &str) {
    drop(writeln!(std::io::stderr(), "{}", escaped(text)));
}

/// A result for whoever reads it: raw into a pipe, escaped on a screen.
pub fn result(text: &str) {
    let mut stdout = std::io::stdout();
    let text = if stdout.is_terminal() { escaped(text) } else { text.to_owned() };
    drop(
        stdout
            .write_all(text.as_bytes())
            .and_then(|()| if text.ends_with('\n') { Ok(()) } else { writeln!(stdout) }),
    );
}

/// Writes a value as one line of JSON to standard output.
pub fn json(value: &impl Serialize) {
    let mut stdout = std::io::stdout();
    drop(json_line(&mut stdout, value).and_then(|()| writeln!(stdout)));
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
