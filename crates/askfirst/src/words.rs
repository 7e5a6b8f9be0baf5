//! The small ordered words of the design: approval values, risk, mode, cause.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How strictly a call is treated. The order is the order of strictness: the strictest wins by `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Run without asking.
    None,
    /// Ask the first time; a yes is for the session.
    OncePerSession,
    /// Ask; the person may choose to be remembered.
    Required,
    /// A person answers every single time.
    Human,
    /// Never.
    #[default]
    Deny,
}

impl Approval {
    /// All values, mildest first.
    pub const ALL: [Self; 5] = [Self::None, Self::OncePerSession, Self::Required, Self::Human, Self::Deny];

    /// The word in a config file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::OncePerSession => "once_per_session",
            Self::Required => "required",
            Self::Human => "human",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How bad a call could be. Set by the tool; everything else can only raise it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Nothing out of the ordinary.
    #[default]
    Low,
    /// A person must have had the end of the content on screen.
    High,
    /// It cannot be undone.
    Irreversible,
}

impl Risk {
    /// The word in a config file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
            Self::Irreversible => "irreversible",
        }
    }
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What happens to a call that must be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// A person is asked.
    #[default]
    Interactive,
    /// It is approved, but for `human`. Unsafe.
    ApproveAll,
    /// It is refused.
    Strict,
}

impl Mode {
    /// The word in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::ApproveAll => "approve_all",
            Self::Strict => "strict",
        }
    }
}

/// Who or what brought a decision about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A person answered.
    Person,
    /// The policy decided without asking.
    Policy,
    /// The mode answered.
    Mode,
    /// A remembered decision answered.
    Memory,
    /// Nobody answered in time.
    TimeOut,
    /// There is nobody who could be asked.
    NobodyToAsk,
    /// The input ended before an answer.
    EndOfInput,
    /// The terminal went away.
    TerminalLost,
    /// The approver broke or gave an answer that is none.
    ApproverFailed,
    /// The caller gave up, or the run was stopped.
    Cancelled,
    /// The record could not be written.
    RecordFailed,
    /// The walls that the config demands do not hold.
    NoWalls,
}

impl Cause {
    /// The cause in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Policy => "policy",
            Self::Mode => "mode",
            Self::Memory => "memory",
            Self::TimeOut => "time-out",
            Self::NobodyToAsk => "nobody to ask",
            Self::EndOfInput => "end of input",
            Self::TerminalLost => "terminal lost",
            Self::ApproverFailed => "approver failed",
            Self::Cancelled => "cancelled",
            Self::RecordFailed => "record failed",
            Self::NoWalls => "no walls",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A moment on the session's clock, in milliseconds since 1970. The clock that makes them never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The moment after some time, or the last one there is.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The time from here until a later moment; nothing if that is past.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }
}
