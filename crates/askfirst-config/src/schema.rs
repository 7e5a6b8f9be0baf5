//! Builds the JSON Schema of a config from the table of keys. Editors use it to complete and check a config.

mod narrow;

use askfirst::Approval;
use serde_json::{Map, Value, json};

use super::keys::{self, Key, ValueKind};
use super::settings::NetworkAccess;

/// Returns the JSON Schema of a config.
#[must_use]
pub fn schema() -> Value {
    let mut root = keys::find("").map_or_else(|| json!({}), key_schema);
    if let Some(map) = root.as_object_mut() {
        map.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
        map.insert("title".to_owned(), "askfirst.yaml".into());
        map.insert(
            "$comment".to_owned(),
            "This schema omits the older spellings, which askfirst accepts with a warning.".into(),
        );
    }
    root
}

fn key_schema(key: &Key) -> Value {
    let mut schema = kind_schema(key);
    if let Some(map) = schema.as_object_mut() {
        let doc = match key.default {
            "" => key.doc.to_owned(),
            default => format!("{} Default: `{default}`.", key.doc),
        };
        map.insert("description".to_owned(), doc.into());
        narrow::narrow(key.path, map);
    }
    schema
}

fn kind_schema(key: &Key) -> Value {
    let list_of = |item: Value| json!({ "type": "array", "items": item });
    match key.kind {
        ValueKind::Section => section(key.path),
        ValueKind::NameMap => json!({
            "type": ["object", "null"],
            "propertyNames": { "minLength": 1 },
            "additionalProperties": keys::find(&format!("{}.*", key.path)).map(key_schema),
        }),
        ValueKind::SectionList => {
            list_of(keys::find(&format!("{}[]", key.path)).map(key_schema).unwrap_or_default())
        }
        ValueKind::Cases => cases(key.path),
        ValueKind::Version => json!({ "const": 1 }),
        ValueKind::Approval => {
            json!({ "enum": keys::WITHOUT_REHEARSAL.map(Approval::as_str) })
        }
        ValueKind::CommandApproval => json!({ "enum": Approval::ALL.map(Approval::as_str) }),
        ValueKind::Network => {
            let mut words: Vec<Value> = NetworkAccess::ALL.map(|access| access.as_str().into()).to_vec();
            words.extend([true.into(), false.into()]);
            json!({ "enum": words })
        }
        ValueKind::OptionalApproval => {
            let mut words: Vec<Value> = Approval::ALL.map(|approval| approval.as_str().into()).to_vec();
            words.push(Value::Null);
            json!({ "enum": words })
        }
        ValueKind::Word(words) => json!({ "enum": words }),
        ValueKind::Words(words) => list_of(json!({ "enum": words })),
        ValueKind::Bool => json!({ "type": "boolean" }),
        ValueKind::Count => json!({ "type": "integer", "minimum": 1, "maximum": u64::MAX }),
        ValueKind::Duration => {
            json!({ "type": "string", "pattern": "^0*[1-9][0-9]{0,19} *(ms|s|m|h|d)$" })
        }
        ValueKind::Size => json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": u64::MAX },
            { "type": "string", "pattern": "^0*[1-9][0-9]{0,19} *([KMGT]iB|[kKMGT]?B)?$" },
        ] }),
        ValueKind::Text => json!({ "type": "string" }),
        ValueKind::Path => narrow::path(),
        ValueKind::Texts | ValueKind::Globs => list_of(json!({ "type": "string" })),
        ValueKind::Paths => list_of(narrow::path()),
        ValueKind::Toolchains => {
            json!({ "anyOf": [{ "enum": keys::TOOLCHAIN_WORDS }, list_of(narrow::path())] })
        }
        ValueKind::PathRules => list_of(narrow::path_rule()),
        ValueKind::EnvNames => list_of(json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" })),
        ValueKind::When => json!({
            "type": "object",
            "additionalProperties": {
                "type": ["string", "number", "boolean", "null", "array"],
                "items": { "type": ["string", "number", "boolean"] },
                "minItems": 1,
            },
        }),
        ValueKind::Scalars => list_of(json!({ "type": ["string", "number", "boolean"] })),
        ValueKind::Anything => json!({ "type": ["object", "null"] }),
    }
}

fn section(path: &str) -> Value {
    let properties: Map<String, Value> =
        keys::below(path).map(|(name, key)| (name.to_owned(), key_schema(key))).collect();
    json!({ "type": ["object", "null"], "properties": properties, "additionalProperties": false })
}

/// Builds the schema of one case or a list of cases.
///
/// Only a single case may have `command`, and the keys in `COMMAND_KEYS` need it.
fn cases(path: &str) -> Value {
    const COMMAND_KEYS: [&str; 2] = ["args", "about"];
    let (mut single, mut item) = (section(path), section(path));
    if let Some(map) = single.as_object_mut() {
        let needs: Map<String, Value> =
            COMMAND_KEYS.iter().map(|key| ((*key).to_owned(), json!(["command"]))).collect();
        map.insert("dependentRequired".to_owned(), needs.into());
    }
    if let Some(known) = item.get_mut("properties").and_then(Value::as_object_mut) {
        known.retain(|key, _| key != "command" && !COMMAND_KEYS.contains(&key.as_str()));
    }
    json!({ "anyOf": [single, { "type": "array", "items": item }] })
}

#[cfg(test)]
#[path = "schema/tests.rs"]
mod tests;
