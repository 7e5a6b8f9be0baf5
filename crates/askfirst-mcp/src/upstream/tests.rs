//! What a call is pinned to is what the server says of its tool.

use askfirst::Toolset;
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
        upstream.learn(&mut [tool]).unwrap();
        let definition = upstream.definition("mcp__maths__add").unwrap();
        let pinned = upstream.pinned("mcp__maths__add");
        assert_eq!(pinned, Some(Pinned::of(&definition)));
        assert_ne!(pinned, before);
        before = pinned;
    }
}
