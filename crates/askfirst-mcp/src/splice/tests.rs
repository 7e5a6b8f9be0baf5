//! Tests that one name changes and nothing else does.

use super::*;

#[test]
fn replaced_name_leaves_the_rest_byte_for_byte() {
    let line = br#"{ "jsonrpc":"2.0","id":1, "method":"tools/call","params":{"arguments":{"name":"a__x","n":1.50},"name" : "a__x"} }"#;
    let want = br#"{ "jsonrpc":"2.0","id":1, "method":"tools/call","params":{"arguments":{"name":"a__x","n":1.50},"name" : "x\"y"} }"#;
    assert_eq!(with_name(line, "x\"y").unwrap(), want);
    assert_eq!(with_id(br#"{"id":"7","x":{"id":"7"}}"#, "9").unwrap(), br#"{"id":9,"x":{"id":"7"}}"#);
    let line = br#"{"params":{"ref":{"type":"ref/prompt","name":"a__p"},"name":"z"}}"#;
    assert_eq!(
        with_ref_name(line, "p").unwrap(),
        br#"{"params":{"ref":{"type":"ref/prompt","name":"p"},"name":"z"}}"#
    );
    assert_eq!(with_name(b"{}", "x"), None);
    let line = br#"{"params":{"_meta":{"a":1} ,"arguments":{"_meta":2}}}"#;
    assert_eq!(
        with_meta(line, &serde_json::json!({"b": 2})).unwrap(),
        br#"{"params":{"_meta":{"b":2} ,"arguments":{"_meta":2}}}"#
    );
    assert_eq!(with_meta(br#"{"params":{}}"#, &Value::Null).unwrap(), br#"{"params":{}}"#);
}
