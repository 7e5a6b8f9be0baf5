//! Code of the caller that panics, blocks or asks its own controller harms at most one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use askfirst::machine::{Answer, Question, QuestionId};
use askfirst::ports::{Approver, Durability, RecordFailed, Recorder, Reply};
use askfirst::record::Record;
use askfirst::toolset::BoxFuture;
use askfirst::{
    Approval, ApprovalRequest, ApprovalScope, Cause, Invocation, Mode, Outcome, Policy, ToolDefinition,
    ToolError, Toolset, simple_approval_request,
};
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::fixture::{Ran, args, call, cause_of, no, policy, yes};

/// Never answers the first question, and panics when it is withdrawn.
#[derive(Default)]
struct Panicking(AtomicBool, std::sync::Mutex<Vec<Reply>>);

impl Approver for Panicking {
    fn ask(&self, _: Question, reply: Reply) {
        if self.0.swap(true, Ordering::SeqCst) {
            reply.send(Answer::all(yes()));
        } else {
            self.1.lock().unwrap().push(reply);
        }
    }

    fn announce(&self, _: &str) {
        panic!("when a call is announced")
    }

    fn withdraw(&self, _: QuestionId, _: Cause) {
        panic!("when a question is taken back")
    }
}

#[test]
fn approver_that_panics_on_withdrawal_gets_the_next_question() {
    let controller = ApprovalController::setup(Mode::Interactive)
        .approver(Arc::new(Panicking::default()))
        .time_out(Some(Duration::from_millis(50)))
        .build();
    let request = |n: u64| ApprovalRequest::new("t", "", json!({ "n": n }));
    assert_eq!(controller.request_approval_sync(request(1)).cause, Cause::TimeOut);
    let other = controller.clone();
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(other.request_approval_sync(request(2))));
    assert!(is_done.recv_timeout(Duration::from_secs(30)).is_ok_and(|decision| decision.approved));
}

#[test]
fn callback_that_asks_its_own_controller_fails_at_once() {
    let place: Arc<std::sync::OnceLock<ApprovalController>> = Arc::default();
    let known = Arc::clone(&place);
    let controller = ApprovalController::interactive(move |_| {
        let inner = known.get().unwrap().request_approval_sync(ApprovalRequest::new("inner", "", json!({})));
        assert!(!inner.approved);
        no().with_note(inner.note.unwrap())
    });
    place.set(controller.clone()).unwrap();
    let since = Instant::now();
    let outer = controller.request_approval_sync(ApprovalRequest::new("outer", "", json!({})));
    assert!(since.elapsed() < Duration::from_secs(60), "not until the time-out");
    assert!(outer.note.unwrap().contains("answering another request"));
    assert!(!controller.request_approval_sync(ApprovalRequest::new("outer", "", json!({}))).approved);
}

#[test]
fn mode_can_be_read_while_the_memory_is_read() {
    let controller = ApprovalController::strict();
    assert_eq!(controller.memory(|_| controller.mode()), Mode::Strict);
}

/// A toolset whose list of tools panics.
struct PanickingToolset;

impl Toolset for PanickingToolset {
    fn tools(&self) -> Vec<ToolDefinition> {
        panic!("no list")
    }

    fn call(&self, _: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(std::future::ready(Ok(json!("ran"))))
    }
}

struct Unwriting(usize, std::sync::atomic::AtomicUsize);

impl Recorder for Unwriting {
    fn record(&self, _: &Record, _: Durability) -> Result<(), RecordFailed> {
        assert!(self.1.fetch_add(1, Ordering::SeqCst) < self.0, "no record");
        Ok(())
    }
}

#[test]
fn toolsets_and_recorders_that_panic_refuse() {
    let rules = || policy(&[("*", Approval::None)]);
    let tools = ApprovalToolset::new(PanickingToolset, ApprovalController::approve_all(), rules())
        .unknown(askfirst_runtime::assess::Unknown::Silent);
    assert_eq!(cause_of(&tools.call_sync("any", args(json!({})))), Some(Cause::Policy));
    for n in 0..2 {
        let ran = Ran::default();
        let tools = ApprovalToolset::new(ran.toolset(), ApprovalController::strict(), rules())
            .recorder(Arc::new(Unwriting(n, Default::default())));
        match tools.clone().call_sync("plain", args(json!({}))) {
            Outcome::Failed(ToolError::Unrecorded(_)) => assert_eq!(n, 1),
            outcome => assert_eq!((cause_of(&outcome), n), (Some(Cause::RecordFailed), 0)),
        }
        assert_eq!(ran.times(), n);
    }
}

#[test]
fn stored_and_prior_approvals_apply_to_toolset_calls() {
    let given = args(json!({"to": "ada"}));
    for approved in [true, false] {
        let ran = Ran::default();
        let controller = ApprovalController::interactive(|_| panic!("it was asked"));
        let tools = ApprovalToolset::new(ran.toolset(), controller.clone(), Policy::default());
        let decision = if approved { yes() } else { no() }.remembered(ApprovalScope::Session);
        let payload = Value::Object(given.clone());
        controller.memory(|memory| memory.store("marked", &payload, decision, askfirst::Timestamp(0)));
        let outcome = tools.call_sync("marked", given.clone());
        assert_eq!(cause_of(&outcome), (!approved).then_some(Cause::Memory), "{outcome:?}");
    }
    let controller = ApprovalController::interactive(|_| no());
    let tools = ApprovalToolset::new(Ran::default().toolset(), controller.clone(), Policy::default());
    let request = simple_approval_request("marked", &given, None, &[]);
    controller.add_session_approval(&request);
    assert!(controller.is_session_approved(&request));
    assert_eq!(controller.remembered()[0].hits, 0, "to look is no answer");
    assert!(!controller.is_session_approved(&ApprovalRequest { approval: Approval::Human, ..request }));
    let ways = tools.submit([call("marked", json!({"to": "ada"}))]);
    assert!(ways.into_iter().all(|way| askfirst_runtime::block_on(way) == Outcome::Done(json!("ran"))));
}
