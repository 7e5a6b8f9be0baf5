//! The order of approvers, and which answers lead to the next one.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test says no by panicking")]

use std::sync::mpsc::{Receiver, channel};

use askfirst::machine::Member;
use askfirst::{ApprovalDecision, ApprovalRequest};
use serde_json::Value;

use super::*;

/// An approver that keeps the questions that it gets.
#[derive(Default)]
struct Way {
    asked: Mutex<Vec<Reply>>,
    withdrawn: Mutex<Vec<QuestionId>>,
}

impl Approver for Way {
    fn ask(&self, _: Question, reply: Reply) {
        self.asked.lock().unwrap().push(reply);
    }

    fn withdraw(&self, question: QuestionId, _: Cause) {
        self.withdrawn.lock().unwrap().push(question);
    }
}

impl Way {
    fn answer(&self, answer: Answer) {
        self.asked.lock().unwrap().pop().unwrap().send(answer);
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

const ID: QuestionId = QuestionId(7);

fn asked(ways: &[&Arc<Way>]) -> (InTurn, Receiver<Answer>) {
    let turn = InTurn::new(ways.iter().map(|way| Arc::clone(way) as _).collect());
    let request = ApprovalRequest::new("tool", "what it does", Value::Null);
    let members = vec![Member::new(request)];
    let (send, answers) = channel();
    let reply = Reply::new(move |answer| send.send(answer).unwrap());
    turn.ask(Question { id: ID, members, position: 1, of: 1 }, reply);
    (turn, answers)
}

fn cause(answers: &Receiver<Answer>) -> Cause {
    let answer = answers.try_recv().unwrap();
    assert!(!answer.decisions[0].approved);
    answer.decisions[0].cause
}

#[test]
fn next_approver_is_asked_only_if_one_reaches_no_one() {
    let answers = [
        (Answer::all(ApprovalDecision::yes(Cause::Person)), false),
        (Answer::all(ApprovalDecision::no(Cause::Person)), false),
        (Answer::failed(Cause::EndOfInput, ""), false),
        (Answer::failed(Cause::ApproverFailed, ""), false),
        (Answer { decisions: Vec::new(), seen: None }, false),
        (Answer::failed(Cause::NoOneToAsk, ""), true),
        (Answer::failed(Cause::TerminalLost, ""), true),
    ];
    for (answer, leads_on) in answers {
        let (one, other) = (Arc::new(Way::default()), Arc::new(Way::default()));
        let (_turn, told) = asked(&[&one, &other]);
        assert_eq!(other.count(), 0);
        one.answer(answer.clone());
        assert_eq!(other.count(), usize::from(leads_on), "{answer:?}");
        assert_eq!(told.try_recv().is_ok(), !leads_on, "{answer:?}");
    }
}

#[test]
fn refusal_without_any_approver_names_each_reason() {
    let (one, other) = (Arc::new(Way::default()), Arc::new(Way::default()));
    let (_turn, told) = asked(&[&one, &other]);
    one.answer(Answer::failed(Cause::TerminalLost, "hung up"));
    other.answer(Answer::failed(Cause::NoOneToAsk, "nobody watches"));
    let answer = told.try_recv().unwrap();
    assert_eq!(answer, Answer::failed(Cause::TerminalLost, "hung up; nobody watches"));
    let (_turn, told) = asked(&[&one]);
    one.answer(Answer::failed(Cause::NoOneToAsk, ""));
    assert_eq!(cause(&told), Cause::NoOneToAsk);
    let (_turn, told) = asked(&[]);
    assert_eq!(cause(&told), Cause::NoOneToAsk);
}

#[test]
fn withdrawn_request_goes_to_no_other_approver() {
    let (one, other) = (Arc::new(Way::default()), Arc::new(Way::default()));
    let (turn, _told) = asked(&[&one, &other]);
    turn.withdraw(ID, Cause::TimeOut);
    assert_eq!(*one.withdrawn.lock().unwrap(), [ID]);
    one.answer(Answer::failed(Cause::TerminalLost, "hung up"));
    assert_eq!(other.count(), 0);
}

#[test]
fn approver_without_an_answer_refuses() {
    let (one, other) = (Arc::new(Way::default()), Arc::new(Way::default()));
    let (_turn, told) = asked(&[&one, &other]);
    drop(one.asked.lock().unwrap().pop());
    assert_eq!(cause(&told), Cause::ApproverFailed);
    assert_eq!(other.count(), 0);
}
