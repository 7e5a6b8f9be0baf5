//! Tests of programs that are attached to the terminal of their launcher.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr, tcgetpgrp, tcsetpgrp};

use super::is_root;
use super::runs::{As, OTHER_USER, sandbox, scene_command};
use super::setup::{home, profile, sh};
use crate::isolation::attach_in_sandbox;
use crate::isolation::order::Backend;
use crate::profile::Descriptors;
use crate::spec::End;
use crate::stop::Stop;

/// Tries everything that would outlast the program, and exits with the number of forbidden changes that succeeded.
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

/// Waits to be stopped, reads a line, and waits to be interrupted.
const JOB: &str = "exec python3 -c '
import signal, sys
print(\"ready\", flush=True)
print(\"heard\", sys.stdin.readline().strip(), flush=True)
try: signal.pause()
except KeyboardInterrupt: sys.exit(7)'";

/// Runs in its own process, whose standard streams are a terminal.
pub(super) fn play(scene: &str) {
    match scene {
        "group" => group(),
        "shell full" => shell("job full"),
        "shell content-only" => shell("job content-only"),
        "job full" => job(Backend::Namespaces),
        "job content-only" => job(Backend::ContentOnly),
        descriptors => tries(descriptors),
    }
}

/// Starts a session that controls this terminal.
fn take_terminal() {
    // SAFETY: no memory is passed.
    unsafe {
        assert!(libc::setsid() > 0);
        assert_eq!(libc::ioctl(0, libc::TIOCSCTTY, 0), 0);
    }
}

/// Kills every process of its own group, which has a number inside the sandbox. The number of a group outside would be 0.
fn group() {
    take_terminal();
    let home = home();
    let mut profile = profile(&home.path);
    profile.descriptors = Descriptors::Terminal;
    let spec = sh(
        &home.path,
        "read -r pid name state parent group rest < /proc/self/stat; [ $group != 0 ] && kill -KILL 0",
    );
    let (end, _) = attach_in_sandbox(&sandbox(), &profile, &spec, &Stop::new()).unwrap();
    assert_eq!(end, End::Signalled(libc::SIGKILL));
    assert_eq!(tcgetpgrp(rustix::stdio::stdin()).unwrap(), rustix::process::getpgrp());
}

/// Acts like an interactive shell: starts a job, and brings it back to the foreground after it has stopped.
fn shell(job: &str) {
    take_terminal();
    // SAFETY: ignores a signal.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
    let stdin = rustix::stdio::stdin();
    let mut command = scene_command(As::Root);
    command.args(["terminal", "User", job]).stdin(stdin.try_clone_to_owned().unwrap());
    // SAFETY: only calls of the system are made.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setpgid(None, None)?;
            tcsetpgrp(rustix::stdio::stdin(), rustix::process::getpid())?;
            libc::signal(libc::SIGTTOU, libc::SIG_DFL);
            Ok(())
        });
    }
    let group = Pid::from_child(&command.spawn().unwrap());
    let next = || rustix::process::waitpid(Some(group), WaitOptions::UNTRACED).unwrap().unwrap().1;
    assert_eq!(next().stopping_signal(), Some(libc::SIGTSTP));
    tcsetpgrp(stdin, rustix::process::getpgrp()).unwrap();
    println!("stopped");
    tcsetpgrp(stdin, group).unwrap();
    rustix::process::kill_process_group(group, Signal::CONT).unwrap();
    let end: WaitStatus = next();
    assert_eq!(end.exit_status(), Some(0), "{end:?}");
    assert_eq!(tcgetpgrp(stdin).unwrap(), group, "the job did not get the terminal back");
}

/// A job of that shell.
fn job(backend: Backend) {
    let (home, mut sandbox) = (home(), sandbox());
    sandbox.backend = backend;
    let mut profile = profile(&home.path);
    profile.descriptors = Descriptors::Terminal;
    let (end, _) = attach_in_sandbox(&sandbox, &profile, &sh(&home.path, JOB), &Stop::new()).unwrap();
    assert_eq!(end, End::Exited(7));
}

fn tries(descriptors: &str) {
    // Leave the terminal of the person who runs the tests.
    // SAFETY: no memory is passed.
    assert!(unsafe { libc::setsid() } > 0);
    let home = home();
    let mut profile = profile(&home.path);
    profile.descriptors = match descriptors {
        "attached" => Descriptors::Terminal,
        _ => Descriptors::Standard,
    };
    let (end, _) = attach_in_sandbox(&sandbox(), &profile, &sh(&home.path, TRIES), &Stop::new()).unwrap();
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

/// Runs a program on a terminal with the given owner, and returns the terminal.
fn after(who: As, owner: u32, descriptors: &str) -> Terminal {
    let terminal = terminal(owner);
    let end = || terminal.end.try_clone().unwrap();
    let mut command = scene_command(who);
    command.args(["terminal", "User", descriptors]).stdin(end()).stdout(end()).stderr(end());
    let status = command.status().unwrap();
    assert!(status.success(), "{who:?} {descriptors}: {}", said(&terminal));
    terminal
}

/// Starts a scene on a terminal.
fn start(who: As, terminal: &Terminal, scene: &str) -> Child {
    let end = || terminal.end.try_clone().unwrap();
    let mut command = scene_command(who);
    command.args(["terminal", "User", scene]).stdin(end()).stdout(end()).stderr(end()).spawn().unwrap()
}

/// Waits until a text appears on a terminal.
fn wait_for(terminal: &Terminal, text: &str) {
    rustix::io::ioctl_fionbio(&terminal.other_end, true).unwrap();
    let (mut all, begun) = (String::new(), Instant::now());
    while !all.contains(text) {
        assert!(begun.elapsed() < Duration::from_secs(30), "missing output: {text}; got: {all}");
        let mut piece = [0; 4096];
        match rustix::io::read(&terminal.other_end, &mut piece) {
            Ok(count) => all.push_str(&String::from_utf8_lossy(&piece[..count])),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Returns the output on a terminal, without waiting for more.
fn said(terminal: &Terminal) -> String {
    rustix::io::ioctl_fionbio(&terminal.other_end, true).unwrap();
    let mut text = vec![0; 1 << 14];
    let count = rustix::io::read(&terminal.other_end, &mut text).unwrap_or(0);
    String::from_utf8_lossy(&text[..count]).into_owned()
}

/// The users that this test can run as, with their ids.
fn users() -> Vec<(As, u32)> {
    let own = rustix::process::geteuid().as_raw();
    if is_root() { vec![(As::User, OTHER_USER), (As::Root, own)] } else { vec![(As::User, own)] }
}

#[test]
fn attached_program_cannot_change_terminal_mode_bits() {
    for (who, owner) in users() {
        for descriptors in ["attached", "standard"] {
            let terminal = after(who, owner, descriptors);
            let mode = rustix::fs::fstat(&terminal.end).unwrap().st_mode & 0o777;
            assert_eq!(mode, 0o600, "{who:?} {descriptors}");
        }
    }
}

#[test]
fn terminal_settings_are_restored_after_the_program() {
    let mut cases = users();
    if is_root() {
        // A user who was given the terminal of another one, and cannot reopen it.
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

#[test]
fn attached_program_is_not_in_the_launchers_group() {
    for (who, owner) in users() {
        let terminal = terminal(owner);
        let status = start(who, &terminal, "group").wait().unwrap();
        assert!(status.success(), "{who:?} {status:?}: {}", said(&terminal));
    }
}

#[test]
fn keys_stop_and_interrupt_a_job_and_the_shell_resumes_it() {
    for (who, owner) in users() {
        for scene in ["shell full", "shell content-only"] {
            let terminal = terminal(owner);
            let press =
                |keys: &[u8]| assert_eq!(rustix::io::write(&terminal.other_end, keys), Ok(keys.len()));
            let mut shell = start(who, &terminal, scene);
            wait_for(&terminal, "ready");
            press(b"\x1a");
            wait_for(&terminal, "stopped");
            press(b"you\n");
            wait_for(&terminal, "heard you");
            press(b"\x03");
            wait_for(&terminal, "done");
            assert!(shell.wait().unwrap().success(), "{who:?} {scene}: {}", said(&terminal));
        }
    }
}
