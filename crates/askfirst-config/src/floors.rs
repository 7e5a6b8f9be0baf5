//! Applies floors: layers that can only make things stricter, namely managed and an untrusted project.
//!
//! Nothing in this module grants access. The tool rules of a floor become a floor of the policy.
//! A single value of a floor takes effect only if it is stricter than the current value.

use std::path::PathBuf;
use std::time::Duration;

use askfirst::{Case, ToolEntry};

use super::merge::{add_missing, merge_origins};
use super::quote::escape;
use super::settings::{
    Fallback, Layer, Limits, OSProfile, PathConfig, PathMode, SandboxConfig, SecretsConfig, Settings,
    ShellConfig, ToolchainAccess, UndoConfig,
};
use crate::settings::{DEFAULT_APPROVAL_TIMEOUT, DEFAULT_MEMORY_EXPIRE};

/// Removes everything that a floor would grant. Returns one line for each removed item.
pub(crate) fn disarm(floor: &mut Settings, layer: Layer) -> Vec<String> {
    let reason = match layer {
        Layer::Managed => "the managed config can only make things stricter",
        Layer::UntrustedProject => "the project's config is not trusted",
        Layer::User | Layer::Project | Layer::Flag => return Vec::new(),
    };
    let roots = floor.sandbox.paths.keys().map(|name| format!("the root `{}`", escape(name)));
    let commands = floor.commands.keys().map(|name| format!("the tool `{}`", escape(name)));
    let servers = floor.mcp.keys().map(|name| format!("the MCP server `{}`", escape(name)));
    let shell = floor.shell.iter().map(|_| "the shell tool".to_owned());
    let all: Vec<String> = roots.chain(shell).chain(commands).chain(servers).collect();
    floor.commands.clear();
    floor.mcp.clear();
    let mut all = all;
    if layer == Layer::UntrustedProject {
        // These keys hide arguments or describe calls. They could mislead a person and make nothing stricter.
        let has = |entry: &ToolEntry, test: fn(&Case) -> bool| entry.cases().iter().any(test);
        let mut ignored = Vec::new();
        for entry in floor.rules.entries() {
            let name = escape(&entry.name);
            if has(entry, |case| !case.exclude_keys.is_empty()) {
                ignored.push(format!("`exclude_keys` of `{name}`"));
            }
            if has(entry, |case| case.description.is_some()) {
                ignored.push(format!("`description` of `{name}`"));
            }
        }
        ignored.sort();
        all.extend(ignored);
        if !(floor.secrets.args.is_empty() && floor.secrets.env.is_empty()) {
            all.push("`secrets`".to_owned());
        }
        floor.rules = std::mem::take(&mut floor.rules).only_deciding();
        floor.secrets = SecretsConfig::default();
        // A project must not decide how much of the user's disk askfirst fills.
        floor.undo = UndoConfig { deletes: floor.undo.deletes, ..UndoConfig::default() };
        floor.origins.retain(|key, _| !UNDO_AMOUNTS.contains(&key.as_str()));
    }
    all.into_iter().map(|item| format!("{item}: {reason}")).collect()
}

/// The keys that say how much is kept for undo.
const UNDO_AMOUNTS: [&str; 3] = ["undo.keep", "undo.days", "undo.size"];

/// Applies the values of a floor that are stricter than the current ones.
pub(crate) fn tighten(main: &mut Settings, floor: &Settings) {
    let before = main.clone();
    main.approval_timeout = shorter(main.approval_timeout, floor.approval_timeout, DEFAULT_APPROVAL_TIMEOUT);
    main.memory_expire = shorter(main.memory_expire, floor.memory_expire, DEFAULT_MEMORY_EXPIRE);
    main.on_denial = main.on_denial.max(floor.on_denial);
    main.ledger.is_set |= floor.ledger.is_set;
    main.ledger.sync = main.ledger.sync.max(floor.ledger.sync);
    tighten_undo(&mut main.undo, floor);
    add_missing(&mut main.secrets.args, &floor.secrets.args);
    add_missing(&mut main.secrets.env, &floor.secrets.env);
    add_missing(&mut main.sandbox.never_read, &floor.sandbox.never_read);
    add_missing(&mut main.sandbox.never_write, &floor.sandbox.never_write);
    if floor.sandbox.require_os_sandbox == Some(true) {
        main.sandbox.require_os_sandbox = Some(true);
    }
    if floor.is_set("sandbox.os_sandbox_min") {
        main.sandbox.os_sandbox_min = main.sandbox.os_sandbox_min.max(floor.sandbox.os_sandbox_min);
    }
    if floor.is_set("sandbox.os_sandbox_fallback") && floor.sandbox.os_sandbox_fallback == Fallback::FailFast
    {
        main.sandbox.os_sandbox_fallback = Fallback::FailFast;
    }
    // The sandbox applies a floor's list when it finds the folders.
    if floor.sandbox.toolchains == ToolchainAccess::OFF {
        main.sandbox.toolchains = ToolchainAccess::OFF;
    }
    if floor.is_set("sandbox.caches") {
        let caches = std::mem::take(&mut main.sandbox.caches);
        main.sandbox.caches = common(Some(caches), Some(&floor.sandbox.caches)).unwrap_or_default();
    }
    limit_products(&mut main.sandbox, &floor.sandbox);
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

/// Keeping more for undo is stricter, so the larger amount counts.
fn tighten_undo(main: &mut UndoConfig, floor: &Settings) {
    let (theirs, is_set) = (&floor.undo, |key: &str| floor.is_set(key));
    *main = UndoConfig {
        keep: if is_set("undo.keep") { main.keep.max(theirs.keep) } else { main.keep },
        days: if is_set("undo.days") { main.days.max(theirs.days) } else { main.days },
        size: if is_set("undo.size") { main.size.max(theirs.size) } else { main.size },
        deletes: main.deletes.max(theirs.deletes),
    };
}

/// Removes the product folders that are not product folders of a layer, too.
///
/// A layer decides about a folder through the root that governs it. A layer without such a root decides nothing.
/// A folder that contains a root of the layer is no product folder, because that root has approvals of its own.
/// A read-only root has no product folders.
pub(crate) fn limit_products(main: &mut SandboxConfig, layer: &SandboxConfig) {
    for root in main.paths.values_mut() {
        let folder = root.root.clone();
        root.products.retain(|product| {
            let path = folder.join(product);
            let is_product = |root: &PathConfig| {
                let covers = |theirs: &PathBuf| path.starts_with(root.root.join(theirs));
                root.mode == PathMode::Rw && root.products.iter().any(covers)
            };
            let holds_root = layer.paths.values().any(|root| root.root.starts_with(&path));
            !holds_root && layer.governing_root(&path).is_none_or(is_product)
        });
    }
}

fn tighten_shell(main: &mut ShellConfig, theirs: &ShellConfig, floor: &Settings) {
    let is_set = |key: &str| floor.is_set(key);
    if is_set("shell.default.approval") {
        main.default = main.default.max(theirs.default);
    }
    if is_set("shell.known_read_only") {
        main.known_read_only = main.known_read_only.max(theirs.known_read_only);
    }
    main.outside_roots = main.outside_roots.max(theirs.outside_roots);
    if is_set("shell.network") {
        main.network = main.network.max(theirs.network);
    }
    if is_set("shell.env.pass") {
        main.env_pass.retain(|name| theirs.env_pass.contains(name));
    }
    let least = |key: &str, mine: u64, theirs: u64| if is_set(key) { mine.min(theirs) } else { mine };
    let (mine, new) = (&main.limits, &theirs.limits);
    main.limits = Limits {
        wall: if is_set("shell.limits.wall") { mine.wall.min(new.wall) } else { mine.wall },
        cpu: if is_set("shell.limits.cpu") { mine.cpu.min(new.cpu) } else { mine.cpu },
        memory: least("shell.limits.memory", mine.memory, new.memory),
        processes: least("shell.limits.processes", mine.processes, new.processes),
        file: least("shell.limits.file", mine.file, new.file),
        output: least("shell.limits.output", mine.output, new.output),
    };
    // A deny rule without `sandbox_paths` applies in any position, so it can be copied to the front.
    // The shell analysis applies all other rules of the floor separately.
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

/// Returns the paths that both lists allow. Of two nested folders, that is the inner one.
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

/// Returns the origins after a floor was applied. The origin of a value that the floor changed is the floor.
fn changed_origins(
    before: &Settings,
    after: &Settings,
    floor: &Settings,
) -> std::collections::BTreeMap<String, super::settings::Origin> {
    let is_changed =
        |key: &str| super::effective::plain_value(before, key) != super::effective::plain_value(after, key);
    let changed = floor.origins.iter().filter(|(key, _)| is_changed(key));
    let changed = changed.map(|(key, origin)| (key.clone(), origin.clone())).collect();
    merge_origins(&before.origins, &changed)
}
