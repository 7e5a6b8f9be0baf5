//! Runs one launch from start to end: feeds input, reads output, and watches the clock and the stop handle at once.

use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, WaitIdStatus};

use crate::capture::{Capture, CaptureBuffer};
use crate::error::{LaunchError, escape};
use crate::feed::Feed;
use crate::limits::KernelLimits;
use crate::marker::Marker;
use crate::prepare::SpawnArgs;
use crate::spawn::{ChildStreams, ExtraFds, Session, spawn};
use crate::spec::{End, LaunchOutcome, Output, OutputListener, Spec, Stdin};
use crate::stop::{Stop, Watch};
use crate::tree::{self, PidHold, Tree};

/// How often the program is checked on systems where its end cannot be polled together with its output.
const TICK: Duration = Duration::from_millis(10);

/// The size of one read: the usual capacity of a pipe.
const CHUNK: usize = 1 << 16;

/// Runs a program to its end and returns when none of its processes is left.
///
/// As soon as the program itself ends, every process that it started and left running is killed.
/// The output that was written until then is returned.
/// The call blocks; any number of threads may call it at the same time.
///
/// # Errors
///
/// Fails if the program could not be started as requested, or if its end could not be observed. No process of it is
/// left in that case either.
pub fn launch(spec: &Spec, stop: &Stop) -> Result<LaunchOutcome, LaunchError> {
    let prepared = SpawnArgs::new(spec)?;
    let wanted = KernelLimits::new(&spec.limits)?;
    let spawn = |ends: &ChildStreams, session| spawn(&prepared, ends, &ExtraFds::default(), session);
    let plan = LaunchPlan { spawn: &spawn, marker: &prepared.marker, end_reporter: None };
    run(spec, stop, &plan, |pid| wanted.apply(pid))
}

/// A function that starts a process with the given streams.
pub(crate) type SpawnFn<'a> = dyn Fn(&ChildStreams, Session) -> io::Result<Pid> + 'a;

/// How a process is started, and how its end is recognized.
pub(crate) struct LaunchPlan<'a> {
    pub(crate) spawn: &'a SpawnFn<'a>,
    pub(crate) marker: &'a Marker,
    /// Reports the end of the program. After its report, or after the started process exits, no process is left.
    pub(crate) end_reporter: Option<&'a dyn EndReporter>,
}

/// Reports that no process of a program is left, possibly before the process that was started for it exits.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only the Linux sandbox reports the end"))]
pub(crate) trait EndReporter {
    /// A descriptor that becomes readable when there may be a report.
    fn poll_fd(&self) -> BorrowedFd<'_>;
    /// Returns the report so far, without blocking.
    fn report(&self) -> io::Result<EndReport>;
    /// The behavior of the reporting process after its report.
    fn after_report(&self) -> AfterReport;
}

/// Follows a program that the keys of a terminal may stop.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only the Linux sandbox keeps the terminal"))]
pub(crate) trait StopMonitor {
    /// A descriptor that becomes readable when the program may have stopped.
    fn poll_fd(&self) -> BorrowedFd<'_>;
    /// If the program has stopped, stops this process too, and resumes the program afterwards.
    fn follow_stop(&self) -> io::Result<()>;
}

/// A report of an [`EndReporter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only the Linux sandbox reports the end"))]
pub(crate) enum EndReport {
    /// The program may still be running.
    None,
    /// No process of the program is left.
    Complete,
    /// The reporter is gone: there will be no further report.
    Closed,
}

/// The behavior of a process after it has reported the end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only the Linux sandbox reports the end"))]
pub(crate) enum AfterReport {
    /// It exits.
    Exits,
    /// It waits for its next order.
    Waits,
}

/// Starts the program, calls `then` at once, and follows the program to its end.
pub(crate) fn run(
    spec: &Spec,
    stop: &Stop,
    plan: &LaunchPlan<'_>,
    then: impl FnOnce(Pid) -> Result<(), LaunchError>,
) -> Result<LaunchOutcome, LaunchError> {
    tree::can_kill().map_err(LaunchError::system("reading `/proc`"))?;
    let stopped = match stop.watch().map_err(LaunchError::system("creating a pipe"))? {
        Watch::Until(reader) => reader,
        Watch::Stopped => return Ok(never_started()),
    };
    let (mut streams, ends) = ParentStreams::open(spec).map_err(LaunchError::system("creating a pipe"))?;

    let start = Instant::now();
    let pid = (plan.spawn)(&ends, Session::New)
        .map_err(|cause| LaunchError::Start { program: escape(&spec.program), cause })?;
    let mut tree = Tree::new(pid, plan.marker);
    drop(ends);
    then(pid)?;

    let deadline = spec.limits.wall.and_then(|wall| start.checked_add(wall));
    let wakes =
        WakeSources { exit: exit_fd(pid), stopped, end_reporter: plan.end_reporter, stop_monitor: None };
    let end = follow(&mut tree, &mut streams, &wakes, stop, deadline).map_err(|cause| match tree.hold() {
        PidHold::Lost => LaunchError::Lost(escape(&spec.program)),
        PidHold::Held | PidHold::Released => LaunchError::System { doing: "following the program", cause },
    })?;
    let took = start.elapsed();
    let survivors = finish(tree, wakes, end)?;
    let (stdout, stderr) = streams.finish().map_err(LaunchError::system("reading the output"))?;
    Ok(LaunchOutcome { end, stdout, stderr, took, survivors })
}

/// Ends the process tree, unless the reporter says that nothing is left of it. Returns the survivors.
fn finish(tree: Tree<'_>, wakes: WakeSources<'_>, end: End) -> Result<Vec<i32>, LaunchError> {
    let done = match (end, wakes.end_reporter.map(|reporter| (reporter.report(), reporter.after_report()))) {
        (End::Exited(_), Some((Ok(EndReport::Complete), AfterReport::Waits))) => tree.release(),
        (End::Exited(_), Some((Ok(_), AfterReport::Exits))) => tree.leave(wakes.exit),
        (End::Exited(_) | End::Signalled(_) | End::TimedOut | End::Stopped, _) => {
            return tree.end().map_err(LaunchError::system("ending the program"));
        }
    };
    done.map(|()| Vec::new()).map_err(LaunchError::system("ending the program"))
}

/// Version of [`run`] for a program that uses the standard streams of this process directly.
///
/// If the program stops at our terminal, this process stops too.
#[cfg(target_os = "linux")]
pub(crate) fn follow_attached(
    spec: &Spec,
    stop: &Stop,
    plan: &LaunchPlan<'_>,
    descriptors: crate::profile::Descriptors,
    stop_monitor: Option<&dyn StopMonitor>,
) -> Result<End, LaunchError> {
    let system = LaunchError::system::<io::Error>;
    let stopped = match stop.watch().map_err(system("creating a pipe"))? {
        Watch::Until(reader) => reader,
        Watch::Stopped => return Ok(End::Stopped),
    };
    let own = |fd: rustix::fd::BorrowedFd<'_>| fd.try_clone_to_owned();
    let [stdin, stdout, stderr] =
        [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()].map(own);
    let ends = stdin
        .and_then(|stdin| ChildStreams::new(stdin, stdout?, stderr?))
        .map_err(system("passing on the streams"))?;
    for end in [&ends.stdin, &ends.stdout, &ends.stderr] {
        // The program could look up names outside the sandbox relative to an open folder.
        let stat = rustix::fs::fstat(end).map_err(|cause| system("passing on the streams")(cause.into()))?;
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory {
            return Err(system("passing on the streams")(io::ErrorKind::IsADirectory.into()));
        }
    }
    let session = match descriptors {
        crate::profile::Descriptors::Standard => Session::New,
        crate::profile::Descriptors::Terminal => Session::Same,
    };
    let _saved = crate::terminal::SavedStreams::now();
    let start = Instant::now();
    let pid = (plan.spawn)(&ends, session)
        .map_err(|cause| LaunchError::Start { program: escape(&spec.program), cause })?;
    let mut tree = Tree::new(pid, plan.marker);
    drop(ends);
    let deadline = spec.limits.wall.and_then(|wall| start.checked_add(wall));
    let wakes = WakeSources { exit: exit_fd(pid), stopped, end_reporter: plan.end_reporter, stop_monitor };
    let mut streams = ParentStreams::none();
    let end =
        follow(&mut tree, &mut streams, &wakes, stop, deadline).map_err(system("following the program"))?;
    finish(tree, wakes, end)?;
    Ok(end)
}

fn never_started() -> LaunchOutcome {
    let (stdout, stderr) = Default::default();
    LaunchOutcome { end: End::Stopped, stdout, stderr, took: Duration::ZERO, survivors: Vec::new() }
}

/// Everything besides the streams that can wake the launcher.
struct WakeSources<'a> {
    exit: Option<OwnedFd>,
    stopped: PipeReader,
    end_reporter: Option<&'a dyn EndReporter>,
    stop_monitor: Option<&'a dyn StopMonitor>,
}

/// Returns a descriptor that becomes readable when the program exits, on systems that have one.
#[cfg(target_os = "linux")]
fn exit_fd(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn exit_fd(_pid: Pid) -> Option<OwnedFd> {
    None
}

/// Waits until the program has ended or must be killed. Its own end takes precedence over a simultaneous timeout or stop.
fn follow(
    tree: &mut Tree<'_>,
    streams: &mut ParentStreams<'_>,
    wakes: &WakeSources<'_>,
    stop: &Stop,
    deadline: Option<Instant>,
) -> io::Result<End> {
    loop {
        streams.pump()?;
        wakes.stop_monitor.map_or(Ok(()), StopMonitor::follow_stop)?;
        match wakes.end_reporter.map_or(Ok(EndReport::None), EndReporter::report)? {
            EndReport::None => {}
            // The reporter also says how the program ended, or why it did not start. The caller reads that later.
            EndReport::Complete | EndReport::Closed => return Ok(End::Exited(0)),
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
        let tick = wakes.exit.is_none().then_some(TICK);
        wait(streams, wakes, left.into_iter().chain(tick).min())?;
    }
}

fn end_of(status: &WaitIdStatus) -> End {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Signalled(signal),
        // Unreachable: `wait` is called for exits only, and an exit has a code or a signal.
        (None, None) => End::Signalled(0),
    }
}

/// Waits until there may be something to do. A wake-up without a reason is harmless.
fn wait(streams: &ParentStreams<'_>, wakes: &WakeSources<'_>, longest: Option<Duration>) -> io::Result<()> {
    let mut fds = vec![PollFd::new(&wakes.stopped, PollFlags::IN)];
    fds.extend(wakes.exit.as_ref().map(|exit| PollFd::new(exit, PollFlags::IN)));
    let reporter = wakes.end_reporter.map(EndReporter::poll_fd);
    let reports = reporter.into_iter().chain(wakes.stop_monitor.map(StopMonitor::poll_fd));
    fds.extend(reports.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    fds.extend(streams.stdin.as_ref().map(|feed| PollFd::from_borrowed_fd(feed.pipe(), PollFlags::OUT)));
    for source in [&streams.stdout, &streams.stderr] {
        fds.extend(source.pipe.as_ref().map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)));
    }
    // A duration that does not fit into a `Timespec` counts as no limit.
    let longest = longest.and_then(|longest| Timespec::try_from(longest).ok());
    match rustix::event::poll(&mut fds, longest.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(cause) => Err(cause.into()),
    }
}

/// Our ends of the program's standard streams. None of them blocks.
struct ParentStreams<'a> {
    stdin: Option<Feed<'a>>,
    stdout: OutputPipe,
    stderr: OutputPipe,
    buffer: Vec<u8>,
}

impl<'a> ParentStreams<'a> {
    fn open(spec: &'a Spec) -> io::Result<(Self, ChildStreams)> {
        let (stdin, stdin_end): (_, OwnedFd) = match &spec.stdin {
            Stdin::Null => (None, File::open("/dev/null")?.into()),
            Stdin::Bytes(bytes) => {
                let (reader, writer) = io::pipe()?;
                (Some(Feed::new(writer, bytes)?), reader.into())
            }
        };
        let (stdout, stdout_end) = io::pipe()?;
        let (stderr, stderr_end) = io::pipe()?;
        let ends = ChildStreams::new(stdin_end, stdout_end, stderr_end)?;
        let streams = Self {
            stdin,
            stdout: OutputPipe::new(stdout, spec, Output::Stdout)?,
            stderr: OutputPipe::new(stderr, spec, Output::Stderr)?,
            buffer: vec![0; CHUNK],
        };
        Ok((streams, ends))
    }

    /// No streams, for a program that uses those of this process.
    #[cfg(target_os = "linux")]
    fn none() -> Self {
        let source = || OutputPipe { pipe: None, buffer: CaptureBuffer::new(0), listener: None };
        Self { stdin: None, stdout: source(), stderr: source(), buffer: Vec::new() }
    }

    /// Moves all bytes that can be moved without blocking, on all three streams.
    fn pump(&mut self) -> io::Result<()> {
        if let Some(feed) = self.stdin.take() {
            self.stdin = feed.write_more()?;
        }
        self.stdout.read(&mut self.buffer)?;
        self.stderr.read(&mut self.buffer)?;
        Ok(())
    }

    /// Reads the bytes that are there now, and no more. Another process may hold the other end and keep writing.
    fn finish(mut self) -> io::Result<(Capture, Capture)> {
        self.stdout.drain(&mut self.buffer)?;
        self.stderr.drain(&mut self.buffer)?;
        Ok((self.stdout.buffer.finish(), self.stderr.buffer.finish()))
    }
}

/// One output stream. `pipe` is empty after the end of file.
struct OutputPipe {
    pipe: Option<PipeReader>,
    buffer: CaptureBuffer,
    listener: Option<(OutputListener, Output)>,
}

impl OutputPipe {
    fn new(pipe: PipeReader, spec: &Spec, output: Output) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&pipe, true)?;
        let listener = spec.listener.clone().map(|listener| (listener, output));
        Ok(Self { pipe: Some(pipe), buffer: CaptureBuffer::new(spec.limits.output), listener })
    }

    /// Reads once and returns the number of bytes: 0 at the end of file, and also if no bytes are there now.
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let Some(pipe) = &self.pipe else { return Ok(0) };
        match rustix::io::retry_on_intr(|| rustix::io::read(&*pipe, &mut *chunk)) {
            Ok(0) => {
                self.pipe = None;
                Ok(0)
            }
            Ok(count) => {
                let bytes = chunk.get(..count).unwrap_or_default();
                self.buffer.push(bytes);
                if let Some((listener, output)) = &self.listener {
                    listener(*output, bytes);
                }
                Ok(count)
            }
            Err(Errno::AGAIN) => Ok(0),
            Err(cause) => Err(cause.into()),
        }
    }

    fn drain(&mut self, chunk: &mut [u8]) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        let mut left = rustix::io::ioctl_fionread(pipe)?;
        while left > 0 {
            match self.read(chunk)? as u64 {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
