//! `tools`: lists the tools of the config, each with the verdict for its calls.

use std::collections::BTreeSet;

use askfirst::explain::{RuleOutcome, explain};
use askfirst::{ApprovalContext, Args, Assessment, Because, Verdict};
use askfirst_config::Config;
use askfirst_display::escape::width;
use askfirst_runtime::tools::catalog::Catalog;
use serde::Serialize;
use serde_json::json;

use crate::args::Common;
use crate::exit::Exit;
use crate::print::out;
use crate::session::{print_config_warnings, read_config};

/// The maximum width of a column. Longer texts move the rest of their line.
const WIDEST: usize = 48;

/// One tool, or the tools that a name with `*` covers.
#[derive(Serialize)]
struct ListedTool {
    tool: String,
    /// The verdict for every call, or `None` if it differs between calls.
    verdict: Option<Verdict>,
    /// The rule that decides every call.
    because: Option<Because>,
    /// The part of a call that the verdict depends on.
    #[serde(skip_serializing_if = "Option::is_none")]
    depends_on: Option<&'static str>,
    description: String,
    /// Whether `call` and `run` can use the tool. The config may also have rules for tools of other programs.
    offered: bool,
}

/// Lists the tools.
pub fn tools(common: &Common) -> anyhow::Result<Exit> {
    let config = read_config(common)?;
    print_config_warnings(&config, common);
    let catalog = Catalog::new(config)?;
    let tools = listed(&catalog);
    if common.json {
        crate::print::json(&json!({ "tools": tools }));
        return Ok(Exit::Done);
    }
    let why = |tool: &ListedTool| match (tool.depends_on, &tool.because) {
        (Some(what), _) => format!("on its {what}"),
        (None, Some(because)) => because.place(),
        (None, None) => String::new(),
    };
    let names = tools.iter().map(|tool| width(&tool.tool)).max().unwrap_or_default().min(WIDEST);
    let reasons = tools.iter().map(|tool| width(&why(tool))).max().unwrap_or_default().min(WIDEST);
    let verdict = |tool: &ListedTool| match tool.verdict {
        Some(Verdict::Allow) => "runs",
        Some(Verdict::Rehearse) => "rehearsed",
        Some(Verdict::Ask) => "asks",
        Some(Verdict::Deny) => "denied",
        None => "depends",
    };
    let width_of_verdicts = tools.iter().map(|tool| verdict(tool).len()).max().unwrap_or_default().max(7);
    for tool in &tools {
        let verdict = verdict(tool);
        let ListedTool { tool: name, description, .. } = tool;
        out(format!("{verdict:<width_of_verdicts$}  {name:<names$}  {:<reasons$}  {description}", why(tool))
            .trim_end());
    }
    match tools.iter().any(|tool| tool.verdict.is_none()) {
        _ if tools.is_empty() => out(no_tools(&catalog.config)),
        true => out(
            "hint: use `askfirst explain` for the verdict of one call, such as `askfirst explain -- git status`",
        ),
        false => {}
    }
    Ok(Exit::Done)
}

/// Says why a config offers no tools.
pub fn no_tools(config: &Config) -> &'static str {
    if config.untrusted.tools.is_empty() {
        "no tools: no config defines one; hint: use `askfirst init` to write a config"
    } else {
        "no tools: the project's config is not trusted; hint: run `askfirst trust`"
    }
}

/// Returns the offered tools, then the rules for tools of other programs, each in the order of the names.
fn listed(catalog: &Catalog) -> Vec<ListedTool> {
    let mut offered = catalog.toolset.tools();
    offered.sort_by(|one, other| one.name.cmp(&other.name));
    let config = &catalog.config.main;
    let is_offered = |name: &str| offered.iter().any(|tool| tool.name == name);
    let mut others: BTreeSet<String> = config.rules.entries().map(|entry| entry.name.clone()).collect();
    others.extend(config.mcp.keys().map(|server| format!("mcp__{server}__*")));
    others.retain(|name| !is_offered(name));
    let own = offered.iter().map(|tool| {
        let description = tool.description.lines().next().unwrap_or_default().to_owned();
        ListedTool { description, offered: true, ..judged(catalog, &tool.name) }
    });
    let others = others.iter().map(|name| {
        let server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        let description = match server.filter(|(server, _)| config.mcp.contains_key(*server)) {
            Some((server, _)) => format!("tools of the MCP server `{server}`, behind `askfirst mcp`"),
            None => "rule for another program".to_owned(),
        };
        ListedTool { description, ..judged(catalog, name) }
    });
    own.chain(others).collect()
}

/// Judges a tool by its rules. The verdict is unknown if a rule has a condition, or if the tool itself assesses its calls.
fn judged(catalog: &Catalog, name: &str) -> ListedTool {
    let starts_process = catalog.config.main.commands.contains_key(name);
    let call = ApprovalContext::new(name, Args::new());
    let assessment = Assessment { starts_process, ..Assessment::silent() };
    let explanation = explain(&call, &assessment, &catalog.policy);
    let because = explanation.because.into_iter().next();
    let has_conditions =
        explanation.looked_at.iter().any(|rule| matches!(rule.found, RuleOutcome::ConditionFails(_)));
    let assesses = catalog.toolset.definition(name).is_some() && !starts_process;
    // A rule for exactly this name decides before the tool does, and so does every rule that denies.
    let by_rule = explanation.verdict == Verdict::Deny
        || because.as_ref().is_some_and(|because| *because.rule == *format!("tools.{name}"));
    let depends_on = match name {
        _ if has_conditions => Some("arguments"),
        _ if !assesses || by_rule => None,
        "shell" | "exec" => Some("command"),
        "shell_output" | "shell_stop" => Some("job"),
        _ => Some("path"),
    };
    ListedTool {
        tool: name.to_owned(),
        verdict: depends_on.is_none().then_some(explanation.verdict),
        because: because.filter(|_| depends_on.is_none()),
        depends_on,
        description: String::new(),
        offered: false,
    }
}
