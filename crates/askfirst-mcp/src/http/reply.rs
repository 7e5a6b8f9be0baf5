//! Responses to a client over HTTP: a whole body, or a stream of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::{mpsc, oneshot};

use super::mirror::{self, SESSION};
use super::sse;
use crate::message::Id;

/// How long a slow client may take to read a response.
pub(crate) const SLOW: Duration = Duration::from_secs(60);

/// The number of parts of a stream that may wait for a slow client.
const PIECES: usize = 16;

/// An HTTP response.
pub(crate) type Reply = Response<Body>;

/// The body of a response.
#[derive(Debug)]
pub(crate) enum Body {
    /// A whole body.
    Whole(Option<Bytes>),
    /// A stream of parts.
    Stream(mpsc::Receiver<Bytes>),
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(pieces) => {
                pieces.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(
                bytes.as_ref().map_or(0, |bytes| u64::try_from(bytes.len()).unwrap_or(0)),
            ),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// The client's end of a request.
pub(crate) enum Client {
    /// The client has no response yet.
    Waiting(oneshot::Sender<Reply>),
    /// The client reads a stream of events.
    Hearing(mpsc::Sender<Bytes>),
    /// The client has the whole response, or has left.
    Done,
}

impl Client {
    /// Waits until the client has left.
    pub(crate) async fn left(&mut self) {
        match self {
            Self::Waiting(head) => head.closed().await,
            Self::Hearing(pieces) => pieces.closed().await,
            Self::Done => std::future::pending().await,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Waiting(head) => head.is_closed(),
            Self::Hearing(pieces) => pieces.is_closed(),
            Self::Done => true,
        }
    }

    /// Starts a stream of events.
    pub(crate) fn hear(&mut self, headers: HeaderMap) {
        if let Self::Waiting(_) = self {
            let (pieces, reply) = stream(headers);
            if let Self::Waiting(head) = std::mem::replace(self, Self::Hearing(pieces)) {
                // A client that has left is noticed at the next send.
                let _ = head.send(reply);
            }
        }
    }

    /// Sends bytes of a stream.
    pub(crate) async fn send(&mut self, bytes: Vec<u8>) {
        self.hear(HeaderMap::new());
        if let Self::Hearing(pieces) = self {
            let sent = tokio::time::timeout(SLOW, pieces.send(bytes.into())).await;
            if !matches!(sent, Ok(Ok(()))) {
                *self = Self::Done;
            }
        }
    }

    /// Sends the last message of the response.
    pub(crate) async fn end(&mut self, status: StatusCode, headers: HeaderMap, line: Vec<u8>) {
        match std::mem::replace(self, Self::Done) {
            Self::Waiting(head) => drop(head.send(json(status, headers, line))),
            Self::Hearing(pieces) => {
                let _ = tokio::time::timeout(SLOW, pieces.send(sse::of(&line).into())).await;
            }
            Self::Done => {}
        }
    }

    pub(crate) fn reply(&mut self, with: Reply) {
        if let Self::Waiting(head) = std::mem::replace(self, Self::Done) {
            let _ = head.send(with);
        }
    }
}

/// Builds a response without a body.
pub(crate) fn empty(status: StatusCode) -> Reply {
    with(status, HeaderMap::new(), Body::Whole(None))
}

/// Builds a response with headers and a body.
pub(crate) fn with(status: StatusCode, headers: HeaderMap, body: Body) -> Reply {
    let mut reply = Response::new(body);
    *reply.status_mut() = status;
    *reply.headers_mut() = headers;
    reply
}

/// Builds a response with one message.
pub(crate) fn json(status: StatusCode, mut headers: HeaderMap, line: Vec<u8>) -> Reply {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    with(status, headers, Body::Whole(Some(line.into())))
}

/// Builds a response with a JSON-RPC error.
pub(crate) fn error(status: StatusCode, id: Option<&Id>, code: i32, why: &str) -> Reply {
    json(status, HeaderMap::new(), crate::gateway::error(id, code, why))
}

/// Builds a response with a stream of events.
pub(crate) fn stream(mut headers: HeaderMap) -> (mpsc::Sender<Bytes>, Reply) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let (pieces, received) = mpsc::channel(PIECES);
    (pieces, with(StatusCode::OK, headers, Body::Stream(received)))
}

/// The HTTP status for an answer of the gateway itself.
pub(crate) fn status_of(line: &[u8]) -> StatusCode {
    #[derive(serde::Deserialize)]
    struct ErrorAnswer {
        error: Option<Code>,
    }
    #[derive(serde::Deserialize)]
    struct Code {
        code: i32,
    }
    match serde_json::from_slice::<ErrorAnswer>(line) {
        Ok(ErrorAnswer { error: Some(Code { code: -32700 | -32600 | -32602 | mirror::MISMATCH }) }) => {
            StatusCode::BAD_REQUEST
        }
        Ok(_) | Err(_) => StatusCode::OK,
    }
}

fn is_kind(response: &Response<Incoming>, kind: &str) -> bool {
    let said = response.headers().get(CONTENT_TYPE).and_then(|said| said.to_str().ok());
    let said = said.and_then(|said| said.split(';').next()).map(str::trim);
    said.is_some_and(|said| said.eq_ignore_ascii_case(kind))
}

/// Whether a response is a stream of events.
pub(crate) fn is_stream(response: &Response<Incoming>) -> bool {
    response.status() == StatusCode::OK && is_kind(response, "text/event-stream")
}

/// Whether a response is one message.
pub(crate) fn is_json(response: &Response<Incoming>) -> bool {
    is_kind(response, "application/json") && !response.headers().contains_key(CONTENT_ENCODING)
}

/// The id of a session that the server has opened.
pub(crate) fn session_of(response: &Response<Incoming>) -> Option<String> {
    mirror::only(response.headers(), &SESSION).ok().flatten().map(str::to_owned)
}
