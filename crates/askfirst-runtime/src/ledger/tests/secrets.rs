//! No secret reaches the disk, no matter which field of a record contains it.

use askfirst::record::{RevocationRecord, RuleRecord, TrustRecord};
use askfirst::{ApprovalDecision, Mode, Refusal};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn open_with(path: &Path, args: &[String], values: Vec<String>) -> Ledger {
    let redactor = Redactor::new(args, values).unwrap();
    let clock = Arc::new(Steps(AtomicU64::new(0)));
    Ledger::open(settings(path), SessionId::new(Timestamp(0)), Arc::new(redactor), clock).unwrap()
}

/// Returns records that contain `secret`, each in a different place.
fn records(secret: &str) -> Vec<Record> {
    let args = |key: &str, value: Value| Args::from_iter([(key.to_owned(), value)]);
    let edit = |change: &dyn Fn(&mut DecidedRecord)| {
        let Record::Decided(mut record) = decided("a", Args::new()) else { panic!() };
        change(&mut record);
        Record::Decided(record)
    };
    let long = format!("before {secret} after");
    vec![
        decided("a", args("x", json!(secret))),
        decided("a", args("x", json!([{"deep": [long]}]))),
        decided("a", args(secret, json!(1))),
        edit(&|record| Arc::make_mut(&mut record.call.call).tool_name = long.clone()),
        edit(&|record| Arc::make_mut(&mut record.call.call).metadata = args("caller", json!(long))),
        edit(&|record| Arc::make_mut(&mut record.call.call).metadata = args(secret, json!(1))),
        edit(&|record| record.call.payload = Some(json!({secret: [secret]}))),
        edit(&|record| record.call.description = Some(long.clone())),
        edit(&|record| record.call.left_out = vec![secret.to_owned()]),
        edit(&|record| record.call.because = vec![Because::built_in(secret, long.clone())]),
        edit(&|record| {
            let mut decision = ApprovalDecision::no(Cause::Person).with_note(long.clone());
            decision.edited_args = Some(args("x", json!(secret)));
            record.decision = Some(decision);
        }),
        edit(&|record| {
            record.refusal = Some(Refusal {
                note: Some(secret.to_owned()),
                because: vec![Because::built_in("x", secret.to_owned())],
                ..Refusal::new(secret, Cause::Person, long.clone())
            });
        }),
        Record::Executed(ExecutedRecord {
            call_id: "a".to_owned(),
            tool_name: "x".to_owned(),
            ended: Ending::Failed,
            result: None,
            error: Some(long.clone()),
            walled: None,
            took_ms: 0,
        }),
        Record::Session(SessionRecord {
            program: "askfirst".to_owned(),
            door: "call".to_owned(),
            mode: Mode::Interactive,
            policy: None,
            warnings: vec![long.clone()],
            origin: Some(origin(secret)),
        }),
        Record::Trusted(TrustRecord {
            file: secret.to_owned(),
            digest: askfirst::Digest::of("x"),
            loosens: vec![long.clone()],
        }),
        Record::Revoked(RevocationRecord {
            memory_id: 1,
            tool_name: secret.to_owned(),
            description: long.clone(),
            approved: true,
            by: origin(secret),
        }),
        Record::RuleAdded(RuleRecord { project: long.clone(), tool_name: "x".to_owned(), rule: long }),
    ]
}

fn origin(secret: &str) -> ProcessOrigin {
    let text = || secret.to_owned();
    ProcessOrigin { uid: 0, user: Some(text()), host: text(), terminal: Some(text()) }
}

fn assert_hidden(path: &Path, secret: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    let escaped = serde_json::to_string(secret).unwrap();
    assert!(!text.contains(secret) && !text.contains(escaped.trim_matches('"')), "{secret} is in {text}");
}

fn secrets() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Za-z0-9]{36}".prop_map(|rest| format!("ghp{}{rest}", "_")),
        "[A-Z0-9]{16}".prop_map(|rest| format!("AKIA{rest}")),
        "[a-z0-9]{30}".prop_map(|rest| format!("xoxb{}{rest}", "-")),
        "[A-Za-z0-9_-]{20}".prop_map(|part| format!("eyJ{part}.eyJ{part}.{part}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // invariant: 9
    #[test]
    fn secrets_of_a_known_shape_are_not_on_the_disk(secret in secrets()) {
        let (_folder, path) = scratch();
        let ledger = open(&path);
        records(&secret).iter().for_each(|record| ledger.append(record, Durability::Written).unwrap());
        assert_hidden(&path, &secret);
        prop_assert_eq!(faults(&path), Vec::<String>::new());
    }

    #[test]
    fn secrets_of_a_known_value_are_not_on_the_disk(secret in "[a-zA-Z0-9!-~äß😀\"\\\\]{10,24}") {
        let (_folder, path) = scratch();
        let ledger = open_with(&path, &[], vec![secret.clone()]);
        records(&secret).iter().for_each(|record| ledger.append(record, Durability::Written).unwrap());
        assert_hidden(&path, secret.trim());
        prop_assert_eq!(faults(&path), Vec::<String>::new());
    }

    #[test]
    fn secrets_under_a_telling_name_are_not_on_the_disk(secret in "[a-z]{12}", known in any::<bool>()) {
        let (_folder, path) = scratch();
        let name = if known { "password" } else { "favourite_colour" };
        let ledger = open_with(&path, &["favourite_*".to_owned()], Vec::new());
        let args = Args::from_iter([("deep".to_owned(), json!([{name: [secret]}]))]);
        let Record::Decided(mut record) = decided("a", args.clone()) else { panic!() };
        record.call.payload = Some(Value::Object(args.clone()));
        Arc::make_mut(&mut record.call.call).metadata = args.clone();
        record.decision = Some(ApprovalDecision { edited_args: Some(args), ..ApprovalDecision::no(Cause::Person) });
        ledger.append(&Record::Decided(record), Durability::Written).unwrap();
        assert_hidden(&path, &secret);
    }
}

#[test]
fn secret_of_a_command_is_not_in_its_payload() {
    let (_folder, path) = scratch();
    let ledger = open(&path);
    for (command, secret) in [
        ("mysql -phunter2secret", "hunter2secret"),
        ("mysql --password hunter2secret", "hunter2secret"),
        ("curl -u user:hunter2secret https://a.example", "hunter2secret"),
        ("sshpass -p hunter2secret ssh a", "hunter2secret"),
    ] {
        let args = Args::from_iter([("command".to_owned(), json!(command))]);
        let Record::Decided(mut record) = decided("a", args) else { panic!() };
        let words: Vec<&str> = command.split(' ').collect();
        let why = format!("nothing is known about `-2` in `{}`", words[1]);
        record.call.payload = Some(json!({"commands": [words], "why": [why]}));
        ledger.append(&Record::Decided(record), Durability::Written).unwrap();
        assert_hidden(&path, secret);
    }
}

#[test]
fn hidden_values_are_counted_and_have_no_digest() {
    let (_folder, path) = scratch();
    let ledger = open(&path);
    let args = Args::from_iter([("password".to_owned(), json!("hunter2")), ("x".to_owned(), json!(1))]);
    ledger.append(&decided("a", args.clone()), Durability::Written).unwrap();
    let Record::Decided(mut left_out) = decided("b", Args::new()) else { panic!() };
    left_out.call.left_out = vec!["body".to_owned()];
    ledger.append(&Record::Decided(left_out), Durability::Written).unwrap();
    let Record::Decided(mut note) = decided("c", Args::new()) else { panic!() };
    note.decision = Some(ApprovalDecision::no(Cause::Person).with_note("password=hunter2"));
    ledger.append(&Record::Decided(note), Durability::Written).unwrap();
    let found: Vec<(Option<u64>, bool)> = read(&path, Filter::default())
        .unwrap()
        .map(Result::unwrap)
        .map(|e| (e.fields.get("hidden").and_then(Value::as_u64), e.fields.contains_key("args_digest")))
        .collect();
    assert_eq!(found, [(Some(1), false), (Some(0), false), (Some(1), true)]);
}

#[test]
fn secret_equal_to_a_log_keyword_keeps_entry_readable() {
    let (_folder, path) = scratch();
    let values = ["policy", "decided", "allowed", "sha256"].map(str::to_owned).to_vec();
    let ledger = open_with(&path, &[], values);
    let args = Args::from_iter([("x".to_owned(), json!("the policy is decided"))]);
    ledger.append(&decided("a", args), Durability::Written).unwrap();
    let entry = find(&path, "a").unwrap().remove(0);
    let Some(Record::Decided(record)) = entry.record() else { panic!("{entry:?}") };
    assert_eq!(record.cause, Cause::Policy);
    assert_eq!(
        record.call.call.args["x"],
        json!("the ‹secret: known value, 6 characters› is ‹secret: known value, 7 characters›")
    );
}
