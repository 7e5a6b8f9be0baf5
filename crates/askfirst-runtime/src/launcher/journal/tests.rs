//! Tests of entries that one process writes and another reads.

use super::*;

fn journal(folder: &Path, rule: &str) -> Journal {
    let mut settings = Settings::default();
    settings.sandbox.never_read = vec![rule.to_owned()];
    Journal::new(folder, &Config::alone(settings, folder)).unwrap()
}

#[test]
fn entry_is_read_by_processes_with_the_same_rules() {
    let held = tempfile::tempdir().unwrap();
    let one = journal(held.path(), ".env");
    let digests = HashSet::from([[1; 16], [2; 16]]);
    let entry = one.write(&digests).unwrap();
    let others = journal(held.path(), ".env").others().unwrap();
    assert_eq!(others.len(), 1);
    assert!(others[0].digests == digests && others[0].left.is_none());
    assert!(journal(held.path(), ".other").others().unwrap().is_empty());
    one.end(Some(entry), &[]);
    assert!(one.others().unwrap().is_empty());
}

#[test]
fn entry_of_a_dead_process_stays_until_it_is_removed() {
    let held = tempfile::tempdir().unwrap();
    let one = journal(held.path(), ".env");
    // Like after a kill: the lock is gone, the file stays.
    drop(one.write(&HashSet::new()).unwrap());
    let others = one.others().unwrap();
    let left = others[0].left.clone().unwrap();
    drop(others);
    one.end(None, &[left]);
    assert!(one.others().unwrap().is_empty());
}

#[test]
fn entry_is_not_removed_during_a_search() {
    let held = tempfile::tempdir().unwrap();
    let one = journal(held.path(), ".env");
    let entry = one.write(&HashSet::new()).unwrap();
    let (turn, together) = (one.search_lock().unwrap(), one.search_lock().unwrap());
    let alone = OpenOptions::new().write(true).open(held.path().join("walls/turn")).unwrap();
    assert!(flock(&alone, FlockOperation::NonBlockingLockExclusive).is_err());
    drop((turn, together));
    assert!(flock(&alone, FlockOperation::NonBlockingLockExclusive).is_ok());
    drop(alone);
    one.end(Some(entry), &[]);
}
