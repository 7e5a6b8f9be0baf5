//! The path of one call: whether it runs, and which entries the audit log gets.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use askfirst::ports::Durability;
use askfirst::toolset::BoxFuture;
use askfirst::{
    Approval, ApprovalAware, ApprovalContext, ApprovalDecision, ApprovalRequest, Assessment, Cause,
    FunctionTool, FunctionToolset, Invocation, Mode, Outcome, Policy, Shown, ToolDefinition, ToolError,
    Toolset,
};
use askfirst_config::OnDenial;
use askfirst_runtime::block_on;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::fixture::{Desk, Ran, Records, args, call, cause_of, for_session, no, policy, yes};

fn asking(f: impl Fn(&ApprovalRequest) -> ApprovalDecision + Send + Sync + 'static) -> ApprovalController {
    ApprovalController::interactive(f)
}

#[test]
fn allowed_call_is_logged_before_and_after_it_runs() {
    let (ran, records) = (Ran::default(), Arc::new(Records::default()));
    let tools = ApprovalToolset::new(
        ran.toolset(),
        ApprovalController::strict(),
        policy(&[("plain", Approval::None)]),
    )
    .recorder(records.clone());
    assert_eq!(tools.call_sync("plain", args(json!({"x": 1}))), Outcome::Done(json!("ran")));
    assert_eq!(records.kinds(), ["decided", "executed"]);
    assert!(records.all.lock().unwrap().iter().all(|(_, durability)| *durability == Durability::Written));
    let decided = &records.json()[0];
    assert_eq!(decided["because"][0]["rule"], "tools.plain");
    assert_eq!(decided["call"]["args"], json!({"x": 1}));
    assert!(decided["call"]["definition"].as_str().unwrap().starts_with("sha256:"));
}

#[test]
fn asked_or_denied_call_is_synced() {
    let (ran, records) = (Ran::default(), Arc::new(Records::default()));
    let tools =
        ApprovalToolset::new(ran.toolset(), asking(|_| yes()), Policy::default()).recorder(records.clone());
    assert_eq!(tools.call_sync("marked", args(json!({}))), Outcome::Done(json!("ran")));
    let all = records.all.lock().unwrap();
    let decided =
        all.iter().find(|(record, _)| matches!(record, askfirst::record::Record::Decided(_))).unwrap();
    assert_eq!(decided.1, Durability::Synced);
}

#[test]
fn refusal_is_typed_and_carries_the_note() {
    let ran = Ran::default();
    let tools = ApprovalToolset::new(
        ran.toolset(),
        asking(|_| no().with_note("use the test list")),
        Policy::default(),
    );
    match tools.call_sync("marked", args(json!({}))) {
        Outcome::Denied(refusal) => {
            assert_eq!((refusal.cause, refusal.note.as_deref()), (Cause::Person, Some("use the test list")));
            assert!(refusal.to_string().contains("use the test list"));
        }
        other @ (Outcome::Done(_) | Outcome::Failed(_)) => panic!("{other:?}"),
    }
    assert_eq!(ran.times(), 0);
}

#[test]
fn call_that_cannot_be_logged_is_refused() {
    for n in 0..3 {
        let (ran, records) = (Ran::default(), Arc::new(Records::failing_from(n)));
        let tools = ApprovalToolset::new(ran.toolset(), asking(|_| yes()), Policy::default())
            .recorder(records.clone());
        let outcome = tools.call_sync("marked", args(json!({})));
        // Records: 0 requested, 1 decided, 2 executed.
        if n < 2 {
            assert_eq!(cause_of(&outcome), Some(Cause::RecordFailed), "{n}");
            assert_eq!(ran.times(), 0, "{n}");
        } else {
            assert!(matches!(outcome, Outcome::Failed(ToolError::Unrecorded(_))));
        }
    }
    let (ran, records) = (Ran::default(), Arc::new(Records::failing_from(0)));
    let tools = ApprovalToolset::new(
        ran.toolset(),
        ApprovalController::strict(),
        policy(&[("plain", Approval::None)]),
    )
    .recorder(records);
    assert_eq!(cause_of(&tools.call_sync("plain", args(json!({})))), Some(Cause::RecordFailed));
    assert_eq!(ran.times(), 0);
}

#[test]
fn unknown_tool_is_refused_without_asking() {
    let tools = ApprovalToolset::new(Ran::default().toolset(), asking(|_| yes()), Policy::default());
    let outcome = tools.call_sync("nope", args(json!({})));
    assert_eq!(cause_of(&outcome), Some(Cause::Policy));
}

#[test]
fn tool_that_panics_or_fails_fails_only_its_call() {
    let entries = [("*", Approval::None)];
    let records = Arc::new(Records::default());
    let tools =
        ApprovalToolset::new(Ran::default().toolset(), ApprovalController::strict(), policy(&entries))
            .recorder(records.clone());
    assert_eq!(
        tools.call_sync("broken", args(json!({}))),
        Outcome::Failed(ToolError::Failed("the tool panicked".into()))
    );
    assert_eq!(
        tools.call_sync("failing", args(json!({}))),
        Outcome::Failed(ToolError::Failed("on purpose".into()))
    );
    assert_eq!(records.json()[1]["ended"], "failed");
}

#[test]
fn edited_arguments_are_judged_shown_and_logged_again() {
    let (ran, records) = (Ran::default(), Arc::new(Records::default()));
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let controller = asking(move |request| {
        counted.fetch_add(1, Ordering::SeqCst);
        match request.args["to"].as_str() {
            Some("everybody") => ApprovalDecision { edited_args: Some(args(json!({"to": "ada"}))), ..yes() },
            _ => yes(),
        }
    });
    let tools = ApprovalToolset::new(ran.toolset(), controller, Policy::default()).recorder(records.clone());
    assert_eq!(tools.call_sync("marked", args(json!({"to": "everybody"}))), Outcome::Done(json!("ran")));
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert_eq!(*ran.0.lock().unwrap(), [json!({"to": "ada"})]);
    let records = records.json();
    let decided = records.iter().find(|record| record["kind"] == "decided").unwrap();
    assert_eq!(decided["edited_from"], records[0]["call_id"]);
}

#[test]
fn edited_call_cannot_get_past_a_deny() {
    let ran = Ran::default();
    let mut case =
        askfirst::Case::new(Some(Approval::Deny), askfirst::Because::built_in("tools.marked", "deny"));
    case.when = vec![askfirst::when::Condition {
        field: "to".to_owned(),
        any_of: vec![askfirst::when::Test::Exact(json!("boss"))],
    }];
    let rules = askfirst::Rules::new(None, [askfirst::ToolEntry::new("marked", vec![case])]).unwrap();
    let controller = asking(|_| ApprovalDecision { edited_args: Some(args(json!({"to": "boss"}))), ..yes() });
    let tools = ApprovalToolset::new(ran.toolset(), controller, Policy::new(rules));
    assert_eq!(cause_of(&tools.call_sync("marked", args(json!({"to": "ada"})))), Some(Cause::Policy));
    assert_eq!(ran.times(), 0);
}

/// Shows a counter, and runs only if the counter still has the shown value.
struct Moving {
    now: AtomicUsize,
    ran: Ran,
    moves: usize,
}

impl Toolset for Moving {
    fn tools(&self) -> Vec<ToolDefinition> {
        vec![ToolDefinition::new("moving", "", json!({}))]
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        let before = self.now.load(Ordering::SeqCst);
        Box::pin(async move {
            if invocation.basis != Some(json!(before)) {
                return Err(ToolError::Stale("the counter moved".to_owned()));
            }
            self.ran.0.lock().unwrap().push(json!(before));
            Ok(json!(before))
        })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }
}

impl ApprovalAware for Moving {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        Assessment::needs_approval(ApprovalRequest::new(&*call.tool_name, "moves", json!({})))
    }

    fn present(&self, _: &ApprovalContext, _: &ApprovalRequest) -> Shown {
        let shown = self.now.load(Ordering::SeqCst);
        if shown < self.moves {
            self.now.store(shown + 1, Ordering::SeqCst);
        }
        Shown { basis: Some(json!(shown)), ..Shown::default() }
    }
}

// invariant: 3
#[test]
fn stale_call_is_asked_about_again_at_most_three_times() {
    for (moves, runs) in [(0, true), (2, true), (100, false)] {
        let ran = Ran::default();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let controller = asking(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            yes()
        });
        let moving = Moving { now: AtomicUsize::new(0), ran: ran.clone(), moves };
        let outcome =
            ApprovalToolset::new(moving, controller, Policy::default()).call_sync("moving", args(json!({})));
        assert_eq!(matches!(outcome, Outcome::Done(_)), runs, "{outcome:?}");
        assert_eq!(ran.times(), usize::from(runs));
        assert_eq!(asked.load(Ordering::SeqCst), if runs { moves + 1 } else { 4 });
    }
}

#[test]
fn nothing_is_presented_before_mode_and_memory() {
    let moving = Moving { now: AtomicUsize::new(0), ran: Ran::default(), moves: 100 };
    let tools = ApprovalToolset::new(Arc::new(moving), ApprovalController::strict(), Policy::default());
    assert_eq!(cause_of(&tools.call_sync("moving", args(json!({})))), Some(Cause::Mode));
}

#[test]
fn batch_is_one_question_and_can_be_answered_in_part() {
    let (ran, desk) = (Ran::default(), Desk::default());
    let controller = ApprovalController::setup(Mode::Interactive).approver(Arc::new(desk.clone())).build();
    let tools = Arc::new(ApprovalToolset::new(ran.toolset(), controller, Policy::default()));
    let batch = |n: u64| call("marked", json!({"n": n})).with_metadata("batch_id", "b");
    let running = std::thread::spawn({
        let (tools, calls) = (tools.clone(), vec![batch(1), batch(2), batch(3)]);
        move || block_on(tools.call_many(calls))
    });
    let (question, reply) = desk.next();
    assert_eq!(question.members.len(), 3);
    reply.send(askfirst::machine::Answer { decisions: vec![yes(), no(), yes()], seen: None });
    let outcomes = running.join().unwrap();
    let refused: Vec<bool> = outcomes.iter().map(|outcome| cause_of(outcome).is_some()).collect();
    assert_eq!(refused, [false, true, false]);
    assert_eq!(*ran.0.lock().unwrap(), [json!({"n": 1}), json!({"n": 3})]);
}

#[test]
fn tool_can_ask_while_it_runs() {
    let nested = |invocation: Invocation| -> BoxFuture<'static, Result<Value, ToolError>> {
        Box::pin(async move {
            let request = ApprovalRequest::new("inner", "really?", json!({}));
            let decision = invocation.request_approval(request).await;
            if decision.approved { Ok(json!("both")) } else { Err(ToolError::Denied(Box::new(decision))) }
        })
    };
    let tool = FunctionTool::dynamic(ToolDefinition::new("outer", "", json!({})), nested);
    for answer in [true, false] {
        let records = Arc::new(Records::default());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let saw = Arc::clone(&seen);
        let controller = asking(move |request| {
            saw.lock().unwrap().push(request.tool_name.clone());
            if request.tool_name == "outer" || answer { yes() } else { no() }
        });
        let tools =
            ApprovalToolset::new(FunctionToolset::new().with(tool.clone()), controller, Policy::default())
                .recorder(records.clone());
        let outcome = tools.call_sync("outer", args(json!({})));
        assert_eq!(outcome == Outcome::Done(json!("both")), answer, "{outcome:?}");
        assert_eq!(*seen.lock().unwrap(), ["outer", "inner"]);
        assert_eq!(records.kinds(), ["requested", "decided", "requested", "decided", "executed"]);
        let ids = [0, 2].map(|at| records.json()[at]["call_id"].as_str().unwrap().to_owned());
        assert_eq!(ids[1], format!("{}.1", ids[0]));
        assert_eq!(records.json()[4]["ended"], if answer { "done" } else { "denied" });
    }
}

#[test]
fn session_approval_saves_the_next_request() {
    let (ran, asked) = (Ran::default(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&asked);
    let controller = asking(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        for_session()
    });
    let tools = ApprovalToolset::new(ran.toolset(), controller, Policy::default());
    for _ in 0..3 {
        assert_eq!(tools.call_sync("marked", args(json!({"to": "ada"}))), Outcome::Done(json!("ran")));
    }
    assert_eq!((ran.times(), asked.load(Ordering::SeqCst)), (3, 1));
}

#[test]
fn refusal_stops_the_run_if_the_config_says_so() {
    let ran = Ran::default();
    let tools = ApprovalToolset::new(ran.toolset(), asking(|_| no()), policy(&[("plain", Approval::None)]))
        .on_denial(OnDenial::Stop);
    assert_eq!(cause_of(&tools.call_sync("marked", args(json!({})))), Some(Cause::Person));
    assert!(tools.controller().is_stopped());
    assert_eq!(cause_of(&tools.call_sync("marked", args(json!({})))), Some(Cause::Cancelled));
}

#[test]
fn wrapped_toolset_is_a_toolset() {
    let ran = Ran::default();
    let inner = ApprovalToolset::new(
        ran.toolset(),
        ApprovalController::strict(),
        policy(&[("plain", Approval::None)]),
    );
    assert_eq!(inner.tools().len(), 4);
    let result = block_on(Toolset::call(&inner, Invocation::new(call("plain", json!({})))));
    assert_eq!(result, Ok(json!("ran")));
    let result = block_on(Toolset::call(&inner, Invocation::new(call("marked", json!({})))));
    assert!(matches!(result, Err(ToolError::Denied(_))));
}

// invariant: 9
#[test]
fn excluded_keys_are_in_no_entry_whatever_the_verdict() {
    for approval in Approval::ALL {
        let records = Arc::new(Records::default());
        let mut case = askfirst::Case::new(Some(approval), askfirst::Because::built_in("tools.plain", "x"));
        case.exclude_keys = vec!["body".to_owned()];
        let rules = askfirst::Rules::new(None, [askfirst::ToolEntry::new("plain", vec![case])]).unwrap();
        let tools = ApprovalToolset::new(Ran::default().toolset(), asking(|_| yes()), Policy::new(rules))
            .recorder(records.clone());
        drop(tools.call_sync("plain", args(json!({"to": "ada", "body": "between us"}))));
        let written = serde_json::to_string(&records.json()).unwrap();
        assert!(written.contains("ada") && !written.contains("between us"), "{approval}: {written}");
    }
}

/// A toolset and an override that panic in every method.
struct Broken;

impl Toolset for Broken {
    fn tools(&self) -> Vec<ToolDefinition> {
        ["checks", "runs"].map(|name| ToolDefinition::new(name, "", json!({}))).to_vec()
    }

    fn call(&self, _: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        panic!("before there is a future")
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }
}

impl ApprovalAware for Broken {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        assert_eq!(call.tool_name, "runs");
        Assessment::harmless()
    }
}

impl askfirst::NeedsApproval for Broken {
    fn needs_approval(
        &self,
        _: &ApprovalContext,
        _: &Assessment,
        _: Option<&askfirst::Case>,
    ) -> askfirst::Needs {
        panic!("in the decision point")
    }
}

#[test]
fn panic_in_code_of_the_caller_refuses_or_fails() {
    let tools = ApprovalToolset::new(Broken, asking(|_| yes()), Policy::default());
    assert_eq!(cause_of(&tools.call_sync("checks", args(json!({})))), Some(Cause::Policy));
    assert!(matches!(tools.call_sync("runs", args(json!({}))), Outcome::Failed(_)));
    let policy = Policy::default().with_override(Arc::new(Broken)).unwrap();
    let ran = Ran::default();
    let tools = ApprovalToolset::new(ran.toolset(), asking(|_| yes()), policy);
    assert_eq!(cause_of(&tools.call_sync("plain", args(json!({})))), Some(Cause::Policy));
    assert_eq!(ran.times(), 0);
}

#[test]
fn nothing_runs_after_a_stop_not_even_an_allowed_call() {
    let ran = Ran::default();
    let stop = || ApprovalDecision { stop: true, ..no() };
    let tools =
        ApprovalToolset::new(ran.toolset(), asking(move |_| stop()), policy(&[("plain", Approval::None)]));
    let calls = vec![call("marked", json!({})), call("plain", json!({}))];
    let causes: Vec<_> = block_on(tools.call_many(calls)).iter().map(cause_of).collect();
    assert_eq!(causes, [Some(Cause::Person), Some(Cause::Cancelled)]);
    assert_eq!(ran.times(), 0);
}
