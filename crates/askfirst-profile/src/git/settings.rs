//! Parses git settings byte by byte, as git does. Where git would report an error, this parser continues with the next
//! line: finding more paths than git does no harm.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// One setting that names a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingValue {
    /// The key of the setting.
    pub(super) key: SettingKey,
    /// Its value, without quotes, escapes and comments.
    pub(super) value: OsString,
}

/// The keys that name a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingKey {
    /// A folder of hooks (`core.hooksPath`).
    HooksPath,
    /// A folder that git copies into new repositories (`init.templateDir`).
    TemplateDir,
    /// Another settings file (`include.path`, `includeIf.….path`).
    Include,
}

impl SettingKey {
    /// Finds the key by the first part of the section name and the key name, both in lower case.
    fn of(section: &str, key: &str) -> Option<Self> {
        match (section, key) {
            ("core", "hookspath") => Some(Self::HooksPath),
            ("init", "templatedir") => Some(Self::TemplateDir),
            ("include" | "includeif", "path") => Some(Self::Include),
            _ => None,
        }
    }
}

/// Returns every setting that names a path; `None` if there are more than `most`.
pub(super) fn values(bytes: &[u8], most: usize) -> Option<Vec<SettingValue>> {
    let mut parser = Parser { rest: bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) };
    let mut all = Vec::new();
    let mut section = String::new();
    while let Some(byte) = parser.next() {
        match byte {
            b'#' | b';' => parser.skip_line(),
            b'[' => section = parser.section(),
            byte if byte.is_ascii_whitespace() || byte == b'\x0b' => {}
            byte => {
                let (key, has_value) = parser.key(byte);
                if !has_value {
                    continue;
                }
                let value = parser.value();
                if let Some(setting) = SettingKey::of(&section, &key) {
                    if all.len() >= most {
                        return None;
                    }
                    all.push(SettingValue { key: setting, value });
                }
            }
        }
    }
    Some(all)
}

/// The bytes that are not parsed yet.
struct Parser<'a> {
    rest: &'a [u8],
}

impl Parser<'_> {
    /// Returns the next byte. A line end is one byte, however it is written.
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

    /// Reads a section header up to its closing bracket, and returns the first part of its name.
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

    /// Reads a key that begins with this byte, and returns whether a value follows.
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

    /// Reads a value up to the end of its line, or of the line where it continues.
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
        // Git reads a C string, which ends at a NUL byte.
        if let Some(end) = memchr::memchr(0, &out) {
            out.truncate(end);
        }
        OsString::from_vec(out)
    }
}

#[cfg(test)]
#[path = "settings/tests.rs"]
mod tests;
