//! Clients over HTTP and a server behind a URL: the proxy checks each request, then forwards it.
//!
//! The server keeps the sessions. The proxy keeps one connection for each session, and one for each request without a
//! session.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, USER_AGENT};
use hyper::{Method, StatusCode};

use super::exchange::Exchange;
use super::front::{Front, FrontError, HttpRequest, RequestHandler};
use super::mirror::{self, LAST_EVENT, SESSION, VERSION};
use super::reply::{self, Reply};
use super::target::Target;
use crate::gateway::{Gateway, Link, OpenIds};
use crate::message::{Id, Message, Sender, read};

/// The number of sessions that are kept. A session without open requests makes room for others.
const SESSIONS: usize = 1024;
/// The time between two progress reports for a call that waits for approval.
const BEAT: Duration = Duration::from_secs(5);

/// The proxy between clients and a server, both over HTTP.
pub(crate) struct Proxy {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) target: Target,
    sessions: Mutex<HashMap<String, (Arc<Link>, Instant)>>,
    /// The requests of servers without sessions.
    questions: OpenIds,
}

/// Serves clients and forwards their requests to a server, for as long as the process lives.
///
/// # Errors
/// Fails if the runtime cannot be started or the listener breaks.
pub fn serve(front: Front, gateway: Arc<Gateway>, target: Target) -> Result<(), FrontError> {
    let proxy = Arc::new(Proxy {
        gateway: Arc::clone(&gateway),
        target,
        sessions: Mutex::default(),
        questions: OpenIds::default(),
    });
    super::run(async move {
        tokio::spawn(beat(gateway));
        front.serve(proxy).await
    })
}

/// Sends progress to clients whose calls wait for approval.
pub(crate) async fn beat(gateway: Arc<Gateway>) {
    for beat in 1.. {
        tokio::time::sleep(BEAT).await;
        gateway.heartbeat(beat);
    }
}

impl RequestHandler for Proxy {
    fn answer(self: Arc<Self>, asked: HttpRequest) -> Pin<Box<dyn Future<Output = Reply> + Send>> {
        Box::pin(async move {
            match asked.method {
                Method::POST => self.post(asked).await,
                Method::GET => self.get(asked).await,
                _ => self.delete(asked).await,
            }
        })
    }
}

impl Proxy {
    async fn post(self: Arc<Self>, asked: HttpRequest) -> Reply {
        let body = asked.body;
        let message = match checked(&asked.headers, &body) {
            Ok(message) => message,
            Err(reply) => return *reply,
        };
        let (id, first) = match &message {
            Message::Request { id, method, .. } => (Some(id.clone()), method == "initialize"),
            Message::Notification { .. } | Message::Response { .. } => (None, false),
        };
        let Some(link) = self.link(&asked.headers) else {
            return reply::error(
                StatusCode::SERVICE_UNAVAILABLE,
                id.as_ref(),
                -32000,
                "there are too many sessions; hint: end one",
            );
        };
        let exchange = Exchange::new(self, link, id, passed_on(&asked.headers), asked.held);
        exchange.post(message, &body, first).await
    }

    async fn get(self: Arc<Self>, asked: HttpRequest) -> Reply {
        match (singles(&asked.headers), self.link(&asked.headers)) {
            (Err(reply), _) => *reply,
            (Ok(()), Some(link)) => {
                Exchange::new(self, link, None, passed_on(&asked.headers), None).get().await
            }
            (Ok(()), None) => reply::empty(StatusCode::SERVICE_UNAVAILABLE),
        }
    }

    async fn delete(self: Arc<Self>, asked: HttpRequest) -> Reply {
        if let Err(reply) = singles(&asked.headers) {
            return *reply;
        }
        let session = asked.headers.get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let Some(link) = self.link(&asked.headers) else {
            return reply::empty(StatusCode::SERVICE_UNAVAILABLE);
        };
        let proxy = Arc::clone(&self);
        let reply = Exchange::new(self, link, None, passed_on(&asked.headers), None).delete().await;
        if reply.status().is_success()
            && let Some(session) = session
        {
            proxy.forget(&session);
        }
        reply
    }

    /// Finds the connection of a request. Returns `None` if there are too many.
    fn link(&self, headers: &HeaderMap) -> Option<Arc<Link>> {
        match headers.get(SESSION).and_then(|value| value.to_str().ok()) {
            None => Some(self.gateway.link_sharing(Arc::clone(&self.questions))),
            Some(session) => self.session(session, || self.gateway.link()),
        }
    }

    /// Finds or adds the connection of a session, by the server's id for it.
    pub(crate) fn session(&self, name: &str, link: impl FnOnce() -> Arc<Link>) -> Option<Arc<Link>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some((link, used)) = sessions.get_mut(name) {
            *used = now;
            return Some(Arc::clone(link));
        }
        if sessions.len() >= SESSIONS {
            let idle = sessions.iter().filter(|(_, (link, _))| link.is_idle());
            let oldest = idle.min_by_key(|(_, (_, used))| *used).map(|(name, _)| name.clone())?;
            sessions.remove(&oldest);
        }
        let link = link();
        sessions.insert(name.to_owned(), (Arc::clone(&link), now));
        Some(link)
    }

    fn forget(&self, session: &str) {
        let gone = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
        if let Some((link, _)) = gone {
            link.server_is_gone("the session has ended");
        }
    }
}

/// Reads a message strictly, and checks it against its headers.
pub(crate) fn checked<'a>(headers: &HeaderMap, body: &'a [u8]) -> Result<Message<'a>, Box<Reply>> {
    let refuse =
        |id: Option<&Id>, code, why: &str| Box::new(reply::error(StatusCode::BAD_REQUEST, id, code, why));
    let message = read(body, Sender::Client).map_err(|why| refuse(why.id(), why.code(), &why.to_string()))?;
    let id = match &message {
        Message::Request { id, .. } => Some(id.clone()),
        Message::Notification { .. } | Message::Response { .. } => None,
    };
    match mirror::check(headers, &message) {
        Ok(()) => Ok(message),
        Err(why) => Err(refuse(id.as_ref(), mirror::MISMATCH, &why.to_string())),
    }
}

/// Checks that headers that may occur only once do so.
pub(crate) fn singles(headers: &HeaderMap) -> Result<(), Box<Reply>> {
    [SESSION, VERSION, LAST_EVENT].iter().try_for_each(|name| {
        mirror::only(headers, name).map(drop).map_err(|why| {
            Box::new(reply::error(StatusCode::BAD_REQUEST, None, mirror::MISMATCH, &why.to_string()))
        })
    })
}

/// The headers of a client that the server gets.
fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let known = |name: &HeaderName| {
        [ACCEPT, CONTENT_TYPE, USER_AGENT, LAST_EVENT].contains(name)
            || name.as_str().starts_with("mcp-")
            || ["traceparent", "tracestate", "baggage"].contains(&name.as_str())
    };
    let passed = headers.iter().filter(|(name, _)| known(name));
    let mut map = HeaderMap::new();
    map.extend(passed.map(|(name, value)| (name.clone(), value.clone())));
    map
}
