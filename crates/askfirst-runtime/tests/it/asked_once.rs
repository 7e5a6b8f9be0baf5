//! Calls that need no second question: about arguments that cannot run, and about a call that a person has approved.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use askfirst::{
    Approval, ApprovalContext, ApprovalDecision, ApprovalRequest, Args, Because, Case, Cause, FunctionTool,
    FunctionToolset, Mode, Outcome, Policy, Rules, ToolDefinition, ToolEntry, ToolError,
};
use askfirst_config::Config;
use askfirst_runtime::{ApprovalController, ApprovalToolset, Session};
use serde_json::{Value, json};

/// A tool that returns the path that it would remove, and the note of the person who approved it.
fn tools() -> FunctionToolset {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": false,
    });
    let remove = FunctionTool::dynamic(ToolDefinition::new("remove", "Removes.", schema), |invocation| {
        let result = json!({"path": invocation.args()["path"], "note": invocation.person.note});
        Box::pin(std::future::ready(Ok(result)))
    });
    FunctionToolset::new().with(remove)
}

fn args(value: Value) -> Args {
    value.as_object().unwrap().clone()
}

fn asking(
    count: &Arc<AtomicUsize>,
    answer: impl Fn(&ApprovalRequest) -> ApprovalDecision + Send + Sync + 'static,
) -> ApprovalController {
    let count = Arc::clone(count);
    ApprovalController::interactive(move |request| {
        count.fetch_add(1, Ordering::SeqCst);
        answer(request)
    })
}

fn yes(_: &ApprovalRequest) -> ApprovalDecision {
    ApprovalDecision::yes(Cause::Person)
}

fn policy(approval: Approval) -> Policy {
    let case = Case::new(Some(approval), Because::built_in("tools.remove", approval.to_string()));
    Policy::new(Rules::new(None, [ToolEntry::new("remove", vec![case])]).unwrap())
}

#[test]
fn call_with_invalid_arguments_fails_without_a_question() {
    let count = Arc::default();
    let tools = ApprovalToolset::new(tools(), asking(&count, yes), Policy::default());
    for (given, why) in [
        (json!({}), "`path` is missing"),
        (json!({"path": 1}), "`path` must be a string, not a number"),
        (json!({"path": "a", "force": true}), "unknown argument `force`"),
    ] {
        let outcome = tools.call_sync("remove", args(given));
        assert_eq!(outcome, Outcome::Failed(ToolError::BadArgs(why.to_owned())));
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let _ = tools.call_sync("remove", args(json!({"path": "a"})));
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[test]
fn call_with_invalid_arguments_is_refused_by_rules_first() {
    let count = Arc::default();
    let tools = ApprovalToolset::new(tools(), asking(&count, yes), policy(Approval::Deny));
    let outcome = tools.call_sync("remove", Args::new());
    assert!(matches!(outcome, Outcome::Denied(_)), "{outcome:?}");
}

#[test]
fn call_with_invalid_arguments_is_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("ledger.jsonl");
    let count = Arc::default();
    let session = Session::builder(Config::alone(Default::default(), folder.path()))
        .controller(asking(&count, yes))
        .own_tools(Arc::new(tools()))
        .log_at(&log)
        .open()
        .unwrap();
    let outcome = session.tools.call_sync("remove", Args::new());
    assert!(matches!(outcome, Outcome::Failed(ToolError::BadArgs(_))), "{outcome:?}");
    let text = std::fs::read_to_string(log).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["kind"], "decided");
    assert_eq!(last["approved"], false);
    assert_eq!(last["refusal"]["reason"], "invalid arguments: `path` is missing");
}

#[test]
fn edited_arguments_are_left_to_the_tool() {
    let count = Arc::default();
    let edit = |request: &ApprovalRequest| match request.args.get("path") {
        Some(Value::String(_)) => {
            ApprovalDecision { edited_args: Some(args(json!({"path": 7}))), ..yes(request) }
        }
        _ => yes(request),
    };
    let tools = ApprovalToolset::new(tools(), asking(&count, edit), Policy::default());
    let outcome = tools.call_sync("remove", args(json!({"path": "a"})));
    assert_eq!(outcome, Outcome::Done(json!({"path": 7, "note": null})));
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[test]
fn tool_gets_note_of_approval_and_of_edit() {
    let count = Arc::default();
    let answer = |request: &ApprovalRequest| match request.args.get("path") {
        Some(Value::String(path)) if path == "a" => ApprovalDecision {
            edited_args: Some(args(json!({"path": "b"}))),
            ..yes(request).with_note("b is the old one")
        },
        Some(Value::String(path)) if path == "c" => yes(request).with_note("last time"),
        _ => yes(request),
    };
    let tools = ApprovalToolset::new(tools(), asking(&count, answer), Policy::default());
    let run = |path: &str| tools.call_sync("remove", args(json!({"path": path})));
    assert_eq!(run("a"), Outcome::Done(json!({"path": "b", "note": "b is the old one"})));
    assert_eq!(run("c"), Outcome::Done(json!({"path": "c", "note": "last time"})));
    assert_eq!(run("d"), Outcome::Done(json!({"path": "d", "note": null})));
}

fn twice(outer: ApprovalController, inner: ApprovalController, inner_policy: Policy) -> ApprovalToolset {
    let inner = ApprovalToolset::new(tools(), inner, inner_policy);
    ApprovalToolset::new(inner, outer, policy(Approval::Required))
}

fn run_twice(outer: &ApprovalController, inner: &ApprovalController, inner_policy: Policy) -> Outcome {
    let tools = twice(outer.clone(), inner.clone(), inner_policy);
    tools.call_sync("remove", args(json!({"path": "a"})))
}

#[test]
fn toolset_wrapped_twice_with_one_controller_asks_once() {
    let count = Arc::default();
    let controller = asking(&count, yes);
    for policy in [policy(Approval::Required), Policy::default()] {
        count.store(0, Ordering::SeqCst);
        let outcome = run_twice(&controller, &controller, policy);
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
}

// invariant: 6
#[test]
fn toolset_wrapped_twice_with_two_controllers_asks_both() {
    let (outer, inner) = (Arc::default(), Arc::default());
    let outcome = run_twice(&asking(&outer, yes), &asking(&inner, yes), policy(Approval::Required));
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert_eq!((outer.load(Ordering::SeqCst), inner.load(Ordering::SeqCst)), (1, 1));
}

// invariant: 6
#[test]
fn stricter_inner_toolset_asks_again_or_denies() {
    let count = Arc::default();
    let controller = asking(&count, yes);
    let outcome = run_twice(&controller, &controller, policy(Approval::Human));
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert_eq!(count.load(Ordering::SeqCst), 2);
    let outcome = run_twice(&controller, &controller, policy(Approval::Deny));
    assert!(matches!(outcome, Outcome::Failed(ToolError::Denied(_))), "{outcome:?}");
}

#[test]
fn approval_of_a_mode_answers_no_request() {
    let count = Arc::default();
    let all = ApprovalController::setup(Mode::ApproveAll).build();
    let outcome = run_twice(&all, &asking(&count, yes), policy(Approval::Required));
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

// invariant: 6
#[test]
fn approval_of_one_call_does_not_answer_a_second_one() {
    let count = Arc::default();
    let controller = asking(&count, yes);
    let inner = ApprovalToolset::new(tools(), controller.clone(), policy(Approval::Required));
    // A tool that makes the same call again, on its own.
    let again = inner.clone();
    let remove = FunctionTool::dynamic(ToolDefinition::new("remove", "Removes.", Value::Null), move |call| {
        let (again, args) = (again.clone(), call.args().clone());
        Box::pin(async move {
            let outcome = again.call(ApprovalContext::new("remove", args)).await;
            Ok(json!(format!("{outcome:?}")))
        })
    });
    let outer =
        ApprovalToolset::new(FunctionToolset::new().with(remove), controller, policy(Approval::Required));
    let outcome = outer.call_sync("remove", args(json!({"path": "a"})));
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert_eq!(count.load(Ordering::SeqCst), 2);
}
