//! Tests of the table of modes, and of what memory answers in each mode.

use super::*;

/// Returns the result of a call that is decided without asking. `None` if the machine asks.
fn result_without_asking(mode: Mode, audience: Audience, approval: Approval) -> Option<(bool, Cause)> {
    let mut driver = Driver::new(mode, audience, None);
    let [ticket] = driver.submit([ask("t", json!({}), approval)]);
    assert_eq!(driver.showing.is_some(), driver.result(ticket).is_none());
    if let Some((approved, _)) = driver.result(ticket) {
        assert_eq!(driver.has_permit(ticket), approved);
    }
    driver.result(ticket)
}

// invariant: 2
#[test]
fn mode_table_holds_for_every_approval_value() {
    use Approval::{Deny, Human, OncePerSession, Required};
    use Audience::{Absent, There};
    let no_one = Some((false, Cause::NoOneToAsk));
    for approval in [OncePerSession, Required] {
        assert_eq!(result_without_asking(Mode::Interactive, There, approval), None);
        assert_eq!(result_without_asking(Mode::Interactive, Absent, approval), no_one);
        for audience in [There, Absent] {
            assert_eq!(
                result_without_asking(Mode::ApproveAll, audience, approval),
                Some((true, Cause::Mode))
            );
            assert_eq!(result_without_asking(Mode::Strict, audience, approval), Some((false, Cause::Mode)));
        }
    }
    assert_eq!(result_without_asking(Mode::Interactive, There, Human), None);
    assert_eq!(result_without_asking(Mode::ApproveAll, There, Human), None);
    assert_eq!(result_without_asking(Mode::Interactive, Absent, Human), no_one);
    assert_eq!(result_without_asking(Mode::ApproveAll, Absent, Human), no_one);
    assert_eq!(result_without_asking(Mode::Strict, There, Human), Some((false, Cause::Mode)));
    for mode in [Mode::Interactive, Mode::ApproveAll, Mode::Strict] {
        assert_eq!(result_without_asking(mode, There, Deny), Some((false, Cause::Policy)));
    }
}

#[test]
fn strict_mode_refusal_names_the_tool() {
    let mut driver = Driver::new(Mode::Strict, Audience::There, None);
    let [ticket] = driver.submit([plain(1)]);
    assert_eq!(driver.done[&ticket].decision.note.as_deref(), Some("`t` needs approval"));
}

#[test]
fn memory_answers_only_in_interactive_mode() {
    for (mode, expected) in [
        (Mode::Interactive, Some((true, Cause::Memory))),
        (Mode::ApproveAll, Some((true, Cause::Mode))),
        (Mode::Strict, Some((false, Cause::Mode))),
    ] {
        let mut driver = Driver::new(mode, Audience::There, None);
        driver.machine.memory().store("t", &json!({"n": 1}), for_session(yes()), Timestamp(0));
        let [equal] = driver.submit([plain(1)]);
        assert_eq!(driver.result(equal), expected, "{mode:?}");
    }
}

#[test]
fn remembered_decision_applies_without_an_approver() {
    let mut driver = Driver::new(Mode::Interactive, Audience::Absent, None);
    driver.machine.memory().store("t", &json!({"n": 1}), for_session(yes()), Timestamp(0));
    driver.machine.memory().store("t", &json!({"n": 2}), for_session(no()), Timestamp(0));
    let [kept, refused, unknown] = driver.submit([plain(1), plain(2), plain(3)]);
    assert_eq!(driver.result(kept), Some((true, Cause::Memory)));
    assert_eq!(driver.result(refused), Some((false, Cause::Memory)));
    assert_eq!(driver.result(unknown), Some((false, Cause::NoOneToAsk)));
}

#[test]
fn human_request_ignores_memory_and_approve_all() {
    for mode in [Mode::Interactive, Mode::ApproveAll] {
        let mut driver = Driver::new(mode, Audience::There, None);
        driver.machine.memory().store("t", &json!({"n": 1}), for_session(yes()), Timestamp(0));
        let [first] = driver.submit([human(1)]);
        driver.answer(vec![for_session(yes())]);
        assert_eq!(driver.result(first), Some((true, Cause::Person)));
        assert_eq!(driver.done[&first].decision.remember, ApprovalScope::None);
        let [second] = driver.submit([human(1)]);
        assert_eq!(driver.result(second), None);
    }
}

#[test]
fn approval_of_a_human_request_is_never_remembered() {
    let mut driver = Driver::interactive();
    driver.submit([offering(human(1))]);
    driver.answer(vec![for_pattern(yes(), 0)]);
    let [later] = driver.submit([plain(1)]);
    assert_eq!(driver.result(later), None);
}

#[test]
fn denied_call_is_never_asked_about() {
    let mut driver = Driver::interactive();
    driver.machine.memory().store("t", &json!({"n": 1}), for_session(yes()), Timestamp(0));
    let [ticket] = driver.submit([ask("t", json!({"n": 1}), Approval::Deny)]);
    assert_eq!(driver.result(ticket), Some((false, Cause::Policy)));
}
