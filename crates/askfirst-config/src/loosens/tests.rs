//! Every key that can loosen something is told of, and every other is known not to.

use super::loosens;
use crate::keys::{KEYS, Kind};
use crate::layers::{ProjectTrust, load_with};
use crate::testing::World;

fn said(user: &str, project: &str) -> Vec<String> {
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

/// A key, what the user says, what the project says, and what is told of it.
#[rustfmt::skip]
const TOLD: &[(&str, &str, &str, &str)] = &[
    ("default_approval", "", "default_approval: none", "tools that nobody speaks for: `none` instead of `required`"),
    ("on_denial", "on_denial: stop", "on_denial: return", "a person's no no longer stops the run"),
    ("approval_timeout", "", "approval_timeout: 1h", "questions wait 1h instead of 10m"),
    ("memory.expire", "", "memory: { expire: 9h }", "decisions are remembered for 9h instead of 8h"),
    ("prompt.preview_lines", "", "prompt: { preview_lines: 1 }", "1 line of what is asked about is shown at first instead of 50"),
    ("ledger.sync", "ledger: { sync: always }", "ledger: { sync: asked }", "not every record is synced to the disk"),
    ("ledger.path", "", "ledger: { path: ./x }", "the record is kept elsewhere"),
    ("secrets.args", "", "secrets: { args: [x] }", "arguments like `x` are hidden on screen and in the record"),
    ("secrets.env", "", "secrets: { env: [X] }", "values of variables like `X` are hidden on screen and in the record"),
    ("sandbox.paths.*.root", "", "sandbox: { paths: { x: { root: . } } }", "`[world]/project` can be read"),
    ("sandbox.paths.*.mode", "sandbox: { paths: { x: { root: ../../../project } } }", "sandbox: { paths: { x: { root: ., mode: rw } } }", "`[world]/project` can be written"),
    ("sandbox.paths.*.suffixes", ROOT, "sandbox: { paths: { n: { root: ./notes } } }", "more kinds of files can be touched in `[world]/project/notes`"),
    ("sandbox.paths.*.max_file_bytes", ROOT, "sandbox: { paths: { n: { root: ./notes } } }", "larger files can be touched in `[world]/project/notes`"),
    ("sandbox.paths.*.approval.read", ROOT, "sandbox: { paths: { n: { root: ./notes } } }", "reading in `[world]/project/notes`: `none` instead of `human`"),
    ("sandbox.paths.*.approval.write", ROOT, "sandbox: { paths: { n: { root: ./notes } } }", "writing in `[world]/project/notes`: `required` instead of `human`"),
    ("sandbox.paths.*.approval.attach", ROOT, "sandbox: { paths: { n: { root: ./notes } } }", "attaching from `[world]/project/notes`: `none` instead of `deny`"),
    ("sandbox.require_os_sandbox", DEMANDED, "sandbox: { require_os_sandbox: false }", "processes may run without walls"),
    ("sandbox.os_sandbox_fallback", DEMANDED, "sandbox: { os_sandbox_fallback: refuse_tools }", "where the walls that are demanded do not hold, everything but what needs them goes on"),
    ("sandbox.os_sandbox_min", DEMANDED, "sandbox: { os_sandbox_min: content-only }", "weaker walls count as walls"),
    ("sandbox.os_profile.read", CLOSED, "sandbox: { os_profile: { read: [/] } }", "`sandbox.os_profile.read` restricts to [/] instead of [[world]/project/notes]"),
    ("sandbox.os_profile.write", CLOSED, "sandbox: { os_profile: { write: [/] } }", "`sandbox.os_profile.write` restricts to [/] instead of [[world]/project/notes]"),
    ("sandbox.os_profile.network", CLOSED, "sandbox: { os_profile: { network: true } }", "`sandbox.os_profile.network` restricts to true instead of false"),
    ("shell.default.approval", SHELL, "shell: { default: { approval: required } }", "commands that no rule speaks for: `required` instead of `human`"),
    ("shell.known_read_only", SHELL, "shell: { known_read_only: none }", "commands known only to read: `none` instead of `deny`"),
    ("shell.outside_roots", SHELL, "shell: { outside_roots: required }", "paths outside every root: `required` instead of `deny`"),
    ("shell.network", SHELL, "shell: { network: true }", "commands have a network"),
    ("shell.limits.wall", SHELL, "shell: { limits: { wall: 1d } }", "the limit `wall` of commands is higher"),
    ("shell.limits.cpu", SHELL, "shell: { limits: { cpu: 1d } }", "the limit `cpu` of commands is higher"),
    ("shell.limits.memory", SHELL, "shell: { limits: { memory: 1TiB } }", "the limit `memory` of commands is higher"),
    ("shell.limits.processes", SHELL, "shell: { limits: { processes: 999 } }", "the limit `processes` of commands is higher"),
    ("shell.limits.file", SHELL, "shell: { limits: { file: 1TiB } }", "the limit `file` of commands is higher"),
    ("shell.limits.output", SHELL, "shell: { limits: { output: 1TiB } }", "the limit `output` of commands is higher"),
    ("shell.env.pass", "", "shell: { env: { pass: [AWS_SECRET] } }", "commands see the environment variable `AWS_SECRET`"),
    ("shell.rules[].pattern", SHELL, "shell: { rules: [ { pattern: ls, approval: none } ] }", "commands that begin with `ls`: `none`"),
    ("shell.rules[].exact", SHELL, "shell: { rules: [ { pattern: ls, exact: true, approval: none } ] }", "commands that begin with `ls`: `none`"),
    ("shell.rules[].approval", SHELL, "shell: { rules: [ { pattern: cat, approval: human } ] }", "commands that begin with `cat`: `human` instead of `deny`"),
    ("shell.rules[].description", SHELL, "shell: { rules: [ { pattern: rm, approval: human, description: \"tidy up\" } ] }", "commands that begin with `rm` are described as `tidy up`"),
    ("only_tools", "only_tools: [a]", "only_tools: [a, b]", "`b` is offered too"),
    ("tools.*.approval", TOOL, "tools: { a: { approval: none } }", "the tool `a`: `none`"),
    ("tools.*.risk", TOOL, "tools: { a: [ { approval: human, risk: low, when: { x: 1 } }, { approval: human, risk: irreversible } ] }", "the tool `a`: its risk is no longer `irreversible`"),
    ("tools.*.description", "", "tools: { a: { description: \"show the date\" } }", "calls of the tool `a` are described as `show the date`"),
    ("tools.*.description", TOOL, "tools: { a: { description: \"greet {to}\" } }", "calls of the tool `a` are described as `greet {to}`"),
    ("tools.*.description", TOOL, "tools: { a: { approval: human } }", "calls of the tool `a` are no longer described as `pay {to}`"),
    ("tools.*.exclude_keys", TOOL, "tools: { a: { exclude_keys: [to] } }", "`to` of the tool `a` is not recorded"),
    ("tools.*.exclude_keys", TOOL, "tools: { a: { exclude_keys: [to] } }", "`pin` of the tool `a` is recorded"),
    ("tools.*.when", TOOL, "tools: { a: { approval: human, when: { x: 1 } } }", "the tool `a`: less specific names or its own view where no condition holds"),
    ("tools.*.options", TOOL, "tools: { a: { approval: human, options: { limit: 9 } } }", "the tool `a` has other options"),
    ("tools.*.command", "", "tools: { w: { command: [wc, x] } }", "the program `wc x` is offered as `w`"),
    ("mcp.*.command", SERVERS, "mcp: { g: { command: [h, x] } }", "`h x` is started as the MCP server `g`"),
    ("mcp.*.url", SERVERS, "mcp: { u: { url: \"http://v\" } }", "`http://v` is reached as the MCP server `u`"),
    ("mcp.*.token_file", SERVERS, "mcp: { u: { url: \"http://u\", token_file: ./t } }", "the MCP server `u` is sent the token in `[world]/project/t`"),
    ("mcp.*.env.pass", SERVERS, "mcp: { g: { command: [g], env: { pass: [AWS_SECRET] } } }", "the MCP server `g` sees the environment variable `AWS_SECRET`"),
    ("mcp.*.hide_denied", SERVERS, "mcp: { g: { command: [g], hide_denied: true } }", "tools of the MCP server `g` that are denied are left out of its lists"),
    ("mcp.*.ask_by", SERVERS, "mcp: { g: { command: [g], ask_by: [elicitation] } }", "calls of the MCP server `g` are asked about by `elicitation`"),
];

/// Keys that can make nothing looser, or nothing that another line does not tell.
const CANNOT: &[&str] = &[
    "version",
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
fn whatever_a_key_can_loosen_is_said() {
    for (key, user, project, sentence) in TOLD {
        let said = said(user, project);
        assert!(said.iter().any(|line| line == sentence), "{key}: {sentence} is not in {said:#?}");
    }
}

#[test]
fn every_key_is_told_of_or_cannot_loosen() {
    let group = |kind| matches!(kind, Kind::Section | Kind::Named | Kind::Sections | Kind::Cases);
    for key in KEYS.iter().filter(|key| !group(key.kind)) {
        let told = TOLD.iter().any(|(told, ..)| *told == key.path);
        assert!(told != CANNOT.contains(&key.path), "{}", key.path);
    }
}

#[test]
fn what_cannot_loosen_is_not_told() {
    for project in [
        "ledger: { rotate: 1KiB }",
        "sandbox: { never_read: [x], never_write: [y] }",
        "shell: { dangerous_patterns: [rm], rules: [ { pattern: rm, approval: deny, risk: high } ] }",
        "prompt: { preview_lines: 99 }",
    ] {
        assert_eq!(said(SHELL, project), Vec::<String>::new(), "{project}");
    }
}

#[test]
fn what_overlaps_and_what_a_built_in_tool_says_itself_counts() {
    assert_eq!(
        said(
            "default_approval: none\ntools: { \"gh_*\": { approval: required } }",
            "tools: { \"*_delete\": { approval: none } }"
        ),
        ["the tool `*_delete`: `none`"]
    );
    assert_eq!(
        said(ROOT, "tools: { write_file: { approval: required } }"),
        ["the tool `write_file`: `required`"]
    );
    assert_eq!(said(SHELL, "tools: { shell: { approval: human } }"), Vec::<String>::new());
}
