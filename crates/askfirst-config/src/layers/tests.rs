//! Tests of the layers: which config file applies, and that a floor never loosens anything.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use askfirst::{Approval, ApprovalContext, Args, Assessment, Digest, SandboxStatus, Verdict, judge};
use serde_json::json;

use super::{LoadOptions, ProjectTrust, from_json, load, load_with};
use crate::settings::*;
use crate::testing::{World, report};
use crate::trust;

pub(super) const USER: &str = "home/.config/askfirst/askfirst.yaml";
pub(super) const PROJECT: &str = "project/askfirst.yaml";
pub(super) const MANAGED: &str = "etc/askfirst.yaml";

fn verdict(config: &Config, tool: &str) -> Verdict {
    let call = ApprovalContext::new(tool, Args::new());
    judge(&call, &Assessment::silent(), &config.policy(SandboxStatus::Settled)).verdict()
}

pub(super) fn trust_project(world: &World) {
    let path = world.path(PROJECT);
    trust::record(&world.places(), &path, Digest::of(fs::read(&path).unwrap())).unwrap();
}

#[test]
fn missing_config_asks_about_everything_and_offers_nothing() {
    let world = World::new();
    let config = world.load().unwrap();
    assert_eq!(verdict(&config, "anything"), Verdict::Ask);
    assert!(config.main.shell.is_none() && config.main.sandbox.paths.is_empty());
    assert!(config.command_tools().is_empty() && config.files.is_empty() && config.warnings.is_empty());
    assert_eq!(config.folder, world.path("project"));
}

#[test]
fn untrusted_project_can_only_make_things_stricter() {
    let world = World::new();
    world.write(USER, "version: 1\ndefault_approval: required\ntools: { safe: { approval: none }, b: { approval: required } }\n");
    world.write(
        PROJECT,
        "version: 1\ndefault_approval: none\ntools: { safe: { approval: human }, b: { approval: none }, wc: { command: [wc], approval: none } }\nshell: { default: { approval: none } }\nsandbox: { paths: { here: { root: ., mode: rw } } }\nmcp: { m: { command: [m] } }\n",
    );
    let config = world.load().unwrap();
    assert_eq!(verdict(&config, "safe"), Verdict::Ask);
    assert_eq!(verdict(&config, "b"), Verdict::Ask);
    assert_eq!(verdict(&config, "wc"), Verdict::Ask);
    assert_eq!(verdict(&config, "other"), Verdict::Ask);
    assert!(
        config.main.shell.is_none() && config.main.sandbox.paths.is_empty() && config.main.mcp.is_empty()
    );
    assert!(config.command_tools().is_empty());
    insta::assert_snapshot!(config.not_offered.join("\n"));
    let offer = &config.untrusted;
    for tool in ["shell", "exec", "read_file", "wc"] {
        assert!(offer.tools.contains(tool), "{tool}");
    }
    assert!(!offer.tools.contains("safe") && offer.servers.contains("m"), "{offer:?}");
    assert_eq!(config.files[1].layer, Layer::UntrustedProject);
    assert!(config.warnings[0].to_string().contains("askfirst trust"));
}

#[test]
fn untrusted_project_cannot_hide_arguments() {
    let world = World::new();
    world.write(USER, "version: 1\ntools: { pay: { description: \"Pay {to}\" } }\n");
    world.write(
        PROJECT,
        "version: 1\nsecrets: { args: [\"*\"], env: [\"*\"] }\ntools: { pay: { exclude_keys: [to] }, \"*\": { exclude_keys: [path] } }\n",
    );
    let hidden = |config: &Config| {
        let args = json!({"to": "ada", "path": "x"}).as_object().unwrap().clone();
        let call = ApprovalContext::new("pay", args);
        judge(&call, &Assessment::silent(), &config.policy(SandboxStatus::Settled)).exclude_keys()
    };
    let config = world.load().unwrap();
    assert_eq!(hidden(&config), Vec::<String>::new());
    assert_eq!(config.main.secrets, SecretsConfig::default());
    insta::assert_snapshot!(config.not_offered.join("\n"), @r"
    `exclude_keys` of `*`: the project's config is not trusted
    `exclude_keys` of `pay`: the project's config is not trusted
    `secrets`: the project's config is not trusted
    ");
    let with = load_with(&world.options(), ProjectTrust::Assumed).unwrap();
    let lines = trust::loosens(&config, &with).join("\n");
    assert!(lines.contains("arguments that match `*` are hidden on screen and in the audit log"), "{lines}");
    trust_project(&world);
    let config = world.load().unwrap();
    assert_eq!(hidden(&config), ["path", "to"]);
    assert_eq!(config.main.secrets.args, ["*"]);
}

#[test]
fn trusted_project_replaces_user_values() {
    let world = World::new();
    world.write(USER, "version: 1\ndefault_approval: human\napproval_timeout: 1m\non_denial: stop\ntools: { a: { approval: deny }, b: { approval: none } }\nshell: { rules: [ { pattern: ls, approval: none } ], network: true, env: { pass: [A] } }\nsandbox: { never_read: [x] }\n");
    world.write(PROJECT, "version: 1\ndefault_approval: none\napproval_timeout: 5m\ntools: { a: { approval: none } }\nshell: { rules: [ { pattern: cat, approval: none } ], limits: { processes: 9 } }\nsandbox: { never_read: [y], paths: { here: { root: . } } }\n");
    trust_project(&world);
    let config = world.load().unwrap();
    assert_eq!(report(&config.warnings), "");
    let main = &config.main;
    assert_eq!(
        (verdict(&config, "a"), verdict(&config, "b"), verdict(&config, "z")),
        (Verdict::Allow, Verdict::Allow, Verdict::Allow)
    );
    assert_eq!((main.approval_timeout, main.on_denial), (Some(Duration::from_secs(300)), OnDenial::Stop));
    let shell = main.shell.as_ref().unwrap();
    assert_eq!(shell.rules.iter().map(|rule| rule.pattern.as_str()).collect::<Vec<_>>(), ["ls", "cat"]);
    assert_eq!(
        (shell.network, shell.limits.processes, shell.env_pass.as_slice()),
        (NetworkAccess::None, 9, &["A".to_owned()][..])
    );
    assert_eq!(main.sandbox.never_read, ["x", "y"]);
    assert!(main.sandbox.paths.contains_key("here"));
}

#[test]
fn strictest_layer_decides_about_toolchains() {
    let world = World::new();
    let config = |user: &str, project: &str, managed: &str| {
        for (name, text) in [(USER, user), (PROJECT, project), (MANAGED, managed)] {
            world.write(name, &format!("version: 1\n{text}\n"));
        }
        world.load().unwrap()
    };
    let of =
        |config: &Config| (config.main.sandbox.toolchains.auto, config.main.sandbox.toolchains.paths.len());
    assert_eq!(of(&config("", "", "")), (true, 0));
    let (off, list) = ("sandbox: { toolchains: off }", "sandbox: { toolchains: [auto, /opt/x] }");
    // Nothing that an untrusted project writes adds a folder, and its `off` counts.
    assert_eq!(of(&config(off, list, "")), (false, 0));
    assert_eq!(of(&config(list, off, "")), (false, 0));
    assert_eq!(of(&config(list, "", off)), (false, 0));
    assert_eq!(of(&config(list, "", "sandbox: {}")), (true, 1));
    config(off, list, "");
    trust_project(&world);
    assert_eq!(of(&world.load().unwrap()), (true, 1));
    // The sandbox applies the list of a floor, so the floor keeps it.
    let floor = config("", "", "sandbox: { toolchains: [/opt/y] }").floors.remove(0);
    assert_eq!(floor.sandbox.toolchains.paths, ["/opt/y"].map(std::path::PathBuf::from));
}

#[test]
fn changed_project_config_needs_trust_again() {
    let world = World::new();
    world.write(PROJECT, "version: 1\ndefault_approval: none\n");
    trust_project(&world);
    assert_eq!(verdict(&world.load().unwrap(), "a"), Verdict::Allow);
    world.write(PROJECT, "version: 1\ndefault_approval: none\n\n");
    assert_eq!(verdict(&world.load().unwrap(), "a"), Verdict::Ask);
    trust_project(&world);
    assert_eq!(verdict(&world.load().unwrap(), "a"), Verdict::Allow);
    trust::revoke(&world.places(), &world.path(PROJECT)).unwrap();
    assert_eq!(verdict(&world.load().unwrap(), "a"), Verdict::Ask);
}

#[test]
fn same_content_in_another_folder_is_not_trusted() {
    let world = World::new();
    world.write(PROJECT, "version: 1\ndefault_approval: none\n");
    trust_project(&world);
    world.write("project/notes/askfirst.yaml", "version: 1\ndefault_approval: none\n");
    let options = LoadOptions { folder: world.path("project/notes"), ..world.options() };
    assert_eq!(verdict(&load(&options).unwrap(), "a"), Verdict::Ask);
}

#[test]
fn link_to_a_trusted_config_is_not_trusted() {
    let world = World::new();
    world.write(
        PROJECT,
        "version: 1\ndefault_approval: none\nsandbox: { paths: { here: { root: ., mode: rw } } }\n",
    );
    trust_project(&world);
    fs::create_dir(world.path("other")).unwrap();
    std::os::unix::fs::symlink("../project/askfirst.yaml", world.path("other/askfirst.yaml")).unwrap();
    let options = LoadOptions { folder: world.path("other"), ..world.options() };
    let config = load(&options).unwrap();
    assert_eq!(verdict(&config, "a"), Verdict::Ask);
    assert!(config.main.sandbox.paths.is_empty());
    // Once the link itself is trusted, the config applies to the folder of the link.
    let path = world.path("other/askfirst.yaml");
    trust::record(&world.places(), &path, Digest::of(fs::read(&path).unwrap())).unwrap();
    let config = load(&options).unwrap();
    assert_eq!(config.main.sandbox.paths["here"].root, world.path("other"));
    // A link to other content is not trusted.
    let evil = world.write("evil.yaml", "version: 1\ndefault_approval: none\n");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(evil, &path).unwrap();
    assert_eq!(verdict(&load(&options).unwrap(), "a"), Verdict::Ask);
}

#[test]
fn untrusted_project_cannot_describe_calls() {
    let world = World::new();
    world.write(USER, "version: 1\ntools: { pay: { approval: required } }\n");
    world.write(PROJECT, "version: 1\ntools: { pay: { description: \"harmless\" }, \"*\": { description: \"nothing to see\" } }\n");
    let described = |config: &Config| {
        let call = ApprovalContext::new("pay", Args::new());
        judge(&call, &Assessment::silent(), &config.policy(SandboxStatus::Settled))
            .request()
            .unwrap()
            .description
    };
    let config = world.load().unwrap();
    assert_eq!(described(&config), "pay()");
    assert_eq!(config.not_offered.len(), 2, "{:?}", config.not_offered);
    trust_project(&world);
    assert_eq!(described(&world.load().unwrap()), "harmless");
}

#[test]
fn managed_config_is_always_a_floor() {
    let world = World::new();
    world.write(MANAGED, "version: 1\ntools: { rm: { approval: deny }, \"x*\": { approval: human } }\napproval_timeout: 30s\nledger: { sync: always }\nsandbox: { require_os_sandbox: true, os_sandbox_fallback: fail_fast, never_read: [.env] }\nsecrets: { args: [pin] }\n");
    let flag = world.write("flag.yaml", "version: 1\ndefault_approval: none\ntools: { rm: { approval: none }, xy: { approval: none } }\nsandbox: { require_os_sandbox: false, os_sandbox_fallback: refuse_tools }\napproval_timeout: 1h\n");
    world.write(USER, "version: 1\ntools: { z: { approval: deny } }\n");
    let options = LoadOptions { explicit: Some(flag), ..world.options() };
    let config = load(&options).unwrap();
    assert_eq!((verdict(&config, "rm"), verdict(&config, "xy")), (Verdict::Deny, Verdict::Ask));
    assert_eq!(verdict(&config, "z"), Verdict::Allow);
    let main = &config.main;
    assert_eq!(main.approval_timeout, Some(Duration::from_secs(30)));
    assert_eq!((main.ledger.sync, main.sandbox.require_os_sandbox), (SyncRule::Always, Some(true)));
    assert_eq!(
        (main.sandbox.never_read.as_slice(), main.secrets.args.as_slice()),
        (&[".env".to_owned()][..], &["pin".to_owned()][..])
    );
    assert_eq!(main.sandbox.os_sandbox_fallback, Fallback::FailFast);
    assert_eq!(config.folder, world.path(""));
}

#[test]
fn floor_applies_only_stricter_values() {
    let world = World::new();
    world.write(USER, "version: 1\napproval_timeout: 1m\nmemory: { expire: 1h }\non_denial: stop\nledger: { sync: always }\nsandbox: { require_os_sandbox: true, os_sandbox_min: full, os_profile: { network: false, write: [./a] } }\nshell: { default: { approval: human }, network: false, limits: { memory: 1GiB }, rules: [ { pattern: ls, approval: none } ] }\n");
    world.write(PROJECT, "version: 1\napproval_timeout: 2m\nmemory: { expire: 2h }\non_denial: return\nledger: { sync: asked }\nsandbox: { require_os_sandbox: false, os_sandbox_min: content-only, os_profile: { network: true, write: [/] } }\nshell: { default: { approval: none }, network: true, limits: { memory: 2GiB, processes: 3 }, outside_roots: deny, rules: [ { pattern: ls, approval: deny }, { pattern: rm, approval: none } ] }\n");
    let config = world.load().unwrap();
    let main = &config.main;
    assert_eq!(
        (main.approval_timeout, main.memory_expire),
        (Some(Duration::from_secs(60)), Some(Duration::from_secs(3600)))
    );
    assert_eq!((main.on_denial, main.ledger.sync), (OnDenial::Stop, SyncRule::Always));
    assert_eq!((main.sandbox.require_os_sandbox, main.sandbox.os_sandbox_min), (Some(true), Tier::Full));
    let profile = main.sandbox.os_profile.as_ref().unwrap();
    assert_eq!(
        (profile.network, profile.write.clone()),
        (Some(false), Some(vec![world.path("home/.config/askfirst/a")]))
    );
    let shell = main.shell.as_ref().unwrap();
    assert_eq!(
        (shell.default, shell.network, shell.outside_roots),
        (Approval::Human, NetworkAccess::Deny, Approval::Deny)
    );
    assert_eq!((shell.limits.memory, shell.limits.processes), (1 << 30, 3));
    let rules: Vec<_> = shell.rules.iter().map(|rule| (rule.pattern.as_str(), rule.approval)).collect();
    assert_eq!(rules, [("ls", Approval::Deny), ("ls", Approval::None)]);
}

#[test]
fn floor_with_longer_durations_keeps_the_defaults() {
    let world = World::new();
    world.write(PROJECT, "version: 1\napproval_timeout: 9d\nmemory: { expire: 9d }\n");
    let main = world.load().unwrap().main;
    assert_eq!(
        (main.approval_timeout, main.memory_expire),
        (Some(DEFAULT_APPROVAL_TIMEOUT), Some(DEFAULT_MEMORY_EXPIRE))
    );
}

#[test]
fn nearest_project_config_applies_unless_a_flag_replaces_it() {
    let world = World::new();
    world.write(PROJECT, "version: 1\ntools: { a: { approval: deny } }\n");
    let options = LoadOptions { folder: world.path("project/notes"), ..world.options() };
    assert_eq!(verdict(&load(&options).unwrap(), "a"), Verdict::Deny);
    let flag = world.write("flag/f.yaml", "version: 1\n");
    let config = load(&LoadOptions { explicit: Some(flag), ..options }).unwrap();
    assert_eq!(verdict(&config, "a"), Verdict::Ask);
    assert_eq!(config.folder, world.path("flag"));
}

#[test]
fn config_that_others_can_write_is_rejected_or_untrusted() {
    let world = World::new();
    let open = |name: &str| fs::set_permissions(world.path(name), fs::Permissions::from_mode(0o666)).unwrap();
    world.write(PROJECT, "version: 1\ndefault_approval: none\n");
    trust_project(&world);
    open(PROJECT);
    let config = world.load().unwrap();
    assert_eq!(verdict(&config, "a"), Verdict::Ask);
    let warnings = world.redact(&report(&config.warnings));
    assert!(warnings.contains("cannot be trusted: the file is writable by everyone"), "{warnings}");
    let assumed = load_with(&world.options(), ProjectTrust::Assumed).unwrap();
    assert_eq!(verdict(&assumed, "a"), Verdict::Ask);
    fs::remove_file(world.path(PROJECT)).unwrap();
    for name in [USER, MANAGED] {
        world.write(name, "version: 1\n");
        open(name);
        let faults = world.redact(&world.load().unwrap_err().to_string());
        assert!(faults.contains("not safe to use: the file is writable by everyone"), "{faults}");
        fs::remove_file(world.path(name)).unwrap();
    }
    world.write(PROJECT, "version: 1\ndefault_approval: none\n");
    trust_project(&world);
    fs::set_permissions(world.path("project"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(verdict(&world.load().unwrap(), "a"), Verdict::Ask);
}

#[test]
fn unreadable_config_is_an_error() {
    let world = World::new();
    fs::create_dir_all(world.path(PROJECT)).unwrap();
    assert!(world.load().unwrap_err().to_string().contains("this is not a regular file"));
    fs::remove_dir(world.path(PROJECT)).unwrap();
    std::os::unix::fs::symlink("nowhere", world.path(PROJECT)).unwrap();
    assert!(world.load().unwrap_err().to_string().contains("broken link"));
    fs::remove_file(world.path(PROJECT)).unwrap();
    let options = LoadOptions { explicit: Some(world.path("gone.yaml")), ..world.options() };
    assert!(load(&options).unwrap_err().to_string().contains("no such file"));
    world.write(PROJECT, "version: 1\ntools: { a: { approval: maybe } }\n");
    world.write(USER, "version: 3\n");
    assert_eq!(world.load().unwrap_err().0.len(), 2);
}

#[test]
fn digest_covers_content_and_layers() {
    let world = World::new();
    let none = world.load().unwrap().digest;
    world.write(PROJECT, "version: 1\n");
    let untrusted = world.load().unwrap().digest;
    trust_project(&world);
    let trusted = world.load().unwrap();
    assert_eq!(trusted.policy(SandboxStatus::Settled).digest(), Some(trusted.digest));
    world.write(PROJECT, "version: 1 \n");
    trust_project(&world);
    let changed = world.load().unwrap().digest;
    let mut all = vec![none, untrusted, trusted.digest, changed];
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
}

#[test]
fn json_config_passes_unknown_keys_to_the_override() {
    let world = World::new();
    let value =
        json!({ "tools": { "shell_exec": { "safe_commands": ["ls"], "pre_approved": true, "mine": 1 } } });
    let config = from_json(&value, &world.options()).unwrap();
    let case = &config.main.rules.exact("shell_exec").unwrap().cases()[0];
    assert_eq!(case.approval, Some(Approval::None));
    assert_eq!(json!(case.options), json!({ "safe_commands": ["ls"], "pre_approved": true, "mine": 1 }));
    assert!(config.main.shell.is_none());
    let unknown: Vec<&str> = config.main.override_keys.iter().map(|fault| fault.message.as_str()).collect();
    let safe = "unknown key `safe_commands` in `tools.shell_exec`";
    assert_eq!(unknown, ["unknown key `mine` in `tools.shell_exec`", safe]);
    let faults = from_json(&json!({ "tool": {}, "tools": { "a": { "approval": "x" } } }), &world.options());
    assert_eq!(faults.unwrap_err().0.len(), 2);
}

#[test]
fn json_config_with_a_misspelled_key_is_an_error() {
    let world = World::new();
    for (key, hint) in [
        ("aproval", "did you mean `approval`?"),
        ("exclude_key", "did you mean `exclude_keys`?"),
        ("option", "did you mean `options`?"),
    ] {
        let faults = from_json(&json!({ "tools": { "get_time": { key: "deny" } } }), &world.options());
        let faults = faults.unwrap_err().0;
        assert_eq!(faults[0].message, format!("unknown key `{key}` in `tools.get_time`"));
        assert_eq!(faults[0].hint.as_deref(), Some(hint));
    }
    let anything = json!({ "tools": { "t": { "options": { "aproval": "deny", "mine": [1] } } } });
    let config = from_json(&anything, &world.options()).unwrap();
    assert!(config.main.override_keys.is_empty());
}

#[test]
fn ledger_section_is_set_by_any_layer() {
    for (name, is_set) in [(USER, true), (PROJECT, true), (MANAGED, true)] {
        let world = World::new();
        assert!(!world.load().unwrap().main.ledger.is_set);
        world.write(name, "version: 1\nledger: {}\n");
        assert_eq!(world.load().unwrap().main.ledger.is_set, is_set, "{name}");
    }
}

#[test]
fn broken_link_to_a_config_is_an_error() {
    for name in [MANAGED, USER, PROJECT] {
        let world = World::new();
        let path = world.write(name, "");
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/nope/askfirst.yaml", &path).unwrap();
        let faults = world.load().unwrap_err().to_string();
        assert!(faults.contains("broken link: its target does not exist"), "{name}: {faults}");
    }
    let world = World::new();
    fs::create_dir_all(world.path("home/.config")).unwrap();
    std::os::unix::fs::symlink("/nope", world.path("home/.config/askfirst")).unwrap();
    let faults = world.load().unwrap_err().to_string();
    assert!(faults.contains("broken link: its target does not exist"), "{faults}");
    fs::remove_file(world.path("home/.config/askfirst")).unwrap();
    std::os::unix::fs::symlink(world.path("state"), world.path("home/.config/askfirst")).unwrap();
    assert!(world.load().is_ok());
}

#[test]
fn digest_is_the_same_for_every_spelling_of_a_path() {
    let world = World::new();
    world.write("project/c.yaml", "version: 1\n");
    world.write("other/c.yaml", "version: 1\n");
    std::os::unix::fs::symlink(world.path("project"), world.path("link")).unwrap();
    let digest = |path: &str| {
        let options = LoadOptions { explicit: Some(world.path(path)), ..world.options() };
        load(&options).unwrap().digest
    };
    for path in ["project/./c.yaml", "project/notes/../c.yaml", "link/c.yaml"] {
        assert_eq!(digest(path), digest("project/c.yaml"), "{path}");
    }
    assert_ne!(digest("other/c.yaml"), digest("project/c.yaml"));
}

#[test]
fn tool_that_is_not_offered_is_denied() {
    let world = World::new();
    world.write(
        USER,
        "version: 1\ndefault_approval: none\nonly_tools: [other]\ntools: { wc: { command: [wc], approval: none }, \"*\": { approval: none } }\n",
    );
    let config = world.load().unwrap();
    let denied = ["wc", "somebodys"].map(|tool| verdict(&config, tool));
    assert_eq!(denied, [Verdict::Deny, Verdict::Deny]);
    let allowed = ["other", "read_file", "mcp__github__list"].map(|tool| verdict(&config, tool));
    assert_eq!(allowed, [Verdict::Allow; 3]);
    let call = ApprovalContext::new("wc", Args::new());
    let (silent, policy) = (Assessment::silent(), config.policy(SandboxStatus::Settled));
    let because = judge(&call, &silent, &policy).because().swap_remove(0);
    assert_eq!((&*because.rule, because.line, &*because.text), ("only_tools", Some(3), "[other]"));
}
