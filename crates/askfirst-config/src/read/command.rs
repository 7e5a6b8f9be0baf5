//! Programs as tools: a command with placeholders, and the arguments that fill them.

use std::collections::BTreeMap;

use askfirst::Args;
use askfirst::when::Glob;
use serde_json::Value as Json;

use super::{Reader, text, texts};
use crate::node::{Entry, Node, Value};
use crate::quote::quoted;
use crate::settings::{ArgKind, ArgSpec, CommandTool};

/// Names that tools of our own have, which no program may take.
pub(crate) const OWN_TOOLS: &[&str] = &[
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

impl Reader<'_> {
    pub(super) fn command_tool(&mut self, entry: &Entry, rule: &str) -> Option<CommandTool> {
        let node = &entry.value;
        let Some(command) = node.get("command") else {
            for key in ["args", "about"] {
                if let Some(found) = node.entry(key) {
                    self.fault(&found.at, format!("`{key}` is of no use without `command`"));
                }
            }
            return None;
        };
        self.command_name(entry);
        let args = self.args(node.get("args"));
        self.placeholders(command, &args);
        let words = texts(command);
        let shown = quoted(&words.join(" "));
        let schema = node.get("args").map(Node::entries).unwrap_or_default().iter();
        let schema: Args = schema.map(|arg| (arg.key.clone(), arg_schema(&arg.value))).collect();
        for (name, place) in
            node.get("args").map(Node::entries).unwrap_or_default().iter().map(|a| (&a.key, &a.at))
        {
            if !words.iter().any(|word| placeholders_of(word).any(|found| found == name)) {
                let message = format!("the argument `{}` stands nowhere in `command`", quoted(name));
                self.warn(place, message, format!("write `{{{}}}` where it belongs", quoted(name)));
            }
        }
        Some(CommandTool {
            name: entry.key.clone(),
            description: self.description_of(node).unwrap_or_else(|| format!("Runs `{shown}`.")),
            command: words,
            args,
            schema,
            folder: self.base.folder.clone(),
            origin: self.because(rule, &entry.at, format!("command: {shown}")),
        })
    }

    fn command_name(&mut self, entry: &Entry) {
        let name = entry.key.as_str();
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !Glob::is_plain(name) {
            self.fault(&entry.at, format!("`{}` is a glob, and a program needs a name", quoted(name)));
        } else if OWN_TOOLS.contains(&name) || name.starts_with("mcp__") {
            self.fault_with_hint(
                &entry.at,
                format!("`{}` is the name of another tool", quoted(name)),
                "choose a name of its own",
            );
        } else if !name.chars().all(fine) {
            let message = format!("`{}` is not a name for a tool", quoted(name));
            self.fault_with_hint(&entry.at, message, "use letters, digits, `_`, `-` and `.`");
        }
    }

    fn args(&mut self, node: Option<&Node>) -> BTreeMap<String, ArgSpec> {
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
                self.fault(&items.at, "`items` is for an array");
            }
            let allowed = spec.get("enum").map(Node::items).unwrap_or_default();
            for value in allowed.iter().filter(|value| !fits(value, kind)) {
                let message = format!("`{}` is not of the argument's type", value.brief());
                self.fault(&value.place, message);
            }
            let one_of =
                allowed.iter().map(|value| value.as_text().map_or_else(|| value.brief(), str::to_owned));
            let optional = spec.get("optional").and_then(Node::as_bool).unwrap_or(false);
            args.insert(entry.key.clone(), ArgSpec { kind, optional, one_of: one_of.collect() });
        }
        args
    }

    fn placeholders(&mut self, command: &Node, args: &BTreeMap<String, ArgSpec>) {
        let items = command.items();
        if items.first().is_none_or(|program| program.as_text().is_some_and(str::is_empty))
            && matches!(command.value, Value::List(_))
        {
            self.fault(&command.place, "the command names no program");
        }
        for (n, item) in items.iter().enumerate() {
            let Some(word) = item.as_text() else { continue };
            let names: Vec<&str> = placeholders_of(word).collect();
            if let Some(name) = names.first().filter(|_| n == 0) {
                let message = format!("the program cannot be an argument: `{{{}}}`", quoted(name));
                self.fault_with_hint(&item.place, message, "a call must not choose what is started");
            }
            for name in names {
                match args.get(name) {
                    None => {
                        let message = format!("`{{{}}}` has no argument", quoted(name));
                        self.fault_with_hint(
                            &item.place,
                            message,
                            format!("add `{}` under `args`", quoted(name)),
                        );
                    }
                    Some(ArgSpec { kind: ArgKind::Strings, .. }) if word != format!("{{{name}}}") => {
                        let message =
                            format!("`{{{}}}` is a list, so it must be a word of its own", quoted(name));
                        self.fault(&item.place, message);
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

/// The names in braces; other braces stand for themselves.
pub(crate) fn placeholders_of(word: &str) -> impl Iterator<Item = &str> {
    let names = word.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(name, _)| name));
    names.filter(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
    })
}

fn fits(value: &Node, kind: ArgKind) -> bool {
    match kind {
        ArgKind::String | ArgKind::Strings => value.as_text().is_some(),
        ArgKind::Integer => matches!(&value.value, Value::Number(number) if !number.is_f64()),
        ArgKind::Number => matches!(value.value, Value::Number(_)),
        ArgKind::Boolean => value.as_bool().is_some(),
    }
}

/// The JSON Schema of one argument.
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
