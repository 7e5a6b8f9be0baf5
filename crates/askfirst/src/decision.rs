//! What was decided about a request, and by whom.

use serde::{Deserialize, Deserializer, Serialize};

use crate::json::Args;
use crate::words::Cause;

/// How far a decision reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalScope {
    /// This call alone.
    #[default]
    None,
    /// Equal calls until the session ends.
    Session,
    /// Calls that match a pattern which the tool offered, until the session ends.
    Pattern,
}

impl<'de> Deserialize<'de> for ApprovalScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `once` is what an older design called a decision that is not remembered.
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
    /// How far the decision reaches.
    #[serde(default, alias = "scope")]
    pub remember: ApprovalScope,
    /// With [`ApprovalScope::Pattern`]: which of the offered patterns, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<usize>,
    /// A reason or comment; the agent gets to read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Other arguments to run with. The call is then assessed, judged and shown again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_args: Option<Args>,
    /// Who or what decided.
    #[serde(default = "person")]
    pub cause: Cause,
    /// Whether the whole run ends here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
}

fn person() -> Cause {
    Cause::Person
}

impl ApprovalDecision {
    /// A yes for this call.
    #[must_use]
    pub fn yes(cause: Cause) -> Self {
        Self {
            approved: true,
            remember: ApprovalScope::None,
            pattern: None,
            note: None,
            edited_args: None,
            cause,
            stop: false,
        }
    }

    /// A no for this call.
    #[must_use]
    pub fn no(cause: Cause) -> Self {
        Self { approved: false, ..Self::yes(cause) }
    }

    /// The same, reaching further.
    #[must_use]
    pub fn remembered(mut self, remember: ApprovalScope) -> Self {
        self.remember = remember;
        self
    }

    /// The same with a note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}
