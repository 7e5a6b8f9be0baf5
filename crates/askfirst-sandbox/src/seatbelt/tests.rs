//! Tests the generated profile text, line by line.

use super::*;
use crate::profile::{DeniedPath, Grant, Identity};

fn grant(path: &str) -> Grant {
    Grant { path: path.into(), identity: Identity { device: 0, inode: 0 } }
}

fn profile() -> OSProfile {
    OSProfile {
        readable: vec![grant("/p"), grant("/p/w/fixed")],
        writable: vec![grant("/p/w")],
        denied: vec![
            DeniedPath { path: "/p/w/a/.env".into(), what: Denial::All },
            DeniedPath { path: "/p/w/.git/hooks".into(), what: Denial::Write },
        ],
        ..OSProfile::nothing()
    }
}

/// Returns the lines about the profile's own paths, with the paths inserted.
fn lines(made: &Seatbelt) -> Vec<String> {
    let mut text = made.text.clone();
    for (name, value) in made.parameters.iter().rev() {
        text = text.replace(&format!("(param \"{name}\")"), &value.to_string_lossy());
    }
    text.lines().filter(|line| line.contains(" /p)") || line.contains(" /p/")).map(str::to_owned).collect()
}

#[test]
fn profile_lists_outer_grants_first_and_denials_last() {
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
fn empty_profile_denies_by_default() {
    let made = Seatbelt::new(&OSProfile::nothing());
    assert!(made.text.starts_with("(version 1)\n(deny default)\n"));
    assert!(!made.text.contains("(allow default)") && !made.text.contains("/Users"));
}

#[test]
fn path_with_syntax_stays_a_parameter() {
    let mut profile = OSProfile::nothing();
    profile.writable = vec![grant("/p\")) (allow default) ((\"")];
    let made = Seatbelt::new(&profile);
    assert!(!made.text.contains("allow default"));
    assert!(made.parameters.iter().any(|(_, value)| value == "/p\")) (allow default) ((\""));
}

#[test]
fn network_is_allowed_only_if_shared() {
    let without = Seatbelt::new(&OSProfile::nothing()).text;
    assert!(without.contains("(deny network-outbound (remote ip))"));
    let with = Seatbelt::new(&OSProfile { network: Network::Shared, ..OSProfile::nothing() }).text;
    assert!(with.contains("(allow network-inbound network-outbound (remote ip))"));
    for text in [with, without] {
        assert!(text.contains("(deny network-outbound (remote unix-socket))"));
    }
}
