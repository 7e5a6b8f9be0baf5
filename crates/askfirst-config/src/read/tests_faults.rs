//! Tests of the message and hint of every config error.

use crate::testing::World;

/// Reads several texts and returns their errors.
fn reports(cases: &[&str]) -> String {
    let world = World::new();
    std::fs::write(world.path("project/file"), "").unwrap();
    let report =
        |case: &&str| format!("{}\n{}", case.trim_end(), world.faults(&format!("version: 1\n{case}")));
    cases.iter().map(report).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn all_errors_of_a_file_are_reported_at_once() {
    let world = World::new();
    let report = world.faults(
        r#"version: 2
defualt_approval: required
on_denial: ignore
approval_timeout: 10
memory: { expire: yes }
prompt: { preview_lines: 1_000 }
ledger: { sync: allways, rotate: 64mib }
secrets: { args: ["[a"] }
sandbox:
  paths:
    gone: { root: ./gone, mode: rwx }
    gone: { root: ./gone }
  never_read: ["!x", "", ".."]
  require_os_sandbox: on
shell:
  default: { aproval: none }
  rules:
    - { pattern: "a; b" }
    - { pattern: "ls", sandbox_paths: [nots], examples: { match: ["lsof"], not_match: ["ls -l"] } }
tools:
  send_email: { approval: maybe, description: "{body}", exclude_keys: [body] }
  wc: { command: ["{program}", "{path}"] }
mcp:
  a__b: { command: [x], url: "http://x" }
  c: {}
"#,
    );
    insta::assert_snapshot!(report);
}

#[test]
fn unknown_key_is_reported_with_a_suggestion() {
    let report = reports(&[
        "shel: {}\n",
        "xyzzy: 1\n",
        "sandbox: { path: {} }\n",
        "sandbox: { paths: { a: { root: ., aproval: {} } } }\n",
        "shell: { limits: { memroy: 1GiB } }\n",
        "shell: { rules: [ { patern: ls } ] }\n",
        "tools: { a: { approvel: none } }\n",
        "tools: { a: [ { whne: {} } ] }\n",
        "tools: { a: { command: [a], args: { x: { typo: string } } } }\n",
        "mcp: { a: { comand: [x] } }\n",
        "\"\\e[2J\\u202e\": 1\n",
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn wrong_type_is_reported_with_a_hint() {
    let report = reports(&[
        "tools: []\n",
        "tools: { a: required }\n",
        "tools: { a: { approval: [none] } }\n",
        "sandbox: { require_os_sandbox: yes }\n",
        "sandbox: { require_os_sandbox: \"true\" }\n",
        "sandbox: { toolchains: on }\n",
        "sandbox: { toolchains: { path: ~/bin } }\n",
        "sandbox: { never_read: .env }\n",
        "sandbox: { paths: { a: . } }\n",
        "sandbox: { paths: { a: { root: 5 } } }\n",
        "sandbox: { paths: { a: { root: ., max_file_bytes: -1 } } }\n",
        "sandbox: { paths: { a: { root: ., approval: required } } }\n",
        "shell: { rules: { pattern: ls } }\n",
        "shell: { rules: [ ls ] }\n",
        "shell: { limits: { processes: 0 } }\n",
        "shell: { limits: { wall: 0s } }\n",
        "shell: { env: { pass: [\"A=B\", 1] } }\n",
        "shell: { known_read_only: 1 }\n",
        "approval_timeout: 600\n",
        "prompt: { preview_lines: 1_000 }\n",
        "tools: { a: { when: [x] } }\n",
        "tools: { a: { when: { x: { y: 1 } } } }\n",
        "tools: { a: { when: { x: [] } } }\n",
        "tools: { a: { options: 1 } }\n",
        "default_approval: none please\n",
        "only_tools: a\n",
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn invalid_value_is_reported() {
    let report = reports(&[
        "sandbox: { paths: { a: { root: ./gone } } }\n",
        "sandbox: { paths: { a: { root: ./file } } }\n",
        "sandbox: { paths: { a: { root: \"\" } } }\n",
        "sandbox: { paths: { a: { root: ~other/x } } }\n",
        "sandbox: { paths: { a: { mode: rw } } }\n",
        "sandbox: { paths: { a: { root: . }, b: { root: ../project/ } } }\n",
        "sandbox: { paths: { a: { root: ., suffixes: [md, \".\", a/b] } } }\n",
        "sandbox: { paths: { a: { root: ., suffixes: [] } } }\n",
        "sandbox: { never_read: [\"[a\", \"a/../b\", \"/\"] }\n",
        "sandbox: { toolchains: [auto, \"~\", \"~/bin\", /] }\n",
        "secrets: { env: [\"[\"] }\n",
        "shell: { outside_roots: none }\n",
        "shell: { dangerous_patterns: [\"\"] }\n",
        "shell: { dangerous_patterns: ['(', '(?=x)', 'a{1000}{1000}{1000}'] }\n",
        "\"\": 1\n",
        "tools: { \"\": {} }\n",
        "tools: { \"a[\": {} }\n",
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn rehearse_is_reported_outside_of_commands() {
    let report = reports(&[
        "default_approval: rehearse\n",
        "sandbox: { paths: { a: { root: ., approval: { read: rehearse, write: rehearse, attach: rehearse } } } }\n",
        "sandbox: { paths: { a: { root: ., approval: rehearse } } }\n",
        "shell: { known_read_only: rehearse }\n",
        "shell: { outside_roots: rehearse }\n",
        "shell: { default: rehearse }\n",
        "tools: { write_file: { approval: rehearse } }\n",
        "tools: { \"s*\": { approval: rehearse } }\n",
        "tools: { exec: { approval: rehears }, shell: [ { approval: rehears } ], a: { approval: rehears } }\n",
        "tools: { shell: rehearse, write_file: rehearse, a: rehears }\n",
        "tools: { a: [ { approval: none, when: { x: 1 } }, { approval: rehearse } ] }\n",
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn invalid_product_folder_is_reported() {
    let report = reports(&[
        "sandbox: { paths: { a: { root: ., products: target } } }\n",
        "sandbox: { paths: { a: { root: ., products: [\"\", ., ../x, /x, ~/x, a/../b] } } }\n",
        "sandbox: { paths: { a: { root: ., products: [.git, .git/hooks, sub/.GIT, \"*.egg-info\"] } } }\n",
        "sandbox: { paths: { a: { root: ., products: [notes/out, notes] }, b: { root: ./notes } } }\n",
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn invalid_cache_is_reported() {
    let report = reports(&[
        "sandbox: { caches: auto }\n",
        "sandbox: { caches: [\"~\", ~/.., /, \"\", ~other/x] }\n",
        "sandbox: { caches: [~/.cache, ~/.gradle, ~/.nuget/, ~/.cargo, ~/.npm, ~/.m2] }\n",
        "sandbox: { paths: { a: { root: ./notes } }, caches: [., ./notes] }\n",
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn invalid_undo_or_network_is_reported() {
    let report = reports(&[
        "undo: { keep: 0, days: 7d, size: none, deletes: deny }\n",
        "undo: { delets: ask }\n",
        "undo: 50\n",
        "shell: { network: no }\n",
        "shell: { network: yes }\n",
        "shell: { network: human }\n",
        "shell: { network: [none] }\n",
        "shell: { rules: [ { pattern: curl, network: requird } ] }\n",
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn invalid_shell_rule_is_reported() {
    let report = reports(&[
        "shell: { rules: [ { approval: none } ] }\n",
        "shell: { rules: [ { pattern: \"\" } ] }\n",
        "shell: { rules: [ { pattern: \"git 'status\" } ] }\n",
        "shell: { rules: [ { pattern: \"git log | head\" } ] }\n",
        "shell: { rules: [ { pattern: \"echo $(id)\" } ] }\n",
        "shell: { rules: [ { pattern: \"echo `id`\" } ] }\n",
        "shell: { rules: [ { pattern: \"a > b\" } ] }\n",
        "shell: { rules: [ { pattern: \"cat [a\" } ] }\n",
        "shell: { rules: [ { pattern: ls, sandbox_paths: [] } ] }\n",
        "shell: { rules: [ { pattern: ls, sandbox_paths: [cache] } ] }\n",
        "sandbox: { paths: { cache: { root: . } } }\nshell: { rules: [ { pattern: ls, sandbox_paths: [cahce] } ] }\n",
        "shell: { rules: [ { pattern: sudo, examples: { match: [\"sudoku\"], not_match: [\"sudo ls\"] } } ] }\n",
        "shell: { rules: [ { pattern: a, exact: true, examples: { match: [\"a b\", \"a 'b\"] } } ] }\n",
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn invalid_tool_is_reported() {
    let report = reports(&[
        "tools: { a: { description: \"Send {body}\", exclude_keys: [body] } }\n",
        "tools: { a: [ { approval: none }, { approval: human } ] }\n",
        "tools: { a: [ { approval: none }, { approval: deny } ] }\n",
        "tools: { a: [ { approval: none, when: {} }, { approval: none, when: { x: 1 } } ] }\n",
        "tools: { a: [ { command: [x] } ] }\n",
        "tools: { a: { when: { path: \"./*/../x\" } } }\n",
        "tools: { a: { when: { path: \"./[\" } } }\n",
        "tools: { a: { when: { x: \"{a\" } } }\n",
        "tools: { a: { args: { x: {} } } }\n",
        "tools: { a: { about: x } }\n",
        "tools: { a: { command: [] } }\n",
        "tools: { a: { command: [\"\"] } }\n",
        "tools: { a: { command: [\"{x}\"], args: { x: {} } } }\n",
        "tools: { a: { command: [wc, \"{y}\"], args: { x: {} } } }\n",
        "tools: { a: { command: [wc, \"-{x}\"], args: { x: { type: array } } } }\n",
        "tools: { a: { command: [wc, \"{x}\"], description: \"{y} {x}\", args: { x: {} } } }\n",
        "tools: { a: { command: [wc], description: \"{y}\" } }\n",
        "tools: { a: { command: [wc, \"{x}\"], args: { x: { type: integer, enum: [1, a] } } } }\n",
        "tools: { a: { command: [wc, \"{x}\"], args: { x: { items: { type: string } } } } }\n",
        "tools: { \"a*\": { command: [wc] } }\n",
        "tools: { shell: { command: [sh] } }\n",
        "tools: { mcp__a__b: { command: [sh] } }\n",
        "tools: { \"a b\": { command: [sh] } }\n",
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn invalid_server_is_reported() {
    let report = reports(&[
        "mcp: { a__b: { command: [x] } }\n",
        "mcp: { \"a b\": { command: [x] } }\n",
        "mcp: { a: { command: [x], url: \"http://x\" } }\n",
        "mcp: { a: {} }\n",
        "mcp: { a: { command: [] } }\n",
        "mcp: { a: { url: \"ftp://x\" } }\n",
        "mcp: { a: { url: \"http://user:secret@x/\" } }\n",
        "mcp: { a: { url: \"http://x\", env: { pass: [A] } } }\n",
        "mcp: { a: { command: [x], token_file: t } }\n",
        "mcp: { a: { command: [x], ask_by: [] } }\n",
        "mcp: { a: { command: [x], ask_by: [phone] } }\n",
    ]);
    insta::assert_snapshot!(report);
}

#[test]
fn missing_version_warns_and_wrong_version_is_an_error() {
    let world = World::new();
    assert_eq!(
        world.warnings("default_approval: none\n"),
        "askfirst.yaml:1:1: missing key `version`\nhint: add `version: 1` at the top"
    );
    for version in ["2", "\"1\"", "1.0", "true", ""] {
        assert!(world.read(&format!("version: {version}\n")).is_err(), "{version}");
    }
}

#[test]
fn suggested_approval_is_never_looser() {
    let world = World::new();
    let hint = |word: &str| {
        let report = world.faults(&format!("version: 1\ntools: {{ a: {{ approval: {word} }} }}\n"));
        report.split_once("\nhint: did you mean `").map(|(_, hint)| hint.trim_end_matches("`?").to_owned())
    };
    for (word, suggested) in [
        ("no", Some("deny")),
        ("off", Some("deny")),
        ("never", Some("deny")),
        ("\"false\"", Some("deny")),
        ("ask", Some("required")),
        ("yes", Some("required")),
        ("on", Some("required")),
        ("\"true\"", Some("required")),
        ("always", Some("human")),
        ("once", Some("once_per_session")),
        ("session", Some("once_per_session")),
        ("allow", Some("none")),
        ("None", Some("none")),
        ("noen", Some("none")),
        ("Deny", Some("deny")),
        ("requierd", Some("required")),
        ("nope", None),
        ("one", None),
        ("not", None),
        ("maybe", None),
    ] {
        assert_eq!(hint(word).as_deref(), suggested, "{word}");
    }
}

#[test]
fn hint_shows_the_correct_spelling() {
    let report = reports(&[
        "tools: { a: none }\n",
        "tools: { a: no }\n",
        "shell: { default: none }\n",
        "shell: { rules: { pattern: x } }\n",
        "sandbox: { paths: { a: { root: ., approval: required } } }\n",
        "mcp: { x: { command: \"a b\" } }\n",
        "tools: { x: { command: \"head -n 5 {path}\", args: { path: {} } } }\n",
    ]);
    insta::assert_snapshot!(report);
    let world = World::new();
    assert_eq!(
        world.faults("version: \"1\"\n"),
        "askfirst.yaml:1:10: `version` must be the number `1`, not text\nhint: write `version: 1`"
    );
}
