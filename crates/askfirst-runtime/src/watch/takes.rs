//! The schemas of tools. A session sends them with each question, so that the watcher can check arguments that a
//! person edits.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use askfirst::machine::Question;
use serde_json::Value;

/// The maximum size of a schema, in bytes. A longer one is not sent, and only the session checks the edited arguments.
const LONGEST: usize = 1 << 20;

/// JSON Schemas of arguments, by tool name.
pub(super) type Schemas = BTreeMap<String, Value>;

/// Returns the schema of a tool's arguments.
pub(super) type Find = dyn Fn(&str) -> Option<Value> + Send + Sync;

/// The schemas of a session's tools, as sent with its latest question.
#[derive(Debug, Clone, Default)]
pub struct ToolSchemas(Arc<Mutex<Schemas>>);

impl ToolSchemas {
    /// Returns the JSON Schema of a tool's arguments.
    #[must_use]
    pub fn of(&self, tool: &str) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(tool).cloned()
    }

    pub(super) fn learn(&self, schemas: Schemas) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = schemas;
    }
}

/// Returns the schemas of the tools in a question.
pub(super) fn of(question: &Question, find: &Find) -> Schemas {
    let names = question.members.iter().map(|member| &member.request.tool_name);
    let found = names.filter_map(|name| Some((name.clone(), find(name)?)));
    found.filter(|(_, schema)| !schema.is_null() && schema.to_string().len() <= LONGEST).collect()
}
