//! A person sees excluded arguments, but the audit log does not contain them.

use std::sync::{Arc, Mutex};

use askfirst::{
    ApprovalSpec, Because, Case, FunctionTool, FunctionToolset, Outcome, Policy, Rules, ToolEntry, ToolError,
    requires_approval,
};
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::fixture::{Ran, Records, args, for_session, yes};

/// A tool that sends a text.
#[requires_approval]
fn send(to: &str, body: &str) -> usize {
    to.len() + body.len()
}

#[requires_approval(exclude_keys = ["pin"])]
fn unlock(pin: u32) -> u32 {
    pin
}

#[requires_approval]
fn fails(key: &str) -> Result<(), String> {
    Err(format!("no such key: {key}"))
}

fn excluding(tool: &str, key: &str) -> Policy {
    let mut case = Case::new(None, Because::built_in("tools", "x"));
    case.exclude_keys = vec![key.to_owned()];
    Policy::new(Rules::new(None, [ToolEntry::new(tool, vec![case])]).unwrap())
}

fn written(tool: FunctionTool, policy: Policy, name: &str, given: Value) -> (Vec<Value>, Outcome) {
    let controller = ApprovalController::interactive(|_| yes().with_note("with TOPSECRET in it"));
    written_by(controller, tool, policy, name, given)
}

fn written_by(
    controller: ApprovalController,
    tool: FunctionTool,
    policy: Policy,
    name: &str,
    given: Value,
) -> (Vec<Value>, Outcome) {
    let records = Arc::new(Records::default());
    let tools = ApprovalToolset::new(FunctionToolset::new().with(tool), controller, policy);
    let outcome = tools.recorder(records.clone()).call_sync(name, args(given));
    (records.json(), outcome)
}

// invariant: 9
#[test]
fn excluded_arguments_are_neither_remembered_nor_logged() {
    let (records, asked) = (Arc::new(Records::default()), Arc::<Mutex<Vec<_>>>::default());
    let seen = Arc::clone(&asked);
    let controller = ApprovalController::interactive(move |request| {
        seen.lock().unwrap().push(request.args.clone());
        for_session()
    });
    let tools = FunctionToolset::new().with(send_tool());
    let tools = ApprovalToolset::new(tools, controller.clone(), excluding("send", "body"));
    let tools = tools.recorder(records.clone());
    for body in ["TOPSECRET", "another secret"] {
        let outcome = tools.call_sync("send", args(json!({"to": "ada", "body": body})));
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    }
    assert_eq!(*asked.lock().unwrap(), [args(json!({"to": "ada", "body": "TOPSECRET"}))], "it is shown");
    let remembered = serde_json::to_string(&controller.remembered()).unwrap();
    let written = serde_json::to_string(&records.json()).unwrap();
    for text in [remembered, written] {
        assert!(text.contains("ada") && !text.contains("secret") && !text.contains("SECRET"), "{text}");
    }
}

// invariant: 9
#[test]
fn description_of_a_tool_is_logged_without_excluded_keys() {
    let spec = ApprovalSpec::default()
        .exclude_keys(["key"])
        .description_with(|args| format!("Opens with {}", args["key"]))
        .payload(|args| json!({"k": args["key"]}));
    let (records, _) = written(
        Ran::default().tool("open").requires_approval(spec.clone()),
        Policy::default(),
        "open",
        json!({"key": "TOPSECRET"}),
    );
    let text = serde_json::to_string(&records).unwrap();
    assert!(!text.contains("TOPSECRET"), "{text}");
    assert_eq!(records[0]["description"], r#"Opens with "[left out]""#);
    assert_eq!(records[0].get("payload"), None);
    let harmless = spec.payload(|_| json!({"k": "any"}));
    let tool = Ran::default().tool("open").requires_approval(harmless);
    let (records, _) = written(tool, Policy::default(), "open", json!({"key": "TOPSECRET"}));
    assert_eq!(records[0]["payload"], json!({"k": "any"}));
}

// invariant: 9
#[test]
fn values_that_do_not_fit_are_in_no_entry() {
    let pin = json!({"pin": "horse battery"});
    let (records, outcome) = written(unlock_tool(), Policy::default(), "unlock", pin.clone());
    assert!(matches!(outcome, Outcome::Failed(ToolError::BadArgs(_))), "{outcome:?}");
    let reason = records.last().unwrap()["refusal"]["reason"].as_str().unwrap();
    assert_eq!(reason, "invalid arguments: `pin` must be an integer, not a string");
    assert!(!format!("{records:?}").contains("horse"), "{records:?}");
    // No one is asked here, so the tool itself reports the mismatch.
    let all = ApprovalController::approve_all;
    let (records, outcome) = written_by(all(), unlock_tool(), Policy::default(), "unlock", pin);
    assert!(matches!(outcome, Outcome::Failed(ToolError::BadArgs(_))), "{outcome:?}");
    let error = records.last().unwrap()["error"].as_str().unwrap();
    assert!(
        error.contains("invalid arguments") && error.contains("u32") && !error.contains("horse"),
        "{error}"
    );
    // No rule excludes it, but a person who could not read it may have typed a password.
    let body = json!({"to": "ada", "body": 778_899});
    let (records, _) = written_by(all(), send_tool(), Policy::default(), "send", body);
    let error = records.last().unwrap()["error"].as_str().unwrap();
    assert!(error.contains("invalid arguments") && !error.contains("778899"), "{error}");
    let (records, _) = written(fails_tool(), excluding("fails", "key"), "fails", json!({"key": "TOPSECRET"}));
    assert_eq!(records.last().unwrap()["error"], "no such key: [left out]");
}
