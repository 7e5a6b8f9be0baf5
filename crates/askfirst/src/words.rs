//! The small enums of the design: approval value, risk, mode and cause; and the timestamp.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How strictly a call is treated. Variants are ordered by strictness, so `max` gives the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Run the call without asking.
    None,
    /// Run the call on a copy-on-write view without asking, and decide on its effects. Only calls whose tool can do that
    /// get this value; for others it means `Required`.
    Rehearse,
    /// Ask the first time. An approval is valid for the session.
    OncePerSession,
    /// Ask. The person may choose to have the decision remembered.
    Required,
    /// Ask a person every time. Neither memory nor approve-all mode can answer.
    Human,
    /// Never run the call.
    #[default]
    Deny,
}

impl Approval {
    /// All values, the least strict first.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Rehearse, Self::OncePerSession, Self::Required, Self::Human, Self::Deny];

    /// Returns the word for it in a config file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rehearse => "rehearse",
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

/// The risk of a call. The tool sets it, and the config can only raise it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// An ordinary call.
    #[default]
    Low,
    /// A person can approve the call only after the end of the content was on screen.
    High,
    /// The call cannot be undone.
    Irreversible,
}

impl Risk {
    /// Returns the word for it in a config file.
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

/// How a session treats requests for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Ask a person.
    #[default]
    Interactive,
    /// Approve every request without asking, except for tools set to `human`. Unsafe.
    ApproveAll,
    /// Refuse every request without asking.
    Strict,
}

impl Mode {
    /// Returns the word for it in the audit log.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::ApproveAll => "approve_all",
            Self::Strict => "strict",
        }
    }
}

/// The origin of a decision.
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
    /// No one answered in time.
    TimeOut,
    /// There is no one to ask.
    #[serde(rename = "nobody_to_ask")]
    NoOneToAsk,
    /// The input ended before an answer.
    EndOfInput,
    /// The terminal was closed.
    TerminalLost,
    /// The approver failed or gave an invalid answer.
    ApproverFailed,
    /// The caller canceled the call, or the run was stopped.
    Cancelled,
    /// The audit log could not be written.
    RecordFailed,
    /// The config requires an OS sandbox, and none works here.
    #[serde(rename = "no_walls")]
    NoSandbox,
    /// A coding agent asks in a prompt of its own. An approval with this cause was given there.
    AgentPrompt,
}

impl Cause {
    /// Returns the cause as a short text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Policy => "policy",
            Self::Mode => "mode",
            Self::Memory => "memory",
            Self::TimeOut => "timeout",
            Self::NoOneToAsk => "no one to ask",
            Self::EndOfInput => "end of input",
            Self::TerminalLost => "terminal lost",
            Self::ApproverFailed => "approver failed",
            Self::Cancelled => "cancelled",
            Self::RecordFailed => "audit log failed",
            Self::NoSandbox => "no OS sandbox",
            Self::AgentPrompt => "agent's prompt",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A time on the session's clock, in milliseconds since 1970. The clock never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns this time plus `time`, or the largest timestamp on overflow.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Returns the time from here to `later`, or zero if `later` is in the past.
    #[must_use]
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }
}
