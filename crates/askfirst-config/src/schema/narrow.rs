//! What a key demands besides its kind, as far as a schema can say it. It is never stricter than the reader.

use serde_json::{Map, Value, json};

/// What Rust counts as white space, in a class of characters.
const BLANK: &str = r"\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";
/// What controls a screen, in a class of characters.
const CONTROL: &str = r"\u0000-\u001f\u007f-\u009f";

/// A path: not empty, and not in the home of another user.
pub(super) fn path() -> Value {
    json!({ "type": "string", "pattern": "^([^~]|~$|~/)" })
}

/// A gitignore rule that names something, takes nothing back and does not climb.
pub(super) fn ignore_rule() -> Value {
    let nothing = format!("^[{BLANK}]*(!|/*[{BLANK}]*$)");
    let climbs = format!(r"(^[{BLANK}]*|/)\.\.(/|[{BLANK}]*$)");
    json!({ "type": "string", "not": { "pattern": format!("{nothing}|{climbs}") } })
}

/// Adds what a key demands.
pub(super) fn narrow(path: &str, schema: &mut Map<String, Value>) {
    let more = match path {
        "sandbox.paths.*" => json!({ "type": "object", "required": ["root"] }),
        "sandbox.paths.*.suffixes" => {
            json!({ "minItems": 1, "items": { "type": "string", "pattern": r"^\.[^/]+$" } })
        }
        "shell.rules[]" => json!({ "type": "object", "required": ["pattern"] }),
        "shell.rules[].pattern" => json!({ "pattern": r"[^ \t]" }),
        "shell.rules[].sandbox_paths" | "mcp.*.ask_by" => json!({ "minItems": 1 }),
        "shell.dangerous_patterns" => json!({ "items": { "type": "string", "minLength": 1 } }),
        "tools.*.command" | "mcp.*.command" => {
            json!({ "minItems": 1, "prefixItems": [{ "type": "string", "minLength": 1 }] })
        }
        "tools.*.args.*" => argument(),
        "mcp" => json!({ "propertyNames": { "pattern": "^[A-Za-z0-9_.-]+$", "not": { "pattern": "__" } } }),
        "mcp.*" => json!({
            "type": "object",
            "oneOf": [{ "required": ["command"] }, { "required": ["url"] }],
            "dependentRequired": { "env": ["command"], "token_file": ["url"] },
        }),
        "mcp.*.url" => {
            let (host, rest) = (format!("[^/?#@{BLANK}{CONTROL}]+"), format!("[^{BLANK}{CONTROL}]*"));
            json!({ "pattern": format!("^https?://{host}([/?#]{rest})?$") })
        }
        _ => return,
    };
    schema.extend(more.as_object().cloned().unwrap_or_default());
}

/// `items` is for an array, and the values of `enum` are of the argument's type.
fn argument() -> Value {
    let is = |kinds: &[&str]| json!({ "properties": { "type": { "enum": kinds } }, "required": ["type"] });
    let values = |kind: &str| json!({ "properties": { "enum": { "items": { "type": kind } } } });
    let typed = ["integer", "number", "boolean"];
    let mut all: Vec<Value> =
        typed.iter().map(|kind| json!({ "if": is(&[kind]), "then": values(kind) })).collect();
    all.push(json!({ "if": { "not": is(&typed) }, "then": values("string") }));
    json!({ "dependentSchemas": { "items": is(&["array"]) }, "allOf": all })
}
