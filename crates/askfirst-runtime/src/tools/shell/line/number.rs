//! Arithmetic: bash evaluates what variables hold, so only numbers and names that surely hold numbers are taken.

use super::close::Bytes;
use super::state::{Known, State};
use super::syntax::Span;
use super::tree::Piece;
use super::walk::Walker;
use super::word::Around;

impl Walker<'_> {
    /// Reads an expression: a gap unless every part of it surely is a number.
    pub(super) fn number(&mut self, span: &Span, state: &mut State) {
        let bytes = Bytes(self.text.as_bytes());
        let (mut at, end) = (span.start, span.end);
        let mut fine = true;
        while at < end {
            match bytes.at(at) {
                b'0'..=b'9' => {
                    while at < end && (bytes.at(at).is_ascii_alphanumeric() || bytes.at(at) == b'#') {
                        at += 1;
                    }
                    continue;
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                    let from = at;
                    while at < end && (bytes.at(at).is_ascii_alphanumeric() || bytes.at(at) == b'_') {
                        at += 1;
                    }
                    let name = self.slice(&(from..at)).to_owned();
                    let mut next = at;
                    while next < end && bytes.at(next) == b' ' {
                        next += 1;
                    }
                    if bytes.at(next) == b'=' && bytes.at(next + 1) != b'=' && next < end {
                        self.slip(&name, span);
                        state.set(&name, Some(Known::Number));
                    } else if bytes.at(at) == b'[' || !numeric(&name, state) {
                        fine = false;
                    } else if state.get(&name).is_some() {
                        state.set(&name, Some(Known::Number));
                    }
                    continue;
                }
                b'$' => {
                    let Some(close) = bytes.dollar(at, end, 0) else {
                        fine = false;
                        break;
                    };
                    let mut stop = close;
                    while close == at + 1
                        && stop < end
                        && (bytes.at(stop).is_ascii_alphanumeric() || bytes.at(stop) == b'_')
                    {
                        stop += 1;
                    }
                    let inner = self.slice(&(at + 1..stop)).to_owned();
                    let name =
                        inner.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(&inner);
                    let special =
                        close == at + 1 && stop < end && matches!(bytes.at(stop), b'#' | b'?' | b'$' | b'!');
                    if special {
                        stop += 1;
                    } else if name.starts_with("((") || name.starts_with('#') {
                        self.scan(&(at..stop), Around::Double, state);
                    } else if !numeric(name, state) {
                        fine = false;
                        self.scan(&(at..stop), Around::Double, state);
                    }
                    at = stop.max(at + 1);
                    continue;
                }
                b'`' | b'\'' | b'"' | b'\\' => {
                    fine = false;
                    self.scan(&(at..end), Around::Document, state);
                    break;
                }
                b'[' | b']' => fine = false,
                b' ' | b'\t' | b'\n' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!'
                | b'&' | b'|' | b'^' | b'~' | b'?' | b':' | b',' | b'(' | b')' | b';' => {}
                _ => fine = false,
            }
            at += 1;
        }
        if !fine {
            self.gap(span, "arithmetic that evaluates what a variable holds");
        }
    }
}

/// Whether a variable surely holds a number.
pub(super) fn numeric(name: &str, state: &State) -> bool {
    match state.get(name) {
        Some(Known::Number) => true,
        Some(Known::Value(pieces)) => match pieces.as_slice() {
            [Piece::Text(text)] => {
                let digits = text.strip_prefix('-').unwrap_or(text);
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            }
            [] | [_] | [_, _, ..] => false,
        },
        None => matches!(name, "RANDOM" | "SECONDS" | "LINENO" | "UID" | "EUID" | "PPID" | "EPOCHSECONDS"),
    }
}
