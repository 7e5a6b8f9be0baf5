//! Reads a tool that runs a program: a command with placeholders, and the arguments that replace them.

use std::collections::BTreeMap;

use askfirst::Args;
use askfirst::when::Glob;
use serde_json::Value as Json;

use super::{ConfigReader, text, texts};
use crate::node::{Entry, Node, Value};
use crate::quote::escape;
use crate::settings::{ArgKind, ArgSpec, CommandTool};

/// The names of the built-in tools. No other tool may have one of these names.
pub(crate) const BUILT_IN_TOOLS: &[&str] = &[
    "shell",
    "exec",
    "worker_call",
    "worker_create",
    "read_file",
    "write_file",
    "edit_file",
    "append_file",
    "delete_file",
    "copy_file",
    "move_file",
    "list_files",
    "find_in_files",
    "file_info",
    "stat_file",
    "make_folder",
    "attach_file",
];

impl ConfigReader<'_> {
    pub(super) fn read_command_tool(&mut self, entry: &Entry, rule: &str) -> Option<CommandTool> {
        let node = &entry.value;
        let Some(command) = node.get("command") else {
            for key in ["args", "about"] {
                if let Some(found) = node.entry(key) {
                    self.fault(&found.at, format!("`{key}` has no effect without `command`"));
                }
            }
            return None;
        };
        self.check_command_name(entry);
        let args = self.read_args(node.get("args"));
        self.check_placeholders(command, &args);
        let words = texts(command);
        let shown = escape(&words.join(" "));
        let schema = node.get("args").map(Node::entries).unwrap_or_default().iter();
        let schema: Args = schema.map(|arg| (arg.key.clone(), arg_schema(&arg.value))).collect();
        for (name, position) in
            node.get("args").map(Node::entries).unwrap_or_default().iter().map(|a| (&a.key, &a.at))
        {
            if !words.iter().any(|word| placeholders_of(word).any(|found| found == name)) {
                let name = escape(name);
                let message = format!("`command` does not use the argument `{name}`");
                self.warn(
                    position,
                    message,
                    format!("put `{{{name}}}` into `command`, or remove the argument"),
                );
            }
        }
        Some(CommandTool {
            name: entry.key.clone(),
            description: self.read_about(node).unwrap_or_else(|| format!("Runs `{shown}`.")),
            command: words,
            args,
            schema,
            folder: self.base.folder.clone(),
            origin: self.because(rule, &entry.at, format!("command: {shown}")),
        })
    }

    fn check_command_name(&mut self, entry: &Entry) {
        let name = entry.key.as_str();
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !Glob::is_plain(name) {
            let message =
                format!("`{}` is a glob, but a tool with `command` needs an exact name", escape(name));
            self.fault(&entry.at, message);
        } else if BUILT_IN_TOOLS.contains(&name) || name.starts_with("mcp__") {
            self.fault_with_hint(
                &entry.at,
                format!("the tool name `{}` is reserved", escape(name)),
                "choose another name",
            );
        } else if !name.chars().all(is_allowed) {
            let message = format!("invalid tool name `{}`", escape(name));
            self.fault_with_hint(&entry.at, message, "use only letters, digits, `_`, `-` and `.`");
        }
    }

    fn read_args(&mut self, node: Option<&Node>) -> BTreeMap<String, ArgSpec> {
        let mut args = BTreeMap::new();
        for entry in node.map(Node::entries).unwrap_or_default() {
            let spec = &entry.value;
            let kind = match text(spec.get("type")) {
                Some("integer") => ArgKind::Integer,
                Some("number") => ArgKind::Number,
                Some("boolean") => ArgKind::Boolean,
                Some("array") => ArgKind::Strings,
                Some(_) | None => ArgKind::String,
            };
            if let Some(items) = spec.entry("items").filter(|_| kind != ArgKind::Strings) {
                self.fault(&items.at, "`items` is valid only for an argument of type `array`");
            }
            let allowed = spec.get("enum").map(Node::items).unwrap_or_default();
            for value in allowed.iter().filter(|value| !is_of_kind(value, kind)) {
                let message = format!("`{}` does not match the argument's type", value.brief());
                self.fault(&value.position, message);
            }
            let one_of =
                allowed.iter().map(|value| value.as_text().map_or_else(|| value.brief(), str::to_owned));
            let optional = spec.get("optional").and_then(Node::as_bool).unwrap_or(false);
            args.insert(entry.key.clone(), ArgSpec { kind, optional, one_of: one_of.collect() });
        }
        args
    }

    fn check_placeholders(&mut self, command: &Node, args: &BTreeMap<String, ArgSpec>) {
        let items = command.items();
        if items.first().is_none_or(|program| program.as_text().is_some_and(str::is_empty))
            && matches!(command.value, Value::List(_))
        {
            self.fault(&command.position, super::NO_PROGRAM);
        }
        for (n, item) in items.iter().enumerate() {
            let Some(word) = item.as_text() else { continue };
            let names: Vec<&str> = placeholders_of(word).collect();
            if let Some(name) = names.first().filter(|_| n == 0) {
                let message = format!("the program contains the placeholder `{{{}}}`", escape(name));
                let hint = "write a fixed program: a call must not choose which program runs";
                self.fault_with_hint(&item.position, message, hint);
            }
            for name in names {
                match args.get(name) {
                    None => {
                        let message = format!("the placeholder `{{{}}}` has no argument", escape(name));
                        self.fault_with_hint(
                            &item.position,
                            message,
                            format!("add `{}` under `args`", escape(name)),
                        );
                    }
                    Some(ArgSpec { kind: ArgKind::Strings, .. }) if word != format!("{{{name}}}") => {
                        let message =
                            format!("`{{{}}}` is a list, so it must be a separate word", escape(name));
                        self.fault(&item.position, message);
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

/// Returns the names in `{…}`. Braces around anything else are plain text.
pub(crate) fn placeholders_of(word: &str) -> impl Iterator<Item = &str> {
    let names = word.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name));
    names.filter(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    })
}

fn is_of_kind(value: &Node, kind: ArgKind) -> bool {
    match kind {
        ArgKind::String | ArgKind::Strings => value.as_text().is_some(),
        ArgKind::Integer => matches!(&value.value, Value::Number(number) if !number.is_f64()),
        ArgKind::Number => matches!(value.value, Value::Number(_)),
        ArgKind::Boolean => value.as_bool().is_some(),
    }
}

/// Builds the JSON Schema of one argument.
fn arg_schema(spec: &Node) -> Json {
    let mut schema = match spec.to_json() {
        Json::Object(map) => map,
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => Args::new(),
    };
    schema.remove("optional");
    let kind = schema.entry("type").or_insert_with(|| "string".into()).clone();
    if kind == "array" {
        schema.entry("items").or_insert_with(|| serde_json::json!({ "type": "string" }));
    }
    Json::Object(schema)
}
