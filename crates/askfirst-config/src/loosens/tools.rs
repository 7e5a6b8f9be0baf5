//! Lists what trusting a project config would loosen about tools and MCP servers.

use std::collections::BTreeSet;

use askfirst::policy::GUARDED;
use askfirst::when::Glob;
use askfirst::{Approval, Case, Risk, ToolEntry};

use super::{tick, tick_path};
use crate::quote::escape;
use crate::read::BUILT_IN_TOOLS;
use crate::settings::{AskBy, McpServer, Settings, Upstream};

pub(super) fn compare_tools(old: &Settings, new: &Settings, lines: &mut Vec<String>) {
    for (name, tool) in new.commands.iter().filter(|(name, tool)| old.commands.get(*name) != Some(*tool)) {
        let command = escape(&tool.command.join(" "));
        lines.push(format!("the program `{command}` is offered as the tool {}", tick(name)));
    }
    let mut entries: Vec<_> = new.rules.entries().collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    for entry in entries {
        let before = old.rules.entries().find(|other| other.name == entry.name);
        let origins = |cases: &[Case]| cases.iter().map(|case| case.origin.clone()).collect::<Vec<_>>();
        if before.is_some_and(|before| origins(before.cases()) == origins(entry.cases())) {
            continue;
        }
        compare_details(before.map(ToolEntry::cases).unwrap_or_default(), entry, lines);
        compare_approvals(old, before, entry, lines);
    }
}

/// Compares everything about a tool except its approvals.
fn compare_details(before: &[Case], entry: &ToolEntry, lines: &mut Vec<String>) {
    let name = tick(&entry.name);
    let keys = |cases: &[Case]| -> BTreeSet<String> {
        cases.iter().flat_map(|case| case.exclude_keys.iter().cloned()).collect()
    };
    let (was, is) = (keys(before), keys(entry.cases()));
    for key in is.difference(&was) {
        lines.push(format!("the argument {} of the tool {name} is not written to the audit log", tick(key)));
    }
    for key in was.difference(&is) {
        lines.push(format!("the argument {} of the tool {name} is written to the audit log", tick(key)));
    }
    let texts = |cases: &[Case]| -> BTreeSet<String> {
        cases.iter().filter_map(|case| Some(case.description.as_ref()?.text().to_owned())).collect()
    };
    let (was, is) = (texts(before), texts(entry.cases()));
    for text in is.difference(&was) {
        lines.push(format!("calls to the tool {name} are described as {}", tick(text)));
    }
    for text in was.difference(&is) {
        lines.push(format!("calls to the tool {name} are no longer described as {}", tick(text)));
    }
    let options = |cases: &[Case]| {
        cases
            .iter()
            .map(|case| case.options.clone())
            .filter(|options| !options.is_empty())
            .collect::<Vec<_>>()
    };
    if options(before) != options(entry.cases()) {
        lines.push(format!("the tool {name} has other options"));
    }
    // A call that matches no condition has no risk from the config.
    let least = |cases: &[Case]| -> Option<Risk> {
        always_matches(cases).then(|| cases.iter().map(|case| case.risk).min()).flatten().flatten()
    };
    let (was, is) = (before.iter().filter_map(|case| case.risk).max(), least(entry.cases()));
    if let Some(was) = was.filter(|was| is.is_none_or(|is| is < *was)) {
        lines.push(format!("the tool {name}: its risk is no longer `{was}`"));
    }
}

/// Returns true if some case matches every call.
fn always_matches(cases: &[Case]) -> bool {
    cases.iter().any(|case| case.when.is_empty())
}

fn compare_approvals(old: &Settings, before: Option<&ToolEntry>, entry: &ToolEntry, lines: &mut Vec<String>) {
    let name = tick(&entry.name);
    let default = old.rules.default_approval().map_or(Approval::Required, |(approval, _)| approval);
    let strictest = |cases: &[Case]| cases.iter().filter_map(|case| case.approval).max();
    let covers = |other: &&ToolEntry| {
        other.name != entry.name && Glob::of_names(&other.name).is_ok_and(|glob| glob.is_match(&entry.name))
    };
    // Two globs may match the same tool even if neither glob matches the other.
    let may_overlap = |other: &&ToolEntry| {
        other.name != entry.name && [other, entry].iter().all(|entry| !Glob::is_plain(&entry.name))
    };
    let by_other_entries = || {
        let others = || old.rules.entries().filter(covers).map(ToolEntry::cases);
        let decides =
            |cases: &[Case]| cases.iter().any(|case| case.when.is_empty() && case.approval.is_some());
        let rest = (others().next().is_none() || !others().all(decides)).then_some(default);
        let overlapping = old.rules.entries().filter(may_overlap).map(ToolEntry::cases);
        others().chain(overlapping).filter_map(strictest).chain(rest).max()
    };
    let then = match before {
        Some(before) if always_matches(before.cases()) => strictest(before.cases()),
        // Only an exact name covers these tools.
        _ if GUARDED.contains(&entry.name.as_str()) => Some(default.max(Approval::Required)),
        Some(before) => strictest(before.cases()).max(by_other_entries()),
        None => by_other_entries(),
    };
    if !always_matches(entry.cases()) && before.is_some() && then != Some(Approval::None) {
        lines.push(format!(
            "the tool {name}: if no condition matches, less specific rules or its own assessment apply"
        ));
    }
    for case in entry.cases() {
        let now = case.approval;
        let is_looser = match (then, now) {
            // An exact name overrides the assessment of a built-in tool, which may be stricter than any entry.
            (_, now) if before.is_none() && BUILT_IN_TOOLS.contains(&entry.name.as_str()) => {
                now.is_some_and(|now| Some(now) < then.max(Some(Approval::Human)))
            }
            (Some(then), Some(now)) => now < then,
            (Some(then), None) => then > Approval::None,
            (None, Some(now)) => now < default.max(Approval::Required),
            (None, None) => false,
        };
        if is_looser {
            let now = now.map_or_else(|| "its own assessment applies".to_owned(), |now| format!("`{now}`"));
            let when = if case.when.is_empty() { "" } else { " if a condition matches" };
            lines.push(format!("the tool {name}: {now}{when}"));
        }
    }
}

pub(super) fn compare_servers(old: &Settings, new: &Settings, lines: &mut Vec<String>) {
    for (name, server) in new.mcp.iter().filter(|(name, server)| old.mcp.get(*name) != Some(*server)) {
        let (before, name) = (old.mcp.get(name), tick(name));
        lines.push(match &server.upstream {
            Upstream::Command(words) => format!("the MCP server {name} runs {}", tick(&words.join(" "))),
            Upstream::Url { url, .. } => format!("the MCP server {name} is at {}", tick(url)),
        });
        if let Upstream::Url { token_file: Some(file), .. } = &server.upstream {
            lines.push(format!("the MCP server {name} gets the token in {}", tick_path(file)));
        }
        let passed = before.map(|before| before.env_pass.as_slice()).unwrap_or_default();
        for variable in server.env_pass.iter().filter(|variable| !passed.contains(variable)) {
            lines.push(format!("the MCP server {name} gets the environment variable {}", tick(variable)));
        }
        if server.hide_denied && before.is_none_or(|before| !before.hide_denied) {
            lines.push(format!("the list of tools of the MCP server {name} omits those that are denied"));
        }
        let approvers = |server: &McpServer| server.ask_by.clone();
        if approvers(server) != before.map_or_else(|| vec![AskBy::Terminal], approvers) {
            let words: Vec<&str> = server.ask_by.iter().map(|approver| approver.as_str()).collect();
            lines.push(format!(
                "requests about the MCP server {name} are answered by {}",
                tick(&words.join(", "))
            ));
        }
    }
}
