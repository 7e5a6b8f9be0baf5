//! Layers that can only make things stricter: the managed one, and a project's that is not trusted.
//!
//! Nothing in here grants anything. What a floor says about tools becomes a floor of the policy; of its plain
//! values only those take effect that are stricter than what is there.

use std::path::PathBuf;
use std::time::Duration;

use askfirst::{Case, ToolEntry};

use super::merge::{origins, unite};
use super::settings::{Fallback, Layer, Limits, OSProfile, SecretsConfig, Settings, ShellConfig};
use crate::settings::{DEFAULT_APPROVAL_TIMEOUT, DEFAULT_MEMORY_EXPIRE};

/// Takes away what a floor would grant, and says what that was.
pub(crate) fn disarm(floor: &mut Settings, layer: Layer) -> Vec<String> {
    let why = match layer {
        Layer::Managed => "the managed config can only make things stricter",
        Layer::UntrustedProject => "the project's config is not trusted",
        Layer::User | Layer::Project | Layer::Flag => return Vec::new(),
    };
    let quoted = super::quote::quoted;
    let roots = floor.sandbox.paths.keys().map(|name| format!("the root `{}`", quoted(name)));
    let commands = floor.commands.keys().map(|name| format!("the tool `{}`", quoted(name)));
    let servers = floor.mcp.keys().map(|name| format!("the MCP server `{}`", quoted(name)));
    let shell = floor.shell.iter().map(|_| "the shell tool".to_owned());
    let all: Vec<String> = roots.chain(shell).chain(commands).chain(servers).collect();
    floor.commands.clear();
    floor.mcp.clear();
    let mut all = all;
    if layer == Layer::UntrustedProject {
        // What is hidden from a person, from memory and from the record, or told of a call, makes nothing stricter.
        let has = |entry: &ToolEntry, what: fn(&Case) -> bool| entry.cases().iter().any(what);
        let mut left_out = Vec::new();
        for entry in floor.rules.entries() {
            let name = quoted(&entry.name);
            if has(entry, |case| !case.exclude_keys.is_empty()) {
                left_out.push(format!("`exclude_keys` of `{name}`"));
            }
            if has(entry, |case| case.description.is_some()) {
                left_out.push(format!("`description` of `{name}`"));
            }
        }
        left_out.sort();
        all.extend(left_out);
        if !(floor.secrets.args.is_empty() && floor.secrets.env.is_empty()) {
            all.push("`secrets`".to_owned());
        }
        floor.rules = std::mem::take(&mut floor.rules).only_deciding();
        floor.secrets = SecretsConfig::default();
    }
    all.into_iter().map(|what| format!("{what}: {why}")).collect()
}

/// Lets the stricter plain values of a floor take effect.
pub(crate) fn tighten(main: &mut Settings, floor: &Settings) {
    let before = main.clone();
    main.approval_timeout = shorter(main.approval_timeout, floor.approval_timeout, DEFAULT_APPROVAL_TIMEOUT);
    main.memory_expire = shorter(main.memory_expire, floor.memory_expire, DEFAULT_MEMORY_EXPIRE);
    main.on_denial = main.on_denial.max(floor.on_denial);
    main.ledger.sync = main.ledger.sync.max(floor.ledger.sync);
    unite(&mut main.secrets.args, &floor.secrets.args);
    unite(&mut main.secrets.env, &floor.secrets.env);
    unite(&mut main.sandbox.never_read, &floor.sandbox.never_read);
    unite(&mut main.sandbox.never_write, &floor.sandbox.never_write);
    if floor.sandbox.require_os_sandbox == Some(true) {
        main.sandbox.require_os_sandbox = Some(true);
    }
    if floor.says("sandbox.os_sandbox_min") {
        main.sandbox.os_sandbox_min = main.sandbox.os_sandbox_min.max(floor.sandbox.os_sandbox_min);
    }
    if floor.says("sandbox.os_sandbox_fallback") && floor.sandbox.os_sandbox_fallback == Fallback::FailFast {
        main.sandbox.os_sandbox_fallback = Fallback::FailFast;
    }
    if let Some(profile) = &floor.sandbox.os_profile {
        main.sandbox.os_profile = Some(intersect(main.sandbox.os_profile.take(), profile));
    }
    if let Some(only) = &floor.only_tools {
        let mut kept = main.only_tools.take().unwrap_or_else(|| only.clone());
        kept.retain(|name| only.contains(name));
        main.only_tools = Some(kept);
    }
    if let (Some(shell), Some(theirs)) = (&mut main.shell, &floor.shell) {
        tighten_shell(shell, theirs, floor);
    }
    main.origins = changed_origins(&before, main, floor);
}

fn tighten_shell(main: &mut ShellConfig, theirs: &ShellConfig, floor: &Settings) {
    let says = |key: &str| floor.says(key);
    if says("shell.default.approval") {
        main.default = main.default.max(theirs.default);
    }
    if says("shell.known_read_only") {
        main.known_read_only = main.known_read_only.max(theirs.known_read_only);
    }
    main.outside_roots = main.outside_roots.max(theirs.outside_roots);
    if says("shell.network") {
        main.network &= theirs.network;
    }
    if says("shell.env.pass") {
        main.env_pass.retain(|name| theirs.env_pass.contains(name));
    }
    let least = |key: &str, mine: u64, theirs: u64| if says(key) { mine.min(theirs) } else { mine };
    let (mine, new) = (&main.limits, &theirs.limits);
    main.limits = Limits {
        wall: if says("shell.limits.wall") { mine.wall.min(new.wall) } else { mine.wall },
        cpu: if says("shell.limits.cpu") { mine.cpu.min(new.cpu) } else { mine.cpu },
        memory: least("shell.limits.memory", mine.memory, new.memory),
        processes: least("shell.limits.processes", mine.processes, new.processes),
        file: least("shell.limits.file", mine.file, new.file),
        output: least("shell.limits.output", mine.output, new.output),
    };
    // A deny that depends on nothing holds wherever it stands; what depends on the floor's own roots, and what
    // only asks, is looked up in the floor itself.
    let denies = theirs.rules.iter().filter(|rule| rule.approval == askfirst::Approval::Deny);
    let denies: Vec<_> = denies.filter(|rule| rule.sandbox_paths.is_empty()).cloned().collect();
    main.rules.splice(0..0, denies);
    main.dangerous_patterns.extend(theirs.dangerous_patterns.clone());
}

fn shorter(mine: Option<Duration>, floor: Option<Duration>, default: Duration) -> Option<Duration> {
    match (mine, floor) {
        (mine, None) => mine,
        (mine, Some(floor)) => Some(mine.unwrap_or(default).min(floor)),
    }
}

fn intersect(mine: Option<OSProfile>, floor: &OSProfile) -> OSProfile {
    let Some(mine) = mine else { return floor.clone() };
    OSProfile {
        read: common(mine.read, floor.read.as_deref()),
        write: common(mine.write, floor.write.as_deref()),
        network: match (mine.network, floor.network) {
            (Some(mine), Some(floor)) => Some(mine && floor),
            (mine, floor) => mine.or(floor),
        },
    }
}

/// What lies in both: of two nested folders, the inner.
fn common(mine: Option<Vec<PathBuf>>, floor: Option<&[PathBuf]>) -> Option<Vec<PathBuf>> {
    let (mine, floor) = match (mine, floor) {
        (mine, None) => return mine,
        (None, Some(floor)) => return Some(floor.to_vec()),
        (Some(mine), Some(floor)) => (mine, floor),
    };
    let within = |path: &&PathBuf, others: &[PathBuf]| others.iter().any(|other| path.starts_with(other));
    let mut both: Vec<PathBuf> = mine.iter().filter(|path| within(path, floor)).cloned().collect();
    both.extend(floor.iter().filter(|path| within(path, &mine)).cloned());
    both.sort();
    both.dedup();
    Some(both)
}

/// A value that a floor changed comes from the floor.
fn changed_origins(
    before: &Settings,
    after: &Settings,
    floor: &Settings,
) -> std::collections::BTreeMap<String, super::settings::Origin> {
    let changed =
        |key: &str| super::effective::plain_value(before, key) != super::effective::plain_value(after, key);
    let taken = floor.origins.iter().filter(|(key, _)| changed(key));
    let taken = taken.map(|(key, origin)| (key.clone(), origin.clone())).collect();
    origins(&before.origins, &taken)
}
