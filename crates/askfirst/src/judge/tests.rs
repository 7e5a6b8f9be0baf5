//! Tests of the judge: the precedence of the design, and hostile calls that try to get around it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Judgement, judge};
use crate::assess::Assessment;
use crate::call::ApprovalContext;
use crate::policy::{Case, Policy, Rules, SandboxStatus, ToolEntry};
use crate::request::{ApprovalRequest, Template};
use crate::verdict::{Because, Verdict};
use crate::when::{Condition, Glob, Test};
use crate::words::{Approval, Risk};

mod tests_hostile;
mod tests_precedence;
mod tests_requests;
mod tests_stricter;

/// Creates a case that is defined in a file at `line`.
fn case(approval: impl Into<Option<Approval>>, line: u32) -> Case {
    let origin = Because {
        rule: format!("tools@{line}").into(),
        file: Some("a.yaml".into()),
        line: Some(line),
        text: "x".into(),
    };
    Case::new(approval.into(), origin)
}

fn when(mut case: Case, field: &str, tests: impl IntoIterator<Item = Test>) -> Case {
    case.when.push(Condition { field: field.to_owned(), any_of: tests.into_iter().collect() });
    case
}

fn equals(value: impl Into<Value>) -> Test {
    Test::Exact(value.into())
}

fn matches(glob: &str) -> Test {
    Test::Glob(Glob::new(glob).unwrap())
}

fn described(mut case: Case, text: &str) -> Case {
    case.description = Some(Template::new(text));
    case
}

fn excluding(mut case: Case, key: &str) -> Case {
    case.exclude_keys.push(key.to_owned());
    case
}

fn risky(mut case: Case, risk: Risk) -> Case {
    case.risk = Some(risk);
    case
}

fn rules(default: impl Into<Option<Approval>>, entries: Vec<(&str, Vec<Case>)>) -> Rules {
    let default = default.into().map(|approval| {
        let text = Arc::from(approval.as_str());
        let origin =
            Because { rule: "default_approval".into(), file: Some("a.yaml".into()), line: Some(1), text };
        (approval, Some(origin))
    });
    Rules::new(default, entries.into_iter().map(|(name, cases)| ToolEntry::new(name, cases))).unwrap()
}

/// Creates a policy of one layer, with a working sandbox.
fn policy(default: impl Into<Option<Approval>>, entries: Vec<(&str, Vec<Case>)>) -> Policy {
    Policy::new(rules(default, entries)).with_sandbox(SandboxStatus::Settled)
}

fn call(name: &str, args: Value) -> ApprovalContext {
    ApprovalContext::new(name, args.as_object().unwrap().clone())
}

fn asks(approval: Approval) -> Assessment {
    let request = ApprovalRequest {
        approval,
        ..ApprovalRequest::new("t", "the tool's description", json!({"own": 1}))
    };
    Assessment::needs_approval(request)
}

fn firm(mut assessment: Assessment) -> Assessment {
    assessment.firm = true;
    assessment
}

fn starts_process(mut assessment: Assessment) -> Assessment {
    assessment.starts_process = true;
    assessment
}

fn approval_of(call: &ApprovalContext, assessment: &Assessment, policy: &Policy) -> Approval {
    judge(call, assessment, policy).approval()
}

/// Returns the deciding rule and its line.
fn decider(judgement: &Judgement<'_>) -> (String, Option<u32>) {
    let because = judgement.because();
    let first = because.first().expect("a verdict without a reason");
    assert_eq!(first.file.is_some(), first.line.is_some());
    (first.rule.to_string(), first.line)
}

fn verdict_of(name: &str, args: Value, policy: &Policy) -> Verdict {
    judge(&call(name, args), &Assessment::silent(), policy).verdict()
}
