//! The remembered decisions: what each covers, and which ones an answer adds.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decision::{ApprovalDecision, ApprovalScope};
use crate::digest::Digest;
use crate::pattern::OfferedPattern;
use crate::request::ApprovalRequest;
use crate::words::{Cause, Risk, Timestamp};

/// The id of a remembered decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemoryId(pub u64);

/// One remembered decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RememberedDecision {
    /// The id of the remembered decision.
    pub id: MemoryId,
    /// The name of the tool.
    pub tool_name: String,
    /// The payload of the request that was decided.
    pub payload: Value,
    /// The digest of the tool's definition at that time.
    pub definition: Option<Digest>,
    /// Whether the decision applies to every definition of the tool.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_definition: bool,
    /// The pattern, if the decision covers more than equal payloads.
    pub pattern: Option<OfferedPattern>,
    /// The risk of the call that was decided.
    pub risk: Risk,
    /// The decision.
    pub decision: ApprovalDecision,
    /// The calls in words: those that the tool counts as the same, or else the description of the request.
    pub description: String,
    /// When the decision was made.
    pub since: Timestamp,
    /// When the decision expires.
    pub until: Option<Timestamp>,
    /// How often the decision answered a later request.
    pub hits: u64,
}

/// The pattern of a decision that an answer added for one of several tools.
const ANY_ARGUMENTS: &str = "any arguments";

/// Returns the decisions that an answer adds: one for the request, and one for each further tool of its pattern.
///
/// There are none if the decision says that it is not to be remembered. There are none either if it names a pattern that
/// the request does not offer or that does not cover the request. Their ids are not set.
pub(crate) fn entries_of(
    request: &ApprovalRequest,
    decision: &ApprovalDecision,
    now: Timestamp,
    until: Option<Timestamp>,
) -> Vec<RememberedDecision> {
    let mut pattern = match decision.remember {
        ApprovalScope::None => return Vec::new(),
        ApprovalScope::Session => None,
        ApprovalScope::Pattern => {
            let offered = decision.pattern.and_then(|at| request.patterns.get(at));
            match offered.filter(|pattern| pattern.matches(&request.payload)) {
                Some(pattern) => Some(pattern.clone()),
                None => return Vec::new(),
            }
        }
    };
    let tools = pattern.as_ref().filter(|pattern| pattern.any_payload);
    let tools = tools.map(|pattern| pattern.tools.clone()).unwrap_or_default();
    if let (Some(pattern), false) = (&mut pattern, tools.is_empty()) {
        // Each tool has a decision of its own, which is listed and revoked alone.
        pattern.label = ANY_ARGUMENTS.to_owned();
    }
    let entry = RememberedDecision {
        id: MemoryId(0),
        tool_name: request.tool_name.clone(),
        payload: request.payload.clone(),
        definition: request.definition,
        any_definition: false,
        pattern: pattern.map(|pattern| OfferedPattern { tools: Vec::new(), ..pattern }),
        risk: request.risk,
        decision: ApprovalDecision { cause: Cause::Memory, edited_args: None, ..decision.clone() },
        description: request.same.as_ref().unwrap_or(&request.description).clone(),
        since: now,
        until,
        hits: 0,
    };
    let further = tools.into_iter().filter(|tool| tool.name != request.tool_name);
    let further: Vec<RememberedDecision> = further
        .map(|tool| RememberedDecision {
            tool_name: tool.name,
            definition: Some(tool.definition),
            payload: Value::Null,
            description: ANY_ARGUMENTS.to_owned(),
            ..entry.clone()
        })
        .collect();
    std::iter::once(entry).chain(further).collect()
}

impl RememberedDecision {
    /// Whether the decision covers a call with this definition and risk. An approval covers no higher risk.
    pub(super) fn covers(&self, definition: Option<Digest>, risk: Risk) -> bool {
        (self.any_definition || self.definition == definition)
            && !(self.decision.approved && risk > self.risk)
    }

    /// The key under which the memory stores it.
    pub(super) fn key(&self) -> Value {
        self.pattern.as_ref().map_or_else(|| self.payload.clone(), OfferedPattern::key)
    }

    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}
