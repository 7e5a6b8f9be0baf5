//! The JSON Schema of a config, for editors, made from the table of keys.

mod narrow;

use askfirst::Approval;
use serde_json::{Map, Value, json};

use super::keys::{self, Key, Kind};

/// The schema.
#[must_use]
pub fn schema() -> Value {
    let mut root = keys::find("").map_or_else(|| json!({}), of);
    if let Some(map) = root.as_object_mut() {
        map.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
        map.insert("title".to_owned(), "askfirst.yaml".into());
        map.insert(
            "$comment".to_owned(),
            "Older spellings, which are read with a warning, do not stand here.".into(),
        );
    }
    root
}

fn of(key: &Key) -> Value {
    let mut schema = kind(key);
    if let Some(map) = schema.as_object_mut() {
        let doc = match key.default {
            "" => key.doc.to_owned(),
            default => format!("{} Left out: `{default}`.", key.doc),
        };
        map.insert("description".to_owned(), doc.into());
        narrow::narrow(key.path, map);
    }
    schema
}

fn kind(key: &Key) -> Value {
    let texts = |item: Value| json!({ "type": "array", "items": item });
    match key.kind {
        Kind::Section => section(key.path),
        Kind::Named => json!({
            "type": ["object", "null"],
            "propertyNames": { "minLength": 1 },
            "additionalProperties": keys::find(&format!("{}.*", key.path)).map(of),
        }),
        Kind::Sections => texts(keys::find(&format!("{}[]", key.path)).map(of).unwrap_or_default()),
        Kind::Cases => cases(key.path),
        Kind::Version => json!({ "const": 1 }),
        Kind::Approval => json!({ "enum": Approval::ALL.map(Approval::as_str) }),
        Kind::OptionalApproval => {
            let mut words: Vec<Value> = Approval::ALL.map(|approval| approval.as_str().into()).to_vec();
            words.push(Value::Null);
            json!({ "enum": words })
        }
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Words(words) => texts(json!({ "enum": words })),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Count => json!({ "type": "integer", "minimum": 1, "maximum": u64::MAX }),
        Kind::Duration => {
            json!({ "type": "string", "pattern": "^0*[1-9][0-9]{0,19} *(ms|s|m|h|d)$" })
        }
        Kind::Size => json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": u64::MAX },
            { "type": "string", "pattern": "^0*[1-9][0-9]{0,19} *([KMGT]iB|[kKMGT]?B)?$" },
        ] }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Path => narrow::path(),
        Kind::Texts | Kind::Globs => texts(json!({ "type": "string" })),
        Kind::Paths => texts(narrow::path()),
        Kind::Ignores => texts(narrow::ignore_rule()),
        Kind::EnvNames => texts(json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" })),
        Kind::When => json!({
            "type": "object",
            "additionalProperties": {
                "type": ["string", "number", "boolean", "null", "array"],
                "items": { "type": ["string", "number", "boolean"] },
                "minItems": 1,
            },
        }),
        Kind::Scalars => texts(json!({ "type": ["string", "number", "boolean"] })),
        Kind::Anything => json!({ "type": ["object", "null"] }),
    }
}

fn section(path: &str) -> Value {
    let properties: Map<String, Value> =
        keys::below(path).map(|(name, key)| (name.to_owned(), of(key))).collect();
    json!({ "type": ["object", "null"], "properties": properties, "additionalProperties": false })
}

/// One case, or several. A program is a single one, and what belongs to it needs it.
fn cases(path: &str) -> Value {
    const OF_A_PROGRAM: [&str; 2] = ["args", "about"];
    let (mut alone, mut listed) = (section(path), section(path));
    if let Some(map) = alone.as_object_mut() {
        let needs: Map<String, Value> =
            OF_A_PROGRAM.iter().map(|key| ((*key).to_owned(), json!(["command"]))).collect();
        map.insert("dependentRequired".to_owned(), needs.into());
    }
    if let Some(known) = listed.get_mut("properties").and_then(Value::as_object_mut) {
        known.retain(|key, _| key != "command" && !OF_A_PROGRAM.contains(&key.as_str()));
    }
    json!({ "anyOf": [alone, { "type": "array", "items": listed }] })
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
