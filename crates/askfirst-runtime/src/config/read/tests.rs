//! What each key means, and what a file cannot say.

use std::time::Duration;

use askfirst::{Approval, Risk};

use crate::config::settings::*;
use crate::config::testing::{World, example, report};

#[test]
fn the_config_of_the_design_reads_without_warnings() {
    let world = World::new();
    let (settings, warnings) = world.read(&example()).unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(report(&warnings), "");
    assert_eq!(settings.rules.default_approval().map(|(approval, _)| approval), Some(Approval::Required));
    assert_eq!(settings.on_denial, OnDenial::Return);
    assert_eq!(settings.approval_timeout, Some(Duration::from_secs(600)));
    assert_eq!(settings.memory_expire, Some(Duration::from_secs(8 * 3600)));
    assert_eq!(settings.preview_lines, Some(50));
    assert_eq!(settings.ledger.rotate, Some(64 << 20));
    assert_eq!(settings.secrets.args, ["password", "*token*"]);
    assert_eq!(settings.secrets.env, ["*_KEY"]);

    let sandbox = &settings.sandbox;
    assert_eq!(sandbox.paths["project"].root, world.path("project"));
    assert_eq!(sandbox.paths["project"].mode, PathMode::Ro);
    assert_eq!(sandbox.paths["project"].approval, PathApproval::default());
    let notes = &sandbox.paths["notes"];
    assert_eq!((notes.mode, notes.max_file_bytes), (PathMode::Rw, Some(1 << 20)));
    assert_eq!(notes.suffixes, [".md", ".txt"]);
    assert_eq!(notes.approval.attach, Approval::Required);
    assert_eq!(sandbox.paths["cache"].approval.write, Approval::None);
    assert_eq!(sandbox.never_read, [".env", "~/.ssh/**"]);
    assert_eq!(sandbox.never_write, [".git/hooks/**"]);
    assert_eq!(sandbox.require_os_sandbox, Some(true));
    let profile = sandbox.os_profile.as_ref().unwrap();
    assert_eq!((profile.read.clone(), profile.network), (None, Some(false)));
    assert_eq!(profile.write, Some(vec![world.path("project/notes")]));

    let shell = settings.shell.as_ref().unwrap();
    assert_eq!((shell.known_read_only, shell.outside_roots), (Approval::None, Approval::Required));
    assert_eq!(shell.limits, Limits::default());
    assert_eq!(shell.rules.len(), 7);
    assert_eq!(shell.rules[2].sandbox_paths, ["cache"]);
    assert!(shell.rules[4].exact);
    assert_eq!(shell.rules[5].risk, Some(Risk::High));
    assert_eq!(shell.rules[6].approval, Approval::Deny);
    assert_eq!(&*shell.rules[6].origin.rule, "shell.rules[6]");

    let email = &settings.rules.exact("send_email").unwrap().cases()[0];
    assert_eq!((email.approval, email.risk), (Some(Approval::Required), Some(Risk::Irreversible)));
    assert_eq!(email.exclude_keys, ["body"]);
    assert_eq!(&*email.origin.text, "approval: required");
    let rows = settings.rules.exact("read_rows").unwrap().cases();
    assert_eq!(&*rows[1].origin.rule, "tools.read_rows[1]");
    assert_eq!(rows[0].when[0].any_of.len(), 2);
    assert_eq!(settings.commands["word_count"].command, ["wc", "-w", "{path}"]);
    assert_eq!(settings.commands["word_count"].input_schema()["required"], serde_json::json!(["path"]));
    let options = &settings.rules.exact("my_tool").unwrap().cases()[0].options;
    assert_eq!(options["anything"], "goes");

    assert_eq!(settings.mcp["github"].env_pass, ["GITHUB_TOKEN"]);
    assert!(settings.mcp["github"].hide_denied);
    let token = world.path("home/.config/search-token");
    let url = "http://127.0.0.1:8080/mcp".to_owned();
    assert_eq!(settings.mcp["search"].upstream, Upstream::Url { url, token_file: Some(token) });
}
