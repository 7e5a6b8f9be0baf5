//! Sessions: what every toolset of a session shares, and what a front end can observe.

use std::sync::{Arc, Mutex};

use askfirst::{
    ApprovalContext, ApprovalDecision, CallId, Cause, FunctionToolset, Mode, Outcome, Policy,
    requires_approval,
};
use askfirst_config::{Config, LoadOptions, Places, from_json};
use askfirst_runtime::observer::{Event, Observer};
use askfirst_runtime::pipeline::next_call_id;
use askfirst_runtime::toolset::Run;
use askfirst_runtime::{ApprovalController, Session};
use serde_json::{Value, json};

/// Fails with a message that repeats its argument.
#[requires_approval]
fn send(pin: String) -> Result<String, String> {
    Err(format!("the server refused {pin}"))
}

fn config(value: &Value) -> Config {
    let folder = std::env::temp_dir();
    let places = Places {
        managed: folder.join("none"),
        user: folder.join("none"),
        state: folder.join("none"),
        home: None,
    };
    from_json(value, &LoadOptions { explicit: None, folder, places }).unwrap()
}

fn answering(approved: bool) -> ApprovalController {
    ApprovalController::interactive(move |_| match approved {
        true => ApprovalDecision::yes(Cause::Person),
        false => ApprovalDecision::no(Cause::Person),
    })
}

fn call(pin: &str) -> ApprovalContext {
    ApprovalContext::new("send", json!({"pin": pin}).as_object().unwrap().clone())
}

fn tools() -> Arc<FunctionToolset> {
    Arc::new(FunctionToolset::new().with(send_tool()))
}

#[test]
fn toolset_over_a_session_redacts_the_secrets_of_the_config() {
    let config = config(&json!({"version": 1, "secrets": {"args": ["pin"]}}));
    let session = Session::builder(config).controller(answering(true)).open().unwrap();
    let over = session.over(tools(), Policy::default());
    let outcome = over.call_many_sync(vec![call("correct horse")]).pop().unwrap();
    let Outcome::Failed(error) = outcome else { panic!("{outcome:?}") };
    assert!(error.to_string().starts_with("the server refused"), "{error}");
    assert!(!error.to_string().contains("correct horse"), "{error}");
}

#[test]
fn persons_no_ends_the_session_under_on_denial_stop() {
    let config = config(&json!({"version": 1, "on_denial": "stop"}));
    let session = Session::builder(config).controller(answering(false)).open().unwrap();
    let over = session.over(tools(), Policy::default());
    let outcomes = over.call_many_sync(vec![call("1")]);
    assert!(matches!(&outcomes[0], Outcome::Denied(refusal) if refusal.ends_run), "{outcomes:?}");
    assert!(session.controller().is_stopped());
    let next = over.call_many_sync(vec![call("2")]);
    assert!(matches!(&next[0], Outcome::Denied(refusal) if refusal.cause == Cause::Cancelled), "{next:?}");
}

#[test]
fn persons_no_ends_only_the_run_of_a_caller_with_its_own_runs() {
    let config = config(&json!({"version": 1, "on_denial": "stop"}));
    let builder = Session::builder(config).controller(answering(false)).run(Run::Caller);
    let session = builder.own_tools(tools()).open().unwrap();
    let outcomes = session.tools.call_many_sync(vec![call("1")]);
    assert!(matches!(&outcomes[0], Outcome::Denied(refusal) if refusal.ends_run), "{outcomes:?}");
    assert!(!session.controller().is_stopped());
}

#[test]
fn denial_by_policy_never_ends_the_run() {
    let config = config(&json!({"version": 1, "on_denial": "stop", "tools": {"send": {"approval": "deny"}}}));
    let session = Session::builder(config).controller(answering(true)).own_tools(tools()).open().unwrap();
    let outcomes = session.tools.call_many_sync(vec![call("1")]);
    assert!(matches!(&outcomes[0], Outcome::Denied(refusal) if !refusal.ends_run), "{outcomes:?}");
    assert!(!session.controller().is_stopped());
}

#[derive(Default)]
struct Seen(Mutex<Vec<(CallId, &'static str)>>);

impl Observer for Seen {
    fn observe(&self, call: CallId, event: Event<'_>) {
        let step = match event {
            Event::Decided(entry) if entry.approved => "approved",
            Event::Decided(_) => "refused",
            Event::Executed(_, Some(_)) => "returned",
            Event::Executed(_, None) => "failed",
        };
        self.0.lock().unwrap().push((call, step));
    }
}

#[test]
fn observer_gets_each_step_with_the_id_of_its_call() {
    let seen = Arc::new(Seen::default());
    let config = config(&json!({"version": 1, "tools": {"never": {"approval": "deny"}}}));
    let builder = Session::builder(config).mode(Mode::ApproveAll).observe(Arc::clone(&seen) as _);
    let session = builder.own_tools(tools()).open().unwrap();
    let (first, second) = (next_call_id(), next_call_id());
    let calls = vec![
        ApprovalContext { id: first, ..call("1") },
        ApprovalContext { id: second, ..ApprovalContext::new("never", serde_json::Map::new()) },
    ];
    session.tools.call_many_sync(calls);
    let seen = seen.0.lock().unwrap().clone();
    assert_eq!(seen, [(first, "approved"), (first, "failed"), (second, "refused")]);
}

#[test]
fn session_log_starts_with_the_front_end_and_the_mode() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.jsonl");
    let config = config(&json!({"version": 1}));
    let builder = Session::builder(config).front_end("library").mode(Mode::Strict).log_at(&file);
    drop(builder.own_tools(tools()).open().unwrap());
    let text = std::fs::read_to_string(file).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(first.to_string().contains("\"library\"") && first.to_string().contains("\"strict\""), "{first}");
}
