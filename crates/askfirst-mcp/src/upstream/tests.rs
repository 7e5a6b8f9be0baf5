//! What a call is pinned to is what the server says of its tool.

use askfirst::Toolset;
use askfirst::json::MAX_VALUES;
use askfirst::toolset::Pinned;
use serde_json::json;

use super::Upstream;
use crate::pins::Pins;

#[test]
fn a_call_is_pinned_to_the_definition_as_it_was_last_told() {
    let state = tempfile::tempdir().unwrap();
    let upstream = Upstream::new("maths", Pins::open(state.path(), "maths").unwrap());
    assert_eq!(upstream.pinned("mcp__maths__add"), None);
    let mut before = None;
    for description in ["adds", "adds, and more"] {
        let destroys = json!({"destructiveHint": description != "adds"});
        let tool =
            json!({"name": "add", "description": description, "inputSchema": {}, "annotations": destroys});
        upstream.learn(&mut vec![tool]).unwrap();
        let definition = upstream.definition("mcp__maths__add").unwrap();
        let pinned = upstream.pinned("mcp__maths__add");
        assert_eq!(pinned, Some(Pinned::of(&definition)));
        assert_ne!(pinned, before);
        before = pinned;
    }
}

#[test]
fn what_is_kept_of_all_pages_has_a_limit() {
    let state = tempfile::tempdir().unwrap();
    let upstream = Upstream::new("maths", Pins::open(state.path(), "maths").unwrap());
    let large = |name: &str| vec![json!({"name": name, "inputSchema": {"enum": vec![1; MAX_VALUES / 2]}})];
    let small = |name: &str| vec![json!({"name": name})];
    upstream.learn(&mut large("one")).unwrap();
    upstream.learn(&mut small("two")).unwrap();
    let told = upstream.learn(&mut large("two")).unwrap_err();
    assert!(told.contains("more than 200000 values in all"), "{told}");
    upstream.learn(&mut large("one")).unwrap();
    upstream.learn(&mut small("one")).unwrap();
    upstream.learn(&mut large("two")).unwrap();
}
