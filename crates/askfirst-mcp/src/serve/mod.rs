//! A server of our own: the gated tools of a config, offered over MCP. It judges nothing by itself: every call goes
//! through the one pipeline, and what that refuses is a result that says so.
//!
//! The protocol is rmcp's. What it reads was first read by us, strictly, so that no call can be read in two ways.

mod handler;
mod parked;
mod peer;
mod running;
mod said;
mod transport;

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use askfirst_runtime::ApprovalToolset;

pub use running::Running;

use tokio::runtime::Handle;

use crate::elicit::Elicit;
use crate::http::{Front, FrontError, Peer, serve_opened};
use crate::out::Out;
use handler::Handler;
use peer::Own;
use transport::{Conversation, Transport};

/// How many requests of a client may be on their way at once.
const MAX_IN_FLIGHT: usize = 1024;

/// How long calls that run may take to end once the client is gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long what runs goes on when the only client is gone: some end their side first and then read the last answers.
/// Shorter than clients wait before they kill.
const PARTING: Duration = Duration::from_millis(1500);

/// How often a client that waits for a person hears of it.
pub const BEAT: Duration = Duration::from_secs(5);

/// Why a client cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The runtime or a thread could not be started.
    #[error("the server cannot be started: {0}")]
    Start(#[from] std::io::Error),
    /// The client did not begin as the protocol says.
    #[error("the client did not begin as it should: {0}")]
    Begin(String),
}

/// What a server is put together from.
pub struct Server {
    /// The tools, behind approval. They must stand over `running`.
    pub tools: Arc<ApprovalToolset>,
    /// The same tools, which tell what runs.
    pub running: Arc<Running>,
    /// What may run unasked, in words: told first, and to whoever is refused.
    pub allowed: String,
    /// The way to ask the client itself, if it is one of the ways.
    pub elicit: Option<Arc<Elicit>>,
    /// How often a client that waits hears of it.
    pub beat: Duration,
}

impl Server {
    /// Serves one client to its end. Questions that it leaves behind are withdrawn; what runs is ended soon after.
    ///
    /// # Errors
    /// Fails if it cannot be begun.
    pub fn serve(
        &self,
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let served = runtime.block_on(self.serve_one(input, output));
        // What could not end in time is left.
        runtime.shutdown_background();
        served
    }

    async fn serve_one(
        &self,
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> Result<(), ServeError> {
        let (transport, conversation) = Transport::start(input, output, self.elicit.clone())?;
        let mut gone = conversation.gone();
        let parting = async {
            // The other side ends only after it has said so.
            drop(gone.wait_for(|gone| *gone).await);
            tokio::time::sleep(PARTING).await;
            self.running.end();
            std::future::pending().await
        };
        tokio::select! {
            served = self.converse(transport, conversation) => served,
            never = parting => never,
        }
    }

    /// Serves clients over HTTP, each in a conversation of its own, for as long as the process lives.
    ///
    /// # Errors
    /// Fails if the runtime cannot be started or the listener breaks.
    pub fn serve_http(self: Arc<Self>, front: Front) -> Result<(), FrontError> {
        let opener = move |unasked: Arc<dyn Out>, runtime: &Handle| -> std::io::Result<Arc<dyn Peer>> {
            Ok(Own::start(&self, unasked, runtime))
        };
        serve_opened(front, Box::new(opener))
    }

    async fn converse(&self, transport: Transport, conversation: Conversation) -> Result<(), ServeError> {
        let conversation = Arc::new(conversation);
        let handler = Handler::new(self, &conversation);
        let calls = handler.calls();
        let served = match rmcp::service::serve_server(handler, transport).await {
            Ok(service) => {
                // However it ended, it is over.
                let _ = service.waiting().await;
                Ok(())
            }
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(e) => Err(ServeError::Begin(e.to_string())),
        };
        // Those who wait for a person have given up by now; those who run get some time.
        let all = u32::try_from(MAX_IN_FLIGHT).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(PATIENCE, calls.acquire_many(all)).await;
        conversation.end();
        served
    }
}
