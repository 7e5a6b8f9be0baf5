//! Tests what a program gets: its arguments, variables, folder, session, signals and limits, and nothing else.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use askfirst_sandbox::{End, Limits, Spec, Stdin, Stop, launch};
use rustix::io::FdFlags;
use rustix::pty::OpenptFlags;

use crate::{Process, alone, run, sh, text};

#[test]
fn arguments_arrive_byte_for_byte() {
    let mut spec = sh("cat /proc/$$/cmdline; exit 0", &[]);
    let odd: [&[u8]; 7] =
        [b"a b", b"", b"two\nlines", b"\xff\xfe", b"$HOME `x` \"'\\", b"-n", "é".as_bytes()];
    spec.args.extend(odd.iter().map(|bytes| OsStr::from_bytes(bytes).to_owned()));
    let finished = run(spec.clone());
    assert_eq!(finished.end, End::Exited(0));
    let mut want = b"sh\0".to_vec();
    for arg in &spec.args {
        want.extend_from_slice(arg.as_bytes());
        want.push(0);
    }
    assert_eq!(finished.stdout.whole().unwrap(), want);
}

#[test]
fn environment_contains_given_variables_and_the_mark() {
    let mut spec = Spec::new("/bin/cat", "/");
    spec.args = vec!["/proc/self/environ".into()];
    spec.env = vec![
        ("PLAIN".into(), "1".into()),
        ("ODD".into(), OsString::from_vec(b"a=b\n\xff ".to_vec())),
        ("EMPTY".into(), "".into()),
    ];
    let got = run(spec).stdout.whole().unwrap();
    let rest = got.strip_prefix(b"PLAIN=1\0ODD=a=b\n\xff \0EMPTY=\0ASKFIRST_LAUNCH=".as_slice()).unwrap();
    let mark = rest.strip_suffix(b"\0").unwrap();
    assert!(mark.len() == 32 && mark.iter().all(u8::is_ascii_hexdigit), "{}", mark.escape_ascii());
}

#[test]
fn nested_launch_has_both_marks() {
    let outer = "0123456789abcdef0123456789abcdef";
    if alone("starts::nested_launch_has_both_marks", &[("ASKFIRST_LAUNCH", outer)]) == Process::Shared {
        return;
    }
    let got = text(&run(sh("echo $ASKFIRST_LAUNCH", &[])).stdout);
    let inner = got.trim_end().strip_prefix(outer).unwrap().strip_prefix(':').unwrap();
    assert_eq!(inner.len(), 32);
}

#[test]
fn program_inherits_no_descriptor() {
    let file = File::open("/dev/null").unwrap();
    let high = rustix::io::fcntl_dupfd_cloexec(&file, 200).unwrap();
    for fd in [file.as_raw_fd(), high.as_raw_fd()] {
        assert!(fd > 2);
    }
    rustix::io::fcntl_setfd(&file, FdFlags::empty()).unwrap();
    rustix::io::fcntl_setfd(&high, FdFlags::empty()).unwrap();

    let list = "ls /proc/$$/fd; exit 0";
    let open = Command::new("sh").args(["-c", list]).output().unwrap();
    let inherited = String::from_utf8(open.stdout).unwrap();
    for fd in [file.as_raw_fd(), high.as_raw_fd()] {
        assert!(
            inherited.lines().any(|line| line == fd.to_string()),
            "the test would not see it: {inherited}"
        );
    }
    assert_eq!(text(&run(sh(list, &[])).stdout), "0\n1\n2\n");
}

#[test]
fn closed_launcher_streams_do_not_mix_up_program_streams() {
    if alone("starts::closed_launcher_streams_do_not_mix_up_program_streams", &[]) == Process::Shared {
        return;
    }
    let input = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 100).unwrap();
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 100).unwrap();
    close(0);
    close(1);
    let mut spec = sh("cat; echo error >&2; ls /proc/$$/fd; readlink /proc/$$/cwd", &[]);
    spec.stdin = Stdin::Bytes(b"input\n".to_vec());
    spec.folder = "/usr".into();
    // Not on another thread, which might close its descriptors after ours are restored.
    let finished = launch(&spec, &Stop::new()).unwrap();
    assert_eq!(text(&finished.stdout), "input\n0\n1\n2\n/usr\n");
    assert_eq!(text(&finished.stderr), "error\n");
    rustix::stdio::dup2_stdin(&input).unwrap();
    rustix::stdio::dup2_stdout(&output).unwrap();
}

#[allow(unsafe_code, reason = "a descriptor of the test runner has no owner to drop")]
fn close(fd: i32) {
    // SAFETY: called in its own process, for descriptors that no other code uses meanwhile.
    unsafe { rustix::io::close(fd) };
}

#[test]
fn program_leads_a_session_without_a_terminal() {
    if alone("starts::program_leads_a_session_without_a_terminal", &[]) == Process::Shared {
        return;
    }
    // Open a terminal, so that there is one to inherit.
    let pty = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&pty).unwrap();
    rustix::pty::unlockpt(&pty).unwrap();
    let name = rustix::pty::ptsname(&pty, Vec::new()).unwrap();
    rustix::process::setsid().unwrap();
    let _terminal = rustix::fs::open(name, rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty()).unwrap();
    File::open("/dev/tty").unwrap();

    let stat =
        text(&run(sh("cat /proc/$$/stat; (exec 3</dev/tty) 2>/dev/null && echo terminal", &[])).stdout);
    let fields: Vec<&str> = stat.split(' ').collect();
    let (pid, group, session, terminal) = (fields[0], fields[4], fields[5], fields[6]);
    assert_eq!((group, session, terminal), (pid, pid, "0"));
    assert!(!stat.contains("terminal"));
    // Closing it would send us a hangup signal.
    std::mem::forget(pty);
}

#[test]
fn program_starts_with_default_signals() {
    let status = text(&run(sh("cat /proc/self/status", &[])).stdout);
    let own = fs::read_to_string("/proc/thread-self/status").unwrap();
    let value = |text: &str, name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    assert_ne!(
        value(&own, "SigIgn:"),
        0,
        "the test runner ignores SIGPIPE, so there is something to inherit"
    );
    // 32 and 33 belong to the C library, which sets them as it likes.
    let library = 0b11 << 31;
    assert_eq!(value(&status, "SigIgn:") & !library, 0);
    assert_eq!(value(&status, "SigBlk:"), 0);
}

#[test]
fn relative_program_starts_in_the_working_folder() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    fs::write(home.join("tool"), "#!/bin/sh\necho \"$0\"\nreadlink /proc/$$/cwd\n").unwrap();
    fs::set_permissions(home.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut spec = Spec::new("./tool", &home);
    spec.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    let finished = run(spec);
    assert_eq!(finished.end, End::Exited(0));
    assert_eq!(text(&finished.stdout), format!("{0}/./tool\n{0}\n", home.display()));
}

#[test]
fn limits_are_set_on_the_program() {
    // Wait a moment, since they are set just after the start.
    let mut spec = sh("sleep 0.5; cat /proc/self/limits", &[]);
    spec.limits = Limits {
        cpu: Some(Duration::from_millis(41_500)),
        memory: Some(123_456_789),
        processes: Some(1000),
        file: Some(54_321),
        ..Limits::default()
    };
    let limits = text(&run(spec).stdout);
    let line = |name: &str| -> Vec<String> {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().take(2).map(str::to_owned).collect()
    };
    assert_eq!(line("Max cpu time"), ["42", "43"]);
    assert_eq!(line("Max data size"), ["123456789", "123456789"]);
    assert_eq!(line("Max file size"), ["54321", "54321"]);
    let processes = line("Max processes");
    assert!(processes.iter().all(|most| most.parse::<u64>().unwrap() > 1000), "{processes:?}");
}

#[test]
fn too_large_file_ends_the_program() {
    let home = tempfile::tempdir().unwrap();
    let mut spec = sh("sleep 0.5; exec head -c 100000 /dev/zero > file", &[]);
    spec.folder = home.path().into();
    spec.limits.file = Some(4096);
    assert_eq!(run(spec).end, End::Signalled(libc::SIGXFSZ));
    assert_eq!(fs::metadata(home.path().join("file")).unwrap().len(), 4096);
}

#[test]
fn exhausted_processor_time_ends_the_program() {
    let mut spec = sh("while :; do :; done", &[]);
    spec.limits.cpu = Some(Duration::from_millis(1));
    assert_eq!(run(spec).end, End::Signalled(libc::SIGXCPU));
}
