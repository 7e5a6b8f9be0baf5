//! One question at a time, groups, equal requests, giving up and time.

use std::sync::Arc;

use super::*;

#[test]
fn questions_come_one_at_a_time_with_position_and_total() {
    let mut desk = Desk::interactive();
    let tickets = desk.submit([plain(1), plain(2), plain(3)]);
    for (at, ticket) in tickets.into_iter().enumerate() {
        assert_eq!(desk.what(ticket), None);
        let question = desk.answer(vec![yes()]);
        assert_eq!((question.position, question.of, question.members.len()), (at + 1, 3, 1));
        assert_eq!(question.members[0].request.args["n"], json!(at + 1));
        assert_eq!(desk.what(ticket), Some((true, Cause::Person)));
    }
    assert_eq!(desk.showing, None);
    desk.submit([plain(4)]);
    assert_eq!(desk.present().position, 1);
}

#[test]
fn group_is_one_question_and_one_answer_covers_its_members() {
    let mut desk = Desk::interactive();
    let [a, alone, b, other] =
        desk.submit([grouped(plain(1), "g"), plain(2), grouped(plain(3), "g"), grouped(plain(4), "h")]);
    let question = desk.answer(vec![yes()]);
    let asked: Vec<&Value> = question.members.iter().map(|member| &member.request.args["n"]).collect();
    assert_eq!(asked, [&json!(1), &json!(3)]);
    for ticket in [a, b] {
        assert_eq!(desk.what(ticket), Some((true, Cause::Person)));
    }
    assert_eq!((desk.what(alone), desk.what(other)), (None, None));
}

#[test]
fn group_members_can_get_different_decisions() {
    let mut desk = Desk::interactive();
    let [a, b, c] = desk.submit([1, 2, 3].map(|n| grouped(plain(n), "g")));
    desk.answer(vec![yes(), no(), for_session(yes())]);
    let of = |ticket| desk.what(ticket).unwrap().0;
    assert_eq!((of(a), of(b), of(c)), (true, false, true));
    assert_eq!(desk.machine.memory().list(Timestamp(0)).len(), 1);
}

#[test]
fn late_group_member_gets_its_own_question() {
    let mut desk = Desk::interactive();
    desk.submit([plain(0), grouped(plain(1), "g")]);
    let [late] = desk.submit([grouped(plain(2), "g")]);
    desk.answer(vec![yes()]);
    assert_eq!(desk.answer(vec![yes()]).members.len(), 1);
    assert_eq!(desk.what(late), None);
}

#[test]
fn equal_requests_share_a_question_but_keep_their_ids() {
    let mut desk = Desk::interactive();
    let from = |caller: &str| {
        let mut submission = plain(1);
        submission.call = Arc::unwrap_or_clone(submission.call).with_metadata("caller", caller).into();
        submission
    };
    let [first, second] = desk.submit([from("one"), from("two")]);
    let [third] = desk.submit([from("three")]);
    assert_eq!(desk.present().members[0].calls, 3);
    desk.answer(vec![yes()]);
    let mut ids = Vec::new();
    for (ticket, caller) in [(first, "one"), (second, "two"), (third, "three")] {
        assert_eq!(desk.what(ticket), Some((true, Cause::Person)));
        let resolution = desk.done.remove(&ticket).unwrap();
        assert_eq!(resolution.request.caller.as_deref(), Some(caller));
        assert_eq!(resolution.permit.unwrap().call().caller(), Some(caller));
        ids.push(resolution.request.call_id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!(desk.showing, None);
}

#[test]
fn visibly_different_request_is_another_question() {
    let base = || plain(1).request;
    let others: [ApprovalRequest; 9] = [
        ApprovalRequest { description: "does more".to_owned(), ..base() },
        ApprovalRequest { payload: json!({"n": 2}), ..base() },
        ApprovalRequest { risk: crate::words::Risk::High, ..base() },
        ApprovalRequest { approval: Approval::OncePerSession, ..base() },
        ApprovalRequest { approval: Approval::Human, ..base() },
        ApprovalRequest { presentation: Some(content("+ x")), ..base() },
        ApprovalRequest { facts: vec![crate::Fact::new("host", "production")], ..base() },
        ApprovalRequest { patterns: offering(plain(1)).request.patterns, ..base() },
        ApprovalRequest { exclude_keys: vec!["n".to_owned()], ..base() },
    ];
    for request in others {
        let mut desk = Desk::interactive();
        let other = Submission { request, ..plain(1) };
        let [_, ticket] = desk.submit([plain(1), other.clone()]);
        desk.answer(vec![yes()]);
        assert_eq!(desk.what(ticket), None, "{:?}", other.request);
    }
    let mut desk = Desk::interactive();
    let changed = Submission {
        call: Arc::new(ApprovalContext {
            definition: Some(crate::Digest::of("new")),
            ..Arc::unwrap_or_clone(plain(1).call)
        }),
        ..plain(1)
    };
    let wider = ask("t", json!({"n": 1, "all": true}), Approval::Required);
    let [_, definition, args, human_1, human_2] = desk.submit([plain(1), changed, wider, human(1), human(1)]);
    desk.answer(vec![yes()]);
    for ticket in [definition, args, human_1, human_2] {
        assert_eq!(desk.what(ticket), None);
    }
}

#[test]
fn other_presenter_or_metadata_makes_another_question() {
    let with = |key: &str| {
        let call = Arc::unwrap_or_clone(plain(1).call).with_metadata(key, "x");
        Submission { call: Arc::new(call), shown_by: Some(crate::machine::ShownBy(1)), ..plain(1) }
    };
    let other = Submission { shown_by: Some(crate::machine::ShownBy(2)), ..with("run_id") };
    let mut desk = Desk::interactive();
    let [first, same, elsewhere, others, nobodys] =
        desk.submit([with("caller"), with("run_id"), with("cwd"), other, plain(1)]);
    desk.answer(vec![yes()]);
    for (ticket, said) in [(first, true), (same, true), (elsewhere, false), (others, false), (nobodys, false)]
    {
        assert_eq!(desk.what(ticket).is_some(), said, "{ticket:?}");
    }
}

#[test]
fn different_excluded_argument_makes_another_question() {
    let mut desk = Desk::interactive();
    let mail = |body: &str| Submission {
        request: ApprovalRequest::new("t", "mails ada", json!({"to": "ada"})),
        ..ask("t", json!({"to": "ada", "body": body}), Approval::Required)
    };
    let [first, second] = desk.submit([mail("hello"), mail("the password is")]);
    desk.answer(vec![yes()]);
    assert_eq!((desk.what(first), desk.what(second)), (Some((true, Cause::Person)), None));
}

#[test]
fn approval_covers_only_calls_that_were_on_screen() {
    let mut desk = Desk::interactive();
    let [first] = desk.submit([plain(1)]);
    desk.present();
    let late = desk.submit([plain(1), plain(1)]);
    desk.answer(vec![yes()]);
    assert_eq!(desk.what(first), Some((true, Cause::Person)));
    assert_eq!(late.map(|ticket| desk.what(ticket)), [None, None]);
    assert_eq!(desk.present().members[0].calls, 2);
    desk.answer(vec![yes()]);
    assert_eq!(late.map(|ticket| desk.what(ticket)), [Some((true, Cause::Person)); 2]);
}

#[test]
fn new_memory_answers_waiting_calls_before_they_are_shown() {
    let mut desk = Desk::interactive();
    let [_, other, covered] =
        desk.submit([offering(plain(1)), ask("u", json!({}), Approval::Required), plain(3)]);
    let [person] = desk.submit([human(4)]);
    desk.answer(vec![for_pattern(yes(), 0)]);
    desk.answer(vec![no()]);
    assert_eq!(desk.what(other), Some((false, Cause::Person)));
    assert_eq!(desk.what(covered), Some((true, Cause::Memory)));
    assert_eq!((desk.what(person), desk.showing.is_some()), (None, true));
}

#[test]
fn cancelled_call_is_refused_and_its_question_withdrawn() {
    let mut desk = Desk::interactive();
    let [first, second] = desk.submit([plain(1), plain(2)]);
    let id = desk.present().id;
    desk.cancel(first);
    assert_eq!(desk.what(first), Some((false, Cause::Cancelled)));
    assert_eq!(desk.withdrawn, [(id, Cause::Cancelled)]);
    desk.machine.answer(id, Answer::all(for_session(yes())), desk.now);
    desk.carry_out();
    assert_eq!(desk.what(second), None);
    desk.cancel(first);
    desk.cancel(Ticket(999));
    desk.answer(vec![yes()]);
    assert_eq!(desk.what(second), Some((true, Cause::Person)));
}

#[test]
fn one_of_several_equal_calls_can_be_cancelled_alone() {
    let mut desk = Desk::interactive();
    let [first, second] = desk.submit([plain(1), plain(1)]);
    let id = desk.present().id;
    desk.cancel(first);
    assert_eq!((desk.what(first), desk.withdrawn.len()), (Some((false, Cause::Cancelled)), 0));
    assert_eq!(desk.answer(vec![yes()]).id, id);
    assert_eq!(desk.what(second), Some((true, Cause::Person)));
}

#[test]
fn group_that_lost_a_member_becomes_a_new_question() {
    let mut desk = Desk::interactive();
    let [first, second, third] = desk.submit([1, 2, 3].map(|n| grouped(plain(n), "g")));
    let old = desk.present().id;
    desk.cancel(second);
    assert_eq!(desk.withdrawn, [(old, Cause::Cancelled)]);
    desk.machine.answer(old, Answer::all(yes()), desk.now);
    desk.carry_out();
    assert_eq!((desk.what(first), desk.what(third)), (None, None));
    let question = desk.answer(vec![yes(), no()]);
    assert_ne!(question.id, old);
    assert_eq!((desk.what(first).unwrap().0, desk.what(third).unwrap().0), (true, false));
}

#[test]
fn question_shown_again_is_presented_again() {
    let mut desk = Desk::interactive();
    let [first, second] = desk.submit([1, 2].map(|n| grouped(plain(n), "g")));
    let look = |text: &str| Shown {
        presentation: Some(content(text)),
        facts: vec![Fact::new("size", text)],
        basis: Some(json!(text)),
    };
    desk.present_with(&look("before"));
    desk.cancel(second);
    let question = desk.present_with(&look("after"));
    let shown = &question.members[0].request;
    assert_eq!(shown.presentation, Some(content("after")));
    assert_eq!(shown.facts, [Fact::new("size", "after")]);
    desk.showing = None;
    desk.machine.answer(question.id, Answer::all(yes()), desk.now);
    desk.carry_out();
    let permit = desk.done.remove(&first).unwrap().permit.unwrap();
    assert_eq!(spend(permit).1, Some(json!("after")));
}

#[test]
fn question_shown_again_needs_a_new_presentation() {
    let mut desk = Desk::interactive();
    let [first, second] = desk.submit([1, 2].map(|n| grouped(plain(n), "g")));
    desk.present();
    desk.cancel(second);
    let id = desk.showing.take().unwrap();
    desk.machine.answer(id, Answer::all(yes()), desk.now);
    desk.carry_out();
    assert_eq!(desk.what(first), Some((false, Cause::ApproverFailed)));
}

#[test]
fn presentation_from_the_tool_is_kept() {
    let mut desk = Desk::interactive();
    let mut submission = plain(1);
    submission.request.presentation = Some(content("the tool's"));
    desk.submit([submission]);
    let question = desk.present_with(&Shown { presentation: Some(content("ours")), ..Shown::default() });
    assert_eq!(question.members[0].request.presentation, Some(content("the tool's")));
}

#[test]
fn unanswered_question_is_refused_as_a_timeout() {
    let mut desk = Desk::interactive();
    let [first, second] = desk.submit([plain(1), plain(2)]);
    assert_eq!(desk.machine.wake_at(), Some(Timestamp(1_100)));
    let id = desk.present().id;
    desk.tick_at(1_099);
    assert_eq!(desk.what(first), None);
    desk.tick_at(1_100);
    assert_eq!(desk.withdrawn, [(id, Cause::TimeOut)]);
    for ticket in [first, second] {
        assert_eq!(desk.what(ticket), Some((false, Cause::TimeOut)));
    }
    assert_eq!((desk.machine.wake_at(), desk.showing), (None, None));
}

#[test]
fn answer_at_the_deadline_is_too_late_without_a_tick() {
    let mut desk = Desk::interactive();
    let [ticket] = desk.submit([plain(1)]);
    let id = desk.present().id;
    desk.now = Timestamp(1_100);
    desk.machine.answer(id, Answer::all(for_session(yes())), desk.now);
    desk.carry_out();
    assert_eq!(desk.what(ticket), Some((false, Cause::TimeOut)));
    assert!(desk.machine.memory().list(desk.now).is_empty());
}

#[test]
fn answer_by_a_person_restarts_the_other_deadlines() {
    let mut desk = Desk::interactive();
    let [_, second, third] = desk.submit([plain(1), plain(2), plain(3)]);
    desk.now = Timestamp(900);
    desk.answer(vec![yes()]);
    assert_eq!(desk.machine.wake_at(), Some(Timestamp(1_900)));
    assert_eq!(desk.present().members[0].request.deadline, Some(Timestamp(1_900)));
    // An approver that broke is nobody.
    desk.now = Timestamp(1_000);
    desk.answer(vec![ApprovalDecision::no(Cause::TerminalLost)]);
    assert_eq!(
        (desk.what(second), desk.machine.wake_at()),
        (Some((false, Cause::TerminalLost)), Some(Timestamp(1_900)))
    );
    desk.tick_at(1_900);
    assert_eq!(desk.what(third), Some((false, Cause::TimeOut)));
}

#[test]
fn machine_without_timeout_never_asks_to_be_woken() {
    let mut desk = Desk::new(Mode::Interactive, Somebody::There, None);
    let [ticket] = desk.submit([plain(1)]);
    assert_eq!(desk.machine.wake_at(), None);
    desk.tick_at(u64::MAX);
    assert_eq!(desk.what(ticket), None);
}

#[test]
fn question_states_when_a_session_approval_expires() {
    let memory = ApprovalMemory::new(Some(Duration::from_millis(50)));
    let mut desk = Desk {
        machine: Machine::new(Mode::Interactive, Somebody::There, memory, None),
        ..Desk::interactive()
    };
    desk.submit([plain(1)]);
    assert_eq!(desk.present().members[0].remembered_until, Some(Timestamp(150)));
}

#[test]
fn presenting_an_answered_question_shows_nothing() {
    let mut desk = Desk::interactive();
    desk.submit([plain(1), plain(2)]);
    let old = desk.answer(vec![yes()]).id;
    assert!(desk.machine.requests_of(old).is_none());
    assert!(desk.machine.presented(old, vec![Shown::default()], desk.now).is_none());
}
