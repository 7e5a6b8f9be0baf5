//! Sends a client's messages to a server behind a URL, one HTTP request each, and turns the responses into messages.
//!
//! It keeps the session, and resumes a stream that breaks off.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

use super::mirror::{self, LAST_EVENT, SESSION, VERSION};
use super::peer::Peer;
use super::reply::{is_json, is_stream, session_of};
use super::sse::Splitter;
use super::target::{ANSWER, Target, cause};
use crate::gateway::{Gateway, Link};
use crate::lines::MAX_LINE;
use crate::message::{Id, Message, Sender, read};
use crate::out::{Connection, LineSink};

/// The number of messages that may wait to be sent.
const QUEUE: usize = 64;
/// How long a notification may take before the next message is sent.
const NOTICE: Duration = Duration::from_secs(10);
/// How long to wait before a stream is resumed, unless the server sends a time.
const RETRY: Duration = Duration::from_secs(1);
const SHORTEST_RETRY: Duration = Duration::from_millis(50);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How often a stream is resumed without a new event.
const TRIES: u32 = 10;

/// A connection to a server behind a URL.
pub(crate) struct Bridge {
    core: Arc<Core>,
    messages: mpsc::Sender<QueuedMessage>,
}

struct QueuedMessage {
    line: Vec<u8>,
    to_client: Arc<dyn LineSink>,
}

struct Core {
    link: Arc<Link>,
    target: Arc<Target>,
    unasked: Arc<dyn LineSink>,
    messages: mpsc::WeakSender<QueuedMessage>,
    known: Mutex<BridgeState>,
    over: Notify,
    ended: AtomicBool,
}

#[derive(Default)]
struct BridgeState {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The requests in flight, and whether closing the stream of a request cancels it.
    running: HashMap<Id, (AbortHandle, StreamClose)>,
    listening: Option<AbortHandle>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamClose {
    Cancels,
    HasNoEffect,
}

/// The destination of the gateway's messages to the server.
struct ToServer {
    messages: mpsc::Sender<QueuedMessage>,
    to_client: Arc<dyn LineSink>,
}

impl LineSink for ToServer {
    fn line(&self, line: &[u8]) -> io::Result<()> {
        let given = QueuedMessage { line: line.to_vec(), to_client: Arc::clone(&self.to_client) };
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        match self.messages.try_send(given) {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(gone()),
            Err(mpsc::error::TrySendError::Full(given)) => match Handle::try_current() {
                Err(_) => self.messages.blocking_send(given).map_err(|_| gone()),
                // Only the gateway's own requests come from here, one at a time.
                Ok(runtime) => {
                    let messages = self.messages.clone();
                    runtime.spawn(async move { messages.send(given).await.is_ok() });
                    Ok(())
                }
            },
        }
    }
}

impl Bridge {
    pub(crate) fn start(
        gateway: &Arc<Gateway>,
        target: Arc<Target>,
        unasked: Arc<dyn LineSink>,
        runtime: &Handle,
    ) -> Arc<Self> {
        let (messages, given) = mpsc::channel(QUEUE);
        let core = Arc::new(Core {
            link: gateway.link(),
            target,
            unasked,
            messages: messages.downgrade(),
            known: Mutex::default(),
            over: Notify::new(),
            ended: AtomicBool::new(false),
        });
        runtime.spawn(Arc::clone(&core).run(given));
        Arc::new(Self { core, messages })
    }
}

impl Peer for Bridge {
    fn take(&self, to_client: &Arc<dyn LineSink>, line: &[u8]) -> io::Result<()> {
        let to_server = ToServer { messages: self.messages.clone(), to_client: Arc::clone(to_client) };
        let connection = Connection { to_client: Arc::clone(to_client), to_server: Arc::new(to_server) };
        self.core.link.from_client(&connection, line.into())
    }

    fn withdraw(&self, id: &Id) -> bool {
        self.core.link.withdraw(id)
    }

    fn client_is_gone(&self) {
        self.core.link.client_is_gone();
    }

    fn is_idle(&self) -> bool {
        self.core.link.is_idle()
    }

    fn close(&self) {
        self.core.link.withdraw_all();
        self.core.over.notify_one();
    }

    fn is_over(&self) -> bool {
        self.core.ended.load(Ordering::Acquire)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.close();
    }
}

impl Core {
    fn known(&self) -> MutexGuard<'_, BridgeState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(self: Arc<Self>, mut given: mpsc::Receiver<QueuedMessage>) {
        loop {
            let next = tokio::select! {
                next = given.recv() => next,
                () = self.over.notified() => None,
            };
            match next {
                Some(next) => self.send(next).await,
                None => break,
            }
        }
        drop(given);
        self.end().await;
        self.ended.store(true, Ordering::Release);
    }

    /// Ends the connection and its session.
    async fn end(&self) {
        let (running, listening, headers) = {
            let mut known = self.known();
            let running: Vec<AbortHandle> = known.running.drain().map(|(_, (task, _))| task).collect();
            (running, known.listening.take(), known.session.is_some().then(|| self.headers_of(&known)))
        };
        running.iter().chain(&listening).for_each(AbortHandle::abort);
        self.link.server_is_gone("the connection was closed");
        if let Some(headers) = headers {
            let ending = self.target.send(Method::DELETE, headers, Bytes::new());
            let _ = tokio::time::timeout(Duration::from_secs(2), ending).await;
        }
    }

    fn headers_of(&self, known: &BridgeState) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let given = [(SESSION, &known.session), (VERSION, &known.version)];
        for (name, value) in given {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        headers
    }

    fn headers(&self, method: Option<&str>, params: Option<&Value>, line: &[u8]) -> HeaderMap {
        let mut headers = self.headers_of(&self.known());
        let version = mirror::version_in(params);
        if let Some(version) = version.and_then(|version| HeaderValue::from_str(version).ok()) {
            headers.insert(VERSION, version);
        }
        if let (Some(method), true) = (method, is_stateless(&headers)) {
            headers.extend(mirror::of(method, params));
            if method == "tools/call" {
                mirror::replace_args(&mut headers, self.link.gateway.upstream.args_headers(line));
            }
        }
        headers
    }

    async fn send(self: &Arc<Self>, given: QueuedMessage) {
        let Ok(message) = read(&given.line, Sender::Server) else { return };
        match message {
            Message::Request { id, method, params } => {
                let params: Option<Value> = params.and_then(|params| serde_json::from_str(params.get()).ok());
                let headers = self.headers(Some(&method), params.as_ref(), &given.line);
                let first = method == "initialize";
                let leaving =
                    if is_stateless(&headers) { StreamClose::Cancels } else { StreamClose::HasNoEffect };
                let (core, of) = (Arc::clone(self), id.clone());
                let QueuedMessage { line, to_client } = given;
                let task = tokio::spawn(async move {
                    if let Err(why) = core.request(&of, headers, line, &to_client, first).await {
                        core.link.lost(&of, &why);
                    }
                    core.known().running.remove(&of);
                });
                if first {
                    // The next messages need the session id.
                    let _ = task.await;
                } else if !task.is_finished() {
                    self.known().running.insert(id, (task.abort_handle(), leaving));
                }
            }
            Message::Notification { method, params } => {
                let params: Option<Value> = params.and_then(|params| serde_json::from_str(params.get()).ok());
                if method == "notifications/cancelled" && self.give_up(params.as_ref()) {
                    return;
                }
                let headers = self.headers(Some(&method), params.as_ref(), &given.line);
                let initialized = method == "notifications/initialized";
                self.notify(headers, given.line).await;
                if initialized {
                    self.listen();
                }
            }
            Message::Response { .. } => {
                let headers = self.headers(None, None, &given.line);
                self.notify(headers, given.line).await;
            }
        }
    }

    /// Cancels a request by closing its stream, if its revision works that way. Returns whether it did.
    fn give_up(&self, params: Option<&Value>) -> bool {
        let id = match params.and_then(|params| params.get("requestId")) {
            Some(Value::String(text)) => Id::Text(text.clone()),
            Some(Value::Number(number)) => match number.as_i64() {
                Some(number) => Id::Number(number),
                None => return false,
            },
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => return false,
        };
        let mut known = self.known();
        match known.running.get(&id) {
            Some((task, StreamClose::Cancels)) => task.abort(),
            Some((_, StreamClose::HasNoEffect)) | None => return false,
        }
        known.running.remove(&id);
        drop(known);
        self.link.fail(&id, "the client canceled it");
        true
    }

    async fn notify(self: &Arc<Self>, headers: HeaderMap, line: Vec<u8>) {
        let core = Arc::clone(self);
        let sending = tokio::spawn(async move {
            match core.target.send(Method::POST, headers, line.into()).await {
                Ok(response) if response.status().is_success() => {}
                Ok(response) => core.link.tell(&format!("the server answered with {}", response.status())),
                Err(why) => core.link.tell(&why.to_string()),
            }
        });
        let _ = tokio::time::timeout(NOTICE, sending).await;
    }

    fn connection(&self, to_client: &Arc<dyn LineSink>) -> Option<Connection> {
        let messages = self.messages.upgrade()?;
        let to_server = ToServer { messages, to_client: Arc::clone(to_client) };
        Some(Connection { to_client: Arc::clone(to_client), to_server: Arc::new(to_server) })
    }

    /// Sends a request and handles the response until the request is answered.
    async fn request(
        self: &Arc<Self>,
        id: &Id,
        headers: HeaderMap,
        line: Vec<u8>,
        to_client: &Arc<dyn LineSink>,
        first: bool,
    ) -> Result<(), String> {
        let connection = self.connection(to_client).ok_or("the connection was closed")?;
        let mut after = headers.clone();
        let response =
            self.target.send(Method::POST, headers, line.into()).await.map_err(|e| e.to_string())?;
        if first && response.status().is_success() {
            self.known().session =
                session_of(&response).and_then(|session| HeaderValue::from_str(&session).ok());
            after = self.headers_of(&self.known());
        }
        if !is_stream(&response) {
            return self.take_whole(&connection, id, response, first).await;
        }
        let mut last = StreamPosition::default();
        if self.take_stream(&connection, Some(id), response, &mut last, first).await? {
            return Ok(());
        }
        let mut tries = 0;
        while let (Some(seen), true) = (last.id.clone(), tries < TRIES) {
            tokio::time::sleep(last.pause()).await;
            after.insert(LAST_EVENT, seen.clone());
            after.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
            let again = self.target.send(Method::GET, after.clone(), Bytes::new()).await;
            match again {
                Ok(response) if is_stream(&response) => {
                    if self.take_stream(&connection, Some(id), response, &mut last, first).await? {
                        return Ok(());
                    }
                }
                Ok(response) if response.status().is_client_error() => break,
                Ok(_) | Err(_) => {}
            }
            tries = if last.id.as_ref() == Some(&seen) { tries + 1 } else { 0 };
        }
        Err("the server ended before it answered".to_owned())
    }

    async fn take_whole(
        self: &Arc<Self>,
        connection: &Connection,
        id: &Id,
        response: Response<Incoming>,
        first: bool,
    ) -> Result<(), String> {
        let status = response.status();
        if !is_json(&response) {
            return Err(match status {
                StatusCode::NOT_FOUND if self.known().session.is_some() => {
                    "the server has ended the session; hint: connect again".to_owned()
                }
                status if status.is_redirection() => {
                    "the server redirects to another URL; hint: use that URL".to_owned()
                }
                status => format!("the server answered with {status}"),
            });
        }
        let body = Limited::new(response.into_body(), MAX_LINE).collect();
        let body =
            tokio::time::timeout(ANSWER, body).await.map_err(|_| "the server is too slow".to_owned())?;
        let body = body.map_err(|e| cause(&*e))?.to_bytes();
        match read(&body, Sender::Server) {
            Ok(Message::Response { id: Some(of), .. }) if of == *id => {
                self.learn(&body, first);
                self.link.from_server(connection, body[..].into()).map(drop).map_err(|e| e.to_string())
            }
            Ok(Message::Response { id: None, .. }) => {
                let said = askfirst::json::parse_object(&body).ok();
                let said = said.as_ref().and_then(|said| said.get("error")?.get("message")?.as_str());
                Err(format!("the server answered with {status}: {}", said.unwrap_or("no reason given")))
            }
            Ok(_) | Err(_) => Err(format!("the server answered with {status}, but sent no valid answer")),
        }
    }

    /// Reads a stream to its end. Returns whether it answered the request.
    async fn take_stream(
        self: &Arc<Self>,
        connection: &Connection,
        id: Option<&Id>,
        response: Response<Incoming>,
        last: &mut StreamPosition,
        first: bool,
    ) -> Result<bool, String> {
        if response.headers().contains_key(CONTENT_ENCODING) {
            return Err("the server sent a compressed answer".to_owned());
        }
        let mut body = response.into_body();
        let mut splitter = Splitter::default();
        loop {
            let idle = if id.is_some() { ANSWER } else { Duration::MAX };
            let frame = match tokio::time::timeout(idle, body.frame()).await {
                Err(_) => return Err("the server is too slow".to_owned()),
                Ok(None | Some(Err(_))) => return Ok(false),
                Ok(Some(Ok(frame))) => frame,
            };
            let Ok(data) = frame.into_data() else { continue };
            splitter.push(&data).map_err(|e| e.to_string())?;
            while let Some(event) = splitter.next().map_err(|e| e.to_string())? {
                last.see(event.id.as_deref(), event.retry);
                let Some(data) = event.data.filter(|data| !data.is_empty() && event.kind.is_none()) else {
                    continue;
                };
                let answers = match (read(&data, Sender::Server), id) {
                    (Ok(Message::Response { id: Some(of), .. }), Some(id)) => of == *id,
                    (Ok(_) | Err(_), _) => false,
                };
                if answers {
                    self.learn(&data, first);
                }
                self.link.from_server(connection, data[..].into()).map_err(|e| e.to_string())?;
                if answers {
                    return Ok(true);
                }
            }
        }
    }

    /// Stores the revision that the server chose.
    fn learn(&self, line: &[u8], first: bool) {
        if !first {
            return;
        }
        let answer = askfirst::json::parse_object(line).ok();
        let version =
            answer.as_ref().and_then(|answer| answer.get("result")?.get("protocolVersion")?.as_str());
        self.known().version = version.and_then(|version| HeaderValue::from_str(version).ok());
    }

    /// Listens for messages that the server sends on its own, if it offers a stream for them.
    fn listen(self: &Arc<Self>) {
        let core = Arc::clone(self);
        let listening = tokio::spawn(async move {
            let Some(connection) = core.connection(&core.unasked) else { return };
            let mut last = StreamPosition::default();
            for _ in 0..u32::MAX {
                let mut headers = core.headers_of(&core.known());
                headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
                if let Some(id) = &last.id {
                    headers.insert(LAST_EVENT, id.clone());
                }
                match core.target.send(Method::GET, headers, Bytes::new()).await {
                    Ok(response) if is_stream(&response) => {
                        if core.take_stream(&connection, None, response, &mut last, false).await.is_err() {
                            return;
                        }
                    }
                    Ok(response) if response.status().is_server_error() => {}
                    Ok(_) => return,
                    Err(_) => {}
                }
                tokio::time::sleep(last.pause()).await;
            }
        });
        let before = self.known().listening.replace(listening.abort_handle());
        if let Some(before) = before {
            before.abort();
        }
    }
}

/// The position at which a stream ended.
#[derive(Default)]
struct StreamPosition {
    id: Option<HeaderValue>,
    retry: Option<u64>,
}

impl StreamPosition {
    fn see(&mut self, id: Option<&[u8]>, retry: Option<u64>) {
        if let Some(id) = id {
            self.id = HeaderValue::from_bytes(id).ok();
        }
        self.retry = retry.or(self.retry);
    }

    fn pause(&self) -> Duration {
        self.retry.map_or(RETRY, Duration::from_millis).clamp(SHORTEST_RETRY, LONGEST_RETRY)
    }
}

fn is_stateless(headers: &HeaderMap) -> bool {
    let name: &HeaderName = &VERSION;
    mirror::is_stateless(headers.get(name).and_then(|value| value.to_str().ok()))
}
