//! Programs as tools. The config names a program and its words, and the call fills in arguments. No shell is involved.
//!
//! An argument always stays one word. It cannot become an option unless the command has a `--` before it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use askfirst::ports::{Access, Launch, Launcher, WriteScope};
use askfirst::toolset::BoxFuture;
use askfirst::{
    Action, ApprovalAware, ApprovalContext, ApprovalPresentation, ApprovalRequest, Args, Assessment, Fact,
    Invocation, PresentationKind, Shown, ToolDefinition, ToolError, Toolset,
};
use askfirst_config::{ArgKind, ArgSpec, CommandTool, Limits};
use serde_json::Value;

use crate::tools::finished::quoted;
use crate::tools::shell::run_to_end;

/// The command tools of a config.
pub struct CommandToolset {
    tools: BTreeMap<String, CommandTool>,
    env: Vec<(OsString, OsString)>,
    limits: Limits,
    launcher: Arc<dyn Launcher>,
}

impl CommandToolset {
    /// Creates tools whose processes get these variables and limits.
    #[must_use]
    pub fn new(
        tools: BTreeMap<String, CommandTool>,
        env: Vec<(OsString, OsString)>,
        limits: Limits,
        launcher: Arc<dyn Launcher>,
    ) -> Self {
        Self { tools, env, limits, launcher }
    }

    fn launch_of(&self, tool: &CommandTool, args: &Args, access: Access) -> Result<Launch, String> {
        let argv = words(tool, args)?;
        Ok(Launch {
            argv: argv.into_iter().map(OsString::from).collect(),
            env: self.env.clone(),
            folder: tool.folder.clone(),
            stdin: Vec::new(),
            wall: Some(self.limits.wall),
            cpu: Some(self.limits.cpu),
            memory: Some(self.limits.memory),
            processes: Some(self.limits.processes),
            file: Some(self.limits.file),
            output: usize::try_from(self.limits.output).unwrap_or(usize::MAX),
            access,
            accepted: Vec::new(),
            writes: WriteScope::Everything,
        })
    }
}

impl Toolset for CommandToolset {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.tools.values().map(definition).collect()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        let launch = match self.tools.get(&invocation.call.tool_name) {
            Some(tool) => {
                self.launch_of(tool, invocation.args(), invocation.access).map_err(ToolError::BadArgs)
            }
            None => Err(ToolError::Unknown(invocation.call.tool_name.clone())),
        };
        let launcher = Arc::clone(&self.launcher);
        Box::pin(async move {
            let launch = launch?;
            let argv: Vec<String> =
                launch.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let line = quoted(&argv);
            run_to_end(launcher, launch, &line, &invocation).await
        })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.tools.get(name).map(definition)
    }
}

impl ApprovalAware for CommandToolset {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        let Some(tool) = self.tools.get(&call.tool_name) else { return Assessment::silent() };
        match words(tool, &call.args) {
            Err(reason) => Assessment::blocked(reason),
            Ok(argv) => Assessment {
                starts_process: true,
                facts: vec![
                    Fact::new("runs", quoted(&argv)),
                    Fact::new("folder", tool.folder.display().to_string()),
                ],
                ..Assessment::silent()
            },
        }
    }

    fn present(&self, call: &ApprovalContext, _: &ApprovalRequest) -> Shown {
        let argv = self.tools.get(&call.tool_name).and_then(|tool| words(tool, &call.args).ok());
        let Some(line) = argv.map(|argv| quoted(&argv)) else { return Shown::default() };
        Shown {
            action: Some(Action::new("run: ").value(&line)),
            presentation: Some(ApprovalPresentation::new(PresentationKind::Command, line)),
            ..Shown::default()
        }
    }

    fn place_of(&self, call: &ApprovalContext, path: &str) -> Option<PathBuf> {
        Some(self.tools.get(&call.tool_name)?.folder.join(path))
    }
}

fn definition(tool: &CommandTool) -> ToolDefinition {
    // A person trusts these exact words, so a changed command must count as a different tool.
    let about = format!("{} [runs: {}]", tool.description, quoted(&tool.command));
    ToolDefinition::new(tool.name.clone(), about.trim().to_owned(), tool.input_schema())
}

/// Returns the words of the command that would run.
fn words(tool: &CommandTool, args: &Args) -> Result<Vec<String>, String> {
    for (name, value) in args {
        let Some(spec) = tool.args.get(name) else { return Err(format!("unknown argument `{name}`")) };
        check(name, spec, value)?;
    }
    if let Some((name, _)) = tool.args.iter().find(|(name, spec)| !spec.optional && !args.contains_key(*name))
    {
        return Err(format!("the argument `{name}` is missing"));
    }
    let mut words: Vec<String> = Vec::new();
    for word in &tool.command {
        let options_may_follow = !words.iter().skip(1).any(|word| word == "--");
        for filled in fill(word, args) {
            let from_call = word.starts_with('{') && *word != filled;
            if from_call && options_may_follow && filled.starts_with('-') {
                return Err(format!("the program would read `{filled}` as an option"));
            }
            words.push(filled);
        }
    }
    Ok(words)
}

/// Fills arguments into one word. The result is empty if an argument is missing, and several words if the word is only
/// a list.
fn fill(word: &str, args: &Args) -> Vec<String> {
    let alone = word
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .filter(|name| !name.contains(['{', '}']));
    if let Some(value) = alone.and_then(|name| args.get(name)) {
        return match value {
            Value::Array(items) => items.iter().map(text).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                vec![text(value)]
            }
        };
    }
    let template = askfirst::request::Template::new(word);
    if template.names().any(|name| !args.contains_key(name)) {
        return Vec::new();
    }
    vec![template.fill(args, &[])]
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn check(name: &str, spec: &ArgSpec, value: &Value) -> Result<(), String> {
    let (fits, wanted) = match spec.kind {
        ArgKind::String => (value.is_string(), "a string"),
        ArgKind::Integer => (value.is_i64() || value.is_u64(), "a whole number without a decimal point"),
        ArgKind::Number => (value.is_number(), "a number"),
        ArgKind::Boolean => (value.is_boolean(), "true or false"),
        ArgKind::Strings => {
            (value.as_array().is_some_and(|items| items.iter().all(Value::is_string)), "a list of strings")
        }
    };
    if !fits {
        return Err(format!("the argument `{name}` must be {wanted}, not {}", askfirst::json::kind(value)));
    }
    let texts: Vec<String> = match value {
        Value::Array(items) => items.iter().map(text).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            vec![text(value)]
        }
    };
    if texts.iter().any(|text| text.contains('\0')) {
        return Err(format!("the argument `{name}` contains a NUL byte"));
    }
    if !spec.one_of.is_empty() && texts.iter().any(|text| !spec.one_of.contains(text)) {
        return Err(format!("the argument `{name}` must be one of: {}", spec.one_of.join(", ")));
    }
    Ok(())
}

#[cfg(test)]
#[path = "command/tests.rs"]
mod tests;
