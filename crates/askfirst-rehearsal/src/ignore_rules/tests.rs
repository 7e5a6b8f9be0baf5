//! Tests that a path counts as ignored exactly if git ignores it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{IgnoreRules, read_rules};

const RULES: [(&str, &str); 4] = [
    (".gitignore", "secret.txt\n/top.txt\nout/\n*.log\npkg/inner.txt\n"),
    (".git/info/exclude", "private\n"),
    ("pkg/.gitignore", "!kept.log\nown\n"),
    ("pkg/deep/.gitignore", "*.tmp\n"),
];

const PATHS: [&str; 12] = [
    "secret.txt",
    "deep/secret.txt",
    "top.txt",
    "out/file",
    "a.log",
    "kept.log",
    "inner.txt",
    "private",
    "own",
    "deep/a.tmp",
    "a.tmp",
    "main.rs",
];

fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    assert!(Command::new("git").args(["init", "-q"]).arg(folder.path()).status().unwrap().success());
    for (name, text) in RULES {
        fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn is_ignored(root: &Path, path: &str) -> bool {
    let path = Path::new(path);
    let read = |name: &Path| -> Vec<String> {
        fs::File::open(root.join(name)).ok().and_then(read_rules).into_iter().collect()
    };
    IgnoreRules::new(root, path.parent(), read).ignores(path, false)
}

fn git_ignores(root: &Path, path: &str) -> bool {
    let mut git = Command::new("git");
    git.args(["check-ignore", "-q", path]).current_dir(root);
    git.env("HOME", root).env("XDG_CONFIG_HOME", root).env("GIT_CONFIG_NOSYSTEM", "1");
    git.status().unwrap().success()
}

#[test]
fn ignored_paths_of_a_root_are_those_of_git() {
    let folder = repository();
    for root in [folder.path().to_owned(), folder.path().join("pkg")] {
        let wrong = PATHS.into_iter().filter(|path| is_ignored(&root, path) != git_ignores(&root, path));
        assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&str>::new(), "{}", root.display());
    }
    assert!(is_ignored(&folder.path().join("pkg"), "secret.txt"), "a rule above the root");
}

#[test]
fn everything_in_an_ignored_root_is_ignored() {
    let folder = repository();
    let root = folder.path().join("out/inside");
    fs::create_dir_all(&root).unwrap();
    assert!(is_ignored(&root, "main.rs"));
    assert!(!is_ignored(&folder.path().join("pkg"), "main.rs"));
    let alone = tempfile::tempdir().unwrap();
    fs::write(alone.path().join(".gitignore"), "a\n").unwrap();
    assert!(!is_ignored(alone.path(), "a"), "there is no repository");
}
