//! What stands under a name or in a list: a rule, a tool, a server, with each value that it has.

use askfirst::when::Test;
use askfirst::{Case, ToolEntry};

use askfirst_shell::ShellRule;

use super::{EffectiveLine, line, list, place};
use crate::quote::quoted;
use crate::settings::{ArgKind, ArgSpec, AskBy, CommandTool, McpServer, Settings, Upstream};

/// Rules about commands, counted as they are looked at: those of several files are one list.
pub(super) fn rules(rules: &[ShellRule]) -> Vec<EffectiveLine> {
    let each = rules.iter().enumerate();
    each.map(|(n, rule)| line(&format!("shell.rules[{n}]"), of_rule(rule), place(&rule.origin))).collect()
}

fn of_rule(rule: &ShellRule) -> String {
    let mut parts = vec![rule.origin.text.to_string()];
    parts.extend(rule.exact.then(|| "exact: true".to_owned()));
    parts.extend(rule.risk.map(|risk| format!("risk: {risk}")));
    parts.extend(rule.description.as_ref().map(|text| format!("description: {}", quoted(text))));
    let paths = &rule.sandbox_paths;
    parts.extend((!paths.is_empty()).then(|| format!("sandbox_paths: {}", list(paths))));
    parts.join(", ")
}

/// What is said about tools, by their names.
pub(super) fn tools(settings: &Settings) -> Vec<EffectiveLine> {
    let mut entries: Vec<&ToolEntry> = settings.rules.entries().collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let cases = entries.iter().flat_map(|entry| {
        let program = settings.commands.get(&entry.name);
        entry.cases().iter().map(move |case| (case, program))
    });
    cases
        .map(|(case, program)| line(&case.origin.rule, of_case(case, program), place(&case.origin)))
        .collect()
}

fn of_case(case: &Case, program: Option<&CommandTool>) -> String {
    let mut parts = vec![match case.approval {
        Some(approval) => format!("approval: {approval}"),
        None => "the tool's own view".to_owned(),
    }];
    let when: Vec<String> = case
        .when
        .iter()
        .map(|condition| {
            let tests: Vec<String> = condition.any_of.iter().map(of_test).collect();
            format!("{}: {}", quoted(&condition.field), list(&tests))
        })
        .collect();
    parts.extend((!when.is_empty()).then(|| format!("when: {{ {} }}", when.join(", "))));
    parts.extend(case.risk.map(|risk| format!("risk: {risk}")));
    parts.extend(case.description.as_ref().map(|text| format!("description: {}", quoted(text.text()))));
    let keys = &case.exclude_keys;
    parts.extend((!keys.is_empty()).then(|| format!("exclude_keys: {}", list(keys))));
    let options = serde_json::Value::Object(case.options.clone());
    parts.extend((!case.options.is_empty()).then(|| format!("options: {}", quoted(&options.to_string()))));
    if let Some(program) = program {
        parts.push(format!("command: {}", list(&program.command)));
        let args: Vec<String> = program.args.iter().map(|(name, arg)| of_arg(name, arg)).collect();
        parts.extend((!args.is_empty()).then(|| format!("args: {{ {} }}", args.join(", "))));
    }
    parts.join(", ")
}

fn of_test(test: &Test) -> String {
    match test {
        Test::Exact(serde_json::Value::String(text)) => text.clone(),
        Test::Exact(value) => value.to_string(),
        Test::Glob(glob) | Test::Path(glob) => glob.text().to_owned(),
    }
}

fn of_arg(name: &str, arg: &ArgSpec) -> String {
    let kind = match arg.kind {
        ArgKind::String => "string",
        ArgKind::Integer => "integer",
        ArgKind::Number => "number",
        ArgKind::Boolean => "boolean",
        ArgKind::Strings => "array",
    };
    let optional = if arg.optional { " (optional)" } else { "" };
    let values = if arg.one_of.is_empty() { String::new() } else { format!(" of {}", list(&arg.one_of)) };
    format!("{}: {kind}{values}{optional}", quoted(name))
}

/// The servers behind the gateway.
pub(super) fn servers<'a>(servers: impl Iterator<Item = &'a McpServer>) -> Vec<EffectiveLine> {
    servers.map(|server| line(&server.origin.rule, of_server(server), place(&server.origin))).collect()
}

fn of_server(server: &McpServer) -> String {
    let mut parts = Vec::new();
    match &server.upstream {
        Upstream::Command(words) => {
            parts.push(format!("command: {}", list(words)));
            parts.push(format!("env.pass: {}", list(&server.env_pass)));
        }
        Upstream::Url { url, token_file } => {
            parts.push(format!("url: {}", quoted(url)));
            let file = token_file.as_ref().map(|file| quoted(&file.display().to_string()));
            parts.extend(file.map(|file| format!("token_file: {file}")));
        }
    }
    parts.push(format!("hide_denied: {}", server.hide_denied));
    let ways: Vec<String> = server.ask_by.iter().map(|way| way.as_str().to_owned()).collect();
    parts.push(format!("ask_by: {}", list(&ways)));
    parts.join(", ")
}

impl AskBy {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Watch => "watch",
            Self::Elicitation => "elicitation",
        }
    }
}
