//! Shared helpers for the tests of the audit log.

mod altered;
mod chain;
mod disks;
mod follow;
mod heads;
mod kill;
mod places;
mod processes;
mod secrets;
mod torn;
mod turns;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use askfirst::ports::{Clock, Durability};
use askfirst::record::{
    CallRecord, DecidedRecord, Ending, ExecutedRecord, ProcessOrigin, Record, SessionRecord,
};
use askfirst::{Approval, ApprovalContext, Args, Because, Cause, Risk, Timestamp, Verdict};
use tempfile::TempDir;

use super::disk::Disk;
use super::*;

/// A clock that advances by one each time it is read.
struct Steps(AtomicU64);

impl Clock for Steps {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn settings(path: &Path) -> LedgerSettings {
    LedgerSettings { path: path.to_owned(), sync: SyncRule::Asked, rotate: ROTATE, state: None }
}

/// Settings with which the head of the log is stored next to the log.
fn with_head(path: &Path) -> LedgerSettings {
    LedgerSettings { state: path.parent().map(Path::to_owned), ..settings(path) }
}

fn open_on(disk: Box<dyn Disk>, settings: LedgerSettings) -> Result<Ledger, LedgerError> {
    let clock = Arc::new(Steps(AtomicU64::new(1_700_000_000_000)));
    let session = SessionId::new(clock.now());
    Ledger::on(disk, settings, session, Arc::default(), clock)
}

fn open(path: &Path) -> Ledger {
    open_on(Box::new(RealDisk), settings(path)).unwrap()
}

fn open_with_head(path: &Path) -> Ledger {
    open_on(Box::new(RealDisk), with_head(path)).unwrap()
}

fn open_small(path: &Path, rotate: u64) -> Ledger {
    open_on(Box::new(RealDisk), LedgerSettings { rotate, ..with_head(path) }).unwrap()
}

fn scratch() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/ledger.jsonl");
    (folder, path)
}

/// Creates an audit log with some entries.
fn with_entries(path: &Path, count: usize) -> Ledger {
    let ledger = open(path);
    (0..count).for_each(|i| ledger.append(&executed(&format!("call-{i}")), Durability::Written).unwrap());
    ledger
}

fn executed(call_id: &str) -> Record {
    Record::Executed(ExecutedRecord {
        call_id: call_id.to_owned(),
        tool_name: "read_file".to_owned(),
        ended: Ending::Done,
        result: None,
        error: None,
        walled: None,
        took_ms: 1,
    })
}

fn decided(call_id: &str, args: Args) -> Record {
    Record::Decided(Box::new(DecidedRecord {
        call: CallRecord {
            call_id: call_id.to_owned(),
            call: ApprovalContext::new("send", args).into(),
            left_out: Vec::new(),
            description: None,
            payload: None,
            risk: Risk::Low,
            verdict: Verdict::Allow,
            approval: Approval::None,
            because: vec![Because::built_in("tools.send", "allowed")],
            policy: None,
        },
        approved: true,
        cause: Cause::Policy,
        decision: None,
        refusal: None,
        shown: None,
        seen: None,
        waited_ms: 0,
        edited_from: None,
        changes: None,
    }))
}

fn call_ids(path: &Path) -> Vec<String> {
    let entries = read(path, Filter::default()).unwrap().filter_map(Result::ok);
    entries.filter_map(|entry| entry.call_id().map(str::to_owned)).collect()
}

fn faults(path: &Path) -> Vec<String> {
    let checked = verify_with_head(path, None, path.parent().unwrap()).unwrap();
    checked.faults.iter().map(ToString::to_string).collect()
}
