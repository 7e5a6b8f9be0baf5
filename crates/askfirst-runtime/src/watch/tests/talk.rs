//! The messages between a watcher and the sessions that ask.

use askfirst::machine::LinesSeen;
use askfirst::{
    ApprovalPresentation, ApprovalScope, Args, Fact, Loosen, OfferedPattern, PresentationKind, Risk,
    Timestamp,
};
use serde_json::json;

use super::*;

fn rich(id: u64) -> Question {
    let mut question = question(id);
    let request = Arc::make_mut(&mut question.members[0].request);
    request.args =
        json!({"text": "a\u{202e}b", "n": 1.5, "deep": [[[{"k": null}]]]}).as_object().unwrap().clone();
    request.payload = json!({"text": "a"});
    request.facts = vec![Fact::new("host", "example.org")];
    let mut shown = ApprovalPresentation::new(PresentationKind::Diff, "-a\n+b\n").with_language("rust");
    shown.metadata = json!({"full_content": "all"}).as_object().unwrap().clone();
    request.presentation = Some(shown);
    request.risk = Risk::Irreversible;
    request.deadline = Some(Timestamp(1_800_000_000_000));
    request.caller = Some("a client".to_owned());
    let fields = request.payload.as_object().unwrap().clone();
    request.patterns = vec![OfferedPattern::new("any text", fields, [("text", Loosen::Any)])];
    request.exclude_keys = vec!["n".to_owned()];
    question.members[0].remembered_until = Some(Timestamp(1_800_000_000_001));
    question
}

#[test]
fn question_and_answer_cross_the_socket_unchanged() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let session = session(state.path(), "s1");
    let answers = ask(&session, rich(3));
    let mut shown = watched.person.question(1);
    let from = Arc::make_mut(&mut shown.members[0].request).facts.remove(0);
    assert_eq!(from.label, "comes from");
    let who = format!("mcp `notes` in /home/me/project (process {})", std::process::id());
    assert_eq!(from.text, who);
    assert_eq!(shown.members, rich(3).members, "nothing is lost on the way");
    let mut decision =
        ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Pattern).with_note("ok");
    decision.pattern = Some(0);
    decision.edited_args = Some(Args::new());
    let answer = Answer { decisions: vec![decision], seen: Some(LinesSeen { lines: 3, of: 9 }) };
    watched.person.answer(1, answer.clone());
    assert_eq!(answers.recv().unwrap(), answer);
}

#[test]
fn request_without_a_watcher_is_refused() {
    let state = tempfile::tempdir().unwrap();
    let answers = ask(&session(state.path(), "s1"), question(1));
    assert_eq!(cause(&answers), Cause::NoOneToAsk);
    let mut watched = WatchSession::at(state.path());
    assert_eq!(watched.leave(), WatchEnd::Stopped);
    assert_eq!(cause(&ask(&session(state.path(), "s1"), question(2))), Cause::NoOneToAsk);
    // A watcher that was killed leaves its socket behind.
    let watch = state.path().join("watch");
    drop(std::os::unix::net::UnixListener::bind(watch.join("socket")).unwrap());
    assert!(watch.join("socket").exists());
    assert_eq!(cause(&ask(&session(state.path(), "s1"), question(3))), Cause::NoOneToAsk);
    let watched = WatchSession::at(state.path());
    let session = session(state.path(), "s1");
    let answers = ask(&session, question(4));
    watched.person.answer(1, yes());
    assert_eq!(answers.recv().unwrap(), yes());
}

#[test]
fn request_is_refused_when_its_watcher_stops() {
    let state = tempfile::tempdir().unwrap();
    let mut watched = WatchSession::at(state.path());
    let session = session(state.path(), "s1");
    let answers = ask(&session, question(1));
    watched.person.question(1);
    watched.leave();
    assert_eq!(cause(&answers), Cause::TerminalLost);
}

#[test]
fn watcher_without_its_terminal_answers_and_ends() {
    let state = tempfile::tempdir().unwrap();
    let mut watched = WatchSession::at(state.path());
    let session = session(state.path(), "s1");
    let answers = ask(&session, question(1));
    watched.person.answer(1, Answer::failed(Cause::TerminalLost, "hung up"));
    assert_eq!(cause(&answers), Cause::TerminalLost);
    assert_eq!(watched.serving.take().unwrap().join().unwrap(), WatchEnd::TerminalLost);
    assert_eq!(cause(&ask(&session, question(2))), Cause::NoOneToAsk);
}

#[test]
fn several_sessions_are_asked_about_one_at_a_time_in_order() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let sessions: Vec<_> = (1..=3).map(|n| session(state.path(), &format!("s{n}"))).collect();
    let first = ask(&sessions[0], question(1));
    watched.person.question(1);
    // The second question has two more behind it.
    let second = ask(&sessions[1], Question { of: 3, ..question(1) });
    std::thread::sleep(Duration::from_millis(100));
    let third = ask(&sessions[2], question(1));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(watched.person.count(), 1, "one at a time");
    watched.person.answer(1, yes());
    assert_eq!(first.recv().unwrap(), yes());
    let shown = watched.person.question(2);
    assert_eq!((shown.position, shown.of), (2, 5));
    watched.person.answer(2, Answer::all(ApprovalDecision::no(Cause::Person)));
    assert_eq!(cause(&second), Cause::Person);
    assert_eq!(watched.person.question(3).position, 3);
    watched.person.answer(3, yes());
    assert_eq!(third.recv().unwrap(), yes());
}

#[test]
fn withdrawn_questions_leave_the_screen_and_the_queue() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let (one, other, last) =
        (session(state.path(), "s1"), session(state.path(), "s2"), session(state.path(), "s3"));
    let _shown = ask(&one, question(1));
    let id = watched.person.question(1).id;
    let _waiting = ask(&other, question(2));
    std::thread::sleep(Duration::from_millis(100));
    other.withdraw(QuestionId(2), Cause::Cancelled);
    std::thread::sleep(Duration::from_millis(100));
    one.withdraw(QuestionId(1), Cause::TimeOut);
    wait_for(|| (*watched.person.withdrawn.lock().unwrap() == [(id, Cause::TimeOut)]).then_some(()));
    let answers = ask(&last, question(3));
    assert_eq!(watched.person.question(2).members[0].request.description, "question 3");
    // An answer to a withdrawn question is ignored.
    watched.person.answer(1, yes());
    watched.person.answer(2, Answer::all(ApprovalDecision::no(Cause::Person)));
    assert_eq!(cause(&answers), Cause::Person);
}

#[test]
fn session_sends_only_the_secrets_in_the_question() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let (used, other) = ("correct horse battery staple", "another long and secret value");
    let look = DisplaySettings {
        preview_lines: 7,
        notify: askfirst_config::Notify::Bell,
        secret_args: vec!["pin".to_owned()],
        secret_values: vec![used.to_owned(), other.to_owned()],
    };
    let session = WatchApprover::new(state.path(), asker("s1"), look.clone(), |_| None);
    let mut asked = question(1);
    Arc::make_mut(&mut asked.members[0].request)
        .args
        .insert("text".to_owned(), format!("it is {used}.").into());
    let answers = ask(&session, asked);
    watched.person.answer(1, yes());
    assert_eq!(answers.recv().unwrap(), yes());
    let seen = watched.looks.lock().unwrap().clone();
    assert_eq!(seen, [DisplaySettings { secret_values: vec![used.to_owned()], ..look }]);
}

#[test]
fn question_carries_only_the_schemas_of_its_own_tools() {
    let state = tempfile::tempdir().unwrap();
    let watched = WatchSession::at(state.path());
    let schema = |name: &str| json!({"type": "object", "title": name});
    let find = move |name: &str| match name {
        "huge" => Some(json!({"description": "x".repeat(2 << 20)})),
        _ => Some(schema(name)),
    };
    let session = WatchApprover::new(state.path(), asker("s1"), DisplaySettings::default(), find);
    let taken = |tool: &str| watched.takes.lock().unwrap().of(tool);
    for (number, tool) in ["one", "two", "huge"].into_iter().enumerate() {
        let mut question = question(number as u64);
        Arc::make_mut(&mut question.members[0].request).tool_name = tool.to_owned();
        let answers = ask(&session, question);
        watched.person.question(number + 1);
        let known: Vec<&str> =
            ["one", "two", "huge"].into_iter().filter(|tool| taken(tool).is_some()).collect();
        assert_eq!(known, if tool == "huge" { vec![] } else { vec![tool] });
        watched.person.answer(number + 1, yes());
        answers.recv().unwrap();
    }
    assert_eq!(watched.looks.lock().unwrap().len(), 1, "one prompt");
}
