//! The audit log of a rehearsal.

use super::*;

fn kinds(project: &Project) -> Vec<String> {
    project.log.json().iter().map(|entry| entry["kind"].as_str().unwrap().to_owned()).collect()
}

// invariant: 8
#[test]
fn entries_of_a_rehearsal_are_in_order_with_one_digest() {
    needs_views!("entries_of_a_rehearsal_are_in_order_with_one_digest");
    let project = Project::with("{ read: none }", "", "").yes();
    done(project.script("echo x > b"));
    assert_eq!(kinds(&project), ["decided", "rehearsed", "requested", "decided", "committed", "executed"]);
    let log = project.log.json();
    assert_eq!(log[0]["verdict"], "rehearse", "{}", log[0]);
    let digest = &log[1]["changes"];
    assert!(digest.is_string());
    assert_eq!((&log[3]["changes"], &log[4]["changes"]), (digest, digest));
    let call = log[0]["call_id"].as_str().unwrap();
    assert_eq!(log[3]["call_id"], format!("{call}.1"));
    for entry in [1, 4, 5] {
        assert_eq!(log[entry]["call_id"], call, "{}", log[entry]);
    }
    assert_eq!(log[4]["commit"], project.undo_store().last().unwrap().id);
}

// invariant: 8
#[test]
fn discarded_changes_leave_no_commit_entry() {
    needs_views!("discarded_changes_leave_no_commit_entry");
    let project = Project::with("{ read: none }", "", "");
    let _ = project.script("echo x > b");
    assert_eq!(kinds(&project), ["decided", "rehearsed", "requested", "decided", "executed"]);
    let log = project.log.json();
    assert_eq!((&log[3]["approved"], &log[4]["ended"]), (&false.into(), &"discarded".into()));
    assert!(project.undo_store().list().unwrap().is_empty());
}

// invariant: 8
// invariant: 11
#[test]
fn changes_whose_decision_cannot_be_logged_are_not_made() {
    needs_views!("changes_whose_decision_cannot_be_logged_are_not_made");
    for fail_from in 0..6 {
        let project = Project::with("{ read: none }", "", "").yes();
        let command = project.hide("echo x > b");
        let before = project.tree();
        project.log.fail_from.store(fail_from, Ordering::SeqCst);
        let outcome = project.run(&command);
        assert!(!matches!(outcome, Outcome::Done(_)), "{fail_from}: {outcome:?}");
        assert_eq!(project.tree() == before, fail_from < 4, "{fail_from}");
        let is_unlogged = !project.undo_store().unlogged(std::time::Duration::ZERO).unwrap().is_empty();
        assert_eq!(is_unlogged, fail_from == 4, "{fail_from}");
    }
}

// invariant: 8
#[test]
fn commit_that_was_not_logged_is_logged_by_the_next_session() {
    needs_views!("commit_that_was_not_logged_is_logged_by_the_next_session");
    let project = Project::new();
    let command = project.hide("echo x > b");
    // Like a kill right after the commit: the decision is logged, and nothing after it.
    project.log.fail_from.store(3, Ordering::SeqCst);
    assert!(!matches!(project.run(&command), Outcome::Done(_)));
    assert_eq!(project.read("b"), "x\n");
    let store = project.undo_store();
    let [unlogged] = &store.unlogged(std::time::Duration::ZERO).unwrap()[..] else {
        panic!("one commit is missing in the log")
    };
    let decided = &project.log.json()[0]["call_id"];
    assert_eq!((&unlogged.call_id.clone().into(), &unlogged.commit), (decided, &store.last().unwrap().id));
    store.mark_logged(unlogged);
    assert!(store.unlogged(std::time::Duration::ZERO).unwrap().is_empty());
}
