//! Undo restores the files that the file tools replace, and the audit log names the commit.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::record::Record;
use askfirst::{Approval, ApprovalContext, Mode, Outcome, Policy, Rules, View};
use askfirst_config::Config;
use askfirst_runtime::rehearsal::{EditId, EditStore, UndoStore};
use askfirst_runtime::tools::filesystem::FileToolset;
use askfirst_runtime::{ApprovalController, ApprovalToolset, block_on};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::files::config;
use crate::fixture::{Records, call};

/// A root `w` in which writing needs no approval, with its state folder.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for (path, content) in [("a", "old\n"), ("sub/b", "b\n"), ("sub/deep/c", "c\n")] {
            project.put(path, content);
        }
        fs::create_dir(project.state()).unwrap();
        project
    }

    fn config(&self) -> Config {
        config(self.0.path(), &[("w", "w", Approval::None)])
    }

    fn state(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("state")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("w").join(path)
    }

    fn put(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Runs a call in a session of its own, and returns the result and the entries of the audit log.
    fn call_logged(&self, tool: &str, args: Value) -> (Outcome, Arc<Records>) {
        let records = Arc::new(Records::failing_from(None));
        let tools = FileToolset::with_state(&self.config(), &self.state()).unwrap();
        let controller = ApprovalController::setup(Mode::ApproveAll).build();
        let tools = ApprovalToolset::new(tools, controller, Policy::new(Rules::default()));
        let tools = tools.recorder(Arc::clone(&records) as _);
        (block_on(tools.call(call(tool, args))), records)
    }

    fn call(&self, tool: &str, args: Value) -> Value {
        match self.call_logged(tool, args).0 {
            Outcome::Done(value) => value,
            other => panic!("{tool}: {other:?}"),
        }
    }

    /// Returns why a call asks.
    fn asks(&self, tool: &str, args: Value) -> Option<String> {
        use askfirst::Toolset;
        let tools = FileToolset::with_state(&self.config(), &self.state()).unwrap();
        let call = ApprovalContext::new(tool, args.as_object().unwrap().clone());
        match tools.approval().unwrap().check_approval(&call).view {
            View::NeedsApproval(request) => {
                Some(request.facts.iter().find(|fact| fact.label == "why").unwrap().text.clone())
            }
            View::Harmless | View::Silent | View::Blocked(_) => None,
        }
    }

    fn undo_store(&self) -> UndoStore {
        UndoStore::open(&self.state(), &self.path("")).unwrap()
    }

    fn undo_last(&self) {
        let store = self.undo_store();
        store.undo(&store.last().unwrap().id).unwrap();
    }

    fn edits(&self) -> EditStore {
        EditStore::open(&self.config(), &self.state()).unwrap()
    }

    /// All files, with permissions and content.
    fn tree(&self) -> BTreeMap<PathBuf, (u32, String)> {
        let mut found = BTreeMap::new();
        let mut folders = vec![self.path("")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let mode = path.symlink_metadata().unwrap().permissions().mode();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path.clone());
                }
                found.insert(path.clone(), (mode, fs::read_to_string(&path).unwrap_or_default()));
            }
        }
        found
    }
}

#[test]
fn every_change_of_a_file_tool_is_undone() {
    let project = Project::new();
    let before = project.tree();
    for (tool, args) in [
        ("write_file", json!({"path": "w:a", "content": "new"})),
        ("write_file", json!({"path": "w:new", "content": "new"})),
        ("edit_file", json!({"path": "w:a", "old": "old", "new": "new"})),
        ("make_folder", json!({"path": "w:x/y/z"})),
        ("move_file", json!({"path": "w:a", "to": "w:moved"})),
        ("move_file", json!({"path": "w:sub", "to": "w:moved"})),
        ("move_file", json!({"path": "w:a", "to": "w:sub/b", "overwrite": true})),
        ("copy_file", json!({"path": "w:a", "to": "w:sub/b", "overwrite": true})),
        ("delete_file", json!({"path": "w:a"})),
        ("delete_file", json!({"path": "w:sub", "recursive": true})),
    ] {
        project.call(tool, args.clone());
        assert_ne!(project.tree(), before, "{tool}");
        project.undo_last();
        assert_eq!(project.tree(), before, "{tool} {args}");
    }
}

#[test]
fn undo_lists_calls_of_file_tools_with_their_paths() {
    let project = Project::new();
    project.call("write_file", json!({"path": "w:a", "content": "new"}));
    project.call("read_file", json!({"path": "w:a"}));
    project.call("make_folder", json!({"path": "w:sub"}));
    let store = project.undo_store();
    let [entry] = &store.list().unwrap()[..] else { panic!("{:?}", store.list()) };
    assert_eq!((entry.command.as_str(), entry.counts), ("write_file w:a", (0, 1, 0)));
    let [path] = &store.paths(&entry.id).unwrap()[..] else { panic!() };
    assert_eq!(
        (path.path.as_path(), path.change, path.sizes),
        (Path::new("a"), "changed", (Some(4), Some(3)))
    );
}

#[test]
fn audit_log_has_the_commit_of_a_file_tool() {
    let project = Project::new();
    let (_, records) = project.call_logged("write_file", json!({"path": "w:a", "content": "new"}));
    let records = records.all.lock().unwrap();
    let decided = records.iter().find_map(|(record, _)| match record {
        Record::Decided(entry) => Some(entry.call.call_id.clone()),
        _ => None,
    });
    let committed: Vec<_> = records
        .iter()
        .filter_map(|(record, _)| match record {
            Record::Committed(entry) => Some(entry.clone()),
            _ => None,
        })
        .collect();
    let last = project.undo_store().last().unwrap();
    assert_eq!(committed.len(), 1);
    assert_eq!((Some(&committed[0].call_id), &committed[0].commit), (decided.as_ref(), &last.id));
    assert_eq!(last.call_id, committed[0].call_id);
    assert!(project.undo_store().unlogged(std::time::Duration::ZERO).unwrap().is_empty());
}

#[test]
fn call_that_changes_nothing_leaves_nothing_to_undo() {
    let project = Project::new();
    for (tool, args) in [
        ("edit_file", json!({"path": "w:a", "old": "absent", "new": "x"})),
        ("move_file", json!({"path": "w:a", "to": "w:sub/b"})),
        ("delete_file", json!({"path": "w:sub"})),
        ("write_file", json!({"path": "w:none/x", "content": "x"})),
    ] {
        let (outcome, _) = project.call_logged(tool, args);
        assert!(matches!(outcome, Outcome::Failed(_)), "{tool}: {outcome:?}");
    }
    assert!(project.undo_store().list().unwrap().is_empty());
}

#[test]
fn loss_that_undo_could_not_restore_is_asked_about() {
    let project = Project::new();
    let write = |path: &str| json!({"path": path, "content": "x"});
    assert_eq!(project.asks("write_file", write("w:a")), None);
    fs::remove_dir_all(project.state()).unwrap();
    fs::write(project.state(), "no folder").unwrap();
    for (tool, args) in [
        ("write_file", write("w:a")),
        ("delete_file", json!({"path": "w:sub/b"})),
        ("move_file", json!({"path": "w:a", "to": "w:b"})),
    ] {
        let why = project.asks(tool, args).unwrap();
        assert!(why.contains("it could not be undone"), "{tool}: {why}");
    }
    assert_eq!(project.asks("write_file", write("w:new")), None, "nothing is lost");
    for args in [&["init", "-q"][..], &["add", "sub"]] {
        let git = std::process::Command::new("git").current_dir(project.path("")).args(args).status();
        assert!(git.unwrap().success());
    }
    assert_eq!(project.asks("write_file", write("w:sub/b")), None, "git can restore it");
    project.put("sub/b", "changed\n");
    assert!(project.asks("write_file", write("w:sub/b")).is_some(), "git has another version");
    // Approved, it runs without undo.
    project.call("write_file", write("w:a"));
    assert_eq!(project.read("a"), "x");
}

#[test]
fn call_whose_undo_cannot_be_kept_changes_nothing() {
    use askfirst::{Invocation, ToolError, Toolset};
    let project = Project::new();
    let tools = FileToolset::with_state(&project.config(), &project.state()).unwrap();
    let run = |tool, args| block_on(tools.call(Invocation::new(call(tool, args))));
    run("write_file", json!({"path": "w:new", "content": "x"})).unwrap();
    // The store is open already, and nothing can be made in it anymore.
    fs::remove_dir_all(project.state().join("changes/commits")).unwrap();
    let before = project.tree();
    for (tool, args) in [
        ("write_file", json!({"path": "w:a", "content": "x"})),
        ("delete_file", json!({"path": "w:sub", "recursive": true})),
        ("move_file", json!({"path": "w:a", "to": "w:b"})),
    ] {
        let outcome = run(tool, args);
        let Err(ToolError::Failed(text)) = &outcome else { panic!("{tool}: {outcome:?}") };
        assert!(text.starts_with("nothing was changed, because undo could not restore it"), "{text}");
        assert!(!text.contains(&*project.state().to_string_lossy()), "a host path leaks: {text}");
    }
    assert_eq!(project.tree(), before);
}

#[test]
fn edit_of_another_program_is_recorded_by_a_second_process() {
    let project = Project::new();
    let id = project.edits().keep(&[project.path("a"), project.path("new/x")], "s-1", "Write a").unwrap();
    let text = id.to_string();
    project.put("a", "new\n");
    project.put("new/x", "x");
    let id: EditId = text.parse().unwrap();
    let commits = project.edits().settle(&id).unwrap();
    assert_eq!(commits.iter().map(|commit| commit.call_id.as_str()).collect::<Vec<_>>(), ["s-1"]);
    assert_eq!(project.edits().settle(&id).unwrap(), commits, "settled twice");
    let last = project.undo_store().last().unwrap();
    assert_eq!((last.command.as_str(), last.counts), ("Write a", (2, 1, 0)));
    project.undo_last();
    assert_eq!(project.read("a"), "old\n");
    assert!(!project.path("new").exists());
}

#[test]
fn edit_of_another_program_without_a_change_is_dropped() {
    let project = Project::new();
    let id = project.edits().keep(&[project.path("a")], "s-1", "Write a").unwrap();
    assert_eq!(project.edits().settle(&id).unwrap(), []);
    assert!(project.undo_store().list().unwrap().is_empty());
    assert!(project.edits().settle(&id).is_err(), "there is no such edit anymore");
    for text in ["", "+", "../a", "12+", "xyz"] {
        assert!(text.parse::<EditId>().is_err(), "{text}");
    }
}

#[test]
fn edit_that_was_never_settled_is_undone_all_the_same() {
    let project = Project::new();
    drop(project.edits().keep(&[project.path("a")], "s-1", "Write a").unwrap());
    assert!(project.undo_store().list().unwrap().is_empty(), "it has changed nothing yet");
    project.put("a", "new\n");
    drop(project.edits());
    assert_eq!(project.undo_store().unlogged(std::time::Duration::ZERO).unwrap().len(), 1);
    project.undo_last();
    assert_eq!(project.read("a"), "old\n");
}

#[test]
fn edit_through_a_link_keeps_the_link_and_its_target() {
    let project = Project::new();
    std::os::unix::fs::symlink("sub", project.path("way")).unwrap();
    std::os::unix::fs::symlink("../a", project.path("sub/link")).unwrap();
    let id = project.edits().keep(&[project.path("way/link")], "s-1", "Write way/link").unwrap();
    fs::write(project.path("way/link"), "new\n").unwrap();
    assert_eq!(project.read("a"), "new\n");
    project.edits().settle(&id).unwrap();
    project.undo_last();
    assert_eq!(project.read("a"), "old\n");
    let id = project.edits().keep(&[project.path("way/link")], "s-1", "Write way/link").unwrap();
    fs::remove_file(project.path("sub/link")).unwrap();
    fs::write(project.path("sub/link"), "file").unwrap();
    project.edits().settle(&id).unwrap();
    project.undo_last();
    assert_eq!(fs::read_link(project.path("sub/link")).unwrap(), Path::new("../a"));
}

#[test]
fn edit_outside_every_writable_root_is_refused() {
    let project = Project::new();
    let outside = project.0.path().canonicalize().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "x").unwrap();
    std::os::unix::fs::symlink(&outside, project.path("way")).unwrap();
    std::os::unix::fs::symlink(outside.join("f"), project.path("out")).unwrap();
    std::os::unix::fs::symlink("absent", project.path("broken")).unwrap();
    let paths = [
        outside.join("f"),
        project.path("way/f"),
        project.path("out"),
        project.path("../outside/f"),
        project.path("broken"),
        project.path("broken/x"),
        project.path(""),
        PathBuf::from("a"),
        PathBuf::from("/"),
    ];
    for path in paths {
        let kept = project.edits().keep(std::slice::from_ref(&path), "s-1", "Write");
        assert!(kept.is_err(), "{path:?}: {kept:?}");
    }
}
