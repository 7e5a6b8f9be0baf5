//! A client of our own server, over real pipes.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use askfirst::ports::Clock;
use askfirst::toolset::BoxFuture;
use askfirst::{
    Approval, Because, Case, Invocation, Mode, Policy, Rules, SandboxStatus, ToolDefinition, ToolEntry,
    ToolError, Toolset,
};
use askfirst_mcp::elicit::Elicit;
use askfirst_mcp::server::{RunningCalls, ServeError, Server};
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::fixture::{Notes, Person};

/// Tools: `free` runs at once, `slow` waits until the test releases it, `ask` asks, `never` is denied.
#[derive(Default)]
pub struct Tools {
    pub ran: AtomicUsize,
    pub go: Arc<(Mutex<bool>, Condvar)>,
}

pub fn schema() -> Value {
    json!({"type": "object", "properties": {"x": {"type": "integer", "maximum": 7}}, "additionalProperties": false})
}

impl Toolset for Tools {
    fn tools(&self) -> Vec<ToolDefinition> {
        let tool = |name: &str| ToolDefinition::new(name, format!("The tool {name}"), schema());
        ["ask", "free", "never", "slow"].map(tool).to_vec()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        self.ran.fetch_add(1, Ordering::SeqCst);
        let go = Arc::clone(&self.go);
        Box::pin(async move {
            if invocation.call.tool_name == "slow" {
                std::future::poll_fn(|context| {
                    if *go.0.lock().unwrap() {
                        return std::task::Poll::Ready(());
                    }
                    let (go, waker) = (Arc::clone(&go), context.waker().clone());
                    std::thread::spawn(move || {
                        let gone = go.1.wait_while(go.0.lock().unwrap(), |go| !*go).unwrap();
                        drop(gone);
                        waker.wake();
                    });
                    std::task::Poll::Pending
                })
                .await;
            }
            Ok(json!({"got": invocation.call.args}))
        })
    }
}

pub struct Shop {
    pub to: Option<PipeWriter>,
    pub from: BufReader<PipeReader>,
    pub person: Arc<Person>,
    pub notes: Arc<Notes>,
    pub tools: Arc<Tools>,
    pub served: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Shop {
    /// A server whose approver is part of the test.
    pub fn new() -> Self {
        Self::asking(None)
    }

    /// A server that asks the client itself.
    pub fn asking_client() -> Self {
        Self::asking(Some(Elicit::new(Arc::default(), Arc::new(SystemClock::start()))))
    }

    fn asking(elicit: Option<Arc<Elicit>>) -> Self {
        let (input, to) = pipe().unwrap();
        let (from, output) = pipe().unwrap();
        let (person, notes, tools) =
            (Arc::new(Person::default()), Arc::new(Notes::default()), Arc::new(Tools::default()));
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let controller = ApprovalController::setup(Mode::Interactive)
            .approver(elicit.clone().map_or_else(|| Arc::clone(&person) as _, |elicit| elicit as _))
            .clock(Arc::clone(&clock))
            .build();
        let rule = |name: &str, approval| {
            ToolEntry::new(name, vec![Case::new(Some(approval), Because::built_in("test", "says so"))])
        };
        let rules =
            [rule("free", Approval::None), rule("slow", Approval::None), rule("never", Approval::Deny)];
        let policy = Policy::new(Rules::new(None, rules).unwrap()).with_sandbox(SandboxStatus::Settled);
        let running = Arc::new(RunningCalls::new(Arc::clone(&tools) as _));
        let gated = ApprovalToolset::new(Arc::clone(&running), controller, policy)
            .recorder(Arc::clone(&notes) as _)
            .clock(clock);
        let server = Server {
            tools: Arc::new(gated),
            running,
            allowed: "These run without asking: `free`.".to_owned(),
            elicit,
            beat: Duration::from_millis(20),
        };
        let served = std::thread::spawn(move || server.serve(BufReader::new(input), output));
        Self { to: Some(to), from: BufReader::new(from), person, notes, tools, served: Some(served) }
    }

    /// A client that has sent `initialize`.
    pub fn open() -> Self {
        Self::new().greeted(json!({}))
    }

    /// Sends `initialize` and returns the client.
    pub fn greeted(mut self, capabilities: Value) -> Self {
        let shop = &mut self;
        shop.say(json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "tester", "version": "1"}}}));
        let hello = shop.hear();
        assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{hello}");
        shop.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        self
    }

    pub fn line(&mut self, line: impl AsRef<[u8]>) {
        self.to.as_mut().unwrap().write_all(&[line.as_ref(), b"\n"].concat()).unwrap();
    }

    pub fn say(&mut self, message: Value) {
        self.line(message.to_string());
    }

    pub fn call(&mut self, id: u64, tool: &str, args: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": args}}));
    }

    pub fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    pub fn let_go(&self) {
        *self.tools.go.0.lock().unwrap() = true;
        self.tools.go.1.notify_all();
    }

    pub fn ran(&self) -> usize {
        self.tools.ran.load(Ordering::SeqCst)
    }

    /// Ends the client, and waits until the server has ended.
    pub fn end(&mut self) -> Result<(), ServeError> {
        self.to = None;
        self.served.take().unwrap().join().unwrap()
    }
}
