//! Starts a helper with its order, and turns the messages of the helper into the result of the program.

use std::cell::RefCell;
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::process::Pid;

use super::helper::{NAME, Program};
use super::messages::MessageReader;
use super::order::{Backend, HelperMessage, Order, OwnNetwork, Task};
use super::pool::IdleHelper;
use super::violation::Violation;
use super::{SEALS, Sandbox, bubblewrap, wire};
use crate::error::{LaunchError, escape};
use crate::launch::{
    AfterReport, EndReport, EndReporter, LaunchPlan, SpawnFn, StopMonitor, follow_attached, run,
};
use crate::marker::{self, Marker};
use crate::prepare::{SpawnArgs, argv, open_folder, variables};
use crate::profile::{Descriptors, Network, OSProfile, User, View};
use crate::spawn::{ChildStreams, ExtraFds, Session, spawn};
use crate::spec::{End, LaunchOutcome, Limits, RunFacts, Spec};
use crate::stop::Stop;
use crate::terminal::{TerminalAccess, TerminalHandoff};

/// How much longer than PID 1 the launcher waits before it ends a program whose time is over.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(1);

/// The result of a launch in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxRun {
    /// The result of the launch itself.
    pub finished: LaunchOutcome,
    /// The refused attempts that the kernel reported. It does not report every refusal.
    pub violations: Vec<Violation>,
    /// The other facts that the kernel reported at the end.
    pub facts: RunFacts,
}

/// Runs a program in a sandbox to its end. Otherwise the same as [`launch`](crate::launch()).
///
/// # Errors
///
/// Fails if the sandbox could not be set up or the program could not be started. Then nothing ran and nothing is left.
pub fn launch_in_sandbox(
    sandbox: &Sandbox,
    profile: &OSProfile,
    spec: &Spec,
    stop: &Stop,
) -> Result<SandboxRun, LaunchError> {
    launch_task(sandbox, profile, spec, stop, Task::Program)
}

/// Runs a program or the self-test in a sandbox.
pub(super) fn launch_task(
    sandbox: &Sandbox,
    profile: &OSProfile,
    spec: &Spec,
    stop: &Stop,
    task: Task,
) -> Result<SandboxRun, LaunchError> {
    let mut order = build_order(sandbox, profile, spec, task)?;
    let network = spec.network.as_ref().filter(|network| {
        let is_possible = order.backend == Backend::Namespaces && order.profile.network == Network::Own;
        is_possible && order.profile.user == network.user
    });
    let network = network.map(|network| network.namespace.try_clone()).transpose();
    let network = network.map_err(LaunchError::system("duplicating the network"))?;
    if network.is_some() {
        order.own_network = OwnNetwork::Passed;
    }
    let spec = &Spec { limits: launcher_limits(&order, &spec.limits), ..spec.clone() };
    let launch = HelperLaunch::of(sandbox, order, network)?;
    let spawn = |ends: &ChildStreams, session| launch.spawn_helper(ends, session);
    let finished = run(spec, stop, &launch.plan(&spawn), |_| Ok(()))?;
    let (end, violations, facts) = launch.result(finished.end, spec)?;
    launch.keep_helper(sandbox, end);
    Ok(SandboxRun { finished: LaunchOutcome { end, ..finished }, violations, facts })
}

/// Runs a program in a sandbox with the standard streams of this process, to its end.
///
/// # Errors
///
/// Fails in the same cases as [`launch_in_sandbox`].
pub fn attach_in_sandbox(
    sandbox: &Sandbox,
    profile: &OSProfile,
    spec: &Spec,
    stop: &Stop,
) -> Result<(End, Vec<Violation>), LaunchError> {
    let mut order = build_order(sandbox, profile, spec, Task::Program)?;
    let descriptors = order.profile.descriptors;
    let (handoff, resume) = match descriptors {
        Descriptors::Standard => (None, None),
        Descriptors::Terminal => {
            let (handoff, resume) = TerminalHandoff::new().map_err(LaunchError::system("creating a pipe"))?;
            order.terminal = handoff.access();
            (Some(handoff), Some(resume.into()))
        }
    };
    let launch = match resume {
        None => HelperLaunch::of(sandbox, order, None)?,
        Some(_) => HelperLaunch::new(sandbox, order, resume)?,
    };
    let spawn = |ends: &ChildStreams, session| launch.spawn_helper(ends, session);
    let attached = handoff.map(|handoff| AttachedProgram { handoff, messages: &launch.messages });
    let stops = attached.as_ref().map(|attached| attached as &dyn StopMonitor);
    let end = follow_attached(spec, stop, &launch.plan(&spawn), descriptors, stops)?;
    let (end, violations, _) = launch.result(end, spec)?;
    launch.keep_helper(sandbox, end);
    Ok((end, violations))
}

/// Checks a spec and combines it with a profile into an order.
pub(super) fn build_order(
    sandbox: &Sandbox,
    profile: &OSProfile,
    spec: &Spec,
    task: Task,
) -> Result<Order, LaunchError> {
    if spec.program.is_empty() {
        return Err(LaunchError::NoProgram);
    }
    argv(spec)?;
    variables(spec)?;
    let folder = match fs::canonicalize(&spec.folder) {
        Ok(folder) if spec.folder.is_absolute() => folder,
        Ok(_) => return Err(LaunchError::FolderRelative(escape(&spec.folder))),
        Err(cause) => return Err(LaunchError::Folder { folder: escape(&spec.folder), cause }),
    };
    if !profile.views.is_empty() && sandbox.backend != Backend::Namespaces {
        let cause = io::Error::from_raw_os_error(libc::ENOTSUP);
        return Err(LaunchError::Sandbox { step: "making a view without own namespaces".to_owned(), cause });
    }
    // The view of another folder would leave its files writable.
    let is_granted = |view: &&View| profile.writable.iter().any(|grant| grant.path == view.root);
    if let Some(view) = profile.views.iter().find(|view| !is_granted(view)) {
        let step = format!("making a view of `{}`, which is no writable grant", escape(&view.root));
        return Err(LaunchError::Sandbox { step, cause: io::Error::from_raw_os_error(libc::EINVAL) });
    }
    let profile = OSProfile { limits: stricter(&profile.limits, &spec.limits), ..profile.clone() };
    Ok(Order {
        backend: sandbox.backend,
        task,
        program: spec.program.clone(),
        args: spec.args.clone(),
        env: spec.env.clone(),
        folder,
        terminal: TerminalAccess::Detached,
        own_network: OwnNetwork::New,
        lasts: spec.lasts,
        profile,
    })
}

/// Returns the limits that the launcher applies. PID 1 keeps the time, so the launcher only acts if PID 1 does not.
fn launcher_limits(order: &Order, of_spec: &Limits) -> Limits {
    let limits = stricter(&order.profile.limits, of_spec);
    match order.backend {
        Backend::Namespaces | Backend::Bubblewrap => {
            Limits { wall: limits.wall.map(|wall| wall.saturating_add(TIMEOUT_MARGIN)), ..limits }
        }
        Backend::ContentOnly => limits,
    }
}

/// Returns the stricter of two limits, field by field.
fn stricter(a: &Limits, b: &Limits) -> Limits {
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

/// A helper that is about to be started, or to receive its next order.
struct HelperLaunch {
    start: HelperStart,
    messages: MessageReader,
}

/// How the helper gets its order.
pub(super) enum HelperStart {
    /// The helper is started with its order.
    New {
        prepared: SpawnArgs,
        extra: ExtraFds,
        /// Whether the helper reports when no process is left.
        reports_end: bool,
    },
    /// A running helper receives the order, together with the pipe for its messages.
    Pooled {
        helper: IdleHelper,
        order: OwnedFd,
        messages_end: RefCell<Option<OwnedFd>>,
        network: Option<OwnedFd>,
    },
}

impl HelperStart {
    /// Prepares the start of a helper for this order alone, with its end of the channel for messages.
    pub(super) fn new(
        sandbox: &Sandbox,
        mut order: Order,
        messages_end: OwnedFd,
        more: Option<OwnedFd>,
    ) -> Result<Self, LaunchError> {
        let marker = Marker::fresh().map_err(LaunchError::system("reading random bytes"))?;
        let mark = [marker::VARIABLE.as_bytes(), b"=", marker.value().as_bytes()].concat();
        add_mark(&mut order, &marker);
        let system = |doing| LaunchError::system::<io::Error>(doing);
        let sealed = seal(&wire::encode(&order)).map_err(system("sealing the order"))?;
        let mut extra = vec![sealed, messages_end];
        extra.extend(more);
        let mut path = c"/proc/self/exe".to_owned();
        match &sandbox.helper.0 {
            Program::Own => {}
            Program::File(file) => {
                path = CString::new(format!("/proc/self/fd/{}", 3 + extra.len()))
                    .map_err(|cause| system("duplicating the helper descriptor")(cause.into()))?;
                extra.push(file.try_clone().map_err(system("duplicating the helper descriptor"))?);
            }
        }
        let mut argv = vec![CString::new(NAME).map_err(|cause| system("naming the helper")(cause.into()))?];
        if let Some(bubblewrap) = &sandbox.bubblewrap {
            let command = bubblewrap::command(&order, &sandbox.helper, extra.len())?;
            argv = command.argv;
            extra.extend(command.descriptors);
            path = crate::prepare::c_string(bubblewrap.as_os_str().as_encoded_bytes(), || {
                crate::SpecPart::Program
            })?;
        }
        let prepared = SpawnArgs {
            path,
            argv,
            envp: vec![crate::prepare::c_string(&mark, || crate::SpecPart::Program)?],
            folder: open_folder(Path::new("/"))?,
            marker,
        };
        let extra = ExtraFds::new(extra).map_err(system("duplicating descriptors"))?;
        Ok(Self::New { prepared, extra, reports_end: sandbox.backend == Backend::Namespaces })
    }
}

/// An attached program, which may stop at our terminal.
struct AttachedProgram<'a> {
    handoff: TerminalHandoff,
    messages: &'a MessageReader,
}

impl StopMonitor for AttachedProgram<'_> {
    fn poll_fd(&self) -> BorrowedFd<'_> {
        self.messages.pipe.as_fd()
    }

    fn follow_stop(&self) -> io::Result<()> {
        let mut buffer = self.messages.read_messages()?;
        let count = buffer.messages.len();
        buffer.messages.retain(|message| *message != HelperMessage::Stopped);
        if buffer.messages.len() < count {
            self.handoff.follow_stop()?;
        }
        Ok(())
    }
}

impl HelperLaunch {
    /// Uses a helper from the pool if the order can, and starts one otherwise.
    fn of(sandbox: &Sandbox, order: Order, network: Option<OwnedFd>) -> Result<Self, LaunchError> {
        let pooled = match (&sandbox.pool, order.profile.user, order.profile.descriptors) {
            (Some(pool), User::Same, Descriptors::Standard) => pool.take(&sandbox.helper)?,
            (Some(_) | None, _, _) => None,
        };
        match pooled {
            Some(helper) => Self::pooled(helper, order, network),
            None => Self::new(sandbox, order, network),
        }
    }

    /// Returns a helper that has done its work to the pool.
    fn keep_helper(self, sandbox: &Sandbox, end: End) {
        let reusable = end != End::TimedOut && matches!(self.messages.report(), Ok(EndReport::Complete));
        if let (Some(pool), HelperStart::Pooled { helper, .. }, true) = (&sandbox.pool, self.start, reusable)
        {
            pool.put(helper);
        }
    }

    /// Uses a running helper from the pool.
    fn pooled(helper: IdleHelper, mut order: Order, network: Option<OwnedFd>) -> Result<Self, LaunchError> {
        let system = |doing| LaunchError::system::<io::Error>(doing);
        add_mark(&mut order, &helper.marker);
        let (messages, messages_end) = io::pipe().map_err(system("creating a pipe"))?;
        let order = seal(&wire::encode(&order)).map_err(system("sealing the order"))?;
        let messages = MessageReader::new(messages, AfterReport::Waits).map_err(system("creating a pipe"))?;
        Ok(Self {
            start: HelperStart::Pooled {
                helper,
                order,
                messages_end: RefCell::new(Some(messages_end.into())),
                network,
            },
            messages,
        })
    }

    /// Starts a helper for this order alone. `more` is the pipe for resume messages if the program may stop, or the network
    /// that is passed.
    fn new(sandbox: &Sandbox, order: Order, more: Option<OwnedFd>) -> Result<Self, LaunchError> {
        let system = |doing| LaunchError::system::<io::Error>(doing);
        let (messages, messages_end) = io::pipe().map_err(system("creating a pipe"))?;
        let start = HelperStart::new(sandbox, order, messages_end.into(), more)?;
        let messages = MessageReader::new(messages, AfterReport::Exits).map_err(system("creating a pipe"))?;
        Ok(Self { start, messages })
    }

    fn spawn_helper(&self, ends: &ChildStreams, session: Session) -> io::Result<Pid> {
        match &self.start {
            HelperStart::New { prepared, extra, .. } => spawn(prepared, ends, extra, session),
            HelperStart::Pooled { helper, order, messages_end, network } => {
                // Take our copy, so that only the helper and its children hold this end.
                let messages_end = messages_end.take().ok_or(io::ErrorKind::BrokenPipe)?;
                let network = network.as_ref().map(AsFd::as_fd);
                helper.send(order, &messages_end, ends, network)
            }
        }
    }

    fn plan<'a>(&'a self, spawn: &'a SpawnFn<'a>) -> LaunchPlan<'a> {
        let (marker, reports_end) = match &self.start {
            HelperStart::New { prepared, reports_end, .. } => (&prepared.marker, *reports_end),
            HelperStart::Pooled { helper, .. } => (&helper.marker, true),
        };
        LaunchPlan { spawn, marker, end_reporter: reports_end.then_some(&self.messages as &dyn EndReporter) }
    }

    /// Computes the result from the messages of the helper, or from the end of the helper itself if it sent none.
    fn result(&self, end: End, spec: &Spec) -> Result<(End, Vec<Violation>, RunFacts), LaunchError> {
        let messages = self
            .messages
            .read_messages()
            .map_err(LaunchError::system("reading the messages"))?
            .messages
            .clone();
        let (mut violations, mut status) = (Vec::new(), None);
        let (mut facts, mut end) = (RunFacts::default(), end);
        for message in messages {
            match message {
                HelperMessage::Refused(violation) => violations.push(violation),
                HelperMessage::Status(code) | HelperMessage::Gone(code) => status = Some(code),
                HelperMessage::Stopped => {}
                HelperMessage::Facts(reported) => facts = reported,
                HelperMessage::TimedOut if end != End::Stopped => end = End::TimedOut,
                HelperMessage::TimedOut => {}
                HelperMessage::Failed(step, number) => {
                    return Err(LaunchError::Sandbox { step, cause: io::Error::from_raw_os_error(number) });
                }
                HelperMessage::NotStarted(libc::ENOENT) => {
                    return Err(LaunchError::Hidden(escape(&spec.program)));
                }
                HelperMessage::NotStarted(number) => {
                    let cause = io::Error::from_raw_os_error(number);
                    return Err(LaunchError::Start { program: escape(&spec.program), cause });
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
                return Err(LaunchError::Sandbox {
                    step: "waiting for a message of the helper".to_owned(),
                    cause,
                });
            }
        };
        Ok((end, violations, facts))
    }
}

/// Adds the mark to the environment, so that the processes of the program can be found again.
fn add_mark(order: &mut Order, marker: &Marker) {
    order.env.retain(|(name, _)| name != marker::VARIABLE);
    order.env.push((marker::VARIABLE.into(), OsString::from(marker.value())));
}

/// Starts the helper and returns, for a test of what happens without a launcher.
#[cfg(test)]
pub(super) fn start_only(
    sandbox: &Sandbox,
    order: Order,
    output: &io::PipeWriter,
) -> Result<rustix::process::Pid, LaunchError> {
    let launch = HelperLaunch::new(sandbox, order, None)?;
    let system = |doing| LaunchError::system::<io::Error>(doing);
    let input = File::open("/dev/null").map_err(system("opening"))?;
    let copy = || output.try_clone().map_err(system("opening"));
    let ends = ChildStreams::new(input, copy()?, copy()?).map_err(system("opening"))?;
    let pid = launch.spawn_helper(&ends, Session::New);
    // Keep our end of the message pipe open, or the helper would end at once.
    std::mem::forget(launch.messages);
    pid.map_err(system("starting"))
}

/// Writes bytes to a memory file that can no longer be changed.
pub(super) fn seal(bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is NUL-terminated.
    let fd = unsafe { libc::memfd_create(c"askfirst-order".as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just created this descriptor.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(bytes)?;
    file.rewind()?;
    // SAFETY: no memory is passed.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file.into())
}
