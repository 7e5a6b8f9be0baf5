//! Parses the arguments of a call strictly, and defines the shell tools for the model.

use std::path::PathBuf;
use std::time::Duration;

use askfirst::{Args, ToolDefinition};
use askfirst_shell::CommandCall;
use serde_json::{Value, json};

use crate::tools::finished::quoted;

/// The maximum length of a text argument, in bytes.
const MAX_TEXT: usize = 128 << 10;

/// The thing to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandForm {
    /// The text, run by a shell.
    Line,
    /// A program with its arguments, without a shell.
    Words(Vec<String>),
}

/// How long a call waits for its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Until the command has ended.
    ForEnd,
    /// The call returns at once.
    No,
}

/// The parsed arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellArguments {
    pub(super) what: CommandForm,
    /// The exact text. For `exec`, the words as quoted for a shell.
    pub(super) text: String,
    /// The folder to run in, relative to the config's folder.
    pub(super) folder: PathBuf,
    pub(super) timeout: Option<Duration>,
    pub(super) stdin: String,
    pub(super) wait: Wait,
}

impl ShellArguments {
    /// Returns the parts of the call that its payload depends on.
    pub(super) fn command_call(&self) -> CommandCall<'_> {
        CommandCall {
            text: &self.text,
            stdin: &self.stdin,
            background: self.wait == Wait::No,
            by_shell: self.what == CommandForm::Line,
        }
    }

    /// Parses the arguments of `shell` or `exec`. Returns `None` for another tool.
    pub(super) fn read(tool: &str, args: &Args) -> Option<Result<Self, String>> {
        match tool {
            "shell" => Some(Self::shell(args)),
            "exec" => Some(Self::exec(args)),
            _ => None,
        }
    }

    fn shell(args: &Args) -> Result<Self, String> {
        known(args, &["command", "cwd", "timeout", "stdin", "background"])?;
        let text = text(args, "command")?.ok_or("the argument `command` is missing")?;
        if text.trim().is_empty() {
            return Err("the argument `command` is empty".to_owned());
        }
        let wait = match args.get("background") {
            None | Some(Value::Bool(false)) => Wait::ForEnd,
            Some(Value::Bool(true)) => Wait::No,
            Some(_) => return Err("the argument `background` must be true or false".to_owned()),
        };
        Ok(Self { what: CommandForm::Line, text, wait, ..Self::common(args)? })
    }

    fn exec(args: &Args) -> Result<Self, String> {
        known(args, &["argv", "cwd", "timeout", "stdin"])?;
        let items = args
            .get("argv")
            .and_then(Value::as_array)
            .ok_or("the argument `argv` must be a list of strings")?;
        let words: Option<Vec<String>> = items.iter().map(|item| item.as_str().map(str::to_owned)).collect();
        let words = words.ok_or("the argument `argv` must be a list of strings")?;
        if words.first().is_none_or(String::is_empty) {
            return Err("the argument `argv` names no program".to_owned());
        }
        if words.iter().any(|word| word.contains('\0')) {
            return Err("the argument `argv` contains a NUL byte".to_owned());
        }
        let text = quoted(&words);
        if text.len() > MAX_TEXT {
            return Err(format!("the argument `argv` is longer than {MAX_TEXT} bytes"));
        }
        Ok(Self { what: CommandForm::Words(words), text, ..Self::common(args)? })
    }

    fn common(args: &Args) -> Result<Self, String> {
        let timeout = match args.get("timeout") {
            None | Some(Value::Null) => None,
            Some(value) => {
                let seconds = value.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= 31_536_000.0);
                let seconds =
                    seconds.ok_or("the argument `timeout` must be a number of seconds greater than 0")?;
                Some(Duration::from_secs_f64(seconds))
            }
        };
        Ok(Self {
            what: CommandForm::Words(Vec::new()),
            text: String::new(),
            folder: text(args, "cwd")?.unwrap_or_default().into(),
            timeout,
            stdin: match args.get("stdin") {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(stdin)) => stdin.clone(),
                Some(_) => return Err("the argument `stdin` must be a string".to_owned()),
            },
            wait: Wait::ForEnd,
        })
    }
}

fn known(args: &Args, keys: &[&str]) -> Result<(), String> {
    match args.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown argument `{key}`; expected one of: {}", keys.join(", "))),
        None => Ok(()),
    }
}

fn text(args: &Args, key: &str) -> Result<Option<String>, String> {
    match args.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.contains('\0') => {
            Err(format!("the argument `{key}` contains a NUL byte"))
        }
        Some(Value::String(text)) if text.len() > MAX_TEXT => {
            Err(format!("the argument `{key}` is longer than {MAX_TEXT} bytes"))
        }
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            Err(format!("the argument `{key}` must be a string, not {}", askfirst::json::kind(other)))
        }
    }
}

/// Returns the definitions that the model gets.
pub(super) fn definitions() -> Vec<ToolDefinition> {
    let common = |more: Value, required: &str| {
        let mut properties = json!({
            "cwd": {"type": "string", "description": "the folder to run in, relative to the project folder"},
            "timeout": {"type": "number", "exclusiveMinimum": 0, "description": "the time limit in seconds; it can only shorten the configured limit"},
            "stdin": {"type": "string", "description": "the text that the command reads from standard input"},
        });
        if let (Some(all), Value::Object(more)) = (properties.as_object_mut(), more) {
            all.extend(more);
        }
        json!({"type": "object", "properties": properties, "required": [required], "additionalProperties": false})
    };
    let job = |more: Value| {
        let mut properties = json!({"id": {"type": "string", "description": "the id that `shell` returned"}});
        if let (Some(all), Value::Object(more)) = (properties.as_object_mut(), more) {
            all.extend(more);
        }
        json!({"type": "object", "properties": properties, "required": ["id"], "additionalProperties": false})
    };
    vec![
        ToolDefinition::new(
            "shell",
            "Runs a command line with bash. Plain commands joined by `&&`, `|` and `;` need approval least often.",
            common(
                json!({
                    "command": {"type": "string"},
                    "background": {"type": "boolean", "description": "return at once, with an id for shell_output and shell_stop"},
                }),
                "command",
            ),
        ),
        ToolDefinition::new(
            "exec",
            "Runs a program with exactly these arguments, without a shell.",
            common(json!({"argv": {"type": "array", "items": {"type": "string"}, "minItems": 1}}), "argv"),
        ),
        ToolDefinition::new(
            "shell_output",
            "Returns the state of a background command: `running` with its output so far, or its result.",
            job(
                json!({"wait": {"type": "number", "minimum": 0, "description": "how many seconds to wait for the command to end"}}),
            ),
        ),
        ToolDefinition::new("shell_stop", "Stops a background command.", job(json!({}))),
    ]
}
