//! Reads entries, oldest first, across files. A line that cannot be read is reported and skipped.

use std::path::{Path, PathBuf};

use askfirst::record::Record;
use askfirst::{Args, Digest, Timestamp};
use serde_json::Value;

use super::error::LedgerError;
use super::line::{self, PositionError};
use super::lines::{Lines, LogFile, Moment};
use super::session::rfc3339;

/// Selects entries. The default selects all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only entries of this session.
    pub session: Option<String>,
    /// Only entries about this call.
    pub call_id: Option<String>,
    /// Only entries about calls of this tool.
    pub tool: Option<String>,
    /// Only entries of this kind: `session`, `requested`, `decided`, `executed`, …
    pub kind: Option<String>,
    /// Only entries at or after this time.
    pub since: Option<Timestamp>,
    /// Only entries before this time.
    pub until: Option<Timestamp>,
}

impl Filter {
    fn wants(&self, entry: &Entry) -> bool {
        let fits =
            |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
        fits(&self.session, Some(&entry.session))
            && fits(&self.kind, Some(&entry.kind))
            && fits(&self.call_id, entry.call_id())
            && fits(&self.tool, entry.tool_name())
            && self.since.is_none_or(|since| rfc3339(since) <= entry.at)
            && self.until.is_none_or(|until| entry.at < rfc3339(until))
    }
}

/// One entry, as read from the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The file that contains it.
    pub file: PathBuf,
    /// The line number, counted from 1.
    pub line: u64,
    /// Its number in the chain.
    pub seq: u64,
    /// When it was written.
    pub at: String,
    /// The session that wrote it.
    pub session: String,
    /// The process that wrote it.
    pub pid: u64,
    /// Its kind.
    pub kind: String,
    /// The hash of the entry before.
    pub prev: Option<Digest>,
    /// Its own hash.
    pub hash: Option<Digest>,
    /// All other fields.
    pub fields: Args,
}

impl Entry {
    /// Returns the entry as a [`Record`], if this version knows its kind. Secrets are redacted.
    #[must_use]
    pub fn record(&self) -> Option<Record> {
        let mut fields = self.fields.clone();
        fields.insert("kind".to_owned(), Value::String(self.kind.clone()));
        serde_json::from_value(Value::Object(fields)).ok()
    }

    /// Returns the id of the call that the entry is about.
    #[must_use]
    pub fn call_id(&self) -> Option<&str> {
        self.fields.get("call_id").and_then(Value::as_str)
    }

    /// Returns the tool that the entry is about.
    #[must_use]
    pub fn tool_name(&self) -> Option<&str> {
        let call = self.fields.get("call").and_then(|call| call.get("tool_name"));
        call.or_else(|| self.fields.get("tool_name")).and_then(Value::as_str)
    }
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{line}: {what}", .file.display())]
pub struct ReadFault {
    /// The file.
    pub file: PathBuf,
    /// The line number, counted from 1; 0 for the whole file.
    pub line: u64,
    /// What is wrong.
    pub what: String,
}

/// Reads the entries of an audit log, including its closed files.
///
/// # Errors
/// Fails if the audit log does not exist or cannot be opened.
pub fn read(path: &Path, filter: Filter) -> Result<Entries, LedgerError> {
    let moment = Moment::of(path)?;
    let mut parts = moment.parts.clone();
    parts.reverse();
    Ok(Entries { moment, filter, parts, open: None })
}

/// Returns all entries about one call.
///
/// # Errors
/// Fails if the audit log does not exist or cannot be opened.
pub fn find(path: &Path, call_id: &str) -> Result<Vec<Entry>, LedgerError> {
    let filter = Filter { call_id: Some(call_id.to_owned()), ..Filter::default() };
    Ok(read(path, filter)?.filter_map(Result::ok).collect())
}

/// Iterates over the entries that match a filter, and over every line that cannot be read.
#[derive(Debug)]
pub struct Entries {
    moment: Moment,
    filter: Filter,
    parts: Vec<LogFile>,
    open: Option<(PathBuf, Lines)>,
}

impl Iterator for Entries {
    type Item = Result<Entry, ReadFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((file, lines)) = &mut self.open else {
                let part = self.parts.pop()?;
                match self.moment.lines(&part) {
                    Ok(lines) => self.open = Some((part.path, lines)),
                    Err(e) => return Some(Err(ReadFault { file: part.path, line: 0, what: e.to_string() })),
                }
                continue;
            };
            let fault = |line, what: String| Some(Err(ReadFault { file: file.clone(), line, what }));
            match lines.next() {
                Ok(None) => self.open = None,
                Ok(Some(line)) => match entry(file, line.number, line.bytes) {
                    Ok(entry) if self.filter.wants(&entry) => return Some(Ok(entry)),
                    Ok(_) => {}
                    Err(what) => return fault(line.number, what),
                },
                Err(e) => {
                    let failed = fault(0, e.to_string());
                    self.open = None;
                    return failed;
                }
            }
        }
    }
}

fn entry(file: &Path, number: u64, bytes: &[u8]) -> Result<Entry, String> {
    let place = line::place(bytes).map_err(|no_place| wrong(no_place).to_owned())?;
    let mut fields = fields(bytes)?;
    let mut text = |key: &str| match fields.remove(key) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let (at, session, kind) = (text("at"), text("session"), text("kind"));
    let pid = fields.remove("pid").and_then(|pid| pid.as_u64()).unwrap_or_default();
    ["v", "seq", "prev", "hash"].iter().for_each(|key| drop(fields.remove(*key)));
    let (prev, hash) = (line::digest(&place.prev), line::digest(&place.hash));
    Ok(Entry {
        file: file.to_owned(),
        line: number,
        seq: place.seq,
        at,
        session,
        pid,
        kind,
        prev,
        hash,
        fields,
    })
}

/// Parses the fields of a line.
pub(super) fn fields(bytes: &[u8]) -> Result<Args, String> {
    serde_json::from_slice(bytes).map_err(|e| format!("it is not valid JSON: {e}"))
}

/// Describes the fault of a line that is not part of the chain.
pub(super) fn wrong(no_place: PositionError) -> &'static str {
    match no_place {
        PositionError::Shape => "it is not a whole line of the audit log",
        PositionError::Hash => "it was changed: its hash is not that of its bytes",
    }
}
