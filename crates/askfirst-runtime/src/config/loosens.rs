//! What trusting a project's config would loosen, in sentences a person can weigh.

use std::path::{Path, PathBuf};

use askfirst::policy::GUARDED;
use askfirst::when::Glob;
use askfirst::{Approval, Rules};

use super::effective::{plain_value, time};
use super::quote::quoted;
use super::settings::{
    Config, DEFAULT_APPROVAL_TIMEOUT, DEFAULT_MEMORY_EXPIRE, PathConfig, PathMode, Settings, ShellConfig,
    Upstream,
};

/// What holds more loosely in `with` than in `without`.
#[must_use]
pub fn loosens(without: &Config, with: &Config) -> Vec<String> {
    let mut said = Vec::new();
    let (old, new) = (&without.main, &with.main);
    general(old, new, &mut said);
    roots(old, new, &mut said);
    match (&old.shell, &new.shell) {
        (None, Some(shell)) => {
            said.push("the shell tool is offered".to_owned());
            commands(
                &ShellConfig { env_pass: shell.env_pass.clone(), ..ShellConfig::default() },
                shell,
                &mut said,
            );
        }
        (Some(old), Some(new)) => commands(old, new, &mut said),
        (_, None) => {}
    }
    tools(without, with, &mut said);
    servers(old, new, &mut said);
    said
}

fn general(old: &Settings, new: &Settings, said: &mut Vec<String>) {
    let default =
        |rules: &Rules| rules.default_approval().map_or(Approval::Required, |(approval, _)| approval);
    milder("tools that nobody speaks for", default(&old.rules), default(&new.rules), said);
    let wait = |settings: &Settings| settings.approval_timeout.unwrap_or(DEFAULT_APPROVAL_TIMEOUT);
    if wait(new) > wait(old) {
        said.push(format!("questions wait {} instead of {}", time(wait(new)), time(wait(old))));
    }
    let memory = |settings: &Settings| settings.memory_expire.unwrap_or(DEFAULT_MEMORY_EXPIRE);
    if memory(new) > memory(old) {
        let (new, old) = (time(memory(new)), time(memory(old)));
        said.push(format!("decisions are remembered for {new} instead of {old}"));
    }
    if new.on_denial < old.on_denial {
        said.push("a person's no no longer stops the run".to_owned());
    }
    for glob in new.secrets.args.iter().filter(|glob| !old.secrets.args.contains(glob)) {
        said.push(format!("arguments like {} are hidden on screen and in the record", tick(glob)));
    }
    for glob in new.secrets.env.iter().filter(|glob| !old.secrets.env.contains(glob)) {
        said.push(format!("values of variables like {} are hidden on screen and in the record", tick(glob)));
    }
    if new.ledger.sync < old.ledger.sync {
        said.push("not every record is synced to the disk".to_owned());
    }
    if new.ledger.path != old.ledger.path {
        said.push("the record is kept elsewhere".to_owned());
    }
    let demanded = |settings: &Settings| match settings.sandbox.require_os_sandbox {
        Some(false) => 0,
        None => 1,
        Some(true) => 2,
    };
    match demanded(new) {
        0 if demanded(old) > 0 => said.push("processes may run without walls".to_owned()),
        1 if demanded(old) > 1 => said.push("walls are no longer demanded".to_owned()),
        _ => {}
    }
    if new.sandbox.os_sandbox_min < old.sandbox.os_sandbox_min {
        said.push("weaker walls count as walls".to_owned());
    }
    for key in ["sandbox.os_profile.read", "sandbox.os_profile.write", "sandbox.os_profile.network"] {
        let (old, new) = (plain_value(old, key), plain_value(new, key));
        if old.is_some() && old != new {
            let new = new.unwrap_or_else(|| "nothing".to_owned());
            said.push(format!("`{key}` restricts to {new} instead of {}", old.unwrap_or_default()));
        }
    }
    let extra = match (&old.only_tools, &new.only_tools) {
        (None, _) => Vec::new(),
        (Some(_), None) => vec!["every custom tool".to_owned()],
        (Some(old), Some(new)) => {
            new.iter().filter(|name| !old.contains(name)).map(|name| tick(name)).collect()
        }
    };
    said.extend(extra.into_iter().map(|name| format!("{name} is offered too")));
}

fn milder(what: &str, old: Approval, new: Approval, said: &mut Vec<String>) {
    if new < old {
        said.push(format!("{what}: `{new}` instead of `{old}`"));
    }
}

fn tick(name: &str) -> String {
    format!("`{}`", quoted(name))
}

fn shown(path: &Path) -> String {
    tick(&path.display().to_string())
}

/// The root that speaks for a folder.
fn covering<'a>(settings: &'a Settings, folder: &Path) -> Option<&'a PathConfig> {
    let around = settings.sandbox.paths.values().filter(|root| folder.starts_with(&root.root));
    around.max_by_key(|root| root.root.components().count())
}

fn roots(old: &Settings, new: &Settings, said: &mut Vec<String>) {
    // Also roots that are gone: what lies around them speaks for their folders now.
    let folders = old.sandbox.paths.values().chain(new.sandbox.paths.values()).map(|root| &root.root);
    let mut folders: Vec<&PathBuf> = folders.collect();
    folders.sort();
    folders.dedup();
    for folder in folders {
        let Some(root) = covering(new, folder) else { continue };
        let Some(before) = covering(old, folder) else {
            let verb = if root.mode == PathMode::Rw { "read and written" } else { "read" };
            said.push(format!("{} can be {verb}", shown(folder)));
            unasked(folder, root, said);
            continue;
        };
        if root.mode > before.mode {
            said.push(format!("{} can be written", shown(folder)));
        }
        let (now, then) = (&root.approval, &before.approval);
        milder(&format!("reading in {}", shown(folder)), then.read, now.read, said);
        milder(&format!("writing in {}", shown(folder)), then.write, now.write, said);
        milder(&format!("attaching from {}", shown(folder)), then.attach, now.attach, said);
        let wider = |suffix: &&String| !before.suffixes.contains(suffix);
        if !before.suffixes.is_empty()
            && (root.suffixes.is_empty() || root.suffixes.iter().any(|s| wider(&s)))
        {
            said.push(format!("more kinds of files can be touched in {}", shown(folder)));
        }
        if before.max_file_bytes.is_some_and(|old| root.max_file_bytes.is_none_or(|new| new > old)) {
            said.push(format!("larger files can be touched in {}", shown(folder)));
        }
    }
}

fn unasked(folder: &Path, root: &PathConfig, said: &mut Vec<String>) {
    if root.mode == PathMode::Rw && root.approval.write < Approval::Required {
        said.push(format!("writing in {}: `{}`", shown(folder), root.approval.write));
    }
}

fn commands(old: &ShellConfig, new: &ShellConfig, said: &mut Vec<String>) {
    milder("commands that no rule speaks for", old.default, new.default, said);
    milder("commands known only to read", old.known_read_only, new.known_read_only, said);
    milder("paths outside every root", old.outside_roots, new.outside_roots, said);
    if new.network && !old.network {
        said.push("commands have a network".to_owned());
    }
    for name in new.env_pass.iter().filter(|name| !old.env_pass.contains(name)) {
        said.push(format!("commands see the environment variable {}", tick(name)));
    }
    let (was, is) = (&old.limits, &new.limits);
    let higher = [
        ("wall", is.wall > was.wall),
        ("cpu", is.cpu > was.cpu),
        ("memory", is.memory > was.memory),
        ("processes", is.processes > was.processes),
        ("file", is.file > was.file),
        ("output", is.output > was.output),
    ];
    for (name, _) in higher.iter().filter(|(_, higher)| *higher) {
        said.push(format!("the limit `{name}` of commands is higher"));
    }
    for rule in
        new.rules.iter().filter(|rule| !old.rules.contains(rule) && rule.approval < Approval::Required)
    {
        said.push(format!("commands that begin with {}: `{}`", tick(&rule.pattern), rule.approval));
    }
    // Any rule that speaks before another can speak instead of it.
    for rule in
        new.rules.iter().filter(|rule| !old.rules.contains(rule) && rule.approval >= Approval::Required)
    {
        if rule.approval < old.default {
            said.push(format!(
                "commands that begin with {}: `{}` instead of `{}`",
                tick(&rule.pattern),
                rule.approval,
                old.default
            ));
        }
    }
}

fn tools(without: &Config, with: &Config, said: &mut Vec<String>) {
    let (old, new) = (&without.main, &with.main);
    for (name, tool) in new.commands.iter().filter(|(name, tool)| old.commands.get(*name) != Some(*tool)) {
        let command = quoted(&tool.command.join(" "));
        said.push(format!("the program `{command}` is offered as {}", tick(name)));
    }
    let default = old.rules.default_approval().map_or(Approval::Required, |(approval, _)| approval);
    let mut entries: Vec<_> = new.rules.entries().collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    for entry in entries {
        let before = old.rules.entries().find(|other| other.name == entry.name);
        let same = before.is_some_and(|before| {
            let origins =
                |cases: &[askfirst::Case]| cases.iter().map(|case| case.origin.clone()).collect::<Vec<_>>();
            origins(before.cases()) == origins(entry.cases())
        });
        if same {
            continue;
        }
        let strictest = |cases: &[askfirst::Case]| cases.iter().filter_map(|case| case.approval).max();
        let covers = |other: &&askfirst::ToolEntry| {
            other.name != entry.name
                && Glob::of_names(&other.name).is_ok_and(|glob| glob.is_match(&entry.name))
        };
        let certain = |cases: &[askfirst::Case]| cases.iter().any(|case| case.when.is_empty());
        let around = || {
            let others = || old.rules.entries().filter(covers).map(askfirst::ToolEntry::cases);
            let decides = |cases: &[askfirst::Case]| {
                cases.iter().any(|case| case.when.is_empty() && case.approval.is_some())
            };
            let rest = (others().next().is_none() || !others().all(decides)).then_some(default);
            others().filter_map(strictest).chain(rest).max()
        };
        let then = match before {
            Some(before) if certain(before.cases()) => strictest(before.cases()),
            // Nothing but their own name covers these.
            _ if GUARDED.contains(&entry.name.as_str()) => Some(default.max(Approval::Required)),
            Some(before) => strictest(before.cases()).max(around()),
            None => around(),
        };
        let hidden = entry.cases().iter().flat_map(|case| &case.exclude_keys);
        let known = |key: &&String| {
            before.is_some_and(|before| before.cases().iter().any(|case| case.exclude_keys.contains(key)))
        };
        for key in hidden.filter(|key| !known(key)) {
            said.push(format!("{} of the tool {} is not recorded", tick(key), tick(&entry.name)));
        }
        if !certain(entry.cases()) && before.is_some() && then != Some(Approval::None) {
            let name = tick(&entry.name);
            said.push(format!(
                "the tool {name}: less specific names or its own view where no condition holds"
            ));
        }
        let risk = |cases: &[askfirst::Case]| cases.iter().filter_map(|case| case.risk).max();
        let (was, is) = (before.and_then(|before| risk(before.cases())), risk(entry.cases()));
        if let Some(was) = was.filter(|was| is.is_none_or(|is| is < *was)) {
            said.push(format!("the tool {}: its risk is no longer `{was}`", tick(&entry.name)));
        }
        for case in entry.cases() {
            let now = case.approval;
            let milder = match (then, now) {
                (Some(then), Some(now)) => now < then,
                (Some(then), None) => then > Approval::None,
                (None, Some(now)) => now < default.max(Approval::Required),
                (None, None) => false,
            };
            if milder {
                let now = now.map_or_else(|| "the tool's own view".to_owned(), |now| format!("`{now}`"));
                let when = if case.when.is_empty() { "" } else { " under a condition" };
                said.push(format!("the tool {}: {now}{when}", tick(&entry.name)));
            }
        }
    }
}

fn servers(old: &Settings, new: &Settings, said: &mut Vec<String>) {
    for (name, server) in new.mcp.iter().filter(|(name, server)| old.mcp.get(*name) != Some(*server)) {
        let what = match &server.upstream {
            Upstream::Command(words) => format!("`{}` is started", quoted(&words.join(" "))),
            Upstream::Url { url, .. } => format!("{} is reached", tick(url)),
        };
        said.push(format!("{what} as the MCP server {}", tick(name)));
    }
}
