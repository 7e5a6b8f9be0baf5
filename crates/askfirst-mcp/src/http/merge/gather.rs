//! Sends one request to several servers and merges their answers. A server that does not answer in time is left out.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use askfirst::json::{MAX_VALUES, count_object};
use serde_json::{Map, Value, json};

use super::{Core, FromPart, MAX_RESOURCES, Merge};
use crate::http::peer::Peer;
use crate::message::{Id, Message, Sender, read};
use crate::out::LineSink;

/// How long the slowest server may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The largest number of pages of a list that are requested.
const MAX_PAGES: usize = 100;
/// The largest number of values in all pages of one server. Each page has a limit of its own.
const MAX_GATHERED: usize = 4 * MAX_VALUES;

/// The kind of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    Initialize,
    Discover,
    Level,
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl RequestKind {
    /// The key of the list in an answer.
    fn list(self) -> Option<&'static str> {
        match self {
            Self::Initialize | Self::Discover | Self::Level => None,
            Self::Tools => Some("tools"),
            Self::Prompts => Some("prompts"),
            Self::Resources => Some("resources"),
            Self::Templates => Some("resourceTemplates"),
        }
    }
}

/// A request to all servers, and the answers so far.
pub(super) struct Gather {
    what: RequestKind,
    id: Id,
    core: Arc<Core>,
    parts: Vec<(String, Arc<dyn Peer>)>,
    to_client: Arc<dyn LineSink>,
    runtime: tokio::runtime::Handle,
    state: Mutex<GatherState>,
    myself: Weak<Gather>,
}

#[derive(Default)]
struct GatherState {
    /// The merged pages of each server, or `None` if it has not answered.
    answers: Vec<Option<Map<String, Value>>>,
    pages: Vec<usize>,
    /// The number of values in the answers of each server.
    values: Vec<usize>,
    left: usize,
    line: Vec<u8>,
}

impl Gather {
    pub(super) fn new(what: RequestKind, id: Id, merge: &Merge, to_client: &Arc<dyn LineSink>) -> Arc<Self> {
        let parts: Vec<_> =
            merge.parts.iter().map(|part| (part.name.clone(), Arc::clone(&part.peer))).collect();
        let count = parts.len();
        Arc::new_cyclic(|myself| Self {
            what,
            id,
            core: Arc::clone(&merge.core),
            parts,
            to_client: Arc::clone(to_client),
            runtime: merge.runtime.clone(),
            state: Mutex::new(GatherState {
                answers: vec![None; count],
                pages: vec![0; count],
                values: vec![0; count],
                left: count,
                line: Vec::new(),
            }),
            myself: myself.clone(),
        })
    }

    fn state(&self) -> MutexGuard<'_, GatherState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the request to all servers. Every list is returned whole, so a cursor of the client has no meaning.
    pub(super) fn begin(self: &Arc<Self>, line: &[u8]) {
        self.state().line = line.to_vec();
        let late = Arc::clone(self);
        self.runtime.spawn(async move {
            tokio::time::sleep(PATIENCE).await;
            late.finish();
        });
        for part in 0..self.parts.len() {
            self.ask(part, line);
        }
    }

    fn ask(&self, part: usize, line: &[u8]) {
        let (Some((_, peer)), Some(myself)) = (self.parts.get(part), self.myself.upgrade()) else { return };
        let answer: Arc<dyn LineSink> = Arc::new(AnswerSink { gather: myself, part });
        let besides = FromPart { core: Arc::clone(&self.core), part, to_client: answer };
        if peer.take(&(Arc::new(besides) as Arc<dyn LineSink>), line).is_err() {
            self.answered(part, None);
        }
    }

    /// Handles the answer of one server; `None` means that it will not answer.
    fn answered(&self, part: usize, result: Option<Map<String, Value>>) {
        let again = {
            let mut state = self.state();
            if state.left == 0 {
                return;
            }
            let values = result.as_ref().map_or(0, count_object);
            let held = state.values.get_mut(part).map_or(0, |held| {
                *held += values;
                *held
            });
            // A list that is too large is dropped, and no further pages are requested.
            let result = result.filter(|_| held <= MAX_GATHERED);
            let cursor = result.as_ref().and_then(|result| result.get("nextCursor")).cloned();
            let Some(slot) = state.answers.get_mut(part) else { return };
            match (slot.as_mut(), result, self.what.list()) {
                (Some(before), Some(mut result), Some(key)) => {
                    let more = result.remove(key).and_then(|more| match more {
                        Value::Array(more) => Some(more),
                        _ => None,
                    });
                    if let Some(Value::Array(list)) = before.get_mut(key) {
                        list.extend(more.unwrap_or_default());
                    }
                }
                (None, result, _) => *slot = result,
                (Some(_), _, _) => {}
            }
            let page = state.pages.get_mut(part).map(|page| {
                *page += 1;
                *page
            });
            let more = cursor.filter(|_| self.what.list().is_some() && page < Some(MAX_PAGES));
            if more.is_none() {
                state.left -= 1;
            }
            more.map(|cursor| with_cursor(&state.line, cursor))
        };
        match again {
            Some(Some(line)) => self.ask(part, &line),
            Some(None) | None => {
                if self.state().left == 0 {
                    self.tell();
                }
            }
        }
    }

    /// Ends the request when the time is up.
    fn finish(&self) {
        let late = std::mem::take(&mut self.state().left) > 0;
        if late {
            self.tell();
        }
    }

    fn tell(&self) {
        let answers = std::mem::take(&mut self.state().answers);
        let result = match self.what {
            RequestKind::Initialize | RequestKind::Discover => self.greeting(&answers),
            RequestKind::Level => Some(Map::new()),
            RequestKind::Tools | RequestKind::Prompts | RequestKind::Resources | RequestKind::Templates => {
                Some(self.list(answers))
            }
        };
        let id = self.id.json();
        let line = match result {
            Some(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => json!({"jsonrpc": "2.0", "id": id,
                "error": {"code": -32000, "message": "no server answered"}}),
        };
        // The code that reads from the client notices if it is gone.
        let _ = self.to_client.line(line.to_string().as_bytes());
    }

    fn list(&self, answers: Vec<Option<Map<String, Value>>>) -> Map<String, Value> {
        let Some(key) = self.what.list() else { return Map::new() };
        let (mut all, mut result) = (Vec::new(), Map::new());
        let mut known = self.core.known();
        for (part, answer) in answers.into_iter().enumerate() {
            let (Some(mut answer), Some((server, _))) = (answer, self.parts.get(part)) else { continue };
            let Some(Value::Array(list)) = answer.remove(key) else { continue };
            for mut item in list {
                match self.what {
                    RequestKind::Tools | RequestKind::Prompts => {
                        let Some(name) = item.get("name").and_then(Value::as_str) else { continue };
                        let name = format!("{server}__{name}");
                        if let Some(item) = item.as_object_mut() {
                            item.insert("name".to_owned(), name.into());
                        }
                    }
                    RequestKind::Resources => {
                        let Some(uri) = item.get("uri").and_then(Value::as_str) else { continue };
                        let full = known.resources.len() >= MAX_RESOURCES;
                        if !full && *known.resources.entry(uri.to_owned()).or_insert(part) != part {
                            continue;
                        }
                    }
                    RequestKind::Templates => {
                        let Some(template) = item.get("uriTemplate").and_then(Value::as_str) else {
                            continue;
                        };
                        // The part before the first variable.
                        let beginning = template.split_once('{').map_or(template, |(before, _)| before);
                        let beginning = (beginning.to_owned(), part);
                        if !known.templates.contains(&beginning) && known.templates.len() < MAX_RESOURCES {
                            known.templates.push(beginning);
                        }
                    }
                    RequestKind::Initialize | RequestKind::Discover | RequestKind::Level => {}
                }
                all.push(item);
            }
            keep_for_shortest(&mut result, answer);
        }
        result.insert(key.to_owned(), Value::Array(all));
        result
    }

    /// Merges the capabilities of all servers.
    fn greeting(&self, answers: &[Option<Map<String, Value>>]) -> Option<Map<String, Value>> {
        let mut given =
            answers.iter().enumerate().filter_map(|(part, answer)| Some((part, answer.as_ref()?)));
        let mut result = given.next().map(|(_, first)| first.clone())?;
        let given = || answers.iter().enumerate().filter_map(|(part, answer)| Some((part, answer.as_ref()?)));
        let mut capabilities = Map::new();
        let (mut says, mut with_resources) = (String::new(), Vec::new());
        for (part, answer) in given() {
            let offered = answer.get("capabilities").and_then(Value::as_object);
            for (name, value) in offered.into_iter().flatten() {
                match name.as_str() {
                    "tools" | "prompts" | "resources" | "logging" | "completions" => {
                        let into = capabilities.entry(name.clone()).or_insert_with(|| json!({}));
                        if let (Some(into), Some(value)) = (into.as_object_mut(), value.as_object()) {
                            into.extend(value.clone());
                        }
                    }
                    _ => {}
                }
                if name == "resources" {
                    with_resources.push(part);
                }
            }
            let server = self.parts.get(part).map(|(name, _)| name.as_str()).unwrap_or_default();
            if let Some(text) = answer.get("instructions").and_then(Value::as_str) {
                says.push_str(&format!("{server}: {text}\n"));
            }
        }
        let versions = given().filter_map(|(_, answer)| answer.get("protocolVersion")?.as_str());
        if let Some(oldest) = versions.min() {
            result.insert("protocolVersion".to_owned(), oldest.into());
        }
        if self.what == RequestKind::Discover {
            let all = given().filter_map(|(_, answer)| answer.get("supportedVersions")?.as_array());
            let common = all
                .cloned()
                .reduce(|one, other| one.into_iter().filter(|version| other.contains(version)).collect());
            result.insert("supportedVersions".to_owned(), common.unwrap_or_default().into());
        }
        result.insert("capabilities".to_owned(), Value::Object(capabilities));
        result.insert(
            "serverInfo".to_owned(),
            json!({"name": "askfirst", "version": env!("CARGO_PKG_VERSION")}),
        );
        result.remove("instructions");
        if !says.is_empty() {
            result.insert("instructions".to_owned(), says.trim_end().into());
        }
        self.core.known().with_resources = with_resources;
        Some(result)
    }
}

/// Merges the cache settings of lists: the shortest time, and the narrowest audience.
fn keep_for_shortest(result: &mut Map<String, Value>, answer: Map<String, Value>) {
    for (key, value) in answer {
        let narrower = match (key.as_str(), result.get(&key)) {
            ("nextCursor", _) => false,
            (_, None) => true,
            ("ttlMs", Some(before)) => value.as_u64() < before.as_u64(),
            ("cacheScope", Some(_)) => value == "private",
            (_, Some(_)) => false,
        };
        if narrower {
            result.insert(key, value);
        }
    }
}

/// Builds the request for the next page.
fn with_cursor(line: &[u8], cursor: Value) -> Option<Vec<u8>> {
    let mut message = askfirst::json::parse_object(line).ok()?;
    let params = message.entry("params").or_insert_with(|| json!({}));
    params.as_object_mut()?.insert("cursor".to_owned(), cursor);
    Some(Value::Object(message).to_string().into_bytes())
}

/// The destination of one server's answer.
struct AnswerSink {
    gather: Arc<Gather>,
    part: usize,
}

impl LineSink for AnswerSink {
    fn line(&self, line: &[u8]) -> io::Result<()> {
        match read(line, Sender::Server) {
            Ok(Message::Response { result, .. }) => {
                let result =
                    result.and_then(|result| askfirst::json::parse_object(result.get().as_bytes()).ok());
                self.gather.answered(self.part, result);
                Ok(())
            }
            Ok(Message::Request { .. } | Message::Notification { .. }) | Err(_) => {
                self.gather.to_client.line(line)
            }
        }
    }
}
