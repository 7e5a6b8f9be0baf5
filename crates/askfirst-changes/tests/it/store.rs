//! The store: list, show, prune, recovery and its locks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use askfirst_changes::{ChangeError, CommitOptions, CommitSummary, KeepLimits, OldContent, RecoveredCommit};

use super::{Project, quickly};

/// Commits one file whose old content exists elsewhere or not.
fn commit(project: &Project, script: &str, replaced: OldContent) -> CommitSummary {
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, script);
    let changes = project.collect(&pending);
    let options = CommitOptions { note: script.to_owned(), replaced, ..quickly() };
    pending.commit(project.open_root(), pending.upper(), &changes, &options).unwrap()
}

fn later(days: u64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(days * 24 * 3600)
}

#[test]
fn commits_are_listed_and_shown_the_newest_first() {
    let project = Project::new("echo a > a");
    let first = commit(&project, "echo b > a", OldContent::OnlyHere);
    let second = commit(&project, "mkdir d; echo 1 > d/1", OldContent::Elsewhere);
    let listed: Vec<_> = project.store().list().unwrap();
    assert_eq!(
        listed.iter().map(|(summary, _)| &summary.note).collect::<Vec<_>>(),
        [&second.note, &first.note]
    );
    assert_eq!((listed[0].0.added, listed[0].0.changed, listed[0].0.removed), (2, 0, 0));
    let shown = project.store().show(&second.id).unwrap();
    assert_eq!(shown.iter().map(|change| change.path().to_str().unwrap()).collect::<Vec<_>>(), ["d", "d/1"]);
    assert!(!shown[0].is_carried() && shown[1].is_carried());
    assert!(matches!(project.store().show("../x").unwrap_err(), ChangeError::UnknownCommit(_)));
    assert!(matches!(project.store().show("ffffffffffff").unwrap_err(), ChangeError::UnknownCommit(_)));
}

#[test]
fn committed_view_cannot_be_discarded() {
    let project = Project::new("echo a > a");
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    project.rehearse(&pending, "rm a");
    let changes = project.collect(&pending);
    project.try_commit(&pending, &changes).unwrap();
    let id = pending.id().to_owned();
    assert!(matches!(pending.discard().unwrap_err(), ChangeError::WrongState { state: "done", .. }));
    project.undo(&id);
    assert_eq!(project.read("a"), "a\n");
}

#[test]
fn only_the_owner_can_enter_the_store() {
    let project = Project::new("true");
    project.store();
    let mode = fs::metadata(project.path("state")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o700);
}

#[test]
fn prune_keeps_the_newest_and_the_only_copies() {
    let project = Project::new("echo 0 > a");
    let firm = commit(&project, "echo firm > a", OldContent::OnlyHere);
    let ids: Vec<String> =
        (1..6).map(|n| commit(&project, &format!("echo {n} > a"), OldContent::Elsewhere).id).collect();
    let store = project.store();
    let limits = KeepLimits { commits: 3, ..KeepLimits::default() };
    let mut dropped = store.prune(&limits, SystemTime::now()).unwrap();
    dropped.sort();
    assert_eq!(dropped, ids[..2], "the oldest that git could restore");
    assert!(store.list().unwrap().iter().any(|(summary, _)| summary.id == firm.id));
    assert_eq!(store.prune(&limits, later(8)).unwrap().len(), 4);
    assert_eq!(fs::read_dir(project.path("state/commits")).unwrap().count(), 0);
}

#[test]
fn small_commits_cannot_flush_the_only_copy() {
    let project = Project::new("echo precious > a; echo 0 > b");
    let precious = commit(&project, "rm a", OldContent::OnlyHere);
    let limits = KeepLimits { commits: 1, bytes: 1, ..KeepLimits::default() };
    for n in 0..5 {
        commit(&project, &format!("echo {n} > b"), OldContent::Elsewhere);
        project.store().prune(&limits, SystemTime::now()).unwrap();
    }
    project.undo(&precious.id);
    assert_eq!(project.read("a"), "precious\n");
}

#[test]
fn only_copies_count_toward_what_fits() {
    let project = Project::new("head -c 50000 /dev/zero > a; head -c 50000 /dev/zero > b");
    let store = project.store();
    let limits = KeepLimits { bytes: 80_000, ..KeepLimits::default() };
    let fits = |bytes| store.would_fit(bytes, &limits, SystemTime::now()).unwrap();
    assert!(fits(70_000));
    commit(&project, "rm b", OldContent::Elsewhere);
    assert!(fits(70_000));
    commit(&project, "rm a", OldContent::OnlyHere);
    assert!(!fits(70_000) && fits(20_000));
    assert!(store.would_fit(70_000, &limits, later(8)).unwrap());
}

#[test]
fn view_that_is_in_use_is_neither_recovered_nor_pruned() {
    let project = Project::new("echo a > a");
    let store = project.store();
    let pending = store.begin(project.open_root()).unwrap();
    let report = store.recover(|_| Some(project.open_root())).unwrap();
    assert!(matches!(report[..], [(_, RecoveredCommit::Busy)]), "{report:?}");
    assert!(store.prune(&KeepLimits { commits: 0, ..KeepLimits::default() }, later(9)).unwrap().is_empty());
    drop(pending);
    let report = store.recover(|_| Some(project.open_root())).unwrap();
    assert!(matches!(report[..], [(_, RecoveredCommit::Dropped)]), "{report:?}");
}

#[test]
fn half_removed_commit_is_removed_by_the_recovery() {
    let project = Project::new("echo a > a");
    let summary = commit(&project, "rm a", OldContent::Elsewhere);
    let commits = project.path("state/commits");
    fs::rename(commits.join(&summary.id), commits.join(format!("dropped-{}", summary.id))).unwrap();
    assert!(project.store().list().unwrap().is_empty());
    project.store().recover(|_| Some(project.open_root())).unwrap();
    assert_eq!(fs::read_dir(commits).unwrap().count(), 0);
}

#[test]
fn sealed_commit_without_its_root_waits() {
    let project = Project::new("echo a > a");
    let summary = commit(&project, "rm a", OldContent::OnlyHere);
    let folder = project.path("state/commits").join(&summary.id);
    fs::rename(folder.join("done"), folder.join("undoing")).unwrap();
    let store = project.store();
    let report = store.recover(|_| None).unwrap();
    assert!(matches!(report[..], [(_, RecoveredCommit::NoRoot(_))]), "{report:?}");
    assert!(store.prune(&KeepLimits { commits: 0, ..KeepLimits::default() }, later(9)).unwrap().is_empty());
    store.recover(|_| Some(project.open_root())).unwrap();
    assert_eq!(project.read("a"), "a\n");
}

#[test]
fn recovery_after_a_later_edit_keeps_the_edit() {
    let project = Project::new("echo a > a; echo b > b");
    let summary = commit(&project, "echo n > a; echo n > b", OldContent::OnlyHere);
    let folder = project.path("state/commits").join(&summary.id);
    fs::rename(folder.join("done"), folder.join("sealed")).unwrap();
    project.direct("echo edited > t; mv t a");
    project.store().recover(|_| Some(project.open_root())).unwrap();
    assert_eq!((project.read("a"), project.read("b")), ("edited\n".into(), "n\n".into()));
}

#[test]
fn invalid_journal_is_reported_and_kept() {
    let project = Project::new("echo a > a");
    let summary = commit(&project, "rm a", OldContent::OnlyHere);
    let folder = project.path("state/commits").join(&summary.id);
    fs::remove_file(folder.join("done")).unwrap();
    fs::write(folder.join("sealed"), "{").unwrap();
    let report = project.store().recover(|_| Some(project.open_root())).unwrap();
    assert!(matches!(report[..], [(_, RecoveredCommit::Failed(ChangeError::Journal(_)))]), "{report:?}");
    assert!(folder.join("old/0").exists());
}

#[test]
fn prune_and_recovery_beside_commits_harm_nothing() {
    let project = Project::new("echo 0 > a; echo 0 > b");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let store = project.store();
                while !stop.load(Ordering::Relaxed) {
                    store.recover(|_| Some(project.open_root())).unwrap();
                    let _ =
                        store.prune(&KeepLimits { commits: 1, ..KeepLimits::default() }, SystemTime::now());
                }
            });
        }
        let _stopped = StopGuard(&stop);
        let store = project.store();
        for turn in 1..60 {
            let before = project.tree();
            let pending = store.begin(project.open_root()).unwrap();
            let upper = project.path("state/commits").join(pending.id()).join("upper");
            fs::write(upper.join("a"), format!("{turn}")).unwrap();
            fs::write(upper.join(format!("n{turn}")), "new").unwrap();
            let changes = project.collect(&pending);
            let options = CommitOptions { replaced: OldContent::Elsewhere, ..quickly() };
            pending.commit(project.open_root(), pending.upper(), &changes, &options).unwrap();
            assert_eq!(project.read("a"), format!("{turn}"));
            // Another thread may hold the commit, or may have dropped it.
            if store.undo(pending.id(), project.open_root()).is_ok() {
                assert_eq!(project.tree(), before);
            }
        }
    });
}

/// Stops the other threads, also when an assertion fails.
struct StopGuard<'a>(&'a AtomicBool);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
