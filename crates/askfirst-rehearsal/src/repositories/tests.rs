//! The parser of git's index.

use std::process::Command;

use super::hidden_entries;

#[test]
fn hidden_entries_are_counted_in_each_version_of_an_index() {
    for (format, version) in
        [("sha1", "2"), ("sha1", "3"), ("sha1", "4"), ("sha256", "2"), ("sha256", "3"), ("sha256", "4")]
    {
        let folder = tempfile::tempdir().unwrap();
        let git = |script: &str| {
            let done = Command::new("sh").args(["-ec", script]).current_dir(folder.path()).output().unwrap();
            assert!(done.status.success(), "{script}: {done:?}");
            hidden_entries(&std::fs::read(folder.path().join(".git/index")).unwrap())
        };
        let start = format!(
            "git init -q --object-format={format}; for i in 1 2 3 4 5 6 7 8 9 12345678; do echo $i > f$i; done; \
             mkdir d; echo x > d/f; git add .; git update-index --index-version {version}"
        );
        assert_eq!(git(&start), 0, "{format} {version}");
        assert_eq!(git("git update-index --assume-unchanged f1 d/f"), 2, "{format} {version}");
        assert_eq!(git("git update-index --skip-worktree f7"), 3, "{format} {version}");
    }
}

#[test]
fn index_that_cannot_be_read_counts_as_hiding() {
    assert_eq!(hidden_entries(b""), 0);
    for index in [&b"x"[..], b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x01", b"DIRC\0\0\0\x09\0\0\0\x01", &[0; 80]] {
        assert_eq!(hidden_entries(index), 1, "{index:?}");
    }
}
