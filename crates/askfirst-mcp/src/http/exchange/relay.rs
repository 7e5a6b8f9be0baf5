//! Relays an answer that is a stream: each event unchanged, except messages that the gateway replaces.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, HeaderMap};
use hyper::{Method, Response, StatusCode};

use super::{Exchange, RoutedMessage, passed_back};
use crate::gateway::{Delivery, Link};
use crate::http::proxy::Proxy;
use crate::http::reply::{Client, is_json, is_stream};
use crate::http::sse::{self, Splitter, SseEvent};
use crate::http::target::{ANSWER, TargetError, cause};
use crate::lines::MAX_LINE;
use crate::message::{Message, Sender, read};
use crate::out::Connection;

impl Exchange {
    /// Relays a stream of events until it ends or the client leaves.
    pub(super) async fn relay(&mut self, response: Response<Incoming>) {
        let (head, mut body) = response.into_parts();
        if head.headers.contains_key(CONTENT_ENCODING) {
            return self.fail_with(StatusCode::BAD_GATEWAY, "the server sent a compressed answer").await;
        }
        self.client.hear(passed_back(&head.headers));
        let (mut splitter, stateless) = (Splitter::default(), self.is_stateless());
        let why = loop {
            let idle = if self.id.is_some() { ANSWER } else { Duration::MAX };
            let chunk = tokio::select! {
                chunk = tokio::time::timeout(idle, body.frame()) => chunk,
                news = self.news.recv() => {
                    // An answer that came on another stream, or a progress report.
                    if let Some(RoutedMessage::ToClient(line) | RoutedMessage::Note(line)) = news {
                        self.client.send(sse::of(&line)).await;
                    }
                    continue;
                }
                () = self.client.left() => {
                    self.client = Client::Done;
                    Ok(None)
                }
            };
            if self.client.is_done() {
                if self.answered {
                    return;
                }
                // A request of an older revision that cannot be resumed runs to its end and is logged.
                if stateless || self.resumable || self.id.is_none() {
                    return self.leave(stateless);
                }
            }
            match chunk {
                Err(_) => break TargetError::Late.to_string(),
                Ok(None) => break "the server ended before it answered".to_owned(),
                Ok(Some(Err(e))) => break format!("the server's answer broke off: {}", cause(&e)),
                Ok(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    if splitter.push(&data).is_err() {
                        break crate::lines::TooLong.to_string();
                    }
                    match self.take_events(&mut splitter).await {
                        Ok(()) => {}
                        Err(why) => break why,
                    }
                }
            }
        };
        if self.answered || self.id.is_none() || self.resumable {
            self.client = Client::Done;
            return;
        }
        self.fail_with(StatusCode::BAD_GATEWAY, &why).await;
    }

    /// Handles a client that leaves before the end of the stream.
    fn leave(&mut self, stateless: bool) {
        if stateless || !self.resumable {
            self.abandon();
        }
    }

    async fn take_events(&mut self, splitter: &mut Splitter) -> Result<(), String> {
        while let Some(event) = splitter.next().map_err(|e| e.to_string())? {
            self.take_event(event).await;
        }
        Ok(())
    }

    async fn take_event(&mut self, event: SseEvent) {
        self.resumable |= event.id.is_some();
        let Some(data) = event.data.as_deref().filter(|data| !data.is_empty()) else {
            return self.client.send(event.raw).await;
        };
        let message = read(data, Sender::Server);
        if event.kind.is_some() {
            // Some clients check the type of an event and some do not. They must agree on whether it is a message.
            if message.is_ok() {
                self.link.tell("dropped a message of the server: it came as another kind of event");
                return;
            }
            return self.client.send(event.raw).await;
        }
        let ours = match &message {
            Ok(Message::Response { id, .. }) => id.is_some() && *id == self.id,
            Ok(Message::Request { .. } | Message::Notification { .. }) | Err(_) => false,
        };
        if !matches!(self.link.from_server(&self.connection, data.into()), Ok(Delivery::Passed)) {
            return;
        }
        let Some(line) = self.answer().await else { return };
        self.answered |= ours;
        let bytes = if line == data { event.raw } else { sse::with_data(&event, &line) };
        self.client.send(bytes).await;
    }
}

/// Handles the answer to a request of the gateway itself.
pub(super) async fn take_aside(
    proxy: &Proxy,
    link: &Arc<Link>,
    connection: &Connection,
    headers: HeaderMap,
    line: Vec<u8>,
) -> Result<(), String> {
    let response = proxy.target.send(Method::POST, headers, line.into()).await.map_err(|e| e.to_string())?;
    let streams = is_stream(&response);
    if !streams && !is_json(&response) {
        return Err(response.status().to_string());
    }
    let mut body = Limited::new(response.into_body(), MAX_LINE);
    let (mut splitter, mut whole) = (Splitter::default(), Vec::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|e| e.to_string())?;
        let Ok(data) = frame.into_data() else { continue };
        if !streams {
            whole.extend_from_slice(&data);
            continue;
        }
        splitter.push(&data).map_err(|e| e.to_string())?;
        while let Some(event) = splitter.next().map_err(|e| e.to_string())? {
            let data = event.data.unwrap_or_default();
            let answers = matches!(read(&data, Sender::Server), Ok(Message::Response { .. }));
            link.from_server(connection, data[..].into()).map_err(|e| e.to_string())?;
            if answers {
                return Ok(());
            }
        }
    }
    if streams {
        return Err("no answer".to_owned());
    }
    match read(&whole, Sender::Server) {
        Ok(Message::Response { id: Some(_), .. }) => {
            link.from_server(connection, whole[..].into()).map(drop).map_err(|e| e.to_string())
        }
        Ok(_) | Err(_) => Err("no answer".to_owned()),
    }
}
