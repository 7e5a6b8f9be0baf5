//! The text for a profile, line by line.

use super::*;
use crate::profile::{Denied, Grant, Identity};

fn grant(path: &str) -> Grant {
    Grant { path: path.into(), is: Identity { device: 0, inode: 0 } }
}

fn profile() -> OSProfile {
    OSProfile {
        readable: vec![grant("/p"), grant("/p/w/fixed")],
        writable: vec![grant("/p/w")],
        denied: vec![
            Denied { path: "/p/w/a/.env".into(), what: Denial::All },
            Denied { path: "/p/w/.git/hooks".into(), what: Denial::Write },
        ],
        ..OSProfile::nothing()
    }
}

/// The lines about paths that are not the system's, with the paths put in.
fn lines(made: &Seatbelt) -> Vec<String> {
    let mut text = made.text.clone();
    for (name, value) in made.parameters.iter().rev() {
        text = text.replace(&format!("(param \"{name}\")"), &value.to_string_lossy());
    }
    text.lines().filter(|line| line.contains(" /p)") || line.contains(" /p/")).map(str::to_owned).collect()
}

#[test]
fn grants_come_from_the_outside_in_and_denials_last() {
    assert_eq!(
        lines(&Seatbelt::new(&profile())),
        [
            "(allow file-read* (subpath /p))",
            "(deny file-write* (subpath /p))",
            "(deny file-write-unlink file-write-create (literal /p))",
            "(allow file-read* file-write* (subpath /p/w))",
            "(deny file-write-unlink file-write-create (literal /p/w))",
            "(allow file-read* (subpath /p/w/fixed))",
            "(deny file-write* (subpath /p/w/fixed))",
            "(deny file-write-unlink file-write-create (literal /p/w/fixed))",
            "(deny file-read* file-write* (subpath /p/w/a/.env))",
            "(deny file-write-unlink (literal /p/w/a))",
            "(deny file-write* (subpath /p/w/.git/hooks))",
            "(deny file-write-unlink (literal /p/w/.git))",
        ]
    );
}

#[test]
fn everything_is_refused_that_no_line_allows() {
    let made = Seatbelt::new(&OSProfile::nothing());
    assert!(made.text.starts_with("(version 1)\n(deny default)\n"));
    assert!(!made.text.contains("(allow default)") && !made.text.contains("/Users"));
}

#[test]
fn a_path_cannot_be_read_as_part_of_the_text() {
    let mut profile = OSProfile::nothing();
    profile.writable = vec![grant("/p\")) (allow default) ((\"")];
    let made = Seatbelt::new(&profile);
    assert!(!made.text.contains("allow default"));
    assert!(made.parameters.iter().any(|(_, value)| value == "/p\")) (allow default) ((\""));
}

#[test]
fn the_network_is_there_only_if_it_is_shared() {
    let without = Seatbelt::new(&OSProfile::nothing()).text;
    assert!(without.contains("(deny network-outbound (remote ip))"));
    let with = Seatbelt::new(&OSProfile { network: Network::Shared, ..OSProfile::nothing() }).text;
    assert!(with.contains("(allow network-inbound network-outbound (remote ip))"));
    for text in [with, without] {
        assert!(text.contains("(deny network-outbound (remote unix-socket))"));
    }
}
