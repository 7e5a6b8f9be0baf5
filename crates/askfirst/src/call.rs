//! A call: the tool's name, its arguments, and the metadata that the framework adds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::Digest;
use crate::json::{Args, canonical};
use crate::question::PersonApproval;
use crate::words::Risk;

/// Metadata keys that identify the caller or the call, and say nothing about its effect.
const IDENTITY_KEYS: [&str; 6] =
    ["run_id", "session_id", "caller", "batch_id", "tool_call_id", "mcp_request"];

/// Identifies one submitted call in this process, from before the tool assesses it until its end.
///
/// A call keeps its id when a person edits its arguments or when askfirst asks again. Front ends use it to find their
/// own data about a call. It is not the call's name in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct CallId(u64);

impl CallId {
    /// No id yet: the call has not been submitted.
    pub const NONE: Self = Self(0);

    /// The id with a number. A caller must use each number once; 0 means no id.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// One call of a tool, as it arrives.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ApprovalContext {
    /// The tool's name, as the model sees it.
    pub tool_name: String,
    /// The arguments.
    #[serde(default)]
    pub args: Args,
    /// Metadata from the framework: `run_id`, `session_id`, `caller`, `batch_id`, …
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The digest of the tool's definition, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Digest>,
    /// The arguments that a policy tests as paths, each with the path that it resolves to.
    ///
    /// The caller of [`judge`](crate::judge()) fills this in, because the core opens no file.
    #[serde(skip)]
    pub resolved: BTreeMap<String, String>,
    /// Which call it is; set before the tool assesses it.
    #[serde(skip)]
    pub id: CallId,
    /// The approval that a person has already given for this call, if an outer toolset asked about it.
    #[serde(skip)]
    pub approved: Option<PersonApproval>,
}

impl ApprovalContext {
    /// Creates a call of `tool_name` with `args`.
    #[must_use]
    pub fn new(tool_name: impl Into<String>, args: Args) -> Self {
        Self { tool_name: tool_name.into(), args, ..Self::default() }
    }

    /// Adds one piece of metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the name of the caller, if the framework gave one.
    #[must_use]
    pub fn caller(&self) -> Option<&str> {
        self.text("caller")
    }

    /// Returns the id that calls of the same batch share.
    #[must_use]
    pub fn batch_id(&self) -> Option<&str> {
        self.text("batch_id")
    }

    /// Returns the digest of everything that the tool sees: name, arguments and definition.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let args = canonical(&Value::Object(self.args.clone()));
        let definition = self.definition.map(|d| d.to_string()).unwrap_or_default();
        Digest::of_parts([self.tool_name.as_bytes(), args.as_bytes(), definition.as_bytes()])
    }

    /// Whether both calls have the same metadata, apart from the keys that only identify a caller or a call.
    pub(crate) fn has_same_setting_as(&self, other: &Self) -> bool {
        let setting = |call: &Self| {
            let setting = call.metadata.iter().filter(|(key, _)| !IDENTITY_KEYS.contains(&key.as_str()));
            setting.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>()
        };
        self.metadata == other.metadata || setting(self) == setting(other)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str)
    }
}

/// The description of a tool that the model gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// The tool's name.
    pub name: String,
    /// The description of the tool, by its author.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(default)]
    pub input_schema: Value,
    /// The risk of the tool's calls.
    #[serde(default)]
    pub risk: Risk,
}

impl ToolDefinition {
    /// Creates a definition with a name, a description and a schema.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self { name: name.into(), description: description.into(), input_schema, risk: Risk::Low }
    }

    /// Returns the digest of the definition. askfirst treats a tool with another digest as another tool.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let schema = canonical(&self.input_schema);
        let parts = [self.name.as_str(), self.description.as_str(), schema.as_str(), self.risk.as_str()];
        Digest::of_parts(parts.map(str::as_bytes))
    }
}
