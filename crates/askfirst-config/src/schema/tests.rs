//! Tests that the schema file is up to date, and that schema and reader accept the same configs.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::schema;
use crate::file;
use crate::keys::{self, KEYS, ValueKind};
use crate::node::Source;
use crate::testing::{World, example};

/// To update the file, run `UPDATE_SCHEMA=1 cargo test -p askfirst-config schema`.
#[test]
fn schema_file_matches_the_table_of_keys() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/askfirst.schema.json");
    let fresh = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &fresh).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == fresh, "docs/askfirst.schema.json is out of date: run this test with UPDATE_SCHEMA=1");
}

#[test]
fn every_key_is_in_the_schema() {
    let text = schema().to_string();
    for key in KEYS.iter().filter(|key| !key.path.is_empty()) {
        assert!(text.contains(&key.doc.replace('"', "\\\"")), "{}", key.path);
    }
}

#[test]
fn every_key_has_a_parent_section() {
    for key in KEYS.iter().filter(|key| !key.path.is_empty()) {
        let parent =
            key.path.strip_suffix("[]").or_else(|| key.path.rsplit_once('.').map(|(parent, _)| parent));
        let parent = keys::find(parent.unwrap_or_default()).unwrap_or_else(|| panic!("{}", key.path));
        assert!(
            matches!(
                parent.kind,
                ValueKind::Section | ValueKind::NameMap | ValueKind::SectionList | ValueKind::Cases
            ),
            "{} is below a value",
            key.path
        );
    }
}

/// Returns true if a value matches a schema. Panics at a schema keyword that this function does not know.
fn valid(schema: &Value, value: &Value) -> bool {
    let holds = |(word, says): (&String, &Value)| {
        let list = || says.as_array().unwrap().iter();
        let map = || says.as_object().unwrap().iter();
        match word.as_str() {
            "$schema" | "$comment" | "title" | "description" | "then" => true,
            "type" => {
                let names = if says.is_array() { list().collect() } else { vec![says] };
                names.iter().any(|name| is_a(value, name.as_str().unwrap()))
            }
            "const" => value == says,
            "enum" => list().any(|one| one == value),
            "pattern" => value
                .as_str()
                .is_none_or(|text| regex::Regex::new(says.as_str().unwrap()).unwrap().is_match(text)),
            "minLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 >= says.as_u64().unwrap())
            }
            "minimum" => value.as_f64().is_none_or(|n| n >= says.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= says.as_f64().unwrap()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= says.as_u64().unwrap()),
            "prefixItems" => value
                .as_array()
                .is_none_or(|items| items.iter().zip(list()).all(|(item, says)| valid(says, item))),
            "items" => {
                let skipped = schema.get("prefixItems").map_or(0, |prefix| prefix.as_array().unwrap().len());
                value.as_array().is_none_or(|items| items.iter().skip(skipped).all(|item| valid(says, item)))
            }
            "required" => !value.is_object() || list().all(|key| value.get(key.as_str().unwrap()).is_some()),
            "properties" => map().all(|(key, says)| value.get(key).is_none_or(|value| valid(says, value))),
            "propertyNames" => {
                value.as_object().is_none_or(|map| map.keys().all(|key| valid(says, &key.as_str().into())))
            }
            "additionalProperties" => value.as_object().is_none_or(|map| {
                let known =
                    |key: &str| schema.get("properties").is_some_and(|known| known.get(key).is_some());
                map.iter()
                    .filter(|(key, _)| !known(key))
                    .all(|(_, value)| says.is_object() && valid(says, value))
            }),
            "dependentRequired" => map().all(|(key, needs)| {
                let needs = needs.as_array().unwrap();
                value.get(key).is_none()
                    || needs.iter().all(|need| value.get(need.as_str().unwrap()).is_some())
            }),
            "dependentSchemas" => map().all(|(key, says)| value.get(key).is_none() || valid(says, value)),
            "if" => !valid(says, value) || valid(&schema["then"], value),
            "not" => !valid(says, value),
            "allOf" => list().all(|says| valid(says, value)),
            "anyOf" => list().any(|says| valid(says, value)),
            "oneOf" => list().filter(|says| valid(says, value)).count() == 1,
            other => panic!("{other}"),
        }
    };
    schema.as_object().unwrap().iter().all(holds)
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other}"),
    }
}

const GOOD: &[&str] = &[
    "",
    "{}",
    "default_approval: none",
    "approval_timeout: 10  m",
    "approval_timeout: 007s",
    "ledger: { rotate: 5 }",
    "ledger: { rotate: \"5 \" }",
    "ledger: { path: ~/x }",
    "memory:\nshell:\ntools:\nmcp:\nsandbox:",
    "sandbox: { paths: { a: { root: ., suffixes: [.tar.gz], approval: }, b: { root: \"~\" } } }",
    "sandbox: { never_read: [\"a..b\", \"..x\", \"a/*\", \" x \"], os_profile: { read: [], write: [\"~\", ./x] } }",
    "sandbox: { toolchains: auto }",
    "sandbox: { toolchains: [auto, /x, ~/y, ./z] }",
    "sandbox: { toolchains: [] }",
    "sandbox: { caches: [] }",
    "sandbox: { caches: [~/.cargo/registry, ./x, /opt/cache] }",
    "sandbox: { paths: { a: { root: ., products: [target, ./a//b/, .next, .github, a..b, x.git] }, b: { root: ./notes, products: [] } } }",
    "undo: { keep: 1, days: 3650, size: 5MB, deletes: ask }",
    "undo:",
    "shell: { default: { approval: rehearse }, rules: [ { pattern: make, approval: rehearse } ] }",
    "tools: { shell: { approval: rehearse }, exec: [ { approval: rehearse, when: { x: 1 } }, { approval: none } ] }",
    "shell: { network: true }",
    "shell: { network: false, rules: [ { pattern: a, network: true }, { pattern: b, network: required } ] }",
    "shell: { network: deny, rules: [ { pattern: a, network: none }, { pattern: b, network: deny } ] }",
    "shell: { rules: [], env: { pass: [] }, dangerous_patterns: [] }",
    "shell: { rules: [ { pattern: ls } ] }",
    "tools: { a: , b: {}, c: [], d: [ { approval: , when: { x: 1 } }, null ] }",
    "tools: { a: { when: {} }, b: { when: { x: , y: [1, a, true] } }, c: { options: } }",
    "tools: { a: { command: [wc, \"\"], about: x, args: { x: , y: { type: array, items: { type: string } } } } }",
    "tools: { a: { command: [wc], args: { x: { type: integer, enum: [1] }, y: { enum: [a] }, z: { type: boolean, enum: [true] } } } }",
    "mcp: { a-b.c_d: { command: [x, \"\"] }, u: { url: \"https://x.y:1/z?a@b\", token_file: ./t } }",
];

const BAD: &[&str] = &[
    "version: 2",
    "version: \"1\"",
    "approval_timeout: 0s",
    "approval_timeout: 5",
    "ledger: { rotate: 0B }",
    "ledger: { rotate: 0 }",
    "ledger: { path: \"\" }",
    "ledger: { path: ~other/x }",
    "prompt: { preview_lines: 0 }",
    "sandbox: { paths: { a: { mode: rw } } }",
    "sandbox: { paths: { a: } }",
    "sandbox: { paths: { \"\": { root: . } } }",
    "sandbox: { paths: { a: { root: ., suffixes: [] } } }",
    "sandbox: { paths: { a: { root: ., suffixes: [md] } } }",
    "sandbox: { paths: { a: { root: ., suffixes: [.a/b] } } }",
    "sandbox: { never_read: [\"!x\"] }",
    "sandbox: { never_read: [\" \"] }",
    "sandbox: { never_write: [//] }",
    "sandbox: { never_write: [a/../b] }",
    "sandbox: { never_write: [..] }",
    "sandbox: { os_profile: { write: [\"\"] } }",
    "sandbox: { toolchains: on }",
    "sandbox: { toolchains: }",
    "sandbox: { toolchains: { auto: true } }",
    "sandbox: { toolchains: [\"\", ~other/x] }",
    "sandbox: { caches: auto }",
    "sandbox: { caches: }",
    "sandbox: { caches: [\"\"] }",
    "sandbox: { paths: { a: { root: ., products: target } } }",
    "sandbox: { paths: { a: { root: ., products: [1] } } }",
    "sandbox: { paths: { a: { root: ., products: [\"\"] } } }",
    "sandbox: { paths: { a: { root: ., products: [.] } } }",
    "sandbox: { paths: { a: { root: ., products: [.//./] } } }",
    "sandbox: { paths: { a: { root: ., products: [/target] } } }",
    "sandbox: { paths: { a: { root: ., products: [\"~/target\"] } } }",
    "sandbox: { paths: { a: { root: ., products: [..] } } }",
    "sandbox: { paths: { a: { root: ., products: [a/../b] } } }",
    "sandbox: { paths: { a: { root: ., products: [.git] } } }",
    "sandbox: { paths: { a: { root: ., products: [sub/.Git/x] } } }",
    "sandbox: { paths: { a: { root: ., products: [\"*.egg-info\"] } } }",
    "sandbox: { paths: { a: { root: ., approval: { write: rehearse } } } }",
    "undo: { keep: 0 }",
    "undo: { days: 1d }",
    "undo: { size: 0 }",
    "undo: { deletes: deny }",
    "default_approval: rehearse",
    "shell: { known_read_only: rehearse }",
    "shell: { outside_roots: rehearse }",
    "shell: { network: human }",
    "shell: { network: }",
    "shell: { rules: [ { pattern: a, network: 1 } ] }",
    "tools: { write_file: { approval: rehearse } }",
    "tools: { \"sh*\": { approval: rehearse } }",
    "tools: { a: [ { approval: none, when: { x: 1 } }, { approval: rehearse } ] }",
    "shell: { rules: [ { approval: none } ] }",
    "shell: { rules: [ null ] }",
    "shell: { rules: [ { pattern: \" \" } ] }",
    "shell: { rules: [ { pattern: ls, sandbox_paths: [] } ] }",
    "shell: { dangerous_patterns: [\"\"] }",
    "shell: { env: { pass: [1A] } }",
    "tools: { \"\": {} }",
    "tools: { a: { when: { x: [] } } }",
    "tools: { a: { when: { x: [null] } } }",
    "tools: { a: { args: { x: {} } } }",
    "tools: { a: { about: x } }",
    "tools: { a: [ { command: [x] } ] }",
    "tools: { a: { command: [] } }",
    "tools: { a: { command: [\"\"] } }",
    "tools: { a: { command: [x], args: { y: { items: { type: string } } } } }",
    "tools: { a: { command: [x], args: { y: { type: integer, enum: [a] } } } }",
    "tools: { a: { command: [x], args: { y: { enum: [1] } } } }",
    "mcp: { a: {} }",
    "mcp: { a: }",
    "mcp: { a__b: { command: [x] } }",
    "mcp: { \"a b\": { command: [x] } }",
    "mcp: { a: { command: [x], url: \"http://x\" } }",
    "mcp: { a: { command: [] } }",
    "mcp: { a: { url: \"ftp://x\" } }",
    "mcp: { a: { url: \"http://\" } }",
    "mcp: { a: { url: \"http://u@x\" } }",
    "mcp: { a: { url: \"http://x y\" } }",
    "mcp: { a: { url: \"http://x\", env: { pass: [A] } } }",
    "mcp: { a: { command: [x], token_file: t } }",
    "mcp: { a: { command: [x], ask_by: [] } }",
];

#[test]
fn schema_accepts_exactly_what_the_reader_accepts() {
    let world = World::new();
    let schema = schema();
    let both = |text: &str| {
        let root = file::parse(&Source::new("askfirst.yaml", text)).unwrap().root;
        (world.read(text).is_ok(), root.is_null() || valid(&schema, &root.to_json()))
    };
    let good = GOOD.iter().map(|text| (*text).to_owned()).chain([example()]).map(|text| (text, true));
    let all = good.chain(BAD.iter().map(|text| ((*text).to_owned(), false)));
    let wrong: Vec<_> = all.filter(|(text, wanted)| both(text) != (*wanted, *wanted)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
