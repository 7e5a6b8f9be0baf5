//! A toolset that counts its runs, a recorder that keeps entries or fails, and approvers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use askfirst::machine::{Answer, Question, QuestionId};
use askfirst::ports::{Approver, Clock, Durability, RecordFailed, Recorder, Reply};
use askfirst::record::Record;
use askfirst::{
    Approval, ApprovalContext, ApprovalDecision, ApprovalScope, ApprovalSpec, Args, Because, Case, Cause,
    FunctionTool, FunctionToolset, Outcome, Policy, Rules, Timestamp, ToolDefinition, ToolEntry, ToolError,
};
use serde_json::{Value, json};

/// Counts the runs of tools, and keeps their arguments.
#[derive(Clone, Default)]
pub(crate) struct Ran(pub(crate) Arc<Mutex<Vec<Value>>>);

impl Ran {
    pub(crate) fn times(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    pub(crate) fn tool(&self, name: &str) -> FunctionTool {
        let ran = self.clone();
        let definition = ToolDefinition::new(name, "Does something.", json!({"type": "object"}));
        FunctionTool::dynamic(definition, move |invocation| {
            ran.0.lock().unwrap().push(Value::Object(invocation.call.args.clone()));
            Box::pin(std::future::ready(Ok(json!("ran"))))
        })
    }

    /// `plain` has no opinion, `marked` requires approval, `broken` panics, `failing` fails.
    pub(crate) fn toolset(&self) -> FunctionToolset {
        let bad = |name: &str, f: fn() -> Result<Value, ToolError>| {
            let definition = ToolDefinition::new(name, "", json!({}));
            FunctionTool::dynamic(definition, move |_| Box::pin(async move { f() }))
        };
        FunctionToolset::new()
            .with(self.tool("plain"))
            .with(self.tool("marked").requires_approval(ApprovalSpec::default()))
            .with(bad("broken", || panic!("on purpose")))
            .with(bad("failing", || Err(ToolError::Failed("on purpose".to_owned()))))
    }
}

/// Keeps all records. With `failing_from`, it fails from the `n`th on.
#[derive(Default)]
pub(crate) struct Records {
    pub(crate) all: Mutex<Vec<(Record, Durability)>>,
    pub(crate) fail_from: Option<usize>,
    count: AtomicUsize,
}

impl Records {
    pub(crate) fn failing_from(n: impl Into<Option<usize>>) -> Self {
        Self { fail_from: n.into(), ..Self::default() }
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        let all = self.all.lock().unwrap();
        all.iter()
            .map(|(record, _)| serde_json::to_value(record).unwrap()["kind"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn json(&self) -> Vec<Value> {
        self.all.lock().unwrap().iter().map(|(record, _)| serde_json::to_value(record).unwrap()).collect()
    }
}

impl Recorder for Records {
    fn record(&self, record: &Record, durability: Durability) -> Result<(), RecordFailed> {
        let n = self.count.fetch_add(1, Ordering::SeqCst);
        if self.fail_from.is_some_and(|from| n >= from) {
            return Err(RecordFailed("no space left on device".to_owned()));
        }
        self.all.lock().unwrap().push((record.clone(), durability));
        Ok(())
    }
}

/// A clock that the test moves.
#[derive(Default)]
pub(crate) struct Hands(pub(crate) std::sync::atomic::AtomicU64);

impl Clock for Hands {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

/// Holds questions until the test answers them.
#[derive(Clone, Default)]
pub(crate) struct Desk(Arc<Mutex<DeskState>>);

#[derive(Default)]
struct DeskState {
    open: Vec<(Question, Reply)>,
    withdrawn: Vec<(QuestionId, Cause)>,
    most_at_once: usize,
}

impl Desk {
    /// Waits for the next question.
    pub(crate) fn next(&self) -> (Question, Reply) {
        for _ in 0..5000 {
            if let Some(found) = self.0.lock().unwrap().open.pop() {
                return found;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        panic!("no question came");
    }

    pub(crate) fn answer(&self, decision: ApprovalDecision) -> Question {
        let (question, reply) = self.next();
        reply.send(Answer::all(decision));
        question
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().unwrap().open.is_empty()
    }

    pub(crate) fn withdrawn(&self) -> Vec<(QuestionId, Cause)> {
        self.0.lock().unwrap().withdrawn.clone()
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.0.lock().unwrap().most_at_once
    }
}

impl Approver for Desk {
    fn ask(&self, question: Question, reply: Reply) {
        let mut state = self.0.lock().unwrap();
        state.open.push((question, reply));
        state.most_at_once = state.most_at_once.max(state.open.len());
    }

    fn withdraw(&self, question: QuestionId, cause: Cause) {
        let gone: Vec<_> = {
            let mut state = self.0.lock().unwrap();
            state.withdrawn.push((question, cause));
            state.open.extract_if(.., |(open, _)| open.id == question).collect()
        };
        drop(gone);
    }
}

pub(crate) fn yes() -> ApprovalDecision {
    ApprovalDecision::yes(Cause::Person)
}

pub(crate) fn no() -> ApprovalDecision {
    ApprovalDecision::no(Cause::Person)
}

pub(crate) fn for_session() -> ApprovalDecision {
    yes().remembered(ApprovalScope::Session)
}

pub(crate) fn args(value: Value) -> Args {
    value.as_object().unwrap().clone()
}

pub(crate) fn call(tool: &str, value: Value) -> ApprovalContext {
    ApprovalContext::new(tool, args(value))
}

/// Creates a policy from tool names and approval values.
pub(crate) fn policy(entries: &[(&str, Approval)]) -> Policy {
    let entry = |(name, approval): &(&str, Approval)| {
        let origin = Because::built_in(&format!("tools.{name}"), approval.as_str());
        ToolEntry::new(*name, vec![Case::new(Some(*approval), origin)])
    };
    Policy::new(Rules::new(None, entries.iter().map(entry)).unwrap())
}

pub(crate) fn cause_of(outcome: &Outcome) -> Option<Cause> {
    match outcome {
        Outcome::Denied(refusal) => Some(refusal.cause),
        Outcome::Done(_) | Outcome::Failed(_) => None,
    }
}
