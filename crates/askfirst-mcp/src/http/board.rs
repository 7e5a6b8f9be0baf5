//! Chooses which open request of a client gets a message that the server sends on its own, and limits the waiting
//! bytes.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::reply::SLOW;
use crate::message::{Id, Message, Sender, read};
use crate::out::LineSink;

/// The bytes that may wait for a client before its server has to wait.
const SOON: usize = 1 << 20;
/// The largest number of bytes that may wait for a client.
const MOST: usize = 64 << 20;
/// The number of messages that may wait for a client without an open request.
const KEPT: usize = 256;

/// The server's end of one open request.
pub(crate) struct Post {
    messages: UnboundedSender<Vec<u8>>,
    held: Arc<PendingBytes>,
}

/// The client's end of one open request.
pub(crate) struct PostEnd {
    messages: UnboundedReceiver<Vec<u8>>,
    held: Arc<PendingBytes>,
}

#[derive(Default)]
struct PendingBytes {
    bytes: Mutex<usize>,
    less: Condvar,
}

impl PendingBytes {
    fn bytes(&self) -> MutexGuard<'_, usize> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Post {
    pub(crate) fn new() -> (Arc<Self>, PostEnd) {
        let (sender, messages) = unbounded_channel();
        let held = Arc::<PendingBytes>::default();
        (Arc::new(Self { messages: sender, held: Arc::clone(&held) }), PostEnd { messages, held })
    }
}

impl PostEnd {
    pub(crate) async fn next(&mut self) -> Option<Vec<u8>> {
        let line = self.messages.recv().await?;
        self.took(&line);
        Some(line)
    }

    pub(crate) fn next_now(&mut self) -> Option<Vec<u8>> {
        let line = self.messages.try_recv().ok()?;
        self.took(&line);
        Some(line)
    }

    fn took(&self, line: &[u8]) {
        *self.held.bytes() -= line.len();
        self.held.less.notify_all();
    }
}

impl Drop for PostEnd {
    fn drop(&mut self) {
        self.messages.close();
        self.held.less.notify_all();
    }
}

impl LineSink for Post {
    /// Waits for room on a thread that serves one server. On the shared runtime thread, too much data is an error.
    fn line(&self, line: &[u8]) -> io::Result<()> {
        let mut bytes = self.held.bytes();
        if Handle::try_current().is_err() {
            let full = |bytes: &mut usize| *bytes > SOON && !self.messages.is_closed();
            let waited = self.held.less.wait_timeout_while(bytes, SLOW, full);
            bytes = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if *bytes > MOST {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        *bytes += line.len();
        self.messages.send(line.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn is_open(&self) -> bool {
        !self.messages.is_closed()
    }
}

/// The open requests of one connection.
#[derive(Default)]
pub(crate) struct Board {
    open: Mutex<BoardState>,
    over: AtomicBool,
}

#[derive(Default)]
struct BoardState {
    /// A stream that the client keeps open for messages that answer no request.
    stream: Option<Arc<Post>>,
    posts: Vec<OpenPost>,
    kept: VecDeque<Vec<u8>>,
}

struct OpenPost {
    id: Id,
    progress: Option<Value>,
    post: Arc<Post>,
}

impl Board {
    fn open(&self) -> MutexGuard<'_, BoardState> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an open request.
    pub(crate) fn add(&self, id: Id, progress: Option<Value>, post: Arc<Post>) {
        self.open().posts.push(OpenPost { id, progress, post });
    }

    pub(crate) fn remove(&self, post: &Arc<Post>) {
        self.open().posts.retain(|asking| !Arc::ptr_eq(&asking.post, post));
    }

    /// Whether a request with this id or this progress token is open.
    pub(crate) fn has(&self, id: &Id, progress: Option<&Value>) -> bool {
        let same = |asking: &OpenPost| {
            asking.id == *id || (progress.is_some() && asking.progress.as_ref() == progress)
        };
        self.open().posts.iter().any(same)
    }

    /// Sets the stream for messages that answer no request. Returns false if there already is an open one.
    pub(crate) fn put_stream(&self, stream: &Arc<Post>) -> bool {
        let mut open = self.open();
        if open.stream.as_ref().is_some_and(|stream| stream.is_open()) {
            return false;
        }
        let kept = std::mem::take(&mut open.kept);
        open.stream = Some(Arc::clone(stream));
        drop(open);
        kept.iter().all(|line| stream.line(line).is_ok());
        true
    }

    pub(crate) fn is_idle(&self) -> bool {
        let open = self.open();
        open.posts.is_empty() && !open.stream.as_ref().is_some_and(|stream| stream.is_open())
    }

    /// Whether the server has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Chooses the open request that gets a message.
    fn hearer(&self, line: &[u8]) -> Option<Arc<Post>> {
        let mut open = self.open();
        open.stream = open.stream.take().filter(|stream| stream.is_open());
        let (method, params, asks) = match read(line, Sender::Server) {
            Ok(Message::Request { method, params, .. }) => (method, params, true),
            Ok(Message::Notification { method, params }) => (method, params, false),
            // An answer whose request is no longer open.
            Ok(Message::Response { .. }) | Err(_) => return None,
        };
        let params = params.and_then(|params| askfirst::json::parse_object(params.get().as_bytes()).ok());
        let token = params.as_ref().and_then(|params| params.get("progressToken"));
        if method == "notifications/progress" && token.is_some() {
            let reported = open.posts.iter().find(|asking| asking.progress.as_ref() == token);
            return reported.map(|asking| Arc::clone(&asking.post));
        }
        let subscription = params
            .as_ref()
            .and_then(|params| params.get("_meta")?.get("io.modelcontextprotocol/subscriptionId"));
        if let Some(subscription) = subscription {
            let of = |asking: &&OpenPost| asking.id.json() == *subscription;
            return open.posts.iter().find(of).map(|asking| Arc::clone(&asking.post));
        }
        let latest = open.posts.last().map(|asking| Arc::clone(&asking.post));
        let hearer = match asks || method == "notifications/message" {
            true => latest.or_else(|| open.stream.clone()),
            false => open.stream.clone().or(latest),
        };
        if hearer.is_none() && open.kept.len() < KEPT {
            open.kept.push_back(line.to_vec());
        }
        hearer
    }
}

impl LineSink for Board {
    fn line(&self, line: &[u8]) -> io::Result<()> {
        if let Some(hearer) = self.hearer(line) {
            // If a client is gone, only the messages for that client are lost.
            let _ = hearer.line(line);
        }
        Ok(())
    }

    fn close(&self) {
        self.over.store(true, Ordering::Release);
        let mut open = self.open();
        open.stream = None;
        open.kept.clear();
    }
}

/// How long a connection must be unused before it may be closed to make room for others.
pub(crate) const IDLE: Duration = Duration::from_secs(600);
