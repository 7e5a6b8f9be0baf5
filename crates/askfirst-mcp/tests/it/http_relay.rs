//! Tests clients and a server over HTTP: bytes pass unchanged, calls are checked, streams stay streams.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use askfirst::Approval::{Deny, None as Free};
use serde_json::{Value, json};

use crate::fixture::{edit, wait_for, yes};
use crate::web::{Desk, Web, answer_to, call, events, post, request, whole};

fn kinds(desk: &Desk) -> Vec<String> {
    let notes = desk.parts.notes.all.lock().unwrap();
    notes
        .iter()
        .map(|note| note["ended"].as_str().unwrap_or(note["kind"].as_str().unwrap()).to_owned())
        .collect()
}

#[test]
fn allowed_call_and_its_answer_pass_byte_for_byte() {
    let body = r#"{"id":1,  "jsonrpc":"2.0","result":{"content":[{"type":"text","text":"\u0033"}]}}"#;
    let web = Web::start(move |request, out| {
        let method = request.json()["method"].as_str().unwrap().to_owned();
        let listed = answer_to(&method, &request.json()).to_string();
        let answer = if method == "tools/list" { &listed } else { body };
        let headers = [("content-type", "application/json"), ("mcp-session-id", "S"), ("set-cookie", "x=1")];
        whole(out, "200 OK", &headers, answer.as_bytes());
    });
    let desk = Desk::before(&web, &[("add", Free)]);
    let call = "{ \"jsonrpc\":\"2.0\",\n  \"id\":1,\"method\":\"tools\\/call\",\"params\":{\"name\":\"add\",\"arguments\":{\"a\":1.50}} }";
    let headers = [
        ("traceparent", "00-1-2-3"),
        ("cookie", "secret=1"),
        ("accept", "application/json, text/event-stream"),
    ];
    let said = desk.post_with(&headers, call);
    assert_eq!((said.status, said.text().as_str()), (200, body));
    assert_eq!(said.headers.get("mcp-session-id").map(String::as_str), Some("S"));
    assert!(!said.headers.contains_key("set-cookie"));
    let heard = web.heard.lock().unwrap();
    assert_eq!(heard[1].body, call.as_bytes());
    assert_eq!((heard[1].header("traceparent"), heard[1].header("cookie")), ("00-1-2-3", ""));
    drop(heard);
    assert_eq!(kinds(&desk), ["decided", "done"]);
}

const STREAM: &str = ": hello\n\nid: 1\nretry: 50\ndata:\n\nevent: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/message\"}\n\nevent: ping\ndata: now\n\nid: 3\r\ndata:{\"jsonrpc\":\"2.0\",  \"id\":1,\"result\":{\"content\":[]}}\r\n\r\n";

#[test]
fn stream_passes_event_by_event_unchanged() {
    let web = Web::start(|request, out| {
        let message = request.json();
        if message["method"] == "tools/list" {
            let listed = answer_to("tools/list", &message).to_string();
            return whole(out, "200 OK", &[("content-type", "application/json")], listed.as_bytes());
        }
        events(out, &[("mcp-session-id", "S")]);
        for byte in STREAM.as_bytes().chunks(7) {
            out.write_all(byte).unwrap();
        }
        let _ = out.shutdown(std::net::Shutdown::Both);
    });
    let desk = Desk::before(&web, &[("add", Free)]);
    let said = desk.post(call(1, "add"));
    assert_eq!((said.status, said.text().as_str()), (200, STREAM));
    assert_eq!(said.headers.get("content-type").map(String::as_str), Some("text/event-stream"));
    assert_eq!(kinds(&desk), ["decided", "done"]);
}

#[test]
fn denied_call_and_disguised_message_are_not_forwarded() {
    let web = Web::start(|request, out| {
        let message = request.json();
        let answer = answer_to(message["method"].as_str().unwrap(), &message).to_string();
        events(out, &[]);
        let forged = r#"{"jsonrpc":"2.0","id":77,"result":{"content":[]}}"#;
        let list = answer.replace("The tool", "The \u{202e}tool");
        let text = format!(
            "event: other\ndata: {list}\n\ndata: {forged}\n\ndata: garbage\n\nid: 4\ndata: {list}\n\n"
        );
        out.write_all(text.as_bytes()).unwrap();
        let _ = out.shutdown(std::net::Shutdown::Both);
    });
    let desk = Desk::before(&web, &[("wipe", Deny)]);
    let said = desk.post(r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#);
    assert!(said.text().starts_with("id: 4\ndata: {"), "{}", said.text());
    assert!(said.text().contains("\\u{202e}") && !said.text().contains('\u{202e}'));
    let said = desk.post(call(1, "wipe"));
    assert_eq!((said.status, &said.json()["result"]["isError"]), (200, &json!(true)));
    assert_eq!(web.methods(), ["tools/list"]);
}

#[test]
fn waiting_call_over_http_blocks_nothing_and_sends_progress() {
    let web = Web::plain();
    let desk = Desk::before(&web, &[("add", Free)]);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"progressToken":"p"}}}"#;
    let mut asking = post(desk.address, &[], body.as_bytes());
    wait_for(|| (desk.parts.person.count() == 1).then_some(()));
    assert_eq!(desk.post(call(1, "add")).status, 200);
    desk.parts.gateway.heartbeat(1);
    let (status, headers) = asking.head();
    assert_eq!((status, headers["content-type"].as_str()), (200, "text/event-stream"));
    let told = String::from_utf8(asking.piece().unwrap()).unwrap();
    assert!(told.contains("notifications/progress") && told.contains("\"progressToken\":\"p\""), "{told}");
    let person = Arc::clone(&desk.parts.person);
    person.answer(1, |_| yes());
    let answer = String::from_utf8(asking.piece().unwrap()).unwrap();
    assert!(answer.starts_with("event: message\ndata: {") && answer.contains("done"), "{answer}");
    assert_eq!(asking.piece(), None);
    assert_eq!(web.heard.lock().unwrap().last().unwrap().body, body.as_bytes());
}

#[test]
fn closed_request_withdraws_its_approval_request() {
    let web = Web::plain();
    let desk = Desk::before(&web, &[("add", Free)]);
    let asking = post(desk.address, &[], call(1, "ask").as_bytes());
    wait_for(|| (desk.parts.person.count() == 1).then_some(()));
    drop(asking);
    wait_for(|| (desk.parts.person.withdrawn.lock().unwrap().len() == 1).then_some(()));
    // In a session a message can cancel the call, too.
    let session = [("mcp-session-id", "s")];
    let waiting = post(desk.address, &session, call(1, "ask").as_bytes());
    wait_for(|| (desk.parts.person.count() == 2).then_some(()));
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(desk.post_with(&session, cancel).status, 202);
    wait_for(|| (desk.parts.person.withdrawn.lock().unwrap().len() == 2).then_some(()));
    drop(waiting);
    assert!(!web.methods().contains(&"tools/call".to_owned()));
    assert!(!web.methods().contains(&"notifications/cancelled".to_owned()));
}

#[test]
fn edited_arguments_are_sent_with_matching_headers() {
    let web = Web::start(|request, out| {
        let message = request.json();
        let mut answer = answer_to(message["method"].as_str().unwrap(), &message);
        if let Some(tool) = answer["result"]["tools"].get_mut(2) {
            tool["inputSchema"] = json!({"properties": {"to": {"type": "string", "x-mcp-header": "To"}}});
        }
        whole(out, "200 OK", &[("content-type", "application/json")], answer.to_string().as_bytes());
    });
    let desk = Desk::before(&web, &[]);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"to":"all"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "ask"),
        ("mcp-param-to", "all"),
    ];
    let asking = post(desk.address, &headers, body.as_bytes());
    let edited = json!({"to": "me"}).as_object().unwrap().clone();
    desk.parts.person.answer(1, |_| edit(&edited));
    desk.parts.person.answer(2, |_| yes());
    assert!(asking.said().text().contains("edited the arguments"));
    let heard = web.heard.lock().unwrap();
    let (list, sent) = (&heard[0], &heard[1]);
    assert_eq!(
        (list.header("mcp-method"), list.header("mcp-name"), list.header("mcp-param-to")),
        ("tools/list", "", "")
    );
    assert_eq!(list.json()["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(
        (sent.header("mcp-param-to"), &sent.json()["params"]["arguments"]),
        ("me", &json!({"to": "me"}))
    );
}

#[test]
fn server_controls_sessions_and_streams() {
    let web = Web::start(|request, out| match request.method.as_str() {
        "GET" if request.header("last-event-id") == "7" => {
            events(out, &[]);
            let _ =
                out.write_all(b"id: 8\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
            let _ = out.shutdown(std::net::Shutdown::Both);
        }
        "DELETE" => whole(out, "204 No Content", &[], b""),
        _ => whole(out, "404 Not Found", &[("content-type", "text/plain")], b"no such session"),
    });
    let desk = Desk::before(&web, &[]);
    let headers = [("mcp-session-id", "S"), ("last-event-id", "7"), ("accept", "text/event-stream")];
    let said = request(desk.address, "GET", &headers, b"").said();
    assert_eq!(said.text(), "id: 8\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n");
    assert_eq!(request(desk.address, "DELETE", &headers[..1], b"").said().status, 204);
    let said = desk.post_with(&headers[..1], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!((said.status, said.text().as_str()), (404, "no such session"));
    let heard = web.heard.lock().unwrap();
    assert!(heard.iter().all(|request| request.header("mcp-session-id") == "S"));
}

#[test]
fn answer_on_a_later_stream_is_forwarded_and_logged() {
    let web = Web::start(|request, out| {
        if request.method == "GET" {
            events(out, &[]);
            let _ =
                out.write_all(b"id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n\n");
            let _ = out.shutdown(std::net::Shutdown::Both);
            return;
        }
        let message = request.json();
        if message["method"] == "tools/list" {
            let listed = answer_to("tools/list", &message).to_string();
            return whole(out, "200 OK", &[("content-type", "application/json")], listed.as_bytes());
        }
        events(out, &[]);
        let _ = out.write_all(b"id: 1\nretry: 10\ndata:\n\n");
        let _ = out.shutdown(std::net::Shutdown::Both);
    });
    let desk = Desk::before(&web, &[("add", Free)]);
    let session = [("mcp-session-id", "S")];
    assert_eq!(desk.post_with(&session, call(1, "add")).text(), "id: 1\nretry: 10\ndata:\n\n");
    assert_eq!(kinds(&desk), ["decided"]);
    let later = [("mcp-session-id", "S"), ("last-event-id", "1")];
    let said = request(desk.address, "GET", &later, b"").said();
    assert!(said.text().starts_with("id: 2\ndata: "), "{}", said.text());
    assert_eq!(kinds(&desk), ["decided", "done"]);
}

#[test]
fn redirect_or_refusal_of_the_server_is_not_followed() {
    let other = Web::plain();
    let elsewhere = other.url();
    let web = Web::start(move |_, out| {
        whole(out, "307 Temporary Redirect", &[("location", elsewhere.as_str())], b"");
    });
    let desk = Desk::before(&web, &[]);
    let said = desk.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!((said.status, &said.json()["error"]["code"]), (502, &json!(-32000)));
    assert_eq!(other.heard.lock().unwrap().len(), 0);
    let web = Web::start(|_, out| whole(out, "401 Unauthorized", &[("www-authenticate", "Bearer")], b""));
    let desk = Desk::before(&web, &[]);
    let said = desk.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!((said.status, said.headers.contains_key("www-authenticate")), (502, false));
}

#[test]
fn broken_server_ends_in_clear_errors() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let web = Web::start(move |request, out| {
        let message = request.json();
        if message["method"] == "tools/list" {
            let listed = answer_to("tools/list", &message).to_string();
            return whole(out, "200 OK", &[("content-type", "application/json")], listed.as_bytes());
        }
        match counted.fetch_add(1, Ordering::SeqCst) {
            0 => {
                events(out, &[]);
                let _ = out.write_all(b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"res");
            }
            1 => {}
            2 => {
                events(out, &[]);
                let flood = vec![b'x'; 1 << 20];
                let _ = out.write_all(b"data: ");
                while out.write_all(&flood).is_ok() {}
            }
            3 => whole(out, "200 OK", &[("content-type", "application/json")], b"[1,2"),
            4 => whole(out, "200 OK", &[("content-type", "text/html")], b"<p>hello"),
            5 => {
                let _ = out.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{",
                );
            }
            _ => whole(
                out,
                "200 OK",
                &[("content-type", "application/json")],
                br#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
            ),
        }
        let _ = out.shutdown(std::net::Shutdown::Both);
    });
    let desk = Desk::before(&web, &[("add", Free)]);
    for round in 0..7 {
        let said = desk.post(call(1, "add"));
        let text = said.text();
        let error: Value = match text.split_once("data: ") {
            Some((_, data)) => serde_json::from_str(data.trim()).unwrap(),
            None => said.json(),
        };
        assert_eq!((&error["id"], &error["error"]["code"]), (&json!(1), &json!(-32000)), "{round}: {text}");
    }
    let ended: Vec<String> = kinds(&desk).into_iter().filter(|kind| kind != "decided").collect();
    assert_eq!(ended, ["failed"; 7]);
    assert_eq!(desk.post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).status, 502, "and nothing hangs");
}

#[test]
fn thousand_waiting_calls_all_get_their_answer() {
    let web = Web::plain();
    let desk = Desk::before(&web, &[("add", Free)]);
    assert_eq!(desk.post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).status, 200);
    let mut asking: Vec<_> =
        (0..1000).map(|id| post(desk.address, &[], call(id, "ask").as_bytes())).collect();
    wait_for(|| (desk.parts.notes.all.lock().unwrap().len() == 1000).then_some(()));
    assert_eq!(desk.post(call(1, "add")).status, 200);
    // The first request was shown before the others arrived. The others share one request.
    desk.parts.person.answer(1, |_| yes());
    desk.parts.person.answer(2, |_| yes());
    for (id, asking) in asking.drain(..).enumerate() {
        let said = asking.said();
        assert_eq!((said.status, &said.json()["id"]), (200, &json!(id)));
    }
}
