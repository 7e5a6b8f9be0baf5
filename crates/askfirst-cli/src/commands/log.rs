//! `log`: lists the calls in the audit log, shows one call, and verifies the audit log.

mod csv;
mod row;
mod show;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use askfirst::Timestamp;
use askfirst::record::SessionRecord;
use askfirst::when::Glob;
use askfirst_config::{Places, parse_duration};
use askfirst_runtime::ledger::{
    Entries, Entry, Filter, ReadFault, Refresh, lost_entry, parse_utc, read, rfc3339, verify_with_head,
};
use askfirst_runtime::tools::catalog::ledger_path;
use serde_json::{Value, json};

use crate::args::{Common, LogCommand, LogFlags};
use crate::commands::run::line::layout;
use crate::exit::Exit;
use crate::print::{counted, err, is_read_for, out};
use crate::session::read_config;
use row::{LogRow, LogRows, NewestRows, short};

/// How many calls or entries are listed if no flag says otherwise.
const LAST: usize = 20;

/// How often `--follow` looks for new entries.
const POLL: Duration = Duration::from_millis(200);

const SEE_VERIFY: &str = "hint: `askfirst log verify` says what is missing";

/// Shows one call, or verifies the audit log.
pub fn command(common: &Common, command: &LogCommand, flags: &LogFlags) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        *flags == LogFlags::default(),
        "the flags that select calls belong to `askfirst log` without a subcommand"
    );
    let (path, state) = place(common)?;
    match command {
        LogCommand::Verify { expect } => verify(common, &path, &state, expect.as_deref()),
        LogCommand::Show { id, all } => show::show(common, &path, id, *all),
    }
}

/// Lists the newest calls or entries. With `--follow`, goes on until standard output is closed.
pub fn list(common: &Common, flags: &LogFlags) -> anyhow::Result<Exit> {
    let (path, state) = place(common)?;
    let filter = filter(flags)?;
    let mut printer = Printer::new(common, flags, filter);
    let mut exit = Exit::Done;
    if !path.exists() {
        // If someone removed the log, its stored head is still there.
        let faults = verify_with_head(&path, None, &state).map(|found| found.faults).unwrap_or_default();
        faults.iter().for_each(|fault| err(&format!("warning: {fault}")));
        if faults.is_empty() {
            err(&format!("no audit log yet at `{}`", path.display()));
        } else {
            err(SEE_VERIFY);
            exit = Exit::ToolFailed;
        }
        while !path.exists() {
            if !flags.follow || !is_read_for(POLL) {
                return Ok(exit);
            }
        }
    } else if let Some(number) = lost_entry(&path, &state) {
        err(&format!("warning: the audit log was emptied, cut or replaced: its entry {number} is missing"));
        err(SEE_VERIFY);
        exit = Exit::ToolFailed;
    }
    let mut entries = read(&path, printer.filter_of_entries())?;
    entries.by_ref().for_each(|entry| printer.add(entry));
    printer.end();
    if flags.follow {
        follow(&mut entries, &mut printer);
    } else if matches!(&printer.format, Format::Rows { header } if header.is_empty()) {
        err("the audit log has no such calls");
    }
    Ok(exit)
}

/// Prints what is written from now on, until standard output is closed.
fn follow(entries: &mut Entries, printer: &mut Printer) {
    let mut failed = String::new();
    while is_read_for(POLL) {
        match entries.refresh() {
            Ok(Refresh::Same) => {}
            Ok(fresh @ (Refresh::Grown | Refresh::Replaced)) => {
                if fresh == Refresh::Replaced {
                    err("warning: the file of the audit log was cut or replaced");
                }
                failed.clear();
                entries.by_ref().for_each(|entry| printer.add(entry));
            }
            Err(e) if e.to_string() == failed => {}
            Err(e) => {
                failed = e.to_string();
                err(&format!("warning: {failed}"));
            }
        }
    }
}

/// Prints all calls of an audit log.
pub fn print_all(path: &Path) -> anyhow::Result<()> {
    let mut printer = Printer::of(Format::Rows { header: String::new() }, Filter::default(), None);
    read(path, Filter::default())?.for_each(|entry| printer.add(entry));
    printer.end();
    Ok(())
}

/// How calls are printed.
enum Format {
    /// Rows for a person, below a header that says who started the session. The header is the last one printed.
    Rows { header: String },
    /// One row of CSV for each call.
    Csv,
    /// The entries, one line of JSON each.
    Json,
}

/// Prints the calls or entries that a filter selects.
struct Printer {
    format: Format,
    filter: Filter,
    rows: LogRows,
    newest_rows: NewestRows<LogRow>,
    newest_entries: NewestRows<Value>,
}

impl Printer {
    fn new(common: &Common, flags: &LogFlags, filter: Filter) -> Self {
        let all = flags.csv || flags.since.is_some();
        let last = flags.last.or((!all).then_some(LAST));
        let format = match (common.json, flags.csv) {
            (true, _) => Format::Json,
            (false, true) => Format::Csv,
            (false, false) => Format::Rows { header: String::new() },
        };
        if flags.csv {
            crate::print::csv(&csv::header());
        }
        Self::of(format, filter, last)
    }

    fn of(format: Format, filter: Filter, last: Option<usize>) -> Self {
        let (newest_rows, newest_entries) = (NewestRows::new(last), NewestRows::new(last));
        Self { format, filter, rows: LogRows::default(), newest_rows, newest_entries }
    }

    /// Returns the filter for the entries. A row needs all entries of its call, and is then filtered itself.
    fn filter_of_entries(&self) -> Filter {
        match self.format {
            Format::Json => self.filter.clone(),
            Format::Rows { .. } | Format::Csv => {
                Filter { since: None, refused: false, ..self.filter.clone() }
            }
        }
    }

    fn wants(&self, row: &LogRow) -> bool {
        self.filter.since.is_none_or(|since| rfc3339(since) <= row.until)
            && (!self.filter.refused || row.is_refused())
    }

    fn add(&mut self, entry: Result<Entry, ReadFault>) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(fault) => return err(&format!("warning: {fault}")),
        };
        match self.format {
            Format::Json => {
                self.newest_entries.push(as_json(&entry)).iter().for_each(crate::print::json);
            }
            Format::Rows { .. } | Format::Csv => {
                for row in self.rows.add(entry) {
                    if self.wants(&row)
                        && let Some(row) = self.newest_rows.push(row)
                    {
                        self.print(&row);
                    }
                }
            }
        }
    }

    /// Prints the newest calls, and those that have not ended. From now on, a call is printed when it ends.
    fn end(&mut self) {
        let open: Vec<LogRow> = self.rows.open().filter(|row| self.wants(row)).cloned().collect();
        let rows = self.newest_rows.end(open);
        rows.iter().for_each(|row| self.print(row));
        self.newest_entries.end(Vec::new()).iter().for_each(crate::print::json);
    }

    fn print(&mut self, row: &LogRow) {
        let Format::Rows { header } = &mut self.format else { return crate::print::csv(&csv::row(row)) };
        let (date, time) = row.until.split_once('T').unwrap_or(("", &row.until));
        let about = format!("{date} UTC  {}", session_starter(row.start.as_deref()));
        if *header != about {
            out(&about);
            *header = about;
        }
        let (word, rest) = row.status();
        let (time, by) = (time.get(..8).unwrap_or(time), row.decider());
        let head = format!("  {time}  {:<10} {word:<8} {by:<8}  ", short(&row.call_id));
        layout(&head, &row.what, "", &rest, askfirst_terminal::columns()).iter().for_each(|row| out(row));
    }
}

/// Returns the columns of the terminal, if standard output is one.
fn columns() -> Option<usize> {
    std::io::stdout().is_terminal().then(askfirst_terminal::columns)
}

/// Names the user, the host, the front end and the terminal of a session.
fn session_starter(start: Option<&SessionRecord>) -> String {
    let Some(start) = start else { return "a session whose start is not in the log".to_owned() };
    let origin = start.origin.as_ref();
    let user = origin.map(|origin| format!("{origin}, ")).unwrap_or_default();
    let terminal = origin.and_then(|origin| origin.terminal.as_ref());
    let terminal = terminal.map(|terminal| format!(" at {terminal}")).unwrap_or_default();
    format!("{user}{}{terminal}", start.door)
}

fn filter(flags: &LogFlags) -> anyhow::Result<Filter> {
    if let Some(tool) = &flags.tool {
        Glob::of_names(tool).context("invalid `--tool`")?;
    }
    Ok(Filter {
        session: flags.session.clone(),
        tool: flags.tool.clone(),
        since: flags.since.as_deref().map(since).transpose()?,
        refused: flags.refused,
        ..Filter::default()
    })
}

/// Parses a duration before now, or a date.
fn since(text: &str) -> anyhow::Result<Timestamp> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let ago = parse_duration(text).map(|ago| Timestamp(0).after(now.saturating_sub(ago)));
    ago.or_else(|| parse_utc(text)).with_context(|| {
        format!(
            "invalid time `{text}`; hint: use a duration such as `2h` or `3d`, or a date such as `2026-11-18`"
        )
    })
}

/// Verifies the audit log, and compares it with its stored head.
fn verify(common: &Common, path: &Path, state: &Path, expect: Option<&str>) -> anyhow::Result<Exit> {
    let expect = expect.map(str::parse).transpose().context("invalid hash in `--expect`")?;
    let found = verify_with_head(path, expect, state)?;
    if common.json {
        let faults: Vec<_> = found
            .faults
            .iter()
            .map(|fault| json!({"file": fault.file, "line": fault.line, "what": fault.what}))
            .collect();
        crate::print::json(&json!({
            "holds": found.holds(), "files": found.files, "entries": found.entries, "first": found.first,
            "last": found.last, "head": found.head, "stored_head": found.stored, "torn": found.torn,
            "faults": faults, "covers": found.covers,
        }));
    } else {
        for fault in &found.faults {
            out(&format!("fault: {fault}"));
        }
        let torn = if found.torn > 0 {
            format!(", {} explained", counted(found.torn, "torn write"))
        } else {
            String::new()
        };
        let verdict = if found.holds() { "the audit log is intact" } else { "THE AUDIT LOG IS NOT INTACT" };
        let entries = if found.entries == 1 { "entry" } else { "entries" };
        let files = counted(found.files.len() as u64, "file");
        out(&format!("{verdict}: {} {entries} in {files}{torn}", found.entries));
        out(&found.covers);
        if let Some(head) = found.head {
            out(&format!("head: {head}"));
        }
    }
    Ok(if found.holds() { Exit::Done } else { Exit::ToolFailed })
}

/// Returns the path of the audit log and the state folder.
fn place(common: &Common) -> anyhow::Result<(PathBuf, PathBuf)> {
    let state = Places::from_env().state;
    Ok((ledger_path(&read_config(common)?, &state), state))
}

/// Returns an entry as JSON, with the user, the host, the terminal and the front end of its session.
fn as_json(entry: &Entry) -> Value {
    let mut fields = entry.fields.clone();
    if let Some(start) = &entry.session_start {
        let mut origin = json!(start.origin);
        if origin.is_null() {
            origin = json!({});
        }
        if let Some(origin) = origin.as_object_mut() {
            origin.insert("front_end".to_owned(), json!(start.door));
        }
        fields.insert("origin".to_owned(), origin);
    }
    let more = [
        ("seq", json!(entry.seq)),
        ("at", json!(entry.at)),
        ("session", json!(entry.session)),
        ("kind", json!(entry.kind)),
        ("hash", json!(entry.hash)),
    ];
    fields.extend(more.map(|(key, value)| (key.to_owned(), value)));
    Value::Object(fields)
}
