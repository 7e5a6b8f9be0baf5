//! Changes from outside while a command runs, while a person thinks, and between sessions.

use super::*;

// invariant: 11
#[test]
fn layer_altered_during_the_question_is_not_committed() {
    needs_views!("layer_altered_during_the_question_is_not_committed");
    let project = Project::with("{ read: none }", "", "").answering(|project, _| {
        if project.asked().len() == 1 {
            for layer in project.layers() {
                fs::write(layer.join("b"), "evil\n").unwrap();
                fs::write(layer.join("more"), "evil\n").unwrap();
            }
        }
        ApprovalDecision::yes(Cause::Person)
    });
    done(project.script("echo good > b"));
    assert_eq!(project.asked().len(), 2);
    assert_eq!(project.read("b"), "good\n");
    assert!(!project.path("more").exists());
}

// invariant: 11
#[test]
fn layer_that_is_always_altered_changes_nothing() {
    needs_views!("layer_that_is_always_altered_changes_nothing");
    let project = Project::with("{ read: none }", "", "").answering(|project, _| {
        for layer in project.layers() {
            fs::write(layer.join("b"), "evil\n").unwrap();
        }
        ApprovalDecision::yes(Cause::Person)
    });
    let command = project.hide("echo good > b");
    let before = project.tree();
    let outcome = project.run(&command);
    assert!(matches!(&outcome, Outcome::Failed(ToolError::Failed(why)) if why.contains("kept changing")));
    assert_eq!(project.tree(), before);
}

// invariant: 11
#[test]
fn file_edited_during_the_question_is_shown_again() {
    needs_views!("file_edited_during_the_question_is_shown_again");
    let project = Project::with("{ read: none }", "", "").answering(|project, _| {
        if project.asked().len() == 1 {
            project.write("b", "edited by the person\n");
        }
        ApprovalDecision::yes(Cause::Person)
    });
    done(project.script("echo more >> b"));
    assert_eq!(project.asked().len(), 2);
    assert!(project.shown().contains("edited by the person"), "{}", project.shown());
    assert_eq!(project.read("b"), "edited by the person\nmore\n");
}

#[test]
fn edit_of_another_file_during_the_question_stays() {
    needs_views!("edit_of_another_file_during_the_question_stays");
    let project = Project::with("{ read: none }", "", "").answering(|project, _| {
        project.write("src/a", "edited\n");
        ApprovalDecision::yes(Cause::Person)
    });
    done(project.script("echo more >> b"));
    assert_eq!(project.asked().len(), 1);
    assert_eq!((project.read("src/a"), project.read("b")), ("edited\n".into(), "b\nmore\n".into()));
}

#[test]
fn edit_is_in_the_undo_store_after_it_was_overwritten() {
    needs_views!("edit_is_in_the_undo_store_after_it_was_overwritten");
    let project = Project::with("{ read: none }", "", "").answering(|project, _| {
        if project.asked().len() == 1 {
            project.write("b", "edited\n");
        }
        ApprovalDecision::yes(Cause::Person)
    });
    done(project.script("echo new > b"));
    assert_eq!(project.read("b"), "new\n");
    let store = project.undo_store();
    store.undo(&store.last().unwrap().id).unwrap();
    assert_eq!(project.read("b"), "edited\n");
}

// invariant: 11
#[test]
fn two_sessions_on_one_root_lose_no_change() {
    needs_views!("two_sessions_on_one_root_lose_no_change");
    let project = Project::new();
    project.write("n", "0\n");
    fs::write(project.path("job"), "n=$(cat n); sleep 0.05; echo $((n + 1)) > n").unwrap();
    let turns = |project: Project| {
        let session = project.session();
        (0..6).filter(|_| matches!(run_in(&session, "sh job"), Outcome::Done(_))).count()
    };
    let other = project.clone();
    let finished: usize = std::thread::scope(|scope| {
        let other = scope.spawn(|| turns(other));
        turns(project.clone()) + other.join().unwrap()
    });
    assert_eq!(project.read("n"), format!("{finished}\n"));
    assert!(finished >= 6, "{finished}");
}

// invariant: 11
#[test]
fn run_that_others_outdate_each_time_changes_nothing() {
    needs_views!("run_that_others_outdate_each_time_changes_nothing");
    let project = Project::new();
    project.write("n", "0\n");
    fs::write(project.path("job"), "n=$(cat n); sleep 1; echo $((n + 1)) > b").unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = project.clone();
        let stop = &stop;
        scope.spawn(move || {
            let session = other.session();
            for i in 1.. {
                done(run_in(&session, &format!("echo {i} > n")));
                if stop.load(Ordering::SeqCst) {
                    break;
                }
            }
        });
        let outcome = project.run("sh job");
        stop.store(true, Ordering::SeqCst);
        assert!(format!("{outcome:?}").contains("nothing was changed"), "{outcome:?}");
    });
    assert_eq!(project.read("b"), "b\n");
}

// invariant: 11
#[test]
fn root_swapped_for_a_link_during_the_question_stays() {
    needs_views!("root_swapped_for_a_link_during_the_question_stays");
    let project = Project::with("{ read: none }", "", "").answering(|project, _| {
        let victim = project.base().join("home/victim");
        if !victim.exists() {
            fs::create_dir(&victim).unwrap();
            fs::write(victim.join("b"), "b\n").unwrap();
            fs::rename(project.path(""), project.base().join("moved")).unwrap();
            std::os::unix::fs::symlink(&victim, project.base().join("root")).unwrap();
        }
        ApprovalDecision::yes(Cause::Person)
    });
    let _ = project.script("echo evil > b");
    assert_eq!(fs::read_to_string(project.base().join("home/victim/b")).unwrap(), "b\n");
}

#[test]
fn undo_after_an_edit_is_a_conflict_and_keeps_the_edit() {
    needs_views!("undo_after_an_edit_is_a_conflict_and_keeps_the_edit");
    let project = Project::new();
    done(project.script("echo n > b; rm src/a"));
    project.write("b", "edited\n");
    let store = project.undo_store();
    let entry = store.last().unwrap();
    let error = store.undo(&entry.id).unwrap_err().to_string();
    assert!(error.contains('b'), "{error}");
    assert_eq!((project.read("b"), project.read("src/a")), ("edited\n".into(), String::new()));
    project.write("b", "n\n");
    assert!(store.last().unwrap().is_applied);
}

#[test]
fn undo_restores_removed_sources() {
    needs_views!("undo_restores_removed_sources");
    let project = Project::new();
    let before = project.tree();
    done(project.run("rm -rf src"));
    assert!(!project.path("src").exists());
    let store = project.undo_store();
    store.undo(&store.last().unwrap().id).unwrap();
    assert_eq!(project.tree(), before);
}
