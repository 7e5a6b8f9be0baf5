//! The rim: what the core needs from outside, as traits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::assess::Shown;
use crate::machine::{Answer, Question, QuestionId};
use crate::record::Record;
use crate::request::ApprovalRequest;
use crate::words::{Cause, Timestamp};

/// Whoever answers: a terminal, a callback, an inbox, another program.
pub trait Approver: Send + Sync {
    /// Takes a question and answers through `reply`, now or later, from any thread. It is never asked a second
    /// question before the first was answered or withdrawn. It must not block: while it does, no other question is
    /// shown or withdrawn, and none times out.
    fn ask(&self, question: Question, reply: Reply);

    /// A call is about to wait for an answer. Said on the thread that submits it, before it can be asked about.
    fn announce(&self, call_id: &str) {
        let _ = call_id;
    }

    /// The question is over: it was answered elsewhere, timed out, or the caller gave up.
    fn withdraw(&self, question: QuestionId, cause: Cause) {
        let _ = (question, cause);
    }
}

/// The way back for one answer. Dropped unused, it answers that the approver failed.
pub struct Reply(Option<Box<dyn FnOnce(Answer) + Send>>);

impl Reply {
    /// A reply that hands its answer to `f`.
    #[must_use]
    pub fn new(f: impl FnOnce(Answer) + Send + 'static) -> Self {
        Self(Some(Box::new(f)))
    }

    /// Answers.
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

/// Makes what a person is shown: called only after mode and memory had nothing to say.
pub trait Presenter: Send {
    /// Looks at what the request is about.
    fn present(&self, request: &ApprovalRequest) -> Shown;
}

/// How firmly a record must stand before the call goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Handed to the operating system: survives the end of the process.
    Written,
    /// On the disk: survives the end of the machine's power.
    Synced,
}

/// The record could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the record could not be written: {0}")]
pub struct RecordFailed(pub String);

/// What a recorder does with what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// All of it.
    Everything,
    /// None of it, so that nothing need be put together for it.
    Nothing,
}

/// Keeps the record.
pub trait Recorder: Send + Sync {
    /// Writes one entry as firmly as is asked.
    ///
    /// # Errors
    /// Fails if it cannot be sure that the entry stands.
    fn record(&self, record: &Record, durability: Durability) -> Result<(), RecordFailed>;

    /// Whether there is a record at all. The answer never changes.
    fn keeps(&self) -> Keeps {
        Keeps::Everything
    }
}

/// Tells the time. It never goes back.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// How much of what the owner grants a process gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nobody was asked: only that which needs no asking.
    Unasked,
    /// The mode or an earlier answer approved it: all but what a person must answer every single time.
    Standing,
    /// A person approved it, so all that the owner's config can grant it.
    Approved,
}

/// What stood around a process, and what it ran into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walled {
    /// Which walls: `full`, `content-only`, `none`.
    pub tier: String,
    /// What it tried that the walls refused, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
}

/// A process to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working folder.
    pub folder: PathBuf,
    /// What it reads from standard input.
    pub stdin: Vec<u8>,
    /// How long it may run.
    pub wall: Option<Duration>,
    /// How much processor time it may use.
    pub cpu: Option<Duration>,
    /// How much memory it may use, in bytes.
    pub memory: Option<u64>,
    /// How many processes it may have.
    pub processes: Option<u64>,
    /// How large a file it may write, in bytes.
    pub file: Option<u64>,
    /// How much of each output stream is kept, in bytes.
    pub output: usize,
    /// How much it may reach.
    pub access: Access,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// With an exit code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// It ran too long and was killed.
    TimedOut,
    /// It was stopped from outside.
    Stopped,
}

/// What a process left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// Standard output, the middle left out with a count if it was too long.
    pub stdout: Vec<u8>,
    /// Standard error, likewise.
    pub stderr: Vec<u8>,
    /// How many bytes were left out of both.
    pub dropped: u64,
    /// Which walls stood around it, and what it ran into.
    pub walled: Walled,
}

/// A process could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LaunchFailed(pub String);

/// Which of a process's two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Is told what a process writes, while it runs.
pub trait Listener: Send + Sync {
    /// These bytes were read from it.
    fn wrote(&self, stream: Stream, bytes: &[u8]);

    /// It is about to start, and this ends it with all that it has started. Whoever cannot end it does not say so; whoever
    /// tries again says it again.
    fn starts(&self, end: &Arc<dyn Fn() + Send + Sync>) {
        let _ = end;
    }
}

/// Starts processes.
pub trait Launcher: Send + Sync {
    /// Runs a process to its end.
    ///
    /// # Errors
    /// Fails if it could not be started.
    fn launch(&self, launch: &Launch) -> Result<Finished, LaunchFailed>;

    /// The same, telling a listener of the output while it comes. Whoever cannot tells it at the end.
    ///
    /// # Errors
    /// As [`Launcher::launch`].
    fn launch_heard(&self, launch: &Launch, listener: &Arc<dyn Listener>) -> Result<Finished, LaunchFailed> {
        let finished = self.launch(launch)?;
        listener.wrote(Stream::Stdout, &finished.stdout);
        listener.wrote(Stream::Stderr, &finished.stderr);
        Ok(finished)
    }
}
