//! Tests that an order is decoded exactly, and that no other bytes are an order.

use super::*;

fn order() -> Order {
    let grant = |path: &str| Grant { path: path.into(), identity: Identity { device: 7, inode: u64::MAX } };
    Order {
        backend: Backend::ContentOnly,
        task: Task::SelfTest,
        program: "sh".into(),
        args: vec!["-c".into(), OsString::from_vec(b"\xff\n".to_vec()), "".into()],
        env: vec![("A".into(), "b=c".into())],
        folder: "/x".into(),
        terminal: TerminalAccess::Background,
        own_network: OwnNetwork::Passed,
        lasts: Lasts::AllProcesses,
        profile: OSProfile {
            readable: vec![grant("/r")],
            writable: vec![grant("/w"), grant("/v")],
            scratch: vec![grant("/s")],
            views: vec![View { root: "/w".into(), upper: grant("/l/upper"), work: grant("/l/work") }],
            denied: vec![
                DeniedPath { path: "/w/.env".into(), what: Denial::All },
                DeniedPath { path: "/w/.git".into(), what: Denial::Write },
            ],
            links: vec![("/home".into(), "/data/home".into())],
            kept: vec![KeptFolder { at: "/tmp".into(), folder: grant("/k") }],
            network: Network::Shared,
            limits: Limits {
                wall: Some(Duration::from_millis(9)),
                cpu: Some(Duration::from_secs(3)),
                file: Some(0),
                ..Limits::default()
            },
            environment: vec!["PATH".into()],
            descriptors: Descriptors::Terminal,
            user: User::Other { user: 1, group: u32::MAX },
            ..OSProfile::nothing()
        },
    }
}

#[test]
fn encoded_order_decodes_to_itself() {
    assert_eq!(decode(&encode(&order())), Some(order()));
}

#[test]
fn partial_order_and_trailing_bytes_are_refused() {
    let bytes = encode(&order());
    for length in 0..bytes.len() {
        assert_eq!(decode(&bytes[..length]), None, "{length}");
    }
    assert_eq!(decode(&[&bytes[..], b"x"].concat()), None);
}

#[test]
fn corrupted_order_never_panics() {
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
fn order_of_another_version_is_refused() {
    let mut bytes = encode(&order());
    let last = 8 + HEAD.len() - 1;
    bytes[last] = b'x';
    assert_eq!(decode(&bytes), None);
}
