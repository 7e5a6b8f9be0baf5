//! The table of modes, and what memory may answer in them.

use super::*;

/// What becomes of a call that nobody has answered yet: decided at once, or asked about.
fn at_once(mode: Mode, somebody: Somebody, approval: Approval) -> Option<(bool, Cause)> {
    let mut desk = Desk::new(mode, somebody, None);
    let [ticket] = desk.submit([ask("t", json!({}), approval)]);
    assert_eq!(desk.showing.is_some(), desk.what(ticket).is_none());
    if let Some((approved, _)) = desk.what(ticket) {
        assert_eq!(desk.has_permit(ticket), approved);
    }
    desk.what(ticket)
}

#[test]
fn mode_table_holds_for_every_approval_value() {
    use Approval::{Deny, Human, OncePerSession, Required};
    use Somebody::{Absent, There};
    let nobody = Some((false, Cause::NobodyToAsk));
    for approval in [OncePerSession, Required] {
        assert_eq!(at_once(Mode::Interactive, There, approval), None);
        assert_eq!(at_once(Mode::Interactive, Absent, approval), nobody);
        for somebody in [There, Absent] {
            assert_eq!(at_once(Mode::ApproveAll, somebody, approval), Some((true, Cause::Mode)));
            assert_eq!(at_once(Mode::Strict, somebody, approval), Some((false, Cause::Mode)));
        }
    }
    assert_eq!(at_once(Mode::Interactive, There, Human), None);
    assert_eq!(at_once(Mode::ApproveAll, There, Human), None);
    assert_eq!(at_once(Mode::Interactive, Absent, Human), nobody);
    assert_eq!(at_once(Mode::ApproveAll, Absent, Human), nobody);
    assert_eq!(at_once(Mode::Strict, There, Human), Some((false, Cause::Mode)));
    for mode in [Mode::Interactive, Mode::ApproveAll, Mode::Strict] {
        assert_eq!(at_once(mode, There, Deny), Some((false, Cause::Policy)));
    }
}

#[test]
fn strict_mode_refusal_names_the_tool() {
    let mut desk = Desk::new(Mode::Strict, Somebody::There, None);
    let [ticket] = desk.submit([plain(1)]);
    assert_eq!(desk.done[&ticket].decision.note.as_deref(), Some("`t` needs approval"));
}

#[test]
fn memory_answers_only_in_interactive_mode() {
    for (mode, expected) in [
        (Mode::Interactive, Some((true, Cause::Memory))),
        (Mode::ApproveAll, Some((true, Cause::Mode))),
        (Mode::Strict, Some((false, Cause::Mode))),
    ] {
        let mut desk = Desk::new(mode, Somebody::There, None);
        desk.machine.memory().store("t", &json!({"n": 1}), for_session(yes()), Timestamp(0));
        let [equal] = desk.submit([plain(1)]);
        assert_eq!(desk.what(equal), expected, "{mode:?}");
    }
}

#[test]
fn remembered_decision_applies_without_an_approver() {
    let mut desk = Desk::new(Mode::Interactive, Somebody::Absent, None);
    desk.machine.memory().store("t", &json!({"n": 1}), for_session(yes()), Timestamp(0));
    desk.machine.memory().store("t", &json!({"n": 2}), for_session(no()), Timestamp(0));
    let [kept, refused, unknown] = desk.submit([plain(1), plain(2), plain(3)]);
    assert_eq!(desk.what(kept), Some((true, Cause::Memory)));
    assert_eq!(desk.what(refused), Some((false, Cause::Memory)));
    assert_eq!(desk.what(unknown), Some((false, Cause::NobodyToAsk)));
}

#[test]
fn human_request_ignores_memory_and_approve_all() {
    for mode in [Mode::Interactive, Mode::ApproveAll] {
        let mut desk = Desk::new(mode, Somebody::There, None);
        desk.machine.memory().store("t", &json!({"n": 1}), for_session(yes()), Timestamp(0));
        let [first] = desk.submit([human(1)]);
        desk.answer(vec![for_session(yes())]);
        assert_eq!(desk.what(first), Some((true, Cause::Person)));
        assert_eq!(desk.done[&first].decision.remember, ApprovalScope::None);
        let [second] = desk.submit([human(1)]);
        assert_eq!(desk.what(second), None);
    }
}

#[test]
fn approval_of_a_human_request_is_never_remembered() {
    let mut desk = Desk::interactive();
    desk.submit([offering(human(1))]);
    desk.answer(vec![for_pattern(yes(), 0)]);
    let [later] = desk.submit([plain(1)]);
    assert_eq!(desk.what(later), None);
}

#[test]
fn denied_call_is_never_asked_about() {
    let mut desk = Desk::interactive();
    desk.machine.memory().store("t", &json!({"n": 1}), for_session(yes()), Timestamp(0));
    let [ticket] = desk.submit([ask("t", json!({"n": 1}), Approval::Deny)]);
    assert_eq!(desk.what(ticket), Some((false, Cause::Policy)));
}
