//! The gateway's own look at the server's tools, where a call comes before the client has listed them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};

use super::Gateway;
use crate::message::Id;

/// The beginning of the ids of our own requests. The client cannot use it.
const OWN: &str = "askfirst:";

/// More pages than this are not asked for.
const MAX_PAGES: u32 = 100;

/// Our own look at the list.
#[derive(Default)]
pub(crate) struct Listing {
    running: bool,
    stale: bool,
    number: u64,
    pages: u32,
    wakers: Vec<Waker>,
    /// How many calls have not been judged because they wait for the list.
    held: usize,
}

/// Counts a call as held while it lives.
pub(crate) struct Held(Arc<Gateway>);

impl Drop for Held {
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

impl Gateway {
    /// Whether a call to a tool must wait for a look at the list. If so, that look has begun.
    pub(crate) fn needs_list(self: &Arc<Self>, tool: &str) -> bool {
        let known = self.upstream.knows(tool);
        let mut state = self.state();
        if known && !state.list.stale {
            return false;
        }
        if !state.list.running {
            state.list.running = true;
            state.list.stale = false;
            state.list.pages = 0;
            drop(state);
            self.ask_for_list(None);
        }
        true
    }

    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        self.state().list.held += 1;
        Held(Arc::clone(self))
    }

    /// Whether calls wait for the list.
    pub(crate) fn holds_calls(&self) -> bool {
        self.state().list.held > 0
    }

    pub(crate) fn list_is_stale(&self) {
        self.state().list.stale = true;
    }

    fn ask_for_list(self: &Arc<Self>, cursor: Option<String>) {
        let number = {
            let mut state = self.state();
            state.list.number += 1;
            state.list.pages += 1;
            state.list.number
        };
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let id = format!("{OWN}{number}");
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params}).to_string();
        if self.to_server.line(line.as_bytes()).is_err() {
            self.list_is_over();
        }
    }

    /// The answer to our own request.
    pub(crate) fn own_list(self: &Arc<Self>, id: &Id, result: Option<&[u8]>) -> std::io::Result<()> {
        let current = {
            let state = self.state();
            state.list.running && *id == Id::Text(format!("{OWN}{}", state.list.number))
        };
        if !current {
            (self.tell)("the server answered what was not asked: dropped");
            return Ok(());
        }
        let list = result.and_then(|result| askfirst::json::parse_object(result).ok());
        let cursor = match list {
            None => {
                (self.tell)("the server does not list its tools");
                None
            }
            Some(mut list) => {
                let tools = list.get_mut("tools").and_then(Value::as_array_mut);
                match tools.map(|tools| self.upstream.learn(tools)) {
                    Some(Ok(odd)) => odd.iter().for_each(|oddity| (self.tell)(&oddity.0)),
                    Some(Err(why)) => (self.tell)(&format!("the server's tools cannot be used: {why}")),
                    None => (self.tell)("the server's list has no tools"),
                }
                list.get("nextCursor").and_then(Value::as_str).map(str::to_owned)
            }
        };
        let more = cursor.filter(|_| self.state().list.pages < MAX_PAGES);
        match more {
            Some(cursor) => self.ask_for_list(Some(cursor)),
            None => self.list_is_over(),
        }
        Ok(())
    }

    /// Whoever waited for the list goes on.
    pub(crate) fn list_is_over(&self) {
        let wakers = {
            let mut state = self.state();
            state.list.running = false;
            std::mem::take(&mut state.list.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits until our own look at the list is over.
    pub(crate) fn listed(&self) -> impl Future<Output = ()> + Send + '_ {
        Listed(self)
    }
}

struct Listed<'a>(&'a Gateway);

impl Future for Listed<'_> {
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
