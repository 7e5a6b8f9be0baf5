//! Tests that concurrent launches do not disturb each other and leave neither descriptors nor processes.

use std::fs;
use std::thread;

use askfirst_sandbox::{End, Stdin, Stop, launch};
use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions};

use crate::{Process, alone, sh, text};

#[test]
fn concurrent_launches_leave_no_descriptor_or_child() {
    if alone("together::concurrent_launches_leave_no_descriptor_or_child", &[]) == Process::Shared {
        return;
    }
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            thread::spawn(move || {
                for number in 0..50 {
                    let mut spec =
                        sh("cat; echo $1 >&2; exit $2", &[&thread.to_string(), &number.to_string()]);
                    spec.stdin = Stdin::Bytes(format!("{thread} {number}").into_bytes());
                    let finished = launch(&spec, &Stop::new()).unwrap();
                    assert_eq!(finished.end, End::Exited(number));
                    assert_eq!(text(&finished.stdout), format!("{thread} {number}"));
                    assert_eq!(text(&finished.stderr), format!("{thread}\n"));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(descriptors(), before);
    let children = rustix::process::waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    assert!(matches!(children, Err(Errno::CHILD)), "a child is left");
}
