//! An order reads back exactly, and nothing else reads as one.

use super::*;
use crate::walls::mechanism::Mechanism;

fn order() -> Order {
    let grant = |path: &str| Grant { path: path.into(), is: Identity { device: 7, inode: u64::MAX } };
    Order {
        way: Way::ContentOnly,
        inside: Inside::Check,
        program: "sh".into(),
        args: vec!["-c".into(), OsString::from_vec(b"\xff\n".to_vec()), "".into()],
        env: vec![("A".into(), "b=c".into())],
        folder: "/x".into(),
        place: Place::Behind,
        profile: OSProfile {
            readable: vec![grant("/r")],
            writable: vec![grant("/w"), grant("/v")],
            denied: vec![
                Denied { path: "/w/.env".into(), what: Denial::All },
                Denied { path: "/w/.git".into(), what: Denial::Write },
            ],
            network: Network::Shared,
            limits: Limits { cpu: Some(Duration::from_secs(3)), file: Some(0), ..Limits::default() },
            environment: vec!["PATH".into()],
            descriptors: Descriptors::Terminal,
            user: User::Other { user: 1, group: u32::MAX },
            ..OSProfile::nothing()
        },
        off: vec![Mechanism::Tie],
    }
}

#[test]
fn an_order_reads_back_as_it_was() {
    assert_eq!(decode(&encode(&order())), Some(order()));
}

#[test]
fn a_part_of_an_order_or_more_than_one_is_refused() {
    let bytes = encode(&order());
    for length in 0..bytes.len() {
        assert_eq!(decode(&bytes[..length]), None, "{length}");
    }
    assert_eq!(decode(&[&bytes[..], b"x"].concat()), None);
}

#[test]
fn no_changed_byte_makes_it_fail_otherwise_than_by_refusing() {
    let bytes = encode(&order());
    for at in 0..bytes.len() {
        for value in [0, 1, 2, 0x7f, 0xff] {
            let mut changed = bytes.clone();
            changed[at] = value;
            drop(decode(&changed));
        }
    }
}

#[test]
fn an_order_of_another_version_is_refused() {
    let mut bytes = encode(&order());
    let last = 8 + HEAD.len() - 1;
    bytes[last] = b'x';
    assert_eq!(decode(&bytes), None);
}
