//! Tests of the user's own rules in a session: what is stored and logged, and what another process changes.

use std::fs;
use std::sync::{Arc, Mutex};

use askfirst::ports::{Durability, RecordFailed, Recorder};
use askfirst::record::Record;
use askfirst::{ApprovalDecision, ApprovalRequest, ApprovalScope, Cause, Mode, OfferedPattern};
use askfirst_config::{LoadOptions, Places, Project};
use askfirst_display::redact::Redactor;
use serde_json::{Value, json};

use super::{MAX_HELD, ProjectRules, holds_no_secret};
use crate::controller::ApprovalController;

/// A project in a temporary folder, and what its sessions log and print.
struct World {
    folder: tempfile::TempDir,
    log: Arc<Log>,
    warnings: Arc<Mutex<Vec<String>>>,
}

/// An audit log in memory, which can refuse to write.
#[derive(Default)]
struct Log {
    kinds: Mutex<Vec<String>>,
    is_full: Mutex<bool>,
}

impl Recorder for Log {
    fn record(&self, record: &Record, durability: Durability) -> Result<(), RecordFailed> {
        assert_eq!(durability, Durability::Synced);
        if *self.is_full.lock().unwrap() {
            return Err(RecordFailed("the disk is full".to_owned()));
        }
        let entry = serde_json::to_value(record).unwrap();
        self.kinds.lock().unwrap().push(format!("{} {}", entry["kind"].as_str().unwrap(), entry["rule"]));
        Ok(())
    }
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("shop/.git")).unwrap();
        Self { folder, log: Arc::default(), warnings: Arc::default() }
    }

    fn project(&self) -> Project {
        let state = self.folder.path().join("state");
        let places = Places { state, home: None, ..Places::from_env() };
        let folder = self.folder.path().join("shop");
        Project::find(&LoadOptions { explicit: None, folder, places }).unwrap()
    }

    fn rules(&self) -> ProjectRules {
        let warnings = Arc::clone(&self.warnings);
        let warn = move |text: &str| warnings.lock().unwrap().push(text.to_owned());
        ProjectRules::new(self.project(), Arc::default(), warn).recorder(Some(Arc::clone(&self.log) as _))
    }

    /// A controller whose person always gives this answer.
    fn controller(&self, answer: ApprovalDecision) -> ApprovalController {
        let setup = ApprovalController::setup(Mode::Interactive).callback(move |_| answer.clone());
        setup.project(Some(self.rules())).build()
    }

    fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock().unwrap())
    }

    fn logged(&self) -> Vec<String> {
        std::mem::take(&mut self.log.kinds.lock().unwrap())
    }
}

fn request(text: &str) -> ApprovalRequest {
    let args = json!({"text": text}).as_object().unwrap().clone();
    ApprovalRequest { args, ..ApprovalRequest::new("note", format!("note {text}"), json!({"text": text})) }
}

fn always() -> ApprovalDecision {
    ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Session).always()
}

fn cause_of(controller: &ApprovalController, text: &str) -> (bool, Cause) {
    let decision = controller.request_approval_sync(request(text));
    (decision.approved, decision.cause)
}

#[test]
fn lasting_yes_is_logged_stored_and_used_by_a_later_session() {
    let world = World::new();
    assert_eq!(cause_of(&world.controller(always()), "one"), (true, Cause::Person));
    assert_eq!(world.logged(), [r#"rule_added "note one""#]);
    let later = world.controller(ApprovalDecision::no(Cause::Person));
    assert_eq!(cause_of(&later, "one"), (true, Cause::Memory));
    assert_eq!(cause_of(&later, "two"), (false, Cause::Person));
    assert!(later.remembered().is_empty(), "the session's own memory is another one");
    assert_eq!(world.warnings(), Vec::<String>::new());
}

#[test]
fn change_by_another_process_counts_for_the_next_call() {
    let world = World::new();
    let running = world.controller(ApprovalDecision::no(Cause::Person));
    assert_eq!(cause_of(&running, "one"), (false, Cause::Person));
    assert_eq!(cause_of(&world.controller(always()), "one"), (true, Cause::Person));
    assert_eq!(cause_of(&running, "one"), (true, Cause::Memory), "a new rule");
    let project = world.project();
    project.revoke(1).unwrap().unwrap();
    assert_eq!(cause_of(&running, "one"), (false, Cause::Person), "a revoked rule");
}

// invariant: 1
#[test]
fn file_damaged_during_a_session_approves_nothing() {
    let world = World::new();
    let running = world.controller(ApprovalDecision::no(Cause::Person));
    assert_eq!(cause_of(&world.controller(always()), "one"), (true, Cause::Person));
    assert_eq!(cause_of(&running, "one"), (true, Cause::Memory));
    fs::write(world.project().file(), "{").unwrap();
    assert_eq!(cause_of(&running, "one"), (false, Cause::Person));
    let warnings = world.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("do not apply: cannot read"), "{warnings:?}");
    assert_eq!(cause_of(&running, "one"), (false, Cause::Person));
    assert!(world.warnings().is_empty(), "it is reported once");
}

#[test]
fn yes_that_cannot_be_stored_counts_once_and_says_why() {
    let world = World::new();
    let controller = world.controller(always());
    fs::create_dir_all(world.folder.path().join("state")).unwrap();
    fs::write(world.folder.path().join("state/projects"), "not a folder").unwrap();
    let decision = controller.request_approval_sync(request("one"));
    assert!(decision.approved && !decision.always && decision.remember == ApprovalScope::None);
    let warnings = world.warnings();
    assert!(warnings.last().unwrap().starts_with("approved only once: cannot"), "{warnings:?}");
    assert_eq!(world.logged(), [r#"rule_added "note one""#, r#"rule_removed "note one""#]);
    assert_eq!(cause_of(&controller, "one"), (true, Cause::Person), "the person is asked again");
}

// invariant: 8
#[test]
fn rule_that_cannot_be_logged_is_not_stored() {
    let world = World::new();
    *world.log.is_full.lock().unwrap() = true;
    let decision = world.controller(always()).request_approval_sync(request("one"));
    assert!(decision.approved && !decision.always);
    assert!(world.warnings()[0].contains("the disk is full"));
    assert!(!world.project().file().exists());
}

#[test]
fn request_with_a_secret_cannot_become_a_rule() {
    const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let redactor = Redactor::default();
    let holds = |change: &dyn Fn(&mut ApprovalRequest)| {
        let mut request = request("one");
        change(&mut request);
        holds_no_secret(&request, &redactor)
    };
    let pattern = |label: &str, field: &str| {
        let fields = json!({"text": field}).as_object().unwrap().clone();
        OfferedPattern::new(label, fields, [])
    };
    assert!(holds(&|_| ()));
    assert!(holds(&|request| request.patterns = vec![pattern("wider", "one")]));
    assert!(!holds(&|request| request.payload = json!({"text": TOKEN})));
    assert!(!holds(&|request| request.payload = json!(TOKEN)));
    assert!(!holds(&|request| request.payload = json!({"password": "hunter2hunter2"})));
    assert!(!holds(&|request| drop(request.args.insert("token".to_owned(), json!("hunter2hunter2")))));
    assert!(!holds(&|request| request.description = format!("note {TOKEN}")));
    assert!(!holds(&|request| request.patterns = vec![pattern(TOKEN, "one")]));
    assert!(!holds(&|request| request.patterns = vec![pattern("wider", TOKEN)]));
    // A value that must not be logged must not be stored either.
    let excluded = |request: &mut ApprovalRequest| {
        request.args.insert("body".to_owned(), json!("a private letter"));
        request.exclude_keys = vec!["body".to_owned()];
    };
    assert!(holds(&excluded));
    assert!(!holds(&|request| {
        excluded(request);
        request.payload = json!({"body": "a private letter"});
    }));
    assert!(!holds(&|request| {
        excluded(request);
        request.description = "send: a private letter".to_owned();
    }));
    let large = Value::String("x".repeat(MAX_HELD));
    assert!(!holds(&|request| request.payload = large.clone()));
}

#[test]
fn lasting_yes_to_a_secret_is_refused_and_not_stored() {
    let world = World::new();
    let mut secret = request("one");
    secret.payload = json!({"text": "ghp_0123456789abcdefghijABCDEFGHIJ012345"});
    let decision = world.controller(always()).request_approval_sync(secret);
    assert_eq!((decision.approved, decision.cause), (false, Cause::ApproverFailed));
    assert!(world.logged().is_empty() && !world.project().file().exists());
}
