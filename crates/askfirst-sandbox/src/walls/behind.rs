//! Starts the helper with its order, and makes of what it says how the program ended.

use std::cell::{RefCell, RefMut};
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;

use rustix::process::Pid;

use super::helper::{NAME, Program};
use super::order::{Inside, Order, Way, Word};
use super::pool::Waiting;
use super::violation::Violation;
use super::{SEALS, Walls, bubblewrap, wire};
use crate::error::{LaunchError, shown};
use crate::launch::{Afterwards, Begin, LastWord, Start, Stops, Told, follow_attached, run};
use crate::marker::{self, Marker};
use crate::prepare::{Prepared, enter, variables, words};
use crate::profile::{Descriptors, OSProfile, User};
use crate::spawn::{Ends, Extra, Session, spawn};
use crate::spec::{End, Finished, Limits, Spec};
use crate::stop::Stop;
use crate::terminal::{Place, Seat};

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
    let ready = match (&walls.pool, order.profile.user) {
        (Some(pool), User::Same) => Ready::waiting(pool.take(&walls.helper)?, order)?,
        (Some(_) | None, _) => Ready::new(walls, order, None)?,
    };
    let begin = |ends: &Ends, session| ready.begin(ends, session);
    let finished = run(spec, stop, &ready.start(&begin), |_| Ok(()))?;
    let (end, violations) = ready.result(finished.end, spec)?;
    if let (Some(pool), How::Handed { to, .. }, Ok(Told::Gone)) =
        (&walls.pool, ready.how, ready.answer.told())
    {
        pool.put(to);
    }
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
    attach(walls, order(walls, profile, spec, Inside::Program)?, spec, stop)
}

/// The same with an order as it is.
pub(super) fn attach(
    walls: &Walls,
    mut order: Order,
    spec: &Spec,
    stop: &Stop,
) -> Result<(End, Vec<Violation>), LaunchError> {
    let descriptors = order.profile.descriptors;
    let (seat, calls) = match descriptors {
        Descriptors::Standard => (None, None),
        Descriptors::Terminal => {
            let (seat, calls) = Seat::new().map_err(LaunchError::system("making a pipe"))?;
            order.place = seat.place();
            (Some(seat), Some(calls.into()))
        }
    };
    let ready = Ready::new(walls, order, calls)?;
    let begin = |ends: &Ends, session| ready.begin(ends, session);
    let seated = seat.map(|seat| Seated { seat, answer: &ready.answer });
    let stops = seated.as_ref().map(|seated| seated as &dyn Stops);
    let end = follow_attached(spec, stop, &ready.start(&begin), descriptors, stops)?;
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
        place: Place::Apart,
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

/// A helper about to be started, or to get its next order.
struct Ready {
    how: How,
    answer: Answer,
}

/// How the helper comes to its order.
enum How {
    /// It is started with it.
    Started {
        prepared: Prepared,
        extra: Extra,
        /// Whether it tells when nothing is left.
        tells: bool,
    },
    /// It waits, and is handed the order with where to answer.
    Handed { to: Waiting, order: OwnedFd, said: RefCell<Option<OwnedFd>> },
}

/// What the helper says, as far as it has been heard.
struct Answer {
    pipe: PipeReader,
    heard: RefCell<Heard>,
    afterwards: Afterwards,
}

#[derive(Default)]
struct Heard {
    /// What is not a whole word yet.
    left: Vec<u8>,
    words: Vec<Word>,
    /// Whether nobody is left who could say more.
    over: bool,
}

impl Answer {
    /// Does not wait: somebody whom we could not end may hold the other end.
    fn new(pipe: PipeReader, afterwards: Afterwards) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self { pipe, heard: RefCell::default(), afterwards })
    }

    /// Hears what was said since.
    fn hear(&self) -> io::Result<RefMut<'_, Heard>> {
        let mut heard = self.heard.borrow_mut();
        let Heard { left, words, over } = &mut *heard;
        match (&self.pipe).read_to_end(left) {
            Ok(_) => *over = true,
            Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => {}
            Err(cause) => return Err(cause),
        }
        let mut rest = left.as_slice();
        while let Some((word, after)) = Word::decode(rest) {
            words.push(word);
            rest = after;
        }
        *left = rest.to_vec();
        Ok(heard)
    }
}

impl LastWord for Answer {
    fn sign(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }

    fn told(&self) -> io::Result<Told> {
        let heard = self.hear()?;
        Ok(match heard.words.last() {
            Some(Word::Gone(_)) => Told::Gone,
            Some(_) | None if heard.over => Told::Silence,
            Some(_) | None => Told::Nothing,
        })
    }

    fn afterwards(&self) -> Afterwards {
        self.afterwards
    }
}

/// A program at our terminal.
struct Seated<'a> {
    seat: Seat,
    answer: &'a Answer,
}

impl Stops for Seated<'_> {
    fn sign(&self) -> BorrowedFd<'_> {
        self.answer.pipe.as_fd()
    }

    fn stop_too(&self) -> io::Result<()> {
        let mut heard = self.answer.hear()?;
        let count = heard.words.len();
        heard.words.retain(|word| *word != Word::Stopped);
        if heard.words.len() < count {
            self.seat.stop_too()?;
        }
        Ok(())
    }
}

impl Ready {
    /// One that waits.
    fn waiting(to: Waiting, mut order: Order) -> Result<Self, LaunchError> {
        let system = |doing| LaunchError::system::<io::Error>(doing);
        mark(&mut order, &to.marker);
        let (answer, said) = io::pipe().map_err(system("making a pipe"))?;
        let order = seal(&wire::encode(&order)).map_err(system("sealing the order"))?;
        let answer = Answer::new(answer, Afterwards::Stays).map_err(system("making a pipe"))?;
        Ok(Self { how: How::Handed { to, order, said: RefCell::new(Some(said.into())) }, answer })
    }

    /// One that is started for this order alone, with where it is called if the program may stop.
    fn new(walls: &Walls, mut order: Order, calls: Option<OwnedFd>) -> Result<Self, LaunchError> {
        let marker = Marker::fresh().map_err(LaunchError::system("reading random bytes"))?;
        let marked = [marker::VARIABLE.as_bytes(), b"=", marker.value().as_bytes()].concat();
        mark(&mut order, &marker);
        let system = |doing| LaunchError::system::<io::Error>(doing);
        let (answer, said) = io::pipe().map_err(system("making a pipe"))?;
        let sealed = seal(&wire::encode(&order)).map_err(system("sealing the order"))?;
        let mut extra = vec![sealed, said.into()];
        extra.extend(calls);
        let mut path = c"/proc/self/exe".to_owned();
        match &walls.helper.0 {
            Program::Own => {}
            Program::File(file) => {
                path = CString::new(format!("/proc/self/fd/{}", 3 + extra.len()))
                    .map_err(|cause| system("holding the helper")(cause.into()))?;
                extra.push(file.try_clone().map_err(system("holding the helper"))?);
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
            envp: vec![crate::prepare::c_string(&marked, || crate::Place::Program)?],
            folder: enter(Path::new("/"))?,
            marker,
        };
        let extra = Extra::new(extra).map_err(system("holding descriptors"))?;
        #[cfg(test)]
        let extra = Extra { leaks: !order.has(super::mechanism::Mechanism::Descriptors), ..extra };
        let answer = Answer::new(answer, Afterwards::Ends).map_err(system("making a pipe"))?;
        Ok(Self { how: How::Started { prepared, extra, tells: walls.way == Way::Own }, answer })
    }

    fn begin(&self, ends: &Ends, session: Session) -> io::Result<Pid> {
        match &self.how {
            How::Started { prepared, extra, .. } => spawn(prepared, ends, extra, session),
            How::Handed { to, order, said } => {
                // Taken, so that nobody but who answers holds that end.
                let said = said.take().ok_or(io::ErrorKind::BrokenPipe)?;
                to.hand(order, &said, ends)
            }
        }
    }

    fn start<'a>(&'a self, begin: &'a Begin<'a>) -> Start<'a> {
        let (marker, tells) = match &self.how {
            How::Started { prepared, tells, .. } => (&prepared.marker, *tells),
            How::Handed { to, .. } => (&to.marker, true),
        };
        Start { begin, marker, last_word: tells.then_some(&self.answer as &dyn LastWord) }
    }

    /// What the helper said counts; without a word from it, how it was ended.
    fn result(&self, end: End, spec: &Spec) -> Result<(End, Vec<Violation>), LaunchError> {
        let words = self.answer.hear().map_err(LaunchError::system("reading the answer"))?.words.clone();
        let (mut violations, mut status) = (Vec::new(), None);
        for word in words {
            match word {
                Word::Refused(violation) => violations.push(violation),
                Word::Status(said) | Word::Gone(said) => status = Some(said),
                Word::Stopped => {}
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

/// Lets the program's processes be known again.
fn mark(order: &mut Order, marker: &Marker) {
    order.env.retain(|(name, _)| name != marker::VARIABLE);
    order.env.push((marker::VARIABLE.into(), OsString::from(marker.value())));
}

/// For a test that looks what happens without a launcher: starts the helper, and leaves it.
#[cfg(test)]
pub(super) fn start_only(
    walls: &Walls,
    order: Order,
    output: &io::PipeWriter,
) -> Result<rustix::process::Pid, LaunchError> {
    let ready = Ready::new(walls, order, None)?;
    let system = |doing| LaunchError::system::<io::Error>(doing);
    let input = File::open("/dev/null").map_err(system("opening"))?;
    let copy = || output.try_clone().map_err(system("opening"));
    let ends = Ends::new(input, copy()?, copy()?).map_err(system("opening"))?;
    let pid = ready.begin(&ends, Session::New);
    // The other end of its answer stays open, or it would end at once.
    std::mem::forget(ready.answer);
    pid.map_err(system("starting"))
}

/// Bytes that nobody can change any more.
pub(super) fn seal(bytes: &[u8]) -> io::Result<OwnedFd> {
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
