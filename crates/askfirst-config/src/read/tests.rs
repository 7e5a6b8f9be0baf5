//! Tests of the meaning of each key.

use std::time::Duration;

use askfirst::{Approval, Risk};

use crate::settings::*;
use crate::testing::{World, example, report};

#[test]
fn example_config_is_read_without_warnings() {
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
    assert_eq!(sandbox.toolchains, ToolchainAccess { auto: true, paths: Vec::new() });
    let profile = sandbox.os_profile.as_ref().unwrap();
    assert_eq!((profile.read.clone(), profile.network), (None, Some(false)));
    assert_eq!(profile.write, Some(vec![world.path("project/notes")]));

    let shell = settings.shell.as_ref().unwrap();
    assert_eq!((shell.known_read_only, shell.outside_roots), (Approval::None, Approval::Required));
    assert_eq!(shell.limits, Limits::default());
    assert_eq!(shell.network, NetworkAccess::Deny);
    assert_eq!(shell.rules.len(), 8);
    assert_eq!(shell.rules[1].approval, Approval::Rehearse);
    assert_eq!([0, 1].map(|n| shell.rules[n].network), [None, Some(NetworkAccess::Required)]);
    assert_eq!(shell.rules[3].sandbox_paths, ["cache"]);
    assert!(shell.rules[5].exact);
    assert_eq!(shell.rules[6].risk, Some(Risk::High));
    assert_eq!(shell.rules[7].approval, Approval::Deny);
    assert_eq!(&*shell.rules[7].origin.rule, "shell.rules[7]");

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

#[test]
fn toolchains_are_auto_off_or_paths() {
    let world = World::new();
    let read = |value: &str| {
        world.settings(&format!("version: 1\nsandbox: {{ toolchains: {value} }}\n")).sandbox.toolchains
    };
    assert_eq!(read("auto"), ToolchainAccess::default());
    assert_eq!(read("off"), ToolchainAccess::OFF);
    assert_eq!(read("[]"), ToolchainAccess::OFF);
    let paths = vec!["/opt/x".into(), world.path("home/bin"), world.path("project/tools")];
    assert_eq!(read("[/opt/x, ~/bin, ./tools]"), ToolchainAccess { auto: false, paths: paths.clone() });
    assert_eq!(read("[/opt/x, auto, ~/bin, ./tools]"), ToolchainAccess { auto: true, paths });
}

#[test]
fn omitted_keys_have_the_documented_defaults() {
    let world = World::new();
    let settings =
        world.settings("version: 1\nsandbox: { paths: { a: { root: ., approval: { read: human } } } }\n");
    let root = &settings.sandbox.paths["a"];
    assert_eq!(root.mode, PathMode::Ro);
    assert_eq!((root.approval.write, root.approval.attach), (Approval::Required, Approval::Human));
    assert!(settings.shell.is_none());
    assert_eq!(settings.sandbox.require_os_sandbox, None);
    let shell = world.settings("version: 1\nshell:\n  rules: [ { pattern: ls } ]\n").shell.unwrap();
    assert_eq!((shell.default, shell.known_read_only), (Approval::Required, Approval::Required));
    assert_eq!(shell.rules[0].approval, Approval::Required);
    assert_eq!((shell.network, shell.rules[0].network), (NetworkAccess::Deny, None));
    assert!(root.products.is_empty());
    let undo = UndoConfig { keep: 50, days: 7, size: 1 << 30, deletes: UndoDeletes::Commit };
    assert_eq!(settings.undo, undo);
    let caches: Vec<_> = DEFAULT_CACHES.iter().map(|path| world.path("home").join(path)).collect();
    assert_eq!(settings.sandbox.caches, caches);
}

#[test]
fn every_undo_value_is_read() {
    let undo =
        World::new().settings("version: 1\nundo: { keep: 3, days: 30, size: 5MB, deletes: ask }\n").undo;
    assert_eq!(undo, UndoConfig { keep: 3, days: 30, size: 5_000_000, deletes: UndoDeletes::Ask });
}

#[test]
fn network_has_a_word_and_a_boolean_for_each_end() {
    let world = World::new();
    for (value, access) in [
        ("deny", NetworkAccess::Deny),
        ("false", NetworkAccess::Deny),
        ("required", NetworkAccess::Required),
        ("none", NetworkAccess::None),
        ("true", NetworkAccess::None),
    ] {
        let text = format!(
            "version: 1\nshell: {{ network: {value}, rules: [ {{ pattern: a, network: {value} }} ] }}\n"
        );
        assert_eq!(world.warnings(&text), "");
        let shell = world.settings(&text).shell.unwrap();
        assert_eq!((shell.network, shell.rules[0].network), (access, Some(access)), "{value}");
    }
}

#[test]
fn product_folders_are_read_as_plain_relative_paths() {
    let world = World::new();
    let text = "version: 1\nsandbox: { paths: { a: { root: ., products: [target/, ./dist//web, target, .next] } } }\n";
    let products = &world.settings(text).sandbox.paths["a"].products;
    assert_eq!(products, &["target", "dist/web", ".next"].map(std::path::PathBuf::from));
}

#[test]
fn rehearse_is_valid_for_every_setting_about_commands() {
    let world = World::new();
    let text = "version: 1\nshell: { default: { approval: rehearse }, rules: [ { pattern: make, approval: rehearse } ] }\ntools: { shell: { approval: rehearse }, exec: [ { approval: none, when: { x: 1 } }, { approval: rehearse } ] }\n";
    let settings = world.settings(text);
    let shell = settings.shell.as_ref().unwrap();
    assert_eq!((shell.default, shell.rules[0].approval), (Approval::Rehearse, Approval::Rehearse));
    let last = |tool: &str| settings.rules.exact(tool).unwrap().cases().last().unwrap().approval;
    assert_eq!((last("shell"), last("exec")), (Some(Approval::Rehearse), Some(Approval::Rehearse)));
}

#[test]
fn empty_tool_entry_keeps_the_tools_own_assessment() {
    let world = World::new();
    for entry in ["{}", "", "{ approval: null }", "[{}]"] {
        let settings = world.settings(&format!("version: 1\ntools:\n  a: {entry}\n"));
        let cases = settings.rules.exact("a").unwrap().cases();
        assert_eq!((cases.len(), cases[0].approval), (1, None), "{entry}");
    }
}

#[test]
fn conditional_deny_may_follow_an_unconditional_case() {
    let world = World::new();
    let text = "version: 1\ntools: { a: [ { approval: none }, { approval: deny, when: { x: 1 } } ] }\n";
    assert_eq!(world.settings(text).rules.exact("a").unwrap().cases().len(), 2);
}

#[test]
fn condition_is_a_value_a_glob_or_a_path() {
    use askfirst::when::Test;
    let world = World::new();
    std::fs::create_dir_all(world.path("elsewhere/deep")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere"), world.path("project/link")).unwrap();
    let show = |value: &str| {
        let settings = world.settings(&format!("version: 1\ntools: {{ a: {{ when: {{ x: {value} }} }} }}\n"));
        let test = &settings.rules.exact("a").unwrap().cases()[0].when[0].any_of[0];
        world.redact(&match test {
            Test::Exact(value) => format!("exact {value}"),
            Test::Glob(glob) => format!("glob {}", glob.text()),
            Test::Path(glob) => format!("path {}", glob.text()),
        })
    };
    for (value, wanted) in [
        ("users", "exact \"users\""),
        ("\"1\"", "exact \"1\""),
        ("1", "exact 1"),
        ("true", "exact true"),
        ("null", "exact null"),
        ("\"public_*\"", "glob public_*"),
        ("./notes", "path [world]/project/notes"),
        ("./notes/", "path [world]/project/notes/**"),
        ("./", "path [world]/project/**"),
        ("\"./notes/*.md\"", "path [world]/project/notes/*.md"),
        ("\"./no*/\"", "path [world]/project/no*/**"),
        ("./link/deep/", "path [world]/elsewhere/deep/**"),
        ("\"./link/../x/*\"", "path [world]/x/*"),
        ("../other/", "path [world]/other/**"),
        ("\"~/.ssh/**\"", "path [world]/home/.ssh/**"),
        ("/", "path /**"),
        ("\"/*\"", "path /*"),
        ("/etc/passwd", "path /etc/passwd"),
    ] {
        assert_eq!(show(value), wanted, "{value}");
    }
}

#[test]
fn path_condition_escapes_the_config_folder() {
    let world = World::new();
    let folder = world.path("odd [x] {y} \\z");
    std::fs::create_dir_all(folder.join("a")).unwrap();
    let base = crate::read::Base { folder: folder.clone(), home: None };
    let source = crate::node::Source::new("f", "version: 1\ntools: { t: { when: { p: ./a/ } } }\n");
    let (settings, _) = crate::text::read_file(&source, &base).unwrap();
    let test = &settings.rules.exact("t").unwrap().cases()[0].when[0].any_of[0];
    let askfirst::when::Test::Path(glob) = test else { panic!("{test:?}") };
    assert!(glob.is_match(folder.join("a/b/c").to_str().unwrap()));
    assert!(!glob.is_match(&folder.join("a/b").to_str().unwrap().replace("[x]", "x")));
}

#[test]
fn root_that_is_a_link_is_resolved() {
    let world = World::new();
    std::os::unix::fs::symlink(world.path("home"), world.path("project/link")).unwrap();
    let settings = world.settings(
        "version: 1\nsandbox: { paths: { a: { root: link }, b: { root: ~ } } }\n"
            .replace("b: { root: ~ }", "b: { root: ./notes/.. }")
            .as_str(),
    );
    assert_eq!(settings.sandbox.paths["a"].root, world.path("home"));
    assert_eq!(settings.sandbox.paths["b"].root, world.path("project"));
}

#[test]
fn command_tool_has_typed_arguments() {
    let world = World::new();
    let text = r#"version: 1
tools:
  grep:
    command: [grep, "--max-count={n}", "{pattern}", "{files}"]
    about: Searches files.
    description: "Search for {pattern}"
    args:
      pattern: { type: string, description: "what to look for" }
      n: { type: integer, enum: [1, 10] }
      files: { type: array, optional: true }
"#;
    let tool = world.settings(text).commands["grep"].clone();
    assert_eq!(tool.description, "Searches files.");
    assert_eq!(
        tool.args["n"],
        ArgSpec { kind: ArgKind::Integer, optional: false, one_of: vec!["1".into(), "10".into()] }
    );
    assert_eq!(tool.args["files"].kind, ArgKind::Strings);
    assert_eq!(tool.folder, world.path("project"));
    insta::assert_snapshot!(format!("{:#}", tool.input_schema()));
}

#[test]
fn unused_argument_is_a_warning() {
    let world = World::new();
    let text = "version: 1\ntools: { a: { command: [x], args: { y: {} } } }\n";
    assert_eq!(
        world.warnings(text),
        "askfirst.yaml:2:37: `command` does not use the argument `y`\nhint: put `{y}` into `command`, or remove the argument"
    );
}

// invariant: 4
#[test]
fn root_behind_a_link_in_a_writable_root_is_an_error() {
    let world = World::new();
    std::fs::create_dir_all(world.path("elsewhere/b")).unwrap();
    std::fs::create_dir_all(world.path("project/a/real")).unwrap();
    std::os::unix::fs::symlink(world.path("elsewhere"), world.path("project/a/link")).unwrap();
    std::os::unix::fs::symlink(world.path("project/a/link"), world.path("way")).unwrap();
    let read = |mode: &str, inner: &str| {
        let text = format!(
            "version: 1\nsandbox:\n  paths:\n    p: {{ root: ., mode: {mode} }}\n    i: {{ root: {inner} }}\n"
        );
        world.read(&text).map(|(_, faults)| faults).unwrap_or_else(|faults| faults.0)
    };
    for inner in ["a/link", "a/link/b", "../way/b", "a/real/../link/b"] {
        let faults = read("rw", inner);
        assert!(
            faults.iter().any(|fault| fault.to_string().contains("is reached through the link")),
            "{inner}: {faults:?}"
        );
    }
    assert_eq!(read("rw", "a/real"), []);
    assert_eq!(read("rw", "../elsewhere/b"), []);
    assert_eq!(read("ro", "a/link/b"), []);
    // The same applies to the paths of a profile.
    let profile = |mode: &str, path: &str| {
        let text = format!(
            "version: 1\nsandbox:\n  paths:\n    p: {{ root: ., mode: {mode} }}\n  os_profile: {{ write: [{path}] }}\n"
        );
        world.read(&text).map(|(_, faults)| faults).unwrap_or_else(|faults| faults.0)
    };
    let faults = profile("rw", "a/link/b");
    assert!(
        faults.iter().any(|fault| fault.to_string().contains("the path `a/link/b` is reached")),
        "{faults:?}"
    );
    assert_eq!(profile("rw", "a/real"), []);
    assert_eq!(profile("ro", "a/link/b"), []);
}

#[test]
fn deny_below_a_folder_also_covers_the_folder() {
    use askfirst::when::Test;
    let world = World::new();
    let tests = |approval: &str, path: &str| {
        let text = format!("version: 1\ntools: {{ a: {{ approval: {approval}, when: {{ x: {path} }} }} }}\n");
        let settings = world.settings(&text);
        let tests = &settings.rules.exact("a").unwrap().cases()[0].when[0].any_of;
        let text = |test: &Test| match test {
            Test::Path(glob) => world.redact(glob.text()),
            Test::Exact(_) | Test::Glob(_) => panic!("{test:?}"),
        };
        tests.iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(tests("deny", "./notes/"), ["[world]/project/notes/**", "[world]/project/notes"]);
    assert_eq!(tests("deny", "\"./no*/\""), ["[world]/project/no*/**", "[world]/project/no*"]);
    assert_eq!(tests("deny", "./"), ["[world]/project/**", "[world]/project"]);
    assert_eq!(tests("deny", "~/"), ["[world]/home/**", "[world]/home"]);
    assert_eq!(tests("deny", "/"), ["/**", "/"]);
    assert_eq!(tests("deny", "./notes"), ["[world]/project/notes"]);
    assert_eq!(tests("none", "./notes/"), ["[world]/project/notes/**"]);
}

#[test]
fn config_in_the_guide_is_valid() {
    let guide = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let mut count = 0;
    for page in std::fs::read_dir(guide).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&page).unwrap();
        // A block with a file name is for the commands of the page, which another test runs.
        for block in text.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            if let Err(faults) = World::new().read(block) {
                panic!("{}:\n{block}{faults}", page.display());
            }
            count += 1;
        }
    }
    assert!(count >= 7, "{count}");
}

#[test]
fn older_spelling_of_a_command_setting_may_rehearse() {
    let world = World::new();
    let settings = world.settings(
        "version: 1\ntools: { shell_exec: { approval: rehearse } }\nshell: { default: { approval: none } }\nshell_rules: [ { pattern: make, approval: rehearse } ]\n",
    );
    let case = &settings.rules.exact("shell").unwrap().cases()[0];
    assert_eq!(case.approval, Some(Approval::Rehearse));
    assert_eq!(settings.shell.unwrap().rules[0].approval, Approval::Rehearse);
}
