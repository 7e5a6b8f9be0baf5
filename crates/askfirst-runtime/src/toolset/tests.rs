//! Calls that are submitted together, and then driven or dropped one by one.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use askfirst::machine::{Answer, Question, QuestionId};
use askfirst::ports::{Approver, Reply};
use askfirst::toolset::BoxFuture;
use askfirst::{
    ApprovalContext, ApprovalDecision, Cause, FunctionTool, FunctionToolset, Invocation, Mode, Outcome,
    Policy, ToolDefinition, ToolError, Toolset,
};
use serde_json::{Value, json};

use super::ApprovalToolset;
use crate::assess::Unknown;
use crate::blocking::block_on;
use crate::controller::ApprovalController;

/// An approver that keeps questions until the test answers them.
#[derive(Default)]
struct Keeping {
    open: Mutex<Vec<(Question, Reply)>>,
    withdrawn: Mutex<Vec<QuestionId>>,
}

impl Approver for Keeping {
    fn ask(&self, question: Question, reply: Reply) {
        self.open.lock().unwrap().push((question, reply));
    }

    fn withdraw(&self, question: QuestionId, _: Cause) {
        self.withdrawn.lock().unwrap().push(question);
    }
}

impl Keeping {
    fn answer_next(&self) -> Question {
        loop {
            let next = self.open.lock().unwrap().pop();
            if let Some((question, reply)) = next {
                reply.send(Answer::all(ApprovalDecision::yes(Cause::Person)));
                return question;
            }
            std::thread::yield_now();
        }
    }
}

fn tools(approver: &Arc<Keeping>) -> ApprovalToolset {
    let tool = |name: &str| {
        FunctionTool::dynamic(ToolDefinition::new(name, "", json!({})), |invocation| {
            Box::pin(std::future::ready(Ok(json!(invocation.args()))))
        })
    };
    let controller = ApprovalController::setup(Mode::Interactive).approver(Arc::clone(approver) as _).build();
    ApprovalToolset::new(
        FunctionToolset::new().with(tool("a")).with(tool("b")),
        controller,
        Policy::default(),
    )
}

fn call(name: &str, n: i32) -> ApprovalContext {
    let args = json!({ "n": n }).as_object().unwrap().clone();
    ApprovalContext::new(name, args)
}

#[test]
fn each_call_goes_its_own_way() {
    let approver = Arc::new(Keeping::default());
    let mut calls = tools(&approver).submit([call("a", 1), call("b", 2)]);
    let second = calls.pop().unwrap();
    let mut first = calls.pop().unwrap();
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert_eq!(approver.answer_next().members[0].request.tool_name, "a");
    assert_eq!(approver.answer_next().members[0].request.tool_name, "b");
    // The second call can finish before the first.
    assert_eq!(block_on(second), Outcome::Done(json!({"n": 2})));
    assert_eq!(block_on(first), Outcome::Done(json!({"n": 1})));
}

#[test]
fn dropped_call_withdraws_only_its_own_question() {
    let approver = Arc::new(Keeping::default());
    let mut calls = tools(&approver).submit([call("a", 1), call("b", 2)]);
    let second = calls.pop().unwrap();
    while approver.open.lock().unwrap().is_empty() {
        std::thread::yield_now();
    }
    let asked = approver.open.lock().unwrap()[0].0.id;
    drop(calls);
    assert_eq!(*approver.withdrawn.lock().unwrap(), [asked]);
    approver.open.lock().unwrap().retain(|(question, _)| question.id != asked);
    assert_eq!(approver.answer_next().members[0].request.tool_name, "b");
    assert_eq!(block_on(second), Outcome::Done(json!({"n": 2})));
}

#[test]
fn submitted_call_is_asked_about_before_the_first_poll() {
    let approver = Arc::new(Keeping::default());
    let mut calls = tools(&approver).submit([call("a", 1)]);
    assert_eq!(approver.answer_next().members[0].request.tool_name, "a");
    let mut only = calls.pop().unwrap();
    match only.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => assert_eq!(outcome, Outcome::Done(json!({"n": 1}))),
        Poll::Pending => panic!("it was answered"),
    }
}

#[test]
fn undefined_tool_is_blocked_unless_unknown_names_are_allowed() {
    let approver = Arc::new(Keeping::default());
    let refused = block_on(tools(&approver).call(call("other", 1)));
    assert!(matches!(refused, Outcome::Denied(refusal) if refusal.cause == Cause::Policy));
    assert!(approver.open.lock().unwrap().is_empty());
    let silent = tools(&approver).unknown(Unknown::Silent);
    let mut calls = silent.submit([call("other", 1)]);
    assert_eq!(approver.answer_next().members[0].request.tool_name, "other");
    drop(calls.pop());
}

#[test]
fn toolsets_of_one_controller_share_one_question_per_group() {
    let approver = Arc::new(Keeping::default());
    let (first, elsewhere) = (tools(&approver), tools(&approver));
    let second =
        ApprovalToolset::new(Runs, first.controller().clone(), Policy::default()).unknown(Unknown::Silent);
    let of_group = |name: &str, n: i32| call(name, n).with_metadata("batch_id", "g");
    let calls = [
        (&first, of_group("a", 1)),
        (&second, of_group("b", 2)),
        (&elsewhere, of_group("b", 3)),
        (&first, of_group("a", 4)),
    ];
    let calls = ApprovalToolset::submit_together(calls);
    let mut asked = [approver.answer_next(), approver.answer_next()].map(|question| {
        question.members.iter().map(|member| member.request.args["n"].clone()).collect::<Vec<_>>()
    });
    asked.sort_by_key(Vec::len);
    assert_eq!(asked, [vec![json!(3)], vec![json!(1), json!(2), json!(4)]]);
    let outcomes: Vec<Outcome> = calls.into_iter().map(block_on).collect();
    let done = |n: i32| Outcome::Done(json!({ "n": n }));
    assert_eq!(outcomes, [done(1), Outcome::Done(json!("second")), done(3), done(4)]);
}

/// A toolset that runs any call.
struct Runs;

impl Toolset for Runs {
    fn tools(&self) -> Vec<ToolDefinition> {
        Vec::new()
    }

    fn call(&self, _: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(std::future::ready(Ok(json!("second"))))
    }
}
