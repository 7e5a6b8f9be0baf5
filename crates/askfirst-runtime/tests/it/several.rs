//! Several toolsets share one controller: each shows its own content, and equal calls can become one question.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use askfirst::toolset::BoxFuture;
use askfirst::{
    ApprovalAware, ApprovalContext, ApprovalPresentation, ApprovalRequest, Assessment, Fact, Invocation,
    Outcome, Policy, PresentationKind, Shown, ToolDefinition, ToolError, Toolset,
};
use askfirst_runtime::block_on;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::fixture::{Records, call, yes};

/// A tool that wipes a place. Only its shown content and its basis name the place.
struct Wipes {
    tool: &'static str,
    place: &'static str,
}

impl Toolset for Wipes {
    fn tools(&self) -> Vec<ToolDefinition> {
        vec![ToolDefinition::new(self.tool, "Wipes.", json!({}))]
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        assert_eq!(invocation.basis, Some(json!(self.place)), "it rests on what another shows");
        Box::pin(std::future::ready(Ok(json!(format!("wiped {}", self.place)))))
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }
}

impl ApprovalAware for Wipes {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        let request = ApprovalRequest::new(&*call.tool_name, "wipes", json!({}));
        let host = call.metadata.get("host").and_then(Value::as_str);
        let facts = host.map(|host| Fact::new("host", host)).into_iter().collect();
        Assessment { facts, ..Assessment::needs_approval(request) }
    }

    fn present(&self, _: &ApprovalContext, _: &ApprovalRequest) -> Shown {
        let content = format!("deletes everything in {}", self.place);
        let presentation = Some(ApprovalPresentation::new(PresentationKind::Text, content));
        Shown { presentation, basis: Some(json!(self.place)), ..Shown::default() }
    }
}

/// Returns two toolsets of one session, the requests, and the recorded entries.
fn two(tools: [&'static str; 2]) -> ([ApprovalToolset; 2], Arc<Mutex<Vec<ApprovalRequest>>>, Arc<Records>) {
    let (asked, records) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<Records>::default());
    let seen = Arc::clone(&asked);
    let controller = ApprovalController::interactive(move |request| {
        seen.lock().unwrap().push(request.clone());
        yes()
    });
    let wipes = [Wipes { tool: tools[0], place: "scratch" }, Wipes { tool: tools[1], place: "home" }];
    let toolsets = wipes.map(|wipes| {
        let toolset = ApprovalToolset::new(wipes, controller.clone(), Policy::default());
        toolset.recorder(records.clone()).session("agent")
    });
    (toolsets, asked, records)
}

// invariant: 3
#[test]
fn toolsets_of_one_session_show_their_own_call_ids() {
    for _ in 0..20 {
        let ([one, other], asked, records) = two(["scratch_tool", "home_tool"]);
        let calls = [(&one, call("scratch_tool", json!({}))), (&other, call("home_tool", json!({})))];
        let outcomes: Vec<_> = ApprovalToolset::submit_together(calls).into_iter().map(block_on).collect();
        assert_eq!(outcomes, ["wiped scratch", "wiped home"].map(|done| Outcome::Done(json!(done))));
        for request in asked.lock().unwrap().iter() {
            let place = request.tool_name.strip_suffix("_tool").unwrap();
            assert!(request.presentation.as_ref().unwrap().content.ends_with(place), "{request:?}");
        }
        let records = records.json();
        let ids: BTreeSet<_> = records.iter().map(|record| record["call_id"].as_str().unwrap()).collect();
        assert_eq!((records.len(), ids.len()), (6, 2), "{ids:?}");
    }
}

// invariant: 3
#[test]
fn equal_calls_that_two_toolsets_would_show_are_two_questions() {
    let ([one, other], asked, _) = two(["wipe", "wipe"]);
    let calls = [(&one, call("wipe", json!({}))), (&other, call("wipe", json!({})))];
    let outcomes: Vec<_> = ApprovalToolset::submit_together(calls).into_iter().map(block_on).collect();
    assert_eq!(outcomes, ["wiped scratch", "wiped home"].map(|done| Outcome::Done(json!(done))));
    assert_eq!(asked.lock().unwrap().len(), 2);
}

#[test]
fn equal_calls_with_different_metadata_are_two_requests() {
    let ([one, _], asked, _) = two(["wipe", "other"]);
    let calls = ["test", "production"].map(|host| call("wipe", json!({})).with_metadata("host", host));
    assert!(
        block_on(one.call_many(calls.to_vec())).iter().all(|outcome| matches!(outcome, Outcome::Done(_)))
    );
    assert_eq!(asked.lock().unwrap().len(), 2);
}
