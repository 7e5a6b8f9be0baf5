//! Settings of git's, read byte by byte as git reads them. Where git would give up, the next line is read all the same:
//! to know of more places than git does no harm.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// One value in settings that leads somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    /// What it names.
    pub(super) names: Names,
    /// What stands behind it, without quotes, escapes and remarks.
    pub(super) value: OsString,
}

/// What a value names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// A folder of hooks (`core.hooksPath`).
    Hooks,
    /// A folder that new repositories are made from (`init.templateDir`).
    Template,
    /// Other settings (`include.path`, `includeIf.….path`).
    Settings,
}

impl Names {
    /// By the first part of the section's name and the key, both in small letters.
    fn of(section: &str, key: &str) -> Option<Self> {
        match (section, key) {
            ("core", "hookspath") => Some(Self::Hooks),
            ("init", "templatedir") => Some(Self::Template),
            ("include" | "includeif", "path") => Some(Self::Settings),
            _ => None,
        }
    }
}

/// Every value in settings that leads somewhere; nothing if there are more than `most`.
pub(super) fn values(bytes: &[u8], most: usize) -> Option<Vec<Value>> {
    let mut text = Text { rest: bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) };
    let mut all = Vec::new();
    let mut section = String::new();
    while let Some(byte) = text.next() {
        match byte {
            b'#' | b';' => text.skip_line(),
            b'[' => section = text.section(),
            byte if byte.is_ascii_whitespace() || byte == b'\x0b' => {}
            byte => {
                let (key, has_value) = text.key(byte);
                if !has_value {
                    continue;
                }
                let value = text.value();
                if let Some(names) = Names::of(&section, &key) {
                    if all.len() >= most {
                        return None;
                    }
                    all.push(Value { names, value });
                }
            }
        }
    }
    Some(all)
}

/// What is still to be read.
struct Text<'a> {
    rest: &'a [u8],
}

impl Text<'_> {
    /// The next byte; the end of a line is one byte, however it is written.
    fn next(&mut self) -> Option<u8> {
        if let Some(rest) = self.rest.strip_prefix(b"\r\n") {
            self.rest = rest;
            return Some(b'\n');
        }
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n') {}
    }

    /// The first part of a section's name, up to and with the bracket that closes it.
    fn section(&mut self) -> String {
        let (mut name, mut named, mut quoted) = (Vec::new(), false, false);
        while let Some(byte) = self.next() {
            match byte {
                b'\n' => break,
                b']' if !quoted => break,
                b'\\' if quoted => drop(self.next()),
                b'"' => (quoted, named) = (!quoted, true),
                b' ' | b'\t' | b'.' => named = true,
                byte if !named => name.push(byte.to_ascii_lowercase()),
                _ => {}
            }
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    /// A key that begins with this byte, and whether a value follows.
    fn key(&mut self, first: u8) -> (String, bool) {
        let mut key = vec![first.to_ascii_lowercase()];
        let has_value = loop {
            match self.next() {
                Some(b'=') => break true,
                Some(b'\n') | None => break false,
                Some(b' ' | b'\t') => {}
                Some(byte) => key.push(byte.to_ascii_lowercase()),
            }
        };
        (String::from_utf8_lossy(&key).into_owned(), has_value)
    }

    /// A value up to the end of its line, or of the line that it goes on in.
    fn value(&mut self) -> OsString {
        let (mut out, mut quoted, mut kept) = (Vec::new(), false, 0);
        while let Some(byte) = self.next() {
            match byte {
                b'\n' => break,
                b'#' | b';' if !quoted => {
                    self.skip_line();
                    break;
                }
                b'"' => quoted = !quoted,
                b'\\' => match self.next() {
                    Some(b'\n') | None => continue,
                    Some(b'n') => out.push(b'\n'),
                    Some(b't') => out.push(b'\t'),
                    Some(b'b') => out.push(b'\x08'),
                    Some(byte) => out.push(byte),
                },
                byte if byte.is_ascii_whitespace() && !quoted && out.is_empty() => continue,
                byte => out.push(byte),
            }
            if quoted || !byte.is_ascii_whitespace() {
                kept = out.len();
            }
        }
        out.truncate(kept);
        // Git, a program in C, reads up to here.
        if let Some(end) = memchr::memchr(0, &out) {
            out.truncate(end);
        }
        OsString::from_vec(out)
    }
}

#[cfg(test)]
#[path = "settings/tests.rs"]
mod tests;
