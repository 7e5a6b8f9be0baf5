//! The stored head: a log that was cut, emptied, removed or replaced is detected, and nothing else is.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

/// The folder with the heads of a log.
fn heads(path: &Path) -> PathBuf {
    path.parent().unwrap().join("heads")
}

/// The only head in the folder.
fn head_file(path: &Path) -> PathBuf {
    let files = std::fs::read_dir(heads(path)).unwrap().map(|file| file.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|file| file.extension().unwrap() == "json").collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    file.clone()
}

fn stored(path: &Path) -> Option<u64> {
    verify_with_head(path, None, path.parent().unwrap()).unwrap().stored
}

fn write(ledger: &Ledger, ids: &[&str], durability: Durability) {
    ids.iter().for_each(|id| ledger.append(&executed(id), durability).unwrap());
}

/// Writes entries in a session that ends.
fn session(path: &Path, ids: &[&str]) {
    write(&open_with_head(path), ids, Durability::Written);
}

fn first_lines(path: &Path, count: usize) -> String {
    std::fs::read_to_string(path).unwrap().split_inclusive('\n').take(count).collect()
}

#[test]
fn head_is_stored_for_synced_entries_and_at_the_end() {
    let (_folder, path) = scratch();
    let ledger = open_with_head(&path);
    write(&ledger, &["a", "b"], Durability::Written);
    assert_eq!(stored(&path), None);
    write(&ledger, &["c"], Durability::Synced);
    assert_eq!(stored(&path), Some(3));
    write(&ledger, &["d"], Durability::Written);
    assert_eq!(stored(&path), Some(3));
    drop(ledger);
    assert_eq!((stored(&path), faults(&path)), (Some(4), Vec::new()));
    let before = head_file(&path).metadata().unwrap().ino();
    drop(open_with_head(&path));
    assert_eq!(
        head_file(&path).metadata().unwrap().ino(),
        before,
        "a session without entries changes nothing"
    );
}

#[test]
fn head_is_private_to_the_user_and_replaced_whole() {
    let (_folder, path) = scratch();
    session(&path, &["a"]);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = head_file(&path);
    assert_eq!((mode(&file), mode(&heads(&path))), (0o600, 0o700));
    let old = std::fs::File::open(&file).unwrap();
    session(&path, &["b"]);
    assert_ne!(head_file(&path).metadata().unwrap().ino(), old.metadata().unwrap().ino());
    let text: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!((&text["seq"], &text["file"][1]), (&2.into(), &path.metadata().unwrap().ino().into()));
    assert!(text["log"].as_str().unwrap().ends_with("ledger.jsonl"), "{text}");
}

// invariant: 8
#[test]
fn log_that_lost_its_end_is_not_intact() {
    let (_folder, path) = scratch();
    session(&path, &["a", "b", "c"]);
    let good = std::fs::read(&path).unwrap();
    for count in 0..3 {
        let cut = first_lines(&path, count);
        std::fs::write(&path, &cut).unwrap();
        let found = faults(&path);
        let missing =
            format!("entries {} to 3 are missing at the end: the stored head is entry 3", count + 1);
        assert!(found.len() == 1 && found[0].contains(&missing), "{found:?}");
        std::fs::write(&path, &good).unwrap();
    }
    std::fs::remove_file(&path).unwrap();
    let found = faults(&path);
    assert!(
        found.len() == 1 && found[0].contains("the log is missing, but the stored head is entry 3"),
        "{found:?}"
    );
    std::fs::write(&path, &good).unwrap();
    assert_eq!(faults(&path), Vec::<String>::new(), "the same bytes in another file are the same log");
}

#[test]
fn log_with_another_chain_is_not_intact() {
    let (_folder, path) = scratch();
    session(&path, &["a", "b"]);
    std::fs::remove_file(&path).unwrap();
    drop(with_entries(&path, 9));
    let found = faults(&path);
    assert!(
        found.len() == 1 && found[0].contains("entry 2 is not the one that the stored head names"),
        "{found:?}"
    );
}

// invariant: 8
#[test]
fn next_session_logs_for_good_that_entries_are_gone() {
    type Change = (&'static str, fn(&Path));
    let changes: [Change; 5] = [
        ("cut", |path| std::fs::write(path, first_lines(path, 2)).unwrap()),
        ("emptied", |path| std::fs::write(path, "").unwrap()),
        ("removed", |path| std::fs::remove_file(path).unwrap()),
        ("replaced by a shorter one", |path| {
            std::fs::remove_file(path).unwrap();
            drop(with_entries(path, 2));
        }),
        ("replaced by a longer one", |path| {
            std::fs::remove_file(path).unwrap();
            drop(with_entries(path, 9));
        }),
    ];
    for (how, change) in changes {
        for firmly in [Durability::Written, Durability::Synced] {
            let (_folder, path) = scratch();
            session(&path, &["a", "b", "c"]);
            change(&path);
            write(&open_with_head(&path), &["after", "more"], firmly);
            assert_eq!(call_ids(&path).last().unwrap(), "more", "{how}");
            let kinds: Vec<String> =
                read(&path, Filter::default()).unwrap().map(|entry| entry.unwrap().kind).collect();
            assert_eq!(kinds.iter().filter(|kind| *kind == "altered").count(), 1, "{how}: {kinds:?}");
            assert!(!verify(&path, None).unwrap().holds(), "{how}: the chain alone shows it from now on");
            session(&path, &["later"]);
            assert!(verify(&path, None).unwrap().faults.len() < 4, "{how}: it is logged once");
        }
    }
}

/// A session that wrote little knows only its own last entry.
#[test]
fn head_of_another_session_is_compared_before_it_is_replaced() {
    for firmly in [Durability::Written, Durability::Synced] {
        let (_folder, path) = scratch();
        let slow = open_with_head(&path);
        write(&slow, &["a", "b"], Durability::Synced);
        let mine = std::fs::read(&path).unwrap();
        session(&path, &["c", "d", "e"]);
        std::fs::write(&path, mine).unwrap();
        write(&slow, &["f", "g", "h", "i"], firmly);
        drop(slow);
        let found = faults(&path);
        assert!(
            found.iter().any(|fault| fault.contains("when it was written, the lines before it")),
            "{firmly:?}: {found:?}"
        );
    }
}

#[test]
fn head_never_goes_back_when_an_older_session_ends() {
    let (_folder, path) = scratch();
    let old = open_with_head(&path);
    write(&old, &["a"], Durability::Written);
    session(&path, &["b", "c"]);
    assert_eq!(stored(&path), Some(3));
    drop(old);
    assert_eq!((stored(&path), faults(&path)), (Some(3), Vec::new()));
}

#[test]
fn head_in_a_closed_file_is_found_there() {
    let (_folder, path) = scratch();
    session(&path, &["a", "b"]);
    let small = LedgerSettings { rotate: 600, ..settings(&path) };
    let other = open_on(Box::new(RealDisk), small).unwrap();
    (0..9).for_each(|i| other.append(&executed(&format!("other-{i}")), Durability::Written).unwrap());
    drop(other);
    assert_eq!((stored(&path), faults(&path)), (Some(2), Vec::new()));
    session(&path, &["c"]);
    assert_eq!(faults(&path), Vec::<String>::new());
    assert!(stored(&path) > Some(10));
    let first = verify(&path, None).unwrap().files[0].clone();
    std::fs::remove_file(first).unwrap();
    std::fs::write(head_file(&path), "").unwrap();
    session(&path, &["d"]);
    assert!(!faults(&path).is_empty());
}

#[test]
fn missing_or_empty_head_is_reported_and_no_fault() {
    let (_folder, path) = scratch();
    session(&path, &["a", "b"]);
    let file = head_file(&path);
    let said = || verify_with_head(&path, None, path.parent().unwrap()).unwrap();
    assert!(said().covers.contains("the stored head covers everything up to entry 2;"), "{}", said().covers);
    // A system crash can leave an empty file or zeros.
    for left in [&b""[..], &[0; 100]] {
        std::fs::write(&file, left).unwrap();
        assert!(
            said().holds() && said().covers.contains("no head of this log is stored"),
            "{}",
            said().covers
        );
    }
    std::fs::remove_file(&file).unwrap();
    assert!(said().holds() && said().covers.contains("no head of this log is stored"), "{}", said().covers);
    session(&path, &["c"]);
    assert_eq!(stored(&path), Some(3));
}

#[test]
fn damaged_head_is_a_fault_until_the_next_entry() {
    let (_folder, path) = scratch();
    session(&path, &["a", "b"]);
    let file = head_file(&path);
    let good = std::fs::read(&file).unwrap();
    let swapped = String::from_utf8(good.clone()).unwrap().replace("\"seq\":2", "\"seq\":\"2\"");
    for bad in [&good[..100], b"{}", b"\xff", swapped.as_bytes(), &vec![b' '; 1 << 20]] {
        std::fs::write(&file, bad).unwrap();
        let found = faults(&path);
        assert!(found.len() == 1 && found[0].contains("it is damaged"), "{found:?}");
    }
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&path, &file).unwrap();
    assert!(
        faults(&path)[0].contains("the stored head cannot be used: it cannot be read"),
        "{:?}",
        faults(&path)
    );
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "{").unwrap();
    session(&path, &["c"]);
    assert_eq!((stored(&path), faults(&path)), (Some(3), Vec::new()));
}

#[test]
fn log_has_one_head_under_every_path_to_its_folder() {
    let (folder, path) = scratch();
    session(&path, &["a"]);
    std::os::unix::fs::symlink(path.parent().unwrap(), folder.path().join("link")).unwrap();
    let other = folder.path().join("link/../link/ledger.jsonl");
    session(&other, &["b"]);
    assert_eq!((stored(&path), stored(&other)), (Some(2), Some(2)));
    head_file(&path);
    std::fs::copy(&path, path.with_file_name("copy.jsonl")).unwrap();
    assert_eq!(stored(&path.with_file_name("copy.jsonl")), None);
}

#[test]
fn head_folder_that_others_can_access_is_not_used() {
    let (_folder, path) = scratch();
    session(&path, &["a"]);
    std::fs::set_permissions(heads(&path), PermissionsExt::from_mode(0o770)).unwrap();
    let failed = open_on(Box::new(RealDisk), with_head(&path)).unwrap_err();
    assert!(matches!(failed, LedgerError::HeadFolder(_)), "{failed}");
}

#[test]
fn entry_without_a_new_head_is_refused() {
    let (_folder, path) = scratch();
    let disk = Arc::new(disks::Failing::default());
    let ledger = open_on(Box::new(Arc::clone(&disk)), with_head(&path)).unwrap();
    write(&ledger, &["a"], Durability::Synced);
    disk.fail_next(disks::Failure::Replace);
    let failed = ledger.record(&executed("b"), Durability::Synced).unwrap_err();
    assert!(failed.to_string().contains("cannot replace `"), "{failed}");
    assert_eq!((stored(&path), faults(&path)), (Some(1), Vec::new()));
    write(&ledger, &["c"], Durability::Written);
    disk.fail_next(disks::Failure::Replace);
    drop(ledger);
    assert_eq!((stored(&path), faults(&path)), (Some(1), Vec::new()), "it only lags behind");
    session(&path, &["d"]);
    assert_eq!((stored(&path), faults(&path)), (Some(4), Vec::new()));
}

#[test]
fn end_of_a_session_waits_for_no_stuck_writer() {
    let (_folder, path) = scratch();
    let ledger = open_with_head(&path);
    write(&ledger, &["a"], Durability::Written);
    let stuck = std::fs::File::open(&path).unwrap();
    stuck.lock().unwrap();
    let since = std::time::Instant::now();
    drop(ledger);
    assert!(since.elapsed() < std::time::Duration::from_secs(10));
    assert_eq!(call_ids(&path), ["a"]);
}

#[test]
fn end_of_a_session_does_not_create_a_removed_log() {
    let (folder, path) = scratch();
    let ledger = open_with_head(&path);
    write(&ledger, &["a"], Durability::Written);
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    drop(ledger);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
