//! askfirst asks again about a tool that changed, and about edited arguments.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use askfirst::toolset::BoxFuture;
use askfirst::{
    Approval, ApprovalDecision, ApprovalRequest, Cause, FunctionTool, FunctionToolset, Invocation, Outcome,
    Policy, ToolDefinition, ToolError, Toolset,
};
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::fixture::{Ran, Records, args, cause_of, policy, yes};

/// A toolset with the definition that the test set last.
#[derive(Clone)]
struct Turning(Arc<Mutex<String>>);

impl Toolset for Turning {
    fn tools(&self) -> Vec<ToolDefinition> {
        vec![ToolDefinition::new("note", self.0.lock().unwrap().as_str(), json!({}))]
    }

    fn call(&self, _: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(std::future::ready(Ok(json!(*self.0.lock().unwrap()))))
    }
}

// invariant: 3
#[test]
fn tool_changed_during_its_question_is_asked_about_again() {
    for (turns, asked_for) in [(1, 2), (100, 4)] {
        let (turning, asked) = (Turning(Arc::default()), Arc::<Mutex<Vec<_>>>::default());
        let (turned, seen) = (turning.clone(), Arc::clone(&asked));
        let controller = ApprovalController::interactive(move |request| {
            let mut seen = seen.lock().unwrap();
            seen.push(request.definition.unwrap());
            if seen.len() <= turns {
                *turned.0.lock().unwrap() = format!("Deletes {} notes.", seen.len());
            }
            yes()
        });
        let records = Arc::new(Records::default());
        let tools = ApprovalToolset::new(turning, controller, Policy::default()).recorder(records.clone());
        let outcome = tools.call_sync("note", args(json!({})));
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), asked_for, "not for ever");
        assert_ne!(asked[0], asked[1]);
        match turns {
            1 => assert_eq!(outcome, Outcome::Done(json!("Deletes 1 notes."))),
            _ => assert!(matches!(outcome, Outcome::Failed(ToolError::Stale(_))), "{outcome:?}"),
        }
        assert_eq!(records.json()[2]["ended"], "stale");
    }
}

#[test]
fn arguments_that_were_not_changed_are_not_asked_about_again() {
    let (ran, asked) = (Ran::default(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&asked);
    let controller = ApprovalController::interactive(move |request| {
        counted.fetch_add(1, Ordering::SeqCst);
        ApprovalDecision { edited_args: Some(request.args.clone()), ..yes() }
    });
    let tools = ApprovalToolset::new(ran.toolset(), controller, Policy::default());
    assert_eq!(tools.call_sync("marked", args(json!({"n": 1}))), Outcome::Done(json!("ran")));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn endlessly_edited_call_is_refused_after_ten_edits() {
    let (ran, asked) = (Ran::default(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&asked);
    let controller = ApprovalController::interactive(move |_| {
        let n = counted.fetch_add(1, Ordering::SeqCst);
        ApprovalDecision { edited_args: Some(args(json!({ "n": n }))), ..yes() }
    });
    let tools = ApprovalToolset::new(ran.toolset(), controller, Policy::default());
    let outcome = tools.call_sync("marked", args(json!({"n": "first"})));
    assert_eq!((cause_of(&outcome), ran.times()), (Some(Cause::ApproverFailed), 0));
    assert_eq!(asked.load(Ordering::SeqCst), 11);
}

// invariant: 3
#[test]
fn edited_answer_does_not_approve_a_request_of_the_tool() {
    let step = || {
        let request = ApprovalRequest::new("step", "delete a", json!({"f": "a"}));
        ApprovalRequest { args: args(json!({"f": "a"})), ..request }
    };
    let asks = FunctionTool::dynamic(ToolDefinition::new("outer", "", json!({})), move |invocation| {
        Box::pin(async move { Ok(json!(invocation.request_approval(step()).await.approved)) })
    });
    let controller = ApprovalController::interactive(|_| ApprovalDecision {
        edited_args: Some(args(json!({"f": "b"}))),
        note: Some("only b".to_owned()),
        ..yes()
    });
    let records = Arc::new(Records::default());
    let rules = policy(&[("outer", Approval::None)]);
    let tools = ApprovalToolset::new(FunctionToolset::new().with(asks), controller.clone(), rules)
        .recorder(records.clone());
    assert_eq!(tools.call_sync("outer", args(json!({}))), Outcome::Done(json!(false)));
    let decided = records.json().into_iter().rfind(|record| record["kind"] == "decided").unwrap();
    assert_eq!((&decided["approved"], &decided["call"]["args"]), (&json!(false), &json!({"f": "a"})));
    assert!(decided["decision"]["note"].as_str().unwrap().starts_with("only b (the arguments were edited"));
    let direct = controller.request_approval_sync(step());
    assert_eq!((direct.approved, direct.edited_args), (false, Some(args(json!({"f": "b"})))));
}
