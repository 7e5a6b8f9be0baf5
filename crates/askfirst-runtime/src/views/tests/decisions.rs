//! Modes, answers and memory.

use super::*;
use askfirst::ApprovalScope;

const ASKS: &str = "{ read: none }";

fn remembering() -> Project {
    Project::with(ASKS, "", "")
        .answering(|_, _| ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Session))
}

// invariant: 2
#[test]
fn modes_decide_about_effects_as_about_calls() {
    needs_views!("modes_decide_about_effects_as_about_calls");
    let free = Project::new();
    let asks = Project::with(ASKS, "", "");
    for (project, mode, script, is_kept) in [
        (&free, Mode::Interactive, "echo 1 > b", true),
        (&free, Mode::Strict, "echo 2 > b", true),
        (&free, Mode::ApproveAll, "echo 3 > b", true),
        (&free, Mode::Strict, "echo 4 > Makefile", false),
        (&free, Mode::ApproveAll, "echo 5 > Makefile", true),
        (&free, Mode::ApproveAll, "echo 6 > .git/config", false),
        (&asks, Mode::Interactive, "echo 7 > b", false),
        (&asks, Mode::Strict, "echo 8 > b", false),
        (&asks, Mode::ApproveAll, "echo 9 > b", true),
        (&asks, Mode::Strict, "cat b", true),
    ] {
        let session = Project { asked: Arc::default(), ..project.clone() }.mode(mode);
        let command = session.hide(script);
        let before = session.tree();
        let outcome = session.run(&command);
        assert_eq!(matches!(outcome, Outcome::Done(_)), is_kept, "{mode:?} {script}: {outcome:?}");
        assert_eq!(session.asked().is_empty(), mode != Mode::Interactive || is_kept, "{mode:?} {script}");
        assert!(is_kept || session.tree() == before, "{mode:?} {script}");
    }
}

// invariant: 2
#[test]
fn write_approval_human_is_not_approved_by_approve_all() {
    needs_views!("write_approval_human_is_not_approved_by_approve_all");
    let project = Project::with("{ read: none, write: human }", "", "").mode(Mode::ApproveAll);
    let command = project.hide("echo x > b");
    let before = project.tree();
    let outcome = project.run(&command);
    assert!(!matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert_eq!(project.tree(), before);
}

#[test]
fn no_returns_the_output_and_says_that_nothing_was_kept() {
    needs_views!("no_returns_the_output_and_says_that_nothing_was_kept");
    let project = Project::with(ASKS, "", "");
    let outcome = project.script("echo said; echo x > b");
    let Outcome::Denied(refusal) = &outcome else { panic!("{outcome:?}") };
    assert!(refusal.reason.contains("its changes were not kept"), "{refusal:?}");
    assert_eq!(refusal.output.as_ref().unwrap()["stdout"], "said\n");
    assert_eq!(refusal.changes, Some(askfirst::RefusedChanges::Discarded));
}

#[test]
fn no_to_the_changes_ends_the_run_under_on_denial_stop() {
    needs_views!("no_to_the_changes_ends_the_run_under_on_denial_stop");
    let project = Project::with(ASKS, "", "on_denial: stop\n");
    let session = project.session();
    let command = project.hide("echo x > b");
    let outcome = run_in(&session, &command);
    assert!(matches!(&outcome, Outcome::Denied(refusal) if refusal.ends_run), "{outcome:?}");
    let next = run_in(&session, "cat b");
    assert!(matches!(&next, Outcome::Denied(refusal) if refusal.cause == Cause::Cancelled), "{next:?}");
    // A refusal by the list of files does not end the run.
    let session = Project::with(FREE, "", "on_denial: stop\n");
    let open = session.session();
    session.hide("echo x > .git/config");
    let outcome = run_in(&open, "sh job");
    assert!(matches!(&outcome, Outcome::Denied(refusal) if !refusal.ends_run), "{outcome:?}");
    done(run_in(&open, "cat b"));
}

#[test]
fn remembered_answer_covers_such_changes_to_these_paths_only() {
    needs_views!("remembered_answer_covers_such_changes_to_these_paths_only");
    let project = remembering();
    let session = project.session();
    for (script, asked) in [
        ("echo 1 > b", 1),
        ("echo 2 > b", 1),
        ("echo 3 > b; echo 3 > src/a", 2),
        ("rm b", 3),
        ("echo 4 > b", 4),
        ("rm b", 4),
        ("echo 5 > b", 4),
        ("sleep 9 > /dev/null 2>&1 & echo 6 > b", 6),
    ] {
        project.hide(script);
        done(run_in(&session, "sh job"));
        assert_eq!(project.asked().len(), asked, "{script}: {:?}", project.asked());
    }
    project.hide("echo 7 > b");
    done(run_in(&session, "bash job"));
    assert_eq!(project.asked().len(), 7, "another command");
}

// invariant: 11
#[test]
fn remembered_answer_does_not_cover_another_shown_content() {
    needs_views!("remembered_answer_does_not_cover_another_shown_content");
    let project = remembering();
    let session = project.session();
    for (script, asked) in [("echo 1 > Makefile", 1), ("echo 2 > Makefile", 2), ("echo 3 > Makefile", 3)] {
        project.hide(script);
        done(run_in(&session, "sh job"));
        assert_eq!(project.asked().len(), asked, "{script}");
    }
}

#[test]
fn approved_command_still_asks_about_shown_files() {
    needs_views!("approved_command_still_asks_about_shown_files");
    let rule = "  rules: [ { pattern: sh job, approval: required } ]\n";
    let project = Project::with(FREE, "", rule).answering(|project, _| match project.asked().len() {
        1 => ApprovalDecision::yes(Cause::Person),
        _ => ApprovalDecision::no(Cause::Person),
    });
    let command = project.hide("echo x > Makefile; echo x > b");
    let before = project.tree();
    assert!(matches!(project.run(&command), Outcome::Denied(_)));
    assert_eq!(project.asked().len(), 2);
    assert_eq!(project.tree(), before);
}

#[test]
fn removals_are_asked_about_where_the_config_says_so() {
    needs_views!("removals_are_asked_about_where_the_config_says_so");
    let project = Project::with(FREE, "", "undo: { deletes: ask }\n");
    project.asks_about("rm -rf src", "it removes `root/src");
    done(project.script("echo x > b"));
}

#[test]
fn change_that_does_not_fit_into_the_undo_store_is_asked_about() {
    needs_views!("change_that_does_not_fit_into_the_undo_store_is_asked_about");
    let project = Project::with(FREE, "", "undo: { size: 1KiB }\n");
    project.write("large", &"x".repeat(4096));
    project.asks_about("echo x > large", "it could not be undone");
    done(project.script("echo x > new"));
}

#[test]
fn state_folder_in_a_root_makes_commands_ask() {
    needs_views!("state_folder_in_a_root_makes_commands_ask");
    let project = Project::new();
    let command = project.hide("echo x > b");
    let before = project.tree();
    let outcome = run_in(&project.session_with_state(project.path("state")), &command);
    assert!(matches!(outcome, Outcome::Denied(_)), "{outcome:?}");
    assert_eq!(project.asked().len(), 1);
    assert!(project.shown().contains("is in the root"), "{}", project.shown());
    fs::remove_dir_all(project.path("state")).unwrap();
    assert_eq!(project.tree(), before);
}

// invariant: 1
// invariant: 11
#[test]
fn broken_or_edited_answer_makes_no_changes() {
    needs_views!("broken_or_edited_answer_makes_no_changes");
    let edited = askfirst::Args::from_iter([("command".to_owned(), "echo other > b".into())]);
    let answers: [Answer; 2] = [
        Arc::new(|_, _| panic!("on purpose")),
        Arc::new(move |_, _| ApprovalDecision {
            edited_args: Some(edited.clone()),
            ..ApprovalDecision::yes(Cause::Person)
        }),
    ];
    for answer in answers {
        let project = Project { answer, ..Project::with(ASKS, "", "") };
        let command = project.hide("echo x > b");
        let before = project.tree();
        let outcome = project.run(&command);
        assert!(!matches!(outcome, Outcome::Done(_)), "{outcome:?}");
        assert_eq!(project.tree(), before);
    }
}

// invariant: 11
#[test]
fn remembered_command_is_asked_about_its_other_changes() {
    needs_views!("remembered_command_is_asked_about_its_other_changes");
    let project = Project::with(ASKS, "", "").answering(|project, _| match project.asked().len() {
        1 => ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Session),
        _ => ApprovalDecision::no(Cause::Person),
    });
    let config = fs::read_to_string(project.base().join("askfirst.yaml")).unwrap();
    let asks = config.replace("default: { approval: rehearse }", "default: { approval: once_per_session }");
    fs::write(project.base().join("askfirst.yaml"), asks).unwrap();
    let session = project.session();
    project.hide("echo 1 > b");
    done(run_in(&session, "sh job"));
    assert_eq!(project.asked().len(), 1, "{:?}", project.asked());
    // The words of the command are the same, but the script is another.
    project.hide("echo 2 > src/a");
    let before = project.tree();
    let outcome = run_in(&session, "sh job");
    assert!(matches!(outcome, Outcome::Denied(_)), "{outcome:?}");
    assert_eq!(project.asked().len(), 2, "{:?}", project.asked());
    assert_eq!(project.tree(), before);
}
