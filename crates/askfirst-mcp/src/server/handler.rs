//! The server as rmcp calls it: it lists the tools, and runs calls while it handles other messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use askfirst::{ApprovalContext, Args, CallId, Toolset};
use askfirst_runtime::ApprovalToolset;
use askfirst_runtime::pipeline::next_call_id;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use super::parked::{Call, ParkedCalls};
use super::running::RunningCalls;
use super::transport::Conversation;
use super::{MAX_IN_FLIGHT, Server, results};
use crate::elicit::{CarriedRequest, Elicit, Offer, offers};

/// The server of one client.
pub(super) struct Handler {
    tools: Arc<ApprovalToolset>,
    running: Arc<RunningCalls>,
    allowed: String,
    beat: Duration,
    conversation: Arc<Conversation>,
    calls: Arc<Semaphore>,
    elicit: Option<Arc<Elicit>>,
    parked: ParkedCalls,
    next: AtomicU64,
}

impl Handler {
    pub(super) fn new(server: &Server, conversation: &Arc<Conversation>) -> Self {
        Self {
            tools: Arc::clone(&server.tools),
            running: Arc::clone(&server.running),
            allowed: server.allowed.clone(),
            beat: server.beat,
            conversation: Arc::clone(conversation),
            calls: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            elicit: server.elicit.clone(),
            parked: ParkedCalls::default(),
            next: AtomicU64::new(1),
        }
    }

    /// The permits for calls. Each call holds one until it has ended.
    pub(super) fn calls(&self) -> Arc<Semaphore> {
        Arc::clone(&self.calls)
    }

    /// Runs a call to its end, or to an approval request that the client must answer first.
    async fn call(
        &self,
        wanted: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = wanted;
        let (tool, args) = (name.into_owned(), arguments.unwrap_or_default());
        let mut call = match request_state {
            None => self.begin(tool, args, context)?,
            Some(handle) => {
                let call = self.parked.take(&handle, &tool, &args);
                let known = call.as_ref().and(self.elicit.as_ref());
                let answered = known
                    .is_some_and(|elicit| elicit.carried_back(&handle, &input_responses.unwrap_or_default()));
                call.filter(|_| answered)
                    .ok_or_else(|| error(ErrorCode::INVALID_PARAMS, "no call waits for this answer"))?
            }
        };
        let mut offer = self.offer(&call, context);
        let (mut gone, mut left, mut beats) = (self.conversation.gone(), false, 0_u32);
        loop {
            // The call comes first: an allowed call starts before the server notices that the client is gone.
            tokio::select! {
                biased;
                outcome = &mut call.calling => {
                    let notice = self.running.take_notice(call.id);
                    return Ok(results::result(outcome, &self.allowed, notice).into());
                }
                () = context.ct.cancelled() => break,
                () = ended(&mut gone), if !left => left = true,
                carried = handed(&mut offer) => return Ok(self.parked.put(carried, call)),
                () = tokio::time::sleep(self.beat) => {
                    beats += 1;
                    self.still_waiting(context, call.id, beats).await;
                }
            }
            // A client that has closed its side may still read the answer of a running call. A waiting call is
            // withdrawn.
            if left && !self.running.is_running(call.id) {
                break;
            }
        }
        self.give_up(call);
        Err(error(ErrorCode::INVALID_REQUEST, "the call was canceled"))
    }

    /// Allows askfirst to ask the client about its call, if the config names this approver and the client supports it.
    fn offer(&self, call: &Call, context: &RequestContext<RoleServer>) -> Option<Offer> {
        let elicit = self.elicit.as_ref()?;
        let said = context.client_capabilities().and_then(|all| serde_json::to_value(all).ok());
        if !offers(said.as_ref()) {
            return None;
        }
        let newest = ProtocolVersion::V_2026_07_28;
        let by_result = context.protocol_version().is_some_and(|now| now.as_str() >= newest.as_str());
        Some(match by_result {
            true => elicit.by_result(&call.tool, &call.args),
            false => elicit.by_request(&call.tool, &call.args, self.conversation.way_to(&context.id)),
        })
    }

    fn begin(
        &self,
        tool: String,
        args: Args,
        context: &RequestContext<RoleServer>,
    ) -> Result<Call, ErrorData> {
        let busy = || error(ErrorCode::INVALID_REQUEST, "too many calls are in flight");
        let held = Arc::clone(&self.calls).try_acquire_owned().map_err(|_| busy())?;
        let request = self.next.fetch_add(1, Ordering::Relaxed).to_string();
        let id = next_call_id();
        let mut wish = ApprovalContext { id, ..ApprovalContext::new(tool.clone(), args.clone()) }
            .with_metadata("mcp_request", request);
        if let Some(client) = context.client_info() {
            wish = wish.with_metadata("caller", format!("{} {}", client.name, client.version).trim());
        }
        let tools = Arc::clone(&self.tools);
        let calling = Box::pin(async move {
            let _held = held;
            ApprovalToolset::call(&tools, wish).await
        });
        Ok(Call { tool, args, id, calling })
    }

    /// Withdraws a call. If its tool is already running, it runs to its end and is logged.
    fn give_up(&self, call: Call) {
        if self.running.is_running(call.id) {
            // The audit log gets the outcome; no one else needs it.
            tokio::spawn(async move { drop(call.calling.await) });
        }
    }

    async fn still_waiting(&self, context: &RequestContext<RoleServer>, call: CallId, beats: u32) {
        let Some(token) = context.meta.get_progress_token() else { return };
        let says = if self.running.is_running(call) { "running" } else { "waiting for a person to approve" };
        let mut told = ProgressNotificationParam::new(token, f64::from(beats));
        told.message = Some(says.to_owned());
        // The code that reads from the client notices if it is gone.
        let _ = context.peer.notify_progress(told).await;
    }
}

/// Waits for an approval request that the result must carry, or forever if there is none.
async fn handed(offer: &mut Option<Offer>) -> CarriedRequest {
    std::future::poll_fn(|context| match offer {
        Some(offer) => offer.poll_handed(context),
        None => Poll::Pending,
    })
    .await
}

/// Waits until the client has ended.
async fn ended(gone: &mut watch::Receiver<bool>) {
    // The sender sets the value before it is dropped.
    drop(gone.wait_for(|gone| *gone).await);
}

fn error(code: ErrorCode, message: &'static str) -> ErrorData {
    ErrorData::new(code, message, None)
}

fn schema(schema: Value) -> JsonObject {
    match schema {
        Value::Object(schema) => schema,
        // A tool without a schema accepts any object.
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            JsonObject::from_iter([("type".to_owned(), Value::from("object"))])
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("askfirst", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(format!(
            "askfirst checks every call and may ask a person. A refusal states the reason. {}",
            self.allowed
        ));
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |tool: askfirst::ToolDefinition| {
            Tool::new(tool.name, tool.description, schema(tool.input_schema))
        };
        Ok(ListToolsResult::with_all_items(self.tools.tools().into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        wanted: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(wanted, &context).await
    }
}
