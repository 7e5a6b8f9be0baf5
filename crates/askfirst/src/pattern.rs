//! Patterns that a tool offers for remembering a decision: its payload with some fields loosened.
//!
//! A pattern never covers more than the tool offered. Fields that are not loosened must be equal.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::Digest;

/// How one field of a payload is loosened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loosen {
    /// The field may have any value.
    Any,
    /// The field is a path: the path in the pattern, or one below it.
    Under,
    /// The field is a list that starts with the items in the pattern.
    StartsWith,
}

/// A pattern over payloads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedPattern {
    /// A text for people that says what the pattern covers, such as "any file in notes:drafts".
    pub label: String,
    /// The fields of the pattern. For [`Loosen::Any`], the value does not matter.
    pub fields: Map<String, Value>,
    /// The fields that are loosened, and how.
    pub loosen: std::collections::BTreeMap<String, Loosen>,
    /// Whether the pattern covers every payload, whatever the fields are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_payload: bool,
    /// Further tools of which the pattern covers every call. Only a pattern with `any_payload` has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<OfferedTool>,
}

/// A further tool that a pattern covers, as long as its definition is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// The name of the tool.
    pub name: String,
    /// The digest of its definition.
    pub definition: Digest,
}

impl OfferedPattern {
    /// Creates a pattern from the fields of a payload and the ways in which some of them are loosened.
    #[must_use]
    pub fn new<'a>(
        label: impl Into<String>,
        fields: Map<String, Value>,
        loosen: impl IntoIterator<Item = (&'a str, Loosen)>,
    ) -> Self {
        let loosen = loosen.into_iter().map(|(key, how)| (key.to_owned(), how)).collect();
        Self { label: label.into(), fields, loosen, any_payload: false, tools: Vec::new() }
    }

    /// Creates a pattern that covers every call of the requested tool, and of these further tools.
    #[must_use]
    pub fn any_arguments(label: impl Into<String>, tools: Vec<OfferedTool>) -> Self {
        Self { any_payload: true, tools, ..Self::new(label, Map::new(), []) }
    }

    /// Whether the pattern covers a payload.
    #[must_use]
    pub fn matches(&self, payload: &Value) -> bool {
        if self.any_payload {
            return true;
        }
        let plain = !self.fields.keys().any(|key| key.starts_with(MARK));
        plain && generalizations(payload, &self.shape()).is_some_and(|keys| keys.contains(&self.key()))
    }

    /// Returns the loosened fields with their kinds. Memory looks up all patterns of one shape together.
    pub(crate) fn shape(&self) -> Shape {
        if self.any_payload {
            return Shape::AnyPayload;
        }
        Shape::Fields(self.loosen.iter().map(|(key, how)| (key.clone(), *how)).collect())
    }

    /// Returns the key under which memory stores this pattern: the fields, with the loosened ones marked.
    pub(crate) fn key(&self) -> Value {
        if self.any_payload {
            return Value::Null;
        }
        let mut fields = self.fields.clone();
        for (key, how) in &self.loosen {
            let value = fields.remove(key).unwrap_or(Value::Null);
            fields.insert(marked(key), if *how == Loosen::Any { Value::Null } else { value });
        }
        Value::Object(fields)
    }
}

/// The kind of a pattern: what of a payload it leaves open.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Shape {
    /// The whole payload.
    AnyPayload,
    /// These fields, in order.
    Fields(Vec<(String, Loosen)>),
}

/// The largest number of keys that memory looks up for one shape. Beyond it, askfirst asks a person.
const MAX_GENERALIZATIONS: usize = 256;

/// Returns every key under which a pattern of this shape could cover the payload.
///
/// The number of keys grows with the depth of a path or the length of a list, not with the number of patterns.
/// `None` means that the keys are unknown. A remembered denial might then cover the payload.
pub(crate) fn generalizations(payload: &Value, shape: &Shape) -> Option<Vec<Value>> {
    let loosened = match shape {
        Shape::AnyPayload => return Some(vec![Value::Null]),
        Shape::Fields(loosened) => loosened,
    };
    let Value::Object(fields) = payload else { return Some(Vec::new()) };
    if fields.keys().any(|key| key.starts_with(MARK)) {
        return None;
    }
    let mut found = vec![fields.clone()];
    for (key, how) in loosened {
        let Some(value) = fields.get(key) else { return Some(Vec::new()) };
        let wider = match how {
            Loosen::Any => vec![Value::Null],
            Loosen::Under => ancestors(value)?,
            Loosen::StartsWith => prefixes(value),
        };
        if found.len().saturating_mul(wider.len()) > MAX_GENERALIZATIONS {
            return None;
        }
        let with = |base: &Map<String, Value>, value: &Value| {
            let mut base = base.clone();
            base.remove(key);
            base.insert(marked(key), value.clone());
            base
        };
        found = found.iter().flat_map(|base| wider.iter().map(move |value| with(base, value))).collect();
    }
    Some(found.into_iter().map(Value::Object).collect())
}

/// The first character in the name of a loosened field. A payload that has such a name matches no pattern.
const MARK: char = '\0';

fn marked(key: &str) -> String {
    format!("{MARK}{key}")
}

fn ancestors(value: &Value) -> Option<Vec<Value>> {
    let Some(path) = value.as_str() else { return Some(Vec::new()) };
    // A path with `..` may lead anywhere, so its parent folders are unknown.
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    let cuts = path.match_indices('/').filter(|(at, _)| *at > 0).map(|(at, _)| at);
    let mut found: Vec<Value> =
        cuts.filter_map(|at| path.get(..at)).map(|head| Value::String(head.to_owned())).collect();
    if path.starts_with('/') {
        found.push(Value::String("/".to_owned()));
    } else {
        found.push(Value::String(String::new()));
    }
    found.push(value.clone());
    found.dedup();
    Some(found)
}

fn prefixes(value: &Value) -> Vec<Value> {
    let Some(items) = value.as_array() else { return Vec::new() };
    (1..=items.len()).filter_map(|n| items.get(..n)).map(|head| Value::Array(head.to_vec())).collect()
}

#[cfg(test)]
#[path = "pattern/tests.rs"]
mod tests;
