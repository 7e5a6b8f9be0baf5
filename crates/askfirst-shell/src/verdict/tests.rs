//! Verdicts where a layer has commands rehearsed.

use std::collections::HashMap;
use std::path::Path;

use askfirst::Because;
use serde_json::Value;

use super::*;
use crate::rules::{LayerValues, NetworkAccess, ShellRule};
use crate::sandbox_view::{Masked, SandboxView};
use crate::script::{Script, ShellPolicy};
use crate::world::Empty;
use crate::{Governed, Roots, never_written};

/// One root, `/repo`.
struct OneRoot {
    origin: Because,
    writable: bool,
    read: Approval,
    write: Approval,
}

impl OneRoot {
    fn free() -> Self {
        let origin = Because::built_in("sandbox.paths", "a root");
        Self { origin, writable: true, read: Approval::None, write: Approval::None }
    }
}

impl Roots for OneRoot {
    fn folder(&self) -> &Path {
        Path::new("/repo")
    }

    fn governs<'p>(&self, real: &'p Path) -> Option<Governed<'_, 'p>> {
        let inside = real.strip_prefix("/repo").ok()?;
        let Self { origin, writable, read, write } = self;
        Some(Governed { root: "repo", origin, inside, writable: *writable, read: *read, write: *write })
    }

    fn places(&self) -> Vec<&Path> {
        vec![Path::new("/repo")]
    }

    fn base(&self, _: &Path) -> &Path {
        Path::new("/repo")
    }

    fn reads_all(&self) -> bool {
        false
    }

    fn never_read(&self, real: &Path) -> Option<String> {
        real.ends_with(".env").then(|| "a rule has `.env`".to_owned())
    }

    fn never_write(&self, real: &Path) -> Option<String> {
        self.never_read(real).or_else(|| never_written(real.strip_prefix("/").unwrap_or(real)))
    }
}

fn rule(pattern: &str, approval: Approval) -> ShellRule {
    ShellRule {
        pattern: pattern.to_owned(),
        words: pattern.split(' ').map(str::to_owned).collect(),
        exact: false,
        approval,
        description: None,
        risk: None,
        sandbox_paths: Vec::new(),
        network: None,
        origin: Because::built_in("shell.rules", pattern),
    }
}

fn layer(default: Option<Approval>, rules: Vec<ShellRule>) -> Layer {
    let known_read_only = default.map(|_| Approval::None);
    let values = LayerValues { default, known_read_only, rules, ..LayerValues::default() };
    Layer::new(LayerValues { origins: HashMap::new(), ..values }).unwrap()
}

fn rehearsing() -> ShellPolicy {
    let rules = vec![rule("sudo", Approval::Deny), rule("git push", Approval::Required)];
    ShellPolicy { main: layer(Some(Approval::Rehearse), rules), floors: Vec::new() }
}

fn judged_in(policy: &ShellPolicy, roots: &OneRoot, command: &str) -> Approval {
    let script = Script::of_line(command, Path::new("/repo"), &Empty);
    policy.judge(&script, &Empty, roots, &Masked::BySandbox).approval()
}

/// Judges a command of a session that has `/tmp` to itself.
fn judged_with_own_tmp(policy: &ShellPolicy, command: &str) -> Approval {
    let script = Script::of_line(command, Path::new("/repo"), &Empty);
    policy.judge(&script, &Empty, &OneRoot::free(), &OwnTmp).approval()
}

fn judged(policy: &ShellPolicy, command: &str) -> Approval {
    judged_in(policy, &OneRoot::free(), command)
}

/// The lines of a file in `spec/rehearsal`.
fn cases(file: &str) -> Vec<Value> {
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/rehearsal").join(file);
    let text = std::fs::read_to_string(spec).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn wrong(
    file: &str,
    judged: impl Fn(&ShellPolicy, &str) -> Approval,
    right: impl Fn(Approval) -> bool,
) -> Vec<String> {
    let policy = rehearsing();
    let cases = cases(file);
    assert!(cases.len() > 30);
    let commands = cases.iter().map(|case| case["command"].as_str().unwrap());
    let said = commands.map(|command| (command, judged(&policy, command)));
    said.filter(|(_, said)| !right(*said)).map(|(command, said)| format!("{command} ({said:?})")).collect()
}

#[test]
fn command_that_is_not_understood_is_rehearsed() {
    let wrong = wrong("rehearsed.jsonl", judged, |said| said == Approval::Rehearse);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn effect_that_a_rehearsal_cannot_show_asks_first() {
    let wrong = wrong("asked.jsonl", judged, |said| said >= Approval::Required);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn danger_is_rehearsed_only_if_a_guard_sees_its_effect() {
    let wrong = wrong("dangers.jsonl", judged_with_own_tmp, |said| said == Approval::Rehearse);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let guards = [
        "private place",
        "never file",
        "shown file",
        "special file",
        "network try",
        "undo",
        "leftover process",
    ];
    for case in cases("dangers.jsonl") {
        assert!(guards.contains(&case["guard"].as_str().unwrap()), "{case}");
        assert!(!case["effect"].as_str().unwrap().is_empty(), "{case}");
    }
}

#[test]
fn other_defaults_ask_about_all_rehearsed_commands() {
    for default in [Approval::None, Approval::OncePerSession, Approval::Required] {
        let policy = ShellPolicy { main: layer(Some(default), Vec::new()), ..rehearsing() };
        for command in ["frob --deep", "cat \"$FILE\"", "sh -c \"$CODE\"", "echo x > package.json"] {
            assert!(judged(&policy, command) >= Approval::Required.min(default), "{command}");
        }
        assert_eq!(judged(&policy, "sh -c \"$CODE\""), Approval::Required);
    }
}

#[test]
fn rule_has_its_commands_rehearsed_with_what_it_does_not_cover() {
    let rules = vec![rule("npm", Approval::Rehearse), rule("docker", Approval::Rehearse)];
    let policy = ShellPolicy { main: layer(Some(Approval::Required), rules), ..rehearsing() };
    for command in ["npm test", "npm run x --frob=y", "FOO=bar npm test", "npm test \"$X\"", "npm test > log"]
    {
        assert_eq!(judged(&policy, command), Approval::Rehearse, "{command}");
    }
    for command in ["make", "npm test; make", "npm publish", "docker ps", "npm test > /srv/log"] {
        assert_eq!(judged(&policy, command), Approval::Required, "{command}");
    }
}

#[test]
fn rule_that_allows_or_asks_beats_the_default_to_rehearse() {
    let rules = vec![rule("make", Approval::None), rule("npm test", Approval::OncePerSession)];
    let policy = ShellPolicy { main: layer(Some(Approval::Rehearse), rules), ..rehearsing() };
    assert_eq!(judged(&policy, "make"), Approval::None);
    assert_eq!(judged(&policy, "make SHELL=x"), Approval::Rehearse);
    assert_eq!(judged(&policy, "npm test"), Approval::OncePerSession);
    assert_eq!(judged(&policy, "cat a.txt"), Approval::None);
}

#[test]
fn floor_that_does_not_rehearse_stays_as_strict() {
    let floor = |default, rules| ShellPolicy { floors: vec![layer(default, rules)], ..rehearsing() };
    let silent = floor(None, vec![rule("rm", Approval::Deny)]);
    assert_eq!(judged(&silent, "frob --deep"), Approval::Rehearse);
    assert_eq!(judged(&silent, "rm x"), Approval::Deny);
    assert!(judged(&silent, "$X rm y") >= Approval::Required);
    let same = floor(Some(Approval::Rehearse), Vec::new());
    assert_eq!(judged(&same, "frob --deep"), Approval::Rehearse);
    let asking = floor(Some(Approval::Required), Vec::new());
    assert_eq!(judged(&asking, "make"), Approval::Required);
    assert_eq!(judged(&asking, "frob \"$X\""), Approval::Required);
    let free = floor(Some(Approval::None), vec![rule("make", Approval::None)]);
    assert_eq!(judged(&free, "make"), Approval::Rehearse);
    assert_eq!(judged(&free, "make SHELL=x"), Approval::Required);
    assert_eq!(judged(&free, "sh -c \"$CODE\""), Approval::Required);
}

#[test]
fn approval_for_writes_does_not_ask_before_a_rehearsal() {
    let policy = rehearsing();
    for write in [Approval::OncePerSession, Approval::Required, Approval::Human] {
        let roots = OneRoot { write, ..OneRoot::free() };
        assert_eq!(judged_in(&policy, &roots, "touch x"), Approval::Rehearse);
        assert_eq!(judged_in(&policy, &roots, "make > log"), Approval::Rehearse);
    }
    let denied = OneRoot { write: Approval::Deny, ..OneRoot::free() };
    assert_eq!(judged_in(&policy, &denied, "touch x"), Approval::Deny);
    let read_only = OneRoot { writable: false, ..OneRoot::free() };
    assert_eq!(judged_in(&policy, &read_only, "touch x"), Approval::Deny);
}

#[test]
fn root_that_asks_about_reading_asks_before_a_rehearsal() {
    for read in [Approval::Required, Approval::Human, Approval::Deny] {
        let roots = OneRoot { read, ..OneRoot::free() };
        assert_eq!(judged_in(&rehearsing(), &roots, "cat a.txt"), read);
        assert_eq!(judged_in(&rehearsing(), &roots, "./x.sh < a.txt"), read);
    }
}

/// A layer whose rule for `curl` has a value for the network.
fn with_network(access: Option<NetworkAccess>, by_rule: Option<NetworkAccess>) -> Layer {
    let curl = ShellRule { network: by_rule, ..rule("curl", Approval::None) };
    let rules = vec![curl, rule("echo", Approval::None), rule("frob", Approval::None)];
    let values =
        LayerValues { default: Some(Approval::Required), rules, network: access, ..LayerValues::default() };
    Layer::new(LayerValues { origins: HashMap::new(), ..values }).unwrap()
}

#[test]
fn rule_gives_its_command_the_network_unless_a_floor_denies() {
    use NetworkAccess::{Deny, None as Free, Required};
    let check = |main: Layer, floors: Vec<Layer>, command: &str| {
        let script = Script::of_line(command, Path::new("/repo"), &Empty);
        let judged =
            ShellPolicy { main, floors }.judge(&script, &Empty, &OneRoot::free(), &Masked::BySandbox);
        (judged.approval() == Approval::None, judged.network)
    };
    let by_rule = |access| with_network(Some(Deny), access);
    assert_eq!(check(by_rule(None), Vec::new(), "curl -s https://example.com"), (false, Some(Deny)));
    assert_eq!(
        check(by_rule(Some(Required)), Vec::new(), "curl -s https://example.com"),
        (false, Some(Required))
    );
    assert_eq!(check(by_rule(Some(Free)), Vec::new(), "curl -s https://example.com"), (true, Some(Free)));
    // All programs of a line share one network, and `frob` would get it too.
    assert_eq!(
        check(by_rule(Some(Free)), Vec::new(), "curl -s https://example.com && frob"),
        (true, Some(Deny))
    );
    assert_eq!(
        check(by_rule(Some(Free)), Vec::new(), "curl -s https://example.com && echo ok"),
        (true, Some(Free))
    );
    assert_eq!(check(by_rule(Some(Free)), Vec::new(), "echo ok"), (true, None));
    let floor = Layer::new(LayerValues { network: Some(Required), ..LayerValues::default() }).unwrap();
    assert_eq!(
        check(by_rule(Some(Free)), vec![floor], "curl -s https://example.com"),
        (false, Some(Required))
    );
}

/// A sandbox in which a rehearsed command has `/tmp` to itself.
struct OwnTmp;

impl SandboxView for OwnTmp {
    fn masked(&self) -> Masked {
        Masked::BySandbox
    }

    fn shown(&self) -> &[&str] {
        &[]
    }

    fn private(&self) -> &[&str] {
        &["/tmp"]
    }
}

#[test]
fn scratch_file_is_rehearsed_and_never_allowed_or_outside() {
    let judged = judged_with_own_tmp;
    for command in ["cat /tmp/x", "echo x > /tmp/x", "mkdir -p /tmp/a && cp a.txt /tmp/a", "ls /tmp"] {
        assert_eq!(judged(&rehearsing(), command), Approval::Rehearse, "{command}");
    }
    for command in ["cat /var/tmp/x", "echo x > /tmpx", "echo x > /tmp/../srv/x", "cat /tmp/x > /srv/x"] {
        assert_eq!(judged(&rehearsing(), command), Approval::Required, "{command}");
    }
    let asking = ShellPolicy { main: layer(Some(Approval::Required), Vec::new()), floors: Vec::new() };
    assert_eq!(judged(&asking, "cat /tmp/x"), Approval::Required);
}
