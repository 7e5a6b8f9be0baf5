//! Exit codes, written once: help, the man page and the guide print this list.

use askfirst::{Cause, Outcome, ToolError};

/// How the program ends. The order is that of `run`, which ends with the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    Done,
    ToolFailed,
    Usage,
    Policy,
    Person,
    Nobody,
    Unrecorded,
    /// As the program ended that stood behind it.
    Child(u8),
}

/// The list for people.
pub const HELP: &str = "\
Exit codes:
  0  done
  1  the tool failed, or standard output could not be written
  2  usage or config
  3  refused by policy, strict mode or missing walls
  4  refused by a person
  5  nobody to ask: no terminal, end of input, time-out
  6  the record could not be written
`sandbox` and `mcp` end as what they start; 125 if it could not be started";

impl Exit {
    pub fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Done(_) => Self::Done,
            Outcome::Denied(refusal) => Self::of_cause(refusal.cause),
            Outcome::Failed(ToolError::Unrecorded(_)) => Self::Unrecorded,
            Outcome::Failed(ToolError::Denied(decision)) => Self::of_cause(decision.cause),
            Outcome::Failed(
                ToolError::Unknown(_)
                | ToolError::BadArgs(_)
                | ToolError::Failed(_)
                | ToolError::Ended { .. }
                | ToolError::Stale(_),
            ) => Self::ToolFailed,
        }
    }

    /// The code for a refusal by a cause.
    pub fn of_cause(cause: Cause) -> Self {
        match cause {
            Cause::Policy | Cause::Mode | Cause::NoWalls => Self::Policy,
            Cause::Person | Cause::Memory | Cause::Cancelled => Self::Person,
            Cause::TimeOut
            | Cause::NobodyToAsk
            | Cause::EndOfInput
            | Cause::TerminalLost
            | Cause::ApproverFailed => Self::Nobody,
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
            Exit::Nobody => 5,
            Exit::Unrecorded => 6,
            Exit::Child(code) => code,
        })
    }
}
