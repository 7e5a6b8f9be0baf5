//! Tests a cancellation while a call is being sent: the call never runs, or the server gets both messages.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use askfirst::ports::{Clock, Durability, RecordFailed, Recorder};
use askfirst::record::Record;
use askfirst::{Approval, Because, Case, FunctionToolset, Mode, Policy, Rules, SandboxStatus, ToolEntry};
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::Value;

use super::{Gateway, Link, MAX_IN_FLIGHT, Setup};
use crate::out::{Connection, LineSink};
use crate::pins::Pins;

const TOOLS: &str = r#"{"jsonrpc":"2.0","id":0,"result":{"tools":[{"name":"add","inputSchema":{}}]}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{}}}"#;
const CANCEL: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;

/// When the client cancels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// While the decision is being logged.
    Decided,
    /// While the call is being written.
    Written,
}

/// The events of a gateway whose client cancels at a given moment.
struct Desk {
    when: When,
    at: OnceLock<(Arc<Link>, Connection)>,
    sent: Mutex<Vec<String>>,
    heard: Mutex<Vec<String>>,
    events: Mutex<Vec<Value>>,
    cancelling: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl Desk {
    /// Cancels the call as the client, and waits until the gateway has handled that.
    fn cancel(&self) {
        let (link, connection) = self.at.get().unwrap().clone();
        let other = Arc::clone(&link);
        let say = move || other.from_client(&connection, CANCEL.as_bytes().into()).unwrap();
        *self.cancelling.lock().unwrap() = Some(std::thread::spawn(say));
        for _ in 0..6000 {
            let state = link.state();
            if state.waiting.is_empty() || !state.given_up.is_empty() {
                break;
            }
            drop(state);
            std::thread::sleep(Duration::from_millis(1));
        }
        // A race would happen now.
        std::thread::sleep(Duration::from_millis(20));
    }
}

struct Notes(Arc<Desk>);
struct ToServer(Arc<Desk>);
struct ToClient(Arc<Desk>);

impl Recorder for Notes {
    fn record(&self, record: &Record, _: Durability) -> Result<(), RecordFailed> {
        let record = serde_json::to_value(record).unwrap();
        let decided = record["kind"] == "decided";
        self.0.events.lock().unwrap().push(record);
        if decided && self.0.when == When::Decided {
            self.0.cancel();
        }
        Ok(())
    }
}

impl LineSink for ToServer {
    fn line(&self, line: &[u8]) -> std::io::Result<()> {
        if line == CALL.as_bytes() && self.0.when == When::Written {
            self.0.cancel();
        }
        self.0.sent.lock().unwrap().push(String::from_utf8(line.to_vec()).unwrap());
        Ok(())
    }
}

impl LineSink for ToClient {
    fn line(&self, line: &[u8]) -> std::io::Result<()> {
        self.0.heard.lock().unwrap().push(String::from_utf8(line.to_vec()).unwrap());
        Ok(())
    }
}

/// Runs an allowed call that the client cancels.
fn cancelled(when: When) -> (Arc<Desk>, Arc<Link>, Connection) {
    let desk = Arc::new(Desk {
        when,
        at: OnceLock::new(),
        sent: Mutex::default(),
        heard: Mutex::default(),
        events: Mutex::default(),
        cancelling: Mutex::default(),
    });
    let state = tempfile::tempdir().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let case = Case::new(Some(Approval::None), Because::built_in("test", "says so"));
    let rules = Rules::new(None, [ToolEntry::new("mcp__maths__add".to_owned(), vec![case])]).unwrap();
    let policy = Policy::new(rules).with_sandbox(SandboxStatus::Settled);
    let controller = ApprovalController::setup(Mode::Interactive).clock(Arc::clone(&clock)).build();
    let approval = ApprovalToolset::new(FunctionToolset::new(), controller, policy.clone())
        .recorder(Arc::new(Notes(Arc::clone(&desk))))
        .clock(clock)
        .session("test");
    let gateway = Gateway::new(Setup {
        server: "maths".to_owned(),
        approval,
        policy,
        pins: Pins::open(state.path(), "maths").unwrap(),
        hide_denied: false,
        tell: Box::new(|_| {}),
    });
    let link = gateway.link();
    let connection = Connection {
        to_client: Arc::new(ToClient(Arc::clone(&desk))),
        to_server: Arc::new(ToServer(Arc::clone(&desk))),
    };
    assert!(desk.at.set((Arc::clone(&link), connection.clone())).is_ok());
    let list = br#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#;
    link.from_client(&connection, list[..].into()).unwrap();
    link.from_server(&connection, TOOLS.as_bytes().into()).unwrap();
    desk.sent.lock().unwrap().clear();
    desk.heard.lock().unwrap().clear();
    link.from_client(&connection, CALL.as_bytes().into()).unwrap();
    desk.cancelling.lock().unwrap().take().unwrap().join().unwrap();
    (desk, link, connection)
}

fn events(desk: &Desk) -> Vec<Value> {
    desk.events.lock().unwrap().iter().map(|record| record["kind"].clone()).collect()
}

#[test]
fn call_canceled_before_it_is_sent_is_logged_and_never_sent() {
    let (desk, link, connection) = cancelled(When::Decided);
    assert!(desk.sent.lock().unwrap().is_empty(), "neither the call nor the cancellation");
    assert!(desk.heard.lock().unwrap().is_empty());
    assert_eq!(events(&desk).last().unwrap(), "executed");
    let told = desk.events.lock().unwrap().last().unwrap().to_string();
    assert!(told.contains("canceled before it was sent"), "{told}");
    assert!(link.is_idle());
    // The gateway drops the answer.
    link.from_server(&connection, ANSWER.as_bytes().into()).unwrap();
    assert!(desk.heard.lock().unwrap().is_empty());
}

#[test]
fn call_canceled_while_it_is_sent_is_canceled_at_the_server() {
    let (desk, link, connection) = cancelled(When::Written);
    assert_eq!(*desk.sent.lock().unwrap(), [CALL, CANCEL]);
    assert_eq!(events(&desk).last().unwrap(), "decided", "it runs");
    link.from_client(&connection, CALL.as_bytes().into()).unwrap();
    assert!(desk.heard.lock().unwrap().pop().unwrap().contains("the id is in use"));
    link.from_server(&connection, ANSWER.as_bytes().into()).unwrap();
    assert_eq!(events(&desk).last().unwrap(), "executed");
    assert!(link.is_idle());
    assert!(link.state().given_up.is_empty());
}

#[test]
fn canceled_id_is_free_again_after_its_answer() {
    let (desk, link, connection) = cancelled(When::Written);
    link.from_client(&connection, CANCEL.as_bytes().into()).unwrap();
    assert_eq!(link.state().given_up.len(), 1, "once");
    link.from_server(&connection, ANSWER.as_bytes().into()).unwrap();
    let ping = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    for id in 1..=MAX_IN_FLIGHT + 1 {
        link.from_client(&connection, ping(id).as_bytes().into()).unwrap();
    }
    assert!(desk.heard.lock().unwrap().pop().unwrap().contains("too many requests"));
    desk.heard.lock().unwrap().clear();
    link.from_server(&connection, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#[..].into()).unwrap();
    assert_eq!(desk.heard.lock().unwrap().len(), 1, "the first of them is answered");
}
