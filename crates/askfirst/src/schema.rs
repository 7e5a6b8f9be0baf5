//! Checks the arguments of a call against the JSON Schema of its tool.
//!
//! It supports the common keywords of JSON Schema and ignores the others, so it accepts more than a complete check.
//! That is safe: askfirst judges every call, and the tool validates its own arguments.

use serde_json::{Map, Value};

use crate::json::{Args, kind};

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

/// Checks the arguments of a call against the schema of its tool.
///
/// # Errors
/// Fails with the first mismatch.
pub fn check_args(schema: &Value, args: &Args) -> Result<(), SchemaMismatch> {
    schema.as_object().map_or(Ok(()), |schema| check_fields(schema, args, 0))
}

fn check(schema: &Value, value: &Value, at: &str, depth: usize) -> Result<(), SchemaMismatch> {
    let Some(schema) = schema.as_object().filter(|_| depth < MAX_DEPTH) else { return Ok(()) };
    if let Some(wanted) = schema.get("type") {
        let kinds: Vec<&str> = match wanted {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        let is_nullable = value.is_null() && schema.get("nullable") == Some(&Value::Bool(true));
        if !kinds.is_empty() && !is_nullable && !kinds.iter().any(|wanted| is(value, wanted)) {
            let wanted = kinds.into_iter().map(with_article).collect::<Vec<_>>().join(" or ");
            return Err(SchemaMismatch::Kind { at: at.to_owned(), wanted, found: kind(value) });
        }
    }
    let allowed = schema.get("enum").and_then(Value::as_array);
    // In a schema, `1` and `1.0` are the same number.
    let equals = |one: &Value| one == value || (one.is_number() && one.as_f64() == value.as_f64());
    if let Some(list) = allowed.filter(|list| !list.iter().any(equals)) {
        let list = list.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        return Err(SchemaMismatch::NotListed { at: at.to_owned(), list });
    }
    bounds(schema, value, at)?;
    match value {
        Value::Object(fields) => check_fields(schema, fields, depth),
        Value::Array(items) => {
            // The items that `prefixItems` covers have schemas of their own.
            let first = schema.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
            let item = schema.get("items").map_or(&Value::Null, |item| item);
            items.iter().skip(first).try_for_each(|value| check(item, value, at, depth + 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn check_fields(
    schema: &Map<String, Value>,
    fields: &Map<String, Value>,
    depth: usize,
) -> Result<(), SchemaMismatch> {
    let required = schema.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.find(|name| !fields.contains_key(*name)) {
        return Err(SchemaMismatch::Missing(missing.to_owned()));
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties").filter(|_| !schema.contains_key("patternProperties"));
    for (name, value) in fields {
        match (known.and_then(|known| known.get(name)), others) {
            (Some(schema), _) => check(schema, value, name, depth + 1)?,
            (None, Some(Value::Bool(false))) => return Err(SchemaMismatch::Unknown(name.clone())),
            (None, Some(schema)) => check(schema, value, name, depth + 1)?,
            (None, None) => {}
        }
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

fn bounds(schema: &Map<String, Value>, value: &Value, at: &str) -> Result<(), SchemaMismatch> {
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
            return fault(format!("have at least {}", counted(least, thing)));
        }
        if let Some(most) = limit("max").filter(|most| size > *most) {
            return fault(format!("have at most {}", counted(most, thing)));
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

fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
