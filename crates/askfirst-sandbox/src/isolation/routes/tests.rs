//! Tests both counter files, in today's format and in formats of later kernels.

use super::{parse_ipv4, parse_ipv6};

#[test]
fn counter_is_found_by_its_name() {
    let ipv4 = "Ip: Forwarding OutDiscards OutNoRoutes FragOKs\nIp: 2 5 7 9\nIcmp: InMsgs\nIcmp: 3\n";
    assert_eq!(parse_ipv4(ipv4), 7);
    let ipv6 = "Ip6InNoRoutes                   \t4\nIp6OutNoRoutes                  \t2\n";
    assert_eq!(parse_ipv6(ipv6), 2);
}

#[test]
fn missing_counter_is_zero() {
    for text in ["", "Ip: Forwarding\n", "Ip: OutNoRoutes\nIp:\n", "Ip: OutNoRoutes\nIp: x\n"] {
        assert_eq!(parse_ipv4(text), 0, "{text:?}");
    }
    assert_eq!(parse_ipv6("Ip6InNoRoutes 4\n"), 0);
}
