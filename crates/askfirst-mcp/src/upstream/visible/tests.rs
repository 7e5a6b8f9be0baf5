//! Tests that no character of a definition stays hidden.

use serde_json::{Value, json};

use super::make_visible;

const HIDDEN: &str = "a\u{200b}\u{e0041}b";
const SHOWN: &str = "a\\u{200b}\\u{e0041}b";

#[test]
fn text_is_made_visible_wherever_it_is() {
    for place in [
        "/title",
        "/_meta/note",
        "/_meta/name",
        "/inputSchema/properties/a/anyOf/0/description",
        "/inputSchema/oneOf/0/title",
        "/inputSchema/allOf/0/not/const",
        "/inputSchema/properties/a/prefixItems/1/0/description",
        "/inputSchema/properties/a/enum/0",
        "/inputSchema/examples/0/deep",
        "/inputSchema/$defs/x/default",
        "/outputSchema/$comment",
        "/annotations/anything",
    ] {
        let with = |text: &str| {
            let put = |inner: Value, key: &str| match key.parse::<usize>() {
                Ok(at) => Value::Array(vec![Value::Null; at].into_iter().chain([inner]).collect()),
                Err(_) => json!({key: inner}),
            };
            let mut tool =
                place.split('/').skip(1).collect::<Vec<_>>().into_iter().rev().fold(json!(text), put);
            tool["name"] = "add".into();
            tool
        };
        let mut tool = with(HIDDEN);
        assert_eq!(make_visible(&mut tool), 2, "{place}");
        assert_eq!(tool, with(SHOWN), "{place}");
        assert_eq!(make_visible(&mut tool), 0, "{place}");
    }
}

#[test]
fn escaped_key_replaces_no_other_key() {
    let mut tool =
        json!({"name": "add", "inputSchema": {"properties": {HIDDEN: {"title": HIDDEN}, SHOWN: 1}}});
    assert_eq!(make_visible(&mut tool), 4);
    let other = format!("{SHOWN}_");
    let properties = json!({SHOWN: 1, other: {"title": SHOWN}});
    assert_eq!(tool, json!({"name": "add", "inputSchema": {"properties": properties}}));
}

#[test]
fn plain_text_stays_unchanged() {
    let tool = json!({"name": "add", "description": "prüfe e\u{301}\n\tand \\u{200b} 日本", "inputSchema": {"ü": [1, null]}});
    let mut same = tool.clone();
    assert_eq!((make_visible(&mut same), same), (0, tool));
}
