//! Checks edited arguments against the tool's JSON Schema before they are sent back.
//!
//! It supports the common keywords of JSON Schema and ignores the others.
//! That is safe, because askfirst judges the call again and the tool validates its own arguments.

use std::sync::Arc;

use askfirst::Args;
use askfirst::json::kind;
use askfirst_display::page::plural;
use serde_json::Value;

/// The deepest level that is checked. The tool checks deeper values itself.
const MAX_DEPTH: usize = 32;

/// Arguments that do not match the schema of the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaMismatch {
    /// A value of the wrong type.
    #[error("`{at}` must be {wanted}, not {found}")]
    Kind {
        /// The name of the argument.
        at: String,
        /// The types that the tool accepts.
        wanted: String,
        /// The type of the value.
        found: &'static str,
    },
    /// A required argument is missing.
    #[error("`{0}` is missing")]
    Missing(String),
    /// An argument that the tool does not have.
    #[error("unknown argument `{0}`")]
    Unknown(String),
    /// A value that is not in the list of allowed values.
    #[error("`{at}` must be one of {list}")]
    NotListed {
        /// The name of the argument.
        at: String,
        /// The allowed values.
        list: String,
    },
    /// A value that is too small, too large, too short or too long.
    #[error("`{at}` must {bound}")]
    Bound {
        /// The name of the argument.
        at: String,
        /// The bound in words, such as `be at most 9`.
        bound: String,
    },
}

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
            Some(schema) => check(&schema, &Value::Object(args.clone()), "the arguments", 0),
            None => Ok(()),
        }
    }
}

fn check(schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), SchemaMismatch> {
    let Some(schema) = schema.as_object().filter(|_| depth < MAX_DEPTH) else { return Ok(()) };
    if let Some(wanted) = schema.get("type") {
        let kinds: Vec<&str> = match wanted {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        if !kinds.is_empty() && !kinds.iter().any(|wanted| is(value, wanted)) {
            let wanted = kinds.into_iter().map(with_article).collect::<Vec<_>>().join(" or ");
            return Err(SchemaMismatch::Kind { at: at.to_owned(), wanted, found: kind(value) });
        }
    }
    if let Some(list) = schema.get("enum").and_then(Value::as_array).filter(|list| !list.contains(value)) {
        let list = list.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        return Err(SchemaMismatch::NotListed { at: at.to_owned(), list });
    }
    bounds(schema, value, at)?;
    match value {
        Value::Object(fields) => {
            let required = schema.get("required").and_then(Value::as_array);
            let mut required = required.into_iter().flatten().filter_map(Value::as_str);
            if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
                return Err(SchemaMismatch::Missing(missing.to_owned()));
            }
            let known = schema.get("properties").and_then(Value::as_object);
            for (name, value) in fields {
                match known.and_then(|known| known.get(name)) {
                    Some(schema) => check(schema, value, name, depth + 1)?,
                    None => match schema.get("additionalProperties") {
                        Some(Value::Bool(false)) => return Err(SchemaMismatch::Unknown(name.clone())),
                        Some(schema) => check(schema, value, name, depth + 1)?,
                        None => {}
                    },
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter().try_for_each(|item| check(schema, item, at, depth + 1))?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

/// A type of JSON Schema with its article.
fn with_article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "object" | "array" | "integer" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn is(value: &Value, wanted: &str) -> bool {
    match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        _ => true,
    }
}

fn bounds(schema: &serde_json::Map<String, Value>, value: &Value, at: &str) -> Result<(), SchemaMismatch> {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let fault = |bound: String| Err(SchemaMismatch::Bound { at: at.to_owned(), bound });
    let size = match value {
        Value::String(text) => Some(("Length", "character", text.chars().count())),
        Value::Array(items) => Some(("Items", "item", items.len())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    if let Some((word, thing, size)) = size {
        let limit = |bound: &str| {
            let limit = schema.get(&format!("{bound}{word}")).and_then(Value::as_u64)?;
            usize::try_from(limit).ok()
        };
        if let Some(least) = limit("min").filter(|least| size < *least) {
            return fault(format!("have at least {least} {}", plural(least, thing)));
        }
        if let Some(most) = limit("max").filter(|most| size > *most) {
            return fault(format!("have at most {most} {}", plural(most, thing)));
        }
    }
    if let Some(found) = value.as_f64() {
        if let Some(least) = number("minimum").filter(|least| found < *least) {
            return fault(format!("be at least {least}"));
        }
        if let Some(most) = number("maximum").filter(|most| found > *most) {
            return fault(format!("be at most {most}"));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
