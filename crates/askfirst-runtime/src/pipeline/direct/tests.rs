//! The fast path returns the same outcomes as the normal path, and leaves the normal path's state unchanged.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use askfirst::machine::{Answer, Question};
use askfirst::policy::{Case, Rules, ToolEntry};
use askfirst::ports::{Approver, Durability, RecordFailed, Recorder, Reply};
use askfirst::record::Record;
use askfirst::toolset::BoxFuture;
use askfirst::{
    Approval, ApprovalAware, ApprovalContext, ApprovalDecision, ApprovalRequest, ApprovalScope, Assessment,
    Because, Cause, Invocation, Mode, Outcome, Policy, ToolDefinition, ToolError, Toolset,
};
use askfirst_display::redact::Redactor;
use serde_json::{Map, Value, json};

use super::{RunningCall, StartedCall};
use crate::assess::Unknown;
use crate::blocking::block_on;
use crate::controller::ApprovalController;
use crate::toolset::ApprovalToolset;

/// Approves for the session, and keeps each event in order.
#[derive(Default)]
struct Yes {
    told: Mutex<Vec<(String, ThreadId)>>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

impl Approver for Yes {
    fn announce(&self, call_id: &str) {
        self.told.lock().unwrap().push((call_id.to_owned(), std::thread::current().id()));
    }

    fn ask(&self, question: Question, reply: Reply) {
        let request = question.members[0].request.clone();
        let told = self.told.lock().unwrap().iter().any(|(id, _)| *id == request.call_id);
        assert!(told, "it was not announced");
        self.asked.lock().unwrap().push((*request).clone());
        let yes = ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Session);
        reply.send(Answer::all(yes));
    }
}

/// A toolset that returns the arguments of any call, and counts how often it assessed one.
#[derive(Default)]
struct Tools(AtomicUsize);

impl Toolset for Tools {
    fn tools(&self) -> Vec<ToolDefinition> {
        Vec::new()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        let args = json!(invocation.call.args);
        Box::pin(async move { if args.get("pin").is_none() { Ok(args) } else { Err(failure(&args)) } })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }
}

impl ApprovalAware for Tools {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        self.0.fetch_add(1, Ordering::Relaxed);
        match call.tool_name.as_str() {
            "blocked" => Assessment::blocked("never"),
            "panics" => panic!("on purpose"),
            _ => Assessment::silent(),
        }
    }
}

#[derive(Default)]
struct KeptRecords(Mutex<Vec<Record>>);

impl Recorder for KeptRecords {
    fn record(&self, record: &Record, _: Durability) -> Result<(), RecordFailed> {
        self.0.lock().unwrap().push(record.clone());
        Ok(())
    }
}

struct World {
    yes: Arc<Yes>,
    tools: Arc<Tools>,
    toolset: ApprovalToolset,
}

fn world(mode: Mode) -> World {
    let (yes, tools) = (Arc::<Yes>::default(), Arc::<Tools>::default());
    let controller = ApprovalController::setup(mode).approver(Arc::clone(&yes) as _).build();
    let said = [("free", Approval::None), ("never", Approval::Deny), ("human", Approval::Human)];
    let entries = said.map(|(name, approval)| {
        ToolEntry::new(name, vec![Case::new(Some(approval), Because::built_in(name, approval.as_str()))])
    });
    let policy = Policy::new(Rules::new(None, entries).unwrap());
    let toolset = ApprovalToolset::new(Arc::clone(&tools), controller, policy).unknown(Unknown::Silent);
    World { yes, tools, toolset: toolset.session("s") }
}

/// The failure of a tool that repeats its arguments.
fn failure(args: &Value) -> ToolError {
    ToolError::Failed(format!("no such account: {args}"))
}

fn call(name: &str) -> ApprovalContext {
    ApprovalContext::new(name, json!({"n": 1}).as_object().unwrap().clone())
}

fn start(toolset: &ApprovalToolset, name: &str) -> StartedCall {
    let Ok(started) = toolset.start::<Infallible>(call(name), || Ok(Map::new()));
    started
}

fn now(toolset: &ApprovalToolset, name: &str) -> Option<RunningCall> {
    match start(toolset, name) {
        StartedCall::Now(running) => Some(running),
        StartedCall::OnItsWay(_) => None,
    }
}

/// Returns the outcome on the normal path.
fn later(toolset: &ApprovalToolset, name: &str) -> Outcome {
    match start(toolset, name) {
        StartedCall::Now(_) => panic!("`{name}` ran at once"),
        StartedCall::OnItsWay(future) => block_on(future),
    }
}

fn refused(outcome: Outcome) -> Cause {
    match outcome {
        Outcome::Denied(refusal) => refusal.cause,
        Outcome::Done(_) | Outcome::Failed(_) => panic!("it ran"),
    }
}

#[test]
fn only_calls_allowed_without_asking_run_at_once() {
    let interactive = world(Mode::Interactive);
    let running = now(&interactive.toolset, "free").unwrap();
    let given = ApprovalContext { id: running.call().id, ..call("free") };
    assert_eq!(running.call(), &given);
    assert_eq!(running.finish(Ok(json!(1))), Outcome::Done(json!(1)));
    let ran = || Outcome::Done(json!({"n": 1}));
    assert_eq!(later(&interactive.toolset, "other"), ran());
    assert!(now(&interactive.toolset, "other").is_some(), "it is remembered");
    assert_eq!(later(&interactive.toolset, "human"), ran());
    assert_eq!(later(&interactive.toolset, "human"), ran());
    assert_eq!(interactive.yes.asked.lock().unwrap().len(), 3);
    for name in ["never", "blocked", "panics"] {
        assert_eq!(refused(later(&interactive.toolset, name)), Cause::Policy, "{name}");
    }
    let all = world(Mode::ApproveAll);
    assert!(now(&all.toolset, "other").is_some());
    assert_eq!(later(&all.toolset, "human"), ran());
    assert_eq!(refused(later(&all.toolset, "never")), Cause::Policy);
    let strict = world(Mode::Strict);
    assert!(now(&strict.toolset, "free").is_some());
    assert_eq!(refused(later(&strict.toolset, "other")), Cause::Mode);
}

#[test]
fn revoked_or_stopped_call_no_longer_runs_at_once() {
    let World { yes, toolset, .. } = world(Mode::Interactive);
    drop(later(&toolset, "other"));
    assert!(now(&toolset, "other").is_some());
    let id = toolset.controller().remembered()[0].id;
    assert!(toolset.controller().revoke(id));
    drop(later(&toolset, "other"));
    assert_eq!(yes.asked.lock().unwrap().len(), 2, "it is asked about again");
    assert!(now(&toolset, "other").is_some());
    toolset.controller().stop();
    assert_eq!(refused(later(&toolset, "other")), Cause::Cancelled);
    assert_eq!(refused(later(&toolset, "free")), Cause::Cancelled);
}

#[test]
fn toolset_with_a_log_records_every_call() {
    let kept = Arc::<KeptRecords>::default();
    let World { toolset, .. } = world(Mode::Interactive);
    let toolset = toolset.recorder(Arc::clone(&kept) as _);
    for name in ["free", "other", "other"] {
        assert_eq!(later(&toolset, name), Outcome::Done(json!({"n": 1})));
    }
    let words = |record: &Record| match record {
        Record::Session(_) => "session",
        Record::Requested(_) => "requested",
        Record::Decided(_) => "decided",
        Record::Executed(_) => "executed",
        Record::Rehearsed(_) | Record::Committed(_) | Record::Undone(_) => "effects",
        Record::Trusted(_) | Record::Revoked(_) | Record::RuleAdded(_) | Record::RuleRemoved(_) => "action",
    };
    let asked = ["requested", "decided", "executed"];
    let expected = [&["decided", "executed"][..], &asked, &asked].concat();
    assert_eq!(kept.0.lock().unwrap().iter().map(words).collect::<Vec<_>>(), expected);
}

#[test]
fn failure_is_redacted_the_same_on_both_paths() {
    let world = world(Mode::Interactive);
    let toolset = world.toolset.redactor(Redactor::new(&["pin".to_owned()], Vec::new()).unwrap());
    let start = |name: &str| {
        let args = json!({"pin": "correct horse"}).as_object().unwrap().clone();
        let Ok(started) = toolset.start::<Infallible>(ApprovalContext::new(name, args), || Ok(Map::new()));
        started
    };
    let StartedCall::Now(running) = start("free") else { panic!("it must run at once") };
    let result = Err(failure(&json!(running.call().args)));
    let at_once = running.finish(result);
    let StartedCall::OnItsWay(future) = start("other") else { panic!("it must ask") };
    assert_eq!(at_once, block_on(future));
    let Outcome::Failed(error) = at_once else { panic!("{at_once:?}") };
    assert!(error.to_string().contains("no such account"), "{error}");
    assert!(!error.to_string().contains("correct horse"), "{error}");
}

#[test]
fn call_is_assessed_once_on_either_path() {
    let World { tools, toolset, .. } = world(Mode::Interactive);
    for (at, name) in ["free", "other", "other", "blocked"].into_iter().enumerate() {
        match start(&toolset, name) {
            StartedCall::Now(running) => drop(running),
            StartedCall::OnItsWay(future) => drop(block_on(future)),
        }
        assert_eq!(tools.0.load(Ordering::Relaxed), at + 1, "{name}");
    }
}

#[test]
fn late_metadata_is_computed_only_for_a_request() {
    let World { yes, toolset, .. } = world(Mode::Interactive);
    let unwanted = toolset.start(call("free"), || Err("nobody needs it"));
    assert!(matches!(unwanted, Ok(StartedCall::Now(_))));
    let failed = toolset.start(call("other"), || Err("it cannot be told"));
    assert_eq!(failed.map(drop), Err("it cannot be told"));
    assert!(yes.asked.lock().unwrap().is_empty() && yes.told.lock().unwrap().is_empty());
    let caller = || Ok::<_, Infallible>(Map::from_iter([("caller".to_owned(), json!("ada"))]));
    let Ok(StartedCall::OnItsWay(future)) = toolset.start(call("other"), caller) else { panic!("it asks") };
    drop(block_on(future));
    let asked = yes.asked.lock().unwrap();
    assert_eq!(asked[0].caller.as_deref(), Some("ada"));
    assert_eq!(*yes.told.lock().unwrap(), [(asked[0].call_id.clone(), std::thread::current().id())]);
}

#[test]
fn call_that_runs_at_once_can_ask_while_it_runs() {
    let World { yes, toolset, .. } = world(Mode::Interactive);
    let running = now(&toolset, "free").unwrap();
    for question in ["first", "second"] {
        let request = ApprovalRequest::new("free", question, json!({"q": question}));
        assert!(block_on(running.request_approval(request)).approved);
    }
    let ids: Vec<String> = yes.asked.lock().unwrap().iter().map(|asked| asked.call_id.clone()).collect();
    let of_call = ids[0].strip_suffix(".1").filter(|id| id.starts_with("s-"));
    assert_eq!(ids[1], format!("{}.2", of_call.unwrap()));
    let failed = running.finish(Err(ToolError::Failed("no".to_owned())));
    assert_eq!(failed, Outcome::Failed(ToolError::Failed("no".to_owned())));
}
