//! Tests that memory answers only equal payloads and payloads that an offered pattern covers.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ApprovalMemory, MemoryId, RememberedDecision, SharedMemory};
use crate::decision::{ApprovalDecision, ApprovalScope};
use crate::digest::Digest;
use crate::pattern::{Loosen, OfferedPattern, OfferedTool};
use crate::request::ApprovalRequest;
use crate::words::{Approval, Cause, Risk, Timestamp};

mod tests_model;
mod tests_patterns;

const NOW: Timestamp = Timestamp(1_000);

fn yes() -> ApprovalDecision {
    ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Session)
}

fn no() -> ApprovalDecision {
    ApprovalDecision::no(Cause::Person).remembered(ApprovalScope::Session)
}

fn by_pattern(decision: ApprovalDecision, at: usize) -> ApprovalDecision {
    ApprovalDecision { pattern: Some(at), ..decision.remembered(ApprovalScope::Pattern) }
}

fn request(payload: Value) -> ApprovalRequest {
    ApprovalRequest::new("t", "a description", payload)
}

fn offer(field: &str, how: Loosen, fields: Value) -> OfferedPattern {
    OfferedPattern::new("wider", fields.as_object().unwrap().clone(), [(field, how)])
}

fn approved(memory: &mut ApprovalMemory, payload: &Value) -> Option<bool> {
    memory.lookup("t", payload, NOW).map(|decision| decision.approved)
}

#[test]
fn remembered_answer_names_the_calls_that_it_covers() {
    let mut memory = ApprovalMemory::default();
    let path = ApprovalRequest { same: Some("any `t` of a".to_owned()), ..request(json!({"path": "a"})) };
    memory.remember(&path, yes(), NOW);
    memory.remember(&request(json!(1)), yes(), NOW);
    let described: Vec<&str> = memory.list(NOW).iter().map(|entry| entry.description.as_str()).collect();
    assert_eq!(described, ["any `t` of a", "a description"]);
}

#[test]
fn only_deeply_equal_payloads_match() {
    let values = [
        json!(1),
        json!(1.0),
        json!(true),
        json!("1"),
        json!(null),
        json!([1]),
        json!([1, 1]),
        json!([[1]]),
        json!({}),
        json!({"x": 1}),
        json!({"x": null}),
        json!({"x": 1.0}),
        json!({"x": true}),
        json!({"\0x": 1}),
        json!(""),
        json!(9_007_199_254_740_992_u64),
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
        json!(-1),
        json!(i64::MIN),
        json!(0.1),
        json!(0.100_000_000_000_000_02),
        json!("a\u{301}"),
        json!("á"),
        json!("a\0"),
        json!("a"),
        json!([]),
    ];
    for (at, stored) in values.iter().enumerate() {
        let mut memory = ApprovalMemory::default();
        memory.store("t", &json!({ "v": stored }), yes(), NOW);
        for (other_at, asked) in values.iter().enumerate() {
            let found = approved(&mut memory, &json!({ "v": asked }));
            assert_eq!(found, (at == other_at).then_some(true), "{stored} and {asked}");
        }
        assert_eq!(memory.lookup("T", &json!({ "v": stored }), NOW), None);
        assert_eq!(memory.lookup("", &json!({ "v": stored }), NOW), None);
    }
}

#[test]
fn key_order_is_ignored_but_item_order_counts() {
    let mut memory = ApprovalMemory::default();
    memory.store("t", &crate::json::parse(br#"{"a":1,"b":[1,2]}"#).unwrap(), yes(), NOW);
    assert_eq!(approved(&mut memory, &crate::json::parse(br#"{"b":[1,2],"a":1}"#).unwrap()), Some(true));
    assert_eq!(approved(&mut memory, &json!({"a": 1, "b": [2, 1]})), None);
    assert_eq!(approved(&mut memory, &json!({"a": 1, "b": [1, 2], "c": null})), None);
}

#[test]
fn decision_without_remember_is_not_stored() {
    let mut memory = ApprovalMemory::default();
    assert_eq!(memory.store("t", &json!(1), ApprovalDecision::yes(Cause::Person), NOW), None);
    assert_eq!(approved(&mut memory, &json!(1)), None);
}

#[test]
fn remembered_decision_has_memory_as_its_cause() {
    let mut memory = ApprovalMemory::default();
    let edited = ApprovalDecision { edited_args: Some(crate::json::Args::new()), ..yes().with_note("fine") };
    memory.store("t", &json!(1), edited, NOW);
    let found = memory.lookup("t", &json!(1), NOW).unwrap();
    assert_eq!((found.cause, found.note.as_deref(), found.edited_args), (Cause::Memory, Some("fine"), None));
}

#[test]
fn last_decision_replaces_an_equal_remembered_one() {
    let mut memory = ApprovalMemory::default();
    for (decision, expected) in [(no(), false), (yes(), true), (no(), false)] {
        memory.store("t", &json!({"a": 1}), decision, NOW);
        assert_eq!(approved(&mut memory, &json!({"a": 1})), Some(expected));
        assert_eq!(memory.list(NOW).len(), 1);
    }
}

#[test]
fn expired_decision_answers_nothing_and_is_not_listed() {
    let mut memory = ApprovalMemory::new(Some(Duration::from_millis(500)));
    assert_eq!(memory.until(NOW), Some(Timestamp(1_500)));
    let id = memory.store("t", &json!(1), yes(), NOW).unwrap();
    assert!(memory.lookup("t", &json!(1), Timestamp(1_499)).is_some());
    assert_eq!(memory.list(Timestamp(1_499)).len(), 1);
    for late in [1_500, 1_501, u64::MAX] {
        assert_eq!(memory.lookup("t", &json!(1), Timestamp(late)), None);
        assert!(memory.list(Timestamp(late)).is_empty());
    }
    memory.store("t", &json!(1), yes(), Timestamp(2_000));
    assert!(memory.lookup("t", &json!(1), Timestamp(2_400)).is_some());
    assert!(!memory.revoke(id), "an equal decision replaced it");
}

#[test]
fn overflowing_expiry_is_clamped_to_the_last_moment() {
    let mut memory = ApprovalMemory::new(Some(Duration::MAX));
    memory.store("t", &json!(1), yes(), Timestamp(u64::MAX - 1));
    assert_eq!(memory.until(NOW), Some(Timestamp(u64::MAX)));
    assert_eq!(approved(&mut memory, &json!(1)), Some(true));
}

#[test]
fn hit_is_counted_on_the_decision_that_answered() {
    let mut memory = ApprovalMemory::default();
    let first = memory.store("t", &json!(1), yes(), NOW).unwrap();
    let second = memory.store("t", &json!(2), yes(), NOW).unwrap();
    for _ in 0..3 {
        memory.lookup("t", &json!(2), NOW);
    }
    memory.lookup("t", &json!(3), NOW);
    let hits: Vec<(MemoryId, u64)> = memory.list(NOW).iter().map(|found| (found.id, found.hits)).collect();
    assert_eq!(hits, [(first, 0), (second, 3)]);
}

#[test]
fn list_shows_each_decision_with_its_times() {
    let mut memory = ApprovalMemory::new(Some(Duration::from_millis(5)));
    memory.remember(&request(json!({"a": 1})), yes(), NOW);
    let list = memory.list(NOW);
    let RememberedDecision { tool_name, payload, description, since, until, .. } = list[0];
    assert_eq!((tool_name.as_str(), payload, description.as_str()), ("t", &json!({"a": 1}), "a description"));
    assert_eq!((*since, *until), (NOW, Some(Timestamp(1_005))));
}

#[test]
fn revoked_or_cleared_decision_answers_nothing() {
    let mut memory = ApprovalMemory::default();
    let ids: Vec<MemoryId> = (0..3).filter_map(|n| memory.store("t", &json!(n), yes(), NOW)).collect();
    assert!(memory.revoke(ids[1]));
    assert!(!memory.revoke(ids[1]) && !memory.revoke(MemoryId(99)));
    assert_eq!([0, 1, 2].map(|n| approved(&mut memory, &json!(n))), [Some(true), None, Some(true)]);
    memory.clear();
    assert_eq!([0, 1, 2].map(|n| approved(&mut memory, &json!(n))), [None; 3]);
    assert!(memory.list(NOW).is_empty());
    let again = memory.store("t", &json!(1), yes(), NOW).unwrap();
    assert!(!ids.contains(&again), "an id is never used twice");
}

#[test]
fn changed_definition_makes_it_another_tool() {
    let mut memory = ApprovalMemory::default();
    let of = |definition: Option<&str>| ApprovalRequest {
        definition: definition.map(Digest::of),
        ..request(json!(1))
    };
    memory.remember(&of(Some("one")), yes(), NOW);
    assert!(memory.recall(&of(Some("one")), NOW).is_some());
    assert_eq!(memory.recall(&of(Some("two")), NOW), None);
    assert_eq!(memory.recall(&of(None), NOW), None);
    // Memory keeps both decisions, each for its own definition.
    memory.remember(&of(Some("two")), no(), NOW);
    assert_eq!(memory.recall(&of(Some("one")), NOW).map(|found| found.approved), Some(true));
    assert_eq!(memory.recall(&of(Some("two")), NOW).map(|found| found.approved), Some(false));
}

#[test]
fn approval_skips_riskier_calls_but_denial_covers_them() {
    let mut memory = ApprovalMemory::default();
    let of = |risk| ApprovalRequest { risk, ..request(json!(1)) };
    memory.remember(&of(Risk::High), yes(), NOW);
    assert!(memory.recall(&of(Risk::Low), NOW).is_some() && memory.recall(&of(Risk::High), NOW).is_some());
    assert_eq!(memory.recall(&of(Risk::Irreversible), NOW), None);
    memory.remember(&of(Risk::Low), no(), NOW);
    assert_eq!(memory.recall(&of(Risk::Irreversible), NOW).map(|found| found.approved), Some(false));
}

#[test]
fn lookup_cost_stays_constant_for_10000_decisions() {
    let index_sizes = |count: u64| {
        let mut memory = ApprovalMemory::default();
        for n in 0..count {
            let path = format!("d{n}");
            let mut wide = request(json!({"path": path, "op": "read"}));
            wide.patterns.push(offer("path", Loosen::Under, json!({"path": path, "op": "read"})));
            memory.remember(&wide, by_pattern(yes(), 0), NOW);
            memory.store("t", &json!({"exact": n}), yes(), NOW);
        }
        assert_eq!(approved(&mut memory, &json!({"exact": count - 1})), Some(true));
        assert_eq!(approved(&mut memory, &json!({"path": "d3/x/y", "op": "read"})), Some(true));
        let longest = memory.index.values().map(Vec::len).max();
        (longest, memory.shapes.values().map(Vec::len).sum::<usize>())
    };
    // Each hash has one entry, and all patterns have one shape, so a lookup checks the same number of entries.
    assert_eq!(index_sizes(10), (Some(1), 1));
    assert_eq!(index_sizes(10_000), (Some(1), 1));
}

#[test]
fn shared_memory_clones_share_their_decisions() {
    let first = SharedMemory::from(ApprovalMemory::default());
    let second = first.clone();
    let yes = ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Session);
    first.lock().store("t", &json!({"a": 1}), yes, Timestamp(0));
    assert!(second.lock().lookup("t", &json!({"a": 1}), Timestamp(0)).is_some());
    second.lock().clear();
    assert!(first.lock().lookup("t", &json!({"a": 1}), Timestamp(0)).is_none());
}

#[test]
fn stored_decision_covers_every_definition() {
    let defined = |of: &str| ApprovalRequest {
        definition: Some(Digest::of(of)),
        risk: Risk::Irreversible,
        ..request(json!({"a": 1}))
    };
    for decision in [yes(), no()] {
        let mut memory = ApprovalMemory::default();
        memory.store("t", &json!({"a": 1}), decision.clone(), NOW);
        let found = memory.recall(&defined("x"), NOW).expect("the stored decision");
        assert_eq!(found.approved, decision.approved);
        memory.clear();
        memory.remember(&request(json!({"a": 1})), decision, NOW);
        assert!(
            memory.recall(&defined("x"), NOW).is_none(),
            "the decision is for a request without a definition"
        );
    }
    let mut memory = ApprovalMemory::default();
    memory.settle(&defined("x"), yes(), NOW);
    assert!(memory.recall(&defined("x"), NOW).is_some() && memory.recall(&defined("y"), NOW).is_none());
    memory.settle(&request(json!({"a": 1})), yes(), NOW);
    assert!(memory.recall(&defined("y"), NOW).is_none(), "an approval does not cover a higher risk");
}

#[test]
fn approves_counts_no_hit_and_never_answers_human() {
    let mut memory = ApprovalMemory::default();
    memory.remember(&request(json!({"a": 1})), yes(), NOW);
    assert!(memory.approves(&request(json!({"a": 1})), NOW));
    assert!(!memory.approves(&request(json!({"a": 2})), NOW));
    let human = ApprovalRequest { approval: Approval::Human, ..request(json!({"a": 1})) };
    assert!(!memory.approves(&human, NOW));
    assert_eq!(memory.list(NOW)[0].hits, 0);
}

#[test]
fn expired_decisions_are_removed() {
    let mut memory = ApprovalMemory::new(Some(Duration::from_millis(10)));
    for n in 0..1000 {
        memory.store("t", &json!({"n": n}), yes(), Timestamp(n));
    }
    assert!(memory.entries.len() <= 10 && memory.ages.len() <= 10 && memory.index.len() <= 10);
    assert_eq!(memory.list(Timestamp(999)).len(), 10);
}

#[test]
fn positive_and_negative_zero_stay_distinct() {
    let mut memory = ApprovalMemory::default();
    memory.store("t", &json!({"x": 0.0}), yes(), NOW);
    assert!(memory.lookup("t", &json!({"x": -0.0}), NOW).is_none());
    assert!(!request(json!([0.0])).shows_the_same_as(&request(json!([-0.0]))));
    assert!(request(json!([0.0])).shows_the_same_as(&request(json!([0.0]))));
}
