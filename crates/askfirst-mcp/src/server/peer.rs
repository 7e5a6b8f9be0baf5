//! One client over HTTP: a connection of its own to our server, on the shared runtime.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::Handle;

use super::Server;
use super::transport::{ClientReader, Transport};
use crate::http::Peer;
use crate::message::Id;
use crate::out::LineSink;

/// A connection.
pub(super) struct ServerPeer {
    /// `None` once the client is gone.
    reader: Mutex<Option<Arc<ClientReader>>>,
    over: Arc<AtomicBool>,
}

impl ServerPeer {
    /// Opens a connection. Messages that answer no request go to `unasked`.
    pub(super) fn start(server: &Arc<Server>, unasked: Arc<dyn LineSink>, runtime: &Handle) -> Arc<Self> {
        let (transport, conversation, reader) = Transport::routed(unasked, runtime, server.elicit.clone());
        let over = Arc::<AtomicBool>::default();
        let (server, ended) = (Arc::clone(server), Arc::clone(&over));
        runtime.spawn(async move {
            // A client with invalid first messages has already got an error.
            let _ = server.converse(transport, conversation).await;
            ended.store(true, Ordering::Release);
        });
        Arc::new(Self { reader: Mutex::new(Some(Arc::new(reader))), over })
    }

    fn reader(&self) -> Option<Arc<ClientReader>> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Peer for ServerPeer {
    fn take(&self, to_client: &Arc<dyn LineSink>, line: &[u8]) -> io::Result<()> {
        let reader = self.reader().ok_or(io::ErrorKind::BrokenPipe)?;
        reader.take(line, Some(to_client)).map_err(io::Error::other)
    }

    fn withdraw(&self, id: &Id) -> bool {
        self.reader().is_some_and(|reader| reader.give_up(id))
    }

    fn client_is_gone(&self) {
        self.close();
    }

    fn is_idle(&self) -> bool {
        self.reader().is_none_or(|reader| reader.is_idle())
    }

    fn close(&self) {
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}
