//! Tests of the queue: order, groups, equal requests, cancellation and timeouts.

use std::sync::Arc;

use super::*;

#[test]
fn questions_come_one_at_a_time_with_position_and_total() {
    let mut driver = Driver::interactive();
    let tickets = driver.submit([plain(1), plain(2), plain(3)]);
    for (at, ticket) in tickets.into_iter().enumerate() {
        assert_eq!(driver.result(ticket), None);
        let question = driver.answer(vec![yes()]);
        assert_eq!((question.position, question.of, question.members.len()), (at + 1, 3, 1));
        assert_eq!(question.members[0].request.args["n"], json!(at + 1));
        assert_eq!(driver.result(ticket), Some((true, Cause::Person)));
    }
    assert_eq!(driver.showing, None);
    driver.submit([plain(4)]);
    assert_eq!(driver.present().position, 1);
}

#[test]
fn group_is_one_question_and_one_answer_covers_its_members() {
    let mut driver = Driver::interactive();
    let [a, alone, b, other] =
        driver.submit([grouped(plain(1), "g"), plain(2), grouped(plain(3), "g"), grouped(plain(4), "h")]);
    let question = driver.answer(vec![yes()]);
    let asked: Vec<&Value> = question.members.iter().map(|member| &member.request.args["n"]).collect();
    assert_eq!(asked, [&json!(1), &json!(3)]);
    for ticket in [a, b] {
        assert_eq!(driver.result(ticket), Some((true, Cause::Person)));
    }
    assert_eq!((driver.result(alone), driver.result(other)), (None, None));
}

#[test]
fn group_members_can_get_different_decisions() {
    let mut driver = Driver::interactive();
    let [a, b, c] = driver.submit([1, 2, 3].map(|n| grouped(plain(n), "g")));
    driver.answer(vec![yes(), no(), for_session(yes())]);
    let of = |ticket| driver.result(ticket).unwrap().0;
    assert_eq!((of(a), of(b), of(c)), (true, false, true));
    assert_eq!(driver.machine.memory().list(Timestamp(0)).len(), 1);
}

#[test]
fn late_group_member_gets_its_own_question() {
    let mut driver = Driver::interactive();
    driver.submit([plain(0), grouped(plain(1), "g")]);
    let [late] = driver.submit([grouped(plain(2), "g")]);
    driver.answer(vec![yes()]);
    assert_eq!(driver.answer(vec![yes()]).members.len(), 1);
    assert_eq!(driver.result(late), None);
}

#[test]
fn equal_requests_share_a_question_but_keep_their_ids() {
    let mut driver = Driver::interactive();
    let from = |caller: &str| {
        let mut submission = plain(1);
        submission.call = Arc::unwrap_or_clone(submission.call).with_metadata("caller", caller).into();
        submission
    };
    let [first, second] = driver.submit([from("one"), from("two")]);
    let [third] = driver.submit([from("three")]);
    assert_eq!(driver.present().members[0].calls, 3);
    driver.answer(vec![yes()]);
    let mut ids = Vec::new();
    for (ticket, caller) in [(first, "one"), (second, "two"), (third, "three")] {
        assert_eq!(driver.result(ticket), Some((true, Cause::Person)));
        let resolution = driver.done.remove(&ticket).unwrap();
        assert_eq!(resolution.request.caller.as_deref(), Some(caller));
        assert_eq!(resolution.permit.unwrap().call().caller(), Some(caller));
        ids.push(resolution.request.call_id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!(driver.showing, None);
}

#[test]
fn visibly_different_request_is_another_question() {
    let base = || plain(1).request;
    let others: [ApprovalRequest; 9] = [
        ApprovalRequest { description: "another description".to_owned(), ..base() },
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
        let mut driver = Driver::interactive();
        let other = Submission { request, ..plain(1) };
        let [_, ticket] = driver.submit([plain(1), other.clone()]);
        driver.answer(vec![yes()]);
        assert_eq!(driver.result(ticket), None, "{:?}", other.request);
    }
    let mut driver = Driver::interactive();
    let changed = Submission {
        call: Arc::new(ApprovalContext {
            definition: Some(crate::Digest::of("new")),
            ..Arc::unwrap_or_clone(plain(1).call)
        }),
        ..plain(1)
    };
    let wider = ask("t", json!({"n": 1, "all": true}), Approval::Required);
    let [_, definition, args, human_1, human_2] =
        driver.submit([plain(1), changed, wider, human(1), human(1)]);
    driver.answer(vec![yes()]);
    for ticket in [definition, args, human_1, human_2] {
        assert_eq!(driver.result(ticket), None);
    }
}

#[test]
fn other_presenter_or_metadata_makes_another_question() {
    let with = |key: &str| {
        let call = Arc::unwrap_or_clone(plain(1).call).with_metadata(key, "x");
        Submission { call: Arc::new(call), shown_by: Some(crate::machine::PresenterId(1)), ..plain(1) }
    };
    let other = Submission { shown_by: Some(crate::machine::PresenterId(2)), ..with("run_id") };
    let mut driver = Driver::interactive();
    let [first, same, other_folder, other_presenter, no_presenter] =
        driver.submit([with("caller"), with("run_id"), with("cwd"), other, plain(1)]);
    driver.answer(vec![yes()]);
    for (ticket, is_answered) in
        [(first, true), (same, true), (other_folder, false), (other_presenter, false), (no_presenter, false)]
    {
        assert_eq!(driver.result(ticket).is_some(), is_answered, "{ticket:?}");
    }
}

#[test]
fn different_excluded_argument_makes_another_question() {
    let mut driver = Driver::interactive();
    let mail = |body: &str| Submission {
        request: ApprovalRequest::new("t", "send mail to ada", json!({"to": "ada"})),
        ..ask("t", json!({"to": "ada", "body": body}), Approval::Required)
    };
    let [first, second] = driver.submit([mail("hello"), mail("the password is")]);
    driver.answer(vec![yes()]);
    assert_eq!((driver.result(first), driver.result(second)), (Some((true, Cause::Person)), None));
}

#[test]
fn approval_covers_only_calls_that_were_on_screen() {
    let mut driver = Driver::interactive();
    let [first] = driver.submit([plain(1)]);
    driver.present();
    let late = driver.submit([plain(1), plain(1)]);
    driver.answer(vec![yes()]);
    assert_eq!(driver.result(first), Some((true, Cause::Person)));
    assert_eq!(late.map(|ticket| driver.result(ticket)), [None, None]);
    assert_eq!(driver.present().members[0].calls, 2);
    driver.answer(vec![yes()]);
    assert_eq!(late.map(|ticket| driver.result(ticket)), [Some((true, Cause::Person)); 2]);
}

#[test]
fn new_memory_answers_waiting_calls_before_they_are_shown() {
    let mut driver = Driver::interactive();
    let [_, other, covered] =
        driver.submit([offering(plain(1)), ask("u", json!({}), Approval::Required), plain(3)]);
    let [person] = driver.submit([human(4)]);
    driver.answer(vec![for_pattern(yes(), 0)]);
    driver.answer(vec![no()]);
    assert_eq!(driver.result(other), Some((false, Cause::Person)));
    assert_eq!(driver.result(covered), Some((true, Cause::Memory)));
    assert_eq!((driver.result(person), driver.showing.is_some()), (None, true));
}

#[test]
fn cancelled_call_is_refused_and_its_question_withdrawn() {
    let mut driver = Driver::interactive();
    let [first, second] = driver.submit([plain(1), plain(2)]);
    let id = driver.present().id;
    driver.cancel(first);
    assert_eq!(driver.result(first), Some((false, Cause::Cancelled)));
    assert_eq!(driver.withdrawn, [(id, Cause::Cancelled)]);
    driver.machine.answer(id, Answer::all(for_session(yes())), driver.now);
    driver.carry_out();
    assert_eq!(driver.result(second), None);
    driver.cancel(first);
    driver.cancel(Ticket(999));
    driver.answer(vec![yes()]);
    assert_eq!(driver.result(second), Some((true, Cause::Person)));
}

#[test]
fn one_of_several_equal_calls_can_be_cancelled_alone() {
    let mut driver = Driver::interactive();
    let [first, second] = driver.submit([plain(1), plain(1)]);
    let id = driver.present().id;
    driver.cancel(first);
    assert_eq!((driver.result(first), driver.withdrawn.len()), (Some((false, Cause::Cancelled)), 0));
    assert_eq!(driver.answer(vec![yes()]).id, id);
    assert_eq!(driver.result(second), Some((true, Cause::Person)));
}

#[test]
fn group_that_lost_a_member_becomes_a_new_question() {
    let mut driver = Driver::interactive();
    let [first, second, third] = driver.submit([1, 2, 3].map(|n| grouped(plain(n), "g")));
    let old = driver.present().id;
    driver.cancel(second);
    assert_eq!(driver.withdrawn, [(old, Cause::Cancelled)]);
    driver.machine.answer(old, Answer::all(yes()), driver.now);
    driver.carry_out();
    assert_eq!((driver.result(first), driver.result(third)), (None, None));
    let question = driver.answer(vec![yes(), no()]);
    assert_ne!(question.id, old);
    assert_eq!((driver.result(first).unwrap().0, driver.result(third).unwrap().0), (true, false));
}

#[test]
fn question_shown_again_is_presented_again() {
    let mut driver = Driver::interactive();
    let [first, second] = driver.submit([1, 2].map(|n| grouped(plain(n), "g")));
    let content_of = |text: &str| Shown {
        action: Some(Action::new("edit ").value(text)),
        presentation: Some(content(text)),
        facts: vec![Fact::new("size", text)],
        patterns: vec![OfferedPattern::any_arguments(text, Vec::new())],
        basis: Some(json!(text)),
    };
    driver.present_with(&content_of("before"));
    driver.cancel(second);
    let question = driver.present_with(&content_of("after"));
    let shown = &question.members[0].request;
    assert_eq!(shown.presentation, Some(content("after")));
    assert_eq!(shown.action, Some(Action::new("edit ").value("after")));
    assert_eq!(shown.facts, [Fact::new("size", "after")]);
    assert_eq!(shown.patterns, [OfferedPattern::any_arguments("after", Vec::new())]);
    driver.showing = None;
    driver.machine.answer(question.id, Answer::all(yes()), driver.now);
    driver.carry_out();
    let permit = driver.done.remove(&first).unwrap().permit.unwrap();
    assert_eq!(spend(permit).1, Some(json!("after")));
}

#[test]
fn question_shown_again_needs_a_new_presentation() {
    let mut driver = Driver::interactive();
    let [first, second] = driver.submit([1, 2].map(|n| grouped(plain(n), "g")));
    driver.present();
    driver.cancel(second);
    let id = driver.showing.take().unwrap();
    driver.machine.answer(id, Answer::all(yes()), driver.now);
    driver.carry_out();
    assert_eq!(driver.result(first), Some((false, Cause::ApproverFailed)));
}

#[test]
fn presentation_from_the_tool_is_kept() {
    let mut driver = Driver::interactive();
    let mut submission = plain(1);
    submission.request.presentation = Some(content("the tool's"));
    driver.submit([submission]);
    let question = driver.present_with(&Shown { presentation: Some(content("ours")), ..Shown::default() });
    assert_eq!(question.members[0].request.presentation, Some(content("the tool's")));
}

#[test]
fn unanswered_question_is_refused_as_a_timeout() {
    let mut driver = Driver::interactive();
    let [first, second] = driver.submit([plain(1), plain(2)]);
    assert_eq!(driver.machine.wake_at(), Some(Timestamp(1_100)));
    let id = driver.present().id;
    driver.tick_at(1_099);
    assert_eq!(driver.result(first), None);
    driver.tick_at(1_100);
    assert_eq!(driver.withdrawn, [(id, Cause::TimeOut)]);
    for ticket in [first, second] {
        assert_eq!(driver.result(ticket), Some((false, Cause::TimeOut)));
    }
    assert_eq!((driver.machine.wake_at(), driver.showing), (None, None));
}

#[test]
fn answer_at_the_deadline_is_too_late_without_a_tick() {
    let mut driver = Driver::interactive();
    let [ticket] = driver.submit([plain(1)]);
    let id = driver.present().id;
    driver.now = Timestamp(1_100);
    driver.machine.answer(id, Answer::all(for_session(yes())), driver.now);
    driver.carry_out();
    assert_eq!(driver.result(ticket), Some((false, Cause::TimeOut)));
    assert!(driver.machine.memory().list(driver.now).is_empty());
}

#[test]
fn answer_by_a_person_restarts_the_other_deadlines() {
    let mut driver = Driver::interactive();
    let [_, second, third] = driver.submit([plain(1), plain(2), plain(3)]);
    driver.now = Timestamp(900);
    driver.answer(vec![yes()]);
    assert_eq!(driver.machine.wake_at(), Some(Timestamp(1_900)));
    assert_eq!(driver.present().members[0].request.deadline, Some(Timestamp(1_900)));
    // A failed approver is not a person, so the deadlines stay.
    driver.now = Timestamp(1_000);
    driver.answer(vec![ApprovalDecision::no(Cause::TerminalLost)]);
    assert_eq!(
        (driver.result(second), driver.machine.wake_at()),
        (Some((false, Cause::TerminalLost)), Some(Timestamp(1_900)))
    );
    driver.tick_at(1_900);
    assert_eq!(driver.result(third), Some((false, Cause::TimeOut)));
}

#[test]
fn machine_without_timeout_never_asks_to_be_woken() {
    let mut driver = Driver::new(Mode::Interactive, Audience::There, None);
    let [ticket] = driver.submit([plain(1)]);
    assert_eq!(driver.machine.wake_at(), None);
    driver.tick_at(u64::MAX);
    assert_eq!(driver.result(ticket), None);
}

#[test]
fn question_states_when_a_session_approval_expires() {
    let memory = ApprovalMemory::new(Some(Duration::from_millis(50)));
    let mut driver = Driver {
        machine: Machine::new(Mode::Interactive, Audience::There, memory, None),
        ..Driver::interactive()
    };
    driver.submit([plain(1)]);
    assert_eq!(driver.present().members[0].remembered_until, Some(Timestamp(150)));
}

#[test]
fn presenting_an_answered_question_shows_nothing() {
    let mut driver = Driver::interactive();
    driver.submit([plain(1), plain(2)]);
    let old = driver.answer(vec![yes()]).id;
    assert!(driver.machine.requests_of(old).is_none());
    assert!(driver.machine.presented(old, vec![Shown::default()], driver.now).is_none());
}

#[test]
fn words_of_the_config_stay_the_headline() {
    let mut driver = Driver::interactive();
    let mut described = plain(1);
    described.request.action = Some(Action::new("Tidy up"));
    driver.submit([described]);
    let own = Action::new("delete ").value("a.md");
    let question = driver.present_with(&Shown { action: Some(own), ..Shown::default() });
    let request = &question.members[0].request;
    assert_eq!(request.action, Some(Action::new("Tidy up")));
    assert_eq!(request.facts, [Fact::new("does", "delete a.md")]);
}
