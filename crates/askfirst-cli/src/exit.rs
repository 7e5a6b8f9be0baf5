//! The exit codes. Help and the man page print this list.

use askfirst::{Cause, Outcome, ToolError};
use signal_hook::consts::SIGHUP;

/// How the program ends. The order matters for `run`, which exits with the highest code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    Done,
    ToolFailed,
    Usage,
    Policy,
    Person,
    NoOne,
    Unrecorded,
    /// The exit code of the child process.
    Child(u8),
}

/// The list of exit codes in the help.
pub const HELP: &str = "\
Exit codes:
  0  done
  1  the tool failed, or standard output could not be written
  2  usage or config error
  3  refused by policy, by strict mode, or because the OS sandbox is missing
  4  refused by a person
  5  no one to ask: no terminal, end of input, timeout
  6  the audit log could not be written
`sandbox` and `mcp` exit with the child's code, or 125 if it could not be started.
Ended by a signal: 128 plus its number; 5 if the terminal was closed during a prompt";

impl Exit {
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Done(_) => Self::Done,
            Outcome::Denied(refusal) => Self::of_cause(refusal.cause),
            Outcome::Failed(ToolError::Unrecorded(_)) => Self::Unrecorded,
            Outcome::Failed(ToolError::Denied(decision)) => Self::of_cause(decision.cause),
            Outcome::Failed(ToolError::Discarded(refusal)) => Self::of_cause(refusal.cause),
            Outcome::Failed(
                ToolError::Unknown(_)
                | ToolError::BadArgs(_)
                | ToolError::Failed(_)
                | ToolError::Ended { .. }
                | ToolError::Stale(_),
            ) => Self::ToolFailed,
        }
    }

    /// Returns the exit of a session after a signal, if there was one.
    pub fn by_signal(self, signal: Option<i32>) -> Self {
        match (signal, self) {
            (None, _) | (Some(SIGHUP), Self::NoOne) | (_, Self::Unrecorded | Self::Child(_)) => self,
            (Some(signal), _) => Self::Child(u8::try_from(128 + signal).unwrap_or(u8::MAX)),
        }
    }

    /// Returns the exit for a refusal with this cause.
    pub fn of_cause(cause: Cause) -> Self {
        match cause {
            Cause::Policy | Cause::Mode | Cause::NoSandbox => Self::Policy,
            Cause::Person | Cause::Memory | Cause::Cancelled => Self::Person,
            Cause::TimeOut
            | Cause::NoOneToAsk
            | Cause::EndOfInput
            | Cause::TerminalLost
            | Cause::ApproverFailed
            | Cause::AgentPrompt => Self::NoOne,
            Cause::RecordFailed => Self::Unrecorded,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::ToolFailed => 1,
            Exit::Usage => 2,
            Exit::Policy => 3,
            Exit::Person => 4,
            Exit::NoOne => 5,
            Exit::Unrecorded => 6,
            Exit::Child(code) => code,
        })
    }
}
