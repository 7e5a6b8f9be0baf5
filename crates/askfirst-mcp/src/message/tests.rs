//! What is a message, and what only looks like one.

use super::{Fault, From, Id, Message, read};

#[test]
fn requests_notifications_and_answers_are_told_apart() {
    let message =
        read(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}"#, From::Client);
    let Message::Request { id, method, params } = message.unwrap() else { panic!() };
    assert_eq!((id, &*method, params.unwrap().get()), (Id::Number(7), "tools/call", r#"{"name":"x"}"#));
    let message = read(br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, From::Client).unwrap();
    assert!(matches!(message, Message::Notification { params: None, .. }));
    let message = read(br#"{"jsonrpc":"2.0","id":"a","result":null}"#, From::Server).unwrap();
    let Message::Response { id, result } = message else { panic!() };
    assert_eq!((id, result.unwrap().get()), (Some(Id::Text("a".to_owned())), "null"));
    let message = read(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}"#, From::Server);
    assert!(matches!(message.unwrap(), Message::Response { id: None, result: None }));
}

#[test]
fn what_could_be_read_in_two_ways_is_no_message() {
    let syntax: &[&[u8]] = &[
        b"",
        b"{",
        b"nonsense",
        br#"{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}"#,
        br#"{"jsonrpc":"2.0","method":"a"} x"#,
        b"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":{\"x\":\"\xff\"}}",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"a\x00\"}",
        br#"{"jsonrpc":"2.0","method":"a","params":{"x":1,"x":2}}"#,
        br#"{"jsonrpc":"2.0","method":"\ud800"}"#,
        br#"{"jsonrpc":"2.0","method":"a","params":{"x":"\udc00"}}"#,
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"method\":\"a\"}",
    ];
    for line in syntax {
        let fault = read(line, From::Client).expect_err(&String::from_utf8_lossy(line));
        assert_eq!(fault.code(), -32700, "{fault}");
    }
    let shape: &[&[u8]] = &[
        b"[]",
        br#" [{"jsonrpc":"2.0","method":"a"}]"#,
        b"{}",
        b"1",
        br#"{"method":"a"}"#,
        br#"{"jsonrpc":"1.0","method":"a"}"#,
        br#"{"jsonrpc":"2.0","METHOD":"a"}"#,
        br#"{"jsonrpc":"2.0","method":"a","Method":"b"}"#,
        br#"{"jsonrpc":"2.0","method":"a","extra":1}"#,
        br#"{"jsonrpc":"2.0","id":1.0,"method":"a"}"#,
        br#"{"jsonrpc":"2.0","id":1e3,"method":"a"}"#,
        br#"{"jsonrpc":"2.0","id":[1],"method":"a"}"#,
        br#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
        br#"{"jsonrpc":"2.0","id":1,"method":"a","result":1}"#,
        br#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#,
        br#"{"jsonrpc":"2.0","id":1}"#,
        br#"{"jsonrpc":"2.0","id":1,"method":5}"#,
    ];
    for line in shape {
        let fault = read(line, From::Client).expect_err(&String::from_utf8_lossy(line));
        assert!(matches!(fault, Fault::Shape(_)), "{}: {fault}", String::from_utf8_lossy(line));
    }
}

#[test]
fn a_key_that_stands_twice_in_the_envelope_is_no_message_from_either_side() {
    for from in [From::Client, From::Server] {
        let line = br#"{"jsonrpc":"2.0","id":1,"method":"a","id":2}"#;
        assert!(read(line, from).is_err());
        let escaped = br#"{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"tools/call"}"#;
        assert!(read(escaped, from).is_err());
    }
}
