//! Lines in and out, parsed strictly before rmcp gets them: one document per line, no duplicate keys, no batches, no
//! id in use. The transport answers every other line with an error.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::MAX_IN_FLIGHT;
use crate::elicit::Elicit;
use crate::lines::{LineRead, Lines, TooLong};
use crate::message::{Id, Message, Sender, read};
use crate::out::LineSink;

/// The number of messages that may wait between a thread and the server. A full queue makes the sender wait.
const WAITING: usize = 64;

/// The error when the client is gone.
#[derive(Debug, thiserror::Error)]
#[error("the client is gone")]
pub(super) struct ClientGone;

/// A message for the client, with the destination of the request that it answers, if any.
pub(super) struct OutgoingMessage {
    pub(super) line: Vec<u8>,
    pub(super) to: Option<Arc<dyn LineSink>>,
}

type ClientMessage = RxJsonRpcMessage<RoleServer>;

/// The transport that rmcp reads from and writes to.
pub(super) struct Transport {
    incoming: mpsc::Receiver<ClientMessage>,
    outgoing: Option<mpsc::Sender<OutgoingMessage>>,
    ids: Arc<Ids>,
    gone: watch::Sender<bool>,
}

/// The parts that outlive the transport: whether the client is gone, the queue to it, and the thread that writes.
pub(super) struct Conversation {
    gone: watch::Receiver<bool>,
    to_client: mpsc::WeakSender<OutgoingMessage>,
    ids: Arc<Ids>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Conversation {
    /// A receiver that becomes true when the client has ended.
    pub(super) fn gone(&self) -> watch::Receiver<bool> {
        self.gone.clone()
    }

    /// The way to the client of an open request. Do not call it on the runtime thread.
    pub(super) fn way_to(&self, id: &RequestId) -> crate::elicit::Out {
        let (to_client, to) = (self.to_client.clone(), self.ids.way(&id_of(id)));
        Arc::new(move |line| {
            let said = OutgoingMessage { line: line.to_vec(), to: to.clone() };
            to_client.upgrade().is_some_and(|to_client| to_client.blocking_send(said).is_ok())
        })
    }

    /// Waits until all messages are written.
    pub(super) fn end(&self) {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // The thread ends with the last sender, or when the client is gone.
            let _ = writer.join();
        }
    }
}

/// The open requests, and the destinations of their answers.
#[derive(Default)]
struct Ids(Mutex<HashMap<Id, Option<Arc<dyn LineSink>>>>);

impl Ids {
    fn begin(&self, id: &Id, to: Option<&Arc<dyn LineSink>>) -> Result<(), &'static str> {
        let mut ids = self.open();
        if ids.len() >= MAX_IN_FLIGHT {
            return Err("too many requests wait for an answer");
        }
        if ids.contains_key(id) {
            return Err("the id is in use");
        }
        ids.insert(id.clone(), to.cloned());
        Ok(())
    }

    fn end(&self, id: &Id) -> Option<Arc<dyn LineSink>> {
        self.open().remove(id).flatten()
    }

    fn way(&self, id: &Id) -> Option<Arc<dyn LineSink>> {
        self.open().get(id).cloned().flatten()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Id, Option<Arc<dyn LineSink>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport {
    /// Starts one thread that reads and one that writes.
    pub(super) fn start(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        elicit: Option<Arc<Elicit>>,
    ) -> std::io::Result<(Self, Conversation)> {
        let (transport, reader, to_client, conversation) = Self::new(elicit);
        std::thread::Builder::new().name("askfirst-read".to_owned()).spawn(move || reader.read(input))?;
        let writer = std::thread::Builder::new()
            .name("askfirst-write".to_owned())
            .spawn(move || write(to_client, output))?;
        Ok((transport, Conversation { writer: Mutex::new(Some(writer)), ..conversation }))
    }

    /// A transport that gets its messages through the reader. Answers go to the destination of their request, and all
    /// other messages to `unasked`.
    pub(super) fn routed(
        unasked: Arc<dyn LineSink>,
        runtime: &Handle,
        elicit: Option<Arc<Elicit>>,
    ) -> (Self, Conversation, ClientReader) {
        let (transport, reader, mut to_client, conversation) = Self::new(elicit);
        runtime.spawn(async move {
            while let Some(OutgoingMessage { line, to }) = to_client.recv().await {
                // If a client is gone, only the messages for that client are lost.
                let _ = to.unwrap_or_else(|| Arc::clone(&unasked)).line(&line);
            }
            unasked.close();
        });
        (transport, conversation, reader)
    }

    fn new(
        elicit: Option<Arc<Elicit>>,
    ) -> (Self, ClientReader, mpsc::Receiver<OutgoingMessage>, Conversation) {
        let (to_server, incoming) = mpsc::channel(WAITING);
        let (outgoing, said) = mpsc::channel(WAITING);
        let (gone, is_gone) = watch::channel(false);
        let ids = Arc::new(Ids::default());
        let to_client = outgoing.downgrade();
        let reader = ClientReader { elicit, to_server, to_client: to_client.clone(), ids: Arc::clone(&ids) };
        let conversation =
            Conversation { gone: is_gone, to_client, ids: Arc::clone(&ids), writer: Mutex::default() };
        (Self { incoming, outgoing: Some(outgoing), ids, gone }, reader, said, conversation)
    }
}

fn write(mut lines: mpsc::Receiver<OutgoingMessage>, mut output: impl Write) {
    while let Some(OutgoingMessage { mut line, .. }) = lines.blocking_recv() {
        line.push(b'\n');
        if output.write_all(&line).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// Reads the client's messages, and passes on the valid ones.
pub(super) struct ClientReader {
    elicit: Option<Arc<Elicit>>,
    to_server: mpsc::Sender<ClientMessage>,
    /// A weak sender, so that the queue ends with the server even while the client is still connected.
    to_client: mpsc::WeakSender<OutgoingMessage>,
    ids: Arc<Ids>,
}

impl ClientReader {
    /// Reads until the client ends or sends a line that is too long.
    fn read(&self, input: impl Read) {
        let mut lines = Lines::new(input);
        loop {
            match lines.next() {
                Ok(LineRead::Line(line)) => {
                    if self.take(&line, None).is_err() {
                        return;
                    }
                }
                Ok(LineRead::End) | Err(_) => return,
                Ok(LineRead::TooLong) => {
                    // The next bytes could be the rest of the long line, so the reader stops here.
                    let _ = self.refuse(None, None, -32600, &TooLong.to_string());
                    return;
                }
            }
        }
    }

    /// Handles one message. Its answer goes to `to`.
    pub(super) fn take(&self, line: &[u8], to: Option<&Arc<dyn LineSink>>) -> Result<(), ClientGone> {
        if line.is_empty() {
            return Ok(());
        }
        let id = match read(line, Sender::Client) {
            Err(fault) => return self.refuse(to, fault.id(), fault.code(), &fault.to_string()),
            Ok(Message::Request { id, .. }) => {
                if let Err(why) = self.ids.begin(&id, to) {
                    return self.refuse(to, Some(&id), -32600, why);
                }
                Some(id)
            }
            Ok(Message::Response { id: Some(id), result }) if self.is_answer(&id, result) => return Ok(()),
            Ok(Message::Notification { .. } | Message::Response { .. }) => None,
        };
        match serde_json::from_slice(line) {
            Ok(message) => self.to_server.blocking_send(message).map_err(|_| ClientGone),
            Err(e) => match id {
                Some(id) => {
                    self.ids.end(&id);
                    self.refuse(to, Some(&id), -32602, &format!("invalid request: {e}"))
                }
                // A notification or an answer gets no reply.
                None => Ok(()),
            },
        }
    }

    /// Whether a message answers an approval request of ours.
    fn is_answer(&self, id: &Id, result: Option<&RawValue>) -> bool {
        let result = result.map(|result| result.get().as_bytes());
        self.elicit.as_ref().is_some_and(|elicit| elicit.answered(id, result))
    }

    /// Cancels the call of a client that has left. Must not block.
    pub(super) fn give_up(&self, id: &Id) -> bool {
        let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id.json(), "reason": "the client left"}});
        let waits = self.ids.open().contains_key(id);
        waits && serde_json::from_value(told).is_ok_and(|told| self.to_server.try_send(told).is_ok())
    }

    /// Whether no request is open.
    pub(super) fn is_idle(&self) -> bool {
        self.ids.open().is_empty()
    }

    fn refuse(
        &self,
        to: Option<&Arc<dyn LineSink>>,
        id: Option<&Id>,
        code: i32,
        why: &str,
    ) -> Result<(), ClientGone> {
        let id = id.map_or(Value::Null, Id::json);
        let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}});
        let said = OutgoingMessage { line: error.to_string().into_bytes(), to: to.cloned() };
        self.to_client.upgrade().ok_or(ClientGone)?.blocking_send(said).map_err(|_| ClientGone)
    }
}

fn id_of(id: &RequestId) -> Id {
    match id {
        RequestId::Number(number) => Id::Number(*number),
        RequestId::String(text) => Id::Text(text.to_string()),
    }
}

impl rmcp::transport::Transport<RoleServer> for Transport {
    type Error = ClientGone;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), ClientGone>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(id_of(&response.id)),
            JsonRpcMessage::Error(error) => error.id.as_ref().map(id_of),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let (ids, outgoing) = (Arc::clone(&self.ids), self.outgoing.clone());
        async move {
            let line = serde_json::to_vec(&item).map_err(|_| ClientGone)?;
            let to = answered.and_then(|id| ids.end(&id));
            outgoing.ok_or(ClientGone)?.send(OutgoingMessage { line, to }).await.map_err(|_| ClientGone)
        }
    }

    async fn receive(&mut self) -> Option<ClientMessage> {
        let message = self.incoming.recv().await;
        if message.is_none() {
            self.gone.send_replace(true);
        }
        message
    }

    async fn close(&mut self) -> Result<(), ClientGone> {
        self.outgoing = None;
        self.incoming.close();
        Ok(())
    }
}
