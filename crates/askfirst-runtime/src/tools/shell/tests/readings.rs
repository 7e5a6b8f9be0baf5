//! A line is read once per call, and again only if the file system changed how it reads.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use askfirst::{Approval, ToolError};
use serde_json::json;

use super::World;
use crate::tools::shell::scripts::{Scripts, read_script};

/// Creates a project whose tools count how often they read a command. Returns the count, too.
fn counting_world(shell: &str) -> (World, impl Fn() -> usize) {
    let mut world = super::world(shell);
    let readings = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&readings);
    let reader = move |wish: &_, base: &_, disk: &_| {
        count.fetch_add(1, Ordering::Relaxed);
        read_script(wish, base, disk)
    };
    Arc::get_mut(&mut world.tools.0).unwrap().scripts = Scripts::new(Box::new(reader));
    (world, move || readings.load(Ordering::Relaxed))
}

#[test]
fn asked_call_is_read_once_from_assessment_to_run() {
    let (world, readings) = counting_world("");
    for command in ["touch sub/x", "cd sub && touch x", "rm *.txt", "for f in src/*; do touch \"$f\"; done"] {
        let before = readings();
        let basis = world.shown(command).basis;
        world.run(json!({"command": command}), basis).unwrap();
        assert_eq!(readings() - before, 1, "{command}");
    }
    let args = json!({"argv": ["touch", "sub/x"]});
    let before = readings();
    world.assess(args.clone());
    world.run(args, None).unwrap();
    assert_eq!(readings() - before, 1);
}

#[test]
fn allowed_call_is_read_once() {
    let (world, readings) = counting_world("  rules: [ { pattern: 'ls', approval: none } ]\n");
    assert_eq!(world.says("cd src && ls"), Approval::None);
    world.run(json!({"command": "cd src && ls"}), None).unwrap();
    assert_eq!(readings(), 1);
}

#[test]
fn swapped_link_is_stale_whether_or_not_the_reading_saw_it() {
    // Only the verdict looks where `sub/x` leads; the reading itself looks where `cd` leads.
    for (command, expected) in [("touch sub/x", 1), ("cd sub && touch x", 2)] {
        let (world, readings) = counting_world("");
        let basis = world.shown(command).basis;
        std::fs::remove_dir(world.folder.path().join("sub")).unwrap();
        symlink("/etc", world.folder.path().join("sub")).unwrap();
        let args = json!({"command": command});
        assert!(matches!(world.run(args, basis), Err(ToolError::Stale(_))), "{command}");
        assert_eq!(readings(), expected, "{command}");
        assert!(world.launches().is_empty());
    }
}

#[test]
fn file_that_changes_the_expansion_leads_to_another_reading() {
    // While no name in the folder begins with a dash, no name that the wildcard finds is an option.
    let (world, readings) = counting_world("  rules: [ { pattern: 'rm', approval: none } ]\n");
    let args = json!({"command": "rm *.txt"});
    assert_eq!(world.says("rm *.txt"), Approval::None);
    world.write("-rf", "");
    assert!(matches!(world.run(args.clone(), None), Err(ToolError::Stale(_))));
    assert_eq!(readings(), 2);
    assert!(world.launches().is_empty());
    // The next assessment sees the file.
    assert_eq!(world.says("rm *.txt"), Approval::Required);
    assert_eq!(readings(), 3);
}

#[test]
fn change_before_the_presentation_is_shown() {
    let (world, readings) = counting_world("");
    let request = world.request("cd sub && touch x");
    std::fs::remove_dir(world.folder.path().join("sub")).unwrap();
    symlink("/etc", world.folder.path().join("sub")).unwrap();
    let call = world.call(json!({"command": "cd sub && touch x"}));
    let shown = askfirst::ApprovalAware::present(&world.tools, &call, &request);
    assert!(shown.basis.unwrap().to_string().contains("/etc"));
    assert_eq!(readings(), 2);
}

#[test]
fn script_that_was_dropped_is_read_again() {
    let (world, readings) = counting_world("");
    world.request("touch a.txt");
    for number in 0..8 {
        world.request(&format!("touch {number}"));
    }
    world.run(json!({"command": "touch a.txt"}), None).unwrap();
    assert_eq!(readings(), 10);
    world.run(json!({"command": "touch 0"}), None).unwrap();
    assert_eq!(readings(), 10, "the others are still kept");
}

#[test]
fn another_folder_or_form_is_another_reading() {
    let (world, readings) = counting_world("  default: { approval: none }\n");
    world.assess(json!({"command": "touch x"}));
    world.run(json!({"command": "touch x", "cwd": "src"}), None).unwrap();
    world.run(json!({"argv": ["touch", "x"]}), None).unwrap();
    assert_eq!(readings(), 3);
}
