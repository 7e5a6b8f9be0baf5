//! Reads entries, oldest first, across files. A line that cannot be read is reported and skipped.
//!
//! Only the first entry of a session names its user, terminal and host. The reader adds it to the session's other
//! entries.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::record::{ProcessOrigin, Record, SessionRecord};
use askfirst::when::Glob;
use askfirst::{Args, Digest, Timestamp};
use serde_json::Value;

use super::error::LedgerError;
use super::line::{self, PositionError};
use super::lines::{Lines, LogFile, LogSnapshot, Position};
use super::session::rfc3339;

/// Selects entries. The default selects all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only entries of this session. The end of its ID is enough.
    pub session: Option<String>,
    /// Only entries about this call.
    pub call_id: Option<String>,
    /// Only entries about this tool: a name or a glob.
    pub tool: Option<String>,
    /// Only entries of this kind: `session`, `requested`, `decided`, `executed`, …
    pub kind: Option<String>,
    /// Only entries at or after this time.
    pub since: Option<Timestamp>,
    /// Only entries before this time.
    pub until: Option<Timestamp>,
    /// Only entries that refuse a call.
    pub refused: bool,
}

impl Filter {
    fn wants(&self, entry: &Entry, tools: Option<&Glob>) -> bool {
        let fits =
            |wanted: &Option<String>, found: Option<&str>| wanted.is_none() || wanted.as_deref() == found;
        let is_tool = |name: &str| tools.is_some_and(|tools| tools.is_match(name));
        self.session.as_ref().is_none_or(|end| entry.is_of_session(end))
            && fits(&self.kind, Some(&entry.kind))
            && fits(&self.call_id, entry.call_id())
            && (fits(&self.tool, entry.tool_name()) || entry.tool_name().is_some_and(is_tool))
            && (!self.refused || entry.refuses())
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
    /// The first entry of its session, unless that entry is missing.
    pub session_start: Option<Arc<SessionRecord>>,
}

impl Entry {
    /// Returns the entry as a [`Record`], if this version knows its kind. Secrets are redacted.
    #[must_use]
    pub fn record(&self) -> Option<Record> {
        let mut fields = self.fields.clone();
        fields.insert("kind".to_owned(), Value::String(self.kind.clone()));
        serde_json::from_value(Value::Object(fields)).ok()
    }

    /// Returns who started the session of the entry, and where.
    #[must_use]
    pub fn origin(&self) -> Option<&ProcessOrigin> {
        self.session_start.as_ref()?.origin.as_ref()
    }

    /// Returns whether the entry is of the session with this ID, or with an ID that ends like this. A front end may
    /// name its calls after a session of its own.
    #[must_use]
    pub fn is_of_session(&self, end: &str) -> bool {
        let named = self.call_id().and_then(|id| id.rsplit_once('-'));
        self.session.ends_with(end) || named.is_some_and(|(session, _)| session.ends_with(end))
    }

    /// Returns whether the entry refuses a call.
    #[must_use]
    pub fn refuses(&self) -> bool {
        let is = |key: &str, value: Value| self.fields.get(key) == Some(&value);
        self.kind == "decided" && is("approved", Value::Bool(false))
            || self.kind == "executed" && is("ended", Value::String("denied".to_owned()))
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
    /// The problem.
    pub what: String,
}

/// Reads the entries of an audit log, including its closed files.
///
/// # Errors
/// Fails if the audit log does not exist or cannot be opened.
pub fn read(path: &Path, filter: Filter) -> Result<Entries, LedgerError> {
    let snapshot = LogSnapshot::of(path)?;
    let mut parts = snapshot.parts.clone();
    parts.reverse();
    // A text that is not a glob can still be a name.
    let tools = filter.tool.as_deref().and_then(|tool| Glob::of_names(tool).ok());
    let (path, sessions) = (path.to_owned(), HashMap::new());
    Ok(Entries { path, snapshot, filter, tools, parts, open: None, sessions, read_to: None })
}

/// Returns all entries about one call.
///
/// # Errors
/// Fails if the audit log does not exist or cannot be opened.
pub fn find(path: &Path, call_id: &str) -> Result<Vec<Entry>, LedgerError> {
    let filter = Filter { call_id: Some(call_id.to_owned()), ..Filter::default() };
    Ok(read(path, filter)?.filter_map(Result::ok).collect())
}

/// How the files of an audit log have changed since they were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// They have not changed.
    Same,
    /// More was written.
    Grown,
    /// The file that was read last is gone or was cut. The newest file is read from its beginning.
    Replaced,
}

/// Iterates over the entries that match a filter, and over every line that cannot be read.
#[derive(Debug)]
pub struct Entries {
    path: PathBuf,
    snapshot: LogSnapshot,
    filter: Filter,
    tools: Option<Glob>,
    parts: Vec<LogFile>,
    open: Option<(PathBuf, Lines)>,
    sessions: HashMap<String, Arc<SessionRecord>>,
    read_to: Option<Position>,
}

impl Entries {
    /// Looks at the files again, so that the iterator continues with later entries. They may be in files that were
    /// closed or started since then.
    ///
    /// # Errors
    /// Fails if the audit log does not exist or cannot be opened.
    pub fn refresh(&mut self) -> Result<Refresh, LedgerError> {
        if self.snapshot.is_current(&self.path) {
            return Ok(Refresh::Same);
        }
        self.snapshot = LogSnapshot::of(&self.path)?;
        let goes_on = self.read_to.is_none_or(|read_to| self.snapshot.skip_to(read_to));
        if !goes_on {
            // The closed files were read before.
            self.snapshot.parts.retain(|part| part.closed.is_none());
            self.read_to = None;
        }
        self.parts.clone_from(&self.snapshot.parts);
        self.parts.reverse();
        Ok(if goes_on { Refresh::Grown } else { Refresh::Replaced })
    }
}

/// Adds the first entry of its session to an entry.
fn attribute(entry: &mut Entry, sessions: &mut HashMap<String, Arc<SessionRecord>>) {
    if let Some(Record::Session(start)) = (entry.kind == "session").then(|| entry.record()).flatten() {
        sessions.insert(entry.session.clone(), Arc::new(start));
    }
    entry.session_start = sessions.get(&entry.session).cloned();
}

impl Iterator for Entries {
    type Item = Result<Entry, ReadFault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((file, lines)) = &mut self.open else {
                let part = self.parts.pop()?;
                match self.snapshot.lines(&part, self.read_to) {
                    Ok(lines) => self.open = Some((part.path, lines)),
                    Err(e) => return Some(Err(ReadFault { file: part.path, line: 0, what: e.to_string() })),
                }
                continue;
            };
            let fault = |line, what: String| Some(Err(ReadFault { file: file.clone(), line, what }));
            match lines.next() {
                Ok(None) => {
                    self.read_to = Some(lines.end);
                    self.open = None;
                }
                Ok(Some(line)) => match entry(file, line.number, line.bytes) {
                    Ok(mut entry) => {
                        attribute(&mut entry, &mut self.sessions);
                        if self.filter.wants(&entry, self.tools.as_ref()) {
                            return Some(Ok(entry));
                        }
                    }
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
        session_start: None,
    })
}

/// Parses the fields of a line.
pub(super) fn fields(bytes: &[u8]) -> Result<Args, String> {
    serde_json::from_slice(bytes).map_err(|e| format!("this line is not valid JSON: {e}"))
}

/// Describes the fault of a line that is not part of the chain.
pub(super) fn wrong(no_place: PositionError) -> &'static str {
    match no_place {
        PositionError::Shape => "this is not a whole line of the audit log",
        PositionError::Hash => "this line was changed: its hash is not that of its bytes",
    }
}
