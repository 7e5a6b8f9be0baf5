//! Our own MCP server with the tools of a config. It has no rules of its own: every call goes through the same
//! pipeline as in other front ends. A refusal is a result with the reason.
//!
//! rmcp implements the protocol. askfirst first parses each message strictly, so that no call can be read in two ways.

mod handler;
mod parked;
mod peer;
mod results;
mod running;
mod transport;

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use askfirst_runtime::ApprovalToolset;

#[doc(hidden)]
pub use running::RunningCalls as Running;
pub use running::RunningCalls;

use tokio::runtime::Handle;

use crate::elicit::Elicit;
use crate::http::{Front, FrontError, Peer, serve_opened};
use crate::out::LineSink;
use handler::Handler;
use peer::ServerPeer;
use transport::{Conversation, Transport};

/// The number of requests that a client may have in flight.
const MAX_IN_FLIGHT: usize = 1024;

/// How long running calls may take to end after the client is gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long calls keep running after the only client is gone: some clients close their side first and then read the
/// last answers. It is shorter than the time after which clients kill the server.
const PARTING: Duration = Duration::from_millis(1500);

/// The time between two progress reports for a call that waits for approval.
pub const BEAT: Duration = Duration::from_secs(5);

/// The reason why a client cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The runtime or a thread could not be started.
    #[error("cannot start the server: {0}")]
    Start(#[from] std::io::Error),
    /// The client's first messages were invalid.
    #[error("invalid first messages from the client: {0}")]
    Begin(String),
}

/// The parts of a server.
pub struct Server {
    /// The tools, behind approval. They must be built on `running`.
    pub tools: Arc<ApprovalToolset>,
    /// The tools without approval, which know the calls that are running.
    pub running: Arc<RunningCalls>,
    /// The calls that run without asking, as a text for agents. It is part of the instructions and of each refusal.
    pub allowed: String,
    /// The approver that asks the client itself, if the config names it.
    pub elicit: Option<Arc<Elicit>>,
    /// The time between two progress reports.
    pub beat: Duration,
}

impl Server {
    /// Serves one client until it ends. Then it withdraws all approval requests, and soon ends the running calls.
    ///
    /// # Errors
    /// Fails if the server cannot be started.
    pub fn serve(
        &self,
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let served = runtime.block_on(self.serve_one(input, output));
        // Calls that did not end in time are abandoned.
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
            // The sender sets the value before it is dropped.
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

    /// Serves clients over HTTP, each on a connection of its own, for as long as the process lives.
    ///
    /// # Errors
    /// Fails if the runtime cannot be started or the listener breaks.
    pub fn serve_http(self: Arc<Self>, front: Front) -> Result<(), FrontError> {
        let opener = move |unasked: Arc<dyn LineSink>, runtime: &Handle| -> std::io::Result<Arc<dyn Peer>> {
            Ok(ServerPeer::start(&self, unasked, runtime))
        };
        serve_opened(front, Box::new(opener))
    }

    async fn converse(&self, transport: Transport, conversation: Conversation) -> Result<(), ServeError> {
        let conversation = Arc::new(conversation);
        let handler = Handler::new(self, &conversation);
        let calls = handler.calls();
        let served = match rmcp::service::serve_server(handler, transport).await {
            Ok(service) => {
                // The connection has ended, with or without an error.
                let _ = service.waiting().await;
                Ok(())
            }
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(e) => Err(ServeError::Begin(e.to_string())),
        };
        // Calls that waited for approval are withdrawn by now. Running calls get some time to end.
        let all = u32::try_from(MAX_IN_FLIGHT).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout(PATIENCE, calls.acquire_many(all)).await;
        conversation.end();
        served
    }
}
