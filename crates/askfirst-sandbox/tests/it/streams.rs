//! Tests input and output in any order and of any size: no hang and no lost byte.

use askfirst_sandbox::{End, Stdin};

use crate::{Process, alone, nap, run, running, sh, text};

#[test]
fn stdout_and_stderr_are_captured_separately() {
    let finished = run(sh("echo out; echo error >&2; exit 3", &[]));
    assert_eq!(finished.end, End::Exited(3));
    assert_eq!((text(&finished.stdout), text(&finished.stderr)), ("out\n".to_owned(), "error\n".to_owned()));
}

#[test]
fn program_without_input_reads_end_of_file() {
    assert_eq!(text(&run(sh("cat; echo end", &[])).stdout), "end\n");
    let mut spec = sh("cat; echo end", &[]);
    spec.stdin = Stdin::Bytes(Vec::new());
    assert_eq!(text(&run(spec).stdout), "end\n");
}

#[test]
fn large_input_comes_back_through_cat() {
    let input: Vec<u8> = (0..5_000_000_u32).map(|number| (number % 251) as u8).collect();
    let mut spec = sh("cat", &[]);
    spec.stdin = Stdin::Bytes(input.clone());
    spec.limits.output = 6_000_000;
    let finished = run(spec);
    assert_eq!(finished.end, End::Exited(0));
    assert!(finished.stdout.whole().unwrap() == input);
}

#[test]
fn full_output_stream_does_not_block_the_other() {
    let script = "head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2";
    let mut spec = sh(script, &[]);
    spec.stdin = Stdin::Bytes(vec![1; 1_000_000]);
    let finished = run(spec);
    let total = |captured: &askfirst_sandbox::Capture| {
        captured.head.len() as u64 + captured.tail.len() as u64 + captured.dropped
    };
    assert_eq!(finished.end, End::Exited(0));
    assert_eq!((total(&finished.stdout), total(&finished.stderr)), (3_000_000, 6_000_000));
}

#[test]
fn ten_megabytes_of_output_keep_head_and_tail() {
    let whole: String = (1..=1_450_000).map(|number| format!("{number}\n")).collect();
    assert!(whole.len() > 10_000_000);
    let mut spec = sh("seq 1 1450000", &[]);
    spec.limits.output = 100_001;
    let finished = run(spec);
    assert_eq!(finished.end, End::Exited(0));
    assert_eq!(finished.stdout.head, whole.as_bytes()[..50_001]);
    assert_eq!(finished.stdout.tail, whole.as_bytes()[whole.len() - 50_000..]);
    assert_eq!(finished.stdout.dropped, whole.len() as u64 - 100_001);
}

#[test]
fn program_may_leave_its_input_unread() {
    for script in ["exec <&-; echo ok", "head -c 1 >/dev/null; exec <&-; sleep 0.2; echo ok"] {
        let mut spec = sh(script, &[]);
        spec.stdin = Stdin::Bytes(vec![7; 5_000_000]);
        let finished = run(spec);
        assert_eq!((finished.end, text(&finished.stdout).as_str()), (End::Exited(0), "ok\n"));
    }
}

#[test]
#[allow(unsafe_code, reason = "there is no safe way to change a signal handler")]
fn unread_input_does_not_end_the_launcher_by_sigpipe() {
    let name = "streams::unread_input_does_not_end_the_launcher_by_sigpipe";
    if alone(name, &[]) == Process::Shared {
        return;
    }
    // SAFETY: the default handler, in its own process.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let mut spec = sh("exec <&-; sleep 0.2; exit 4", &[]);
    spec.stdin = Stdin::Bytes(vec![7; 5_000_000]);
    assert_eq!(run(spec).end, End::Exited(4));
}

#[test]
fn launch_does_not_wait_for_leftover_output_holders() {
    let finished = run(sh(&format!("echo early; {0} & exit 7", nap(1)), &[]));
    assert_eq!((finished.end, text(&finished.stdout).as_str()), (End::Exited(7), "early\n"));
    assert_eq!(running(&nap(1)), 0);
}

#[test]
fn output_before_a_timeout_is_kept() {
    let mut spec = sh(&format!("echo before; {0}", nap(2)), &[]);
    spec.limits.wall = Some(std::time::Duration::from_secs(1));
    let finished = run(spec);
    assert_eq!((finished.end, text(&finished.stdout).as_str()), (End::TimedOut, "before\n"));
}

#[test]
fn launch_waits_for_a_program_that_closed_its_outputs() {
    let finished = run(sh("exec >&- 2>&-; sleep 0.2; exit 5", &[]));
    assert_eq!(finished.end, End::Exited(5));
}
