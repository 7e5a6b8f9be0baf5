//! What one process notes, and what another reads of it.

use super::*;

fn journal(folder: &Path, rule: &str) -> Journal {
    let mut settings = Settings::default();
    settings.sandbox.never_read = vec![rule.to_owned()];
    Journal::new(folder, &Config::alone(settings, folder)).unwrap()
}

#[test]
fn an_entry_is_read_by_who_has_the_same_rules_until_it_is_taken_away() {
    let held = tempfile::tempdir().unwrap();
    let one = journal(held.path(), ".env");
    let marks = HashSet::from([[1; 16], [2; 16]]);
    let entry = one.write(&marks).unwrap();
    let others = journal(held.path(), ".env").others().unwrap();
    assert_eq!(others.len(), 1);
    assert!(others[0].marks == marks && others[0].left.is_none());
    assert!(journal(held.path(), ".other").others().unwrap().is_empty());
    one.end(Some(entry), &[]);
    assert!(one.others().unwrap().is_empty());
}

#[test]
fn an_entry_whose_process_is_gone_stays_until_somebody_has_looked() {
    let held = tempfile::tempdir().unwrap();
    let one = journal(held.path(), ".env");
    // As if the process had been killed: the lock goes, the file stays.
    drop(one.write(&HashSet::new()).unwrap());
    let others = one.others().unwrap();
    let left = others[0].left.clone().unwrap();
    drop(others);
    one.end(None, &[left]);
    assert!(one.others().unwrap().is_empty());
}

#[test]
fn no_entry_is_taken_away_while_somebody_looks() {
    let held = tempfile::tempdir().unwrap();
    let one = journal(held.path(), ".env");
    let entry = one.write(&HashSet::new()).unwrap();
    let (turn, together) = (one.turn().unwrap(), one.turn().unwrap());
    let alone = OpenOptions::new().write(true).open(held.path().join("walls/turn")).unwrap();
    assert!(flock(&alone, FlockOperation::NonBlockingLockExclusive).is_err());
    drop((turn, together));
    assert!(flock(&alone, FlockOperation::NonBlockingLockExclusive).is_ok());
    drop(alone);
    one.end(Some(entry), &[]);
}
