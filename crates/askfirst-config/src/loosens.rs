//! Lists, in sentences for the user, what trusting a project config would loosen.

mod tools;

use std::path::{Path, PathBuf};

use askfirst::{Approval, Rules};

use super::effective::{format_duration, format_size, plain_value};
use super::quote::escape;
use super::settings::{
    Config, DEFAULT_APPROVAL_TIMEOUT, DEFAULT_MEMORY_EXPIRE, DEFAULT_PREVIEW_LINES, Fallback, NetworkAccess,
    PathConfig, PathMode, SandboxConfig, Settings, ShellConfig, UndoConfig,
};

/// Lists what is looser in `with` than in `without`.
#[must_use]
pub fn loosens(without: &Config, with: &Config) -> Vec<String> {
    let mut lines = Vec::new();
    let (old, new) = (&without.main, &with.main);
    compare_general(old, new, &mut lines);
    compare_undo(&old.undo, &new.undo, &mut lines);
    compare_os_sandbox(old, new, &mut lines);
    compare_offer(old, new, &mut lines);
    compare_roots(old, new, &mut lines);
    match (&old.shell, &new.shell) {
        (None, Some(shell)) => {
            lines.push("the shell tool is offered".to_owned());
            compare_commands(&ShellConfig::default(), shell, &mut lines);
        }
        (Some(old), Some(new)) => compare_commands(old, new, &mut lines),
        (_, None) => {}
    }
    tools::compare_tools(old, new, &mut lines);
    tools::compare_servers(old, new, &mut lines);
    lines
}

fn compare_general(old: &Settings, new: &Settings, lines: &mut Vec<String>) {
    let default =
        |rules: &Rules| rules.default_approval().map_or(Approval::Required, |(approval, _)| approval);
    compare_approval("tools without a rule", default(&old.rules), default(&new.rules), lines);
    let wait = |settings: &Settings| settings.approval_timeout.unwrap_or(DEFAULT_APPROVAL_TIMEOUT);
    if wait(new) > wait(old) {
        let (new, old) = (format_duration(wait(new)), format_duration(wait(old)));
        lines.push(format!("requests wait {new} for an answer instead of {old}"));
    }
    let memory = |settings: &Settings| settings.memory_expire.unwrap_or(DEFAULT_MEMORY_EXPIRE);
    if memory(new) > memory(old) {
        let (new, old) = (format_duration(memory(new)), format_duration(memory(old)));
        lines.push(format!("decisions are remembered for {new} instead of {old}"));
    }
    let preview = |settings: &Settings| settings.preview_lines.unwrap_or(DEFAULT_PREVIEW_LINES);
    if preview(new) < preview(old) {
        let (new, old) = (preview(new), preview(old));
        let unit = if new == 1 { "line" } else { "lines" };
        lines.push(format!("the prompt shows {new} {unit} at first instead of {old}"));
    }
    if new.on_denial < old.on_denial {
        lines.push("the run continues after a person refuses a call".to_owned());
    }
    for glob in new.secrets.args.iter().filter(|glob| !old.secrets.args.contains(glob)) {
        lines.push(format!("arguments that match {} are hidden on screen and in the audit log", tick(glob)));
    }
    for glob in new.secrets.env.iter().filter(|glob| !old.secrets.env.contains(glob)) {
        let what = "the values of environment variables that match";
        lines.push(format!("{what} {} are hidden on screen and in the audit log", tick(glob)));
    }
    if new.ledger.sync < old.ledger.sync {
        lines.push("not every entry of the audit log is synced to disk".to_owned());
    }
    if new.ledger.path != old.ledger.path {
        lines.push("the audit log has another path".to_owned());
    }
}

fn compare_os_sandbox(old: &Settings, new: &Settings, lines: &mut Vec<String>) {
    let strictness = |settings: &Settings| match settings.sandbox.require_os_sandbox {
        Some(false) => 0,
        None => 1,
        Some(true) => 2,
    };
    match strictness(new) {
        0 if strictness(old) > 0 => lines.push("processes may run without the OS sandbox".to_owned()),
        1 if strictness(old) > 1 => lines.push("the OS sandbox is no longer required".to_owned()),
        _ => {}
    }
    if (old.sandbox.os_sandbox_fallback, new.sandbox.os_sandbox_fallback)
        == (Fallback::FailFast, Fallback::RefuseTools)
    {
        lines.push(
            "if the required OS sandbox does not work, only tools that start processes are refused"
                .to_owned(),
        );
    }
    if new.sandbox.os_sandbox_min < old.sandbox.os_sandbox_min {
        lines.push("a weaker tier of the OS sandbox is accepted".to_owned());
    }
    let (was, is) = (&old.sandbox.toolchains, &new.sandbox.toolchains);
    if is.auto && !was.auto {
        lines.push("processes can read what the programs on `PATH` need to start".to_owned());
    }
    for path in missing_from(&was.paths, &is.paths) {
        lines.push(format!("processes can read {} outside the roots", tick_path(path)));
    }
    for path in missing_from(&old.sandbox.caches, &new.sandbox.caches) {
        lines.push(format!("processes can read the cache {} outside the roots", tick_path(path)));
    }
    for key in ["sandbox.os_profile.read", "sandbox.os_profile.write", "sandbox.os_profile.network"] {
        let (old, new) = (plain_value(old, key), plain_value(new, key));
        if old.is_some() && old != new {
            let new = new.unwrap_or_else(|| "not set".to_owned());
            lines.push(format!("`{key}` is {new} instead of {}", old.unwrap_or_default()));
        }
    }
}

/// Returns the paths that are in none of the old folders.
fn missing_from<'a>(old: &'a [PathBuf], new: &'a [PathBuf]) -> impl Iterator<Item = &'a PathBuf> {
    new.iter().filter(|path| !old.iter().any(|old| path.starts_with(old)))
}

fn compare_undo(old: &UndoConfig, new: &UndoConfig, lines: &mut Vec<String>) {
    if new.keep < old.keep {
        lines.push(format!("undo keeps {} changes instead of {}", new.keep, old.keep));
    }
    if new.days < old.days {
        lines.push(format!("undo keeps changes for {}d instead of {}d", new.days, old.days));
    }
    if new.size < old.size {
        let (new, old) = (format_size(new.size), format_size(old.size));
        lines.push(format!("undo keeps {new} of replaced files instead of {old}"));
    }
    if new.deletes < old.deletes {
        lines.push("files are deleted without asking if undo can restore them".to_owned());
    }
}

fn compare_offer(old: &Settings, new: &Settings, lines: &mut Vec<String>) {
    let added = match (&old.only_tools, &new.only_tools) {
        (None, _) => Vec::new(),
        (Some(_), None) => vec!["every custom tool".to_owned()],
        (Some(old), Some(new)) => {
            let added = new.iter().filter(|name| !old.contains(name));
            added.map(|name| format!("the tool {}", tick(name))).collect()
        }
    };
    lines.extend(added.into_iter().map(|name| format!("{name} is also offered")));
}

fn compare_approval(what: &str, old: Approval, new: Approval, lines: &mut Vec<String>) {
    if new < old {
        lines.push(format!("{what}: `{new}` instead of `{old}`"));
    }
}

fn tick(name: &str) -> String {
    format!("`{}`", escape(name))
}

fn tick_path(path: &Path) -> String {
    tick(&path.display().to_string())
}

fn compare_roots(old: &Settings, new: &Settings, lines: &mut Vec<String>) {
    // Includes the roots that are gone, because an outer root may now govern their folders.
    let folders = old.sandbox.paths.values().chain(new.sandbox.paths.values()).map(|root| &root.root);
    let mut folders: Vec<&PathBuf> = folders.collect();
    folders.sort();
    folders.dedup();
    for folder in folders {
        let Some(root) = new.sandbox.governing_root(folder) else { continue };
        let Some(before) = old.sandbox.governing_root(folder) else {
            let verb = if root.mode == PathMode::Rw { "read and write" } else { "read" };
            lines.push(format!("tools can {verb} in {}", tick_path(folder)));
            report_write_approval(folder, root, lines);
            report_products(&old.sandbox, folder, root, lines);
            continue;
        };
        report_products(&old.sandbox, folder, root, lines);
        if root.mode > before.mode {
            lines.push(format!("tools can write in {}", tick_path(folder)));
        }
        let (now, then) = (&root.approval, &before.approval);
        compare_approval(&format!("reading in {}", tick_path(folder)), then.read, now.read, lines);
        compare_approval(&format!("writing in {}", tick_path(folder)), then.write, now.write, lines);
        compare_approval(&format!("attaching from {}", tick_path(folder)), then.attach, now.attach, lines);
        let is_new = |suffix: &String| !before.suffixes.contains(suffix);
        if !before.suffixes.is_empty() && (root.suffixes.is_empty() || root.suffixes.iter().any(is_new)) {
            lines.push(format!("files with more suffixes are allowed in {}", tick_path(folder)));
        }
        if before.max_file_bytes.is_some_and(|old| root.max_file_bytes.is_none_or(|new| new > old)) {
            lines.push(format!("larger files are allowed in {}", tick_path(folder)));
        }
    }
}

/// Reports the product folders of a root that no old root had. `folder` may lie in the root.
fn report_products(old: &SandboxConfig, folder: &Path, root: &PathConfig, lines: &mut Vec<String>) {
    let had = |path: &Path| {
        let before = old.governing_root(path);
        before.is_some_and(|root| root.products.iter().any(|old| path.starts_with(root.root.join(old))))
    };
    let products = root.products.iter().map(|product| root.root.join(product));
    for path in products.filter(|path| root.root == folder && !had(path)) {
        lines.push(format!("commands write {} directly, and undo does not cover it", tick_path(&path)));
    }
}

fn report_write_approval(folder: &Path, root: &PathConfig, lines: &mut Vec<String>) {
    if root.mode == PathMode::Rw && root.approval.write < Approval::Required {
        lines.push(format!("writing in {}: `{}`", tick_path(folder), root.approval.write));
    }
}

fn compare_commands(old: &ShellConfig, new: &ShellConfig, lines: &mut Vec<String>) {
    compare_approval("commands that no rule covers", old.default, new.default, lines);
    compare_approval("commands known to only read", old.known_read_only, new.known_read_only, lines);
    compare_approval("paths outside every root", old.outside_roots, new.outside_roots, lines);
    if new.network < old.network {
        lines.push(format!("commands {}", network(new.network)));
    }
    for name in new.env_pass.iter().filter(|name| !old.env_pass.contains(name)) {
        lines.push(format!("commands get the environment variable {}", tick(name)));
    }
    let (was, is) = (&old.limits, &new.limits);
    let limits = [
        ("wall", is.wall > was.wall),
        ("cpu", is.cpu > was.cpu),
        ("memory", is.memory > was.memory),
        ("processes", is.processes > was.processes),
        ("file", is.file > was.file),
        ("output", is.output > was.output),
    ];
    for (name, _) in limits.iter().filter(|(_, is_higher)| *is_higher) {
        lines.push(format!("the limit `{name}` for commands is higher"));
    }
    for rule in
        new.rules.iter().filter(|rule| !old.rules.contains(rule) && rule.approval < Approval::Required)
    {
        lines.push(format!("commands that start with {}: `{}`", tick(&rule.pattern), rule.approval));
    }
    // A rule overrides the values for commands that no rule covers, so a new rule may be looser than they are.
    let otherwise = old.default.max(old.known_read_only);
    for rule in new.rules.iter().filter(|rule| !old.rules.contains(rule)) {
        let pattern = tick(&rule.pattern);
        if (Approval::Required..otherwise).contains(&rule.approval) {
            lines.push(format!(
                "commands that start with {pattern}: `{}` instead of `{otherwise}`",
                rule.approval
            ));
        }
        if let Some(access) = rule.network.filter(|access| *access < old.network) {
            lines.push(format!("commands that start with {pattern} {}", network(access)));
        }
        if let Some(text) = &rule.description {
            lines.push(format!("commands that start with {pattern} are described as {}", tick(text)));
        }
    }
}

fn network(access: NetworkAccess) -> &'static str {
    match access {
        NetworkAccess::None => "may use the network",
        NetworkAccess::Required => "may use the network if a person approves",
        NetworkAccess::Deny => "may not use the network",
    }
}

#[cfg(test)]
#[path = "loosens/tests.rs"]
mod tests;
