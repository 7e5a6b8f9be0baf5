//! Tests that each kind of pattern covers exactly the payloads it should.

use serde_json::{Map, Value, json};

use super::{Loosen, OfferedPattern};

fn fields(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn folder_pattern_covers_its_contents_and_no_siblings() {
    let fields = fields(json!({"root": "notes", "path": "drafts"}));
    let folder = OfferedPattern::new("drafts", fields, [("path", Loosen::Under)]);
    for path in ["drafts", "drafts/a.md", "drafts/x/y.md"] {
        assert!(folder.matches(&json!({"root": "notes", "path": path})), "{path}");
    }
    for path in ["draft", "drafts2/a.md", "drafts/../secret", "", "other/drafts/a"] {
        assert!(!folder.matches(&json!({"root": "notes", "path": path})), "{path}");
    }
    assert!(!folder.matches(&json!({"root": "cache", "path": "drafts/a.md"})));
    assert!(!folder.matches(&json!({"root": "notes", "path": "drafts/a.md", "force": true})));
    assert!(!folder.matches(&json!({"root": "notes", "path": ["drafts"]})));
}

#[test]
fn empty_path_covers_a_whole_root() {
    let root = OfferedPattern::new("notes", fields(json!({"path": ""})), [("path", Loosen::Under)]);
    assert!(root.matches(&json!({"path": "a/b"})) && root.matches(&json!({"path": ""})));
    assert!(!root.matches(&json!({"path": "/etc/passwd"})));
}

#[test]
fn starts_with_covers_lists_with_that_prefix() {
    let words = OfferedPattern::new(
        "git log",
        fields(json!({"argv": ["git", "log"]})),
        [("argv", Loosen::StartsWith)],
    );
    assert!(words.matches(&json!({"argv": ["git", "log", "-p"]})));
    assert!(!words.matches(&json!({"argv": ["git"]})));
    assert!(!words.matches(&json!({"argv": ["git", "push"]})));
    assert!(!words.matches(&json!({"argv": "git log"})));
}

#[test]
fn any_covers_every_value_of_its_field_alone() {
    let any = OfferedPattern::new("any", fields(json!({"id": 1, "op": "get"})), [("id", Loosen::Any)]);
    assert!(any.matches(&json!({"id": {"x": []}, "op": "get"})));
    assert!(!any.matches(&json!({"id": 1, "op": "delete"})));
    assert!(!any.matches(&json!({"op": "get"})));
}
