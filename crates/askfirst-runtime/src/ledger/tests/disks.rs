//! Disks that are full, broken or read-only: the call is refused, and no earlier entry is lost.

use std::fs::File;
use std::io;
use std::process::Command;
use std::sync::Mutex;

use super::*;

/// A disk that fails at chosen steps.
#[derive(Default)]
pub(super) struct Failing {
    next: Mutex<Option<Failure>>,
}

impl Failing {
    pub(super) fn fail_next(&self, failure: Failure) {
        *self.next.lock().unwrap() = Some(failure);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Failure {
    Append(rustix::io::Errno),
    Short(usize),
    Sync,
    Rename,
    Create,
    Folder,
    Replace,
}

impl Failing {
    fn fails(&self, is: impl Fn(Failure) -> bool) -> Option<Failure> {
        let mut next = self.next.lock().unwrap();
        let failure = next.filter(|failure| is(*failure));
        if failure.is_some() {
            *next = None;
        }
        failure
    }
}

impl Disk for Arc<Failing> {
    fn open(&self, path: &Path) -> io::Result<File> {
        RealDisk.open(path)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        match self.fails(|failure| failure == Failure::Create) {
            Some(_) => Err(rustix::io::Errno::DQUOT.into()),
            None => RealDisk.create(path),
        }
    }

    fn append(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        match self.fails(|failure| matches!(failure, Failure::Append(_) | Failure::Short(_))) {
            Some(Failure::Append(errno)) => Err(errno.into()),
            Some(Failure::Short(part)) => RealDisk.append(file, &bytes[..part.min(bytes.len() - 1)]),
            _ => RealDisk.append(file, bytes),
        }
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        match self.fails(|failure| failure == Failure::Sync) {
            Some(_) => Err(rustix::io::Errno::IO.into()),
            None => RealDisk.sync(file),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self.fails(|failure| failure == Failure::Rename) {
            Some(_) => Err(rustix::io::Errno::IO.into()),
            None => RealDisk.rename(from, to),
        }
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        match self.fails(|failure| failure == Failure::Folder) {
            Some(_) => Err(rustix::io::Errno::IO.into()),
            None => RealDisk.sync_folder(folder),
        }
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        match self.fails(|failure| failure == Failure::Replace) {
            Some(_) => Err(rustix::io::Errno::NOSPC.into()),
            None => RealDisk.replace(path, bytes),
        }
    }
}

#[test]
fn entry_is_refused_if_a_step_fails_and_the_next_is_not() {
    use rustix::io::Errno;
    let (_folder, path) = scratch();
    let disk = Arc::new(Failing::default());
    let ledger =
        open_on(Box::new(Arc::clone(&disk)), LedgerSettings { rotate: 3000, ..with_head(&path) }).unwrap();
    let mut recorded = Vec::new();
    let failures = [
        Failure::Append(Errno::NOSPC),
        Failure::Append(Errno::IO),
        Failure::Append(Errno::DQUOT),
        Failure::Append(Errno::ROFS),
        Failure::Short(0),
        Failure::Short(1),
        Failure::Short(100),
        Failure::Short(usize::MAX),
        Failure::Sync,
        Failure::Rename,
        Failure::Create,
        Failure::Folder,
        Failure::Replace,
    ];
    for (i, failure) in failures.into_iter().cycle().take(130).enumerate() {
        *disk.next.lock().unwrap() = Some(failure);
        for attempt in 0..12 {
            let id = format!("{i}-{attempt}");
            match ledger.record(&executed(&id), Durability::Synced) {
                Ok(()) => recorded.push(id),
                Err(e) => assert!(e.to_string().starts_with("cannot write the audit log: "), "{e}"),
            }
            if disk.next.lock().unwrap().is_none() && attempt > 0 {
                break;
            }
        }
        assert_eq!(*disk.next.lock().unwrap(), None, "{failure:?} never happened");
    }
    ledger.append(&executed("last"), Durability::Synced).unwrap();
    assert_eq!(faults(&path), Vec::<String>::new());
    let found = call_ids(&path);
    assert_eq!(recorded.iter().filter(|id| !found.contains(id)).collect::<Vec<_>>(), Vec::<&String>::new());
    let refused = |id: &&String| !recorded.contains(id) && *id != "last";
    // An entry refused by a failed sync is still in the file. One refused by a failed write is missing or incomplete.
    assert!(found.iter().filter(refused).count() <= 130);
}

#[test]
fn after_a_failed_sync_the_file_is_opened_again() {
    let (_folder, path) = scratch();
    let disk = Arc::new(Failing::default());
    let ledger = open_on(Box::new(Arc::clone(&disk)), settings(&path)).unwrap();
    ledger.append(&executed("a"), Durability::Synced).unwrap();
    *disk.next.lock().unwrap() = Some(Failure::Sync);
    let failed = ledger.record(&executed("b"), Durability::Synced).unwrap_err();
    assert!(failed.to_string().contains("cannot sync `"), "{failed}");
    // Another program changes the end of the file: a writer that relied on its memory would break the chain.
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&bytes[..], b"{"].concat()).unwrap();
    ledger.append(&executed("c"), Durability::Synced).unwrap();
    assert_eq!(faults(&path), Vec::<String>::new());
}

#[test]
fn full_disk_refuses_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(folder.path()).output();
    if !mounted.is_ok_and(|done| done.status.success()) {
        crate::skip::skip("full_disk_refuses_and_loses_nothing", "a small disk cannot be mounted");
        return;
    }
    let path = folder.path().join("ledger.jsonl");
    let ledger = open(&path);
    let mut recorded = Vec::new();
    let failed = loop {
        let id = recorded.len().to_string();
        match ledger.record(&executed(&id), Durability::Synced) {
            Ok(()) => recorded.push(id),
            Err(e) => break e,
        }
    };
    let again = ledger.record(&executed("again"), Durability::Synced);
    let found = call_ids(&path);
    let bytes = std::fs::read(&path).unwrap();
    drop(ledger);
    assert!(Command::new("umount").arg(folder.path()).status().unwrap().success());
    assert!(failed.to_string().starts_with("cannot write the audit log: "), "{failed}");
    assert!(again.is_err());
    assert_eq!(found, recorded);
    // Once there is space again, the next entry explains the incomplete one.
    let (_folder, path) = scratch();
    with_entries(&path, 1);
    std::fs::write(&path, bytes).unwrap();
    open(&path).append(&executed("after"), Durability::Synced).unwrap();
    assert_eq!((call_ids(&path).len(), faults(&path)), (recorded.len() + 1, Vec::new()));
}

#[test]
fn folder_that_cannot_be_written_refuses_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/ledger.jsonl");
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    if rustix::process::geteuid().is_root() {
        let Some(output) = processes::as_nobody("open", &path) else {
            crate::skip::skip(
                "folder_that_cannot_be_written_refuses_the_log",
                "there is no way to become another user",
            );
            return;
        };
        assert!(output.contains("cannot open `") && output.contains("ermission denied"), "{output}");
        return;
    }
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o555)).unwrap();
    let failed = open_on(Box::new(RealDisk), settings(&path)).unwrap_err();
    assert!(failed.to_string().contains("ermission denied"), "{failed}");
}

#[test]
fn log_of_another_user_is_refused() {
    let (folder, path) = scratch();
    with_entries(&path, 1);
    for folder in [folder.path(), path.parent().unwrap()] {
        std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    if !rustix::process::geteuid().is_root() {
        crate::skip::skip("log_of_another_user_is_refused", "only the superuser can give files away");
        return;
    }
    std::os::unix::fs::chown(&path, Some(60002), None).unwrap();
    let failed = open_on(Box::new(RealDisk), settings(&path)).unwrap_err();
    assert!(failed.to_string().ends_with("it belongs to user 60002, not to 0"), "{failed}");
}
