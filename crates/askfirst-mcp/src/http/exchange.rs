//! One request of a client: the gateway checks it, forwards it, and relays its answer event by event.

mod relay;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Response, StatusCode};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use self::relay::take_aside;
use super::mirror::{self, METHOD, NAME, VERSION};
use super::proxy::Proxy;
use super::reply::{self, Body, Client, Reply, SLOW, is_json, is_stream, session_of, status_of};
use super::sse;
use super::target::{ANSWER, TargetError, cause};
use crate::gateway::{Delivery, Link, is_own};
use crate::lines::MAX_LINE;
use crate::message::{Id, Message, Sender, read};
use crate::out::{Connection, LineSink};

/// How long the gateway may take to finish an answer that has arrived.
const FINISH: Duration = Duration::from_secs(10);
/// The largest part of an error page that is forwarded, in bytes.
const PAGE: usize = 64 << 10;

/// A message with the destination that the gateway chose.
enum RoutedMessage {
    /// To the server.
    ToServer(Vec<u8>),
    /// To the client, as the answer or as its replacement.
    ToClient(Vec<u8>),
    /// To the client, in addition to the answer.
    Note(Vec<u8>),
}

struct ToServer(UnboundedSender<RoutedMessage>);
struct ToClient(UnboundedSender<RoutedMessage>);
/// Drops messages that arrive together with the answers to the gateway's own requests.
struct Discard;

fn gone<T>(_: T) -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl LineSink for ToServer {
    fn line(&self, line: &[u8]) -> io::Result<()> {
        self.0.send(RoutedMessage::ToServer(line.to_vec())).map_err(gone)
    }
}

impl LineSink for ToClient {
    fn line(&self, line: &[u8]) -> io::Result<()> {
        self.0.send(RoutedMessage::ToClient(line.to_vec())).map_err(gone)
    }

    fn note(&self, line: &[u8]) -> io::Result<()> {
        self.0.send(RoutedMessage::Note(line.to_vec())).map_err(gone)
    }

    fn is_open(&self) -> bool {
        !self.0.is_closed()
    }
}

impl LineSink for Discard {
    fn line(&self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// One request of a client.
pub(crate) struct Exchange {
    proxy: Arc<Proxy>,
    link: Arc<Link>,
    connection: Connection,
    news: UnboundedReceiver<RoutedMessage>,
    client: Client,
    heard: Option<oneshot::Receiver<Reply>>,
    id: Option<Id>,
    headers: HeaderMap,
    /// Whether the client can read the rest on another stream.
    resumable: bool,
    answered: bool,
    _held: Option<OwnedSemaphorePermit>,
}

impl Exchange {
    pub(crate) fn new(
        proxy: Arc<Proxy>,
        link: Arc<Link>,
        id: Option<Id>,
        headers: HeaderMap,
        held: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let (sender, news) = mpsc::unbounded_channel();
        let connection = Connection {
            to_client: Arc::new(ToClient(sender.clone())),
            to_server: Arc::new(ToServer(sender)),
        };
        let (head, heard) = oneshot::channel();
        Self {
            proxy,
            link,
            connection,
            news,
            client: Client::Waiting(head),
            heard: Some(heard),
            id,
            headers,
            resumable: false,
            answered: false,
            _held: held,
        }
    }

    /// Runs the exchange as a task of its own, so that it continues if the client leaves.
    async fn run<F: Future<Output = ()> + Send + 'static>(mut self, go: impl FnOnce(Self) -> F) -> Reply {
        let heard = self.heard.take();
        tokio::spawn(go(self));
        let broken = || reply::empty(StatusCode::INTERNAL_SERVER_ERROR);
        match heard {
            Some(heard) => heard.await.unwrap_or_else(|_| broken()),
            None => broken(),
        }
    }

    /// Handles a message of the client.
    pub(crate) async fn post(mut self, message: Message<'_>, body: &Bytes, first: bool) -> Reply {
        if self.link.read_from_client(&self.connection, message, body[..].into()).is_err() {
            return reply::empty(StatusCode::INTERNAL_SERVER_ERROR);
        }
        if self.id.is_none() {
            // A message without an id needs no wait: the gateway has already forwarded, answered or dropped it.
            return match self.news.try_recv() {
                Ok(RoutedMessage::ToServer(line)) => {
                    self.run(async move |mut exchange| exchange.forward(line, false, None).await).await
                }
                Ok(RoutedMessage::ToClient(line) | RoutedMessage::Note(line)) => {
                    reply::json(StatusCode::BAD_REQUEST, HeaderMap::new(), line)
                }
                Err(_) => reply::empty(StatusCode::ACCEPTED),
            };
        }
        let body = body.clone();
        self.run(async move |mut exchange| exchange.wait(body, first).await).await
    }

    /// Relays a stream that the client requested.
    pub(crate) async fn get(self) -> Reply {
        self.run(async move |mut exchange| {
            let sent = exchange.proxy.target.send(Method::GET, exchange.headers.clone(), Bytes::new());
            match sent.await {
                Ok(response) if is_stream(&response) => exchange.relay(response).await,
                Ok(response) => exchange.pass_page(response).await,
                Err(why) => exchange.fail(&why).await,
            }
        })
        .await
    }

    /// Ends a session.
    pub(crate) async fn delete(self) -> Reply {
        self.run(async move |mut exchange| {
            let sent = exchange.proxy.target.send(Method::DELETE, exchange.headers.clone(), Bytes::new());
            match sent.await {
                Ok(response) => exchange.pass_page(response).await,
                Err(why) => exchange.fail(&why).await,
            }
        })
        .await
    }

    /// Waits until the gateway sends the request to the server, or the answer to the client.
    async fn wait(&mut self, body: Bytes, first: bool) {
        loop {
            let news = tokio::select! {
                news = self.news.recv() => news,
                () = self.client.left() => None,
            };
            match news {
                None => return self.client_left(),
                Some(RoutedMessage::ToServer(line)) => match own(&line) {
                    Some(method) => self.aside(method, line),
                    None => return self.forward(line, first, Some(&body)).await,
                },
                Some(RoutedMessage::ToClient(line)) => {
                    return self.client.end(status_of(&line), HeaderMap::new(), line).await;
                }
                Some(RoutedMessage::Note(line)) => self.client.send(sse::of(&line)).await,
            }
        }
    }

    /// Withdraws the approval request of a client that left before its request was sent.
    fn client_left(&mut self) {
        if let Some(id) = &self.id
            && !self.link.withdraw(id)
        {
            self.link.fail(id, "the client left before the request was sent");
        }
    }

    /// Sends the message to the server and relays the response.
    async fn forward(&mut self, line: Vec<u8>, first: bool, body: Option<&Bytes>) {
        let mut headers = self.headers.clone();
        if let Err(why) = self.mirror_args(&mut headers, &line, body) {
            let id = self.id.clone();
            if let Some(id) = &id {
                self.link.fail(id, &why.to_string());
            }
            let error = crate::gateway::error(id.as_ref(), mirror::MISMATCH, &why.to_string());
            return self.client.end(StatusCode::BAD_REQUEST, HeaderMap::new(), error).await;
        }
        let proxy = Arc::clone(&self.proxy);
        let sent = proxy.target.send(Method::POST, headers, line.into());
        let mut sent = std::pin::pin!(sent);
        let stateless = self.is_stateless();
        let response = loop {
            tokio::select! {
                response = &mut sent => break response,
                () = self.client.left() => {
                    if stateless {
                        return self.abandon();
                    }
                    // In older revisions a closed stream does not cancel the request: the call runs to its end and is
                    // logged.
                    self.client = Client::Done;
                }
            }
        };
        match response {
            Err(why) => self.fail(&why).await,
            Ok(response) => {
                if first && let Some(session) = session_of(&response) {
                    let link = Arc::clone(&self.link);
                    if self.proxy.session(&session, || link).is_none() {
                        self.link.tell("there are too many sessions, so askfirst does not keep this one");
                    }
                }
                if is_stream(&response) {
                    self.relay(response).await;
                } else if is_json(&response) {
                    self.pass_message(response).await;
                } else {
                    self.pass_page(response).await;
                }
            }
        }
    }

    /// Checks the headers that mirror the arguments, and replaces them if a person edited the arguments.
    fn mirror_args(
        &self,
        headers: &mut HeaderMap,
        line: &[u8],
        body: Option<&Bytes>,
    ) -> Result<(), mirror::Mismatch> {
        let Some(body) = body else { return Ok(()) };
        let expected = self.link.gateway.upstream.args_headers(body);
        mirror::check_args(headers, &expected)?;
        if line != &**body {
            mirror::replace_args(headers, self.link.gateway.upstream.args_headers(line));
        }
        Ok(())
    }

    fn is_stateless(&self) -> bool {
        mirror::is_stateless(self.headers.get(VERSION).and_then(|value| value.to_str().ok()))
    }

    /// Ends a request that the client canceled by closing its stream.
    fn abandon(&mut self) {
        if let Some(id) = &self.id {
            self.link.fail(id, "the client left before the request was answered");
        }
    }

    /// Sends a request of the gateway itself.
    fn aside(&self, method: &'static str, line: Vec<u8>) {
        let (proxy, link) = (Arc::clone(&self.proxy), Arc::clone(&self.link));
        let connection =
            Connection { to_client: Arc::new(Discard), to_server: Arc::clone(&self.connection.to_server) };
        let mut headers = self.headers.clone();
        mirror::replace_args(&mut headers, HeaderMap::new());
        headers.remove(NAME);
        if headers.contains_key(METHOD) {
            headers.insert(METHOD, HeaderValue::from_static(method));
        }
        tokio::spawn(async move {
            let taken =
                tokio::time::timeout(ANSWER, take_aside(&proxy, &link, &connection, headers, line)).await;
            if !matches!(taken, Ok(Ok(()))) {
                link.tell("the server does not list its tools");
                link.list_is_over();
            }
        });
    }

    /// Reports that the server cannot be reached.
    async fn fail(&mut self, why: &TargetError) {
        let status = match why {
            TargetError::Late => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::BAD_GATEWAY,
        };
        self.fail_with(status, &why.to_string()).await;
    }

    async fn fail_with(&mut self, status: StatusCode, why: &str) {
        if let Some(id) = &self.id {
            self.link.fail(id, why);
        }
        let error = crate::gateway::error(self.id.as_ref(), -32000, why);
        self.client.end(status, HeaderMap::new(), error).await;
    }

    /// Forwards an answer that is one message.
    async fn pass_message(&mut self, response: Response<Incoming>) {
        let (head, body) = response.into_parts();
        let headers = passed_back(&head.headers);
        let body = match tokio::time::timeout(ANSWER, Limited::new(body, MAX_LINE).collect()).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(e)) => {
                let why = format!("cannot read the server's answer: {}", cause(&*e));
                return self.fail_with(StatusCode::BAD_GATEWAY, &why).await;
            }
            Err(_) => return self.fail(&TargetError::Late).await,
        };
        if matches!(head.status.as_u16(), 401 | 403) {
            let why = format!("the server refused access: {}", head.status);
            return self.fail_with(StatusCode::BAD_GATEWAY, &why).await;
        }
        let told = self.link.from_server(&self.connection, body[..].into());
        let line = match told {
            Ok(Delivery::Passed) => self.answer().await,
            Ok(Delivery::Withheld) | Err(_) => None,
        };
        match line {
            Some(line) => {
                if let Some(id) = &self.id {
                    // An error without a request id ends this request too.
                    self.link.fail(id, "the server answered with an error");
                }
                self.client.end(head.status, headers, line).await;
            }
            None => self.fail_with(StatusCode::BAD_GATEWAY, "the server sent an invalid answer").await,
        }
    }

    /// Waits for the gateway's version of an answer that has arrived.
    async fn answer(&mut self) -> Option<Vec<u8>> {
        let wait = async {
            loop {
                match self.news.recv().await {
                    Some(RoutedMessage::ToClient(line)) => return Some(line),
                    Some(RoutedMessage::Note(_) | RoutedMessage::ToServer(_)) => {}
                    None => return None,
                }
            }
        };
        tokio::time::timeout(FINISH, wait).await.ok().flatten()
    }

    /// Forwards an answer that is not a message.
    async fn pass_page(&mut self, response: Response<Incoming>) {
        let (head, body) = response.into_parts();
        let status = head.status;
        if status.is_redirection() || matches!(status.as_u16(), 401 | 403) {
            let why = match status.is_redirection() {
                true => "the server redirects to another URL; hint: use that URL",
                false => "the server refused access; hint: check its token",
            };
            return self.fail_with(StatusCode::BAD_GATEWAY, why).await;
        }
        if let Some(id) = &self.id {
            let why = format!("the server answered with {status}");
            if status.is_success() {
                return self.fail_with(StatusCode::BAD_GATEWAY, &why).await;
            }
            self.link.fail(id, &why);
        }
        let page = Limited::new(body, PAGE).collect();
        let page = tokio::time::timeout(SLOW, page).await;
        let page = page.ok().and_then(Result::ok).map(|page| page.to_bytes()).filter(|page| !page.is_empty());
        self.client.reply(reply::with(status, passed_back(&head.headers), Body::Whole(page)));
    }
}

/// The method of a request of the gateway itself, or `None` for any other message.
fn own(line: &[u8]) -> Option<&'static str> {
    match read(line, Sender::Server) {
        Ok(Message::Request { id, .. }) if is_own(&id) => Some("tools/list"),
        Ok(_) | Err(_) => None,
    }
}

/// The headers of the server that the client gets.
fn passed_back(headers: &HeaderMap) -> HeaderMap {
    let known = |name: &HeaderName| {
        [CONTENT_TYPE, CACHE_CONTROL, ALLOW, RETRY_AFTER].contains(name) || name.as_str().starts_with("mcp-")
    };
    let mut map = HeaderMap::new();
    let passed = headers.iter().filter(|(name, _)| known(name));
    map.extend(passed.map(|(name, value)| (name.clone(), value.clone())));
    map
}
