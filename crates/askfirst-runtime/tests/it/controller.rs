//! The controller: modes, memory, one question at a time, time-outs, cancellation.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use askfirst::{Approval, ApprovalDecision, ApprovalRequest, Cause, Mode};
use askfirst_runtime::ApprovalController;
use askfirst_runtime::block_on;
use serde_json::json;

use crate::fixture::{Desk, Hands, for_session, no, yes};

fn request(tool: &str, n: u64) -> ApprovalRequest {
    ApprovalRequest::new(tool, "", json!({"n": n}))
}

fn human(n: u64) -> ApprovalRequest {
    ApprovalRequest { approval: Approval::Human, ..request("t", n) }
}

#[test]
fn modes_answer_as_documented() {
    let (approve, strict) = (ApprovalController::approve_all(), ApprovalController::strict());
    assert_eq!(approve.request_approval_sync(request("t", 1)).cause, Cause::Mode);
    assert!(approve.request_approval_sync(request("t", 1)).approved);
    let refused = approve.request_approval_sync(human(1));
    assert!(!refused.approved && refused.cause == Cause::NoOneToAsk);
    let refused = strict.request_approval_sync(request("send", 1));
    assert!(!refused.approved && refused.cause == Cause::Mode);
    assert!(refused.note.unwrap().contains("`send`"));
    let asked = ApprovalController::setup(Mode::ApproveAll).callback(|_| yes()).build();
    assert_eq!(asked.request_approval_sync(human(1)).cause, Cause::Person);
    let strict = ApprovalController::setup(Mode::Strict).callback(|_| yes()).build();
    assert!(!strict.request_approval_sync(request("t", 1)).approved, "a callback cannot soften strict");
}

#[test]
fn request_without_an_approver_is_refused() {
    let alone = ApprovalController::setup(Mode::Interactive).build();
    assert_eq!(alone.request_approval_sync(request("t", 1)).cause, Cause::NoOneToAsk);
}

#[test]
fn session_approval_can_be_listed_revoked_and_cleared() {
    let controller = ApprovalController::interactive(|_| for_session());
    assert!(!controller.is_session_approved(&request("t", 1)));
    assert_eq!(controller.request_approval_sync(request("t", 1)).cause, Cause::Person);
    assert_eq!(controller.request_approval_sync(request("t", 1)).cause, Cause::Memory);
    assert_eq!(controller.request_approval_sync(request("t", 2)).cause, Cause::Person);
    let list = controller.remembered();
    assert_eq!((list.len(), list[0].hits), (2, 1));
    assert!(controller.revoke(list[0].id) && !controller.revoke(list[0].id));
    assert!(!controller.is_session_approved(&request("t", 1)));
    controller.add_session_approval(&request("t", 1));
    assert!(controller.is_session_approved(&request("t", 1)));
    controller.clear_session_approvals();
    assert!(controller.remembered().is_empty());
}

#[test]
fn panicking_or_lying_callback_approves_nothing() {
    let panics = ApprovalController::interactive(|_| panic!("on purpose"));
    assert_eq!(panics.request_approval_sync(request("t", 1)).cause, Cause::ApproverFailed);
    let claims = ApprovalController::interactive(|_| ApprovalDecision::yes(Cause::Policy));
    let answer = claims.request_approval_sync(request("t", 1));
    assert!(!answer.approved && answer.cause == Cause::ApproverFailed);
}

#[test]
fn callback_follows_mode_and_memory() {
    let controller = ApprovalController::interactive(|_| for_session());
    let callback = controller.approval_callback();
    assert_eq!(callback(request("t", 1)).cause, Cause::Person);
    assert_eq!(callback.clone()(request("t", 1)).cause, Cause::Memory);
}

#[test]
fn callback_that_never_returns_times_out() {
    let controller = ApprovalController::setup(Mode::Interactive)
        .callback(|_| {
            loop {
                std::thread::park();
            }
        })
        .time_out(Some(Duration::from_millis(50)))
        .build();
    assert_eq!(controller.request_approval_sync(request("t", 1)).cause, Cause::TimeOut);
}

#[test]
fn requests_are_asked_in_turn_and_equal_ones_share_an_answer() {
    let desk = Desk::default();
    let controller = ApprovalController::setup(Mode::Interactive).approver(Arc::new(desk.clone())).build();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    // The first is on screen, so the others wait behind it.
    let mut waiting: Vec<_> =
        [0, 1, 1, 2, 1].into_iter().map(|n| Box::pin(controller.request_approval(request("t", n)))).collect();
    for wait in &mut waiting {
        assert!(wait.as_mut().poll(&mut context).is_pending());
    }
    for (n, calls) in [(0, 1), (1, 3), (2, 1)] {
        let question = desk.answer(yes());
        assert_eq!(question.members.len(), 1);
        assert_eq!(
            (&question.members[0].request.payload, question.members[0].calls),
            (&json!({"n": n}), calls)
        );
    }
    assert!(waiting.into_iter().all(|wait| block_on(wait).approved));
    assert!(desk.is_empty());
    assert_eq!(desk.most_at_once(), 1);
}

#[test]
fn dropped_wait_withdraws_its_request() {
    let desk = Desk::default();
    let controller = ApprovalController::setup(Mode::Interactive).approver(Arc::new(desk.clone())).build();
    let other = controller.clone();
    let mut first = Box::pin(async move { other.request_approval(request("t", 1)).await });
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    let (question, late) = desk.next();
    drop(first);
    assert_eq!(desk.withdrawn(), [(question.id, Cause::Cancelled)]);
    late.send(askfirst::machine::Answer::all(yes()));
    let second = std::thread::spawn({
        let controller = controller.clone();
        move || controller.request_approval_sync(request("t", 2))
    });
    desk.answer(no());
    assert!(!second.join().unwrap().approved, "the late yes was for nobody");
}

#[test]
fn answer_restarts_the_time_of_waiting_requests() {
    let (desk, hands) = (Desk::default(), Arc::new(Hands::default()));
    let controller = ApprovalController::setup(Mode::Interactive)
        .approver(Arc::new(desk.clone()))
        .time_out(Some(Duration::from_secs(60)))
        .clock(Arc::clone(&hands) as _)
        .build();
    let ask = |n| {
        let controller = controller.clone();
        std::thread::spawn(move || controller.request_approval_sync(request("t", n)))
    };
    let first = ask(1);
    let (question, reply) = desk.next();
    assert_eq!(question.members[0].request.deadline.unwrap().0, 60_000);
    let second = ask(2);
    std::thread::sleep(Duration::from_millis(50));
    hands.0.store(59_000, Ordering::SeqCst);
    reply.send(askfirst::machine::Answer::all(yes()));
    assert!(first.join().unwrap().approved);
    let (question, reply) = desk.next();
    assert_eq!(question.members[0].request.deadline.unwrap().0, 119_000);
    hands.0.store(120_000, Ordering::SeqCst);
    reply.send(askfirst::machine::Answer::all(yes()));
    assert_eq!(second.join().unwrap().cause, Cause::TimeOut, "an answer past the deadline is none");
}

#[test]
fn stop_refuses_waiting_and_later_requests() {
    let desk = Desk::default();
    let controller = ApprovalController::setup(Mode::Interactive).approver(Arc::new(desk.clone())).build();
    let waiting = std::thread::spawn({
        let controller = controller.clone();
        move || controller.request_approval_sync(request("t", 1))
    });
    let (question, _reply) = desk.next();
    controller.stop();
    assert_eq!(waiting.join().unwrap().cause, Cause::Cancelled);
    assert_eq!(desk.withdrawn(), [(question.id, Cause::Cancelled)]);
    assert_eq!(block_on(controller.request_approval(request("t", 2))).cause, Cause::Cancelled);
}
