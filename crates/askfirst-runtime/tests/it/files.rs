//! The file tools in the pipeline: asked, shown, remembered, stale, and in groups.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::machine::Answer;
use askfirst::{
    Approval, ApprovalContext, ApprovalDecision, ApprovalPresentation, Because, Cause, Mode, Outcome, Policy,
    PresentationKind, Rules, ToolError,
};
use askfirst_config::{Config, PathApproval, PathConfig, PathMode, Settings};
use askfirst_display::diff::unified;
use askfirst_runtime::tools::filesystem::FileToolset;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use serde_json::{Value, json};

use crate::fixture::{Desk, Records, call, cause_of, for_session, no, policy, yes};

/// A config of roots that can be written, with one approval for writing.
pub(crate) fn config(folder: &Path, roots: &[(&str, &str, Approval)]) -> Config {
    let root = |(name, path, write): &(&str, &str, Approval)| {
        let root: PathBuf = folder.canonicalize().unwrap().join(path);
        std::fs::create_dir_all(&root).unwrap();
        let approval = PathApproval { read: Approval::None, write: *write, attach: *write };
        let origin = Because::built_in(&format!("sandbox.paths.{name}"), "a root");
        let config = PathConfig {
            root,
            mode: PathMode::Rw,
            suffixes: Vec::new(),
            max_file_bytes: None,
            products: Vec::new(),
            approval,
            origin,
        };
        ((*name).to_owned(), config)
    };
    let mut settings = Settings::default();
    settings.sandbox.paths = roots.iter().map(root).collect::<BTreeMap<_, _>>();
    Config::alone(settings, folder.canonicalize().unwrap())
}

struct Office {
    folder: tempfile::TempDir,
    tools: Arc<ApprovalToolset>,
    desk: Desk,
    records: Arc<Records>,
}

fn office(mode: Mode, write: Approval, rules: Policy) -> Office {
    let folder = tempfile::tempdir().unwrap();
    let files =
        FileToolset::with_state(&config(folder.path(), &[("w", "w", write)]), &folder.path().join("state"))
            .unwrap();
    let desk = Desk::default();
    let records = Arc::new(Records::failing_from(None));
    let controller = ApprovalController::setup(mode).approver(Arc::new(desk.clone())).build();
    let tools = ApprovalToolset::new(files, controller, rules).recorder(Arc::clone(&records) as _);
    Office { folder, tools: Arc::new(tools), desk, records }
}

fn asking() -> Office {
    office(Mode::Interactive, Approval::Required, Policy::new(Rules::default()))
}

impl Office {
    fn start(&self, tool: &str, args: Value) -> std::thread::JoinHandle<Outcome> {
        let (tools, call) = (Arc::clone(&self.tools), call(tool, args));
        std::thread::spawn(move || askfirst_runtime::block_on(tools.call(call)))
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(path)).ok()
    }

    fn write(&self, path: &str, content: &str) {
        std::fs::write(self.folder.path().join(path), content).unwrap();
    }
}

/// The diff that a page makes of it.
fn diff_of(presentation: &ApprovalPresentation) -> String {
    let text = |key: &str| presentation.metadata[key].as_str().unwrap();
    unified(&presentation.content, text("before"), text("after"))
}

#[test]
fn shown_diff_is_exactly_the_written_change() {
    let office = asking();
    office.write("w/a.md", "one\n");
    let running = office.start("write_file", json!({"path": "w:a.md", "content": "two\n"}));
    let question = office.desk.answer(yes());
    let item = &question.members[0];
    let presentation = item.request.presentation.as_ref().unwrap();
    assert_eq!(presentation.kind, PresentationKind::Diff);
    assert_eq!(diff_of(presentation), "--- w:a.md\n+++ w:a.md\n@@ -1 +1 @@\n-one\n+two\n");
    assert!(matches!(running.join().unwrap(), Outcome::Done(_)));
    assert_eq!(office.read("w/a.md").as_deref(), Some("two\n"));
}

#[test]
fn callback_gets_the_diff() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), &[("w", "w", Approval::Required)]);
    std::fs::write(folder.path().join("w/a"), "one\n").unwrap();
    let controller = ApprovalController::interactive(|request| {
        let shown = request.presentation.as_ref().unwrap();
        let whole = shown.content.contains("\n-one\n+two\n") && !shown.metadata.contains_key("before");
        if whole { yes() } else { no() }
    });
    let tools = ApprovalToolset::new(
        FileToolset::with_state(&config, &folder.path().join("state")).unwrap(),
        controller,
        policy(&[]),
    );
    let args = json!({"path": "w:a", "content": "two\n"}).as_object().unwrap().clone();
    assert!(matches!(tools.call_sync("write_file", args), Outcome::Done(_)));
}

#[test]
fn refusal_changes_no_file() {
    let office = asking();
    let running = office.start("write_file", json!({"path": "w:a", "content": "x"}));
    office.desk.answer(no());
    assert_eq!(cause_of(&running.join().unwrap()), Some(Cause::Person));
    assert_eq!(office.read("w/a"), None);
}

#[test]
fn file_changed_while_shown_is_asked_about_again() {
    let office = asking();
    office.write("w/a", "one\n");
    let running = office.start("edit_file", json!({"path": "w:a", "old": "one", "new": "1"}));
    let (_, reply) = office.desk.next();
    office.write("w/a", "zero\none\n");
    reply.send(Answer::all(yes()));
    let question = office.desk.answer(yes());
    let content = diff_of(question.members[0].request.presentation.as_ref().unwrap());
    assert!(content.contains(" zero\n-one\n+1\n"), "{content}");
    assert!(matches!(running.join().unwrap(), Outcome::Done(_)));
    assert_eq!(office.read("w/a").as_deref(), Some("zero\n1\n"));
}

#[test]
fn session_approval_covers_one_file_with_any_content() {
    let office = asking();
    let running = office.start("write_file", json!({"path": "w:a", "content": "1"}));
    office.desk.answer(for_session());
    assert!(matches!(running.join().unwrap(), Outcome::Done(_)));
    let again = office.start("write_file", json!({"path": "./w/../w/a", "content": "2"}));
    assert!(matches!(again.join().unwrap(), Outcome::Done(_)));
    assert_eq!(office.read("w/a").as_deref(), Some("2"));
    let other = office.start("write_file", json!({"path": "w:b", "content": "2"}));
    office.desk.answer(no());
    assert_eq!(cause_of(&other.join().unwrap()), Some(Cause::Person));
}

#[test]
fn remembered_approval_ends_when_the_path_leads_elsewhere() {
    let office = asking();
    for folder in ["one", "two"] {
        std::fs::create_dir(office.folder.path().join("w").join(folder)).unwrap();
    }
    let link = office.folder.path().join("w/now");
    std::os::unix::fs::symlink("one", &link).unwrap();
    let args = json!({"path": "w:now/a", "content": "1"});
    let running = office.start("write_file", args.clone());
    office.desk.answer(for_session());
    assert!(matches!(running.join().unwrap(), Outcome::Done(_)));
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("two", &link).unwrap();
    let running = office.start("write_file", args);
    office.desk.answer(no());
    assert_eq!(cause_of(&running.join().unwrap()), Some(Cause::Person));
    assert_eq!((office.read("w/one/a").as_deref(), office.read("w/two/a")), (Some("1"), None));
}

#[test]
fn writes_of_one_batch_come_up_as_one_group_in_order() {
    let office = asking();
    let calls: Vec<ApprovalContext> = ["a", "b", "c"]
        .iter()
        .map(|name| {
            call("write_file", json!({"path": format!("w:{name}"), "content": name}))
                .with_metadata("batch_id", "1")
        })
        .collect();
    let tools = Arc::clone(&office.tools);
    let running = std::thread::spawn(move || askfirst_runtime::block_on(tools.call_many(calls)));
    let question = office.desk.answer(yes());
    let names: Vec<&str> = question.members.iter().map(|item| item.request.description.as_str()).collect();
    assert_eq!(names, ["Create w:a", "Create w:b", "Create w:c"]);
    assert!(running.join().unwrap().iter().all(|outcome| matches!(outcome, Outcome::Done(_))));
    assert_eq!(office.read("w/c").as_deref(), Some("c"));
}

#[test]
fn modes_and_blocks_hold_for_files() {
    let strict = office(Mode::Strict, Approval::Required, Policy::new(Rules::default()));
    let outcome = strict.start("write_file", json!({"path": "w:a", "content": ""})).join().unwrap();
    assert_eq!(cause_of(&outcome), Some(Cause::Mode));
    let all = office(Mode::ApproveAll, Approval::Required, policy(&[("write_file", Approval::None)]));
    assert!(matches!(
        all.start("write_file", json!({"path": "w:a", "content": ""})).join().unwrap(),
        Outcome::Done(_)
    ));
    for path in ["w:../x", "w:.git/hooks/pre-commit", "/etc/passwd"] {
        let outcome = all.start("write_file", json!({"path": path, "content": ""})).join().unwrap();
        assert_eq!(cause_of(&outcome), Some(Cause::Policy), "{path}");
    }
}

#[test]
fn exact_tool_name_loosens_a_root_and_a_glob_does_not() {
    let glob = office(Mode::Strict, Approval::Required, policy(&[("*", Approval::None)]));
    let outcome = glob.start("write_file", json!({"path": "w:a", "content": ""})).join().unwrap();
    assert_eq!(cause_of(&outcome), Some(Cause::Mode));
    let exact = office(Mode::Strict, Approval::Required, policy(&[("write_file", Approval::None)]));
    let outcome = exact.start("write_file", json!({"path": "w:a", "content": ""})).join().unwrap();
    assert!(matches!(outcome, Outcome::Done(_)));
}

#[test]
fn file_content_is_in_no_entry() {
    let office = asking();
    let running = office.start("write_file", json!({"path": "w:a", "content": "only for the file"}));
    office.desk.answer(yes());
    assert!(matches!(running.join().unwrap(), Outcome::Done(_)));
    let records = serde_json::to_string(&office.records.json()).unwrap();
    assert!(records.contains("write_file") && !records.contains("only for the file"), "{records}");
}

#[test]
fn write_to_a_file_that_keeps_changing_fails() {
    let office = asking();
    office.write("w/a", "0");
    let running = office.start("write_file", json!({"path": "w:a", "content": "x"}));
    for n in 1..=4 {
        let (_, reply) = office.desk.next();
        office.write("w/a", &"0".repeat(n + 1));
        reply.send(Answer::all(ApprovalDecision::yes(Cause::Person)));
    }
    assert!(matches!(running.join().unwrap(), Outcome::Failed(ToolError::Stale(_))));
    assert_eq!(office.read("w/a").as_deref(), Some("00000"));
}

#[test]
fn written_content_is_not_logged_even_without_a_request() {
    for write in [Approval::None, Approval::Required] {
        let office = office(Mode::ApproveAll, write, Policy::new(Rules::default()));
        let outcome =
            office.start("write_file", json!({"path": "w:a.md", "content": "between us"})).join().unwrap();
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
        let written = serde_json::to_string(&office.records.json()).unwrap();
        assert!(written.contains("a.md") && !written.contains("between us"), "{written}");
    }
}
