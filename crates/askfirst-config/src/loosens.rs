//! What trusting a project's config would loosen, in sentences a person can weigh.

mod tools;

use std::path::{Path, PathBuf};

use askfirst::{Approval, Rules};

use super::effective::{plain_value, time};
use super::quote::quoted;
use super::settings::{
    Config, DEFAULT_APPROVAL_TIMEOUT, DEFAULT_MEMORY_EXPIRE, DEFAULT_PREVIEW_LINES, Fallback, PathConfig,
    PathMode, Settings, ShellConfig,
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
            commands(&ShellConfig::default(), shell, &mut said);
        }
        (Some(old), Some(new)) => commands(old, new, &mut said),
        (_, None) => {}
    }
    tools::tools(old, new, &mut said);
    tools::servers(old, new, &mut said);
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
    let lines = |settings: &Settings| settings.preview_lines.unwrap_or(DEFAULT_PREVIEW_LINES);
    if lines(new) < lines(old) {
        let (new, old) = (lines(new), lines(old));
        let are =
            if new == 1 { "line of what is asked about is" } else { "lines of what is asked about are" };
        said.push(format!("{new} {are} shown at first instead of {old}"));
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
    if (old.sandbox.os_sandbox_fallback, new.sandbox.os_sandbox_fallback)
        == (Fallback::FailFast, Fallback::RefuseTools)
    {
        said.push(
            "where the walls that are demanded do not hold, everything but what needs them goes on"
                .to_owned(),
        );
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
    // A rule speaks before the words for all that no rule speaks for.
    let otherwise = old.default.max(old.known_read_only);
    for rule in new.rules.iter().filter(|rule| !old.rules.contains(rule)) {
        let pattern = tick(&rule.pattern);
        if (Approval::Required..otherwise).contains(&rule.approval) {
            said.push(format!(
                "commands that begin with {pattern}: `{}` instead of `{otherwise}`",
                rule.approval
            ));
        }
        if let Some(text) = &rule.description {
            said.push(format!("commands that begin with {pattern} are described as {}", tick(text)));
        }
    }
}

#[cfg(test)]
#[path = "loosens/tests.rs"]
mod tests;
