//! Where an audit log may be, and how one file follows another.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

fn refusal(path: &Path) -> String {
    open_on(Box::new(RealDisk), settings(path)).unwrap_err().to_string()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn log_and_its_folder_are_private_to_the_user() {
    let (_folder, path) = scratch();
    with_entries(&path, 1);
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn link_folder_or_pipe_as_log_is_refused() {
    let (folder, path) = scratch();
    with_entries(&path, 1);
    let link = folder.path().join("link.jsonl");
    symlink(&path, &link).unwrap();
    assert_eq!(
        refusal(&link),
        format!("cannot use `{}` as the audit log: it is a symbolic link", link.display())
    );
    let dangling = folder.path().join("dangling.jsonl");
    symlink(folder.path().join("nowhere"), &dangling).unwrap();
    assert!(refusal(&dangling).ends_with("it is a symbolic link"));
    assert!(!folder.path().join("nowhere").exists());
    assert!(refusal(folder.path()).ends_with("it is a folder"));
    let pipe = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    assert!(refusal(&pipe).contains(pipe.to_str().unwrap()));
}

#[test]
fn log_that_others_can_write_is_refused() {
    let (_folder, path) = scratch();
    with_entries(&path, 1);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o620)).unwrap();
    assert!(refusal(&path).ends_with("other users can write to it (mode 620)"), "{}", refusal(&path));
}

#[test]
fn file_with_other_content_is_refused_and_unchanged() {
    let (folder, _) = scratch();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "my notes\n").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let failed = open(&path).append(&executed("a"), Durability::Written).unwrap_err();
    assert!(failed.to_string().ends_with("it has other content") && failed.hint().is_some());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "my notes\n");
}

#[test]
fn files_follow_on_each_other_and_are_read_as_one() {
    let (_folder, path) = scratch();
    let ledger = open_small(&path, 2000);
    let ids: Vec<String> = (0..40).map(|i| format!("call-{i}")).collect();
    ids.iter().for_each(|id| ledger.append(&executed(id), Durability::Written).unwrap());
    let checked = verify(&path, None).unwrap();
    assert_eq!(checked.faults, []);
    assert!(checked.files.len() > 4, "{:?}", checked.files);
    let first = checked.files[0].file_name().unwrap().to_str().unwrap();
    assert!(first.starts_with("ledger-1-") && first.ends_with(".jsonl"), "{first}");
    assert_eq!(call_ids(&path), ids);
    assert_eq!(find(&path, "call-3").unwrap().len(), 1);
}

#[test]
fn missing_or_renamed_log_file_is_found() {
    let (_folder, path) = scratch();
    let ledger = open_small(&path, 1500);
    (0..30).for_each(|i| ledger.append(&executed(&format!("{i}")), Durability::Written).unwrap());
    let files = verify(&path, None).unwrap().files;
    for file in &files {
        let bytes = std::fs::read(file).unwrap();
        std::fs::remove_file(file).unwrap();
        assert!(!faults(&path).is_empty(), "{} is gone", file.display());
        std::fs::write(file, bytes).unwrap();
    }
    assert_eq!(faults(&path), Vec::<String>::new());
    let renamed = files[0].with_file_name("ledger-1-3.jsonl");
    std::fs::rename(&files[0], &renamed).unwrap();
    assert!(!faults(&path).is_empty());
    std::fs::rename(&renamed, &files[0]).unwrap();
    let last_line = std::fs::read(&files[0]).unwrap();
    let cut = last_line[..last_line.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    std::fs::write(&files[0], &last_line[..cut]).unwrap();
    assert!(faults(&path).iter().any(|fault| fault.contains("does not end with its closing line")));
}

#[test]
fn log_removed_during_a_session_is_a_fault() {
    let (_folder, path) = scratch();
    let ledger = with_entries(&path, 3);
    std::fs::remove_file(&path).unwrap();
    ledger.append(&executed("after"), Durability::Written).unwrap();
    assert_eq!(call_ids(&path), ["after"]);
    let faults = faults(&path);
    assert!(faults[0].contains("was removed while askfirst wrote to it"), "{faults:?}");
}

#[test]
fn rotation_does_not_overwrite_an_existing_file() {
    let (_folder, path) = scratch();
    let ledger = open_small(&path, 600);
    ledger.append(&executed("0"), Durability::Written).unwrap();
    ledger.append(&executed("1"), Durability::Written).unwrap();
    let taken = path.with_file_name("ledger-1-3.jsonl");
    std::fs::write(&taken, "mine").unwrap();
    (2..6).for_each(|i| ledger.append(&executed(&format!("{i}")), Durability::Written).unwrap());
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
    std::fs::remove_file(&taken).unwrap();
    assert_eq!((call_ids(&path).len(), faults(&path)), (6, Vec::new()));
}

#[test]
fn reader_follows_no_link_and_waits_for_no_pipe() {
    let (folder, path) = scratch();
    with_entries(&path, 1);
    let link = folder.path().join("link.jsonl");
    symlink(&path, &link).unwrap();
    let said = verify(&link, None).unwrap_err().to_string();
    assert!(said.contains("symbolic link"), "{said}");
    let pipe = folder.path().join("pipe.jsonl");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let said = verify(&pipe, None).unwrap_err().to_string();
    assert!(said.contains("not a plain file"), "{said}");
}
