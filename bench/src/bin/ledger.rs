//! Compares one entry of the audit log with a plain write of as many bytes, both with and without a sync.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::ports::{Clock, Durability};
use askfirst::record::{CallRecord, DecidedRecord, Record};
use askfirst::{Approval, ApprovalContext, Because, Cause, Digest, Risk, Verdict};
use askfirst_bench::{Contestant, Failure, print_race};
use askfirst_config::SyncRule;
use askfirst_display::redact::Redactor;
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::ledger::{Ledger, LedgerSettings, SessionId};
use serde_json::{Map, Value, json};

fn main() -> Result<(), Failure> {
    let within = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = Folder::new(&within)?;
    for (label, content) in [("a small call", 20), ("a call of 1 KB", 1000), ("a call of 64 KB", 64_000)] {
        race(label, &record(content), &folder.0)?;
    }
    Ok(())
}

fn race(label: &str, record: &Record, folder: &Path) -> Result<(), Failure> {
    let ledger = open(&folder.join("ledger.jsonl"))?;
    ledger.append(record, Durability::Written)?;
    ledger.append(record, Durability::Written)?;
    let text = std::fs::read(ledger.path())?;
    let line = text.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let bytes = [line, b"\n"].concat();
    let bare = OpenOptions::new().append(true).create(true).open(folder.join("bare"))?;
    println!("{label}: {} bytes a line", bytes.len());
    let append = |durability| ledger.append(record, durability).expect("the entry stands");
    print_race(
        "  written",
        &mut [
            Contestant::new("write", |_| write(&bare, &bytes)),
            Contestant::new("lock, stat, write, unlock", |_| {
                bare.lock().expect("a lock");
                bare.metadata().expect("a size");
                write(&bare, &bytes);
                bare.unlock().expect("no lock");
            }),
            Contestant::new("ledger", |_| append(Durability::Written)),
        ],
    );
    print_race(
        "  synced",
        &mut [
            Contestant::waiting("write, fdatasync", |_| {
                write(&bare, &bytes);
                bare.sync_data().expect("it is on the disk");
            }),
            Contestant::waiting("ledger", |_| append(Durability::Synced)),
        ],
    );
    std::fs::remove_file(ledger.path())?;
    std::fs::remove_dir_all(folder.join("heads"))?;
    std::fs::remove_file(folder.join("bare"))?;
    Ok(())
}

fn write(mut file: &File, bytes: &[u8]) {
    assert_eq!(file.write(bytes).expect("a write"), bytes.len());
}

fn open(path: &Path) -> Result<Ledger, Failure> {
    let clock = SystemClock::start();
    let session = SessionId::new(clock.now());
    let state = path.parent().map(Path::to_owned);
    let settings = LedgerSettings { path: path.to_owned(), sync: SyncRule::Asked, rotate: u64::MAX, state };
    Ok(Ledger::open(settings, session, Arc::new(Redactor::new(&[], Vec::new())?), Arc::new(clock))?)
}

/// Returns a call that was allowed without asking.
fn record(content: usize) -> Record {
    let args: Map<String, Value> = [
        ("path".to_owned(), json!("drafts/2026/plan.md")),
        ("mode".to_owned(), json!("create")),
        ("content".to_owned(), json!("a line of text\n".repeat(content / 15))),
    ]
    .into_iter()
    .collect();
    let because = Because {
        rule: "tools.write_file".into(),
        file: Some("askfirst.yaml".into()),
        line: Some(12),
        text: "approval: none".into(),
    };
    let call = CallRecord {
        call_id: "c17".to_owned(),
        call: ApprovalContext::new("write_file", args).into(),
        left_out: Vec::new(),
        description: None,
        payload: None,
        risk: Risk::Low,
        verdict: Verdict::Allow,
        approval: Approval::None,
        because: vec![because],
        policy: Some(Digest::of("the config")),
    };
    Record::Decided(Box::new(DecidedRecord {
        call,
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

struct Folder(PathBuf);

impl Folder {
    fn new(within: &Path) -> Result<Self, Failure> {
        let folder = within.join(format!("askfirst-bench-{}", std::process::id()));
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
