//! Tests of the real path of an open folder.

use super::*;

#[test]
fn long_path_is_returned_completely() {
    let above = tempfile::tempdir().unwrap();
    let above = above.path().canonicalize().unwrap();
    for length in [1, 200, 240, 255] {
        let folder = above.join("a".repeat(length)).join("b".repeat(length)).join("c".repeat(length));
        std::fs::create_dir_all(&folder).unwrap();
        assert_eq!(real_path(open_root(&folder).unwrap()), Ok(folder));
    }
}

#[test]
fn deleted_folder_has_no_real_path() {
    let above = tempfile::tempdir().unwrap();
    let folder = above.path().join("gone");
    std::fs::create_dir(&folder).unwrap();
    let open = open_root(&folder).unwrap();
    std::fs::remove_dir(&folder).unwrap();
    assert_eq!(real_path(open), Err(Errno::NOENT));
}
