//! The gateway's own `tools/list` request, for a call that comes before the client has listed the tools.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Link;
use crate::message::Id;
use crate::out::LineSink;

/// The prefix of the ids of our own requests. The client cannot use it.
pub(crate) const OWN: &str = "askfirst:";

/// The largest number of pages that the gateway requests.
const MAX_PAGES: u32 = 100;

/// How long a server may take to list its tools.
pub(crate) const LIST_PATIENCE: Duration = Duration::from_secs(30);

/// Counts the changes of the list that the server reported, and the changes that the gateway has seen.
#[derive(Default)]
pub(crate) struct Lists {
    changes: AtomicU64,
    seen: AtomicU64,
}

impl Lists {
    pub(crate) fn are_stale(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    fn is_stale(&self) -> bool {
        self.seen.load(Ordering::Acquire) < self.changes.load(Ordering::Acquire)
    }
}

/// The state of the gateway's own `tools/list` request.
#[derive(Default)]
pub(crate) struct Listing {
    running: bool,
    begun: Option<Instant>,
    /// The number of changes that this request will have seen.
    up_to: u64,
    number: u64,
    pages: u32,
    /// The `_meta` of the waiting call, which the server may expect in each request.
    meta: Option<Value>,
    wakers: Vec<Waker>,
    /// The number of calls that wait for the list before they are judged.
    held: usize,
}

/// Counts a call as held for as long as this value lives.
pub(crate) struct HeldCall(Arc<Link>);

impl Drop for HeldCall {
    fn drop(&mut self) {
        self.0.state().list.held -= 1;
    }
}

pub(crate) fn is_own(id: &Id) -> bool {
    match id {
        Id::Text(text) => text.starts_with(OWN),
        Id::Number(_) => false,
    }
}

impl Link {
    /// Whether a call must wait for the list. If so, starts a request for it, unless one is running.
    pub(crate) fn needs_list(
        self: &Arc<Self>,
        tool: &str,
        to_server: &Arc<dyn LineSink>,
        meta: Option<&Value>,
    ) -> bool {
        let known = self.gateway.upstream.knows(tool);
        let mut state = self.state();
        if known && !self.gateway.lists.is_stale() {
            return false;
        }
        if !state.list.running {
            state.list.running = true;
            state.list.begun = Some(Instant::now());
            state.list.up_to = self.gateway.lists.changes.load(Ordering::Acquire);
            state.list.pages = 0;
            state.list.meta = meta.map(without_progress);
            drop(state);
            self.ask_for_list(to_server, None);
        }
        true
    }

    pub(crate) fn hold(self: &Arc<Self>) -> HeldCall {
        self.state().list.held += 1;
        HeldCall(Arc::clone(self))
    }

    /// Whether calls wait for the list.
    pub(crate) fn holds_calls(&self) -> bool {
        self.state().list.held > 0
    }

    fn ask_for_list(&self, to_server: &Arc<dyn LineSink>, cursor: Option<String>) {
        let (number, meta) = {
            let mut state = self.state();
            state.list.number += 1;
            state.list.pages += 1;
            (state.list.number, state.list.meta.clone())
        };
        let mut params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        if let (Some(meta), Some(params)) = (meta, params.as_object_mut()) {
            params.insert("_meta".to_owned(), meta);
        }
        let id = format!("{OWN}{number}");
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params}).to_string();
        if to_server.line(line.as_bytes()).is_err() {
            self.list_is_over();
        }
    }

    /// Handles the answer to our own request.
    pub(crate) fn own_list(&self, to_server: &Arc<dyn LineSink>, id: &Id, result: Option<&[u8]>) {
        let current = {
            let state = self.state();
            state.list.running && *id == Id::Text(format!("{OWN}{}", state.list.number))
        };
        if !current {
            self.tell("dropped an answer of the server: there is no such request");
            return;
        }
        let list = result.map(askfirst::json::parse_object);
        let cursor = match list {
            None => {
                self.tell("the server does not list its tools");
                None
            }
            Some(Err(why)) => {
                self.tell(&format!("refused the server's list of tools: {why}"));
                None
            }
            Some(Ok(mut list)) => {
                let tools = list.get_mut("tools").and_then(Value::as_array_mut);
                match tools.map(|tools| self.gateway.upstream.learn(tools)) {
                    Some(Ok(odd)) => odd.iter().for_each(|oddity| self.tell(&oddity.0)),
                    Some(Err(why)) => self.tell(&format!("cannot use the server's tools: {why}")),
                    None => self.tell("the server's list has no `tools`"),
                }
                list.get("nextCursor").and_then(Value::as_str).map(str::to_owned)
            }
        };
        let more = cursor.filter(|_| self.state().list.pages < MAX_PAGES);
        match more {
            Some(cursor) => self.ask_for_list(to_server, Some(cursor)),
            None => self.list_is_over(),
        }
    }

    /// Stops waiting for a server that does not list its tools in time. The waiting calls then continue without the
    /// list.
    pub(crate) fn check_list(&self, patience: Duration) {
        let late = {
            let list = &self.state().list;
            list.running && list.begun.is_some_and(|begun| begun.elapsed() > patience)
        };
        if late {
            self.tell("the server takes too long to list its tools");
            self.list_is_over();
        }
    }

    /// Ends the request and wakes up the calls that wait for the list.
    pub(crate) fn list_is_over(&self) {
        let wakers = {
            let mut state = self.state();
            if state.list.running {
                self.gateway.lists.seen.fetch_max(state.list.up_to, Ordering::AcqRel);
            }
            state.list.running = false;
            std::mem::take(&mut state.list.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits until our own request for the list has ended.
    pub(crate) fn listed(&self) -> impl Future<Output = ()> + Send + '_ {
        ListWait(self)
    }
}

/// Removes the progress token: the gateway's own requests need no progress reports.
fn without_progress(meta: &Value) -> Value {
    let mut meta = meta.clone();
    if let Some(map) = meta.as_object_mut() {
        map.remove("progressToken");
    }
    meta
}

struct ListWait<'a>(&'a Link);

impl Future for ListWait<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.state();
        if !state.list.running {
            return Poll::Ready(());
        }
        state.list.wakers.push(context.waker().clone());
        Poll::Pending
    }
}
