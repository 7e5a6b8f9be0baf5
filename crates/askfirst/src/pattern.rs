//! Patterns that a tool offers for remembering: its own payload with some fields loosened.
//!
//! A pattern never says more than the tool offered. Fields that it does not name must be equal.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How one field of a payload is loosened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loosen {
    /// Whatever the field holds.
    Any,
    /// A path: the one that the pattern holds, or one below it.
    Under,
    /// A list that begins with the pattern's items.
    StartsWith,
}

/// A pattern over payloads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedPattern {
    /// What it covers, in words: "any file in notes:drafts".
    pub label: String,
    /// The fields as the pattern holds them. For [`Loosen::Any`] the value does not matter.
    pub fields: Map<String, Value>,
    /// The loosened fields.
    pub loosen: std::collections::BTreeMap<String, Loosen>,
}

impl OfferedPattern {
    /// A pattern from a payload's fields, loosened where named.
    #[must_use]
    pub fn new<'a>(
        label: impl Into<String>,
        fields: Map<String, Value>,
        loosen: impl IntoIterator<Item = (&'a str, Loosen)>,
    ) -> Self {
        let loosen = loosen.into_iter().map(|(key, how)| (key.to_owned(), how)).collect();
        Self { label: label.into(), fields, loosen }
    }

    /// Whether a payload falls under it.
    #[must_use]
    pub fn matches(&self, payload: &Value) -> bool {
        let plain = !self.fields.keys().any(|key| key.starts_with(MARK));
        plain && generalizations(payload, &self.shape()).is_some_and(|keys| keys.contains(&self.key()))
    }

    /// The loosened fields and how: patterns of one shape are looked up alike.
    pub(crate) fn shape(&self) -> Shape {
        self.loosen.iter().map(|(key, how)| (key.clone(), *how)).collect()
    }

    /// The payload as this pattern remembers it: loosened fields marked.
    pub(crate) fn key(&self) -> Value {
        let mut fields = self.fields.clone();
        for (key, how) in &self.loosen {
            let value = fields.remove(key).unwrap_or(Value::Null);
            fields.insert(marked(key), if *how == Loosen::Any { Value::Null } else { value });
        }
        Value::Object(fields)
    }
}

/// The loosened fields of a pattern, in order.
pub(crate) type Shape = Vec<(String, Loosen)>;

/// More generalizations than this are not looked at; the call is asked about instead.
const MAX_GENERALIZATIONS: usize = 256;

/// Every key under which a pattern of this shape could have remembered the payload. Their number grows with the
/// depth of a path or the length of a list, not with the number of patterns. Nothing, if it cannot be told: then
/// neither can it be told that no remembered no covers the payload.
pub(crate) fn generalizations(payload: &Value, shape: &Shape) -> Option<Vec<Value>> {
    let Value::Object(fields) = payload else { return Some(Vec::new()) };
    if fields.keys().any(|key| key.starts_with(MARK)) {
        return None;
    }
    let mut found = vec![fields.clone()];
    for (key, how) in shape {
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

/// Begins the name of a loosened field. A payload with such a name of its own matches no pattern.
const MARK: char = '\0';

fn marked(key: &str) -> String {
    format!("{MARK}{key}")
}

fn ancestors(value: &Value) -> Option<Vec<Value>> {
    let Some(path) = value.as_str() else { return Some(Vec::new()) };
    // Of a path that could climb, nobody can tell what it is under.
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
