//! Tests the kernel's list of sockets.

use super::port;

#[test]
fn only_listening_sockets_have_a_port() {
    let list = "  sl  local_address rem_address   st tx_queue rx_queue\n   \
                0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n   \
                1: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 0\n   \
                2: 0100007F:1F91 0100007F:C350 01 00000000:00000000\n";
    assert_eq!(list.lines().filter_map(port).collect::<Vec<_>>(), [8080, 80]);
    assert_eq!(["", "0:", "0: x y 0A", "0: :1 y"].map(port), [None; 4]);
}
