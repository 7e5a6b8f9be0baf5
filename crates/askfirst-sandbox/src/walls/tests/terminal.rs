//! What a program does to the terminal of whoever started it.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use super::is_root;
use super::runs::{As, SOMEBODY, scene_command, walls};
use super::setup::{home, profile, sh};
use crate::profile::Descriptors;
use crate::spec::End;
use crate::stop::Stop;
use crate::walls::attach_behind;

/// Tries all that outlasts a program, and ends with how much of what is refused was not.
const TRIES: &str = "exec python3 -c '
import fcntl, os, sys, termios, tty
changed = 0
for fd in (0, 1, 2):
    for change in (
        lambda: os.fchmod(fd, 0o666),
        lambda: os.chmod(\"/proc/self/fd/%d\" % fd, 0o666),
        lambda: os.fchown(fd, os.getuid(), os.getgid()),
        lambda: os.utime(fd, (1, 1)),
    ):
        try: change(); changed += 1
        except OSError: pass
    for discipline in (27, 0):
        try: fcntl.ioctl(fd, termios.TIOCSETD, discipline.to_bytes(4, \"little\")); changed += 1
        except OSError: pass
    assert os.isatty(fd)
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
tty.setraw(0)
fcntl.ioctl(0, termios.TIOCEXCL)
termios.tcflow(0, termios.TCOOFF)
sys.exit(changed)'";

/// In a process of its own, whose streams are a terminal.
pub(super) fn play(descriptors: &str) {
    let home = home();
    let mut profile = profile(&home.path);
    profile.descriptors = match descriptors {
        "attached" => Descriptors::Terminal,
        _ => Descriptors::Standard,
    };
    let (end, _) = attach_behind(&walls(), &profile, &sh(&home.path, TRIES), &Stop::new()).unwrap();
    assert_eq!(end, End::Exited(0));
}

struct Terminal {
    other_end: OwnedFd,
    end: File,
}

fn terminal(owner: u32) -> Terminal {
    let other_end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&other_end).unwrap();
    unlockpt(&other_end).unwrap();
    let name = ptsname(&other_end, Vec::new()).unwrap();
    let name = std::ffi::OsStr::from_bytes(name.to_bytes());
    let end = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(name).unwrap();
    std::os::unix::fs::fchown(&end, Some(owner), None).unwrap();
    rustix::fs::fchmod(&end, Mode::from_raw_mode(0o600)).unwrap();
    Terminal { other_end, end }
}

/// A terminal of somebody's after a program was there that was started by somebody.
fn after(who: As, owner: u32, descriptors: &str) -> Terminal {
    let terminal = terminal(owner);
    let end = || terminal.end.try_clone().unwrap();
    let mut command = scene_command(who);
    command.args(["terminal", "User", descriptors]).stdin(end()).stdout(end()).stderr(end());
    let status = command.status().unwrap();
    assert!(status.success(), "{who:?} {descriptors}: {}", said(&terminal));
    terminal
}

/// What was said to a terminal.
fn said(terminal: &Terminal) -> String {
    let mut text = vec![0; 1 << 14];
    let count = rustix::io::read(&terminal.other_end, &mut text).unwrap();
    String::from_utf8_lossy(&text[..count]).into_owned()
}

/// Everybody who can be somebody here, with their numbers.
fn everybody() -> Vec<(As, u32)> {
    let own = rustix::process::geteuid().as_raw();
    if is_root() { vec![(As::User, SOMEBODY), (As::Root, own)] } else { vec![(As::User, own)] }
}

#[test]
fn a_terminal_cannot_be_given_another_mode() {
    for (who, owner) in everybody() {
        for descriptors in ["attached", "standard"] {
            let terminal = after(who, owner, descriptors);
            let mode = rustix::fs::fstat(&terminal.end).unwrap().st_mode & 0o777;
            assert_eq!(mode, 0o600, "{who:?} {descriptors}");
        }
    }
}

#[test]
fn a_terminal_is_left_as_it_was() {
    let mut cases = everybody();
    if is_root() {
        // Somebody who was handed the terminal of another, and cannot open it again.
        cases.push((As::User, 0));
    }
    for (who, owner) in cases {
        for descriptors in ["attached", "standard"] {
            let Terminal { end, other_end: _other_end } = after(who, owner, descriptors);
            let case = format!("{who:?} {owner} {descriptors}");
            assert!(!rustix::fs::fcntl_getfl(&end).unwrap().contains(OFlags::NONBLOCK), "{case}");
            let modes = tcgetattr(&end).unwrap().local_modes;
            assert!(modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG), "{case}");
            let mut exclusive = 0;
            // SAFETY: one number is written.
            assert_eq!(unsafe { libc::ioctl(end.as_raw_fd(), libc::TIOCGEXCL, &mut exclusive) }, 0);
            assert_eq!(exclusive, 0, "{case}");
            rustix::fs::fcntl_setfl(&end, OFlags::NONBLOCK).unwrap();
            assert_eq!(rustix::io::write(&end, b"x"), Ok(1), "{case}");
        }
    }
}
