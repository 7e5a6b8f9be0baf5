//! Two layers that both speak: the trusted project's values replace the user's, lists are joined.

use std::collections::{BTreeMap, HashSet};

use askfirst::Rules;

use super::settings::{Limits, Origin, SandboxConfig, Settings, ShellConfig};

/// The user's settings with a trusted project's laid over them.
pub(crate) fn overlay(user: Settings, project: Settings) -> Settings {
    let says = |key: &str| project.says(key);
    let mut main = Settings {
        on_denial: if says("on_denial") { project.on_denial } else { user.on_denial },
        approval_timeout: project.approval_timeout.or(user.approval_timeout),
        memory_expire: project.memory_expire.or(user.memory_expire),
        preview_lines: project.preview_lines.or(user.preview_lines),
        only_tools: project.only_tools.clone().or(user.only_tools),
        ledger: user.ledger,
        secrets: user.secrets,
        sandbox: sandbox(user.sandbox, &project),
        shell: shell(user.shell, &project),
        rules: Rules::default(),
        commands: user.commands,
        mcp: user.mcp,
        origins: BTreeMap::new(),
    };
    if says("ledger.sync") {
        main.ledger.sync = project.ledger.sync;
    }
    main.ledger.rotate = project.ledger.rotate.or(main.ledger.rotate);
    main.ledger.path = project.ledger.path.clone().or(main.ledger.path);
    unite(&mut main.secrets.args, &project.secrets.args);
    unite(&mut main.secrets.env, &project.secrets.env);
    main.commands.retain(|name, _| project.rules.exact(name).is_none());
    main.commands.extend(project.commands.clone());
    main.mcp.extend(project.mcp.clone());
    main.origins = origins(&user.origins, &project.origins);
    let default = project.rules.default_approval().or_else(|| user.rules.default_approval());
    let default = default.map(|(approval, origin)| (approval, origin.cloned()));
    let named: HashSet<&str> = project.rules.entries().map(|entry| entry.name.as_str()).collect();
    let entries = user
        .rules
        .entries()
        .filter(|entry| !named.contains(entry.name.as_str()))
        .chain(project.rules.entries());
    // Both were read without a fault, so every name is a glob.
    main.rules = Rules::new(default, entries.cloned()).unwrap_or_default();
    main
}

fn sandbox(mut main: SandboxConfig, project: &Settings) -> SandboxConfig {
    let (theirs, says) = (&project.sandbox, |key: &str| project.says(key));
    // A folder is one root: the project's word about it replaces the user's, whatever its name.
    main.paths.retain(|_, kept| theirs.paths.values().all(|new| new.root != kept.root));
    main.paths.extend(theirs.paths.clone());
    unite(&mut main.never_read, &theirs.never_read);
    unite(&mut main.never_write, &theirs.never_write);
    main.require_os_sandbox = theirs.require_os_sandbox.or(main.require_os_sandbox);
    if says("sandbox.os_sandbox_fallback") {
        main.os_sandbox_fallback = theirs.os_sandbox_fallback;
    }
    if says("sandbox.os_sandbox_min") {
        main.os_sandbox_min = theirs.os_sandbox_min;
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
    let says = |key: &str| project.says(key);
    if says("shell.default.approval") {
        main.default = theirs.default;
    }
    if says("shell.known_read_only") {
        main.known_read_only = theirs.known_read_only;
    }
    if says("shell.outside_roots") {
        main.outside_roots = theirs.outside_roots;
    }
    if says("shell.network") {
        main.network = theirs.network;
    }
    if says("shell.env.pass") {
        main.env_pass.clone_from(&theirs.env_pass);
    }
    let pick = |key: &str, mine: u64, theirs: u64| if says(key) { theirs } else { mine };
    let (mine, new) = (&main.limits, &theirs.limits);
    main.limits = Limits {
        wall: if says("shell.limits.wall") { new.wall } else { mine.wall },
        cpu: if says("shell.limits.cpu") { new.cpu } else { mine.cpu },
        memory: pick("shell.limits.memory", mine.memory, new.memory),
        processes: pick("shell.limits.processes", mine.processes, new.processes),
        file: pick("shell.limits.file", mine.file, new.file),
        output: pick("shell.limits.output", mine.output, new.output),
    };
    main.rules.extend(theirs.rules.clone());
    main.dangerous_patterns.extend(theirs.dangerous_patterns.clone());
    Some(main)
}

/// Lists that are joined have two origins.
const JOINED: [&str; 5] =
    ["secrets.args", "secrets.env", "sandbox.never_read", "sandbox.never_write", "shell.dangerous_patterns"];

pub(crate) fn origins(
    first: &BTreeMap<String, Origin>,
    second: &BTreeMap<String, Origin>,
) -> BTreeMap<String, Origin> {
    let mut all = first.clone();
    for (key, origin) in second {
        match all.get_mut(key).filter(|_| JOINED.contains(&key.as_str())) {
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

/// Adds what is not there yet.
pub(crate) fn unite(mine: &mut Vec<String>, theirs: &[String]) {
    for text in theirs {
        if !mine.contains(text) {
            mine.push(text.clone());
        }
    }
}
