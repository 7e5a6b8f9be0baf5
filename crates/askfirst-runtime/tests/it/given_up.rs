//! A call that its caller dropped still gets an entry in the audit log.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use askfirst::{Approval, FunctionTool, FunctionToolset, Mode, Policy, ToolDefinition};
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::fixture::{Desk, Ran, Records, call, policy, yes};

/// Returns the last record, once there are this many.
fn last_of(records: &Records, count: usize) -> Value {
    for _ in 0..5000 {
        if let [.., last] = &*records.json()
            && records.json().len() >= count
        {
            return last.clone();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("{:?}", records.kinds());
}

#[test]
fn call_dropped_during_its_question_is_logged_as_cancelled() {
    let (desk, records) = (Desk::default(), Arc::new(Records::default()));
    let controller = ApprovalController::setup(Mode::Interactive).approver(Arc::new(desk.clone())).build();
    let tools = ApprovalToolset::new(Ran::default().toolset(), controller, Policy::default());
    let tools = tools.recorder(records.clone());
    for polled in [false, true] {
        records.all.lock().unwrap().clear();
        let mut way = tools.submit([call("marked", json!({"polled": polled}))]).pop().unwrap();
        let (_, _reply) = desk.next();
        if polled {
            assert!(way.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        drop(way);
        let last = last_of(&records, 2);
        assert_eq!((&last["kind"], &last["approved"]), (&json!("decided"), &json!(false)));
        assert_eq!((&last["cause"], &last["call_id"]), (&json!("cancelled"), &records.json()[0]["call_id"]));
        assert_eq!(last["refusal"]["reason"], "the caller canceled the call");
    }
}

// invariant: 8
#[test]
fn call_dropped_while_it_runs_is_logged_as_cancelled() {
    let never = FunctionTool::dynamic(ToolDefinition::new("never", "", json!({})), |_| {
        Box::pin(std::future::pending())
    });
    let asks = FunctionTool::dynamic(ToolDefinition::new("asks", "", json!({})), |invocation| {
        Box::pin(async move {
            let request = askfirst::ApprovalRequest::new("inner", "really?", json!({}));
            Ok(json!(invocation.request_approval(request).await.approved))
        })
    });
    let (desk, records) = (Desk::default(), Arc::new(Records::default()));
    let controller = ApprovalController::setup(Mode::Interactive).approver(Arc::new(desk.clone())).build();
    let toolset = FunctionToolset::new().with(never).with(asks);
    let tools = ApprovalToolset::new(toolset, controller, policy(&[("*", Approval::None)]));
    let tools = tools.recorder(records.clone());
    let mut context = Context::from_waker(Waker::noop());
    let mut way = tools.submit([call("never", json!({}))]).pop().unwrap();
    assert!(way.as_mut().poll(&mut context).is_pending());
    drop(way);
    let last = last_of(&records, 2);
    assert_eq!((&last["kind"], &last["ended"]), (&json!("executed"), &json!("cancelled")));
    records.all.lock().unwrap().clear();
    let mut way = tools.submit([call("asks", json!({}))]).pop().unwrap();
    assert!(way.as_mut().poll(&mut context).is_pending());
    let (_, reply) = desk.next();
    drop(way);
    last_of(&records, 4);
    let told = |kind: &str, key: &str| {
        let records = records.json();
        records.iter().rfind(|record| record["kind"] == kind).map(|record| record[key].clone())
    };
    assert_eq!(told("decided", "cause"), Some(json!("cancelled")), "its own question too");
    assert_eq!(told("executed", "ended"), Some(json!("cancelled")));
    reply.send(askfirst::machine::Answer::all(yes()));
}
