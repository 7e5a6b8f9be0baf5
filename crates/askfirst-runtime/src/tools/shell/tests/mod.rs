//! The tools on a real folder, with a launcher that only writes down what it would start.

mod hidden;
mod memory;
mod paths;
mod readings;
mod rules;
mod running;
mod sandboxed;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use askfirst::ports::{Launch, LaunchFailed, Launcher, ProcessEnd, ProcessOutput, SandboxReport};
use askfirst::{
    Approval, ApprovalAware, ApprovalContext, ApprovalRequest, Assessment, CallId, Invocation, Shown,
    ToolError, Toolset, View,
};
use askfirst_config::{Config, LoadOptions, Places, load};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Masked, SandboxView, ShellToolset};
use crate::blocking::block_on;

/// A launcher that only notes which processes it would start.
#[derive(Default)]
pub(super) struct Book(Mutex<Vec<Launch>>);

impl Launcher for Book {
    fn launch(&self, launch: &Launch) -> Result<ProcessOutput, LaunchFailed> {
        self.0.lock().unwrap().push(launch.clone());
        Ok(ProcessOutput {
            ended: ProcessEnd::Exited(0),
            stdout: Vec::new(),
            stderr: Vec::new(),
            dropped: 0,
            walled: SandboxReport { tier: "none".to_owned(), violations: Vec::new() },
        })
    }
}

/// A project with a config.
pub(super) struct World {
    pub(super) folder: TempDir,
    pub(super) book: Arc<Book>,
    pub(super) tools: ShellToolset,
}

/// Creates a project with one root that allows reading and writing without asking, and these lines under `shell:`.
pub(super) fn world(shell: &str) -> World {
    world_with("", shell)
}

/// Creates a project like [`world`], with more lines under `sandbox:`.
pub(super) fn world_with(sandbox: &str, shell: &str) -> World {
    world_in(sandbox, shell, Box::new(Masked::No))
}

/// Creates a project like [`world_with`], for a launcher with this sandbox.
pub(super) fn world_in(sandbox: &str, shell: &str, view: Box<dyn SandboxView + Send + Sync>) -> World {
    let folder = tempfile::tempdir().unwrap();
    for name in ["src", "build", "sub"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    for name in ["README.md", "a.txt", "src/main.rs"] {
        std::fs::write(folder.path().join(name), "x\n").unwrap();
    }
    let text = format!(
        "version: 1\nsandbox:\n  require_os_sandbox: false\n  paths:\n    project: {{ root: ., mode: rw, approval: {{ write: none }} }}\n{sandbox}shell:\n{shell}"
    );
    std::fs::write(folder.path().join("askfirst.yaml"), text).unwrap();
    let config = config(&folder);
    let book = Arc::new(Book::default());
    let tools = ShellToolset::with_sandbox(&config, Arc::clone(&book) as _, view).unwrap();
    World { folder, book, tools }
}

fn config(folder: &TempDir) -> Config {
    let path = folder.path().canonicalize().unwrap();
    let places = Places {
        managed: path.join("none"),
        user: path.join("none"),
        state: path.join("state"),
        home: Some(path.join("home")),
    };
    let explicit = Some(path.join("askfirst.yaml"));
    load(&LoadOptions { explicit, folder: path, places }).unwrap_or_else(|faults| panic!("{faults}"))
}

impl World {
    pub(super) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(super) fn call(&self, args: Value) -> ApprovalContext {
        let tool = if args.get("argv").is_some() { "exec" } else { "shell" };
        // Equal arguments are one call in these tests.
        let mut hasher = DefaultHasher::new();
        args.to_string().hash(&mut hasher);
        let id = CallId::new(hasher.finish());
        ApprovalContext { id, ..ApprovalContext::new(tool, args.as_object().unwrap().clone()) }
    }

    pub(super) fn assess(&self, args: Value) -> Assessment {
        self.tools.check_approval(&self.call(args))
    }

    pub(super) fn says(&self, command: &str) -> Approval {
        approval(&self.assess(json!({"command": command})))
    }

    pub(super) fn request(&self, command: &str) -> ApprovalRequest {
        match self.assess(json!({"command": command})).view {
            View::NeedsApproval(request) => *request,
            view => panic!("`{command}` is not asked about: {view:?}"),
        }
    }

    pub(super) fn shown(&self, command: &str) -> Shown {
        let call = self.call(json!({"command": command}));
        self.tools.present(&call, &self.request(command))
    }

    pub(super) fn run(&self, args: Value, basis: Option<Value>) -> Result<Value, ToolError> {
        let mut invocation = Invocation::new(self.call(args));
        invocation.basis = basis;
        block_on(self.tools.call(invocation))
    }

    pub(super) fn launches(&self) -> Vec<Launch> {
        self.book.0.lock().unwrap().clone()
    }
}

pub(super) fn approval(assessment: &Assessment) -> Approval {
    assert!(assessment.firm && assessment.starts_process);
    match &assessment.view {
        View::Harmless => Approval::None,
        View::NeedsApproval(request) => request.approval,
        View::Blocked(_) => Approval::Deny,
        View::Silent => panic!("the tool has no opinion"),
    }
}
