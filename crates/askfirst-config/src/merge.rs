//! Merges the user's settings with a trusted project's: project values replace the user's, and lists are joined.

use std::collections::{BTreeMap, HashSet};

use askfirst::Rules;

use super::settings::{Limits, Origin, SandboxConfig, Settings, ShellConfig, UndoConfig};

/// Merges a trusted project's settings over the user's.
pub(crate) fn overlay(user: Settings, project: Settings) -> Settings {
    let is_set = |key: &str| project.is_set(key);
    let mut main = Settings {
        on_denial: if is_set("on_denial") { project.on_denial } else { user.on_denial },
        approval_timeout: project.approval_timeout.or(user.approval_timeout),
        memory_expire: project.memory_expire.or(user.memory_expire),
        preview_lines: project.preview_lines.or(user.preview_lines),
        notify: if is_set("prompt.notify") { project.notify } else { user.notify },
        only_tools: project.only_tools.clone().or(user.only_tools),
        ledger: user.ledger,
        undo: undo(user.undo, &project),
        secrets: user.secrets,
        sandbox: sandbox(user.sandbox, &project),
        shell: shell(user.shell, &project),
        rules: Rules::default(),
        commands: user.commands,
        mcp: user.mcp,
        override_keys: Vec::new(),
        origins: BTreeMap::new(),
    };
    main.ledger.is_set |= project.ledger.is_set;
    if is_set("ledger.sync") {
        main.ledger.sync = project.ledger.sync;
    }
    main.ledger.rotate = project.ledger.rotate.or(main.ledger.rotate);
    main.ledger.path = project.ledger.path.clone().or(main.ledger.path);
    add_missing(&mut main.secrets.args, &project.secrets.args);
    add_missing(&mut main.secrets.env, &project.secrets.env);
    main.commands.retain(|name, _| project.rules.exact(name).is_none());
    main.commands.extend(project.commands.clone());
    main.mcp.extend(project.mcp.clone());
    main.origins = merge_origins(&user.origins, &project.origins);
    let default = project.rules.default_approval().or_else(|| user.rules.default_approval());
    let default = default.map(|(approval, origin)| (approval, origin.cloned()));
    let named: HashSet<&str> = project.rules.entries().map(|entry| entry.name.as_str()).collect();
    let entries = user
        .rules
        .entries()
        .filter(|entry| !named.contains(entry.name.as_str()))
        .chain(project.rules.entries());
    // Both files were read without errors, so every name is a valid glob and this cannot fail.
    main.rules = Rules::new(default, entries.cloned()).unwrap_or_default();
    main
}

fn undo(mine: UndoConfig, project: &Settings) -> UndoConfig {
    let (theirs, is_set) = (&project.undo, |key: &str| project.is_set(key));
    UndoConfig {
        keep: if is_set("undo.keep") { theirs.keep } else { mine.keep },
        days: if is_set("undo.days") { theirs.days } else { mine.days },
        size: if is_set("undo.size") { theirs.size } else { mine.size },
        deletes: if is_set("undo.deletes") { theirs.deletes } else { mine.deletes },
    }
}

fn sandbox(mut main: SandboxConfig, project: &Settings) -> SandboxConfig {
    let (theirs, is_set) = (&project.sandbox, |key: &str| project.is_set(key));
    // One folder is one root: the project's root replaces the user's root for the same folder, whatever its name.
    main.paths.retain(|_, kept| theirs.paths.values().all(|new| new.root != kept.root));
    main.paths.extend(theirs.paths.clone());
    add_missing(&mut main.never_read, &theirs.never_read);
    add_missing(&mut main.never_write, &theirs.never_write);
    main.require_os_sandbox = theirs.require_os_sandbox.or(main.require_os_sandbox);
    if is_set("sandbox.os_sandbox_fallback") {
        main.os_sandbox_fallback = theirs.os_sandbox_fallback;
    }
    if is_set("sandbox.os_sandbox_min") {
        main.os_sandbox_min = theirs.os_sandbox_min;
    }
    if is_set("sandbox.toolchains") {
        main.toolchains = theirs.toolchains.clone();
    }
    if is_set("sandbox.caches") {
        main.caches = theirs.caches.clone();
    }
    if let Some(new) = &theirs.os_profile {
        let profile = main.os_profile.get_or_insert_default();
        profile.read = new.read.clone().or(profile.read.take());
        profile.write = new.write.clone().or(profile.write.take());
        profile.network = new.network.or(profile.network);
    }
    main
}

fn shell(main: Option<ShellConfig>, project: &Settings) -> Option<ShellConfig> {
    let Some(theirs) = &project.shell else { return main };
    let Some(mut main) = main else { return Some(theirs.clone()) };
    let is_set = |key: &str| project.is_set(key);
    if is_set("shell.default.approval") {
        main.default = theirs.default;
    }
    if is_set("shell.known_read_only") {
        main.known_read_only = theirs.known_read_only;
    }
    if is_set("shell.outside_roots") {
        main.outside_roots = theirs.outside_roots;
    }
    if is_set("shell.network") {
        main.network = theirs.network;
    }
    if is_set("shell.env.pass") {
        main.env_pass.clone_from(&theirs.env_pass);
    }
    let pick = |key: &str, mine: u64, theirs: u64| if is_set(key) { theirs } else { mine };
    let (mine, new) = (&main.limits, &theirs.limits);
    main.limits = Limits {
        wall: if is_set("shell.limits.wall") { new.wall } else { mine.wall },
        cpu: if is_set("shell.limits.cpu") { new.cpu } else { mine.cpu },
        memory: pick("shell.limits.memory", mine.memory, new.memory),
        processes: pick("shell.limits.processes", mine.processes, new.processes),
        file: pick("shell.limits.file", mine.file, new.file),
        output: pick("shell.limits.output", mine.output, new.output),
    };
    main.rules.extend(theirs.rules.clone());
    main.dangerous_patterns.extend(theirs.dangerous_patterns.clone());
    Some(main)
}

/// The keys whose lists are joined. Their merged value has several origins.
const JOINED_LISTS: [&str; 5] =
    ["secrets.args", "secrets.env", "sandbox.never_read", "sandbox.never_write", "shell.dangerous_patterns"];

/// Merges the origins of two layers. The second layer wins, except for joined lists.
pub(crate) fn merge_origins(
    first: &BTreeMap<String, Origin>,
    second: &BTreeMap<String, Origin>,
) -> BTreeMap<String, Origin> {
    let mut all = first.clone();
    for (key, origin) in second {
        match all.get_mut(key).filter(|_| JOINED_LISTS.contains(&key.as_str())) {
            Some(kept) => {
                kept.value = format!("{} and {}", kept.value, origin.value);
                kept.from = format!("{}, {}", kept.from, origin.from);
            }
            None => {
                all.insert(key.clone(), origin.clone());
            }
        }
    }
    all
}

/// Adds the texts that a list does not contain yet.
pub(crate) fn add_missing(mine: &mut Vec<String>, theirs: &[String]) {
    for text in theirs {
        if !mine.contains(text) {
            mine.push(text.clone());
        }
    }
}
