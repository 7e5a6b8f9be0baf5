//! The request: the data with which askfirst asks a person.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{ApprovalContext, CallId};
use crate::digest::Digest;
use crate::json::{Args, is_same, is_same_object};
use crate::pattern::OfferedPattern;
use crate::presentation::ApprovalPresentation;
use crate::words::{Approval, Risk, Timestamp};

/// The labels of the facts that explain the decision.
const REASON_LABELS: [&str; 2] = ["rule", "why"];

/// A fact about a call that askfirst or the tool found out. The agent did not write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The subject of the fact: `folder`, `host`, `rule`, …
    pub label: String,
    /// The fact itself.
    pub text: String,
}

impl Fact {
    /// Creates a fact.
    #[must_use]
    pub fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), text: text.into() }
    }
}

/// The action of a call, in the words of its tool or of the config. It becomes the headline of the prompt.
///
/// ```
/// let action = askfirst::Action::new("move ").value("a.md").words(" to ").value("b.md");
/// assert_eq!(action.to_string(), "move a.md to b.md");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Action(Vec<ActionPart>);

/// A part of an [`Action`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionPart {
    /// Words of the tool or of the config.
    Words(String),
    /// A value from the call, such as a path. The agent may have written it, so a front end escapes it.
    Value(String),
}

impl Action {
    /// Creates an action that starts with these words.
    #[must_use]
    pub fn new(words: impl Into<String>) -> Self {
        Self(Vec::new()).words(words)
    }

    /// Adds words of the tool or of the config.
    #[must_use]
    pub fn words(mut self, words: impl Into<String>) -> Self {
        self.0.push(ActionPart::Words(words.into()));
        self
    }

    /// Adds a value from the call.
    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.0.push(ActionPart::Value(value.into()));
        self
    }

    /// Returns the parts in order.
    #[must_use]
    pub fn parts(&self) -> &[ActionPart] {
        &self.0
    }
}

impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            ActionPart::Words(text) | ActionPart::Value(text) => f.write_str(text),
        })
    }
}

/// The act that a yes to a request allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestSubject {
    /// Running the call.
    #[default]
    Call,
    /// Running a call again that ran on a view, with what it tried.
    RunAgain,
    /// Keeping the changes of a call that ran on a view.
    Changes,
    /// The same, where a changed file is always shown: an answer holds for exactly these changes.
    ShownChanges,
}

impl RequestSubject {
    fn is_call(&self) -> bool {
        *self == Self::Call
    }

    /// Whether a person can edit the arguments.
    #[must_use]
    pub fn may_be_edited(self) -> bool {
        self == Self::Call
    }

    /// Whether an answer can be remembered for the session.
    #[must_use]
    pub fn may_last_in_session(self) -> bool {
        match self {
            Self::Call | Self::Changes => true,
            // The agent may have rewritten what the command runs.
            Self::RunAgain | Self::ShownChanges => false,
        }
    }

    /// Whether an approval can hold always in a project.
    #[must_use]
    pub fn may_last_in_project(self) -> bool {
        self == Self::Call
    }
}

/// A request for approval of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The id of the call, unique in a session. The controller sets it.
    #[serde(default)]
    pub call_id: String,
    /// The call that it is about, for the front end that submitted it.
    #[serde(skip)]
    pub id: CallId,
    /// The tool's name, as the model sees it.
    pub tool_name: String,
    /// A one-line summary of the call.
    pub description: String,
    /// The action of the call, if the tool or the config describes it. Without it, the prompt names the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// All arguments, as the call would run.
    #[serde(default)]
    pub args: Args,
    /// Calls with an equal payload count as the same call when a decision is remembered.
    pub payload: Value,
    /// A text that says which calls count as the same. Without it, the prompt shows the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<String>,
    /// Facts about the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<Fact>,
    /// The content that the tool wants a person to see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presentation: Option<ApprovalPresentation>,
    /// The group of the request. Requests of one group that are submitted together become one question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_id: Option<String>,
    /// The name of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The risk of the call.
    #[serde(default)]
    pub risk: Risk,
    /// The digest of the tool's definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Digest>,
    /// The patterns that a person may choose to have remembered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<OfferedPattern>,
    /// When the request is refused as timed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Arguments that are shown, but go into neither memory nor the audit log.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_keys: Vec<String>,
    /// The act that a yes allows.
    #[serde(default, skip_serializing_if = "RequestSubject::is_call")]
    pub subject: RequestSubject,
    /// The approval value that requires this request. The judge sets it.
    #[serde(default = "required")]
    pub approval: Approval,
}

fn required() -> Approval {
    Approval::Required
}

impl ApprovalRequest {
    /// Creates a request with the given payload.
    #[must_use]
    pub fn new(tool_name: impl Into<String>, description: impl Into<String>, payload: Value) -> Self {
        Self {
            call_id: String::new(),
            id: CallId::NONE,
            tool_name: tool_name.into(),
            description: description.into(),
            action: None,
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
            subject: RequestSubject::Call,
            approval: Approval::Required,
        }
    }

    /// Fills in the fields that come from the call.
    ///
    /// The tool's name and the arguments always come from the call, so a request cannot show another call.
    pub(crate) fn complete(&mut self, call: &ApprovalContext) {
        self.tool_name.clone_from(&call.tool_name);
        // The arguments are almost always equal already. They may be large, so avoid the copy.
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

    /// Whether a person would see the same content for both requests, so that they can share one question.
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
            && self.action == other.action
            && self.presentation == other.presentation
            && self.risk == other.risk
            && self.facts == other.facts
            && self.patterns == other.patterns
            && self.exclude_keys == other.exclude_keys
            && self.subject == other.subject
    }

    /// Whether a person who saw this request also saw everything that the other one would show.
    ///
    /// Two toolsets around one tool have different reasons, so these do not count. The other request must not be
    /// stricter.
    pub(crate) fn shows_all_of(&self, other: &Self) -> bool {
        let is_reason = |fact: &Fact| REASON_LABELS.contains(&fact.label.as_str());
        let is_shown = |fact: &Fact| is_reason(fact) || self.facts.contains(fact);
        self.tool_name == other.tool_name
            && is_same_object(&self.args, &other.args)
            && is_same(&self.payload, &other.payload)
            && self.same == other.same
            && self.definition == other.definition
            && self.description == other.description
            && other.presentation.as_ref().is_none_or(|other| self.presentation.as_ref() == Some(other))
            && other.facts.iter().all(is_shown)
            && other.exclude_keys.iter().all(|key| self.exclude_keys.contains(key))
            && other.approval <= self.approval
            && other.risk <= self.risk
    }
}

/// Creates a request whose payload and description come from the arguments, without `exclude_keys`.
///
/// Use it for a tool that has no request of its own.
#[must_use]
pub fn simple_approval_request(
    tool_name: &str,
    args: &Args,
    description: Option<&str>,
    exclude_keys: &[String],
) -> ApprovalRequest {
    ApprovalRequest { args: args.clone(), ..without_args(tool_name, args, description, exclude_keys) }
}

/// Creates a simple request without arguments. [`ApprovalRequest::complete`] adds them from the call.
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

/// The template of a description, in which `{name}` stands for an argument. Excluded keys are never filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// Creates a template.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the template.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Returns the names of the arguments in the template.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name))
    }

    /// Returns the text with the arguments filled in. A name without an argument stays unchanged.
    #[must_use]
    pub fn fill(&self, args: &Args, exclude_keys: &[String]) -> String {
        self.action(args, exclude_keys).to_string()
    }

    /// Returns the text with the arguments filled in, as an action whose values are the arguments.
    #[must_use]
    pub fn action(&self, args: &Args, exclude_keys: &[String]) -> Action {
        let mut parts = self.0.split('{');
        let mut action = Action::new(parts.next().unwrap_or_default());
        for part in parts {
            let known = part.split_once('}').and_then(|(name, rest)| {
                let value = args.get(name).filter(|_| !exclude_keys.iter().any(|key| key == name))?;
                Some((value, rest))
            });
            action = match known {
                Some((Value::String(value), rest)) => action.value(value).words(rest),
                Some((value, rest)) => action.value(value.to_string()).words(rest),
                None => action.words(format!("{{{part}")),
            };
        }
        action
    }
}

#[cfg(test)]
#[path = "request/tests.rs"]
mod tests;
