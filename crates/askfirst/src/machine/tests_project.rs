//! Tests of approvals that hold in a project beyond the session: when they are offered, and what they never override.

use super::super::ProjectApprovals;
use super::*;
use crate::digest::Digest;
use crate::memory::{RememberedDecision, SharedMemory};
use crate::pattern::OfferedTool;
use crate::words::Risk;

/// A machine in a project that already has the given approvals.
fn in_project(mode: Mode, stored: Vec<RememberedDecision>) -> Driver {
    let mut driver = Driver::interactive();
    let approvals = SharedMemory::default();
    stored.into_iter().for_each(|entry| approvals.lock().insert(entry));
    let holds = |request: &ApprovalRequest| !request.args.contains_key("secret");
    let project = Some(ProjectApprovals::new("/project", approvals, holds));
    let time_out = Some(Duration::from_millis(1_000));
    driver.machine =
        Machine::new(mode, Audience::There, ApprovalMemory::default(), time_out).with_project(project);
    driver
}

fn with_risk(mut submission: Submission, risk: Risk) -> Submission {
    submission.request.risk = risk;
    submission
}

fn with_definition(mut submission: Submission, text: &str) -> Submission {
    std::sync::Arc::make_mut(&mut submission.call).definition = Some(Digest::of(text));
    submission
}

fn always(decision: ApprovalDecision) -> ApprovalDecision {
    for_session(decision).always()
}

/// Returns the approvals that an answer to this submission gives to the project.
fn approvals_of(submission: Submission, decision: ApprovalDecision) -> Vec<RememberedDecision> {
    let mut driver = in_project(Mode::Interactive, Vec::new());
    let [ticket] = driver.submit([submission]);
    let question = driver.present();
    let answer = Answer { decisions: vec![decision], seen: None };
    let lasting = driver.machine.lasting(question.id, &answer, driver.now);
    driver.showing = None;
    driver.machine.answer(question.id, answer, driver.now);
    driver.carry_out();
    assert_eq!(lasting.is_empty(), !driver.has_permit(ticket), "only an approval is stored");
    lasting
}

fn stored(submission: Submission) -> Vec<RememberedDecision> {
    let lasting = approvals_of(submission, always(yes()));
    let number = |(at, entry)| RememberedDecision { id: crate::memory::MemoryId(at), ..entry };
    (1..).zip(lasting).map(number).collect()
}

#[test]
fn project_approval_answers_equal_calls_of_a_later_session() {
    let mut driver = in_project(Mode::Interactive, stored(plain(1)));
    let [equal, other] = driver.submit([plain(1), plain(2)]);
    assert_eq!(driver.result(equal), Some((true, Cause::Memory)));
    assert!(driver.has_permit(equal));
    assert_eq!(driver.result(other), None);
}

#[test]
fn approval_that_always_holds_is_not_in_the_session_memory() {
    let mut driver = in_project(Mode::Interactive, Vec::new());
    driver.submit([plain(1)]);
    driver.answer(vec![always(yes())]);
    assert!(driver.machine.memory().list(driver.now).is_empty(), "the driver stores it");
}

// invariant: 2
#[test]
fn project_approval_covers_no_stricter_call() {
    let known = with_definition(plain(1), "v1");
    let stored = stored(known.clone());
    let stricter = [
        with_risk(known.clone(), Risk::High),
        with_risk(known.clone(), Risk::Irreversible),
        with_definition(plain(1), "v2"),
        plain(1),
        human(1),
    ];
    for submission in stricter {
        let mut driver = in_project(Mode::Interactive, stored.clone());
        let [ticket] = driver.submit([submission]);
        assert_eq!(driver.result(ticket), None);
    }
    let mut driver = in_project(Mode::Interactive, stored);
    let [ticket] = driver.submit([known]);
    assert_eq!(driver.result(ticket), Some((true, Cause::Memory)));
}

// invariant: 2
#[test]
fn project_approval_of_an_irreversible_call_is_ignored() {
    let mut stored = stored(plain(1));
    stored[0].risk = Risk::Irreversible;
    let mut driver = in_project(Mode::Interactive, stored);
    let [ticket] = driver.submit([with_risk(plain(1), Risk::Irreversible)]);
    assert_eq!(driver.result(ticket), None);
}

#[test]
fn mode_decides_before_a_project_approval() {
    for (mode, result) in [(Mode::Strict, (false, Cause::Mode)), (Mode::ApproveAll, (true, Cause::Mode))] {
        let mut driver = in_project(mode, stored(plain(1)));
        let [ticket] = driver.submit([plain(1)]);
        assert_eq!(driver.result(ticket), Some(result));
    }
}

// invariant: 2
#[test]
fn session_denial_wins_over_a_project_approval() {
    let mut driver = in_project(Mode::Interactive, stored(plain(1)));
    let now = driver.now;
    driver.machine.memory().remember(&plain(1).request, for_session(no()), now);
    let [ticket] = driver.submit([plain(1)]);
    assert_eq!(driver.result(ticket), Some((false, Cause::Memory)));
}

// invariant: 2
#[test]
fn possible_session_denial_stops_a_project_approval() {
    // A denial by pattern might cover this payload, whose field name looks like a marked one.
    let odd = || ask("t", json!({"\0n": 1}), Approval::Required);
    let mut driver = in_project(Mode::Interactive, stored(odd()));
    let now = driver.now;
    driver.machine.memory().remember(&offering(plain(1)).request, for_pattern(no(), 0), now);
    let [ticket] = driver.submit([odd()]);
    assert_eq!(driver.result(ticket), None);
}

// invariant: 2
#[test]
fn project_denial_is_never_recalled() {
    let mut stored = stored(plain(1));
    stored[0].decision.approved = false;
    let mut driver = in_project(Mode::Interactive, stored);
    let [ticket] = driver.submit([plain(1)]);
    assert_eq!(driver.result(ticket), None);
}

#[test]
fn lasting_approval_is_offered_only_for_one_repeatable_call() {
    let offered = |submissions: Vec<Submission>| {
        let mut driver = in_project(Mode::Interactive, Vec::new());
        driver.machine.submit(submissions, driver.now);
        driver.carry_out();
        let members = driver.present().members;
        members.into_iter().filter_map(|member| member.project).collect::<Vec<_>>()
    };
    assert_eq!(offered(vec![plain(1)]), ["/project"]);
    assert_eq!(offered(vec![plain(1), plain(1)]), ["/project"], "equal calls are one request");
    assert!(offered(vec![human(1)]).is_empty());
    assert!(offered(vec![with_risk(plain(1), Risk::Irreversible)]).is_empty());
    assert!(offered(vec![ask("t", json!({"secret": 1}), Approval::Required)]).is_empty());
    assert!(offered([1, 2].map(|n| grouped(plain(n), "g")).into()).is_empty());
    let mut alone = Driver::interactive();
    alone.submit([plain(1)]);
    assert_eq!(alone.present().members[0].project, None, "there is no project");
}

// invariant: 6
#[test]
fn lasting_approval_that_is_not_offered_is_a_denial() {
    let not_offered = [
        human(1),
        with_risk(plain(1), Risk::Irreversible),
        ask("t", json!({"secret": 1}), Approval::Required),
    ];
    for submission in not_offered {
        let mut driver = in_project(Mode::Interactive, Vec::new());
        let [ticket] = driver.submit([submission.clone()]);
        driver.answer(vec![always(yes())]);
        assert_eq!(driver.result(ticket), Some((false, Cause::ApproverFailed)));
        assert!(approvals_of(submission, always(yes())).is_empty());
    }
}

#[test]
fn only_an_unedited_approval_in_time_lasts() {
    assert!(approvals_of(plain(1), always(no())).is_empty());
    let mut driver = in_project(Mode::Interactive, Vec::new());
    driver.submit([plain(1)]);
    let question = driver.present();
    let edited = Some(json!({"n": 2}).as_object().unwrap().clone());
    let lasting = |driver: &Driver, decision, now| {
        driver.machine.lasting(question.id, &Answer::all(decision), Timestamp(now)).len()
    };
    assert_eq!(lasting(&driver, always(yes()), 1_099), 1);
    assert_eq!(lasting(&driver, ApprovalDecision { edited_args: edited, ..always(yes()) }, 1_099), 0);
    assert_eq!(lasting(&driver, for_session(yes()), 1_099), 0);
    assert_eq!(lasting(&driver, always(ApprovalDecision::yes(Cause::Policy)), 1_099), 0);
    assert_eq!(lasting(&driver, always(yes()), 1_100), 0, "the question is over");
}

#[test]
fn pattern_with_tools_lasts_once_for_each_tool() {
    let digest = Digest::of("u1");
    let tools = vec![OfferedTool { name: "u".to_owned(), definition: digest }];
    let mut submission = plain(1);
    submission.request.patterns.push(OfferedPattern::any_arguments("t and u", tools));
    let entries = approvals_of(submission, for_pattern(yes(), 0).always());
    let found: Vec<_> = entries.iter().map(|entry| (entry.tool_name.as_str(), entry.definition)).collect();
    assert_eq!(found, [("t", None), ("u", Some(digest))]);
    assert!(entries.iter().all(|entry| entry.pattern.as_ref().is_some_and(|pattern| pattern.any_payload)));
}
