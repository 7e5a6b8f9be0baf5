//! Clients over HTTP, with servers that take one message at a time: each session is a connection of its own.
//!
//! Requests of a revision without sessions share connections, unless two of them could be confused.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use hyper::header::{ALLOW, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::board::{Board, IDLE, Post, PostEnd};
use super::front::{Front, FrontError, HttpRequest, RequestHandler};
use super::mirror::{self, SESSION, VERSION};
use super::peer::{Backend, Names, Peer};
use super::proxy::{beat, checked, singles};
use super::reply::{self, Client, Reply, status_of};
use super::sse;
use super::token::Token;
use crate::gateway::refuse;
use crate::message::{Id, Message, Sender, read};
use crate::out::LineSink;

/// The largest number of connections with sessions.
const SESSIONS: usize = 64;
/// The largest number of connections that requests without sessions share.
const SHARED: usize = 8;
/// The number of messages that may wait for a slow server.
const QUEUE: usize = 64;

/// Serves clients over HTTP for as long as the process lives.
///
/// # Errors
/// Fails if the runtime cannot be started or the listener breaks.
pub fn serve_sessions(front: Front, backends: Vec<Backend>, names: Names) -> Result<(), FrontError> {
    super::run(async move {
        for backend in &backends {
            tokio::spawn(beat(Arc::clone(&backend.gateway)));
        }
        let opener = move |unasked, runtime: &Handle| super::peer::open(&backends, names, unasked, runtime);
        let sessions =
            Sessions { opener: Box::new(opener), runtime: Handle::current(), open: Mutex::default() };
        front.serve(Arc::new(sessions)).await
    })
}

/// Serves clients over HTTP for as long as the process lives. `opener` opens the connection of each client.
pub(crate) fn serve_opened(front: Front, opener: Opener) -> Result<(), FrontError> {
    super::run(async move {
        front.serve(Arc::new(Sessions { opener, runtime: Handle::current(), open: Mutex::default() })).await
    })
}

/// Opens a connection. Messages that answer no request go to the given destination.
pub(crate) type Opener =
    Box<dyn Fn(Arc<dyn LineSink>, &Handle) -> std::io::Result<Arc<dyn Peer>> + Send + Sync>;

struct Sessions {
    opener: Opener,
    runtime: Handle,
    open: Mutex<OpenSessions>,
}

#[derive(Default)]
struct OpenSessions {
    named: HashMap<String, Arc<HttpConnection>>,
    shared: Vec<Arc<HttpConnection>>,
}

/// One connection.
struct HttpConnection {
    peer: Arc<dyn Peer>,
    board: Arc<Board>,
    work: mpsc::Sender<QueuedMessage>,
    used: Mutex<Instant>,
}

/// A message that waits for the server.
struct QueuedMessage {
    line: Bytes,
    to_client: Arc<dyn LineSink>,
    taken: oneshot::Sender<()>,
}

impl HttpConnection {
    fn start(opener: &Opener, runtime: &Handle) -> std::io::Result<Arc<Self>> {
        let board = Arc::<Board>::default();
        let peer = opener(Arc::clone(&board) as _, runtime)?;
        let (work, mut given) = mpsc::channel::<QueuedMessage>(QUEUE);
        let (taking, watched) = (Arc::clone(&peer), Arc::clone(&board));
        std::thread::spawn(move || {
            while let Some(QueuedMessage { line, to_client, taken }) = given.blocking_recv() {
                if let Err(e) = taking.take(&to_client, &line) {
                    let id = match read(&line, Sender::Server) {
                        Ok(Message::Request { id, .. }) => Some(id),
                        Ok(Message::Notification { .. } | Message::Response { .. }) | Err(_) => None,
                    };
                    let _ = refuse(&*to_client, id.as_ref(), -32000, &format!("the server has ended: {e}"));
                    watched.close();
                }
                let _ = taken.send(());
            }
            taking.close();
        });
        Ok(Arc::new(Self { peer, board, work, used: Mutex::new(Instant::now()) }))
    }

    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self) -> bool {
        self.board.is_idle() && self.peer.is_idle() && self.used().elapsed() > IDLE
    }
}

impl RequestHandler for Sessions {
    fn answer(self: Arc<Self>, asked: HttpRequest) -> Pin<Box<dyn Future<Output = Reply> + Send>> {
        Box::pin(async move {
            match asked.method {
                Method::POST => self.post(asked).await,
                Method::GET => self.get(&asked.headers).await,
                _ => self.delete(&asked.headers),
            }
        })
    }
}

impl Sessions {
    fn open(&self) -> MutexGuard<'_, OpenSessions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn post(self: Arc<Self>, asked: HttpRequest) -> Reply {
        let message = match checked(&asked.headers, &asked.body) {
            Ok(message) => message,
            Err(reply) => return *reply,
        };
        let stateless = is_stateless(&asked.headers);
        let (id, first, progress) = match &message {
            Message::Request { id, method, params } => {
                let params: Option<Value> = params.and_then(|params| serde_json::from_str(params.get()).ok());
                let token =
                    params.as_ref().and_then(|params| params.get("_meta")?.get("progressToken")).cloned();
                (Some(id.clone()), method == "initialize", token)
            }
            Message::Notification { .. } | Message::Response { .. } => (None, false, None),
        };
        let refuse = |status, why: &str| reply::error(status, id.as_ref(), -32000, why);
        let named = mirror::only(&asked.headers, &SESSION).ok().flatten();
        let (session, name) = match (named, first, stateless) {
            (Some(name), _, _) => match self.named(name) {
                Some(session) => (session, None),
                None => return refuse(StatusCode::NOT_FOUND, "unknown session"),
            },
            (None, true, _) => match self.begin() {
                Ok((name, session)) => (session, Some(name)),
                Err((status, why)) => return refuse(status, &why),
            },
            (None, false, true) => match self.shared(id.as_ref(), progress.as_ref()) {
                Ok(Some(session)) => (session, None),
                Ok(None) => return reply::empty(StatusCode::ACCEPTED),
                Err((status, why)) => return refuse(status, &why),
            },
            (None, false, false) => {
                return reply::error(
                    StatusCode::BAD_REQUEST,
                    id.as_ref(),
                    -32600,
                    "missing header `mcp-session-id`",
                );
            }
        };
        *session.used() = Instant::now();
        let (post, end) = Post::new();
        match id {
            None => self.tell(&session, asked.body, &post, end).await,
            Some(id) => {
                session.board.add(id.clone(), progress, Arc::clone(&post));
                let (head, heard) = oneshot::channel();
                let asking = PendingPost {
                    sessions: Arc::clone(&self),
                    session,
                    post,
                    end,
                    id,
                    name,
                    client: Client::Waiting(head),
                    stateless,
                    _held: asked.held,
                };
                tokio::spawn(asking.run(asked.body));
                heard.await.unwrap_or_else(|_| reply::empty(StatusCode::INTERNAL_SERVER_ERROR))
            }
        }
    }

    /// Sends a message that expects no answer.
    async fn tell(&self, session: &HttpConnection, line: Bytes, post: &Arc<Post>, mut end: PostEnd) -> Reply {
        let (taken, done) = oneshot::channel();
        let to_client: Arc<dyn LineSink> = Arc::clone(post) as _;
        if session.work.send(QueuedMessage { line, to_client, taken }).await.is_err() || done.await.is_err() {
            return reply::empty(StatusCode::BAD_GATEWAY);
        }
        match end.next_now() {
            Some(line) => reply::json(StatusCode::BAD_REQUEST, HeaderMap::new(), line),
            None => reply::empty(StatusCode::ACCEPTED),
        }
    }

    fn named(&self, name: &str) -> Option<Arc<HttpConnection>> {
        let mut open = self.open();
        let session = Arc::clone(open.named.get(name)?);
        if session.board.is_over() {
            open.named.remove(name);
            return None;
        }
        Some(session)
    }

    fn begin(&self) -> Result<(String, Arc<HttpConnection>), (StatusCode, String)> {
        let mut open = self.open();
        if open.named.len() >= SESSIONS {
            open.named.retain(|_, session| !session.board.is_over() && !session.is_idle());
        }
        if open.named.len() >= SESSIONS {
            let why = "there are too many sessions; hint: end one".to_owned();
            return Err((StatusCode::SERVICE_UNAVAILABLE, why));
        }
        let session = HttpConnection::start(&self.opener, &self.runtime).map_err(unstarted)?;
        let name = Token::random().map_err(|e| (StatusCode::INTERNAL_SERVER_ERROR, e.to_string()))?;
        let name = name.reveal().to_owned();
        open.named.insert(name.clone(), Arc::clone(&session));
        Ok((name, session))
    }

    /// Finds or opens a shared connection without an open request that could be confused with this one.
    fn shared(
        &self,
        id: Option<&Id>,
        progress: Option<&Value>,
    ) -> Result<Option<Arc<HttpConnection>>, (StatusCode, String)> {
        let mut open = self.open();
        open.shared.retain(|session| !session.board.is_over());
        let Some(id) = id else { return Ok(open.shared.first().cloned()) };
        if let Some(session) = open.shared.iter().find(|session| !session.board.has(id, progress)) {
            return Ok(Some(Arc::clone(session)));
        }
        if open.shared.len() >= SHARED {
            let why = "too many requests with this id wait for an answer".to_owned();
            return Err((StatusCode::SERVICE_UNAVAILABLE, why));
        }
        let session = HttpConnection::start(&self.opener, &self.runtime).map_err(unstarted)?;
        open.shared.push(Arc::clone(&session));
        Ok(Some(session))
    }

    fn forget(&self, name: &str) -> bool {
        let session = self.open().named.remove(name);
        session.map(|session| session.peer.close()).is_some()
    }

    async fn get(self: Arc<Self>, headers: &HeaderMap) -> Reply {
        if let Err(reply) = singles(headers) {
            return *reply;
        }
        let Some(name) = headers.get(SESSION).and_then(|name| name.to_str().ok()) else {
            return not_allowed();
        };
        let Some(session) = self.named(name) else { return reply::empty(StatusCode::NOT_FOUND) };
        let (post, mut end) = Post::new();
        if !session.board.put_stream(&post) {
            return reply::error(
                StatusCode::CONFLICT,
                None,
                -32000,
                "this session already has an open stream",
            );
        }
        drop(post);
        let (head, heard) = oneshot::channel();
        let mut client = Client::Waiting(head);
        client.hear(HeaderMap::new());
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    line = end.next() => match line {
                        Some(line) => client.send(sse::of(&line)).await,
                        None => return,
                    },
                    () = client.left() => return,
                }
            }
        });
        heard.await.unwrap_or_else(|_| reply::empty(StatusCode::INTERNAL_SERVER_ERROR))
    }

    fn delete(&self, headers: &HeaderMap) -> Reply {
        match mirror::only(headers, &SESSION) {
            Ok(Some(name)) if self.forget(name) => reply::empty(StatusCode::OK),
            Ok(Some(_)) => reply::empty(StatusCode::NOT_FOUND),
            Ok(None) if is_stateless(headers) => not_allowed(),
            Ok(None) | Err(_) => reply::empty(StatusCode::BAD_REQUEST),
        }
    }
}

/// One request that waits for its answer.
struct PendingPost {
    sessions: Arc<Sessions>,
    session: Arc<HttpConnection>,
    post: Arc<Post>,
    end: PostEnd,
    id: Id,
    /// The session that the request opened.
    name: Option<String>,
    client: Client,
    stateless: bool,
    _held: Option<OwnedSemaphorePermit>,
}

impl PendingPost {
    async fn run(mut self, line: Bytes) {
        let (taken, done) = oneshot::channel();
        let to_client: Arc<dyn LineSink> = Arc::clone(&self.post) as _;
        let given = self.session.work.send(QueuedMessage { line, to_client, taken }).await;
        if given.is_err() {
            let error = crate::gateway::error(Some(&self.id), -32000, "the server has ended");
            self.client.end(StatusCode::BAD_GATEWAY, HeaderMap::new(), error).await;
        } else {
            self.relay(done).await;
        }
        self.session.board.remove(&self.post);
        *self.session.used() = Instant::now();
    }

    async fn relay(&mut self, taken: oneshot::Receiver<()>) {
        loop {
            let line = tokio::select! {
                line = self.end.next() => line,
                () = self.client.left() => return self.client_left(taken).await,
            };
            let Some(line) = line else { return };
            let answers = match read(&line, Sender::Server) {
                Ok(Message::Response { id, .. }) => id.is_none() || id.as_ref() == Some(&self.id),
                Ok(Message::Request { .. } | Message::Notification { .. }) | Err(_) => false,
            };
            if answers {
                return self.answer(line).await;
            }
            self.client.send(sse::of(&line)).await;
        }
    }

    async fn answer(&mut self, line: Vec<u8>) {
        let mut headers = HeaderMap::new();
        if let Some(name) = self.name.take() {
            let failed = read(&line, Sender::Server);
            if matches!(failed, Ok(Message::Response { result: None, .. })) {
                self.sessions.forget(&name);
            } else if let Ok(name) = HeaderValue::from_str(&name) {
                headers.insert(SESSION, name);
            }
        }
        self.client.end(status_of(&line), headers, line).await;
    }

    /// Withdraws the request of a client that left. A server of the current revision gets a cancellation; in older
    /// revisions a closed stream cancels nothing.
    async fn client_left(&mut self, taken: oneshot::Receiver<()>) {
        if let Some(name) = self.name.take() {
            self.sessions.forget(&name);
        }
        // A request that still waits for the session's thread cannot be withdrawn yet.
        let _ = taken.await;
        if self.session.peer.withdraw(&self.id) || !self.stateless {
            return;
        }
        let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": self.id.json(), "reason": "the client left"}});
        let (taken, _) = oneshot::channel();
        let to_client: Arc<dyn LineSink> = Arc::clone(&self.post) as _;
        let line = Bytes::from(told.to_string());
        let _ = self.session.work.send(QueuedMessage { line, to_client, taken }).await;
    }
}

fn is_stateless(headers: &HeaderMap) -> bool {
    mirror::is_stateless(headers.get(VERSION).and_then(|value| value.to_str().ok()))
}

fn unstarted(e: std::io::Error) -> (StatusCode, String) {
    (StatusCode::BAD_GATEWAY, format!("cannot start the server: {e}"))
}

fn not_allowed() -> Reply {
    let mut reply = reply::empty(StatusCode::METHOD_NOT_ALLOWED);
    reply.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    reply
}
