//! Both files as the kernel writes them, and as it may one day.

use super::{in_new, in_old};

#[test]
fn the_count_is_found_by_its_name() {
    let old = "Ip: Forwarding OutDiscards OutNoRoutes FragOKs\nIp: 2 5 7 9\nIcmp: InMsgs\nIcmp: 3\n";
    assert_eq!(in_old(old), 7);
    let new = "Ip6InNoRoutes                   \t4\nIp6OutNoRoutes                  \t2\n";
    assert_eq!(in_new(new), 2);
}

#[test]
fn what_is_not_there_is_not_counted() {
    for text in ["", "Ip: Forwarding\n", "Ip: OutNoRoutes\nIp:\n", "Ip: OutNoRoutes\nIp: x\n"] {
        assert_eq!(in_old(text), 0, "{text:?}");
    }
    assert_eq!(in_new("Ip6InNoRoutes 4\n"), 0);
}
