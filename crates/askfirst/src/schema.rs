//! Checks the arguments of a call against the JSON Schema of its tool.
//!
//! It supports the common keywords of JSON Schema and ignores the others, so it accepts more than a complete check.
//! That is safe: askfirst judges every call, and the tool validates its own arguments.

mod alternatives;
mod numbers;

use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::{Map, Value};

use self::alternatives::Mismatches;
use self::numbers::{equals, order};
use crate::json::{Args, kind};

/// The deepest level that is checked. The tool checks deeper values itself. A `$ref` and an alternative are levels, too.
const MAX_DEPTH: usize = 32;

/// The most steps of one check. After them, it accepts the rest, so that a hostile schema cannot keep it busy.
const MAX_STEPS: usize = 100_000;

/// The bytes of a text that count as one step.
const STEP_BYTES: usize = 64;

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
    /// A value that matches none of several alternatives.
    #[error("`{0}` matches none of the forms that the schema allows")]
    NoAlternative(String),
    /// A value where the schema allows none.
    #[error("`{0}` has a value where the schema allows none")]
    Forbidden(String),
}

/// Checks the arguments of a call against the schema of its tool.
///
/// # Errors
/// Fails with the first mismatch.
pub fn check_args(schema: &Value, args: &Args) -> Result<(), SchemaMismatch> {
    let Some(fields) = schema.as_object() else { return Ok(()) };
    let steps = Cell::new(MAX_STEPS);
    let old = fields.get("$schema").and_then(Value::as_str).is_some_and(|draft| draft.contains("draft-0"));
    let checker = Checker { root: schema, ref_stands_alone: old, steps: &steps };
    if checker.ref_stands_alone && fields.contains_key("$ref") {
        return checker.reference(fields, CheckedValue::Object(args), ARGUMENTS, 0);
    }
    checker.fields(fields, args, 0)?;
    checker.combined(fields, CheckedValue::Object(args), ARGUMENTS, 0)
}

/// The name of all arguments in a mismatch.
const ARGUMENTS: &str = "arguments";

/// A value that is checked. The arguments of a call are an object without a [`Value`] around it.
#[derive(Clone, Copy)]
enum CheckedValue<'a> {
    Object(&'a Map<String, Value>),
    Other(&'a Value),
}

impl<'a> From<&'a Value> for CheckedValue<'a> {
    fn from(value: &'a Value) -> Self {
        value.as_object().map_or(Self::Other(value), Self::Object)
    }
}

impl<'a> CheckedValue<'a> {
    /// Returns the value, unless it is an object.
    fn other(self) -> Option<&'a Value> {
        match self {
            Self::Object(_) => None,
            Self::Other(value) => Some(value),
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Self::Object(_) => "an object",
            Self::Other(value) => kind(value),
        }
    }

    fn is(self, wanted: &str) -> bool {
        match (self, wanted) {
            (Self::Object(_), "array" | "string" | "boolean" | "null" | "number" | "integer") => false,
            (Self::Object(_), _) => true,
            (Self::Other(value), _) => is(value, wanted),
        }
    }

    /// Returns whether the value may equal a value of the schema.
    fn may_equal(self, other: &Value, steps: &Cell<usize>) -> bool {
        match self {
            Self::Object(fields) => {
                other.as_object().is_some_and(|other| numbers::equal_fields(fields, other, steps))
            }
            Self::Other(value) => equals(value, other, steps),
        }
    }
}

/// The state of one check.
#[derive(Clone, Copy)]
struct Checker<'a> {
    /// The schema in which a `$ref` is looked up.
    root: &'a Value,
    /// Whether a `$ref` replaces the other keywords of its schema, as in drafts before 2019.
    ref_stands_alone: bool,
    /// The steps that are left.
    steps: &'a Cell<usize>,
}

impl Checker<'_> {
    fn check(
        &self,
        schema: &Value,
        value: CheckedValue<'_>,
        at: &str,
        depth: usize,
    ) -> Result<(), SchemaMismatch> {
        if depth >= MAX_DEPTH || !self.spend_on(at) {
            return Ok(());
        }
        let schema = match schema {
            Value::Object(schema) => schema,
            Value::Bool(false) => return Err(SchemaMismatch::Forbidden(at.to_owned())),
            _ => return Ok(()),
        };
        let has_own_root = || ["$id", "id"].iter().any(|key| schema.get(*key).is_some_and(Value::is_string));
        if !std::ptr::eq(schema, self.root.as_object().unwrap_or(schema)) && has_own_root() {
            // A reference inside means another document.
            return Checker { root: &Value::Null, ..*self }.check_in(schema, value, at, depth);
        }
        self.check_in(schema, value, at, depth)
    }

    fn check_in(
        &self,
        schema: &Map<String, Value>,
        value: CheckedValue<'_>,
        at: &str,
        depth: usize,
    ) -> Result<(), SchemaMismatch> {
        if self.ref_stands_alone && schema.contains_key("$ref") {
            return self.reference(schema, value, at, depth);
        }
        let is_null = value.other().is_some_and(Value::is_null);
        if is_null && schema.get("nullable") == Some(&Value::Bool(true)) {
            return Ok(());
        }
        self.kinds(schema, value, at)?;
        self.listed(schema, value, at)?;
        match value {
            CheckedValue::Object(fields) => self.fields(schema, fields, depth)?,
            CheckedValue::Other(value) => {
                bounds(schema, value, at, self.steps)?;
                self.items(schema, value, at, depth)?;
            }
        }
        self.combined(schema, value, at, depth)
    }

    /// Checks `type`.
    fn kinds(
        &self,
        schema: &Map<String, Value>,
        value: CheckedValue<'_>,
        at: &str,
    ) -> Result<(), SchemaMismatch> {
        let kinds: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one],
            // A list with anything but names accepts every value.
            Some(Value::Array(kinds)) if spend(self.steps, kinds.len()) => {
                kinds.iter().map(Value::as_str).collect::<Option<_>>().unwrap_or_default()
            }
            Some(_) | None => return Ok(()),
        };
        if kinds.is_empty() || kinds.iter().any(|wanted| value.is(wanted)) {
            return Ok(());
        }
        let wanted = kinds.into_iter().map(with_article).collect::<Vec<_>>().join(" or ");
        Err(SchemaMismatch::Kind { at: at.to_owned(), wanted, found: value.kind() })
    }

    /// Checks `enum` and `const`.
    fn listed(
        &self,
        schema: &Map<String, Value>,
        value: CheckedValue<'_>,
        at: &str,
    ) -> Result<(), SchemaMismatch> {
        if let Some(list) = schema.get("enum").and_then(Value::as_array)
            && !list.iter().any(|one| value.may_equal(one, self.steps))
        {
            let list = list.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
            self.spend_on(&list);
            return Err(SchemaMismatch::NotListed { at: at.to_owned(), list });
        }
        match schema.get("const") {
            Some(only) if !value.may_equal(only, self.steps) => {
                let bound = format!("be {only}");
                self.spend_on(&bound);
                Err(SchemaMismatch::Bound { at: at.to_owned(), bound })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn items(
        &self,
        schema: &Map<String, Value>,
        value: &Value,
        at: &str,
        depth: usize,
    ) -> Result<(), SchemaMismatch> {
        let (Some(items), Some(item)) = (value.as_array(), schema.get("items")) else { return Ok(()) };
        // The items that `prefixItems` covers have schemas of their own.
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
        items.iter().skip(first).try_for_each(|value| self.check(item, value.into(), at, depth + 1))
    }

    fn fields(
        &self,
        schema: &Map<String, Value>,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), SchemaMismatch> {
        let required = schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        if let Some(missing) = required.find(|name| self.spend_on(name) && !fields.contains_key(*name)) {
            return Err(SchemaMismatch::Missing(missing.to_owned()));
        }
        let properties = schema.get("properties");
        let known = properties.and_then(Value::as_object);
        let is_readable =
            known.is_some() == properties.is_some() && !schema.contains_key("patternProperties");
        let others = schema.get("additionalProperties").filter(|_| is_readable);
        if known.is_none() && others.is_none() {
            return Ok(());
        }
        for (name, value) in fields {
            if !self.spend_on(name) {
                return Ok(());
            }
            match (known.and_then(|known| known.get(name)), others) {
                (Some(schema), _) => self.check(schema, value.into(), name, depth + 1)?,
                (None, Some(Value::Bool(false))) => return Err(SchemaMismatch::Unknown(name.clone())),
                (None, Some(schema)) => self.check(schema, value.into(), name, depth + 1)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// Checks the schemas that a schema combines: `$ref`, `allOf`, `anyOf` and `oneOf`.
    fn combined(
        &self,
        schema: &Map<String, Value>,
        value: CheckedValue<'_>,
        at: &str,
        depth: usize,
    ) -> Result<(), SchemaMismatch> {
        self.reference(schema, value, at, depth)?;
        let parts = |key: &str| schema.get(key).and_then(Value::as_array).filter(|parts| !parts.is_empty());
        for part in parts("allOf").into_iter().flatten() {
            self.check(part, value, at, depth + 1)?;
        }
        // A value may match several parts of `oneOf`, as far as this check can tell.
        for parts in ["anyOf", "oneOf"].into_iter().filter_map(parts) {
            let mut mismatches = Mismatches::of(at, value.kind());
            let matches = |part| match self.check(part, value, at, depth + 1) {
                Ok(()) => true,
                Err(mismatch) => {
                    mismatches.add(mismatch);
                    false
                }
            };
            if !parts.iter().any(matches) {
                return Err(mismatches.summary());
            }
        }
        Ok(())
    }

    /// Checks the schema that a local `$ref` names. Another reference accepts every value.
    fn reference(
        &self,
        schema: &Map<String, Value>,
        value: CheckedValue<'_>,
        at: &str,
        depth: usize,
    ) -> Result<(), SchemaMismatch> {
        let name = schema.get("$ref").and_then(Value::as_str).filter(|name| self.spend_on(name));
        let target = name.and_then(|name| self.find(name));
        target.map_or(Ok(()), |target| self.check(target, value, at, depth + 1))
    }

    /// Returns the schema of `#`, `#/$defs/NAME` or `#/definitions/NAME`.
    fn find(&self, name: &str) -> Option<&Value> {
        let pointer = name.strip_prefix('#')?;
        let is_definition = || {
            let name = pointer.strip_prefix("/$defs/").or_else(|| pointer.strip_prefix("/definitions/"));
            name.is_some_and(|name| !name.contains(['/', '%']))
        };
        (pointer.is_empty() || is_definition()).then(|| self.root.pointer(pointer)).flatten()
    }

    /// Takes the steps for a text. Returns whether enough were left.
    fn spend_on(&self, text: &str) -> bool {
        spend(self.steps, 1 + text.len() / STEP_BYTES)
    }
}

/// Takes steps. Returns whether enough were left.
fn spend(steps: &Cell<usize>, count: usize) -> bool {
    let left = steps.get().checked_sub(count);
    steps.set(left.unwrap_or(0));
    left.is_some()
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

fn bounds(
    schema: &Map<String, Value>,
    value: &Value,
    at: &str,
    steps: &Cell<usize>,
) -> Result<(), SchemaMismatch> {
    let fault = |bound: String| Err(SchemaMismatch::Bound { at: at.to_owned(), bound });
    let (word, thing) = match value {
        Value::String(_) => ("Length", "character"),
        Value::Array(_) => ("Items", "item"),
        Value::Number(_) => {
            for (key, wrong, words) in BOUNDS {
                let bound = schema.get(key).and_then(|bound| Some((bound, order(value, bound)?)));
                if let Some((bound, _)) = bound.filter(|(_, order)| wrong.contains(order)) {
                    return fault(format!("{words} {bound}"));
                }
            }
            return Ok(());
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => return Ok(()),
    };
    let limit = |bound: &str| {
        let limit = schema.get(&format!("{bound}{word}")).and_then(Value::as_u64)?;
        usize::try_from(limit).ok()
    };
    let (least, most) = (limit("min"), limit("max"));
    if least.is_none() && most.is_none() {
        return Ok(());
    }
    let size = match value {
        Value::String(text) if spend(steps, text.len() / STEP_BYTES) => text.chars().count(),
        Value::Array(items) => items.len(),
        _ => return Ok(()),
    };
    if let Some(least) = least.filter(|least| size < *least) {
        return fault(format!("have at least {}", counted(least, thing)));
    }
    if let Some(most) = most.filter(|most| size > *most) {
        return fault(format!("have at most {}", counted(most, thing)));
    }
    Ok(())
}

/// The bounds of numbers: the keyword, the order of value and bound that it excludes, and its words.
const BOUNDS: [(&str, &[Ordering], &str); 4] = [
    ("minimum", &[Ordering::Less], "be at least"),
    ("maximum", &[Ordering::Greater], "be at most"),
    ("exclusiveMinimum", &[Ordering::Less, Ordering::Equal], "be more than"),
    ("exclusiveMaximum", &[Ordering::Greater, Ordering::Equal], "be less than"),
];

fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
