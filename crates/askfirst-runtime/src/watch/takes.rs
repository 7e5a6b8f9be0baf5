//! What tools take: a session says it with each question, so that arguments which a person edits at the watcher are
//! checked there as they would be at home.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use askfirst::machine::Question;
use serde_json::Value;

/// A longer schema stays at home: then what is edited is looked at there alone.
const LONGEST: usize = 1 << 20;

/// JSON Schemas of arguments, by the names of their tools.
pub(super) type Schemas = BTreeMap<String, Value>;

/// Where a session finds what a tool takes.
pub(super) type Find = dyn Fn(&str) -> Option<Value> + Send + Sync;

/// What the tools of a session take, as it said with its latest question.
#[derive(Debug, Clone, Default)]
pub struct Takes(Arc<Mutex<Schemas>>);

impl Takes {
    /// The JSON Schema of a tool's arguments.
    #[must_use]
    pub fn of(&self, tool: &str) -> Option<Value> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(tool).cloned()
    }

    pub(super) fn learn(&self, schemas: Schemas) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = schemas;
    }
}

/// What the tools of a question take.
pub(super) fn of(question: &Question, find: &Find) -> Schemas {
    let names = question.members.iter().map(|member| &member.request.tool_name);
    let found = names.filter_map(|name| Some((name.clone(), find(name)?)));
    found.filter(|(_, schema)| !schema.is_null() && schema.to_string().len() <= LONGEST).collect()
}
