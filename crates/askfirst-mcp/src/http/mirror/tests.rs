//! Tests which headers match a body.

use serde_json::json;

use super::*;
use crate::message::{Sender, read};

fn headers(list: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in list {
        map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
    }
    map
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;

fn checked(list: &[(&str, &str)], body: &str) -> Result<(), Mismatch> {
    check(&headers(list), &read(body.as_bytes(), Sender::Client).unwrap())
}

#[test]
fn headers_that_match_the_body_are_accepted() {
    let right = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "add")];
    assert_eq!(checked(&right, CALL), Ok(()));
    let wrapped = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "=?base64?YWRk?="),
    ];
    assert_eq!(checked(&wrapped, CALL), Ok(()));
    let old = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#;
    assert_eq!(checked(&[("mcp-protocol-version", "2025-11-25")], old), Ok(()));
    assert_eq!(checked(&[], old), Ok(()));
}

#[test]
fn headers_that_differ_are_refused_in_every_revision() {
    let version = ("mcp-protocol-version", "2026-07-28");
    let method = ("mcp-method", "tools/call");
    let cases: &[(&[(&str, &str)], Mismatch)] = &[
        (&[version, method, ("mcp-name", "wipe")], Mismatch::Differs(NAME)),
        (&[version, ("mcp-method", "tools/list"), ("mcp-name", "add")], Mismatch::Differs(METHOD)),
        (&[version, ("mcp-method", "TOOLS/CALL"), ("mcp-name", "add")], Mismatch::Differs(METHOD)),
        (&[version, method], Mismatch::Missing(NAME)),
        (&[version, ("mcp-name", "add")], Mismatch::Missing(METHOD)),
        (&[version, method, ("mcp-name", "add"), ("mcp-name", "wipe")], Mismatch::Twice(NAME)),
        (&[version, method, method, ("mcp-name", "add")], Mismatch::Twice(METHOD)),
        (&[version, method, ("mcp-name", "=?base64?***?=")], Mismatch::Garbled(NAME)),
        (&[method, ("mcp-name", "add")], Mismatch::Missing(VERSION)),
        (&[("mcp-protocol-version", "2025-11-25"), method, ("mcp-name", "add")], Mismatch::Differs(VERSION)),
    ];
    for (list, why) in cases {
        assert_eq!(checked(list, CALL), Err(why.clone()), "{list:?}");
    }
    let old = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"}}"#;
    assert_eq!(checked(&[("mcp-name", "wipe")], old), Err(Mismatch::Differs(NAME)));
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_eq!(checked(&[("mcp-method", "ping")], answer), Err(Mismatch::Differs(METHOD)));
}

#[test]
fn headers_of_arguments_are_built_and_checked_by_the_schema() {
    let schema = json!({"properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "where": {"properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        "other": {"type": "string"}}});
    let args = json!({"region": "größe", "where": {"n": 7}, "other": "x"});
    let expected = of_args(&schema, args.as_object().unwrap());
    assert_eq!(expected.len(), 2);
    assert_eq!(expected.get("mcp-param-n").unwrap(), "7");
    let right = [("mcp-param-region", "=?base64?Z3LDtsOfZQ==?="), ("mcp-param-n", "7")];
    assert_eq!(check_args(&headers(&right), &expected), Ok(()));
    assert!(check_args(&headers(&[("mcp-param-n", "8")]), &expected).is_err());
    assert!(check_args(&headers(&[("mcp-param-other", "x")]), &expected).is_err());
    let mut changed = headers(&[("mcp-param-n", "8"), ("mcp-param-gone", "1"), ("accept", "x")]);
    replace_args(&mut changed, expected);
    assert_eq!(changed.len(), 3);
    assert_eq!(changed.get("mcp-param-n").unwrap(), "7");
}
