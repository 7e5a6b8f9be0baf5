//! The file tools are judged like commands: by what they would change, even in a root whose writes need no approval.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use askfirst::toolset::Toolset;
use askfirst::{Approval, ApprovalContext, Invocation, ToolError, View};
use askfirst_runtime::tools::filesystem::FileToolset;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::files::config;

/// A root `w` in a git repository, in which writing needs no approval.
struct Project {
    folder: TempDir,
    tools: FileToolset,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path(), &[("w", "w", Approval::None)]);
        let state = folder.path().join("state");
        let tools = FileToolset::with_state(&config, &state).unwrap();
        let project = Self { folder, tools };
        project.git(&["init", "-q"]);
        project
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("w").join(path)
    }

    fn git(&self, args: &[&str]) {
        let command = Command::new("git").current_dir(self.path("")).args(args).output().unwrap();
        assert!(command.status.success(), "{command:?}");
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Returns the reason why a call asks, or nothing if it does not ask.
    fn asks(&self, tool: &str, args: Value) -> Option<String> {
        let call = ApprovalContext::new(tool, args.as_object().unwrap().clone());
        match self.tools.approval().unwrap().check_approval(&call).view {
            View::Harmless => None,
            View::NeedsApproval(request) => {
                assert!(request.patterns.is_empty(), "only exactly this call may be remembered");
                Some(request.facts.iter().find(|fact| fact.label == "why").unwrap().text.clone())
            }
            other => panic!("{tool}: {other:?}"),
        }
    }

    fn run(&self, tool: &str, args: Value) -> Result<Value, ToolError> {
        let call = ApprovalContext::new(tool, args.as_object().unwrap().clone());
        askfirst_runtime::block_on(self.tools.call(Invocation::new(call)))
    }

    #[track_caller]
    fn assert_asks(&self, tool: &str, args: Value, why: &str) {
        let found = self.asks(tool, args.clone());
        assert!(found.as_ref().is_some_and(|found| found.contains(why)), "{tool} {args}: {found:?}");
    }

    #[track_caller]
    fn assert_free(&self, tool: &str, args: Value) {
        assert_eq!(self.asks(tool, args.clone()), None, "{tool} {args}");
    }
}

fn write(path: &str) -> Value {
    json!({"path": format!("w:{path}"), "content": "x"})
}

#[test]
fn change_of_a_shown_file_asks_in_a_free_root() {
    let project = Project::new();
    project.put("package.json", "{}").put("a", "x").put("sub/conftest.py", "x");
    let shown = [
        "package.json",
        "CLAUDE.md",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "Makefile",
        "conftest.py",
        "node_modules/.bin/tsc",
        ".venv/bin/python",
        "__pycache__/a.cpython-313.pyc",
        ".git/info/exclude",
    ];
    for path in shown {
        project.assert_asks("write_file", write(path), "it can run or control programs");
    }
    for (tool, args) in [
        ("edit_file", json!({"path": "w:package.json", "old": "{}", "new": "[]"})),
        ("move_file", json!({"path": "w:a", "to": "w:Makefile"})),
        ("move_file", json!({"path": "w:package.json", "to": "w:b"})),
        ("move_file", json!({"path": "w:sub", "to": "w:other"})),
        ("copy_file", json!({"path": "w:a", "to": "w:CLAUDE.md"})),
        ("delete_file", json!({"path": "w:package.json"})),
        ("delete_file", json!({"path": "w:sub", "recursive": true})),
    ] {
        project.assert_asks(tool, args, "it can run or control programs");
    }
    project.assert_free("read_file", json!({"path": "w:package.json"}));
    project.assert_free("copy_file", json!({"path": "w:package.json", "to": "w:b"}));
    project.assert_free("write_file", write("package-lock.json"));
    project.assert_free("write_file", write("src/main.rs"));
    project.assert_free("make_folder", json!({"path": "w:.github"}));
}

#[test]
fn link_to_or_named_like_a_shown_file_asks() {
    let project = Project::new();
    project.put("package.json", "{}").put("a", "x");
    symlink("package.json", project.path("plain")).unwrap();
    symlink("a", project.path("Makefile")).unwrap();
    project.assert_asks("write_file", write("plain"), "`package.json`");
    project.assert_asks("write_file", write("Makefile"), "`Makefile`");
}

#[test]
fn change_of_a_program_or_script_asks() {
    let project = Project::new();
    project.put("tool", "x").put("run.sh", "#!/bin/sh\n").put("plain", "x").put("readme", "usr/bin\n");
    fs::set_permissions(project.path("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    project.assert_asks("write_file", write("tool"), "it is a program");
    project.assert_asks("edit_file", json!({"path": "w:tool", "old": "x", "new": "y"}), "it is a program");
    project.assert_asks("copy_file", json!({"path": "w:tool", "to": "w:copy"}), "it is a program");
    project.assert_asks("move_file", json!({"path": "w:tool", "to": "w:moved"}), "it is a program");
    project.assert_asks("copy_file", json!({"path": "w:run.sh", "to": "w:copy"}), "it is a script");
    project.assert_asks("move_file", json!({"path": "w:run.sh", "to": "w:moved"}), "it is a script");
    let script = json!({"path": "w:new", "content": "#!/bin/sh\n"});
    project.assert_asks("write_file", script, "it is a script");
    let encoded = json!({"path": "w:new", "content": "IyEvYmluL3NoCg==", "encoding": "base64"});
    project.assert_asks("write_file", encoded, "it is a script");
    let edit = json!({"path": "w:readme", "old": "usr/", "new": "#!/"});
    project.assert_asks("edit_file", edit, "it is a script");
    project.assert_free("write_file", write("plain"));
    project.assert_free("edit_file", json!({"path": "w:readme", "old": "usr", "new": "opt"}));
}

#[test]
fn file_that_git_ignores_asks_for_file_tools_too() {
    let project = Project::new();
    project.put(".gitignore", "*.log\nbuild/\n").put("a.log", "x").put("a", "x");
    project.assert_asks("write_file", write("new.log"), "git ignores it");
    project.assert_asks("write_file", write("build/x"), "git ignores it");
    project.assert_asks("delete_file", json!({"path": "w:a.log"}), "git ignores it");
    project.assert_asks("move_file", json!({"path": "w:a", "to": "w:b.log"}), "git ignores it");
    project.assert_free("write_file", write("new.txt"));
}

#[test]
fn hostile_names_ask_for_file_tools_too() {
    let project = Project::new();
    for name in ["a\nb", "a\u{202e}b", "a\u{200b}"] {
        project.assert_asks("write_file", write(name), "its name has characters that a screen does not show");
    }
    project.assert_free("write_file", write("ä b.txt"));
}

#[test]
fn link_moved_so_that_it_leads_outside_asks() {
    let project = Project::new();
    project.put("sub/a", "x");
    symlink("../a", project.path("sub/link")).unwrap();
    project.assert_asks(
        "move_file",
        json!({"path": "w:sub/link", "to": "w:link"}),
        "leads out of the folder",
    );
}

#[test]
fn file_that_became_a_program_is_judged_again() {
    let project = Project::new();
    project.put("a", "x");
    let mut call = ApprovalContext::new("write_file", write("a").as_object().unwrap().clone());
    call.id = askfirst::CallId::new(7);
    let assessed = project.tools.approval().unwrap().check_approval(&call);
    assert_eq!(assessed.view, View::Harmless);
    fs::set_permissions(project.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = askfirst_runtime::block_on(project.tools.call(Invocation::new(call)));
    assert!(matches!(outcome, Err(ToolError::Stale(_))), "{outcome:?}");
    assert_eq!(fs::read_to_string(project.path("a")).unwrap(), "x");
}

#[test]
fn file_with_privileges_is_not_moved() {
    let project = Project::new();
    project.put("tool", "x").put("capable", "x");
    fs::set_permissions(project.path("tool"), fs::Permissions::from_mode(0o4755)).unwrap();
    let blocked = |name: &str, why: &str| {
        let args = json!({"path": format!("w:{name}"), "to": "w:moved"});
        let outcome = project.run("move_file", args);
        let Err(ToolError::Failed(text)) = &outcome else { panic!("{name}: {outcome:?}") };
        assert!(text.contains(why), "{name}: {text}");
        assert!(project.path(name).exists());
    };
    blocked("tool", "rights of its owner or group");
    let given = Command::new("setcap").arg("cap_net_raw+ep").arg(project.path("capable")).status();
    if given.is_ok_and(|status| status.success()) {
        blocked("capable", "it gives privileges");
    }
    project.assert_free("delete_file", json!({"path": "w:tool"}));
    project.assert_asks("write_file", write("tool"), "it is a program");
}

#[test]
fn never_written_file_is_blocked_in_a_free_root() {
    let project = Project::new();
    for path in [".git/hooks/pre-commit", ".git/config", ".claude/settings.json"] {
        let outcome = project.run("write_file", write(path));
        assert!(matches!(outcome, Err(ToolError::Failed(_))), "{path}: {outcome:?}");
        assert!(!Path::new(&project.path(".claude")).exists());
    }
}
