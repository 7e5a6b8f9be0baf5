//! What stands in the record: enough to judge a call again later, and no secrets.
//!
//! The recorder puts time, session, place in the chain and redaction around it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::ApprovalContext;
use crate::decision::ApprovalDecision;
use crate::digest::Digest;
use crate::machine::Seen;
use crate::ports::Walled;
use crate::request::ApprovalRequest;
use crate::verdict::{Because, Refusal, Verdict};
use crate::withheld::Withheld;
use crate::words::{Approval, Cause, Mode, Risk};

/// One entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// A session began.
    Session(SessionRecord),
    /// A person is about to be asked.
    Requested(Box<CallRecord>),
    /// It was decided whether a call runs.
    Decided(Box<DecidedRecord>),
    /// A call ran and ended.
    Executed(ExecutedRecord),
}

/// How a session was set up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The program and its version.
    pub program: String,
    /// The door that calls come through.
    pub door: String,
    /// The mode.
    pub mode: Mode,
    /// The digest of the config.
    pub policy: Option<Digest>,
    /// What is weaker than it could be, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A call, as far as it may be recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Unique in a session.
    pub call_id: String,
    /// The call. Excluded keys are left out of its arguments.
    pub call: Arc<ApprovalContext>,
    /// Keys that were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The description that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The fingerprint, if nothing in it is to be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// How bad it could be.
    #[serde(default)]
    pub risk: Risk,
    /// What the judge said.
    pub verdict: Verdict,
    /// The approval value behind it.
    pub approval: Approval,
    /// Why.
    pub because: Vec<Because>,
    /// The digest of the config.
    pub policy: Option<Digest>,
}

impl CallRecord {
    /// The same without arguments that may not be recorded.
    #[must_use]
    pub fn without(mut self, exclude_keys: &[String]) -> Self {
        for key in
            exclude_keys.iter().filter(|key| self.call.args.contains_key(*key)).cloned().collect::<Vec<_>>()
        {
            Arc::make_mut(&mut self.call).args.remove(&key);
            self.left_out.push(key);
        }
        self
    }

    /// The same with what was asked, as far as nothing of it is to be left out.
    #[must_use]
    pub fn with_request(mut self, request: &ApprovalRequest, withheld: &Withheld<'_>) -> Self {
        self.description = Some(withheld.text(&request.description));
        // Not its digest either: whoever tries all PINs finds the one that was left out.
        self.payload = Some(&request.payload).filter(|payload| !withheld.is_in(payload)).cloned();
        self.risk = request.risk;
        self.without(&request.exclude_keys)
    }
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecidedRecord {
    /// What it is about.
    #[serde(flatten)]
    pub call: CallRecord,
    /// Whether it may run.
    pub approved: bool,
    /// Who or what decided.
    pub cause: Cause,
    /// The decision, where a request was decided about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
    /// What the agent is told, where it may not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The digest of what was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Digest>,
    /// How much of it was on screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
    /// Milliseconds from the request to the decision.
    pub waited_ms: u64,
    /// The call that these arguments were edited from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_from: Option<String>,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutedRecord {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool_name: String,
    /// How it ended.
    pub ended: Ending,
    /// The digest of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Digest>,
    /// The error, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Which walls stood around its processes, if it started any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walled: Option<Walled>,
    /// Milliseconds that it ran.
    pub took_ms: u64,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It gave a result.
    Done,
    /// It failed.
    Failed,
    /// What was shown no longer held, so nothing happened and it was asked again.
    Stale,
    /// A question that it asked by itself was answered with no.
    Denied,
    /// It was given up while it ran. How much of it happened is not known.
    Cancelled,
}
