//! One launch from start to end: feeds, listens, watches the clock and the stop handle; never waits on just one.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, WaitIdStatus};

use crate::capture::{Captured, Keeper};
use crate::error::{LaunchError, shown};
use crate::feed::Feed;
use crate::limits::Wanted;
use crate::marker::Marker;
use crate::prepare::Prepared;
use crate::spawn::{Ends, Extra, Session, spawn};
use crate::spec::{End, Finished, Heard, Output, Spec, Stdin};
use crate::stop::{Stop, Watch};
use crate::tree::{self, Hold, Tree};

/// How often a program is looked at where its end cannot be waited for together with its output.
const TICK: Duration = Duration::from_millis(10);

/// How much is read at once: as much as a pipe usually holds.
const PIECE: usize = 1 << 16;

/// Runs a program to its end and returns when nothing of it is left.
///
/// What the program started and left running is killed as soon as the program itself has ended, and what was
/// written until then is returned. This blocks; any number of threads may do it at once.
///
/// # Errors
///
/// If the program could not be started as asked, or not be followed to its end; then, too, nothing is left.
pub fn launch(spec: &Spec, stop: &Stop) -> Result<Finished, LaunchError> {
    let prepared = Prepared::new(spec)?;
    let wanted = Wanted::new(&spec.limits)?;
    let begin = |ends: &Ends, session| spawn(&prepared, ends, &Extra::default(), session);
    let start = Start { begin: &begin, marker: &prepared.marker, last_word: None };
    run(spec, stop, &start, |pid| wanted.apply(pid))
}

/// How a process is begun with its streams.
pub(crate) type Begin<'a> = dyn Fn(&Ends, Session) -> io::Result<Pid> + 'a;

/// What is started, and how it ends.
pub(crate) struct Start<'a> {
    pub(crate) begin: &'a Begin<'a>,
    pub(crate) marker: &'a Marker,
    /// Who says that it is over. Then nothing is left once this was said, or once it has ended by itself.
    pub(crate) last_word: Option<&'a dyn LastWord>,
}

/// Tells that nothing is left of a program, before the process that was started for it has ended too.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only walls on Linux tell"))]
pub(crate) trait LastWord {
    /// Becomes readable when there may be something to hear.
    fn sign(&self) -> BorrowedFd<'_>;
    /// What was said.
    fn told(&self) -> io::Result<Told>;
    /// What the process does then.
    fn afterwards(&self) -> Afterwards;
}

/// A program that may stop, as the keys of a terminal make it.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only walls on Linux keep the terminal"))]
pub(crate) trait Stops {
    /// Becomes readable when it may have stopped.
    fn sign(&self) -> BorrowedFd<'_>;
    /// Stops with it if it has, and lets it go on then.
    fn stop_too(&self) -> io::Result<()>;
}

/// What was said about a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only walls on Linux tell"))]
pub(crate) enum Told {
    /// That it is over, not yet.
    Nothing,
    /// Nothing of it is left.
    Gone,
    /// Nothing more will be said.
    Silence,
}

/// What a process does that has told of a program's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only walls on Linux tell"))]
pub(crate) enum Afterwards {
    /// It ends by itself.
    Ends,
    /// It waits for something else to do.
    Stays,
}

/// Starts, does `then` at once, and follows to the end.
pub(crate) fn run(
    spec: &Spec,
    stop: &Stop,
    begin: &Start<'_>,
    then: impl FnOnce(Pid) -> Result<(), LaunchError>,
) -> Result<Finished, LaunchError> {
    tree::can_end().map_err(LaunchError::system("looking into `/proc`"))?;
    let stopped = match stop.watch().map_err(LaunchError::system("making a pipe"))? {
        Watch::Until(reader) => reader,
        Watch::Stopped => return Ok(never_started()),
    };
    let (mut streams, ends) = Streams::open(spec).map_err(LaunchError::system("making a pipe"))?;

    let start = Instant::now();
    let pid = (begin.begin)(&ends, Session::New)
        .map_err(|cause| LaunchError::Start { program: shown(&spec.program), cause })?;
    let mut tree = Tree::new(pid, begin.marker);
    drop(ends);
    then(pid)?;

    let deadline = spec.limits.wall.and_then(|wall| start.checked_add(wall));
    let signs = Signs { exit: exit_sign(pid), stopped, last_word: begin.last_word, stops: None };
    let end = follow(&mut tree, &mut streams, &signs, stop, deadline).map_err(|cause| match tree.hold() {
        Hold::Lost => LaunchError::Lost(shown(&spec.program)),
        Hold::Held | Hold::Over => LaunchError::System { doing: "following the program", cause },
    })?;
    let took = start.elapsed();
    let survivors = finish(tree, signs, end)?;
    let (stdout, stderr) = streams.finish().map_err(LaunchError::system("reading the output"))?;
    Ok(Finished { end, stdout, stderr, took, survivors })
}

fn finish(tree: Tree<'_>, signs: Signs<'_>, end: End) -> Result<Vec<i32>, LaunchError> {
    let done = match (end, signs.last_word.map(|last_word| (last_word.told(), last_word.afterwards()))) {
        (End::Exited(_), Some((Ok(Told::Gone), Afterwards::Stays))) => tree.let_go(),
        (End::Exited(_), Some((Ok(_), Afterwards::Ends))) => tree.leave(signs.exit),
        (End::Exited(_) | End::Signalled(_) | End::TimedOut | End::Stopped, _) => {
            return tree.end().map_err(LaunchError::system("ending the program"));
        }
    };
    done.map(|()| Vec::new()).map_err(LaunchError::system("ending the program"))
}

/// The same with the standard streams of this process, which the program uses directly. At our terminal it may stop, and
/// then we do.
#[cfg(target_os = "linux")]
pub(crate) fn follow_attached(
    spec: &Spec,
    stop: &Stop,
    begin: &Start<'_>,
    descriptors: crate::profile::Descriptors,
    stops: Option<&dyn Stops>,
) -> Result<End, LaunchError> {
    let system = LaunchError::system::<io::Error>;
    let stopped = match stop.watch().map_err(system("making a pipe"))? {
        Watch::Until(reader) => reader,
        Watch::Stopped => return Ok(End::Stopped),
    };
    let own = |fd: rustix::fd::BorrowedFd<'_>| fd.try_clone_to_owned();
    let [stdin, stdout, stderr] =
        [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()].map(own);
    let ends = stdin
        .and_then(|stdin| Ends::new(stdin, stdout?, stderr?))
        .map_err(system("passing on the streams"))?;
    for end in [&ends.stdin, &ends.stdout, &ends.stderr] {
        // From a folder, names outside could be looked up.
        let stat = rustix::fs::fstat(end).map_err(|cause| system("passing on the streams")(cause.into()))?;
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory {
            return Err(system("passing on the streams")(io::ErrorKind::IsADirectory.into()));
        }
    }
    let session = match descriptors {
        crate::profile::Descriptors::Standard => Session::New,
        crate::profile::Descriptors::Terminal => Session::Same,
    };
    let _kept = crate::terminal::Kept::now();
    let start = Instant::now();
    let pid = (begin.begin)(&ends, session)
        .map_err(|cause| LaunchError::Start { program: shown(&spec.program), cause })?;
    let mut tree = Tree::new(pid, begin.marker);
    drop(ends);
    let deadline = spec.limits.wall.and_then(|wall| start.checked_add(wall));
    let signs = Signs { exit: exit_sign(pid), stopped, last_word: begin.last_word, stops };
    let mut streams = Streams::none();
    let end =
        follow(&mut tree, &mut streams, &signs, stop, deadline).map_err(system("following the program"))?;
    finish(tree, signs, end)?;
    Ok(end)
}

fn never_started() -> Finished {
    let (stdout, stderr) = Default::default();
    Finished { end: End::Stopped, stdout, stderr, took: Duration::ZERO, survivors: Vec::new() }
}

/// What else than a stream can wake us.
struct Signs<'a> {
    exit: Option<OwnedFd>,
    stopped: PipeReader,
    last_word: Option<&'a dyn LastWord>,
    stops: Option<&'a dyn Stops>,
}

/// Becomes readable when the program ends, where the system has such a thing.
#[cfg(target_os = "linux")]
fn exit_sign(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn exit_sign(_pid: Pid) -> Option<OwnedFd> {
    None
}

/// Until the program has ended, or must end. Its own end counts before a time-out or a stop at the same moment.
fn follow(
    tree: &mut Tree<'_>,
    streams: &mut Streams<'_>,
    signs: &Signs<'_>,
    stop: &Stop,
    deadline: Option<Instant>,
) -> io::Result<End> {
    loop {
        streams.go_on()?;
        signs.stops.map_or(Ok(()), Stops::stop_too)?;
        match signs.last_word.map_or(Ok(Told::Nothing), LastWord::told)? {
            Told::Nothing => {}
            // How the program ended, or why it did not start, was said with it.
            Told::Gone | Told::Silence => return Ok(End::Exited(0)),
        }
        if let Some(status) = tree.ended()? {
            return Ok(end_of(&status));
        }
        if stop.is_stopped() {
            return Ok(End::Stopped);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Ok(End::TimedOut);
        }
        let tick = signs.exit.is_none().then_some(TICK);
        wait(streams, signs, left.into_iter().chain(tick).min())?;
    }
}

fn end_of(status: &WaitIdStatus) -> End {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Signalled(signal),
        // Only ends are waited for, and an end is one of the two.
        (None, None) => End::Signalled(0),
    }
}

/// Until there may be something to do. Waking for nothing is harmless.
fn wait(streams: &Streams<'_>, signs: &Signs<'_>, longest: Option<Duration>) -> io::Result<()> {
    let mut fds = vec![PollFd::new(&signs.stopped, PollFlags::IN)];
    fds.extend(signs.exit.as_ref().map(|exit| PollFd::new(exit, PollFlags::IN)));
    let words = signs.last_word.map(LastWord::sign).into_iter().chain(signs.stops.map(Stops::sign));
    fds.extend(words.map(|sign| PollFd::from_borrowed_fd(sign, PollFlags::IN)));
    fds.extend(streams.stdin.as_ref().map(|feed| PollFd::from_borrowed_fd(feed.pipe(), PollFlags::OUT)));
    for source in [&streams.stdout, &streams.stderr] {
        fds.extend(source.pipe.as_ref().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
    }
    // A time too long to be told to the system is no bound.
    let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
    match rustix::event::poll(&mut fds, longest.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

/// Our ends of the program's standard streams, none of which blocks.
struct Streams<'a> {
    stdin: Option<Feed<'a>>,
    stdout: Source,
    stderr: Source,
    buffer: Vec<u8>,
}

impl<'a> Streams<'a> {
    fn open(spec: &'a Spec) -> io::Result<(Self, Ends)> {
        let (stdin, stdin_end): (_, OwnedFd) = match &spec.stdin {
            Stdin::Null => (None, File::open("/dev/null")?.into()),
            Stdin::Bytes(bytes) => {
                let (reader, writer) = io::pipe()?;
                (Some(Feed::new(writer, bytes)?), reader.into())
            }
        };
        let (stdout, stdout_end) = io::pipe()?;
        let (stderr, stderr_end) = io::pipe()?;
        let ends = Ends::new(stdin_end, stdout_end, stderr_end)?;
        let streams = Self {
            stdin,
            stdout: Source::new(stdout, spec, Output::Stdout)?,
            stderr: Source::new(stderr, spec, Output::Stderr)?,
            buffer: vec![0; PIECE],
        };
        Ok((streams, ends))
    }

    /// None: the program uses others.
    #[cfg(target_os = "linux")]
    fn none() -> Self {
        let source = || Source { pipe: None, keeper: Keeper::new(0), heard: None };
        Self { stdin: None, stdout: source(), stderr: source(), buffer: Vec::new() }
    }

    /// Moves what can be moved now, on all three.
    fn go_on(&mut self) -> io::Result<()> {
        if let Some(feed) = self.stdin.take() {
            self.stdin = feed.go_on()?;
        }
        self.stdout.read(&mut self.buffer)?;
        self.stderr.read(&mut self.buffer)?;
        Ok(())
    }

    /// Reads what is there, and no more: someone else may hold the other end and go on writing.
    fn finish(mut self) -> io::Result<(Captured, Captured)> {
        self.stdout.drain(&mut self.buffer)?;
        self.stderr.drain(&mut self.buffer)?;
        Ok((self.stdout.keeper.finish(), self.stderr.keeper.finish()))
    }
}

/// One output stream; without its pipe after the end.
struct Source {
    pipe: Option<PipeReader>,
    keeper: Keeper,
    heard: Option<(Heard, Output)>,
}

impl Source {
    fn new(pipe: PipeReader, spec: &Spec, output: Output) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let heard = spec.heard.clone().map(|heard| (heard, output));
        Ok(Self { pipe: Some(pipe), keeper: Keeper::new(spec.limits.output), heard })
    }

    /// Reads once. Says how much: nothing if there is nothing now or never again.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(pipe) = &self.pipe else { return Ok(0) };
        match rustix::io::retry_on_intr(|| rustix::io::read(&*pipe, &mut *buffer)) {
            Ok(0) => {
                self.pipe = None;
                Ok(0)
            }
            Ok(count) => {
                let bytes = buffer.get(..count).unwrap_or_default();
                self.keeper.push(bytes);
                if let Some((heard, output)) = &self.heard {
                    heard(*output, bytes);
                }
                Ok(count)
            }
            Err(Errno::AGAIN) => Ok(0),
            Err(cause) => Err(cause.into()),
        }
    }

    fn drain(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut left = rustix::io::ioctl_fionread(pipe)?;
        while left > 0 {
            match self.read(buffer)? as u64 {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
