//! Several servers behind one gateway: tools and prompts are named `SERVER__NAME`, resources keep their URIs.
//!
//! Tasks, subscriptions to lists and unknown methods are refused with a reason, because they name no server. If two
//! servers have the same resource, the first one in the config provides it.

mod gather;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use self::gather::{Gather, RequestKind};
use super::peer::{Backend, Peer};
use crate::gateway::{MAX_IN_FLIGHT, refuse};
use crate::message::{Id, Message, Sender, read};
use crate::out::LineSink;
use crate::splice;

/// The largest number of resources that are remembered with their server.
const MAX_RESOURCES: usize = 65_536;

const CANCELLED: &str = "notifications/cancelled";

/// A connection to several servers.
pub(crate) struct Merge {
    parts: Vec<MergedServer>,
    core: Arc<Core>,
    runtime: Handle,
}

struct MergedServer {
    name: String,
    peer: Arc<dyn Peer>,
}

/// The state that all servers share.
struct Core {
    unasked: Arc<dyn LineSink>,
    known: Mutex<MergeState>,
}

#[derive(Default)]
struct MergeState {
    /// The server of each resource, by URI.
    resources: BTreeMap<String, usize>,
    /// The server of each resource template, by the beginning of its URIs.
    templates: Vec<(String, usize)>,
    /// The servers that reported resources.
    with_resources: Vec<usize>,
    /// The servers' requests: our id for each, the number of its server, and its own id.
    asked: HashMap<Id, (usize, String)>,
    next: u64,
    /// The server of each request that the client sent.
    sent: HashMap<Id, usize>,
}

impl Core {
    fn known(&self) -> MutexGuard<'_, MergeState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The destination of messages from one server.
struct FromPart {
    core: Arc<Core>,
    part: usize,
    /// The request that the server answers, or the stream for messages that answer no request.
    to_client: Arc<dyn LineSink>,
}

impl FromPart {
    /// Replaces the id of a server's request by our own. Returns `None` if there are too many.
    fn renamed(&self, id: &Id, line: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let ours = {
            let mut known = self.core.known();
            if known.asked.len() >= MAX_IN_FLIGHT {
                return Ok(None);
            }
            known.next += 1;
            let ours = Id::Text(format!("askfirst-{}-{}", self.part, known.next));
            known.asked.insert(ours.clone(), (self.part, id.json().to_string()));
            ours
        };
        let line = splice::with_id(line, &ours.json().to_string()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some(line))
    }

    /// Translates the server's cancellation of its request to our id. Returns `None` if the client has no such
    /// request.
    fn taken_back(&self, params: Option<&RawValue>) -> Option<Vec<u8>> {
        let mut params = askfirst::json::parse_object(params?.get().as_bytes()).ok()?;
        let theirs = (self.part, params.get("requestId")?.to_string());
        let mut known = self.core.known();
        let ours = known.asked.iter().find(|(_, asked)| **asked == theirs).map(|(ours, _)| ours.clone())?;
        known.asked.remove(&ours);
        params.insert("requestId".to_owned(), ours.json());
        let told = json!({"jsonrpc": "2.0", "method": CANCELLED, "params": params});
        Some(told.to_string().into_bytes())
    }

    /// Translates a message that is not an answer. Returns `None` if the client gets nothing.
    fn translated(&self, line: &[u8]) -> io::Result<Option<Vec<u8>>> {
        match read(line, Sender::Server) {
            Ok(Message::Request { id, .. }) => self.renamed(&id, line),
            Ok(Message::Notification { method, params }) if method == CANCELLED => {
                Ok(self.taken_back(params))
            }
            Ok(Message::Response { .. } | Message::Notification { .. }) | Err(_) => Ok(Some(line.to_vec())),
        }
    }
}

impl LineSink for FromPart {
    fn line(&self, line: &[u8]) -> io::Result<()> {
        if let Ok(Message::Response { id, .. }) = read(line, Sender::Server) {
            if let Some(id) = id {
                self.core.known().sent.remove(&id);
            }
            return self.to_client.line(line);
        }
        self.translated(line)?.map_or(Ok(()), |line| self.to_client.line(&line))
    }

    fn note(&self, line: &[u8]) -> io::Result<()> {
        self.translated(line)?.map_or(Ok(()), |line| self.to_client.note(&line))
    }

    fn is_open(&self) -> bool {
        self.to_client.is_open()
    }
}

impl Merge {
    pub(crate) fn open(
        backends: &[Backend],
        unasked: Arc<dyn LineSink>,
        runtime: &Handle,
    ) -> io::Result<Arc<Self>> {
        let core = Arc::new(Core { unasked, known: Mutex::default() });
        let mut parts = Vec::new();
        for (part, backend) in backends.iter().enumerate() {
            let to_client = Arc::clone(&core.unasked);
            let hears = Arc::new(FromPart { core: Arc::clone(&core), part, to_client });
            let named = |e: io::Error| io::Error::other(format!("`{}`: {e}", backend.name));
            let peer = backend.open(hears, runtime).map_err(named)?;
            parts.push(MergedServer { name: backend.name.clone(), peer });
        }
        Ok(Arc::new(Self { parts, core, runtime: runtime.clone() }))
    }

    /// Sends a request to one server, with the name as that server knows it.
    fn to_part(&self, part: usize, id: Id, to_client: &Arc<dyn LineSink>, line: &[u8]) -> io::Result<()> {
        let Some(MergedServer { peer, .. }) = self.parts.get(part) else { return Ok(()) };
        if self.core.known().sent.insert(id.clone(), part).is_some() {
            return refuse(&**to_client, Some(&id), -32600, "the id is in use");
        }
        let back = FromPart { core: Arc::clone(&self.core), part, to_client: Arc::clone(to_client) };
        peer.take(&(Arc::new(back) as Arc<dyn LineSink>), line)
    }

    /// Sends a request to all servers and merges their answers.
    fn to_all(
        &self,
        what: RequestKind,
        id: Id,
        to_client: &Arc<dyn LineSink>,
        line: &[u8],
    ) -> io::Result<()> {
        let gather = Gather::new(what, id, self, to_client);
        gather.begin(line);
        Ok(())
    }

    fn named(&self, name: &str) -> Option<(usize, String)> {
        let (server, rest) = name.split_once("__")?;
        let part = self.parts.iter().position(|part| part.name == server)?;
        Some((part, rest.to_owned()))
    }

    fn of_resource(&self, address: &str) -> Option<usize> {
        let known = self.core.known();
        if let Some(part) = known.resources.get(address) {
            return Some(*part);
        }
        let begins = |(beginning, _): &&(String, usize)| address.starts_with(beginning.as_str());
        let template = known.templates.iter().filter(begins).max_by_key(|(beginning, _)| beginning.len());
        match (template, known.with_resources.as_slice()) {
            (Some((_, part)), _) => Some(*part),
            (None, [only]) => Some(*only),
            (None, _) => None,
        }
    }

    fn request(
        &self,
        id: Id,
        method: &str,
        params: Option<&RawValue>,
        to_client: &Arc<dyn LineSink>,
        line: &[u8],
    ) -> io::Result<()> {
        let no = |code, why: &str| refuse(&**to_client, Some(&id), code, why);
        let given: Value =
            params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default();
        match method {
            "initialize" => self.to_all(RequestKind::Initialize, id, to_client, line),
            "server/discover" => self.to_all(RequestKind::Discover, id, to_client, line),
            "logging/setLevel" => self.to_all(RequestKind::Level, id, to_client, line),
            "tools/list" => self.to_all(RequestKind::Tools, id, to_client, line),
            "prompts/list" => self.to_all(RequestKind::Prompts, id, to_client, line),
            "resources/list" => self.to_all(RequestKind::Resources, id, to_client, line),
            "resources/templates/list" => self.to_all(RequestKind::Templates, id, to_client, line),
            "ping" => to_client
                .line(json!({"jsonrpc": "2.0", "id": id.json(), "result": {}}).to_string().as_bytes()),
            "tools/call" | "prompts/get" => {
                let found = given.get("name").and_then(Value::as_str).and_then(|name| self.named(name));
                let Some((part, name)) = found else {
                    return no(-32602, "unknown name: expected `SERVER__NAME`");
                };
                match splice::with_name(line, &name) {
                    Some(line) => self.to_part(part, id, to_client, &line),
                    None => no(-32602, "ambiguous name"),
                }
            }
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                let part = given.get("uri").and_then(Value::as_str).and_then(|uri| self.of_resource(uri));
                match part {
                    Some(part) => self.to_part(part, id, to_client, line),
                    None => {
                        no(-32602, "no server has listed this resource; hint: call `resources/list` first")
                    }
                }
            }
            "completion/complete" => self.complete(id, &given, to_client, line),
            _ => no(-32601, "this method is not supported with several servers"),
        }
    }

    fn complete(&self, id: Id, given: &Value, to_client: &Arc<dyn LineSink>, line: &[u8]) -> io::Result<()> {
        let of = given.get("ref");
        let text = |key: &str| of.and_then(|of| of.get(key)).and_then(Value::as_str);
        let (part, line) = match (text("name"), text("uri")) {
            (Some(name), None) => match self.named(name) {
                Some((part, name)) => (Some(part), splice::with_ref_name(line, &name)),
                None => (None, None),
            },
            (None, Some(uri)) => (self.of_resource(uri), Some(line.to_vec())),
            (Some(_), Some(_)) | (None, None) => (None, None),
        };
        match (part, line) {
            (Some(part), Some(line)) => self.to_part(part, id, to_client, &line),
            (Some(_) | None, _) => refuse(&**to_client, Some(&id), -32602, "unknown reference"),
        }
    }

    /// Sends a cancellation to the server that has the request, and any other notification to all servers.
    fn notification(
        &self,
        method: &str,
        params: Option<&RawValue>,
        to_client: &Arc<dyn LineSink>,
        line: &[u8],
    ) -> io::Result<()> {
        let given: Option<Value> = params.and_then(|params| serde_json::from_str(params.get()).ok());
        let id = match given.as_ref().and_then(|given| given.get("requestId")) {
            Some(Value::String(text)) => Some(Id::Text(text.clone())),
            Some(Value::Number(number)) => number.as_i64().map(Id::Number),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => None,
        };
        if let (CANCELLED, Some(id)) = (method, id) {
            let part = self.core.known().sent.remove(&id);
            return match part.and_then(|part| self.parts.get(part)) {
                Some(part) => part.peer.take(to_client, line),
                None => Ok(()),
            };
        }
        self.parts.iter().try_for_each(|part| part.peer.take(to_client, line))
    }
}

impl Peer for Merge {
    fn take(&self, to_client: &Arc<dyn LineSink>, line: &[u8]) -> io::Result<()> {
        if line.is_empty() {
            return Ok(());
        }
        match read(line, Sender::Client) {
            Err(fault) => refuse(&**to_client, fault.id(), fault.code(), &fault.to_string()),
            Ok(Message::Request { id, method, params }) => self.request(id, &method, params, to_client, line),
            Ok(Message::Notification { method, params }) => {
                self.notification(&method, params, to_client, line)
            }
            Ok(Message::Response { id, .. }) => {
                let asked = id.and_then(|id| self.core.known().asked.remove(&id));
                let Some((part, id)) = asked else { return Ok(()) };
                match (self.parts.get(part), splice::with_id(line, &id)) {
                    (Some(part), Some(line)) => part.peer.take(to_client, &line),
                    (_, _) => Ok(()),
                }
            }
        }
    }

    fn withdraw(&self, id: &Id) -> bool {
        let part = self.core.known().sent.get(id).copied();
        let withdrawn = part.and_then(|part| self.parts.get(part)).is_some_and(|part| part.peer.withdraw(id));
        if withdrawn {
            self.core.known().sent.remove(id);
        }
        withdrawn
    }

    fn client_is_gone(&self) {
        self.parts.iter().for_each(|part| part.peer.client_is_gone());
    }

    fn is_idle(&self) -> bool {
        self.parts.iter().all(|part| part.peer.is_idle())
    }

    fn close(&self) {
        self.parts.iter().for_each(|part| part.peer.close());
    }

    fn is_over(&self) -> bool {
        self.parts.iter().all(|part| part.peer.is_over())
    }
}
