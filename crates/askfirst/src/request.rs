//! What a person is asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{ApprovalContext, CallId};
use crate::digest::Digest;
use crate::json::{Args, is_same, is_same_object};
use crate::pattern::OfferedPattern;
use crate::presentation::ApprovalPresentation;
use crate::words::{Approval, Risk, Timestamp};

/// One thing that is known about a call, found by us and not claimed by the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is about: `folder`, `host`, `rule`, …
    pub label: String,
    /// What holds.
    pub text: String,
}

impl Fact {
    /// A fact.
    #[must_use]
    pub fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), text: text.into() }
    }
}

/// A question about one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Set by the controller; unique in a session.
    #[serde(default)]
    pub call_id: String,
    /// The call that it is about, for the front end that submitted it.
    #[serde(skip)]
    pub id: CallId,
    /// The name that the model sees.
    pub tool_name: String,
    /// What the call does, in one line.
    pub description: String,
    /// The whole arguments, as they would run.
    #[serde(default)]
    pub args: Args,
    /// The fingerprint: calls with an equal one count as the same for `remember`.
    pub payload: Value,
    /// Which calls those are, in words. Without it the payload itself is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<String>,
    /// What is known about the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// How the tool wants it shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presentation: Option<ApprovalPresentation>,
    /// Requests that were submitted together with one group are asked together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// How bad it could be.
    #[serde(default)]
    pub risk: Risk,
    /// The digest of the tool's definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Digest>,
    /// What an approval may be widened to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<OfferedPattern>,
    /// When it is refused as timed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Keys that are shown but neither remembered nor recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_keys: Vec<String>,
    /// The value that made it ask. Set by the judge.
    #[serde(default = "required")]
    pub approval: Approval,
}

fn required() -> Approval {
    Approval::Required
}

impl ApprovalRequest {
    /// A request that fingerprints exactly `payload`.
    #[must_use]
    pub fn new(tool_name: impl Into<String>, description: impl Into<String>, payload: Value) -> Self {
        Self {
            call_id: String::new(),
            id: CallId::NONE,
            tool_name: tool_name.into(),
            description: description.into(),
            args: Args::new(),
            payload,
            same: None,
            facts: Vec::new(),
            presentation: None,
            group_id: None,
            caller: None,
            risk: Risk::Low,
            definition: None,
            patterns: Vec::new(),
            deadline: None,
            exclude_keys: Vec::new(),
            approval: Approval::Required,
        }
    }

    /// Fills in what the call knows and the tool need not repeat. The tool's name and arguments are always the
    /// call's: a request cannot show one thing and run another.
    pub(crate) fn complete(&mut self, call: &ApprovalContext) {
        self.tool_name.clone_from(&call.tool_name);
        // They are equal almost always, and may be large.
        if self.args != call.args {
            self.args.clone_from(&call.args);
        }
        self.definition = call.definition;
        if self.group_id.is_none() {
            self.group_id = call.batch_id().map(str::to_owned);
        }
        if self.caller.is_none() {
            self.caller = call.caller().map(str::to_owned);
        }
    }

    /// Whether one question may stand for both: the person would see the same thing.
    #[must_use]
    pub fn shows_the_same_as(&self, other: &Self) -> bool {
        self.approval != Approval::Human
            && self.tool_name == other.tool_name
            && is_same_object(&self.args, &other.args)
            && is_same(&self.payload, &other.payload)
            && self.same == other.same
            && self.definition == other.definition
            && self.approval == other.approval
            && self.description == other.description
            && self.presentation == other.presentation
            && self.risk == other.risk
            && self.facts == other.facts
            && self.patterns == other.patterns
            && self.exclude_keys == other.exclude_keys
    }
}

/// A request for a call whose tool has nothing more to say: payload and description come from the arguments,
/// without `exclude_keys`.
#[must_use]
pub fn simple_approval_request(
    tool_name: &str,
    args: &Args,
    description: Option<&str>,
    exclude_keys: &[String],
) -> ApprovalRequest {
    ApprovalRequest { args: args.clone(), ..without_args(tool_name, args, description, exclude_keys) }
}

/// The same before it is [completed](ApprovalRequest::complete) with the call's arguments.
pub(crate) fn without_args(
    tool_name: &str,
    args: &Args,
    description: Option<&str>,
    exclude_keys: &[String],
) -> ApprovalRequest {
    let kept = args.iter().filter(|(key, _)| !exclude_keys.contains(key));
    let kept: Args = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
    let description = description.map_or_else(|| describe(tool_name, &kept), str::to_owned);
    ApprovalRequest {
        exclude_keys: exclude_keys.to_vec(),
        ..ApprovalRequest::new(tool_name, description, Value::Object(kept))
    }
}

fn describe(tool_name: &str, args: &Args) -> String {
    let mut text = format!("{tool_name}(");
    for (at, (key, value)) in args.iter().enumerate() {
        text.extend([if at == 0 { "" } else { ", " }, key, "=", &value.to_string()]);
    }
    text.push(')');
    text
}

/// A description with `{name}` for arguments. Excluded keys are never filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// A template.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as it is written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The names that it would fill in.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name))
    }

    /// The text with arguments filled in; a name without an argument stays as it is written.
    #[must_use]
    pub fn fill(&self, args: &Args, exclude_keys: &[String]) -> String {
        let mut parts = self.0.split('{');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let known = part.split_once('}').and_then(|(name, rest)| {
                let value = args.get(name).filter(|_| !exclude_keys.iter().any(|key| key == name))?;
                Some((value, rest))
            });
            match known {
                Some((Value::String(value), rest)) => text.extend([value, rest]),
                Some((value, rest)) => text.extend([value.to_string().as_str(), rest]),
                None => text.extend(["{", part]),
            }
        }
        text
    }
}

#[cfg(test)]
#[path = "request/tests.rs"]
mod tests;
