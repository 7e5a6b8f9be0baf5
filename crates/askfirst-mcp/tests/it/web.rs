//! A server and a client that speak HTTP by hand, with the gateway between them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use askfirst::ports::{Approver, Clock};
use askfirst::{Approval, FunctionToolset, Mode};
use askfirst_mcp::elicit::Elicit;
use askfirst_mcp::http::{Front, ListenerSettings, Target, Token};
use askfirst_mcp::{Gateway, Pins, Setup};
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::fixture::{Notes, Person, policy, tool};

pub const TOKEN: &str = "a-token-for-tests-only";

/// A request with its original bytes.
#[derive(Debug, Clone)]
pub struct Heard {
    pub method: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Heard {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// A server that answers by hand.
pub struct Web {
    pub address: SocketAddr,
    pub heard: Arc<Mutex<Vec<Heard>>>,
}

impl Web {
    pub fn start(answer: impl Fn(&Heard, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&heard), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut input = BufReader::new(stream.try_clone().unwrap());
                    let mut output = stream;
                    while let Some(request) = read_request(&mut input) {
                        kept.lock().unwrap().push(request.clone());
                        answer(&request, &mut output);
                    }
                });
            }
        });
        Self { address, heard }
    }

    /// A server with the tools `add`, `wipe` and `ask`.
    pub fn plain() -> Self {
        Self::start(|request, out| {
            if request.method != "POST" {
                return whole(out, "405 Method Not Allowed", &[], b"");
            }
            let message = request.json();
            match message["method"].as_str() {
                Some(method) if message.get("id").is_some() => {
                    let body = answer_to(method, &message).to_string();
                    whole(out, "200 OK", &[("content-type", "application/json")], body.as_bytes());
                }
                _ => whole(out, "202 Accepted", &[], b""),
            }
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The methods of the received messages.
    pub fn methods(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        let method = |request: &Heard| match serde_json::from_slice::<Value>(&request.body) {
            Ok(message) => message["method"].as_str().unwrap_or("answer").to_owned(),
            Err(_) => request.method.clone(),
        };
        heard.iter().map(method).collect()
    }
}

pub fn answer_to(method: &str, message: &Value) -> Value {
    let result = match method {
        "tools/list" => json!({"tools": [tool("add"), tool("wipe"), tool("ask")]}),
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"}}),
        _ => json!({"content": [{"type": "text", "text": "done"}]}),
    };
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

fn read_request(input: &mut impl BufRead) -> Option<Heard> {
    let mut line = String::new();
    if input.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let method = line.split(' ').next()?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        input.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    input.read_exact(&mut body).ok()?;
    Some(Heard { method, headers, body })
}

/// Sends a response with a length.
pub fn whole(out: &mut TcpStream, status: &str, headers: &[(&str, &str)], body: &[u8]) {
    let mut text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
    let _ = out.write_all(&[text.as_bytes(), b"\r\n", body].concat());
}

/// Starts a stream of events, which ends with the connection.
pub fn events(out: &mut TcpStream, headers: &[(&str, &str)]) {
    let mut text = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n".to_owned();
    headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
    let _ = out.write_all(&[text.as_bytes(), b"\r\n"].concat());
}

/// The gateway and its parts.
pub struct Parts {
    pub gateway: Arc<Gateway>,
    pub person: Arc<Person>,
    pub notes: Arc<Notes>,
    _state: tempfile::TempDir,
}

impl Parts {
    pub fn new(entries: &[(&str, Approval)]) -> Self {
        Self::named("maths", entries)
    }

    pub fn named(server: &str, entries: &[(&str, Approval)]) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let person = Arc::new(Person::default());
        Self::asking(server, entries, Arc::clone(&person) as _, None, (person, clock))
    }

    /// Creates parts in which only clients are asked.
    pub fn asking_clients(server: &str, entries: &[(&str, Approval)]) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let elicit = Elicit::new(Arc::default(), Arc::clone(&clock));
        Self::asking(server, entries, Arc::clone(&elicit) as _, Some(elicit), (Arc::default(), clock))
    }

    fn asking(
        server: &str,
        entries: &[(&str, Approval)],
        approver: Arc<dyn Approver>,
        elicit: Option<Arc<Elicit>>,
        (person, clock): (Arc<Person>, Arc<dyn Clock>),
    ) -> Self {
        let state = tempfile::tempdir().unwrap();
        let notes = Arc::new(Notes::default());
        let controller =
            ApprovalController::setup(Mode::Interactive).approver(approver).clock(Arc::clone(&clock)).build();
        let policy = policy(entries);
        let approval = ApprovalToolset::new(FunctionToolset::new(), controller, policy.clone())
            .recorder(Arc::clone(&notes) as _)
            .clock(clock)
            .session("test");
        let setup = Setup {
            server: server.to_owned(),
            approval,
            policy,
            pins: pins(state.path(), server),
            hide_denied: false,
            tell: Box::new(|_| {}),
        };
        let gateway = Gateway::asking(setup, elicit);
        Self { gateway, person, notes, _state: state }
    }
}

fn pins(state: &Path, server: &str) -> Pins {
    Pins::open(state, server).unwrap()
}

/// A listener on a free port.
pub fn front() -> (Front, SocketAddr) {
    let front = Front::open(ListenerSettings {
        address: "127.0.0.1:0".parse().unwrap(),
        token: Some(Token::from_text(TOKEN, "test").unwrap()),
        hosts: Vec::new(),
        origins: Vec::new(),
    })
    .unwrap();
    let url = front.url();
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().parse().unwrap();
    (front, address)
}

/// A gateway between clients over HTTP and this server.
pub struct Desk {
    pub address: SocketAddr,
    pub parts: Parts,
}

impl Desk {
    pub fn before(web: &Web, entries: &[(&str, Approval)]) -> Self {
        Self::with(web, Parts::new(entries))
    }

    pub fn with(web: &Web, parts: Parts) -> Self {
        let token = Token::from_text("upstream-secret", "test").unwrap();
        let target = Target::new(&web.url(), Some(&token), None).unwrap();
        let (front, address) = front();
        let gateway = Arc::clone(&parts.gateway);
        std::thread::spawn(move || askfirst_mcp::http::serve(front, gateway, target));
        Self { address, parts }
    }

    pub fn post(&self, body: impl AsRef<[u8]>) -> Said {
        self.post_with(&[], body)
    }

    pub fn post_with(&self, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Said {
        post(self.address, headers, body.as_ref()).said()
    }
}

/// A response with its original bytes.
#[derive(Debug)]
pub struct Said {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Said {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// A request whose response is read as it arrives.
pub struct Asking {
    pub stream: TcpStream,
    input: BufReader<TcpStream>,
}

/// Sends a message.
pub fn post(address: SocketAddr, headers: &[(&str, &str)], body: &[u8]) -> Asking {
    let length = body.len().to_string();
    let mut all = vec![("content-type", "application/json"), ("content-length", length.as_str())];
    all.extend_from_slice(headers);
    request(address, "POST", &all, body)
}

/// Sends a request, with the token unless the headers have another.
pub fn request(address: SocketAddr, method: &str, headers: &[(&str, &str)], body: &[u8]) -> Asking {
    let has = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    let mut head = format!("{method} /mcp HTTP/1.1\r\nconnection: close\r\n");
    if !has("host") {
        head.push_str(&format!("host: {address}\r\n"));
    }
    if !has("authorization") {
        head.push_str(&format!("authorization: Bearer {TOKEN}\r\n"));
    }
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    raw(address, &[head.as_bytes(), b"\r\n", body].concat())
}

/// Sends bytes unchanged.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> Asking {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // The gateway may close the connection before it has read everything.
    let _ = stream.write_all(bytes);
    Asking { input: BufReader::new(stream.try_clone().unwrap()), stream }
}

impl Asking {
    /// Reads the head. The status is zero if there is none.
    pub fn head(&mut self) -> (u16, BTreeMap<String, String>) {
        let (mut line, mut headers) = (String::new(), BTreeMap::new());
        let _ = self.input.read_line(&mut line);
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        loop {
            line.clear();
            let _ = self.input.read_line(&mut line);
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        (status, headers)
    }

    /// Reads the next part of a stream, or `None` at its end.
    pub fn piece(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.input.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut bytes = vec![0; length + 2];
        self.input.read_exact(&mut bytes).ok()?;
        bytes.truncate(length);
        (length > 0).then_some(bytes)
    }

    /// Reads the next message of a stream.
    pub fn event(&mut self) -> Value {
        let piece = String::from_utf8(self.piece().unwrap()).unwrap();
        let data =
            piece.lines().find_map(|line| line.strip_prefix("data:")).unwrap_or_else(|| panic!("{piece}"));
        serde_json::from_str(data).unwrap()
    }

    /// Reads the whole response.
    pub fn said(mut self) -> Said {
        let (status, headers) = self.head();
        let mut body = Vec::new();
        if headers.contains_key("transfer-encoding") {
            while let Some(piece) = self.piece() {
                body.extend(piece);
            }
        } else {
            let _ = self.input.read_to_end(&mut body);
        }
        Said { status, headers, body }
    }
}

pub fn call(id: u64, name: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{}}}}}}"#
    )
}
