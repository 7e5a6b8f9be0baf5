//! What trusting would loosen about tools by name, and about MCP servers.

use std::collections::BTreeSet;

use askfirst::policy::GUARDED;
use askfirst::when::Glob;
use askfirst::{Approval, Case, Risk, ToolEntry};

use super::{shown, tick};
use crate::quote::quoted;
use crate::read::OWN_TOOLS;
use crate::settings::{AskBy, McpServer, Settings, Upstream};

pub(super) fn tools(old: &Settings, new: &Settings, said: &mut Vec<String>) {
    for (name, tool) in new.commands.iter().filter(|(name, tool)| old.commands.get(*name) != Some(*tool)) {
        let command = quoted(&tool.command.join(" "));
        said.push(format!("the program `{command}` is offered as {}", tick(name)));
    }
    let mut entries: Vec<_> = new.rules.entries().collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    for entry in entries {
        let before = old.rules.entries().find(|other| other.name == entry.name);
        let origins = |cases: &[Case]| cases.iter().map(|case| case.origin.clone()).collect::<Vec<_>>();
        if before.is_some_and(|before| origins(before.cases()) == origins(entry.cases())) {
            continue;
        }
        told(before.map(ToolEntry::cases).unwrap_or_default(), entry, said);
        approvals(old, before, entry, said);
    }
}

/// What a person, the record and an override are told.
fn told(before: &[Case], entry: &ToolEntry, said: &mut Vec<String>) {
    let name = tick(&entry.name);
    let keys = |cases: &[Case]| -> BTreeSet<String> {
        cases.iter().flat_map(|case| case.exclude_keys.iter().cloned()).collect()
    };
    let (was, is) = (keys(before), keys(entry.cases()));
    for key in is.difference(&was) {
        said.push(format!("{} of the tool {name} is not recorded", tick(key)));
    }
    for key in was.difference(&is) {
        said.push(format!("{} of the tool {name} is recorded", tick(key)));
    }
    let texts = |cases: &[Case]| -> BTreeSet<String> {
        cases.iter().filter_map(|case| Some(case.description.as_ref()?.text().to_owned())).collect()
    };
    let (was, is) = (texts(before), texts(entry.cases()));
    for text in is.difference(&was) {
        said.push(format!("calls of the tool {name} are described as {}", tick(text)));
    }
    for text in was.difference(&is) {
        said.push(format!("calls of the tool {name} are no longer described as {}", tick(text)));
    }
    let options = |cases: &[Case]| {
        cases
            .iter()
            .map(|case| case.options.clone())
            .filter(|options| !options.is_empty())
            .collect::<Vec<_>>()
    };
    if options(before) != options(entry.cases()) {
        said.push(format!("the tool {name} has other options"));
    }
    // Where no condition holds, no risk is named either.
    let least = |cases: &[Case]| -> Option<Risk> {
        certain(cases).then(|| cases.iter().map(|case| case.risk).min()).flatten().flatten()
    };
    let (was, is) = (before.iter().filter_map(|case| case.risk).max(), least(entry.cases()));
    if let Some(was) = was.filter(|was| is.is_none_or(|is| is < *was)) {
        said.push(format!("the tool {name}: its risk is no longer `{was}`"));
    }
}

fn certain(cases: &[Case]) -> bool {
    cases.iter().any(|case| case.when.is_empty())
}

fn approvals(old: &Settings, before: Option<&ToolEntry>, entry: &ToolEntry, said: &mut Vec<String>) {
    let name = tick(&entry.name);
    let default = old.rules.default_approval().map_or(Approval::Required, |(approval, _)| approval);
    let strictest = |cases: &[Case]| cases.iter().filter_map(|case| case.approval).max();
    let covers = |other: &&ToolEntry| {
        other.name != entry.name && Glob::of_names(&other.name).is_ok_and(|glob| glob.is_match(&entry.name))
    };
    // Two globs may cover the same name, though neither covers the other.
    let overlaps = |other: &&ToolEntry| {
        other.name != entry.name && [other, entry].iter().all(|entry| !Glob::is_plain(&entry.name))
    };
    let around = || {
        let others = || old.rules.entries().filter(covers).map(ToolEntry::cases);
        let decides =
            |cases: &[Case]| cases.iter().any(|case| case.when.is_empty() && case.approval.is_some());
        let rest = (others().next().is_none() || !others().all(decides)).then_some(default);
        let near = old.rules.entries().filter(overlaps).map(ToolEntry::cases);
        others().chain(near).filter_map(strictest).chain(rest).max()
    };
    let then = match before {
        Some(before) if certain(before.cases()) => strictest(before.cases()),
        // Nothing but their own name covers these.
        _ if GUARDED.contains(&entry.name.as_str()) => Some(default.max(Approval::Required)),
        Some(before) => strictest(before.cases()).max(around()),
        None => around(),
    };
    if !certain(entry.cases()) && before.is_some() && then != Some(Approval::None) {
        said.push(format!("the tool {name}: less specific names or its own view where no condition holds"));
    }
    for case in entry.cases() {
        let now = case.approval;
        let milder = match (then, now) {
            // What such a tool says of its calls may be stricter than any entry, and an exact name has the last word.
            (_, now) if before.is_none() && OWN_TOOLS.contains(&entry.name.as_str()) => {
                now.is_some_and(|now| Some(now) < then.max(Some(Approval::Human)))
            }
            (Some(then), Some(now)) => now < then,
            (Some(then), None) => then > Approval::None,
            (None, Some(now)) => now < default.max(Approval::Required),
            (None, None) => false,
        };
        if milder {
            let now = now.map_or_else(|| "the tool's own view".to_owned(), |now| format!("`{now}`"));
            let when = if case.when.is_empty() { "" } else { " under a condition" };
            said.push(format!("the tool {name}: {now}{when}"));
        }
    }
}

pub(super) fn servers(old: &Settings, new: &Settings, said: &mut Vec<String>) {
    for (name, server) in new.mcp.iter().filter(|(name, server)| old.mcp.get(*name) != Some(*server)) {
        let (before, name) = (old.mcp.get(name), tick(name));
        let what = match &server.upstream {
            Upstream::Command(words) => format!("`{}` is started", quoted(&words.join(" "))),
            Upstream::Url { url, .. } => format!("{} is reached", tick(url)),
        };
        said.push(format!("{what} as the MCP server {name}"));
        if let Upstream::Url { token_file: Some(file), .. } = &server.upstream {
            said.push(format!("the MCP server {name} is sent the token in {}", shown(file)));
        }
        let seen = before.map(|before| before.env_pass.as_slice()).unwrap_or_default();
        for variable in server.env_pass.iter().filter(|variable| !seen.contains(variable)) {
            said.push(format!("the MCP server {name} sees the environment variable {}", tick(variable)));
        }
        if server.hide_denied && before.is_none_or(|before| !before.hide_denied) {
            said.push(format!("tools of the MCP server {name} that are denied are left out of its lists"));
        }
        let asked = |server: &McpServer| server.ask_by.clone();
        if asked(server) != before.map_or_else(|| vec![AskBy::Terminal], asked) {
            let ways: Vec<&str> = server.ask_by.iter().map(|way| way.as_str()).collect();
            said.push(format!(
                "calls of the MCP server {name} are asked about by {}",
                tick(&ways.join(", "))
            ));
        }
    }
}
