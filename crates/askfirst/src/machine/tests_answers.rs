//! Tests of answers: what a decision permits, and which answers are invalid.

use super::*;

#[test]
fn approval_gives_a_permit_for_exactly_the_shown_call() {
    let mut driver = Driver::interactive();
    let submitted = plain(1);
    let call = submitted.call.clone();
    let [ticket] = driver.submit([submitted]);
    let shown = Shown { basis: Some(json!("sha256 of the file")), ..Shown::default() };
    let question = driver.present_with(&shown);
    assert_eq!(question.members[0].request.args, call.args);
    driver.showing = None;
    let seen = Some(LinesSeen { lines: 3, of: 9 });
    driver.machine.answer(question.id, Answer { decisions: vec![yes()], seen }, driver.now);
    driver.carry_out();
    let resolution = driver.done.remove(&ticket).unwrap();
    assert!(resolution.shown.is_some() && resolution.seen == seen);
    assert_eq!(spend(resolution.permit.unwrap()), ((*call).clone(), Some(json!("sha256 of the file"))));
}

#[test]
fn denial_gives_no_permit_and_keeps_its_note() {
    let mut driver = Driver::interactive();
    let [ticket] = driver.submit([plain(1)]);
    driver.answer(vec![no().with_note("use the other table")]);
    assert_eq!((driver.result(ticket), driver.has_permit(ticket)), (Some((false, Cause::Person)), false));
    assert_eq!(driver.done[&ticket].decision.note.as_deref(), Some("use the other table"));
    let [again] = driver.submit([plain(1)]);
    assert_eq!(driver.result(again), None, "a denial for one call is not remembered");
}

#[test]
fn only_a_person_can_approve() {
    let causes = [
        Cause::Policy,
        Cause::Mode,
        Cause::Memory,
        Cause::TimeOut,
        Cause::NoOneToAsk,
        Cause::EndOfInput,
        Cause::TerminalLost,
        Cause::ApproverFailed,
        Cause::Cancelled,
        Cause::RecordFailed,
        Cause::NoSandbox,
    ];
    for cause in causes {
        let mut driver = Driver::interactive();
        let [ticket] = driver.submit([plain(1)]);
        driver.answer(vec![for_session(ApprovalDecision::yes(cause))]);
        assert_eq!(driver.result(ticket), Some((false, Cause::ApproverFailed)), "{cause}");
        let [again] = driver.submit([plain(1)]);
        assert_eq!(driver.result(again), None, "{cause}");
        // A denial keeps its own cause. Only a denial by a person is remembered.
        driver.answer(vec![for_session(ApprovalDecision::no(cause))]);
        assert_eq!(driver.result(again), Some((false, cause)));
        let [third] = driver.submit([plain(1)]);
        assert_eq!(driver.result(third), None, "{cause}");
    }
}

#[test]
fn approval_before_presentation_is_rejected() {
    let mut driver = Driver::interactive();
    let [ticket] = driver.submit([plain(1)]);
    let id = driver.showing.take().unwrap();
    driver.machine.answer(id, Answer::all(yes()), driver.now);
    driver.carry_out();
    assert_eq!(driver.result(ticket), Some((false, Cause::ApproverFailed)));
}

#[test]
fn answer_to_another_question_changes_nothing() {
    let mut driver = Driver::interactive();
    let [first, second] = driver.submit([plain(1), plain(2)]);
    let old = driver.answer(vec![yes()]).id;
    let now = driver.present().id;
    for id in [old, QuestionId(now.0 + 1), QuestionId(0), QuestionId(u64::MAX)] {
        driver.machine.answer(id, Answer::all(for_session(yes())), driver.now);
        driver.carry_out();
        assert_eq!((driver.result(first), driver.result(second)), (Some((true, Cause::Person)), None));
        assert_eq!(driver.showing, Some(now));
    }
}

#[test]
fn answer_of_wrong_length_refuses_all_members() {
    for count in [0, 2, 4] {
        let mut driver = Driver::interactive();
        let tickets = driver.submit([1, 2, 3].map(|n| grouped(plain(n), "g")));
        driver.answer(vec![for_session(yes()); count]);
        for ticket in tickets {
            assert_eq!(driver.result(ticket), Some((false, Cause::ApproverFailed)), "{count}");
        }
        assert!(driver.machine.memory().list(driver.now).is_empty());
    }
}

#[test]
fn once_per_session_approval_always_lasts_for_the_session() {
    let mut driver = Driver::interactive();
    let once = || ask("t", json!({"n": 1}), Approval::OncePerSession);
    let [refused] = driver.submit([once()]);
    driver.answer(vec![no()]);
    assert_eq!(driver.result(refused), Some((false, Cause::Person)));
    driver.submit([once()]);
    driver.answer(vec![yes()]);
    let [later] = driver.submit([once()]);
    assert_eq!(driver.result(later), Some((true, Cause::Memory)));
}

#[test]
fn pattern_not_offered_is_rejected() {
    let mut driver = Driver::interactive();
    for at in [Some(1), Some(usize::MAX), None] {
        let [ticket] = driver.submit([offering(plain(1))]);
        driver.answer(vec![ApprovalDecision { pattern: at, ..yes().remembered(ApprovalScope::Pattern) }]);
        assert_eq!(driver.result(ticket), Some((false, Cause::ApproverFailed)), "{at:?}");
    }
    driver.submit([offering(plain(1))]);
    driver.answer(vec![for_pattern(yes(), 0)]);
    let [covered, other] =
        driver.submit([plain(7), ask("t", json!({"n": 1, "force": true}), Approval::Required)]);
    assert_eq!((driver.result(covered), driver.result(other)), (Some((true, Cause::Memory)), None));
}

#[test]
fn pattern_that_misses_its_own_request_is_rejected() {
    let mut driver = Driver::interactive();
    let mut stray = offering(plain(1));
    stray.request.payload = json!({"n": 1, "m": 2});
    let [ticket] = driver.submit([stray]);
    driver.answer(vec![for_pattern(yes(), 0)]);
    assert_eq!(driver.result(ticket), Some((false, Cause::ApproverFailed)));
}

#[test]
fn edited_arguments_run_nothing_and_are_not_remembered() {
    let mut driver = Driver::interactive();
    let [ticket] = driver.submit([plain(1)]);
    let args = json!({"n": 2}).as_object().cloned();
    driver.answer(vec![ApprovalDecision { edited_args: args.clone(), ..for_session(yes()) }]);
    assert_eq!((driver.result(ticket), driver.has_permit(ticket)), (Some((true, Cause::Person)), false));
    assert_eq!(driver.done[&ticket].decision.edited_args, args);
    let [same, edited] = driver.submit([plain(1), plain(2)]);
    assert_eq!((driver.result(same), driver.result(edited)), (None, None));
}

#[test]
fn one_edit_cannot_answer_several_requests() {
    let mut driver = Driver::interactive();
    let tickets = driver.submit([1, 2].map(|n| grouped(plain(n), "g")));
    driver.answer(vec![ApprovalDecision { edited_args: Some(crate::json::Args::new()), ..yes() }]);
    for ticket in tickets {
        assert_eq!(driver.result(ticket), Some((false, Cause::ApproverFailed)));
    }
}

#[test]
fn stop_refuses_waiting_and_later_calls() {
    let mut driver = Driver::interactive();
    driver.machine.memory().store("t", &json!({"n": 9}), for_session(yes()), Timestamp(0));
    let [answered, waiting] = driver.submit([plain(1), plain(2)]);
    driver.answer(vec![ApprovalDecision { stop: true, ..no() }]);
    assert_eq!(driver.result(answered), Some((false, Cause::Person)));
    assert_eq!(driver.result(waiting), Some((false, Cause::Cancelled)));
    let later = driver.submit([plain(1), plain(9), human(3)]);
    for ticket in later {
        assert_eq!(driver.result(ticket), Some((false, Cause::Cancelled)));
    }
    assert!(driver.machine.is_stopped() && driver.machine.wake_at().is_none());
}

#[test]
fn approval_with_stop_is_rejected() {
    let mut driver = Driver::interactive();
    let [ticket] = driver.submit([plain(1)]);
    driver.answer(vec![ApprovalDecision { stop: true, ..for_session(yes()) }]);
    assert_eq!(driver.result(ticket), Some((false, Cause::ApproverFailed)));
    assert!(driver.machine.is_stopped());
}

#[test]
fn stop_counts_even_in_an_invalid_answer() {
    let mut driver = Driver::interactive();
    driver.submit([1, 2].map(|n| grouped(plain(n), "g")));
    driver.answer(vec![ApprovalDecision { stop: true, ..no() }, no(), no()]);
    assert!(driver.machine.is_stopped());
}

#[test]
fn approve_all_stops_approving_after_a_stop() {
    let mut driver = Driver::new(Mode::ApproveAll, Audience::There, None);
    driver.machine.stop(driver.now);
    let [ticket] = driver.submit([plain(1)]);
    assert_eq!(driver.result(ticket), Some((false, Cause::Cancelled)));
}

#[test]
fn edit_without_changes_is_a_plain_approval() {
    let mut driver = Driver::interactive();
    let [ticket] = driver.submit([plain(1)]);
    let same = plain(1).call.args.clone();
    driver.answer(vec![ApprovalDecision { edited_args: Some(same), ..for_session(yes()) }]);
    assert_eq!(driver.result(ticket), Some((true, Cause::Person)));
    let [again] = driver.submit([plain(1)]);
    assert_eq!(driver.result(again), Some((true, Cause::Memory)), "the approval is remembered");
}

/// A no to a call of a run that continues asks on; so does a no that no person gave.
#[test]
fn decision_that_ends_the_run_refuses_the_rest_of_a_group() {
    let stops = |n| Submission { no_ends_run: true, ..grouped(plain(n), "g") };
    let cases = [
        (vec![no()], vec![Cause::Person, Cause::Cancelled, Cause::Cancelled]),
        (vec![yes(), no()], vec![Cause::Person, Cause::Person, Cause::Cancelled]),
        (
            vec![ApprovalDecision { stop: true, ..yes() }],
            vec![Cause::ApproverFailed, Cause::Cancelled, Cause::Cancelled],
        ),
        (
            vec![ApprovalDecision::no(Cause::TimeOut), yes(), yes()],
            vec![Cause::TimeOut, Cause::Person, Cause::Person],
        ),
    ];
    for (given, expected) in cases {
        let mut driver = Driver::interactive();
        let tickets = driver.submit([stops(1), stops(2), stops(3)]);
        let mut decisions = crate::question::OneByOne::new(&driver.present());
        for (at, decision) in given.iter().enumerate() {
            assert_eq!(decisions.add(decision.clone()), at + 1 < given.len(), "{given:?}");
        }
        driver.answer(decisions.answer().decisions);
        let causes = tickets.map(|ticket| driver.result(ticket).unwrap().1);
        assert_eq!(causes.as_slice(), expected, "{given:?}");
    }
    let mut driver = Driver::interactive();
    driver.submit([grouped(plain(1), "g"), stops(2), stops(3)]);
    let mut decisions = crate::question::OneByOne::new(&driver.present());
    assert_eq!([no(), yes(), no()].map(|decision| decisions.add(decision)), [true, true, false]);
}
