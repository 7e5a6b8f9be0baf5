//! Formats shell rules, tools and MCP servers for the list of effective values.

use askfirst::when::Test;
use askfirst::{Case, ToolEntry};

use askfirst_shell::ShellRule;

use super::{EffectiveLine, line, list, location};
use crate::quote::escape;
use crate::read::OWN_ASSESSMENT;
use crate::settings::{ArgKind, ArgSpec, CommandTool, McpServer, Settings, Upstream};

/// Lists the shell rules. The index is the position in the merged list, not in one file.
pub(super) fn rules(rules: &[ShellRule]) -> Vec<EffectiveLine> {
    let each = rules.iter().enumerate();
    each.map(|(n, rule)| line(&format!("shell.rules[{n}]"), format_rule(rule), location(&rule.origin)))
        .collect()
}

fn format_rule(rule: &ShellRule) -> String {
    let mut parts = vec![rule.origin.text.to_string()];
    parts.extend(rule.exact.then(|| "exact: true".to_owned()));
    parts.extend(rule.network.map(|access| format!("network: {access}")));
    parts.extend(rule.risk.map(|risk| format!("risk: {risk}")));
    parts.extend(rule.description.as_ref().map(|text| format!("description: {}", escape(text))));
    let paths = &rule.sandbox_paths;
    parts.extend((!paths.is_empty()).then(|| format!("sandbox_paths: {}", list(paths))));
    parts.join(", ")
}

/// Lists the rules for tools, sorted by tool name.
pub(super) fn tools(settings: &Settings) -> Vec<EffectiveLine> {
    let mut entries: Vec<&ToolEntry> = settings.rules.entries().collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let cases = entries.iter().flat_map(|entry| {
        let program = settings.commands.get(&entry.name);
        entry.cases().iter().map(move |case| (case, program))
    });
    cases
        .map(|(case, program)| line(&case.origin.rule, format_case(case, program), location(&case.origin)))
        .collect()
}

fn format_case(case: &Case, program: Option<&CommandTool>) -> String {
    let mut parts = vec![match case.approval {
        Some(approval) => format!("approval: {approval}"),
        None => OWN_ASSESSMENT.to_owned(),
    }];
    let when: Vec<String> = case
        .when
        .iter()
        .map(|condition| {
            let tests: Vec<String> = condition.any_of.iter().map(format_test).collect();
            format!("{}: {}", escape(&condition.field), list(&tests))
        })
        .collect();
    parts.extend((!when.is_empty()).then(|| format!("when: {{ {} }}", when.join(", "))));
    parts.extend(case.risk.map(|risk| format!("risk: {risk}")));
    parts.extend(case.description.as_ref().map(|text| format!("description: {}", escape(text.text()))));
    let keys = &case.exclude_keys;
    parts.extend((!keys.is_empty()).then(|| format!("exclude_keys: {}", list(keys))));
    let options = serde_json::Value::Object(case.options.clone());
    parts.extend((!case.options.is_empty()).then(|| format!("options: {}", escape(&options.to_string()))));
    if let Some(program) = program {
        parts.push(format!("command: {}", list(&program.command)));
        let args: Vec<String> = program.args.iter().map(|(name, arg)| format_arg(name, arg)).collect();
        parts.extend((!args.is_empty()).then(|| format!("args: {{ {} }}", args.join(", "))));
    }
    parts.join(", ")
}

fn format_test(test: &Test) -> String {
    match test {
        Test::Exact(serde_json::Value::String(text)) => text.clone(),
        Test::Exact(value) => value.to_string(),
        Test::Glob(glob) | Test::Path(glob) => glob.text().to_owned(),
    }
}

fn format_arg(name: &str, arg: &ArgSpec) -> String {
    let kind = match arg.kind {
        ArgKind::String => "string",
        ArgKind::Integer => "integer",
        ArgKind::Number => "number",
        ArgKind::Boolean => "boolean",
        ArgKind::Strings => "array",
    };
    let optional = if arg.optional { " (optional)" } else { "" };
    let values = if arg.one_of.is_empty() { String::new() } else { format!(" of {}", list(&arg.one_of)) };
    format!("{}: {kind}{values}{optional}", escape(name))
}

/// Lists the MCP servers.
pub(super) fn servers<'a>(servers: impl Iterator<Item = &'a McpServer>) -> Vec<EffectiveLine> {
    servers.map(|server| line(&server.origin.rule, format_server(server), location(&server.origin))).collect()
}

fn format_server(server: &McpServer) -> String {
    let mut parts = Vec::new();
    match &server.upstream {
        Upstream::Command(words) => {
            parts.push(format!("command: {}", list(words)));
            parts.push(format!("env.pass: {}", list(&server.env_pass)));
        }
        Upstream::Url { url, token_file } => {
            parts.push(format!("url: {}", escape(url)));
            let file = token_file.as_ref().map(|file| escape(&file.display().to_string()));
            parts.extend(file.map(|file| format!("token_file: {file}")));
        }
    }
    parts.push(format!("hide_denied: {}", server.hide_denied));
    let approvers: Vec<String> = server.ask_by.iter().map(|approver| approver.as_str().to_owned()).collect();
    parts.push(format!("ask_by: {}", list(&approvers)));
    parts.join(", ")
}
