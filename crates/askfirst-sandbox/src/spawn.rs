//! The one way a process is started: `posix_spawn`, never `fork`; nothing of this process reaches the new one but
//! its three standard streams.

#![allow(unexpected_cfgs, reason = "only the tests of the prompt's rules make a build with it")]

use std::ffi::{CString, c_char, c_int, c_short};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::process::Pid;

use crate::prepare::Prepared;

/// The program's ends of its standard streams.
pub(crate) struct Ends {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl Ends {
    /// Away from 0, 1 and 2, which the caller may have closed: there, putting one end in place would overwrite
    /// another.
    pub(crate) fn new(
        stdin: impl Into<OwnedFd>,
        stdout: impl Into<OwnedFd>,
        stderr: impl Into<OwnedFd>,
    ) -> io::Result<Self> {
        Ok(Self { stdin: away(stdin.into())?, stdout: away(stdout.into())?, stderr: away(stderr.into())? })
    }
}

/// The same, with a number above the standard streams.
pub(crate) fn away(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 { Ok(fd) } else { Ok(rustix::io::fcntl_dupfd_cloexec(&fd, 3)?) }
}

/// Further descriptors, which the program finds at 3, 4 and so on.
#[derive(Default)]
pub(crate) struct Extra {
    pub(crate) fds: Vec<OwnedFd>,
    /// For a test that looks what is inherited then.
    #[cfg(test)]
    pub(crate) leaks: bool,
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only walls on Linux pass any"))]
impl Extra {
    /// Far from where they are put, so that none overwrites another on the way.
    pub(crate) fn new(fds: Vec<OwnedFd>) -> io::Result<Self> {
        let clear = 3 + RawFd::try_from(fds.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let away = |fd: OwnedFd| {
            if fd.as_raw_fd() >= clear { Ok(fd) } else { Ok(rustix::io::fcntl_dupfd_cloexec(&fd, clear)?) }
        };
        let fds = fds.into_iter().map(away).collect::<io::Result<_>>()?;
        Ok(Self {
            fds,
            #[cfg(test)]
            leaks: false,
        })
    }
}

impl Extra {
    #[cfg(not(test))]
    #[allow(clippy::unused_self, reason = "only tests leave something open")]
    fn leaks(&self) -> bool {
        false
    }

    #[cfg(test)]
    fn leaks(&self) -> bool {
        self.leaks
    }
}

/// Which session the program belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Session {
    /// One of its own without a terminal.
    New,
    /// That of this process, with its terminal.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only walls on Linux keep it"))]
    Same,
}

/// Starts the program with default signals and none blocked.
///
/// When this returns, the program has taken over the new process; its first instructions may have run.
pub(crate) fn spawn(start: &Prepared, ends: &Ends, extra: &Extra, session: Session) -> io::Result<Pid> {
    let mut actions = Actions::new()?;
    actions.put(&ends.stdin, 0)?;
    actions.put(&ends.stdout, 1)?;
    actions.put(&ends.stderr, 2)?;
    actions.enter(&start.folder)?;
    let mut next = 3;
    for fd in &extra.fds {
        actions.put(fd, next)?;
        next += 1;
    }
    if !extra.leaks() {
        actions.close_all_from(next)?;
    }
    let attributes = Attributes::new(session)?;
    let (argv, envp) = (pointers(&start.argv), pointers(&start.envp));
    let mut pid = 0;
    // SAFETY: `actions` and `attributes` are initialised; `argv` and `envp` are NULL-ended arrays of pointers to
    // NUL-ended strings, which `start` owns and which outlive the call; the call does not write to them.
    check(unsafe {
        libc::posix_spawn(
            &mut pid,
            start.path.as_ptr(),
            actions.0.as_ptr(),
            attributes.0.as_ptr(),
            argv.as_ptr(),
            envp.as_ptr(),
        )
    })?;
    Pid::from_raw(pid).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

fn pointers(strings: &[CString]) -> Vec<*mut c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
}

/// These functions return the error number itself.
fn check(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// What the new process does before the program takes over. Boxed, since the system may not want it moved.
struct Actions(Box<MaybeUninit<libc::posix_spawn_file_actions_t>>);

impl Actions {
    fn new() -> io::Result<Self> {
        let mut actions = Box::new(MaybeUninit::uninit());
        // SAFETY: the pointer is valid for writes, and the call initialises what it points to.
        check(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        Ok(Self(actions))
    }

    fn put(&mut self, end: &OwnedFd, at: RawFd) -> io::Result<()> {
        // SAFETY: `new` has initialised the actions.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(self.0.as_mut_ptr(), end.as_raw_fd(), at) })
    }

    fn enter(&mut self, folder: &OwnedFd) -> io::Result<()> {
        // SAFETY: `new` has initialised the actions.
        check(unsafe { libc::posix_spawn_file_actions_addfchdir_np(self.0.as_mut_ptr(), folder.as_raw_fd()) })
    }

    #[cfg(target_env = "gnu")]
    fn close_all_from(&mut self, first: RawFd) -> io::Result<()> {
        // SAFETY: `new` has initialised the actions.
        check(unsafe { libc::posix_spawn_file_actions_addclosefrom_np(self.0.as_mut_ptr(), first) })
    }

    /// Without an action for all of them, those that are open now: another thread that opens one without
    /// close-on-exec between here and the start is not seen.
    #[cfg(not(any(target_env = "gnu", target_vendor = "apple")))]
    fn close_all_from(&mut self, first: RawFd) -> io::Result<()> {
        let names = std::fs::read_dir("/proc/self/fd").or_else(|_| std::fs::read_dir("/dev/fd"))?;
        let open: Vec<RawFd> =
            names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        for fd in open.into_iter().filter(|fd| *fd >= first) {
            // SAFETY: `new` has initialised the actions.
            check(unsafe { libc::posix_spawn_file_actions_addclose(self.0.as_mut_ptr(), fd) })?;
        }
        Ok(())
    }

    /// Done by a flag in [`Attributes`].
    #[cfg(target_vendor = "apple")]
    fn close_all_from(&mut self, _first: RawFd) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: `new` has initialised the actions, and nobody uses them after this.
        unsafe { libc::posix_spawn_file_actions_destroy(self.0.as_mut_ptr()) };
    }
}

#[cfg(target_vendor = "apple")]
const SESSION: c_int = 0x0400;
#[cfg(target_vendor = "apple")]
const DESCRIPTORS: c_int = libc::POSIX_SPAWN_CLOEXEC_DEFAULT;
#[cfg(not(target_vendor = "apple"))]
const SESSION: c_int = libc::POSIX_SPAWN_SETSID as c_int;
#[cfg(not(target_vendor = "apple"))]
const DESCRIPTORS: c_int = 0;

/// What the new process is: its session, its signals. Boxed, since the system may not want it moved.
struct Attributes(Box<MaybeUninit<libc::posix_spawnattr_t>>);

impl Attributes {
    fn new(session: Session) -> io::Result<Self> {
        let mut attributes = Box::new(MaybeUninit::uninit());
        // SAFETY: the pointer is valid for writes, and the call initialises what it points to.
        check(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        let mut this = Self(attributes);
        let at = this.0.as_mut_ptr();
        let session = match session {
            Session::New => SESSION,
            Session::Same => 0,
        };
        let flags = libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK | session | DESCRIPTORS;
        let (mut every, mut none) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the attributes are initialised, and so is each set by the call before the one that reads it.
        unsafe {
            libc::sigfillset(every.as_mut_ptr());
            libc::sigemptyset(none.as_mut_ptr());
            check(libc::posix_spawnattr_setsigdefault(at, every.as_ptr()))?;
            check(libc::posix_spawnattr_setsigmask(at, none.as_ptr()))?;
            check(libc::posix_spawnattr_setflags(at, flags as c_short))?;
        }
        Ok(this)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: `new` has initialised the attributes, and nobody uses them after this.
        unsafe { libc::posix_spawnattr_destroy(self.0.as_mut_ptr()) };
    }
}
