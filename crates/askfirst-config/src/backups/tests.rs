//! Tests of backups.

use super::*;

fn places(state: &Path) -> Places {
    Places { state: state.to_owned(), home: None, ..Places::from_env() }
}

fn backup(before: Option<&str>) -> Backup {
    Backup { before: before.map(Digest::of), after: Digest::of("new"), folders: Vec::new() }
}

#[test]
fn backup_returns_the_content_until_it_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let (places, file) = (places(folder.path()), Path::new("/home/x/settings.json"));
    Backups::open(&places).unwrap().keep(file, backup(Some("old")), Some(b"old")).unwrap();
    let mut backups = Backups::open(&places).unwrap();
    let found = backups.of(file).unwrap().clone();
    assert_eq!(found, backup(Some("old")));
    assert_eq!(backups.content(&found).unwrap().as_deref(), Some(b"old".as_slice()));
    assert_eq!(backups.content(&backup(None)).unwrap(), None);
    backups.forget(file).unwrap();
    assert!(backups.of(file).is_none());
    assert!(backups.content(&found).is_err(), "the copy is gone");
}

#[test]
fn damaged_backup_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut backups = Backups::open(&places(folder.path())).unwrap();
    backups.keep(Path::new("/x"), backup(Some("old")), Some(b"old")).unwrap();
    let copy = folder.path().join("hooks").join(Digest::of("old").to_string());
    fs::write(copy, "other").unwrap();
    let error = backups.content(&backup(Some("old"))).unwrap_err().to_string();
    assert!(error.ends_with("it was changed"), "{error}");
}
