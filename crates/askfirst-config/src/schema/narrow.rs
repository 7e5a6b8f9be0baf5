//! Adds the constraints of single keys to the schema. The schema is never stricter than the reader.

use askfirst::Approval;
use serde_json::{Map, Value, json};

use crate::keys::REHEARSING_TOOLS;

/// The characters that Rust counts as white space, for a character class.
const BLANK: &str = r"\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";
/// The control characters, for a character class.
const CONTROL: &str = r"\u0000-\u001f\u007f-\u009f";

/// Returns the schema of a path: not empty, and not in another user's home folder.
pub(super) fn path() -> Value {
    json!({ "type": "string", "pattern": "^([^~]|~$|~/)" })
}

/// Returns the schema of a path rule: it names something, and has neither a leading `!` nor `..`.
pub(super) fn path_rule() -> Value {
    let empty_or_negated = format!("^[{BLANK}]*(!|/*[{BLANK}]*$)");
    let has_parent = format!(r"(^[{BLANK}]*|/)\.\.(/|[{BLANK}]*$)");
    json!({ "type": "string", "not": { "pattern": format!("{empty_or_negated}|{has_parent}") } })
}

/// Adds the constraints of one key.
pub(super) fn narrow(path: &str, schema: &mut Map<String, Value>) {
    let more = match path {
        "sandbox.paths.*" => json!({ "type": "object", "required": ["root"] }),
        "sandbox.paths.*.suffixes" => {
            json!({ "minItems": 1, "items": { "type": "string", "pattern": r"^\.[^/]+$" } })
        }
        "sandbox.paths.*.products" => json!({ "items": { "not": { "pattern": not_a_product() } } }),
        "shell.rules[]" => json!({ "type": "object", "required": ["pattern"] }),
        "shell.rules[].pattern" => json!({ "pattern": r"[^ \t]" }),
        "shell.rules[].sandbox_paths" | "mcp.*.ask_by" => json!({ "minItems": 1 }),
        "shell.dangerous_patterns" => json!({ "items": { "type": "string", "minLength": 1 } }),
        "tools.*.command" | "mcp.*.command" => {
            json!({ "minItems": 1, "prefixItems": [{ "type": "string", "minLength": 1 }] })
        }
        "tools" => tools(),
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

/// Returns the pattern of a text that is not a product folder.
fn not_a_product() -> String {
    let not_relative = "^[~/]";
    let no_name = r"^(\.?/)*\.?$";
    let wrong_name = r"(^|/)(\.\.|\.[gG][iI][tT])(/|$)";
    format!(r"{not_relative}|{no_name}|{wrong_name}|\*")
}

/// Returns the constraints of tools: only some of them can have `rehearse`.
fn tools() -> Value {
    let rehearses = json!({
        "type": "object",
        "properties": { "approval": { "const": Approval::Rehearse.as_str() } },
        "required": ["approval"],
    });
    let may: Map<String, Value> =
        REHEARSING_TOOLS.map(|name| (name.to_owned(), json!({}))).into_iter().collect();
    let others = json!({ "not": rehearses.clone(), "items": { "not": rehearses } });
    json!({ "allOf": [{ "properties": may, "additionalProperties": others }] })
}

/// Returns the constraints of an argument: only an array has `items`, and `enum` values have the argument's type.
fn argument() -> Value {
    let is = |kinds: &[&str]| json!({ "properties": { "type": { "enum": kinds } }, "required": ["type"] });
    let values = |kind: &str| json!({ "properties": { "enum": { "items": { "type": kind } } } });
    let typed = ["integer", "number", "boolean"];
    let mut all: Vec<Value> =
        typed.iter().map(|kind| json!({ "if": is(&[kind]), "then": values(kind) })).collect();
    all.push(json!({ "if": { "not": is(&typed) }, "then": values("string") }));
    json!({ "dependentSchemas": { "items": is(&["array"]) }, "allOf": all })
}
