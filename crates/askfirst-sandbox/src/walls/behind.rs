//! Starts the helper with its order, and makes of what it says how the program ended.

use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use super::helper::{NAME, Program};
use super::order::{Inside, Order, Way, Word};
use super::violation::Violation;
use super::{SEALS, Walls, bubblewrap, wire};
use crate::error::{LaunchError, shown};
use crate::launch::{Start, follow_attached, run};
use crate::marker::{self, Marker};
use crate::prepare::{Prepared, enter, variables, words};
use crate::profile::OSProfile;
use crate::spawn::Extra;
use crate::spec::{End, Finished, Limits, Spec};
use crate::stop::Stop;

/// A launch behind walls that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// As without walls.
    pub finished: Finished,
    /// What the kernel told of: not all that was refused.
    pub violations: Vec<Violation>,
}

/// Runs a program behind walls to its end; else as [`launch`](crate::launch).
///
/// # Errors
///
/// If the walls could not be made or the program not be started; then nothing has run, and nothing is left.
pub fn launch_behind(
    walls: &Walls,
    profile: &OSProfile,
    spec: &Spec,
    stop: &Stop,
) -> Result<Behind, LaunchError> {
    try_behind(walls, profile, spec, stop, Inside::Program)
}

pub(super) fn try_behind(
    walls: &Walls,
    profile: &OSProfile,
    spec: &Spec,
    stop: &Stop,
    inside: Inside,
) -> Result<Behind, LaunchError> {
    go(walls, order(walls, profile, spec, inside)?, spec, stop)
}

/// Starts an order as it is.
pub(super) fn go(walls: &Walls, order: Order, spec: &Spec, stop: &Stop) -> Result<Behind, LaunchError> {
    let spec = &Spec { limits: least(&order.profile.limits, &spec.limits), ..spec.clone() };
    let ready = Ready::new(walls, order)?;
    let start = Start { prepared: &ready.prepared, extra: &ready.extra, ends_itself: walls.way == Way::Own };
    let finished = run(spec, stop, &start, |_| Ok(()))?;
    let (end, violations) = ready.result(finished.end, spec)?;
    Ok(Behind { finished: Finished { end, ..finished }, violations })
}

/// Runs a program behind walls with this process's own standard streams, to its end.
///
/// # Errors
///
/// As [`launch_behind`].
pub fn attach_behind(
    walls: &Walls,
    profile: &OSProfile,
    spec: &Spec,
    stop: &Stop,
) -> Result<(End, Vec<Violation>), LaunchError> {
    let ready = Ready::new(walls, order(walls, profile, spec, Inside::Program)?)?;
    let start = Start { prepared: &ready.prepared, extra: &ready.extra, ends_itself: walls.way == Way::Own };
    let end = follow_attached(spec, stop, &start, profile.descriptors)?;
    ready.result(end, spec)
}

pub(super) fn order(
    walls: &Walls,
    profile: &OSProfile,
    spec: &Spec,
    inside: Inside,
) -> Result<Order, LaunchError> {
    if spec.program.is_empty() {
        return Err(LaunchError::NoProgram);
    }
    words(spec)?;
    variables(spec)?;
    let folder = match fs::canonicalize(&spec.folder) {
        Ok(folder) if spec.folder.is_absolute() => folder,
        Ok(_) => return Err(LaunchError::FolderRelative(shown(&spec.folder))),
        Err(cause) => return Err(LaunchError::Folder { folder: shown(&spec.folder), cause }),
    };
    let profile = OSProfile { limits: least(&profile.limits, &spec.limits), ..profile.clone() };
    Ok(Order {
        way: walls.way,
        inside,
        program: spec.program.clone(),
        args: spec.args.clone(),
        env: spec.env.clone(),
        folder,
        profile,
        #[cfg(test)]
        off: Vec::new(),
    })
}

fn least(a: &Limits, b: &Limits) -> Limits {
    fn of<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
        a.into_iter().chain(b).min()
    }
    Limits {
        wall: of(a.wall, b.wall),
        cpu: of(a.cpu, b.cpu),
        memory: of(a.memory, b.memory),
        processes: of(a.processes, b.processes),
        file: of(a.file, b.file),
        output: a.output.min(b.output),
    }
}

/// A helper about to be started.
struct Ready {
    prepared: Prepared,
    extra: Extra,
    answer: PipeReader,
}

impl Ready {
    fn new(walls: &Walls, mut order: Order) -> Result<Self, LaunchError> {
        let marker = Marker::fresh().map_err(LaunchError::system("reading random bytes"))?;
        let mark = [marker::VARIABLE.as_bytes(), b"=", marker.value().as_bytes()].concat();
        order.env.retain(|(name, _)| name != marker::VARIABLE);
        order.env.push((marker::VARIABLE.into(), OsString::from(marker.value())));
        let system = |doing| LaunchError::system::<io::Error>(doing);
        let (answer, said) = io::pipe().map_err(system("making a pipe"))?;
        let sealed = seal(&wire::encode(&order)).map_err(system("sealing the order"))?;
        let mut extra = vec![sealed, said.into()];
        let mut path = c"/proc/self/exe".to_owned();
        match &walls.helper.0 {
            Program::Own => {}
            Program::File(file) => {
                extra.push(file.try_clone().map_err(system("holding the helper"))?);
                path = c"/proc/self/fd/5".to_owned();
            }
        }
        let mut argv = vec![CString::new(NAME).map_err(|cause| system("naming the helper")(cause.into()))?];
        if let Some(bubblewrap) = &walls.bubblewrap {
            let made = bubblewrap::command(&order, &walls.helper, extra.len())?;
            argv = made.argv;
            extra.extend(made.descriptors);
            path = crate::prepare::c_string(bubblewrap.as_os_str().as_encoded_bytes(), || {
                crate::Place::Program
            })?;
        }
        let prepared = Prepared {
            path,
            argv,
            envp: vec![crate::prepare::c_string(&mark, || crate::Place::Program)?],
            folder: enter(Path::new("/"))?,
            marker,
        };
        let extra = Extra::new(extra).map_err(system("holding descriptors"))?;
        #[cfg(test)]
        let extra = Extra { leaks: !order.has(super::mechanism::Mechanism::Descriptors), ..extra };
        Ok(Self { prepared, extra, answer })
    }

    /// What the helper said counts; without a word from it, how it was ended.
    fn result(self, end: End, spec: &Spec) -> Result<(End, Vec<Violation>), LaunchError> {
        let Self { prepared: _, extra, mut answer } = self;
        drop(extra);
        let mut said = Vec::new();
        // Somebody whom we could not end may hold the other end.
        rustix::io::ioctl_fionbio(&answer, true).map_err(LaunchError::system("reading the answer"))?;
        match answer.read_to_end(&mut said) {
            Err(cause) if cause.kind() != io::ErrorKind::WouldBlock => {
                return Err(LaunchError::System { doing: "reading the answer", cause });
            }
            Ok(_) | Err(_) => {}
        }
        let (mut violations, mut status) = (Vec::new(), None);
        for word in Word::decode_all(&said) {
            match word {
                Word::Refused(violation) => violations.push(violation),
                Word::Status(said) => status = Some(said),
                Word::Failed(step, number) => {
                    return Err(LaunchError::Walls { step, cause: io::Error::from_raw_os_error(number) });
                }
                Word::NotStarted(libc::ENOENT) => return Err(LaunchError::Hidden(shown(&spec.program))),
                Word::NotStarted(number) => {
                    let cause = io::Error::from_raw_os_error(number);
                    return Err(LaunchError::Start { program: shown(&spec.program), cause });
                }
            }
        }
        let end = match (end, status) {
            (End::TimedOut | End::Stopped, _) => end,
            (End::Exited(_) | End::Signalled(_), Some(status)) if libc::WIFSIGNALED(status) => {
                End::Signalled(libc::WTERMSIG(status))
            }
            (End::Exited(_) | End::Signalled(_), Some(status)) => End::Exited(libc::WEXITSTATUS(status)),
            (End::Signalled(signal), None) => End::Signalled(signal),
            (End::Exited(_), None) => {
                let cause = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Err(LaunchError::Walls { step: "hearing from the helper".to_owned(), cause });
            }
        };
        Ok((end, violations))
    }
}

/// For a test that looks what happens without a launcher: starts the helper, and leaves it.
#[cfg(test)]
pub(super) fn start_only(
    walls: &Walls,
    order: Order,
    output: &io::PipeWriter,
) -> Result<rustix::process::Pid, LaunchError> {
    let ready = Ready::new(walls, order)?;
    let system = |doing| LaunchError::system::<io::Error>(doing);
    let input = File::open("/dev/null").map_err(system("opening"))?;
    let copy = || output.try_clone().map_err(system("opening"));
    let ends = crate::spawn::Ends::new(input, copy()?, copy()?).map_err(system("opening"))?;
    let pid = crate::spawn::spawn(&ready.prepared, &ends, &ready.extra, crate::spawn::Session::New);
    // The other end of its answer stays open, or it would end at once.
    std::mem::forget(ready.answer);
    pid.map_err(system("starting"))
}

/// Bytes that nobody can change any more.
fn seal(bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is NUL-ended.
    let fd = unsafe { libc::memfd_create(c"askfirst-order".as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made this descriptor.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(bytes)?;
    file.rewind()?;
    // SAFETY: no memory is passed.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file.into())
}
