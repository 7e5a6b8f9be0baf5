//! The HTTP listener: it decides which clients may connect, and how much they may send.
//!
//! It refuses browsers (by host name and origin), clients without the token, and requests that are too large or too
//! slow. It refuses them before it reads the message.

use std::convert::Infallible;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ALLOW, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN,
    WWW_AUTHENTICATE,
};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::is_loopback;
use super::reply::{self, Reply};
use super::token::Token;
use crate::lines::MAX_LINE;

/// The path of the endpoint.
const PATH: &str = "/mcp";
/// The largest number of connections.
const CONNECTIONS: usize = 2048;
/// The memory for all request bodies together, in KiB.
const BUDGET: usize = 256 << 10;
/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(30);
/// How long the body of a request may take.
const BODY: Duration = Duration::from_secs(60);
/// The largest head of a request, in bytes.
const HEAD_BYTES: usize = 64 << 10;

/// The settings of the listener.
#[derive(Debug, Clone)]
pub struct ListenerSettings {
    /// The address.
    pub address: SocketAddr,
    /// The token that clients must send.
    pub token: Option<Token>,
    /// Host names that clients may use for this machine, in addition to its own.
    pub hosts: Vec<String>,
    /// Origins of web pages that may connect, in addition to this machine's own.
    pub origins: Vec<String>,
}

/// The reason why clients cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    /// The address cannot be used.
    #[error("cannot listen on `{0}`: {1}")]
    Bind(SocketAddr, std::io::Error),
    /// The runtime cannot be started.
    #[error("cannot start the runtime: {0}")]
    Runtime(std::io::Error),
}

/// A listener that is bound to its address.
pub struct Front {
    listener: TcpListener,
    rules: ListenerSettings,
}

/// A request of a client.
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The share of the memory for bodies, held for as long as the body is.
    pub(crate) held: Option<OwnedSemaphorePermit>,
}

/// Answers the requests of clients.
pub(crate) trait RequestHandler: Send + Sync + 'static {
    fn answer(self: Arc<Self>, asked: HttpRequest) -> Pin<Box<dyn Future<Output = Reply> + Send>>;
}

impl Front {
    /// Binds the address. The listener answers no one yet.
    ///
    /// # Errors
    /// Fails if the address cannot be used.
    pub fn open(rules: ListenerSettings) -> Result<Self, FrontError> {
        let address = rules.address;
        let bind = |e| FrontError::Bind(address, e);
        let listener = TcpListener::bind(address).map_err(bind)?;
        listener.set_nonblocking(true).map_err(bind)?;
        Ok(Self { listener, rules })
    }

    /// The URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        let address = self.listener.local_addr().unwrap_or(self.rules.address);
        format!("http://{address}{PATH}")
    }

    /// Serves clients for as long as the process lives.
    pub(crate) async fn serve(self, handler: Arc<dyn RequestHandler>) -> std::io::Result<()> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let rules = Arc::new(AccessRules {
            port: listener.local_addr()?.port(),
            listen: self.rules,
            budget: Arc::new(Semaphore::new(BUDGET)),
        });
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
            let Ok((stream, _)) = listener.accept().await else {
                // Too many files are open, or the client has already left.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let (rules, handler) = (Arc::clone(&rules), Arc::clone(&handler));
            tokio::spawn(async move {
                let service = hyper::service::service_fn(move |request| {
                    let (rules, handler) = (Arc::clone(&rules), Arc::clone(&handler));
                    async move { Ok::<_, Infallible>(rules.answer(&handler, request).await) }
                });
                let served = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD)
                    .max_buf_size(HEAD_BYTES)
                    .serve_connection(TokioIo::new(stream), service);
                // An error on one connection affects only that client.
                let _ = served.await;
                drop(place);
            });
        }
    }
}

struct AccessRules {
    listen: ListenerSettings,
    port: u16,
    budget: Arc<Semaphore>,
}

impl AccessRules {
    async fn answer(&self, handler: &Arc<dyn RequestHandler>, request: Request<Incoming>) -> Reply {
        match self.let_in(request).await {
            Ok(asked) => Arc::clone(handler).answer(asked).await,
            Err(reply) => *reply,
        }
    }

    async fn let_in(&self, request: Request<Incoming>) -> Result<HttpRequest, Box<Reply>> {
        let refuse = |status, why: &str| Err(Box::new(reply::error(status, None, -32600, why)));
        let (head, body) = request.into_parts();
        if head.uri.path() != PATH {
            return refuse(StatusCode::NOT_FOUND, "not found; hint: use the path `/mcp`");
        }
        if !self.knows_host(&head.headers) {
            return refuse(StatusCode::FORBIDDEN, "the host name in the request is not allowed");
        }
        if !self.knows_origin(&head.headers) {
            return refuse(StatusCode::FORBIDDEN, "the origin of the web page is not allowed");
        }
        if !self.knows_token(&head.headers) {
            let mut reply =
                reply::error(StatusCode::UNAUTHORIZED, None, -32600, "the token is missing or wrong");
            reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return Err(Box::new(reply));
        }
        let (body, held) = match head.method {
            Method::POST => {
                let json = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                let json = json.and_then(|kind| kind.split(';').next()).map(str::trim);
                if !json.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
                    return refuse(
                        StatusCode::UNSUPPORTED_MEDIA_TYPE,
                        "`content-type` must be `application/json`",
                    );
                }
                if head.headers.contains_key(CONTENT_ENCODING) {
                    return refuse(
                        StatusCode::UNSUPPORTED_MEDIA_TYPE,
                        "compressed messages are not supported",
                    );
                }
                match tokio::time::timeout(BODY, self.read(body)).await {
                    Ok(Ok((body, held))) => (body, Some(held)),
                    Ok(Err((status, why))) => return refuse(status, why),
                    Err(_) => {
                        return refuse(StatusCode::REQUEST_TIMEOUT, "the message took too long to arrive");
                    }
                }
            }
            Method::GET | Method::DELETE => (Bytes::new(), None),
            _ => {
                let mut reply = reply::empty(StatusCode::METHOD_NOT_ALLOWED);
                reply.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
                return Err(Box::new(reply));
            }
        };
        Ok(HttpRequest { method: head.method, headers: head.headers, body, held })
    }

    async fn read(
        &self,
        mut body: Incoming,
    ) -> Result<(Bytes, OwnedSemaphorePermit), (StatusCode, &'static str)> {
        const LARGE: (StatusCode, &str) = (StatusCode::PAYLOAD_TOO_LARGE, "the message is too long");
        const BUSY: (StatusCode, &str) =
            (StatusCode::SERVICE_UNAVAILABLE, "too many messages are in memory; hint: try again later");
        let told = body.size_hint().exact();
        let limit = u64::try_from(MAX_LINE).unwrap_or(u64::MAX);
        if told.is_some_and(|told| told > limit) {
            return Err(LARGE);
        }
        let take = |kib: usize| {
            let kib = u32::try_from(kib).map_err(|_| LARGE)?;
            Arc::clone(&self.budget).try_acquire_many_owned(kib).map_err(|_| BUSY)
        };
        let mut held = take(1)?;
        let mut read = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the message is incomplete"))?;
            let Ok(data) = frame.into_data() else { continue };
            if read.len() + data.len() > MAX_LINE {
                return Err(LARGE);
            }
            let missing = ((read.len() + data.len()) >> 10).saturating_sub(held.num_permits());
            if missing > 0 {
                held.merge(take(missing)?);
            }
            read.extend_from_slice(&data);
        }
        Ok((read.freeze(), held))
    }

    /// A web page can point a name of its own at this machine, but that name is not one of ours.
    fn knows_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next().and_then(|host| host.to_str().ok()), hosts.next()) else {
            return false;
        };
        if self.listen.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)) {
            return true;
        }
        let (name, port) = split_port(host);
        if port.is_some_and(|port| port.parse() != Ok(self.port)) {
            return self.listen.hosts.iter().any(|known| known.eq_ignore_ascii_case(name));
        }
        is_loopback(name)
            || self.listen.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
            || name.trim_matches(['[', ']']).parse() == Ok(self.listen.address.ip())
    }

    fn knows_origin(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else { return true };
        let (Ok(origin), None) = (origin.to_str(), origins.next()) else { return false };
        if self.listen.origins.iter().any(|known| known.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|rest| is_loopback(split_port(rest).0))
    }

    fn knows_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.listen.token else { return true };
        let mut shown = headers.get_all(AUTHORIZATION).iter();
        let (Some(first), None) = (shown.next(), shown.next()) else { return false };
        token.is_shown_by(first)
    }
}

/// Splits a host and its port. A port is digits only: in `127.0.0.1:1@host`, another host follows.
fn split_port(host: &str) -> (&str, Option<&str>) {
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match host.rsplit_once(':') {
        Some((name, port)) if is_number(port) => (name, Some(port)),
        Some(_) | None => (host, None),
    }
}
