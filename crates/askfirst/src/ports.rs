//! The ports: traits for everything that the core needs from outside.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::assess::Shown;
use crate::effects::{Effects, EffectsPolicy, RunBasis, RunFactKind};
use crate::machine::{Answer, Question, QuestionId};
use crate::permit::RecordedCommitPermit;
use crate::presentation::ApprovalPresentation;
use crate::record::{CommitRecord, Record};
use crate::request::ApprovalRequest;
use crate::words::{Cause, Timestamp};

/// The component that answers questions: a terminal, a callback, an inbox or another program.
pub trait Approver: Send + Sync {
    /// Takes a question, and answers it through `reply`, now or later, from any thread.
    ///
    /// The controller asks the next question only after this one was answered or withdrawn.
    /// The method must not block. While it blocks, no question is shown or withdrawn, and none times out.
    fn ask(&self, question: Question, reply: Reply);

    /// Announces that a call is about to wait for an answer.
    ///
    /// The controller calls it on the thread that submits the call, before it asks about the call.
    fn announce(&self, call_id: &str) {
        let _ = call_id;
    }

    /// Withdraws a question: it was answered elsewhere, it timed out, or the caller canceled it.
    fn withdraw(&self, question: QuestionId, cause: Cause) {
        let _ = (question, cause);
    }
}

/// The channel for one answer. If it is dropped without an answer, the question is refused as
/// [`Cause::ApproverFailed`].
pub struct Reply(Option<Box<dyn FnOnce(Answer) + Send>>);

impl Reply {
    /// Creates a reply that passes its answer to `f`.
    #[must_use]
    pub fn new(f: impl FnOnce(Answer) + Send + 'static) -> Self {
        Self(Some(Box::new(f)))
    }

    /// Sends the answer.
    pub fn send(mut self, answer: Answer) {
        if let Some(f) = self.0.take() {
            f(answer);
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f(Answer::failed(Cause::ApproverFailed, "the approver gave no answer"));
        }
    }
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reply")
    }
}

/// Builds the content that a person sees. It is called only if mode and memory gave no decision.
pub trait Presenter: Send {
    /// Builds the content for a request.
    fn present(&self, request: &ApprovalRequest) -> Shown;
}

/// How durable a log entry must be before the call continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// The operating system has the entry: it survives a crash of the process.
    Written,
    /// The disk has the entry: it survives a power failure.
    Synced,
}

/// The error for an audit log that could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot write the audit log: {0}")]
pub struct RecordFailed(pub String);

/// Whether a recorder keeps the entries it gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// The recorder keeps every entry.
    Everything,
    /// The recorder keeps no entry, so no entry needs to be built.
    Nothing,
}

#[doc(hidden)]
pub use self::Retention as Keeps;

/// Writes the audit log.
pub trait Recorder: Send + Sync {
    /// Writes one entry with the given durability.
    ///
    /// # Errors
    /// Fails unless the entry is certainly in the log.
    fn record(&self, record: &Record, durability: Durability) -> Result<(), RecordFailed>;

    /// Returns whether the recorder keeps entries at all. The result never changes.
    fn keeps(&self) -> Retention {
        Retention::Everything
    }
}

/// A clock that never goes back.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// How much of the access in the owner's config a process gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The call runs without asking: the process gets only access that needs no approval.
    WithoutAsking,
    /// The call runs on a view: the process reads what needs no approval, and its writes are held back.
    Rehearsal,
    /// The mode approved the call: the process gets all access except `human`.
    Standing,
    /// A remembered decision approved the call: it gets the access of `Standing`, but its changes are decided again.
    Remembered,
    /// A person approved the call: the process gets all access that the config can grant.
    Approved,
}

/// The sandbox that a process ran in, and what the sandbox refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// The tier of the sandbox: `full`, `content-only` or `none`.
    pub tier: String,
    /// The operations that the sandbox refused, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
}

#[doc(hidden)]
pub use self::SandboxReport as Walled;

/// A process to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub folder: PathBuf,
    /// The standard input.
    pub stdin: Vec<u8>,
    /// The longest time that it may run.
    pub wall: Option<Duration>,
    /// The most processor time that it may use.
    pub cpu: Option<Duration>,
    /// The most memory that it may use, in bytes.
    pub memory: Option<u64>,
    /// The most processes that it may have.
    pub processes: Option<u64>,
    /// The size of the largest file that it may write, in bytes.
    pub file: Option<u64>,
    /// The number of bytes that are kept of each output stream.
    pub output: usize,
    /// The access that it gets.
    pub access: Access,
    /// The facts about the run that a person has accepted, besides the access.
    pub accepted: Vec<RunFactKind>,
    /// The part of the folders in its access that it may write.
    pub writes: WriteScope,
}

/// The part of its access that a process may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteScope {
    /// Everything that its access allows.
    #[default]
    Everything,
    /// Only build output: the process runs on the real files, and what it writes cannot be held back.
    Products,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessEnd {
    /// The process exited with this code.
    Exited(i32),
    /// This signal ended the process.
    Signalled(i32),
    /// The process ran too long and was killed.
    TimedOut,
    /// askfirst stopped the process.
    Stopped,
}

/// The output of a process that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutput {
    /// How the process ended.
    pub ended: ProcessEnd,
    /// Standard output. If it was too long, a count replaces the middle.
    pub stdout: Vec<u8>,
    /// Standard error. If it was too long, a count replaces the middle.
    pub stderr: Vec<u8>,
    /// The number of bytes that are missing from both.
    pub dropped: u64,
    /// The sandbox that the process ran in, and what the sandbox refused.
    pub walled: SandboxReport,
}

#[doc(hidden)]
pub use self::{ProcessEnd as Ended, ProcessOutput as Finished};

/// The error for a process that could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LaunchFailed(pub String);

/// An output stream of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A listener that gets the output of a process while it runs.
pub trait Listener: Send + Sync {
    /// Gets bytes that the process wrote.
    fn wrote(&self, stream: Stream, bytes: &[u8]);

    /// Gets a function that ends the process and all its children, just before the process starts.
    ///
    /// A launcher that cannot end processes never calls this. A launcher that starts a process again calls it again.
    fn starts(&self, end: &Arc<dyn Fn() + Send + Sync>) {
        let _ = end;
    }
}

/// A process that ran on a view, and what it would change.
pub struct RehearsedRun {
    /// The output of the process.
    pub output: ProcessOutput,
    /// Its changes.
    pub held: Arc<dyn HeldChanges>,
}

#[doc(hidden)]
pub use self::RehearsedRun as Rehearsed;

/// The changes of a process that ran on a view. Dropping them discards them.
pub trait HeldChanges: Send + Sync {
    /// Returns what the process did.
    fn effects(&self) -> &Effects;

    /// Returns what the decision about the effects depends on.
    fn policy(&self, basis: RunBasis) -> EffectsPolicy;

    /// Returns the names of the folders of build output that exist, which a call writes directly.
    fn products(&self) -> Vec<String> {
        Vec::new()
    }

    /// Shows the changes to a person.
    fn present(&self) -> ApprovalPresentation;

    /// Makes the changes, all of them or none. Returns an entry for each root, without the id of the call.
    ///
    /// # Errors
    /// Fails if the permit is for other changes, if the files have changed since, or if something cannot be changed.
    fn commit(&self, permit: RecordedCommitPermit) -> Result<Vec<CommitRecord>, CommitFailed>;

    /// Notes that the audit log has the entries of these commits, so that the next session need not add them.
    fn mark_logged(&self, commits: &[CommitRecord]);
}

/// The error for changes that were not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitFailed {
    /// The files have changed since the process ran. Nothing was changed, and the process may run again.
    #[error("the files have changed meanwhile: {0}")]
    Conflict(String),
    /// Something cannot be changed.
    #[error("{0}")]
    Failed(String),
}

/// Starts processes.
pub trait Launcher: Send + Sync {
    /// Returns why processes cannot run on a view here, or `None` if they can.
    fn view_obstacle(&self) -> Option<Arc<str>> {
        Some("this launcher has no views".into())
    }

    /// Lets the processes without a network that start from now on reach each other over a loopback network, because a
    /// server is about to start. A process with more access is never among them.
    fn share_loopback(&self) {}

    /// Runs a process on a view of everything that it may write, and waits until it ends.
    ///
    /// # Errors
    /// Fails if the process could not be started on a view, or if its changes could not be collected.
    fn rehearse(&self, launch: &Launch) -> Result<RehearsedRun, LaunchFailed> {
        let _ = launch;
        Err(LaunchFailed("this launcher has no views".to_owned()))
    }

    /// Starts a process, and waits until it ends.
    ///
    /// # Errors
    /// Fails if the process could not be started.
    fn launch(&self, launch: &Launch) -> Result<ProcessOutput, LaunchFailed>;

    /// Starts a process, passes its output to a listener while it runs, and waits until it ends.
    ///
    /// The default implementation passes the output only at the end.
    ///
    /// # Errors
    /// Fails if the process could not be started.
    fn launch_heard(
        &self,
        launch: &Launch,
        listener: &Arc<dyn Listener>,
    ) -> Result<ProcessOutput, LaunchFailed> {
        let output = self.launch(launch)?;
        listener.wrote(Stream::Stdout, &output.stdout);
        listener.wrote(Stream::Stderr, &output.stderr);
        Ok(output)
    }
}
