//! Tests the reading of mounts and releases.

use super::{Path, mount_point, version};

#[test]
fn mount_point_is_read_with_its_special_bytes() {
    let line = br"36 35 98:0 /mnt1 /mnt/a\040b\134c\x d rw,noatime master:1 - ext3 /dev/root rw";
    assert_eq!(mount_point(line).as_deref(), Some(Path::new(r"/mnt/a b\c\x")));
    assert_eq!(mount_point(b"36 35 98:0 /mnt1"), None);
}

#[test]
fn kernel_release_is_compared_by_its_numbers() {
    assert_eq!(version("5.4.0-150-generic\n"), Some((5, 4)));
    assert_eq!(version("6.18.44-fc"), Some((6, 18)));
    assert_eq!(version("next"), None);
}
