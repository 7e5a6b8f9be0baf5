//! Starts processes with `posix_spawn`, never with `fork`. The new process inherits only its three standard streams.

use std::ffi::{CString, c_char, c_int, c_short};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::process::Pid;

use crate::prepare::SpawnArgs;

/// The program's ends of its standard streams.
pub(crate) struct ChildStreams {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl ChildStreams {
    /// Moves the streams away from descriptors 0, 1 and 2, which the caller may have closed. Otherwise placing one
    /// stream could overwrite another.
    pub(crate) fn new(
        stdin: impl Into<OwnedFd>,
        stdout: impl Into<OwnedFd>,
        stderr: impl Into<OwnedFd>,
    ) -> io::Result<Self> {
        Ok(Self {
            stdin: move_above_stdio(stdin.into())?,
            stdout: move_above_stdio(stdout.into())?,
            stderr: move_above_stdio(stderr.into())?,
        })
    }
}

/// Returns the descriptor, or a duplicate of it with a number above the standard streams.
pub(crate) fn move_above_stdio(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 { Ok(fd) } else { Ok(rustix::io::fcntl_dupfd_cloexec(&fd, 3)?) }
}

/// More descriptors, which the program gets as 3, 4 and so on.
#[derive(Default)]
pub(crate) struct ExtraFds {
    pub(crate) fds: Vec<OwnedFd>,
}

#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only the Linux sandbox passes any"))]
impl ExtraFds {
    /// Moves the descriptors above their final numbers, so that placing one does not overwrite another.
    pub(crate) fn new(fds: Vec<OwnedFd>) -> io::Result<Self> {
        let clear = 3 + RawFd::try_from(fds.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let move_clear = |fd: OwnedFd| {
            if fd.as_raw_fd() >= clear { Ok(fd) } else { Ok(rustix::io::fcntl_dupfd_cloexec(&fd, clear)?) }
        };
        Ok(Self { fds: fds.into_iter().map(move_clear).collect::<io::Result<_>>()? })
    }
}

/// The session that the program belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Session {
    /// A new session without a terminal.
    New,
    /// The session of this process, with its terminal.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only the Linux sandbox keeps it"))]
    Same,
}

/// Starts the program with default signal handlers and an empty signal mask.
///
/// When this returns, the new process has already executed the program, and its first instructions may have run.
pub(crate) fn spawn(
    start: &SpawnArgs,
    ends: &ChildStreams,
    extra: &ExtraFds,
    session: Session,
) -> io::Result<Pid> {
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
    actions.close_all_from(next)?;
    let attributes = Attributes::new(session)?;
    let (argv, envp) = (pointers(&start.argv), pointers(&start.envp));
    let mut pid = 0;
    // SAFETY: `actions` and `attributes` are initialised. `argv` and `envp` are NULL-terminated arrays of pointers to
    // NUL-terminated strings. `start` owns them, they outlive the call, and the call does not write to them.
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

/// Converts a return code. These functions return the error number itself.
fn check(code: c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

/// The steps of the new process before it executes the program. Boxed, since some systems do not allow moving it.
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

    /// Closes the descriptors that are open now, since this system has no action for a range. A descriptor that another
    /// thread opens later without close-on-exec is inherited.
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

    /// Does nothing: a flag in [`Attributes`] closes the descriptors.
    #[cfg(target_vendor = "apple")]
    fn close_all_from(&mut self, _first: RawFd) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: `new` has initialised the actions, and they are not used after this.
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

/// The session and signals of the new process. Boxed, since some systems do not allow moving it.
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
        // SAFETY: the attributes are initialised. Each set is initialised by a call before the one that reads it.
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
        // SAFETY: `new` has initialised the attributes, and they are not used after this.
        unsafe { libc::posix_spawnattr_destroy(self.0.as_mut_ptr()) };
    }
}
