//! A call: the tool's name, its arguments, and what the framework knows about who makes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::Digest;
use crate::json::{Args, canonical};
use crate::words::Risk;

/// What metadata says of who makes a call, and which of several it is.
const WHO: [&str; 6] = ["run_id", "session_id", "caller", "batch_id", "tool_call_id", "mcp_request"];

/// Identifies one submitted call in this process, from before the tool assesses it until its end.
///
/// A call keeps its id when a person edits its arguments or when askfirst asks again. Front ends use it to find their
/// own data about a call. It is not the call's name in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct CallId(u64);

impl CallId {
    /// No id yet: the call has not been submitted.
    pub const NONE: Self = Self(0);

    /// The id with a number. Whoever submits calls must use each number once; 0 means no id.
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

/// One call of a tool, before anybody has an opinion about it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ApprovalContext {
    /// The name that the model sees.
    pub tool_name: String,
    /// The arguments.
    #[serde(default)]
    pub args: Args,
    /// What the framework knows: `run_id`, `session_id`, `caller`, `batch_id`, …
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// The digest of the tool's definition, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Digest>,
    /// Arguments that a policy tests as paths, with every link followed. Filled in by whoever can look at files.
    #[serde(skip)]
    pub resolved: BTreeMap<String, String>,
    /// Which call it is; set before the tool assesses it.
    #[serde(skip)]
    pub id: CallId,
}

impl ApprovalContext {
    /// A call of `tool_name` with `args`.
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

    /// Who calls, if the framework said so.
    #[must_use]
    pub fn caller(&self) -> Option<&str> {
        self.text("caller")
    }

    /// What joins calls that were submitted together.
    #[must_use]
    pub fn batch_id(&self) -> Option<&str> {
        self.text("batch_id")
    }

    /// The digest of everything a tool gets to see: name, arguments, definition.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let args = canonical(&Value::Object(self.args.clone()));
        let definition = self.definition.map(|d| d.to_string()).unwrap_or_default();
        Digest::of_parts([self.tool_name.as_bytes(), args.as_bytes(), definition.as_bytes()])
    }

    /// Whether whoever looks at both sees the same: all but who makes them and which of equal ones they are.
    pub(crate) fn is_made_like(&self, other: &Self) -> bool {
        let told = |call: &Self| {
            let told = call.metadata.iter().filter(|(key, _)| !WHO.contains(&key.as_str()));
            told.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>()
        };
        self.metadata == other.metadata || told(self) == told(other)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str)
    }
}

/// What the model is told about a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// The name.
    pub name: String,
    /// What it does, in the tool author's words.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema of its arguments.
    #[serde(default)]
    pub input_schema: Value,
    /// How bad its calls can be.
    #[serde(default)]
    pub risk: Risk,
}

impl ToolDefinition {
    /// A definition with a name, a description and a schema.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, input_schema: Value) -> Self {
        Self { name: name.into(), description: description.into(), input_schema, risk: Risk::Low }
    }

    /// The digest that pins it: a changed definition is another tool.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let schema = canonical(&self.input_schema);
        let parts = [self.name.as_str(), self.description.as_str(), schema.as_str(), self.risk.as_str()];
        Digest::of_parts(parts.map(str::as_bytes))
    }
}
