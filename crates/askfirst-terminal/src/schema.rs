//! Checks edited arguments against what a tool takes, before they are sent back.
//!
//! It knows the plain words of JSON Schema. What it does not know it lets pass: the call is judged again anyway, and
//! the tool reads its arguments itself.

use std::sync::Arc;

use askfirst::Args;
use askfirst::json::kind;
use serde_json::Value;

/// Deeper values are left to the tool.
const MAX_DEPTH: usize = 32;

/// Arguments that a tool does not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// A value of another kind.
    #[error("`{at}` must be {wanted}, not {found}")]
    Kind {
        /// Where.
        at: String,
        /// What the tool takes.
        wanted: String,
        /// What is there.
        found: &'static str,
    },
    /// A field that must be there.
    #[error("`{0}` is missing")]
    Missing(String),
    /// A field that the tool does not know.
    #[error("there is no argument `{0}`")]
    Unknown(String),
    /// A value that is not one of those that there are.
    #[error("`{at}` must be one of {list}")]
    NotListed {
        /// Where.
        at: String,
        /// The values.
        list: String,
    },
    /// A value out of its bounds.
    #[error("`{at}` must be {bound}")]
    Bound {
        /// Where.
        at: String,
        /// The bound in words.
        bound: String,
    },
}

type Find = dyn Fn(&str) -> Option<Value> + Send + Sync;

/// Knows what tools take: the JSON Schema of their arguments, by their names.
#[derive(Clone, Default)]
pub struct Schemas(Option<Arc<Find>>);

impl std::fmt::Debug for Schemas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Schemas")
    }
}

impl Schemas {
    /// Schemas that `find` finds.
    pub fn new(find: impl Fn(&str) -> Option<Value> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// Whether arguments are what a tool takes. A tool without a schema takes all.
    ///
    /// # Errors
    /// Fails with the first thing that does not fit.
    pub fn check(&self, tool: &str, args: &Args) -> Result<(), Misfit> {
        match self.0.as_ref().and_then(|find| find(tool)) {
            Some(schema) => check(&schema, &Value::Object(args.clone()), "the arguments", 0),
            None => Ok(()),
        }
    }
}

fn check(schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), Misfit> {
    let Some(schema) = schema.as_object().filter(|_| depth < MAX_DEPTH) else { return Ok(()) };
    if let Some(wanted) = schema.get("type") {
        let kinds: Vec<&str> = match wanted {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        if !kinds.is_empty() && !kinds.iter().any(|wanted| is(value, wanted)) {
            let wanted = kinds.join(" or ");
            return Err(Misfit::Kind { at: at.to_owned(), wanted, found: kind(value) });
        }
    }
    if let Some(list) = schema.get("enum").and_then(Value::as_array).filter(|list| !list.contains(value)) {
        let list = list.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        return Err(Misfit::NotListed { at: at.to_owned(), list });
    }
    bounds(schema, value, at)?;
    match value {
        Value::Object(fields) => {
            let required = schema.get("required").and_then(Value::as_array);
            let mut required = required.into_iter().flatten().filter_map(Value::as_str);
            if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
                return Err(Misfit::Missing(missing.to_owned()));
            }
            let known = schema.get("properties").and_then(Value::as_object);
            for (name, value) in fields {
                match known.and_then(|known| known.get(name)) {
                    Some(schema) => check(schema, value, name, depth + 1)?,
                    None => match schema.get("additionalProperties") {
                        Some(Value::Bool(false)) => return Err(Misfit::Unknown(name.clone())),
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

fn bounds(schema: &serde_json::Map<String, Value>, value: &Value, at: &str) -> Result<(), Misfit> {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let fault = |bound: String| Err(Misfit::Bound { at: at.to_owned(), bound });
    let size = match value {
        Value::String(text) => Some(("Length", "characters", text.chars().count())),
        Value::Array(items) => Some(("Items", "items", items.len())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    if let Some((word, things, size)) = size {
        let limit = |bound: &str| {
            let limit = schema.get(&format!("{bound}{word}")).and_then(Value::as_u64)?;
            usize::try_from(limit).ok()
        };
        if let Some(least) = limit("min").filter(|least| size < *least) {
            return fault(format!("{least} {things} at least"));
        }
        if let Some(most) = limit("max").filter(|most| size > *most) {
            return fault(format!("{most} {things} at most"));
        }
    }
    if let Some(found) = value.as_f64() {
        if let Some(least) = number("minimum").filter(|least| found < *least) {
            return fault(format!("{least} at least"));
        }
        if let Some(most) = number("maximum").filter(|most| found > *most) {
            return fault(format!("{most} at most"));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
