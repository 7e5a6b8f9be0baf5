//! The names of paths for a person.

use super::*;

#[test]
fn no_two_paths_have_one_name() {
    use std::os::unix::ffi::OsStrExt;
    let label = |bytes: &[u8]| super::label(Path::new(std::ffi::OsStr::from_bytes(bytes)), Path::new("/"));
    let names: [&[u8]; 9] = [
        b"a\xff",
        b"a\\xff",
        b"a\\\\xff",
        b"a\n",
        b"a\\n",
        "a\u{202e}".as_bytes(),
        b"a\\u{202e}",
        b"a\t",
        b"a\\t",
    ];
    let labels: std::collections::BTreeSet<String> = names.into_iter().map(label).collect();
    assert_eq!(labels.len(), names.len(), "{labels:?}");
    assert!(labels.iter().all(|label| label.chars().all(|c| (' '..='~').contains(&c))), "{labels:?}");
    assert_eq!(label(b""), ".");
    assert_eq!(label("ä b".as_bytes()), "ä b");
}
