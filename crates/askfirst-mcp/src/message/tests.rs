//! Tests which lines are messages.

use super::{Fault, Id, Message, Sender, call, read};

#[test]
fn requests_notifications_and_answers_are_distinguished() {
    let message =
        read(br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}"#, Sender::Client);
    let Message::Request { id, method, params } = message.unwrap() else { panic!() };
    assert_eq!((id, &*method, params.unwrap().get()), (Id::Number(7), "tools/call", r#"{"name":"x"}"#));
    let message = read(br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, Sender::Client).unwrap();
    assert!(matches!(message, Message::Notification { params: None, .. }));
    let message = read(br#"{"jsonrpc":"2.0","id":"a","result":null}"#, Sender::Server).unwrap();
    let Message::Response { id, result } = message else { panic!() };
    assert_eq!((id, result.unwrap().get()), (Some(Id::Text("a".to_owned())), "null"));
    let message = read(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}"#, Sender::Server);
    assert!(matches!(message.unwrap(), Message::Response { id: None, result: None }));
}

#[test]
fn ambiguous_line_is_not_a_message() {
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
        let fault = read(line, Sender::Client).expect_err(&String::from_utf8_lossy(line));
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
        let fault = read(line, Sender::Client).expect_err(&String::from_utf8_lossy(line));
        assert!(matches!(fault, Fault::Shape(_)), "{}: {fault}", String::from_utf8_lossy(line));
    }
}

#[test]
fn duplicate_envelope_key_is_refused_from_both_sides() {
    for from in [Sender::Client, Sender::Server] {
        let line = br#"{"jsonrpc":"2.0","id":1,"method":"a","id":2}"#;
        assert!(read(line, from).is_err());
        let escaped = br#"{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"tools/call"}"#;
        assert!(read(escaped, from).is_err());
    }
}

#[test]
fn call_read_in_one_pass_equals_two_passes() {
    let taken = [
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,2.5,null]}}}"#,
        r#" {"params":{},"method":"tools/call","id":"a","jsonrpc":"2.0"} "#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}"#,
    ];
    for line in taken {
        let (own_id, own_params) = call(line.as_bytes()).expect(line);
        let Ok(Message::Request { id, method, params }) = read(line.as_bytes(), Sender::Client) else {
            panic!()
        };
        assert_eq!((&own_id, &*method), (&id, "tools/call"), "{line}");
        assert_eq!(own_params, askfirst::json::parse(params.unwrap().get().as_bytes()).unwrap(), "{line}");
    }
}

#[test]
fn invalid_call_is_left_to_the_full_reader() {
    let left = [
        r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"tools/call"}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#,
        r#"{"jsonrpc":"1.0","id":7,"method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":7.0,"method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{},"extra":1}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{},"result":1}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":"\ud800"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":123456789012345678901234567890}}"#,
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}} {}"#,
        r#"["2.0",7,"tools/call",{}]"#,
    ];
    for line in left {
        assert!(call(line.as_bytes()).is_none(), "{line}");
    }
    assert!(
        call(b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"a\":\"\xff\"}}")
            .is_none()
    );
}

#[test]
fn request_with_too_many_values_is_refused_with_its_id() {
    let many = vec!["{}"; askfirst::json::MAX_VALUES / 16].join(",");
    let line = |head: &str, key: &str| format!(r#"{{"jsonrpc":"2.0",{head}"{key}":[{many}]}}"#);
    for from in [Sender::Client, Sender::Caller] {
        let fault = read(line(r#""id":7,"method":"ping","#, "params").as_bytes(), from).unwrap_err();
        assert_eq!((fault.code(), fault.id()), (-32600, Some(&Id::Number(7))), "{fault}");
        assert!(fault.to_string().contains("more than 200000 values"), "{fault}");
        for head in
            [r#""method":"ping","#, r#""id":[7],"method":"ping","#, r#""id":7,"id":8,"method":"ping","#]
        {
            let line = line(head, "params");
            assert_eq!(read(line.as_bytes(), from).unwrap_err().id(), None, "{head}");
        }
        let answer = line(r#""id":7,"#, "result");
        assert_eq!(
            read(answer.as_bytes(), from).unwrap_err().id(),
            None,
            "the id of an answer is the server's"
        );
    }
    assert!(call(line(r#""id":7,"method":"tools/call","#, "params").as_bytes()).is_none());
    assert!(read(line(r#""id":7,"#, "result").as_bytes(), Sender::Server).is_ok(), "results may be large");
}

#[test]
fn control_character_in_a_key_is_refused_with_the_id() {
    for (params, is_read) in
        [(r#"{"a\u0000":1}"#, false), (r#"{"_meta":{"a\n":1}}"#, false), (r#"{"a":{"b\u0000":1}}"#, true)]
    {
        let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"ping","params":{params}}}"#);
        for from in [Sender::Client, Sender::Caller] {
            let Err(fault) = read(line.as_bytes(), from) else {
                assert!(is_read, "{line}");
                continue;
            };
            assert_eq!((is_read, fault.code(), fault.id()), (false, -32602, Some(&Id::Number(7))), "{fault}");
        }
        assert!(read(line.as_bytes(), Sender::Server).is_ok(), "{line}");
    }
}
