//! Tests of requests, refusals and permits.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::permit::decided_entry;
use crate::ports::{Durability, RecordFailed, Recorder, Retention};
use crate::record::{DecidedRecord, Record};
use crate::request::{Action, Fact, simple_approval_request};
use crate::words::Approval::{Deny, Human, None as Free, OncePerSession, Required};
use crate::words::Cause;

fn mail() -> ApprovalContext {
    call("mail", json!({"to": "ada@example.org", "body": "the secret"})).with_metadata("caller", "agent 7")
}

#[test]
fn config_request_for_harmless_tool_shows_its_arguments() {
    let policy = policy(None, vec![("mail", vec![excluding(case(Required, 2), "body")])]);
    for own in [Assessment::harmless(), Assessment::silent()] {
        let call = mail();
        let request = judge(&call, &own, &policy).request().unwrap();
        assert_eq!(request.description, r#"mail(to="ada@example.org")"#);
        assert_eq!(request.payload, json!({"to": "ada@example.org"}));
        assert_eq!((&request.args, &request.exclude_keys), (&call.args, &vec!["body".to_owned()]));
        assert_eq!(request.caller.as_deref(), Some("agent 7"));
    }
}

#[test]
fn config_description_and_tool_payload_take_precedence() {
    let entry = excluding(described(case(Required, 2), "Mail to {to}: {body}"), "body");
    let policy = policy(None, vec![("mail", vec![entry])]);
    let call = mail();
    let request = judge(&call, &asks(Required), &policy).request().unwrap();
    assert_eq!(request.description, "Mail to ada@example.org: {body}");
    assert_eq!(request.payload, json!({"own": 1}));
    assert_eq!(request.exclude_keys, ["body"]);
}

#[test]
fn tool_description_stays_without_a_config_description() {
    let policy = policy(None, vec![("mail", vec![case(Human, 2)])]);
    let request =
        judge(&mail(), &asks(OncePerSession), &policy).request().map(|r| (r.description, r.approval));
    assert_eq!(request, Some(("the tool's description".to_owned(), Human)));
}

#[test]
fn config_can_only_raise_the_risk() {
    for own in [Risk::Low, Risk::High, Risk::Irreversible] {
        for config in [None, Some(Risk::Low), Some(Risk::High), Some(Risk::Irreversible)] {
            let mut entry = case(Required, 2);
            entry.risk = config;
            let policy = policy(None, vec![("mail", vec![entry])]);
            let request = ApprovalRequest { risk: own, ..ApprovalRequest::new("mail", "", json!({})) };
            let call = mail();
            let risk = judge(&call, &Assessment::needs_approval(request), &policy).request().unwrap().risk;
            assert_eq!(risk, own.max(config.unwrap_or_default()));
        }
    }
    let entries = vec![
        ("mail", vec![risky(case(Required, 2), Risk::Low)]),
        ("m*", vec![risky(case(None, 3), Risk::High)]),
    ];
    let policy = policy(None, entries);
    assert_eq!(judge(&mail(), &Assessment::silent(), &policy).request().unwrap().risk, Risk::High);
}

#[test]
fn request_always_shows_the_call_that_would_run() {
    let false_request = ApprovalRequest {
        args: json!({"to": "someone else"}).as_object().unwrap().clone(),
        ..ApprovalRequest::new("harmless_name", "d", json!({}))
    };
    let call = mail();
    let assessment = Assessment::needs_approval(false_request);
    let request = judge(&call, &assessment, &policy(None, vec![])).request().unwrap();
    assert_eq!((request.tool_name.as_str(), request.args), ("mail", call.args.clone()));
}

fn facts_of(call: &ApprovalContext, own: &Assessment, policy: &Policy, label: &str) -> Vec<String> {
    let facts = judge(call, own, policy).request().unwrap().facts.into_iter();
    facts.filter(|fact| fact.label == label).map(|fact| fact.text).collect()
}

fn at(line: u32, rule: &str, text: &str) -> Because {
    Because { rule: rule.into(), file: Some("c.yaml".into()), line: Some(line), text: text.into() }
}

#[test]
fn request_says_why_in_a_sentence_with_file_and_line() {
    let call = mail();
    let rule = Case::new(Some(Required), at(4, "tools.mail", "approval: required"));
    let by_rule = policy(None, vec![("mail", vec![rule])]);
    let says = |own: &Assessment, policy: &Policy| facts_of(&call, own, policy, "why");
    assert_eq!(
        says(&asks(Required), &by_rule),
        ["`tools.mail` says `approval: required` (c.yaml:4)"],
        "the deciding reason is the config's"
    );
    let none = policy(None, vec![]);
    assert_eq!(says(&Assessment::silent(), &none), ["no rule covers this tool"]);
    assert_eq!(says(&asks(Required), &none), ["this tool asks for approval on its own"]);
    let mut own = asks(Required);
    own.because.push(at(9, "sandbox.paths.w", "mode: rw"));
    assert_eq!(says(&own, &none), ["`sandbox.paths.w` says `mode: rw` (c.yaml:9)"]);
    own.facts.push(Fact::new("why", "a change in `w` needs approval (c.yaml:9)"));
    assert_eq!(says(&own, &none), ["a change in `w` needs approval (c.yaml:9)"]);
    assert_eq!(facts_of(&call, &own, &none, "rule"), ["sandbox.paths.w (c.yaml:9): mode: rw"]);
    own.unsettled = Some("the server changed this tool".to_owned());
    assert_eq!(says(&own, &none), ["the server changed this tool"]);
}

#[test]
fn reason_names_the_end_of_a_long_path() {
    for (file, expected) in [
        ("askfirst.yaml", "x (askfirst.yaml:4)"),
        ("sub/askfirst.yaml", "x (…/sub/askfirst.yaml:4)"),
        ("/home/ada/project/askfirst.yaml", "x (…/project/askfirst.yaml:4)"),
        ("/tmp/askfirst-bb70c3277b752a86/askfirst.yaml", "x (…/askfirst.yaml:4)"),
        ("/a.yaml", "x (/a.yaml:4)"),
    ] {
        let because = Because { file: Some(file.into()), ..at(4, "r", "t") };
        assert_eq!(because.after("x"), expected);
        assert_eq!(because.place(), format!("r ({file}:4)"));
    }
}

#[test]
fn why_never_repeats_the_word_of_the_approval() {
    for approval in [OncePerSession, Required, Human] {
        for own in [asks(approval), Assessment::silent()] {
            let policy = policy(None, vec![]);
            let request = judge(&mail(), &own, &policy).request().unwrap();
            let drawn = format!("{:?}", request.facts);
            assert!(
                !drawn.contains("tool's own assessment") && !drawn.contains("needs approval: "),
                "{drawn}"
            );
        }
    }
}

#[test]
fn config_description_is_the_action_with_its_values() {
    let entry = excluding(described(case(Required, 2), "Mail to {to}: {body}"), "body");
    let policy = policy(None, vec![("mail", vec![entry])]);
    let call = mail();
    let action = |own: &Assessment| judge(&call, own, &policy).request().unwrap().action;
    let expected = Action::new("Mail to ").value("ada@example.org").words(": ").words("{body}");
    assert_eq!(action(&asks(Required)), Some(expected));
    // The owner's words were about the tool as it was.
    let changed = Assessment { unsettled: Some("it changed".to_owned()), ..asks(Required) };
    assert_eq!(action(&changed), None);
}

#[test]
fn assessment_facts_are_shown_once_in_the_request() {
    let mut own = asks(Required);
    own.facts = vec![Fact::new("folder", "/w"), Fact::new("folder", "/w")];
    let request = judge(&mail(), &own, &policy(None, vec![])).request().unwrap();
    let folders: Vec<&Fact> = request.facts.iter().filter(|fact| fact.label == "folder").collect();
    assert_eq!(folders, [&Fact::new("folder", "/w")]);
}

#[test]
fn tool_reasons_follow_the_deciding_reason() {
    let mut own = asks(Required);
    own.because.push(Because {
        rule: "shell.rules[2]".into(),
        file: Some("b".into()),
        line: Some(4),
        text: "rm".into(),
    });
    let policy = policy(None, vec![("mail", vec![case(Deny, 2)])]);
    let call = mail();
    let refusal = judge(&call, &own, &policy).refusal().unwrap();
    let rules: Vec<&str> = refusal.because.iter().map(|because| &*because.rule).collect();
    assert_eq!(rules, ["tools@2", "shell.rules[2]"]);
    assert_eq!(refusal.to_string(), "`mail` was refused (policy): denied by `tools@2`: x");
}

/// A recorder that keeps the durability of each entry, or fails.
#[derive(Default)]
struct MemoryRecorder {
    fails: bool,
    kept: Mutex<Vec<Durability>>,
}

impl Recorder for MemoryRecorder {
    fn record(&self, _: &Record, durability: Durability) -> Result<(), RecordFailed> {
        if self.fails {
            return Err(RecordFailed("the disk is full".to_owned()));
        }
        self.kept.lock().unwrap().push(durability);
        Ok(())
    }
}

// invariant: 8
#[test]
fn permit_accepts_only_the_log_entry_of_its_own_call() {
    let (call, recorder) = (mail(), MemoryRecorder::default());
    let policy = policy(None, vec![("mail", vec![case(Free, 2)])]);
    let permit = || judge(&call, &Assessment::silent(), &policy).permit().unwrap();
    let wrong: [fn(&mut DecidedRecord); 4] = [
        |decided| decided.approved = false,
        |decided| decided.cause = Cause::Person,
        |decided| Arc::make_mut(&mut decided.call.call).args = crate::json::Args::new(),
        |decided| Arc::make_mut(&mut decided.call.call).tool_name = "post".to_owned(),
    ];
    for change in wrong {
        let permit = permit();
        let Record::Decided(mut decided) = decided_entry(&permit) else { panic!("not decided") };
        change(&mut decided);
        assert!(permit.record(&recorder, &Record::Decided(decided), Durability::Written).is_err());
    }
    let permit = permit();
    let Record::Decided(mut decided) = decided_entry(&permit) else { panic!("not decided") };
    assert!(
        permit
            .record(&recorder, &Record::Requested(Box::new(decided.call.clone())), Durability::Written)
            .is_err()
    );
    decided.call = decided.call.without(&call.args.keys().cloned().collect::<Vec<_>>());
    let silent = Assessment::silent();
    let judgement = judge(&call, &silent, &policy);
    let permit = judgement.permit().unwrap();
    assert!(permit.record(&recorder, &Record::Decided(decided), Durability::Written).is_ok());
    assert_eq!(recorder.kept.lock().unwrap().len(), 1);
    assert!(judgement.permit().is_none(), "a judgement gives only one permit");
}

#[test]
fn config_excluded_key_is_not_in_generated_texts() {
    let mut private = excluding(case(Required, 2), "body");
    private.approval = None;
    let policy = policy(None, vec![("mail", vec![private])]);
    let call = call("mail", json!({"to": "ada", "body": "between us"}));
    let args = &call.args;
    let own = simple_approval_request("mail", args, None, &[]);
    let generated = Assessment::needs_approval(own.clone());
    let judgement = judge(&call, &generated, &policy);
    assert!(judgement.memory_query().is_none(), "the payload is known only after the request is built");
    let request = judgement.request().unwrap();
    assert_eq!((&request.payload, &*request.description), (&json!({"to": "ada"}), "mail(to=\"ada\")"));
    assert_eq!(request.args, *args, "the prompt shows all arguments");
    let custom =
        ApprovalRequest { payload: json!({"b": "between us"}), description: "Send mail".into(), ..own };
    let custom = Assessment::needs_approval(custom);
    let request = judge(&call, &custom, &policy).request().unwrap();
    assert_eq!((&request.payload, &*request.description), (&json!({"b": "between us"}), "Send mail"));
}

#[test]
fn recorded_permit_returns_the_judged_call() {
    let (call, policy) = (mail(), policy(None, vec![("mail", vec![case(Free, 2)])]));
    let recorder = MemoryRecorder::default();
    let permit = judge(&call, &Assessment::silent(), &policy).permit().unwrap();
    assert_eq!((permit.call(), permit.cause()), (&call, Cause::Policy));
    let entry = decided_entry(&permit);
    let recorded = permit.record(&recorder, &entry, Durability::Written).unwrap();
    assert_eq!(*recorder.kept.lock().unwrap(), [Durability::Written]);
    assert_eq!(recorded.spend(), (call, None));
}

#[test]
fn failed_recorder_leaves_no_permit() {
    let (call, policy) = (mail(), policy(None, vec![("mail", vec![case(Free, 2)])]));
    let permit = judge(&call, &Assessment::silent(), &policy).permit().unwrap();
    let recorder = MemoryRecorder { fails: true, ..MemoryRecorder::default() };
    let entry = decided_entry(&permit);
    let result = permit.record(&recorder, &entry, Durability::Synced).map(drop);
    assert_eq!(result, Err(RecordFailed("the disk is full".to_owned())));
}

/// A recorder that keeps no entry.
struct NullRecorder;

impl Recorder for NullRecorder {
    fn record(&self, _: &Record, _: Durability) -> Result<(), RecordFailed> {
        Err(RecordFailed("this recorder keeps nothing".to_owned()))
    }

    fn keeps(&self) -> Retention {
        Retention::Nothing
    }
}

// invariant: 8
#[test]
fn permit_skips_the_log_only_if_the_recorder_keeps_nothing() {
    let (call, policy) = (mail(), policy(None, vec![("mail", vec![case(Free, 2)])]));
    let recorder = MemoryRecorder::default();
    let permit = judge(&call, &Assessment::silent(), &policy).permit().unwrap();
    let permit = permit.without_record(&recorder).map(drop).expect_err("this recorder keeps entries");
    assert_eq!(permit.call(), &call);
    assert_eq!(permit.without_record(&NullRecorder).unwrap().spend(), (call, None));
}

#[test]
fn only_an_allow_verdict_gives_a_permit() {
    for approval in Approval::ALL {
        let policy = policy(None, vec![("mail", vec![case(approval, 2)])]);
        assert_eq!(
            judge(&mail(), &asks(Required), &policy).permit().is_some(),
            approval == Free,
            "{approval}"
        );
    }
}
