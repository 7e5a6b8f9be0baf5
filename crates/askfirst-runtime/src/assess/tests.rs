//! Paths are followed as far as they exist, and no further.

use std::os::unix::fs::symlink;

use super::follow;

#[test]
fn links_and_climbing_are_followed_before_a_rule_sees_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    std::fs::create_dir(here.join("in")).unwrap();
    symlink("/etc", here.join("in/out")).unwrap();
    symlink("/nowhere/at/all", here.join("in/dangling")).unwrap();
    let text = |path: &str| follow(&here, path);
    let inside = |path: &str| Some(here.join(path).to_str().unwrap().to_owned());
    assert_eq!(text("in/new.txt"), inside("in/new.txt"));
    assert_eq!(text("./in/../in/a/b"), inside("in/a/b"));
    assert_eq!(text("in/out/passwd"), Some("/etc/passwd".to_owned()));
    assert_eq!(text("in/missing/../../.."), None);
    assert_eq!(text("in/dangling"), None);
    assert_eq!(text("in/dangling/x"), None);
    assert_eq!(text("~/x"), None);
    assert_eq!(text(""), None);
    assert_eq!(text("a\0b"), None);
}
