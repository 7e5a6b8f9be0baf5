//! Tests both counter files, in today's format and in formats of later kernels.

use super::{Attempts, parse};

#[test]
fn counter_is_found_by_its_name() {
    let ipv4 = "Ip: Forwarding OutDiscards OutNoRoutes FragOKs\nIp: 2 5 7 9\nIcmp: InMsgs\nIcmp: 3\n\
                Tcp: MaxConn AttemptFails\nTcp: -1 4\nUdp: InDatagrams NoPorts\nUdp: 1 3\nUdpLite: NoPorts\nUdpLite: 8\n";
    let ipv6 = "Ip6InNoRoutes                   \t4\nIp6OutNoRoutes                  \t2\nUdp6NoPorts \t5\n";
    assert_eq!(parse(ipv4, ipv6), Attempts { outside: 9, connections: 4, datagrams: 8 });
}

#[test]
fn missing_counter_is_zero() {
    for text in ["", "Ip: Forwarding\n", "Ip: OutNoRoutes\nIp:\n", "Ip: OutNoRoutes\nIp: x\n"] {
        assert_eq!(parse(text, "Ip6InNoRoutes 4\nIp6OutNoRoutesOfNow 3\n"), Attempts::default(), "{text:?}");
    }
}
