//! Tests which clients may connect over HTTP, and which messages are refused early.

use askfirst::Approval::None as Free;
use serde_json::json;

use crate::smuggling::SMUGGLED;
use crate::web::{Desk, TOKEN, Web, call, raw, request};

#[test]
fn unauthorized_client_is_refused_before_its_message_is_read() {
    let web = Web::plain();
    let desk = Desk::before(&web, &[("add", Free)]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let port = desk.address.port();
    let (local, other) = (format!("localhost:{port}"), format!("127.0.0.1:{}", port ^ 1));
    let cases: &[(&[(&str, &str)], u16)] = &[
        (&[("authorization", "Bearer wrong")], 401),
        (&[("authorization", TOKEN)], 401),
        (&[("authorization", "")], 401),
        (&[("authorization", &format!("Bearer {TOKEN}x"))], 401),
        (&[("authorization", &format!("Bearer {TOKEN}")), ("authorization", "Bearer x")], 401),
        (&[("host", "evil.example")], 403),
        (&[("host", &format!("evil.example:{port}"))], 403),
        (&[("host", &format!("127.0.0.1.evil.example:{port}"))], 403),
        (&[("host", &other)], 403),
        (&[("host", &local), ("host", "evil.example")], 403),
        (&[("origin", "http://evil.example")], 403),
        (&[("origin", "null")], 403),
        (&[("origin", "http://localhost.evil.example")], 403),
        (&[("origin", "http://localhost@evil.example")], 403),
        (&[("origin", "http://127.0.0.1:1@evil")], 403),
        (&[("origin", &format!("http://localhost:{port}@evil.example"))], 403),
        (&[("origin", &format!("http://localhost:1@evil.example:{port}"))], 403),
        (&[("origin", "http://evil@localhost")], 403),
        (&[("origin", "http://localhost:")], 403),
        (&[("origin", "http://localhost:80/x")], 403),
        (&[("host", "127.0.0.1:1@evil")], 403),
        (&[("host", &local)], 200),
        (&[("origin", "http://localhost:3000")], 200),
        (&[("origin", "http://[::1]:3000")], 200),
        (&[("authorization", &format!("bearer {TOKEN}"))], 200),
    ];
    for (headers, status) in cases {
        let said = desk.post_with(headers, ping);
        assert_eq!(said.status, *status, "{headers:?}: {said:?}");
        assert!(!said.text().contains(TOKEN));
    }
    assert_eq!(web.heard.lock().unwrap().len(), 4, "only those that were let in");
    assert_eq!(request(desk.address, "PUT", &[], b"").said().status, 405);
    let elsewhere = format!("POST /other HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", desk.address);
    assert_eq!(raw(desk.address, elsewhere.as_bytes()).said().status, 404);
    let heard = web.heard.lock().unwrap();
    assert!(heard.iter().all(|request| request.header("authorization") == "Bearer upstream-secret"));
    assert!(heard.iter().all(|request| !format!("{request:?}").contains(TOKEN)));
}

#[test]
fn smuggled_message_is_answered_and_never_forwarded() {
    let web = Web::plain();
    let desk = Desk::before(&web, &[("add", Free)]);
    for body in SMUGGLED {
        let said = desk.post(body);
        assert!(matches!(said.status, 400 | 200), "{body}: {said:?}");
        assert!(said.json()["error"]["code"].is_i64(), "{body}: {said:?}");
    }
    let said =
        desk.post(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":\"\xff\xfe\"}}");
    assert_eq!((said.status, &said.json()["error"]["code"]), (400, &json!(-32700)));
    let said = desk.post(b"");
    assert_eq!((said.status, &said.json()["error"]["code"]), (400, &json!(-32700)));
    for (headers, status) in
        [(&[("content-type", "text/plain")][..], 415), (&[("content-encoding", "gzip")][..], 415)]
    {
        let mut all = vec![("content-length", "2")];
        all.extend_from_slice(headers);
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            all.push(("content-type", "application/json"));
        }
        assert_eq!(request(desk.address, "POST", &all, b"{}").said().status, status);
    }
    assert_eq!(web.methods(), Vec::<String>::new());
    assert_eq!(desk.parts.person.count(), 0);
}

#[test]
fn request_with_mismatched_headers_is_refused_and_not_sent() {
    let web = Web::plain();
    let desk = Desk::before(&web, &[("add", Free)]);
    let version = ("mcp-protocol-version", "2026-07-28");
    let meta = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let cases: &[&[(&str, &str)]] = &[
        &[version, ("mcp-method", "tools/call"), ("mcp-name", "wipe")],
        &[version, ("mcp-method", "tools/list"), ("mcp-name", "add")],
        &[version, ("mcp-name", "add")],
        &[version, ("mcp-method", "tools/call")],
        &[version, ("mcp-method", "tools/call"), ("mcp-name", "add"), ("mcp-name", "wipe")],
        &[("mcp-protocol-version", "2025-11-25")],
        &[],
    ];
    for headers in cases {
        let said = desk.post_with(headers, meta);
        assert_eq!((said.status, &said.json()["error"]["code"]), (400, &json!(-32020)), "{headers:?}");
        assert_eq!(said.json()["id"], 1);
    }
    let twice = [("mcp-session-id", "a"), ("mcp-session-id", "b")];
    assert_eq!(desk.post_with(&twice, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 400);
    assert_eq!(request(desk.address, "GET", &twice, b"").said().status, 400);
    assert_eq!(request(desk.address, "DELETE", &twice, b"").said().status, 400);
    assert_eq!(web.methods(), Vec::<String>::new());
    // Whether the tool has an argument for a header is unknown until the tool is known.
    let right = [version, ("mcp-method", "tools/call"), ("mcp-name", "add"), ("mcp-param-path", "/etc")];
    let said = desk.post_with(&right, meta);
    assert_eq!((said.status, &said.json()["error"]["code"]), (400, &json!(-32020)));
    assert_eq!(web.methods(), ["tools/list"]);
}

#[test]
fn too_long_message_is_refused_before_it_is_buffered() {
    let web = Web::plain();
    let desk = Desk::before(&web, &[("add", Free)]);
    let head = |more: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\nconnection: close\r\n{more}\r\n\r\n",
            desk.address
        )
    };
    let told = raw(desk.address, head("content-length: 104857600").as_bytes()).said();
    assert_eq!(told.status, 413);
    let mut asking = raw(desk.address, head("transfer-encoding: chunked").as_bytes());
    let chunk = [b"100000\r\n".to_vec(), vec![b' '; 1 << 20], b"\r\n".to_vec()].concat();
    for _ in 0..100 {
        if std::io::Write::write_all(&mut asking.stream, &chunk).is_err() {
            break;
        }
    }
    // The gateway does not read the rest, so the response may be lost with the connection.
    assert!(matches!(asking.said().status, 413 | 0));
    let long = format!("x-long: {}", "a".repeat(100_000));
    assert!(matches!(raw(desk.address, head(&long).as_bytes()).said().status, 431 | 400 | 0));
    assert_eq!(web.methods(), Vec::<String>::new());
    assert_eq!(desk.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 200, "others are served");
}

#[test]
fn ambiguous_framing_is_refused_or_closes_the_connection() {
    let web = Web::plain();
    let desk = Desk::before(&web, &[("add", Free)]);
    let wipe = call(9, "wipe");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let chunked = format!("{:x}\r\n{ping}\r\n0\r\n\r\n", ping.len());
    let inner = format!("POST /mcp HTTP/1.1\r\nhost: x\r\n\r\n{wipe}");
    let cases = [
        format!("content-length: {}\r\ncontent-length: 5\r\n\r\n{ping}", ping.len()),
        format!("content-length: +{}\r\n\r\n{ping}", ping.len()),
        format!("content-length: {}x\r\n\r\n{ping}", ping.len()),
        format!("content-length: -1\r\n\r\n{ping}"),
        format!("transfer-encoding: chunked, identity\r\n\r\n{chunked}"),
        format!("transfer-encoding: xchunked\r\n\r\n{chunked}"),
        "transfer-encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n".to_owned(),
        format!("transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{ping}"),
        format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n{ping}", ping.len()),
        format!("content-length: {}\r\n\r\n{ping}", ping.len() + 40),
        format!("content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n{inner}"),
        format!("x y: z\r\ncontent-length: {}\r\n\r\n{ping}", ping.len()),
        format!("x\0: z\r\ncontent-length: {}\r\n\r\n{ping}", ping.len()),
    ];
    for case in &cases {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n",
            desk.address
        );
        let asking = raw(desk.address, format!("{head}{case}").as_bytes());
        asking.stream.shutdown(std::net::Shutdown::Write).unwrap();
        let said = asking.said();
        assert!(said.status == 0 || (400..500).contains(&said.status), "{case}: {said:?}");
    }
    assert_eq!(web.methods(), Vec::<String>::new());
}

#[test]
fn id_in_use_in_a_session_is_refused() {
    let web = Web::plain();
    let desk = Desk::before(&web, &[]);
    let session = [("mcp-session-id", "s")];
    let waiting = crate::web::post(desk.address, &session, call(1, "ask").as_bytes());
    crate::fixture::wait_for(|| (desk.parts.person.count() == 1).then_some(()));
    let said = desk.post_with(&session, call(1, "ask"));
    assert_eq!((said.status, &said.json()["error"]["code"]), (400, &json!(-32600)));
    // In another session, or without one, it is another request.
    assert_eq!(
        desk.post_with(&[("mcp-session-id", "t")], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status,
        200
    );
    assert_eq!(desk.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 200);
    drop(waiting);
}
