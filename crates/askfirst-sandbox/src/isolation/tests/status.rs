//! Tests of mechanisms that no probe needs alone: the kernel says whether a process in the sandbox has them.

use std::fs;
use std::process::Command;

use super::runs::sandbox;
use super::setup::{home, profile, sh};
use crate::isolation::launch_in_sandbox;
use crate::stop::Stop;

fn said(script: &str) -> String {
    let home = home();
    let spec = sh(&home.path.join("A"), script);
    let over = launch_in_sandbox(&sandbox(), &profile(&home.path), &spec, &Stop::new()).unwrap();
    String::from_utf8(over.finished.stdout.whole().unwrap()).unwrap()
}

#[test]
fn program_shares_no_namespace_with_the_launcher() {
    let kinds = ["user", "mnt", "pid", "ipc", "uts", "cgroup", "net"];
    let inside = said(&format!("cd /proc/self/ns; readlink {}", kinds.join(" ")));
    assert_eq!(inside.lines().count(), kinds.len(), "{inside}");
    for (kind, inside) in kinds.into_iter().zip(inside.lines()) {
        let outside = fs::read_link(format!("/proc/self/ns/{kind}")).unwrap();
        assert!(inside.starts_with(kind) && outside.to_str() != Some(inside), "{inside}");
    }
}

#[test]
fn program_has_no_capabilities_and_cannot_gain_any() {
    let status = said("cat /proc/self/status");
    let value = |name: &str| {
        let found = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
        found.unwrap_or_else(|| panic!("{name}: {status}"))
    };
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(value(set), "0000000000000000", "{set}");
    }
    assert_eq!(value("NoNewPrivs"), "1");
    assert_eq!(value("Seccomp"), "2");
}

/// The kernel allows a fixed number of Landlock layers. The sandbox has used one of them.
#[test]
fn program_has_one_landlock_layer_more_than_the_launcher() {
    let script = "python3 -c '
import ctypes
libc = ctypes.CDLL(None)
right = ctypes.c_uint64(1)
rules = libc.syscall(444, ctypes.byref(right), ctypes.c_size_t(8), 0)
assert rules > 2 and libc.prctl(38, 1, 0, 0, 0) == 0
layers = 0
while libc.syscall(446, rules, 0) == 0: layers += 1
print(layers)'";
    let outside = Command::new("sh").args(["-c", script]).output().unwrap();
    let number = |text: &str| text.trim().parse::<u32>().unwrap();
    let outside = number(&String::from_utf8(outside.stdout).unwrap());
    assert_eq!(number(&said(script)) + 1, outside);
}
