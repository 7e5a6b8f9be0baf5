//! Links are followed as the kernel follows them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::plain;
use crate::world::tests::TestDisk;

fn real(path: &Path) -> Option<PathBuf> {
    super::real(path, &TestDisk)
}

#[test]
fn links_are_followed_also_to_what_is_not_there_yet() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    std::fs::create_dir(base.join("a")).unwrap();
    symlink("../b", base.join("a/link")).unwrap();
    symlink("/etc", base.join("out")).unwrap();
    assert_eq!(real(&base.join("a/link/new")), Some(base.join("b/new")));
    assert_eq!(real(&base.join("out/../x")), Some("/x".into()));
    assert_eq!(plain(base.join("out/../x")), base.join("x"));
    assert_eq!(real(&base.join("nothing/../x")), Some(base.join("x")));
    assert_eq!(real(Path::new("/../..")), Some("/".into()));
}

#[test]
fn circle_of_links_resolves_to_nothing() {
    let folder = tempfile::tempdir().unwrap();
    symlink("b", folder.path().join("a")).unwrap();
    symlink("a", folder.path().join("b")).unwrap();
    assert_eq!(real(&folder.path().join("a/x")), None);
}
