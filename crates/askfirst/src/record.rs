//! Entries of the audit log. They hold enough to judge a call again later, and no excluded arguments.
//!
//! The recorder adds the time, the session and the hash chain, and redacts secrets.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::ApprovalContext;
use crate::decision::ApprovalDecision;
use crate::digest::Digest;
use crate::machine::LinesSeen;
use crate::ports::SandboxReport;
use crate::request::ApprovalRequest;
use crate::verdict::{Because, Refusal, Verdict};
use crate::withheld::WithheldValues;
use crate::words::{Approval, Cause, Mode, Risk};

/// One entry of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// A session started.
    Session(SessionRecord),
    /// askfirst is about to ask a person.
    Requested(Box<CallRecord>),
    /// A call was approved or refused.
    Decided(Box<DecidedRecord>),
    /// A call ran and ended.
    Executed(ExecutedRecord),
    /// A call ran on a view.
    Rehearsed(RehearsedRecord),
    /// The changes of a call were made in the real files.
    Committed(CommitRecord),
    /// The changes of a call were taken back.
    Undone(CommitRecord),
    /// A person trusted a project's config.
    Trusted(TrustRecord),
    /// A person revoked a remembered decision.
    Revoked(RevocationRecord),
    /// A person added a rule of their own for a project.
    RuleAdded(RuleRecord),
    /// A person removed such a rule.
    RuleRemoved(RuleRecord),
}

/// The entry for the start of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// The program and its version.
    pub program: String,
    /// The front end that the calls come through. The audit log has this key in every version.
    pub door: String,
    /// The mode.
    pub mode: Mode,
    /// The digest of the config.
    pub policy: Option<Digest>,
    /// Warnings about protections that are missing or turned off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The user who started the session, and the place. Older logs lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ProcessOrigin>,
}

/// The user, the host and the terminal of a process, as the operating system reports them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessOrigin {
    /// The number of the user.
    pub uid: u32,
    /// The name of the user, if the machine's own list of users has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The name of the machine.
    pub host: String,
    /// The path of the terminal, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
}

impl std::fmt::Display for ProcessOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.user {
            Some(user) => write!(f, "{user} (uid {}) on {}", self.uid, self.host),
            None => write!(f, "uid {} on {}", self.uid, self.host),
        }
    }
}

/// The entry for a call, without the arguments that must not be recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The id of the call, unique in a session.
    pub call_id: String,
    /// The call, without the excluded arguments.
    pub call: Arc<ApprovalContext>,
    /// The names of the excluded arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The description that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The payload, unless it contains an excluded value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// The risk of the call.
    #[serde(default)]
    pub risk: Risk,
    /// The judge's verdict.
    pub verdict: Verdict,
    /// The approval value that gives the verdict.
    pub approval: Approval,
    /// The reasons for the verdict.
    pub because: Vec<Because>,
    /// The digest of the config.
    pub policy: Option<Digest>,
}

impl CallRecord {
    /// Removes the excluded arguments.
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

    /// Adds the fields of the request, without withheld values.
    #[must_use]
    pub fn with_request(mut self, request: &ApprovalRequest, withheld: &WithheldValues<'_>) -> Self {
        self.description = Some(withheld.text(&request.description));
        // A digest of the payload would not be safe: with it, a short value such as a PIN can be guessed.
        self.payload = Some(&request.payload).filter(|payload| !withheld.is_in(payload)).cloned();
        self.risk = request.risk;
        self.without(&request.exclude_keys)
    }
}

/// The entry for a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecidedRecord {
    /// The call.
    #[serde(flatten)]
    pub call: CallRecord,
    /// Whether the call may run.
    pub approved: bool,
    /// The origin of the decision.
    pub cause: Cause,
    /// The decision about the request, if there was a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
    /// The refusal that the agent gets, if the call may not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The digest of the request as it was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Digest>,
    /// How many lines of it were on screen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<LinesSeen>,
    /// Milliseconds from the request to the decision.
    pub waited_ms: u64,
    /// The id of the call whose arguments a person edited to get this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_from: Option<String>,
    /// The digest of the changes that the decision is about, if it is about the effects of a rehearsed call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Digest>,
}

/// The entry for a call that ran on a view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RehearsedRecord {
    /// The id of the call.
    pub call_id: String,
    /// The digest of the changes.
    pub changes: Digest,
    /// How many paths would be added.
    pub added: usize,
    /// How many paths would be changed.
    pub changed: usize,
    /// How many paths would be removed.
    pub removed: usize,
    /// The facts about the run besides its changes, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
}

/// The entry for changes that were made in the real files, or taken back there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommitRecord {
    /// The id of the call that made the changes.
    pub call_id: String,
    /// The id of the commit, for `askfirst undo`.
    pub commit: String,
    /// The folder that was changed.
    pub root: String,
    /// The digest of the changes, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Digest>,
    /// The process that did it, if it is not the session that this entry is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<ProcessOrigin>,
}

/// The entry for the end of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecutedRecord {
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool.
    pub tool_name: String,
    /// How the call ended.
    pub ended: Ending,
    /// The digest of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Digest>,
    /// The error, if the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The sandbox of the processes that the call started, if it started any. The audit log has this key in every
    /// version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walled: Option<SandboxReport>,
    /// How long the call ran, in milliseconds.
    pub took_ms: u64,
}

/// The entry for a config that a person trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrustRecord {
    /// The path of the config.
    pub file: String,
    /// The digest of its content.
    pub digest: Digest,
    /// The settings that the config loosens, as the person saw them.
    pub loosens: Vec<String>,
}

/// The entry for a remembered decision that a person revoked. The session that forgets the decision writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RevocationRecord {
    /// The number of the decision in the session.
    pub memory_id: u64,
    /// The tool of the calls that the decision covered.
    pub tool_name: String,
    /// The description of those calls.
    pub description: String,
    /// Whether the decision had approved them.
    pub approved: bool,
    /// The process that revoked it, as that process reports itself.
    pub by: ProcessOrigin,
}

/// The entry for a rule that a person keeps for one project, outside of the project's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleRecord {
    /// The real path of the project's folder.
    pub project: String,
    /// The tool that the rule is about: a name or a glob.
    pub tool_name: String,
    /// The rule in words, as the person saw it.
    pub rule: String,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The call returned a result.
    Done,
    /// The call failed.
    Failed,
    /// The shown content was out of date. The tool did nothing, and askfirst asked again.
    Stale,
    /// The tool made a request of its own while it ran, and a person denied it.
    Denied,
    /// The call ran on a view, and its changes were discarded.
    Discarded,
    /// The caller canceled the call while it ran. It is unknown how much of the call happened.
    Cancelled,
    /// The call may run, and a coding agent runs it itself.
    HandedOver,
}
