//! Attacks on rehearsals, through the whole pipeline and in the real sandbox.

mod decisions;
mod effects;
mod equivalence;
mod git;
mod logged;
mod meanwhile;
mod runs;
mod servers;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use askfirst::ports::{Durability, Launcher, RecordFailed, Recorder};
use askfirst::record::Record;
use askfirst::{
    ApprovalDecision, ApprovalMemory, ApprovalRequest, Cause, Mode, Outcome, SandboxStatus, ToolError,
};
use askfirst_config::{Config, LoadOptions, Places, load};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::controller::ApprovalController;
use crate::launcher::lazy_sandbox_status;
use crate::tools::shell::{Masked, ShellToolset};
use crate::toolset::ApprovalToolset;
use askfirst_rehearsal::UndoStore;

/// Answers a question. It may change files before.
type Answer = Arc<dyn Fn(&Project, &ApprovalRequest) -> ApprovalDecision + Send + Sync>;

/// A project in a git repository, with its state folder. Clones are other sessions on it.
#[derive(Clone)]
struct Project {
    folder: Arc<TempDir>,
    mode: Mode,
    answer: Answer,
    asked: Arc<Mutex<Vec<ApprovalRequest>>>,
    log: Arc<MemoryLog>,
}

/// Keeps all entries in memory. From `fail_from` on, it fails.
struct MemoryLog {
    entries: Mutex<Vec<Record>>,
    fail_from: AtomicUsize,
    count: AtomicUsize,
}

impl Recorder for MemoryLog {
    fn record(&self, record: &Record, _: Durability) -> Result<(), RecordFailed> {
        if self.count.fetch_add(1, Ordering::SeqCst) >= self.fail_from.load(Ordering::SeqCst) {
            return Err(RecordFailed("no space left on device".to_owned()));
        }
        self.entries.lock().unwrap().push(record.clone());
        Ok(())
    }
}

impl MemoryLog {
    fn new() -> Arc<Self> {
        let entries = Mutex::default();
        Arc::new(Self { entries, fail_from: AtomicUsize::new(usize::MAX), count: AtomicUsize::new(0) })
    }

    fn json(&self) -> Vec<Value> {
        self.entries.lock().unwrap().iter().map(|record| serde_json::to_value(record).unwrap()).collect()
    }
}

/// Whether nothing can run on a view here, so that a test must be skipped.
fn is_skipped(name: &str) -> bool {
    // This test program is its own helper. Later calls find the first result.
    askfirst_sandbox::run_helper_if_requested();
    let works = probe_machine().sandbox(Tier::Full);
    if let Err(why) = &works {
        crate::skip::skip(name, &format!("no sandbox works here: {why}"));
    }
    works.is_err()
}

/// Returns from a test where nothing can run on a view.
macro_rules! needs_views {
    ($name:expr) => {
        if crate::views::tests::is_skipped($name) {
            return;
        }
    };
}
use needs_views;

const FREE: &str = "{ read: none, write: none }";

impl Project {
    fn new() -> Self {
        Self::with(FREE, "products: [out]", "")
    }

    /// Creates a project with this approval of its root, more keys of the root, and more lines of the config.
    fn with(approval: &str, keys: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["root/src", "state", "home"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let keys = if keys.is_empty() { String::new() } else { format!(", {keys}") };
        let text = format!(
            "version: 1\nsandbox:\n  paths:\n    project: {{ root: ./root, mode: rw, approval: {approval}{keys} }}\n\
             shell:\n  default: {{ approval: rehearse }}\n  network: required\n  known_read_only: none\n{more}"
        );
        fs::write(folder.path().join("askfirst.yaml"), text).unwrap();
        let project = Self {
            folder: Arc::new(folder),
            mode: Mode::Interactive,
            answer: Arc::new(|_, _| ApprovalDecision::no(Cause::Person)),
            asked: Arc::default(),
            log: MemoryLog::new(),
        };
        project.write(".gitignore", "*.ignored\nout/\n").write("src/a", "a\n").write("b", "b\n");
        project.git("init -q -b main && git config gc.auto 0 && git config user.name A");
        project.git("config user.email a@example.com && git add . && git commit -qm one");
        project
    }

    fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    fn yes(self) -> Self {
        self.answering(|_, _| ApprovalDecision::yes(Cause::Person))
    }

    fn answering(
        self,
        answer: impl Fn(&Self, &ApprovalRequest) -> ApprovalDecision + Send + Sync + 'static,
    ) -> Self {
        Self { answer: Arc::new(answer), ..self }
    }

    fn base(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base().join("root").join(name)
    }

    fn state(&self) -> PathBuf {
        self.base().join("state")
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn git(&self, args: &str) {
        let done = std::process::Command::new("sh")
            .args(["-ec", &format!("git {args}")])
            .current_dir(self.path(""))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", "/nonexistent")
            .env("GIT_AUTHOR_DATE", "1700000000 +0000")
            .env("GIT_COMMITTER_DATE", "1700000000 +0000")
            .output()
            .unwrap();
        assert!(done.status.success(), "git {args}: {done:?}");
    }

    fn config(&self) -> Config {
        let base = self.base();
        let places = Places {
            managed: base.join("none"),
            user: base.join("none"),
            state: self.state(),
            home: Some(base.join("home")),
        };
        let options = LoadOptions { explicit: Some(base.join("askfirst.yaml")), folder: base, places };
        load(&options).unwrap_or_else(|faults| panic!("{faults}"))
    }

    /// Opens a session.
    fn session(&self) -> ApprovalToolset {
        self.session_with_state(self.state())
    }

    fn session_with_state(&self, state: PathBuf) -> ApprovalToolset {
        let config = self.config();
        let launcher = Arc::new(SandboxLauncher::new(config.clone()).with_state(state));
        let views = Arc::clone(&launcher);
        let policy = config.policy(SandboxStatus::default());
        let policy = policy.with_sandbox_probe(lazy_sandbox_status(&config));
        let policy = policy.with_rehearsal_probe(move || views.view_obstacle());
        let tools = ShellToolset::with_sandbox(&config, launcher, Box::new(Masked::BySandbox)).unwrap();
        let project = self.clone();
        let controller = ApprovalController::setup(self.mode)
            .memory(ApprovalMemory::new(None))
            .callback(move |request| {
                project.asked.lock().unwrap().push(request.clone());
                (project.answer)(&project, request)
            })
            .build();
        ApprovalToolset::new(tools, controller, policy)
            .recorder(Arc::clone(&self.log) as _)
            .on_denial(config.main.on_denial)
    }

    /// Runs a command in a session of its own.
    fn run(&self, command: &str) -> Outcome {
        run_in(&self.session(), command)
    }

    /// Runs a script that the analysis of the command cannot see through.
    fn script(&self, text: &str) -> Outcome {
        self.run(&self.hide(text))
    }

    /// Writes a script into the root, and returns the command that runs it. The root does not show the script as a change.
    fn hide(&self, text: &str) -> String {
        fs::write(self.path("job"), text).unwrap();
        "sh job".to_owned()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|request| request.description.clone()).collect()
    }

    /// All that a person is shown with the last question.
    fn shown(&self) -> String {
        let asked = self.asked.lock().unwrap();
        let Some(request) = asked.last() else { return String::new() };
        let facts: Vec<String> = request.facts.iter().map(|fact| format!("{fact:?}")).collect();
        format!("{}\n{}\n{:?}", request.description, facts.join("\n"), request.presentation)
    }

    /// Every path of the root with its content and mode, apart from the script.
    fn tree(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::MetadataExt;
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.path("")];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let meta = fs::symlink_metadata(&path).unwrap();
                let mut content = Vec::new();
                if meta.is_dir() {
                    waiting.push(path.clone());
                } else if meta.is_symlink() {
                    content = fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec();
                } else if meta.is_file() {
                    content = fs::read(&path).unwrap();
                }
                if path != self.path("job") {
                    found.insert(path, (meta.mode(), content));
                }
            }
        }
        found
    }

    /// Runs a script, which must be asked about for this reason. The answer is no, and nothing may change.
    fn asks_about(&self, script: &str, reason: &str) {
        let command = self.hide(script);
        let before = self.tree();
        self.asked.lock().unwrap().clear();
        let outcome = self.run(&command);
        assert!(matches!(outcome, Outcome::Denied(_)), "{script}: {outcome:?}");
        assert_eq!(self.asked().len(), 1, "{script}: {outcome:?}");
        assert!(self.shown().contains(reason), "{script}: {}", self.shown());
        assert_eq!(self.tree(), before, "{script}");
    }

    /// Runs a script, which must be refused without a question, with these words.
    fn refuses(&self, script: &str, words: &str) {
        let command = self.hide(script);
        let before = self.tree();
        let asked = self.asked().len();
        let outcome = self.run(&command);
        let Outcome::Denied(refusal) = &outcome else { panic!("{script}: {outcome:?}") };
        assert!(refusal.reason.contains(words), "{script}: {}", refusal.reason);
        assert_eq!(self.asked().len(), asked, "{script}");
        assert_eq!(self.tree(), before, "{script}");
    }

    fn undo_store(&self) -> UndoStore {
        UndoStore::open(&self.state(), &self.base()).unwrap()
    }

    /// The layers of the views that are open now.
    fn layers(&self) -> Vec<PathBuf> {
        let commits = fs::read_dir(self.state().join("changes/commits")).unwrap();
        commits.map(|entry| entry.unwrap().path().join("upper")).filter(|path| path.is_dir()).collect()
    }
}

fn run_in(session: &ApprovalToolset, command: &str) -> Outcome {
    run_with(session, json!({"command": command, "cwd": "root"}))
}

fn run_with(session: &ApprovalToolset, args: Value) -> Outcome {
    session.call_sync("shell", args.as_object().unwrap().clone())
}

/// The result of a command that ran with exit code 0.
fn done(outcome: Outcome) -> Value {
    match outcome {
        Outcome::Done(value) => value,
        other => panic!("{other:?}"),
    }
}

fn exit_code(outcome: &Outcome) -> Option<i64> {
    match outcome {
        Outcome::Done(value) | Outcome::Failed(ToolError::Ended { result: value, .. }) => {
            value["exit_code"].as_i64()
        }
        Outcome::Denied(_) | Outcome::Failed(_) => None,
    }
}
