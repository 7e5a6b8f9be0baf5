//! Probes against other processes and the terminal, and probes that outlive the launch.

use std::fs;
use std::time::Duration;

use super::world::World;
use super::{Probe, ProbeResult, c, did, probe, seen, sys};

/// Starts a daemon that keeps writing a file after the launch has ended.
fn daemon(world: &World) -> ProbeResult {
    // SAFETY: the new processes only use what `fork` gives them.
    unsafe {
        if sys(libc::fork())? == 0 {
            libc::setsid();
            if libc::fork() == 0 {
                libc::alarm(10);
                // So that no reader waits for the end of its output.
                libc::close(1);
                libc::close(2);
                for _ in 0..200 {
                    let _ = fs::write(world.a("daemon"), format!("{:?}", std::time::SystemTime::now()));
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
            libc::_exit(0);
        }
    }
    for _ in 0..200 {
        if world.a("daemon").exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("it does not write".to_owned())
}

fn still_writes(world: &World) -> bool {
    let first = fs::read(world.a("daemon"));
    std::thread::sleep(Duration::from_millis(300));
    first.is_ok_and(|first| fs::read(world.a("daemon")).is_ok_and(|second| second != first))
}

/// Pushes a character into a terminal that this process leads.
fn push() -> ProbeResult {
    // SAFETY: the names are NUL-terminated, and the buffer is of the given size.
    unsafe {
        let pty = sys(libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY))? as i32;
        did(libc::unlockpt(pty))?;
        let mut name = [0; 64];
        did(-libc::ptsname_r(pty, name.as_mut_ptr(), name.len()))?;
        let child = sys(libc::fork())?;
        if child == 0 {
            libc::setsid();
            let terminal = libc::open(name.as_ptr(), libc::O_RDWR);
            let taken = libc::ioctl(terminal, libc::TIOCSCTTY, 0) == 0;
            libc::_exit(i32::from(!(taken && libc::ioctl(terminal, libc::TIOCSTI, c"x".as_ptr()) == 0)));
        }
        let mut status = 0;
        libc::waitpid(child as i32, &mut status, 0);
        if status == 0 { Ok(()) } else { Err("refused".to_owned()) }
    }
}

/// Sets a line discipline with which a terminal neither reads nor writes.
fn mute() -> ProbeResult {
    const NOTHING: i32 = 27;
    // SAFETY: one number is read.
    unsafe {
        let pty = sys(libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY))? as i32;
        did(libc::ioctl(pty, libc::TIOCSETD, &NOTHING))
    }
}

pub(super) const PROBES: &[Probe] = &[
    // SAFETY: no memory is passed.
    probe("signal_the_victim", |w| did(unsafe { libc::kill(w.victim, 0) })),
    // SAFETY: no memory is passed.
    probe("signal_a_thread_of_the_victim", |w| {
        did(unsafe { libc::syscall(libc::SYS_tgkill, w.victim, w.victim, libc::SIGCONT) })
    }),
    // SAFETY: no memory is passed.
    probe("queue_a_signal_to_the_victim", |w| {
        did(unsafe {
            libc::sigqueue(w.victim, libc::SIGCONT, libc::sigval { sival_ptr: std::ptr::null_mut() })
        })
    }),
    probe("signal_by_a_descriptor_of_ours", |w| {
        let mut ends = [0; 2];
        // SAFETY: two numbers are written into two.
        unsafe {
            did(libc::pipe(ends.as_mut_ptr()))?;
            did(libc::fcntl(ends[0], libc::F_SETOWN, w.victim))
        }
    }),
    // SAFETY: no memory is passed.
    probe("hold_the_victim", |w| did(unsafe { libc::syscall(libc::SYS_pidfd_open, w.victim, 0) })),
    probe("take_a_descriptor_of_the_victim", |w| {
        // SAFETY: no memory is passed.
        unsafe {
            let victim = sys(libc::syscall(libc::SYS_pidfd_open, w.victim, 0))?;
            did(libc::syscall(libc::SYS_pidfd_getfd, victim, 7, 0))
        }
    }),
    probe("trace_the_victim", |w| {
        // SAFETY: no memory is passed.
        unsafe {
            did(libc::ptrace(libc::PTRACE_SEIZE, w.victim, 0, 0))?;
            did(libc::ptrace(libc::PTRACE_INTERRUPT, w.victim, 0, 0))?;
            libc::waitpid(w.victim, std::ptr::null_mut(), libc::__WALL);
            did(libc::ptrace(libc::PTRACE_DETACH, w.victim, 0, 0))
        }
    }),
    // SAFETY: no memory is passed.
    probe("slow_the_victim", |w| did(unsafe { libc::setpriority(libc::PRIO_PROCESS, w.victim as u32, 19) })),
    probe("pin_the_victim", |w| {
        // SAFETY: the set is initialised.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::CPU_SET(0, &mut set);
            did(libc::sched_setaffinity(w.victim, size_of_val(&set), &set))
        }
    }),
    probe("limit_the_victim", |w| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the structure lives.
        did(unsafe { libc::prlimit(w.victim, libc::RLIMIT_NOFILE, std::ptr::null(), &mut limit) })
    }),
    // SAFETY: no memory is passed.
    probe("schedule_the_disk_of_the_victim", |w| {
        did(unsafe { libc::syscall(libc::SYS_ioprio_set, 1, w.victim, (2 << 13) | 7) })
    }),
    // SAFETY: no memory is passed.
    probe("compare_with_the_victim", |w| {
        did(unsafe { libc::syscall(libc::SYS_kcmp, libc::getpid(), w.victim, 0, 1, 1) })
    }),
    // SAFETY: no memory is passed.
    probe("ask_for_the_session_of_the_victim", |w| did(unsafe { libc::getsid(w.victim) })),
    probe("enter_a_namespace_of_the_victim", |w| {
        // SAFETY: the path is NUL-terminated.
        did(unsafe { libc::open(c(format!("/proc/{}/ns/mnt", w.victim)).as_ptr(), libc::O_RDONLY) })
    }),
    probe("push_into_a_terminal", |_| push()),
    probe("mute_a_terminal", |_| mute()),
    seen("outlive_the_end", daemon, still_writes),
];
