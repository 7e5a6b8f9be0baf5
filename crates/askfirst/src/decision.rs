//! A decision about a request: approved or refused, with its cause and how long it is remembered.

use serde::{Deserialize, Deserializer, Serialize};

use crate::json::Args;
use crate::words::Cause;

/// How long askfirst remembers a decision, and for which calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// The decision is for this call only.
    #[default]
    None,
    /// The decision is for equal calls until the session ends.
    Session,
    /// The decision is for calls that match a pattern offered by the tool, until the session ends.
    Pattern,
}

impl<'de> Deserialize<'de> for ApprovalScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `once` is an older spelling of `none`.
        match std::borrow::Cow::<str>::deserialize(deserializer)?.as_ref() {
            "none" | "once" => Ok(Self::None),
            "session" => Ok(Self::Session),
            "pattern" => Ok(Self::Pattern),
            other => Err(serde::de::Error::unknown_variant(other, &["none", "session", "pattern"])),
        }
    }
}

/// A decision about one request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalDecision {
    /// Whether the call may run.
    pub approved: bool,
    /// Whether and how the decision is remembered.
    #[serde(default, alias = "scope")]
    pub remember: ApprovalScope,
    /// With [`ApprovalScope::Pattern`]: the index of the offered pattern, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<usize>,
    /// Whether the approval holds beyond the session, in this project. `remember` says for which calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// A reason or comment that the agent reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// New arguments for the call. askfirst then assesses, judges and shows the call again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_args: Option<Args>,
    /// The origin of the decision.
    #[serde(default = "person")]
    pub cause: Cause,
    /// Whether the person chose to approve without seeing the whole request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rest_unseen: bool,
    /// Whether the decision also stops the whole run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
}

fn person() -> Cause {
    Cause::Person
}

impl ApprovalDecision {
    /// Creates an approval that is not remembered.
    #[must_use]
    pub fn yes(cause: Cause) -> Self {
        Self {
            approved: true,
            remember: ApprovalScope::None,
            pattern: None,
            always: false,
            note: None,
            edited_args: None,
            cause,
            rest_unseen: false,
            stop: false,
        }
    }

    /// Creates a denial that is not remembered.
    #[must_use]
    pub fn no(cause: Cause) -> Self {
        Self { approved: false, ..Self::yes(cause) }
    }

    /// Sets how the decision is remembered.
    #[must_use]
    pub fn remembered(mut self, remember: ApprovalScope) -> Self {
        self.remember = remember;
        self
    }

    /// Makes an approval hold beyond the session, in this project.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.always = true;
        self
    }

    /// Sets the note that the agent reads.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}
