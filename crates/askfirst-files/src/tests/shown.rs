//! Tests of the presentations that a person sees.

use askfirst::PresentationKind;
use serde_json::json;

use super::super::basis::{self, Observation};
use super::super::file_call::FileCall;
use super::super::place::RootView;
use super::super::show;
use super::*;

fn world() -> World {
    World::new().root("w", "w", asking())
}

/// Computes the shown diff from the texts before and after.
fn diff(shown: &askfirst::ApprovalPresentation) -> String {
    let text = |key: &str| shown.metadata[key].as_str().unwrap();
    askfirst_display::diff::unified(&shown.content, text("before"), text("after"))
}

#[test]
fn overwrite_and_edit_are_shown_as_a_diff() {
    let world = world().put("w/a.md", "# A\n\none\ntwo\n");
    for (tool, args) in [
        ("write_file", json!({"path": "w:a.md", "content": "# A\n\n1\ntwo\n"})),
        ("edit_file", json!({"path": "w:a.md", "old": "one", "new": "1"})),
        ("edit_file", json!({"path": "w:a.md", "patch": "@@ -3 +3 @@\n-one\n+1\n"})),
    ] {
        let shown = world.shown(tool, args).1.presentation.unwrap();
        assert_eq!(shown.kind, PresentationKind::Diff);
        assert_eq!(diff(&shown), "--- w:a.md\n+++ w:a.md\n@@ -1,4 +1,4 @@\n # A\n \n-one\n+1\n two\n");
    }
}

#[test]
fn new_file_is_shown_with_language_and_size() {
    let (assessment, shown) =
        world().shown("write_file", json!({"path": "w:a.rs", "content": "fn a() {}\n"}));
    let View::NeedsApproval(request) = assessment.view else { panic!() };
    assert_eq!(request.description, "Create w:a.rs");
    let presentation = shown.presentation.unwrap();
    assert_eq!(presentation.kind, PresentationKind::FileContent);
    assert_eq!(
        (presentation.content.as_str(), presentation.language.as_deref()),
        ("fn a() {}\n", Some("rust"))
    );
    assert!(shown.facts.iter().any(|fact| fact.text == "10 bytes"));
    assert_eq!(shown.basis.unwrap(), json!({"at": ["w:a.rs"], "was": ["absent"]}));
}

#[test]
fn binary_content_is_shown_by_type_and_size() {
    let world = world().put("w/old.png", b"\x89PNG\0\0");
    let shown =
        world.shown("write_file", json!({"path": "w:a.png", "content": "iVBORwA=", "encoding": "base64"})).1;
    let content = shown.presentation.unwrap().content;
    assert!(content.starts_with("binary: PNG image, 5 bytes, sha256:"), "{content}");
    let shown = world.shown("write_file", json!({"path": "w:old.png", "content": "text"})).1;
    assert_eq!(shown.presentation.unwrap().content, "text");
    assert!(
        shown.facts.iter().any(|fact| fact.text.starts_with("binary: PNG image, 6 bytes")),
        "{:?}",
        shown.facts
    );
}

#[test]
fn move_and_delete_show_what_is_lost() {
    let world = world().put("w/a", "1").put("w/b", "22").put("w/d/x", "333").put("w/d/e/y", "1");
    let content = |tool: &str, args: Value| world.shown(tool, args).1.presentation.unwrap().content;
    assert_eq!(
        content("move_file", json!({"path": "w:a", "to": "w:b", "overwrite": true})),
        "file, 1 byte\nlost: the current w:b: file, 2 bytes"
    );
    assert_eq!(content("delete_file", json!({"path": "w:a"})), "lost: file, 1 byte");
    assert_eq!(
        content("delete_file", json!({"path": "w:d", "recursive": true})),
        "lost: folder with 2 files and 1 folder, 4 bytes"
    );
}

#[test]
fn action_names_the_files_as_the_person_knows_them() {
    let reading = PathApproval { read: Approval::Required, ..PathApproval::default() };
    let world = World::new().root("w", "w", PathConfig { approval: reading, ..asking() });
    let world = world.put("w/a", "1").put("w/sub/b.md", "2");
    let action = |tool: &str, args: Value| world.shown(tool, args).1.action.unwrap().to_string();
    for (tool, args, expected) in [
        ("edit_file", json!({"path": "w:a", "old": "1", "new": "2"}), "edit w/a"),
        ("edit_file", json!({"path": "w:a", "patch": "@@ -1 +1 @@\n-1\n+2\n"}), "patch w/a"),
        ("write_file", json!({"path": "w:new.md", "content": ""}), "create w/new.md"),
        ("write_file", json!({"path": "w:a", "content": ""}), "overwrite w/a"),
        ("make_folder", json!({"path": "w:x/y"}), "create the folder w/x/y"),
        ("delete_file", json!({"path": "w:sub/b.md"}), "delete w/sub/b.md"),
        ("move_file", json!({"path": "w:a", "to": "w:c"}), "move w/a to w/c"),
        ("copy_file", json!({"path": "w:a", "to": "w:c"}), "copy w/a to w/c"),
        ("read_file", json!({"path": "w:a"}), "read w/a"),
    ] {
        assert_eq!(action(tool, args), expected, "{tool}");
    }
    let shown = world.shown("edit_file", json!({"path": "w:a", "old": "nope", "new": ""})).1;
    assert_eq!(shown.action.unwrap().to_string(), "edit w/a", "also for a call that cannot run");
}

#[test]
fn request_says_why_with_the_root_and_its_line() {
    let approval = PathApproval { read: Approval::Human, ..PathApproval::default() };
    let world = World::new().root("w", "w", PathConfig { approval, ..asking() }).put("w/a", "1");
    let why = |tool: &str, args: Value| {
        let View::NeedsApproval(request) = world.shown(tool, args).0.view else { panic!("{tool}") };
        request.facts.iter().find(|fact| fact.label == "why").unwrap().text.clone()
    };
    let write = why("write_file", json!({"path": "w:b", "content": ""}));
    assert_eq!(write, "a change in `w` needs approval");
    let read = why("read_file", json!({"path": "w:a"}));
    assert_eq!(read, "reading in `w` needs a person's approval each time");
}

#[test]
fn edit_that_does_not_apply_is_shown_and_fails() {
    let world = world().put("w/a", "x");
    let args = json!({"path": "w:a", "old": "nope", "new": "y"});
    let shown = world.shown("edit_file", args.clone()).1;
    assert!(shown.presentation.unwrap().content.ends_with("the file does not contain the old text"));
    let outcome = call_with(&world.tools(), "edit_file", args, shown.basis);
    assert!(matches!(outcome, Err(ToolError::Failed(_))), "{outcome:?}");
}

#[test]
fn file_name_cannot_forge_a_diff_line() {
    let world = world().put("w/a\n+b", "1\n");
    let shown = world.shown("write_file", json!({"path": "w:a\n+b", "content": "2\n"})).1;
    let content = diff(&shown.presentation.unwrap());
    assert_eq!(content.lines().filter(|line| line.starts_with('+')).count(), 2, "{content}");
}

#[test]
fn new_content_of_a_large_file_is_shown_completely() {
    let line = "a line of some length that is repeated\n";
    let world = world().put("w/a", line.repeat(500_000));
    let shown = world.shown("write_file", json!({"path": "w:a", "content": "short"})).1;
    assert_eq!(shown.presentation.unwrap().content, "short");
    assert!(shown.facts.iter().any(|fact| fact.label == "diff"), "{:?}", shown.facts);
    let outcome =
        call_with(&world.tools(), "write_file", json!({"path": "w:a", "content": "short"}), shown.basis);
    outcome.unwrap();
}

#[test]
fn shown_content_and_basis_are_of_one_moment() {
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::{AtomicBool, Ordering};
    // Always the same file, so that its inode number cannot reveal the change.
    let world = world().put("w/a", "00000000\n");
    let file = std::fs::OpenOptions::new().write(true).open(world.path("w/a")).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1_u64.. {
                file.write_all_at(format!("{n:08}\n").as_bytes(), 0).unwrap();
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_micros(n % 300));
            }
        });
        let mut checked = 0;
        while checked < 300 {
            let shown = world.shown("write_file", json!({"path": "w:a", "content": "new\n"})).1;
            let shown_as = shown.presentation.unwrap();
            let Some(old) = shown_as.metadata.get("before").and_then(|text| text.as_str()) else {
                let content = shown_as.content;
                let is_error = content.starts_with("this call cannot run as requested");
                if !is_error || shown.basis != Some(Value::Null) {
                    stop.store(true, Ordering::Relaxed);
                    panic!("{content}: {:?}", shown.basis);
                }
                continue;
            };
            let digest = shown.basis.unwrap()["was"][0]["digest"].clone();
            if digest != json!(askfirst::Digest::of(old).to_string()) {
                stop.store(true, Ordering::Relaxed);
                panic!("the basis has another digest than the shown line {old}");
            }
            checked += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn shown_folder_totals_come_from_the_basis() {
    let world = world().put("w/d/a", "1").put("w/e/b", "2");
    let tools = world.tools();
    let view = RootView::new(&tools.roots);
    for (tool, args, expected) in [
        (
            "delete_file",
            json!({"path": "w:d", "recursive": true}),
            "lost: folder with 7 files and 8 folders, 9 bytes",
        ),
        ("move_file", json!({"path": "w:d", "to": "w:f"}), "folder with 7 files and 8 folders, 9 bytes"),
    ] {
        let call = FileCall::parse(tool, args.as_object().unwrap()).unwrap().unwrap();
        let plan = view.plan(&call).unwrap();
        let observation = Observation { totals: vec![Some((7, 8, 9)), None], ..Observation::default() };
        let (shown, _) = show::content(&view, &call, &plan, observation).unwrap();
        assert_eq!(shown.unwrap().content, expected);
    }
}

#[test]
fn write_during_presentation_is_noticed() {
    let world = world().put("w/a", "one");
    let tools = world.tools();
    let view = RootView::new(&tools.roots);
    let args = json!({"path": "w:a", "content": "new"});
    let call = FileCall::parse("write_file", args.as_object().unwrap()).unwrap().unwrap();
    let plan = view.plan(&call).unwrap();
    let (before, _) = basis::capture(&view, &call, &plan).unwrap();
    assert!(basis::is_unchanged(&view, &call, &plan, &before).unwrap());
    world.write("w/a", "three");
    assert!(!basis::is_unchanged(&view, &call, &plan, &before).unwrap());
}
