//! Reads, verifies and continues a changed audit log without a panic. With a hash that was noted before, the check
//! finds every change to covered content. In half of the runs, the file has only the fuzzer's bytes.
#![no_main]

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use arbitrary::Arbitrary;
use askfirst::ports::{Clock, Durability};
use askfirst::record::{Ending, ExecutedRecord, Record};
use askfirst::{Digest, Timestamp};
use askfirst_config::SyncRule;
use askfirst_display::redact::Redactor;
use askfirst_runtime::ledger::{Filter, Ledger, LedgerSettings, SessionId, read, verify};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
enum File<'a> {
    Raw(&'a [u8]),
    Changed(Vec<Change<'a>>),
}

/// Some bytes of a valid log, replaced by others.
#[derive(Debug, Arbitrary)]
struct Change<'a> {
    at: u16,
    out: u16,
    put: Put<'a>,
}

#[derive(Debug, Arbitrary)]
enum Put<'a> {
    Bytes(&'a [u8]),
    /// A line of the valid log.
    Line(u8),
    Newline,
}

struct Good {
    folder: PathBuf,
    text: Vec<u8>,
    head: Digest,
}

static GOOD: LazyLock<Good> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("askfirst-fuzz-ledger-{}", std::process::id()));
    let path = folder.join("good.jsonl");
    let ledger = open(path.clone());
    for number in 0..4 {
        ledger.append(&record(number), Durability::Written).expect("a good ledger");
    }
    let checked = verify(&path, None).expect("a good ledger");
    assert!(checked.holds(), "{checked:?}");
    Good { folder, text: std::fs::read(&path).expect("a good ledger"), head: checked.head.expect("entries") }
});

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(1_700_000_000_000)
    }
}

fn open(path: PathBuf) -> Ledger {
    let settings = LedgerSettings { path, sync: SyncRule::Asked, rotate: 1 << 20, state: None };
    let redactor = Arc::new(Redactor::new(&[], Vec::new()).expect("no globs"));
    Ledger::open(settings, SessionId::new(Still.now()), redactor, Arc::new(Still)).expect("a ledger")
}

fn record(number: u32) -> Record {
    Record::Executed(ExecutedRecord {
        call_id: format!("c{number}"),
        tool_name: "t".to_owned(),
        ended: Ending::Done,
        result: None,
        error: None,
        walled: None,
        took_ms: 1,
    })
}

fn text(file: &File<'_>) -> Vec<u8> {
    match file {
        File::Raw(bytes) => bytes.to_vec(),
        File::Changed(changes) => {
            let mut text = GOOD.text.clone();
            for change in changes.iter().take(8) {
                let at = usize::from(change.at) % (text.len() + 1);
                let to = (at + usize::from(change.out)).min(text.len());
                let lines = || GOOD.text.split_inclusive(|byte| *byte == b'\n');
                let put = match change.put {
                    Put::Bytes(bytes) => bytes,
                    Put::Line(number) => {
                        lines().nth(usize::from(number) % lines().count()).unwrap_or_default()
                    }
                    Put::Newline => b"\n",
                };
                text.splice(at..to, put.iter().copied());
            }
            text
        }
    }
}

fuzz_target!(|file: File<'_>| {
    let text = text(&file);
    let path = GOOD.folder.join("ledger.jsonl");
    // The file must be private to this user; otherwise askfirst does not open it.
    let fresh = GOOD.folder.join("fresh");
    std::fs::write(&fresh, &text).expect("a file");
    std::fs::rename(&fresh, &path).expect("a file");

    let whole = GOOD.text.strip_suffix(b"\n").unwrap_or_default();
    let checked = verify(&path, Some(GOOD.head)).expect("a file that is there");
    assert!(!checked.holds() || text.starts_with(whole), "a change goes unseen: {checked:?}");
    let alone = verify(&path, None).expect("a file that is there");
    let listed = read(&path, Filter::default()).expect("a file that is there");
    let entries = listed.filter_map(Result::ok).count() as u64;
    assert!(!alone.holds() || entries == alone.entries, "{entries} are read, {alone:?}");

    if open(path.clone()).append(&record(9), Durability::Written).is_ok() {
        let after = std::fs::read(&path).expect("a file that is there");
        assert!(after.starts_with(&text), "something was written over");
        let checked = verify(&path, None).expect("a file that is there");
        assert!(checked.holds() || !alone.holds(), "going on broke it: {checked:?}");
        assert!(checked.entries > 0);
    }
});
