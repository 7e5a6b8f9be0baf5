//! Compares a lookup in the memory with a `HashMap` keyed by the tool and the payload's canonical text.

use std::collections::HashMap;
use std::hint::black_box;

use askfirst::json::canonical;
use askfirst::pattern::{Loosen, OfferedPattern};
use askfirst::{ApprovalDecision, ApprovalMemory, ApprovalRequest, ApprovalScope, Cause, Timestamp};
use askfirst_bench::{Contestant, Failure, print_race};
use serde_json::{Map, Value, json};

const NOW: Timestamp = Timestamp(1);
const TOOL: &str = "write_file";

fn main() -> Result<(), Failure> {
    for count in [10, 10_000] {
        race(count)?;
    }
    Ok(())
}

fn race(count: usize) -> Result<(), Failure> {
    let stored: Vec<Value> = (0..count).map(|i| payload(&format!("drafts/{i}/plan.md"))).collect();
    let others: Vec<Value> = (0..64).map(|i| payload(&format!("letters/{i}/plan.md"))).collect();
    let hits: Vec<Value> =
        (0..64).map(|n| payload(&format!("drafts/{}/plan.md", n * 7919 % count))).collect();
    let map: HashMap<String, ApprovalDecision> =
        stored.iter().map(|payload| (key(payload), yes(ApprovalScope::Session))).collect();
    let mut exact = ApprovalMemory::new(None);
    let mut any = ApprovalMemory::new(None);
    let mut under = ApprovalMemory::new(None);
    for payload in &stored {
        exact.store(TOOL, payload, yes(ApprovalScope::Session), NOW);
        any.remember(&offering(payload, "content", Loosen::Any, |value| value.clone()), by_pattern(), NOW);
        under.remember(&offering(payload, "path", Loosen::Under, folder), by_pattern(), NOW);
    }
    for (name, calls, found) in [("hit", &hits, true), ("miss", &others, false)] {
        let memories = [&mut exact, &mut any, &mut under];
        for memory in memories {
            let wrong = calls.iter().any(|call| memory.lookup(TOOL, call, NOW).is_some() != found);
            if wrong || calls.iter().any(|call| map.contains_key(&key(call)) != found) {
                return Err(format!("a {name} is none").into());
            }
        }
        let mut contestants = vec![Contestant::new("HashMap by text", |at| {
            black_box(map.get(&key(&calls[at % 64])).cloned());
        })];
        let ours = [
            ("exact", &mut exact),
            ("pattern, any content", &mut any),
            ("pattern, under a folder", &mut under),
        ];
        contestants.extend(ours.map(|(name, memory)| {
            Contestant::new(name, move |at| {
                black_box(memory.lookup(TOOL, &calls[at % 64], NOW));
            })
        }));
        print_race(&format!("{count} entries, {name}"), &mut contestants);
    }
    Ok(())
}

/// Returns a payload of about 1 KB.
fn payload(path: &str) -> Value {
    let content = "A line of text that somebody might write down.\n".repeat(19);
    json!({ "root": "notes", "path": path, "mode": "create", "content": content, "lines": 19 })
}

fn key(payload: &Value) -> String {
    format!("{TOOL}\0{}", canonical(payload))
}

fn yes(scope: ApprovalScope) -> ApprovalDecision {
    ApprovalDecision::yes(Cause::Person).remembered(scope)
}

fn by_pattern() -> ApprovalDecision {
    ApprovalDecision { pattern: Some(0), ..yes(ApprovalScope::Pattern) }
}

fn offering(payload: &Value, field: &str, how: Loosen, wider: impl Fn(&Value) -> Value) -> ApprovalRequest {
    let mut fields: Map<String, Value> = payload.as_object().cloned().unwrap_or_default();
    if let Some(value) = fields.get_mut(field) {
        *value = wider(value);
    }
    let mut request = ApprovalRequest::new(TOOL, "write", payload.clone());
    request.patterns = vec![OfferedPattern::new("wider", fields, [(field, how)])];
    request
}

fn folder(path: &Value) -> Value {
    let path = path.as_str().unwrap_or_default();
    json!(path.rsplit_once('/').map_or("", |(folder, _)| folder))
}
