//! Links in a path are resolved as far as the path exists.

use std::os::unix::fs::symlink;

use askfirst::{ApprovalContext, Args};

use super::{follow, plain_place};

#[test]
fn links_and_climbing_are_followed_before_a_rule_sees_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    std::fs::create_dir(here.join("in")).unwrap();
    symlink("/etc", here.join("in/out")).unwrap();
    symlink("/nowhere/at/all", here.join("in/dangling")).unwrap();
    let text = |path: &str| follow(&here.join(path));
    let inside = |path: &str| Some(here.join(path).to_str().unwrap().to_owned());
    assert_eq!(text("in/new.txt"), inside("in/new.txt"));
    assert_eq!(text("./in/../in/a/b"), inside("in/a/b"));
    assert_eq!(text("in/out/passwd"), Some("/etc/passwd".to_owned()));
    assert_eq!(text("in/missing/../../.."), None);
    symlink("/proc/self/cwd", here.join("in/here")).unwrap();
    assert_eq!(text("in/here/x"), None, "it leads every process elsewhere");
    assert_eq!(text("/proc/self/cwd/x"), None);
    assert_eq!(text("in/dangling"), None);
    assert_eq!(text("in/dangling/x"), None);
    let plain = |path: &str| plain_place(&ApprovalContext::new("t", Args::new()), path, None);
    assert_eq!(plain("~/x"), None);
    assert_eq!(plain(""), None);
    assert_eq!(plain("a\0b"), None);
    assert_eq!(plain("/x/../y"), Some("/x/../y".into()));
}

#[test]
fn relative_path_without_a_known_folder_is_in_doubt() {
    let here = std::env::current_dir().unwrap();
    let place = |cwd: Option<&str>, rules: &std::path::Path| {
        let mut call = ApprovalContext::new("t", Args::new());
        call.args.extend(cwd.map(|cwd| ("cwd".to_owned(), cwd.into())));
        plain_place(&call, "x", Some(rules))
    };
    assert_eq!(place(None, &here), Some(here.join("x")));
    assert_eq!(place(Some("sub"), &here), None);
    assert_eq!(place(None, here.parent().unwrap()), None);
}
