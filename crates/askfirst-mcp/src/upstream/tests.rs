//! Tests that a call is bound to the server's definition of its tool.

use askfirst::json::MAX_VALUES;
use askfirst::{Policy, Risk, Toolset};
use serde_json::json;

use super::Upstream;
use crate::pins::Pins;

#[test]
fn call_is_bound_to_the_latest_definition_of_its_tool() {
    let state = tempfile::tempdir().unwrap();
    let upstream = Upstream::new("maths", Pins::open(state.path(), "maths").unwrap(), Policy::default());
    assert_eq!(upstream.pinned("mcp__maths__add"), None);
    let mut tool = json!({"name": "add", "description": "adds", "inputSchema": {}});
    let mut seen = Vec::new();
    for (key, value) in [
        ("description", json!("adds, and more")),
        ("inputSchema", json!({"type": "object"})),
        ("title", json!("Adds")),
        ("outputSchema", json!({"type": "object"})),
        ("_meta", json!({"a": 1})),
        ("annotations", json!({"destructiveHint": true})),
    ] {
        tool[key] = value;
        upstream.learn(&mut vec![tool.clone()]).unwrap();
        let pinned = upstream.pinned("mcp__maths__add").unwrap();
        assert_eq!(pinned.risk, upstream.definition("mcp__maths__add").unwrap().risk);
        assert!(!seen.contains(&pinned.digest), "{key}");
        seen.push(pinned.digest);
        upstream.learn(&mut vec![tool.clone()]).unwrap();
        assert_eq!(upstream.pinned("mcp__maths__add"), Some(pinned));
    }
}

#[test]
fn hints_of_a_server_raise_the_risk_and_never_lower_it() {
    let state = tempfile::tempdir().unwrap();
    let upstream = Upstream::new("maths", Pins::open(state.path(), "maths").unwrap(), Policy::default());
    for (hints, risk) in [
        (json!({}), Risk::Low),
        (json!({"destructiveHint": true}), Risk::High),
        (json!({"destructiveHint": true, "readOnlyHint": true}), Risk::High),
        (json!({"destructiveHint": false, "readOnlyHint": true}), Risk::Low),
    ] {
        upstream.learn(&mut vec![json!({"name": "add", "annotations": hints})]).unwrap();
        assert_eq!(upstream.pinned("mcp__maths__add").unwrap().risk, risk, "{hints}");
    }
}

#[test]
fn tools_of_all_pages_have_a_common_limit() {
    let state = tempfile::tempdir().unwrap();
    let upstream = Upstream::new("maths", Pins::open(state.path(), "maths").unwrap(), Policy::default());
    let large = |name: &str| vec![json!({"name": name, "inputSchema": {"enum": vec![1; MAX_VALUES / 2]}})];
    let small = |name: &str| vec![json!({"name": name})];
    upstream.learn(&mut large("one")).unwrap();
    upstream.learn(&mut small("two")).unwrap();
    let told = upstream.learn(&mut large("two")).unwrap_err();
    assert!(told.contains("all tools together have more than 200000 values"), "{told}");
    upstream.learn(&mut large("one")).unwrap();
    upstream.learn(&mut small("one")).unwrap();
    upstream.learn(&mut large("two")).unwrap();
}
