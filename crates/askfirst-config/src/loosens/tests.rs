//! Tests that every key that can loosen something is reported, and that every other key cannot loosen anything.

use super::loosens;
use crate::keys::{KEYS, ValueKind};
use crate::layers::{ProjectTrust, load_with};
use crate::testing::World;

fn reported(user: &str, project: &str) -> Vec<String> {
    let world = World::new();
    world.write("home/.config/askfirst/askfirst.yaml", &format!("version: 1\n{user}\n"));
    world.write("project/askfirst.yaml", &format!("version: 1\n{project}\n"));
    let [without, with] = [ProjectTrust::Withheld, ProjectTrust::Assumed]
        .map(|trust| load_with(&world.options(), trust).unwrap());
    loosens(&without, &with).iter().map(|line| world.redact(line)).collect()
}

const ROOT: &str = "sandbox: { paths: { n: { root: ../../../project/notes, mode: rw, suffixes: [.md], max_file_bytes: 1KiB, approval: { read: human, write: human, attach: deny } } } }";
const CLOSED: &str = "sandbox: { os_profile: { read: [../../../project/notes], write: [../../../project/notes], network: false } }";
const DEMANDED: &str =
    "sandbox: { require_os_sandbox: true, os_sandbox_fallback: fail_fast, os_sandbox_min: full }";
const SHELL: &str = "shell: { default: { approval: human }, known_read_only: deny, outside_roots: deny }";
const TOOL: &str = "tools: { a: { approval: human, risk: irreversible, description: \"pay {to}\", exclude_keys: [pin], options: { limit: 1 } } }";
const SERVERS: &str = "mcp: { g: { command: [g] }, u: { url: \"http://u\" } }";

/// A key, the user config, the project config, and the line that reports the change.
#[rustfmt::skip]
const REPORTED: &[(&str, &str, &str, &str)] = &[
    ("default_approval", "", "default_approval: none", "tools without a rule: `none` instead of `required`"),
    ("on_denial", "on_denial: stop", "on_denial: return", "the run continues after a person refuses a call"),
    ("approval_timeout", "", "approval_timeout: 1h", "requests wait 1h for an answer instead of 10m"),
    ("memory.expire", "", "memory: { expire: 9h }", "decisions are remembered for 9h instead of 8h"),
    ("prompt.preview_lines", "", "prompt: { preview_lines: 1 }", "the prompt shows 1 line at first instead of 50"),
    ("undo.keep", "", "undo: { keep: 5 }", "undo keeps 5 changes instead of 50"),
    ("undo.days", "", "undo: { days: 1 }", "undo keeps changes for 1d instead of 7d"),
    ("undo.size", "", "undo: { size: 1MiB }", "undo keeps 1MiB of replaced files instead of 1GiB"),
    ("undo.deletes", "undo: { deletes: ask }", "undo: { deletes: commit }", "files are deleted without asking if undo can restore them"),
    ("ledger.sync", "ledger: { sync: always }", "ledger: { sync: asked }", "not every entry of the audit log is synced to disk"),
    ("ledger.path", "", "ledger: { path: ./x }", "the audit log has another path"),
    ("secrets.args", "", "secrets: { args: [x] }", "arguments that match `x` are hidden on screen and in the audit log"),
    ("secrets.env", "", "secrets: { env: [X] }", "the values of environment variables that match `X` are hidden on screen and in the audit log"),
    ("sandbox.paths.*.root", "", "sandbox: { paths: { x: { root: . } } }", "tools can read in `[world]/project`"),
    ("sandbox.paths.*.mode", "sandbox: { paths: { x: { root: ../../../project } } }", "sandbox: { paths: { x: { root: ., mode: rw } } }", "tools can write in `[world]/project`"),
    ("sandbox.paths.*.suffixes", ROOT, "sandbox: { paths: { n: { root: ./notes } } }", "files with more suffixes are allowed in `[world]/project/notes`"),
    ("sandbox.paths.*.max_file_bytes", ROOT, "sandbox: { paths: { n: { root: ./notes } } }", "larger files are allowed in `[world]/project/notes`"),
    ("sandbox.paths.*.products", ROOT, "sandbox: { paths: { n: { root: ./notes, mode: rw, products: [a, out/x] } } }", "commands write `[world]/project/notes/out/x` directly, and undo does not cover it"),
    ("sandbox.paths.*.products", "", "sandbox: { paths: { n: { root: ., mode: rw, products: [dist] } } }", "commands write `[world]/project/dist` directly, and undo does not cover it"),
    ("sandbox.paths.*.approval.read", ROOT, "sandbox: { paths: { n: { root: ./notes } } }", "reading in `[world]/project/notes`: `none` instead of `human`"),
    ("sandbox.paths.*.approval.write", ROOT, "sandbox: { paths: { n: { root: ./notes } } }", "writing in `[world]/project/notes`: `required` instead of `human`"),
    ("sandbox.paths.*.approval.attach", ROOT, "sandbox: { paths: { n: { root: ./notes } } }", "attaching from `[world]/project/notes`: `none` instead of `deny`"),
    ("sandbox.require_os_sandbox", DEMANDED, "sandbox: { require_os_sandbox: false }", "processes may run without the OS sandbox"),
    ("sandbox.os_sandbox_fallback", DEMANDED, "sandbox: { os_sandbox_fallback: refuse_tools }", "if the required OS sandbox does not work, only tools that start processes are refused"),
    ("sandbox.os_sandbox_min", DEMANDED, "sandbox: { os_sandbox_min: content-only }", "a weaker tier of the OS sandbox is accepted"),
    ("sandbox.toolchains", "sandbox: { toolchains: off }", "sandbox: { toolchains: auto }", "processes can read what the programs on `PATH` need to start"),
    ("sandbox.toolchains", "", "sandbox: { toolchains: [auto, /opt/x, ./notes] }", "processes can read `/opt/x` outside the roots"),
    ("sandbox.caches", "", "sandbox: { caches: [~/.npm/_cacache, /opt/cache] }", "processes can read the cache `/opt/cache` outside the roots"),
    ("sandbox.caches", "sandbox: { caches: [] }", "sandbox: { caches: [~/.npm/_cacache] }", "processes can read the cache `[world]/home/.npm/_cacache` outside the roots"),
    ("sandbox.os_profile.read", CLOSED, "sandbox: { os_profile: { read: [/] } }", "`sandbox.os_profile.read` is [/] instead of [[world]/project/notes]"),
    ("sandbox.os_profile.write", CLOSED, "sandbox: { os_profile: { write: [/] } }", "`sandbox.os_profile.write` is [/] instead of [[world]/project/notes]"),
    ("sandbox.os_profile.network", CLOSED, "sandbox: { os_profile: { network: true } }", "`sandbox.os_profile.network` is true instead of false"),
    ("shell.default.approval", SHELL, "shell: { default: { approval: required } }", "commands that no rule covers: `required` instead of `human`"),
    ("shell.default.approval", "shell:", "shell: { default: { approval: rehearse } }", "commands that no rule covers: `rehearse` instead of `required`"),
    ("shell.known_read_only", SHELL, "shell: { known_read_only: none }", "commands known to only read: `none` instead of `deny`"),
    ("shell.outside_roots", SHELL, "shell: { outside_roots: required }", "paths outside every root: `required` instead of `deny`"),
    ("shell.network", SHELL, "shell: { network: true }", "commands may use the network"),
    ("shell.network", SHELL, "shell: { network: required }", "commands may use the network if a person approves"),
    ("shell.limits.wall", SHELL, "shell: { limits: { wall: 1d } }", "the limit `wall` for commands is higher"),
    ("shell.limits.cpu", SHELL, "shell: { limits: { cpu: 1d } }", "the limit `cpu` for commands is higher"),
    ("shell.limits.memory", SHELL, "shell: { limits: { memory: 1TiB } }", "the limit `memory` for commands is higher"),
    ("shell.limits.processes", SHELL, "shell: { limits: { processes: 999 } }", "the limit `processes` for commands is higher"),
    ("shell.limits.file", SHELL, "shell: { limits: { file: 1TiB } }", "the limit `file` for commands is higher"),
    ("shell.limits.output", SHELL, "shell: { limits: { output: 1TiB } }", "the limit `output` for commands is higher"),
    ("shell.env.pass", "", "shell: { env: { pass: [AWS_SECRET] } }", "commands get the environment variable `AWS_SECRET`"),
    ("shell.rules[].pattern", SHELL, "shell: { rules: [ { pattern: ls, approval: none } ] }", "commands that start with `ls`: `none`"),
    ("shell.rules[].exact", SHELL, "shell: { rules: [ { pattern: ls, exact: true, approval: none } ] }", "commands that start with `ls`: `none`"),
    ("shell.rules[].approval", SHELL, "shell: { rules: [ { pattern: cat, approval: human } ] }", "commands that start with `cat`: `human` instead of `deny`"),
    ("shell.rules[].approval", "shell:", "shell: { rules: [ { pattern: make, approval: rehearse } ] }", "commands that start with `make`: `rehearse`"),
    ("shell.rules[].network", SHELL, "shell: { rules: [ { pattern: curl, network: none } ] }", "commands that start with `curl` may use the network"),
    ("shell.rules[].network", SHELL, "shell: { rules: [ { pattern: curl, network: required } ] }", "commands that start with `curl` may use the network if a person approves"),
    ("shell.rules[].description", SHELL, "shell: { rules: [ { pattern: rm, approval: human, description: \"tidy up\" } ] }", "commands that start with `rm` are described as `tidy up`"),
    ("only_tools", "only_tools: [a]", "only_tools: [a, b]", "the tool `b` is also offered"),
    ("tools.*.approval", TOOL, "tools: { a: { approval: none } }", "the tool `a`: `none`"),
    ("tools.*.approval", "", "tools: { shell: { approval: rehearse } }", "the tool `shell`: `rehearse`"),
    ("tools.*.risk", TOOL, "tools: { a: [ { approval: human, risk: low, when: { x: 1 } }, { approval: human, risk: irreversible } ] }", "the tool `a`: its risk is no longer `irreversible`"),
    ("tools.*.description", "", "tools: { a: { description: \"show the date\" } }", "calls to the tool `a` are described as `show the date`"),
    ("tools.*.description", TOOL, "tools: { a: { description: \"greet {to}\" } }", "calls to the tool `a` are described as `greet {to}`"),
    ("tools.*.description", TOOL, "tools: { a: { approval: human } }", "calls to the tool `a` are no longer described as `pay {to}`"),
    ("tools.*.exclude_keys", TOOL, "tools: { a: { exclude_keys: [to] } }", "the argument `to` of the tool `a` is not written to the audit log"),
    ("tools.*.exclude_keys", TOOL, "tools: { a: { exclude_keys: [to] } }", "the argument `pin` of the tool `a` is written to the audit log"),
    ("tools.*.when", TOOL, "tools: { a: { approval: human, when: { x: 1 } } }", "the tool `a`: if no condition matches, less specific rules or its own assessment apply"),
    ("tools.*.options", TOOL, "tools: { a: { approval: human, options: { limit: 9 } } }", "the tool `a` has other options"),
    ("tools.*.command", "", "tools: { w: { command: [wc, x] } }", "the program `wc x` is offered as the tool `w`"),
    ("mcp.*.command", SERVERS, "mcp: { g: { command: [h, x] } }", "the MCP server `g` runs `h x`"),
    ("mcp.*.url", SERVERS, "mcp: { u: { url: \"http://v\" } }", "the MCP server `u` is at `http://v`"),
    ("mcp.*.token_file", SERVERS, "mcp: { u: { url: \"http://u\", token_file: ./t } }", "the MCP server `u` gets the token in `[world]/project/t`"),
    ("mcp.*.env.pass", SERVERS, "mcp: { g: { command: [g], env: { pass: [AWS_SECRET] } } }", "the MCP server `g` gets the environment variable `AWS_SECRET`"),
    ("mcp.*.hide_denied", SERVERS, "mcp: { g: { command: [g], hide_denied: true } }", "the list of tools of the MCP server `g` omits those that are denied"),
    ("mcp.*.ask_by", SERVERS, "mcp: { g: { command: [g], ask_by: [elicitation] } }", "requests about the MCP server `g` are answered by `elicitation`"),
];

/// The keys that cannot loosen anything, or only together with a key that is reported.
const CANNOT_LOOSEN: &[&str] = &[
    "version",
    "prompt.notify",
    "ledger.rotate",
    "sandbox.never_read",
    "sandbox.never_write",
    "shell.rules[].risk",
    "shell.rules[].sandbox_paths",
    "shell.rules[].examples.match",
    "shell.rules[].examples.not_match",
    "shell.dangerous_patterns",
    "tools.*.args.*.type",
    "tools.*.args.*.items.type",
    "tools.*.args.*.optional",
    "tools.*.args.*.enum",
    "tools.*.args.*.description",
    "tools.*.about",
];

#[test]
fn loosened_key_is_reported() {
    for (key, user, project, expected) in REPORTED {
        let lines = reported(user, project);
        assert!(lines.iter().any(|line| line == expected), "{key}: {expected} is not in {lines:#?}");
    }
}

#[test]
fn every_key_is_reported_or_cannot_loosen() {
    let group = |kind| {
        matches!(kind, ValueKind::Section | ValueKind::NameMap | ValueKind::SectionList | ValueKind::Cases)
    };
    for key in KEYS.iter().filter(|key| !group(key.kind)) {
        let is_reported = REPORTED.iter().any(|(reported, ..)| *reported == key.path);
        assert!(is_reported != CANNOT_LOOSEN.contains(&key.path), "{}", key.path);
    }
}

#[test]
fn key_that_loosens_nothing_is_not_reported() {
    for project in [
        "ledger: { rotate: 1KiB }",
        "sandbox: { never_read: [x], never_write: [y] }",
        "shell: { dangerous_patterns: [rm], rules: [ { pattern: rm, approval: deny, risk: high } ] }",
        "prompt: { preview_lines: 99, notify: off }",
        "undo: { keep: 60, days: 8, size: 2GiB, deletes: ask }",
        "sandbox: { caches: [~/.cargo/registry/index] }",
        "sandbox: { caches: [] }",
        "shell: { network: deny, rules: [ { pattern: curl, approval: deny, network: deny } ] }",
    ] {
        assert_eq!(reported(SHELL, project), Vec::<String>::new(), "{project}");
    }
}

#[test]
fn overlapping_globs_and_built_in_tools_are_compared() {
    assert_eq!(
        reported(
            "default_approval: none\ntools: { \"gh_*\": { approval: required } }",
            "tools: { \"*_delete\": { approval: none } }"
        ),
        ["the tool `*_delete`: `none`"]
    );
    assert_eq!(
        reported(ROOT, "tools: { write_file: { approval: required } }"),
        ["the tool `write_file`: `required`"]
    );
    assert_eq!(reported(SHELL, "tools: { shell: { approval: human } }"), Vec::<String>::new());
}
