//! How far an approver's word is taken.

use super::*;

#[test]
fn approval_gives_a_permit_for_exactly_the_shown_call() {
    let mut desk = Desk::interactive();
    let submitted = plain(1);
    let call = submitted.call.clone();
    let [ticket] = desk.submit([submitted]);
    let shown = Shown { basis: Some(json!("sha256 of the file")), ..Shown::default() };
    let question = desk.present_with(&shown);
    assert_eq!(question.members[0].request.args, call.args);
    desk.showing = None;
    let seen = Some(Seen { lines: 3, of: 9 });
    desk.machine.answer(question.id, Answer { decisions: vec![yes()], seen }, desk.now);
    desk.carry_out();
    let resolution = desk.done.remove(&ticket).unwrap();
    assert!(resolution.shown.is_some() && resolution.seen == seen);
    assert_eq!(spend(resolution.permit.unwrap()), ((*call).clone(), Some(json!("sha256 of the file"))));
}

#[test]
fn denial_gives_no_permit_and_keeps_its_note() {
    let mut desk = Desk::interactive();
    let [ticket] = desk.submit([plain(1)]);
    desk.answer(vec![no().with_note("use the other table")]);
    assert_eq!((desk.what(ticket), desk.has_permit(ticket)), (Some((false, Cause::Person)), false));
    assert_eq!(desk.done[&ticket].decision.note.as_deref(), Some("use the other table"));
    let [again] = desk.submit([plain(1)]);
    assert_eq!(desk.what(again), None, "a no for once is for once");
}

#[test]
fn only_a_person_can_approve() {
    let causes = [
        Cause::Policy,
        Cause::Mode,
        Cause::Memory,
        Cause::TimeOut,
        Cause::NobodyToAsk,
        Cause::EndOfInput,
        Cause::TerminalLost,
        Cause::ApproverFailed,
        Cause::Cancelled,
        Cause::RecordFailed,
        Cause::NoWalls,
    ];
    for cause in causes {
        let mut desk = Desk::interactive();
        let [ticket] = desk.submit([plain(1)]);
        desk.answer(vec![for_session(ApprovalDecision::yes(cause))]);
        assert_eq!(desk.what(ticket), Some((false, Cause::ApproverFailed)), "{cause}");
        let [again] = desk.submit([plain(1)]);
        assert_eq!(desk.what(again), None, "{cause}");
        // A no keeps its own cause, and only a person's is remembered.
        desk.answer(vec![for_session(ApprovalDecision::no(cause))]);
        assert_eq!(desk.what(again), Some((false, cause)));
        let [third] = desk.submit([plain(1)]);
        assert_eq!(desk.what(third), None, "{cause}");
    }
}

#[test]
fn approval_before_presentation_is_rejected() {
    let mut desk = Desk::interactive();
    let [ticket] = desk.submit([plain(1)]);
    let id = desk.showing.take().unwrap();
    desk.machine.answer(id, Answer::all(yes()), desk.now);
    desk.carry_out();
    assert_eq!(desk.what(ticket), Some((false, Cause::ApproverFailed)));
}

#[test]
fn answer_to_another_question_changes_nothing() {
    let mut desk = Desk::interactive();
    let [first, second] = desk.submit([plain(1), plain(2)]);
    let old = desk.answer(vec![yes()]).id;
    let now = desk.present().id;
    for id in [old, QuestionId(now.0 + 1), QuestionId(0), QuestionId(u64::MAX)] {
        desk.machine.answer(id, Answer::all(for_session(yes())), desk.now);
        desk.carry_out();
        assert_eq!((desk.what(first), desk.what(second)), (Some((true, Cause::Person)), None));
        assert_eq!(desk.showing, Some(now));
    }
}

#[test]
fn answer_of_wrong_length_refuses_all_members() {
    for count in [0, 2, 4] {
        let mut desk = Desk::interactive();
        let tickets = desk.submit([1, 2, 3].map(|n| grouped(plain(n), "g")));
        desk.answer(vec![for_session(yes()); count]);
        for ticket in tickets {
            assert_eq!(desk.what(ticket), Some((false, Cause::ApproverFailed)), "{count}");
        }
        assert!(desk.machine.memory().list(desk.now).is_empty());
    }
}

#[test]
fn once_per_session_approval_always_lasts_for_the_session() {
    let mut desk = Desk::interactive();
    let once = || ask("t", json!({"n": 1}), Approval::OncePerSession);
    let [refused] = desk.submit([once()]);
    desk.answer(vec![no()]);
    assert_eq!(desk.what(refused), Some((false, Cause::Person)));
    desk.submit([once()]);
    desk.answer(vec![yes()]);
    let [later] = desk.submit([once()]);
    assert_eq!(desk.what(later), Some((true, Cause::Memory)));
}

#[test]
fn pattern_not_offered_is_rejected() {
    let mut desk = Desk::interactive();
    for at in [Some(1), Some(usize::MAX), None] {
        let [ticket] = desk.submit([offering(plain(1))]);
        desk.answer(vec![ApprovalDecision { pattern: at, ..yes().remembered(ApprovalScope::Pattern) }]);
        assert_eq!(desk.what(ticket), Some((false, Cause::ApproverFailed)), "{at:?}");
    }
    desk.submit([offering(plain(1))]);
    desk.answer(vec![for_pattern(yes(), 0)]);
    let [covered, other] =
        desk.submit([plain(7), ask("t", json!({"n": 1, "force": true}), Approval::Required)]);
    assert_eq!((desk.what(covered), desk.what(other)), (Some((true, Cause::Memory)), None));
}

#[test]
fn pattern_that_misses_its_own_request_is_rejected() {
    let mut desk = Desk::interactive();
    let mut stray = offering(plain(1));
    stray.request.payload = json!({"n": 1, "m": 2});
    let [ticket] = desk.submit([stray]);
    desk.answer(vec![for_pattern(yes(), 0)]);
    assert_eq!(desk.what(ticket), Some((false, Cause::ApproverFailed)));
}

#[test]
fn edited_arguments_run_nothing_and_are_not_remembered() {
    let mut desk = Desk::interactive();
    let [ticket] = desk.submit([plain(1)]);
    let args = json!({"n": 2}).as_object().cloned();
    desk.answer(vec![ApprovalDecision { edited_args: args.clone(), ..for_session(yes()) }]);
    assert_eq!((desk.what(ticket), desk.has_permit(ticket)), (Some((true, Cause::Person)), false));
    assert_eq!(desk.done[&ticket].decision.edited_args, args);
    let [same, edited] = desk.submit([plain(1), plain(2)]);
    assert_eq!((desk.what(same), desk.what(edited)), (None, None));
}

#[test]
fn one_edit_cannot_answer_several_requests() {
    let mut desk = Desk::interactive();
    let tickets = desk.submit([1, 2].map(|n| grouped(plain(n), "g")));
    desk.answer(vec![ApprovalDecision { edited_args: Some(crate::json::Args::new()), ..yes() }]);
    for ticket in tickets {
        assert_eq!(desk.what(ticket), Some((false, Cause::ApproverFailed)));
    }
}

#[test]
fn stop_refuses_waiting_and_later_calls() {
    let mut desk = Desk::interactive();
    desk.machine.memory().store("t", &json!({"n": 9}), for_session(yes()), Timestamp(0));
    let [answered, waiting] = desk.submit([plain(1), plain(2)]);
    desk.answer(vec![ApprovalDecision { stop: true, ..no() }]);
    assert_eq!(desk.what(answered), Some((false, Cause::Person)));
    assert_eq!(desk.what(waiting), Some((false, Cause::Cancelled)));
    let later = desk.submit([plain(1), plain(9), human(3)]);
    for ticket in later {
        assert_eq!(desk.what(ticket), Some((false, Cause::Cancelled)));
    }
    assert!(desk.machine.is_stopped() && desk.machine.wake_at().is_none());
}

#[test]
fn approval_with_stop_is_rejected() {
    let mut desk = Desk::interactive();
    let [ticket] = desk.submit([plain(1)]);
    desk.answer(vec![ApprovalDecision { stop: true, ..for_session(yes()) }]);
    assert_eq!(desk.what(ticket), Some((false, Cause::ApproverFailed)));
    assert!(desk.machine.is_stopped());
}

#[test]
fn stop_counts_even_in_an_invalid_answer() {
    let mut desk = Desk::interactive();
    desk.submit([1, 2].map(|n| grouped(plain(n), "g")));
    desk.answer(vec![ApprovalDecision { stop: true, ..no() }, no(), no()]);
    assert!(desk.machine.is_stopped());
}

#[test]
fn approve_all_stops_approving_after_a_stop() {
    let mut desk = Desk::new(Mode::ApproveAll, Somebody::There, None);
    desk.machine.stop(desk.now);
    let [ticket] = desk.submit([plain(1)]);
    assert_eq!(desk.what(ticket), Some((false, Cause::Cancelled)));
}

#[test]
fn edit_without_changes_is_a_plain_approval() {
    let mut desk = Desk::interactive();
    let [ticket] = desk.submit([plain(1)]);
    let same = plain(1).call.args.clone();
    desk.answer(vec![ApprovalDecision { edited_args: Some(same), ..for_session(yes()) }]);
    assert_eq!(desk.what(ticket), Some((true, Cause::Person)));
    let [again] = desk.submit([plain(1)]);
    assert_eq!(desk.what(again), Some((true, Cause::Memory)), "it is remembered like any other");
}
