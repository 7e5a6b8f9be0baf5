//! Sessions: what every toolset of a session shares, and what a front end can observe.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use askfirst::record::{Record, RuleRecord};
use askfirst::{
    ApprovalContext, ApprovalDecision, CallId, Cause, FunctionToolset, Mode, Outcome, Policy,
    requires_approval,
};
use askfirst_config::{Config, LoadOptions, Places, from_json};
use askfirst_runtime::ledger::{Filter, read, verify_with_head};
use askfirst_runtime::observer::{Event, Observer};
use askfirst_runtime::pipeline::next_call_id;
use askfirst_runtime::session::{OpenError, log_action};
use askfirst_runtime::toolset::Run;
use askfirst_runtime::{ApprovalController, Session};
use serde_json::{Value, json};

/// Fails with a message that repeats its argument.
#[requires_approval]
fn send(pin: String) -> Result<String, String> {
    Err(format!("the server refused {pin}"))
}

fn places() -> Places {
    let none = std::env::temp_dir().join("none");
    Places { managed: none.clone(), user: none.clone(), state: none, home: None }
}

fn config(value: &Value) -> Config {
    let options = LoadOptions { explicit: None, folder: std::env::temp_dir(), places: places() };
    from_json(value, &options).unwrap()
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
fn no_that_ends_the_run_leaves_the_rest_of_a_group_unasked() {
    for (on_denial, expected) in [("stop", 1), ("return", 3)] {
        let asked = Arc::<Mutex<usize>>::default();
        let count = Arc::clone(&asked);
        let controller = ApprovalController::interactive(move |_| {
            *count.lock().unwrap() += 1;
            ApprovalDecision::no(Cause::Person)
        });
        let config = config(&json!({"version": 1, "on_denial": on_denial}));
        let builder = Session::builder(config).controller(controller).run(Run::Caller);
        let session = builder.own_tools(tools()).open().unwrap();
        let group = json!({"batch_id": "b"}).as_object().unwrap().clone();
        let calls = ["1", "2", "3"].map(|pin| ApprovalContext { metadata: group.clone(), ..call(pin) });
        let outcomes = session.tools.call_many_sync(calls.to_vec());
        assert_eq!(*asked.lock().unwrap(), expected, "{outcomes:?}");
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Denied(_))), "{outcomes:?}");
    }
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
struct EventNotes(Mutex<Vec<(CallId, &'static str)>>);

impl Observer for EventNotes {
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
    let seen = Arc::new(EventNotes::default());
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
    drop(builder.state_in(folder.path()).own_tools(tools()).open().unwrap());
    let text = std::fs::read_to_string(file).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!(first.to_string().contains("\"library\"") && first.to_string().contains("\"strict\""), "{first}");
}

// invariant: 4
#[test]
fn session_log_in_a_root_is_never_written_by_tools() {
    let folder = tempfile::tempdir().unwrap();
    let root = json!({"root": folder.path(), "mode": "rw", "approval": {"write": "none"}});
    let config = config(&json!({"version": 1, "sandbox": {"paths": {"w": root}}}));
    let log = folder.path().join("log.jsonl");
    let session = Session::builder(config).log_at(&log).state_in(folder.path().join("state")).open().unwrap();
    let write = |name: &str| {
        let args = json!({"path": format!("w:{name}"), "content": "x"});
        session.tools.call_sync("write_file", args.as_object().unwrap().clone())
    };
    assert!(matches!(write("other.txt"), Outcome::Done(_)));
    for name in ["log.jsonl", "log.jsonl.lock", "log-1-90.jsonl"] {
        assert!(matches!(write(name), Outcome::Denied(_)), "{name}");
    }
}

/// Opens a session with an audit log, and returns the number of the entry that its stored head names.
fn stored_head(folder: &Path, mode: Mode) -> (Session, impl Fn() -> Option<u64>) {
    let (file, state) = (folder.join("log.jsonl"), folder.to_owned());
    let config = config(&json!({"version": 1}));
    let builder = Session::builder(config).mode(mode).log_at(&file).state_in(folder);
    let session = builder.own_tools(tools()).open().unwrap();
    (session, move || verify_with_head(&file, None, &state).unwrap().stored)
}

#[test]
fn session_stores_the_head_of_its_log_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let (session, head) = stored_head(folder.path(), Mode::Strict);
    assert_eq!(head(), None);
    let log = session.ledger.clone();
    drop(session);
    assert_eq!(head(), Some(1), "another thread may hold the log itself");
    drop(log);
}

#[test]
fn start_of_an_approve_all_session_is_synced() {
    let folder = tempfile::tempdir().unwrap();
    let (_session, head) = stored_head(folder.path(), Mode::ApproveAll);
    assert_eq!(head(), Some(1));
}

#[test]
fn session_start_names_the_user_and_the_host() {
    let folder = tempfile::tempdir().unwrap();
    drop(stored_head(folder.path(), Mode::Strict));
    let entry = read(&folder.path().join("log.jsonl"), Filter::default()).unwrap().next().unwrap().unwrap();
    let origin = entry.origin().unwrap();
    assert_eq!(origin.uid, rustix::process::getuid().as_raw());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(origin.host, host.trim());
    let named = Command::new("id").arg("-un").output().unwrap().stdout;
    assert_eq!(origin.user.as_deref(), Some(String::from_utf8(named).unwrap().trim()));
}

#[test]
fn session_without_a_state_folder_warns_and_keeps_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log.jsonl");
    let builder =
        Session::builder(config(&json!({"version": 1}))).log_at(&file).state_in("/dev/null/askfirst");
    let session = builder.own_tools(tools()).open().unwrap();
    let warned = |text: &String| text.contains("the head of the audit log cannot be stored");
    assert!(session.warnings.iter().any(warned), "{:?}", session.warnings);
    let entry = read(&file, Filter::default()).unwrap().next().unwrap().unwrap();
    assert!(entry.session_start.unwrap().warnings.iter().any(warned));
}

#[test]
fn action_outside_of_calls_is_logged_with_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let rule =
        RuleRecord { project: "/p".to_owned(), tool_name: "shell".to_owned(), rule: "cargo test".to_owned() };
    let places = Places { state: folder.path().to_owned(), ..places() };
    let config = config(&json!({"version": 1}));
    let actions = [Record::RuleAdded(rule.clone()), Record::RuleRemoved(rule)];
    for action in &actions {
        log_action(&config, &places.state, "memory", action).unwrap();
    }
    let entries = read(&folder.path().join("ledger.jsonl"), Filter::default()).unwrap();
    let entries: Vec<_> = entries.map(Result::unwrap).collect();
    let kinds: Vec<&str> = entries.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["session", "rule_added", "session", "rule_removed"]);
    assert_eq!(entries[1].record().as_ref(), actions.first());
    assert_eq!(entries[3].record().as_ref(), actions.last());
    assert!(entries[1].origin().is_some() && entries[1].tool_name() == Some("shell"));
    std::fs::remove_file(folder.path().join("ledger.jsonl")).unwrap();
    std::fs::create_dir(folder.path().join("ledger.jsonl")).unwrap();
    let failed = log_action(&config, &places.state, "memory", &actions[0]);
    assert!(matches!(failed, Err(OpenError::AuditLog(_))));
}

#[test]
fn unknown_key_of_a_tool_needs_an_override_or_other_code() {
    let given = json!({"tools": {"send": {"approval": "none", "level": 3}}});
    let builder = || Session::builder(config(&given)).controller(answering(true)).own_tools(tools());
    let error = builder().open().map(drop).unwrap_err().to_string();
    assert!(error.contains("unknown key `level` in `tools.send`"), "{error}");
    assert!(error.contains("hint: put your own keys under `options`"), "{error}");
    builder().override_keys_are_used(true).open().unwrap();
}

#[test]
fn ledger_section_switches_the_audit_log_on() {
    let folder = tempfile::tempdir().unwrap();
    let opened = |given: &Value| {
        let builder = Session::builder(config(given)).controller(answering(true)).own_tools(tools());
        builder.log_if_configured(folder.path().join("state")).open().unwrap()
    };
    assert!(opened(&json!({})).ledger.is_none());
    let log = folder.path().join("mine.jsonl");
    let session = opened(&json!({"ledger": {"path": log}}));
    assert!(session.ledger.is_some());
    let _ = session.tools.call_sync("send", call("1").args);
    assert!(std::fs::read_to_string(log).unwrap().contains("\"kind\":\"decided\""));
    assert!(opened(&json!({"ledger": {}})).ledger.is_some());
    assert!(folder.path().join("state/ledger.jsonl").exists());
}
