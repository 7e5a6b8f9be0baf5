//! Tests that a digest changes with every field of a request.

use serde_json::json;

use super::*;
use crate::{Approval, Fact, Loosen, OfferedPattern, PresentationKind, Risk, Timestamp};

type Change = fn(&mut ApprovalRequest);

fn request() -> ApprovalRequest {
    let mut request = ApprovalRequest::new("t", "d", json!({"a": 1}));
    request.args = json!({"a": ["b", "c"], "d": "e"}).as_object().cloned().unwrap();
    request.presentation = Some(ApprovalPresentation::new(PresentationKind::Diff, "x"));
    request
}

// invariant: 3
#[test]
fn any_change_in_a_request_changes_its_digest() {
    let changes: [Change; 24] = [
        |_| {},
        |request| request.call_id = "c".into(),
        |request| request.tool_name = "td".into(),
        |request| request.description = "".into(),
        |request| request.args.insert("d".into(), json!("f")).map_or((), drop),
        |request| request.args.insert("a".into(), json!(["bc", ""])).map_or((), drop),
        |request| request.args.insert("a".into(), json!(["b", "c", null])).map_or((), drop),
        |request| request.args.insert("a".into(), json!("[\"b\",\"c\"]")).map_or((), drop),
        |request| request.payload = json!({"a": 1.0}),
        |request| request.payload = json!({"a": true}),
        |request| request.payload = json!({"a": "1"}),
        |request| request.facts.push(Fact::new("size", "1")),
        |request| request.presentation = None,
        |request| request.presentation = Some(ApprovalPresentation::new(PresentationKind::Text, "x")),
        |request| request.presentation = Some(ApprovalPresentation::new(PresentationKind::Diff, "y")),
        |request| {
            let shown = request.presentation.take().unwrap();
            request.presentation = Some(shown.with_language("rust"));
        },
        |request| {
            let shown = request.presentation.as_mut().unwrap();
            shown.metadata.insert("before".into(), json!("x"));
        },
        |request| request.group_id = Some("g".into()),
        |request| request.caller = Some("g".into()),
        |request| request.risk = Risk::High,
        |request| request.definition = Some(Digest::of("x")),
        |request| {
            request.patterns.push(OfferedPattern::new("any", request.args.clone(), [("a", Loosen::Any)]));
        },
        |request| request.deadline = Some(Timestamp(1)),
        |request| request.approval = Approval::Human,
    ];
    let mut digests = std::collections::BTreeSet::new();
    for (at, change) in changes.iter().enumerate() {
        let mut changed = request();
        change(&mut changed);
        assert!(digests.insert(digest_of(&changed)), "change {at} does not change the digest");
        assert_eq!(digest_of(&changed), digest_of(&changed.clone()));
    }
    let mut excluded = request();
    excluded.exclude_keys.push("a".into());
    assert!(digests.insert(digest_of(&excluded)));
}
