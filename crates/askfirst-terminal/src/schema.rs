//! Checks edited arguments against the tool's JSON Schema before they are sent back.

use std::sync::Arc;

use askfirst::Args;
pub(crate) use askfirst::schema::SchemaMismatch;
use askfirst::schema::check_args;
use serde_json::Value;

type SchemaLookup = dyn Fn(&str) -> Option<Value> + Send + Sync;

/// Finds the JSON Schema of a tool's arguments by the tool's name.
#[derive(Clone, Default)]
pub struct Schemas(Option<Arc<SchemaLookup>>);

impl std::fmt::Debug for Schemas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Schemas")
    }
}

impl Schemas {
    /// Creates schemas that `find` looks up.
    pub fn new(find: impl Fn(&str) -> Option<Value> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// Checks arguments against the schema of a tool. A tool without a schema accepts all arguments.
    ///
    /// # Errors
    /// Fails with the first mismatch.
    pub fn check(&self, tool: &str, args: &Args) -> Result<(), SchemaMismatch> {
        match self.0.as_ref().and_then(|find| find(tool)) {
            Some(schema) => check_args(&schema, args),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
