//! Tests of the decision about effects.

use proptest::prelude::*;

use super::*;

fn path(name: &str, change: PathChange, level: PathLevel, write: Approval) -> ChangedPath {
    ChangedPath { path: name.to_owned(), change, level, write, because: None, is_in_git: false }
}

fn ordinary(write: Approval) -> ChangedPath {
    path("src/a.py", PathChange::Changed, PathLevel::Ordinary, write)
}

fn effects(changes: Vec<ChangedPath>, facts: Vec<RunFact>) -> Effects {
    Effects { digest: Digest::of(b"changes"), changes, facts }
}

fn policy(basis: RunBasis) -> EffectsPolicy {
    EffectsPolicy { basis, asks_about_removals: false, undo_obstacle: None, accepted: Vec::new() }
}

fn verdict(changes: Vec<ChangedPath>, facts: Vec<RunFact>) -> EffectsVerdict {
    judge_effects(&effects(changes, facts), &policy(RunBasis::Rehearsal)).verdict()
}

#[test]
fn call_without_changes_is_committed() {
    assert_eq!(verdict(Vec::new(), Vec::new()), EffectsVerdict::Commit);
}

#[test]
fn change_where_writing_is_free_is_committed() {
    assert_eq!(verdict(vec![ordinary(Approval::None)], Vec::new()), EffectsVerdict::Commit);
}

#[test]
fn change_where_writing_asks_is_asked_about() {
    let judgement =
        judge_effects(&effects(vec![ordinary(Approval::Required)], Vec::new()), &policy(RunBasis::Rehearsal));
    assert_eq!(judgement.verdict(), EffectsVerdict::Ask);
    assert_eq!(judgement.reasons(), ["writing `src/a.py` needs approval"]);
    assert!(judgement.permit().is_none());
}

#[test]
fn approved_call_commits_where_writing_asks() {
    let effects = effects(vec![ordinary(Approval::Human)], Vec::new());
    assert_eq!(judge_effects(&effects, &policy(RunBasis::Approval)).verdict(), EffectsVerdict::Commit);
}

#[test]
fn shown_file_is_asked_about_on_any_basis() {
    let shown =
        path("package.json", PathChange::Changed, PathLevel::Shown("steers npm".into()), Approval::None);
    let effects = effects(vec![shown], Vec::new());
    for basis in [RunBasis::Rehearsal, RunBasis::Approval] {
        assert_eq!(judge_effects(&effects, &policy(basis)).verdict(), EffectsVerdict::Ask, "{basis:?}");
    }
}

#[test]
fn never_file_discards_on_any_basis() {
    let never = path(".git/hooks/x", PathChange::Added, PathLevel::Never("runs".into()), Approval::None);
    let effects = effects(vec![ordinary(Approval::None), never], vec![RunFact::TimedOut]);
    for basis in [RunBasis::Rehearsal, RunBasis::Approval] {
        let judgement = judge_effects(&effects, &policy(basis));
        assert_eq!(judgement.verdict(), EffectsVerdict::Discard, "{basis:?}");
        assert_eq!(judgement.reasons(), ["`.git/hooks/x`: runs"]);
    }
}

#[test]
fn network_try_of_a_rehearsal_asks_to_run_again() {
    let tried = || vec![RunFact::TriedNetwork(1)];
    assert_eq!(verdict(vec![ordinary(Approval::Required)], tried()), EffectsVerdict::AskToRunAgain);
    let accepted = EffectsPolicy { accepted: vec![RunFactKind::Network], ..policy(RunBasis::Rehearsal) };
    let effects = effects(vec![ordinary(Approval::None)], tried());
    assert_eq!(judge_effects(&effects, &accepted).verdict(), EffectsVerdict::Commit);
}

#[test]
fn yes_to_running_again_commits_nothing() {
    let effects = effects(vec![ordinary(Approval::None)], vec![RunFact::TriedNetwork(1)]);
    let judgement = judge_effects(&effects, &policy(RunBasis::Rehearsal));
    assert!(judgement.permit_after(&ApprovalDecision::yes(Cause::Person)).is_none());
}

#[test]
fn removal_asks_if_the_config_says_so() {
    let removed = path("a", PathChange::Removed, PathLevel::Ordinary, Approval::None);
    let asking = EffectsPolicy { asks_about_removals: true, ..policy(RunBasis::Approval) };
    let effects = effects(vec![removed], Vec::new());
    assert_eq!(judge_effects(&effects, &asking).verdict(), EffectsVerdict::Ask);
    assert_eq!(judge_effects(&effects, &policy(RunBasis::Approval)).verdict(), EffectsVerdict::Commit);
}

#[test]
fn loss_that_neither_undo_nor_git_restores_is_asked_about() {
    let full = EffectsPolicy { undo_obstacle: Some("it is full".into()), ..policy(RunBasis::Rehearsal) };
    let added = path("new", PathChange::Added, PathLevel::Ordinary, Approval::None);
    let changed = effects(vec![ordinary(Approval::None)], Vec::new());
    assert_eq!(judge_effects(&changed, &full).verdict(), EffectsVerdict::Ask);
    let tracked = ChangedPath { is_in_git: true, ..ordinary(Approval::None) };
    let tracked = effects(vec![tracked], Vec::new());
    assert_eq!(judge_effects(&tracked, &full).verdict(), EffectsVerdict::Commit);
    assert_eq!(judge_effects(&effects(vec![added], Vec::new()), &full).verdict(), EffectsVerdict::Commit);
}

#[test]
fn permit_names_the_digest_that_was_judged() {
    let effects = effects(vec![ordinary(Approval::Required)], Vec::new());
    let asks = || judge_effects(&effects, &policy(RunBasis::Rehearsal));
    assert!(asks().permit_after(&ApprovalDecision::no(Cause::Person)).is_none());
    let permit = asks().permit_after(&ApprovalDecision::yes(Cause::Person)).unwrap();
    assert_eq!((permit.digest(), permit.cause()), (effects.digest, Cause::Person));
}

#[test]
fn payload_of_ordinary_changes_covers_other_content() {
    let (one, mut two) = (
        effects(vec![ordinary(Approval::Required)], Vec::new()),
        effects(vec![ordinary(Approval::Required)], Vec::new()),
    );
    two.digest = Digest::of(b"other");
    assert_eq!(one.payload("x".into()), two.payload("x".into()));
    assert_ne!(one.payload("x".into()), one.payload("y".into()));
    two.changes[0].level = PathLevel::Shown("steers".into());
    let exact = two.payload("x".into());
    two.digest = Digest::of(b"third");
    assert_ne!(exact, two.payload("x".into()));
}

fn changed_path() -> impl Strategy<Value = ChangedPath> {
    let level = prop_oneof![
        4 => Just(PathLevel::Ordinary),
        1 => Just(PathLevel::Shown("s".into())),
        1 => Just(PathLevel::Never("n".into())),
    ];
    let change = prop::sample::select(vec![PathChange::Added, PathChange::Changed, PathChange::Removed]);
    (level, prop::sample::select(Approval::ALL.to_vec()), change)
        .prop_map(|(level, write, change)| path("p", change, level, write))
}

proptest! {
    // invariant: 2
    #[test]
    fn more_effects_are_never_judged_more_mildly(
        changes in prop::collection::vec(changed_path(), 0..6),
        more in changed_path(),
        network in any::<bool>(),
        rehearsed in any::<bool>(),
    ) {
        let basis = if rehearsed { RunBasis::Rehearsal } else { RunBasis::Approval };
        let before = judge_effects(&effects(changes.clone(), Vec::new()), &policy(basis)).verdict();
        let mut changes = changes;
        changes.push(more);
        let facts = if network { vec![RunFact::TriedNetwork(1)] } else { Vec::new() };
        let after = judge_effects(&effects(changes.clone(), facts), &policy(basis));
        prop_assert!(after.verdict() >= before);
        prop_assert_eq!(after.verdict() == EffectsVerdict::Commit, after.permit().is_some());
        prop_assert!(judge_effects(&effects(changes, Vec::new()), &policy(RunBasis::Rehearsal)).verdict()
            >= before);
    }
}
