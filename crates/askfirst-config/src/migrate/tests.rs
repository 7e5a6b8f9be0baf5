//! Tests that a migrated text has the same settings, has no warnings, keeps its comments, and stays as it is.

use std::path::Path;

use proptest::prelude::*;

use super::{Migration, migrate};
use crate::testing::{World, example, meaning, report};

const OLD: &str = r#"# My config.
# It is old.

shell_default:          # the default
  allowed: true
  approval_required: true   # ask

# rules
shell_rules:
  - pattern: "git status"
    # harmless
    approval: false
  - pattern: rm   # never
    allowed: false
sandbox:
  # roots
  paths:
    notes: { root: ./notes, mode: rw, write_approval: true }   # mine
    cache:
      root: ./cache
      mode: rw
      write_approval: false  # quick
      read_approval: true
# tools
tool_configs:
  shell_exec:
    safe_commands: [ls, pwd]   # short ones
    dangerous_patterns: ['\brm\b']
  write_file: { safe_paths: [./cache/, tmp] }
  b: { pre_approved: true, allowed: false }   # no
  c: {}
pre_approved: [x, c]

secrets: {args: [a,
  # inside
  b], env: [C]}
# the end
"#;

fn migrated(text: &str) -> Migration {
    migrate(text, Path::new("askfirst.yaml")).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn migrated_text_keeps_comments_and_order() {
    insta::assert_snapshot!(migrated(OLD).text);
}

#[test]
fn migration_reports_each_new_spelling() {
    insta::assert_snapshot!(report(&migrated(OLD).changes));
}

#[test]
fn text_without_older_spellings_is_unchanged() {
    let text = example();
    let same = migrated(&text);
    assert_eq!((same.text, same.changes), (text, Vec::new()));
}

/// Configs with older spellings: each spelling alone, and some in combination.
const CASES: &[&str] = &[
    OLD,
    "version: 1\ndefault_approval: true\n",
    "version: 1\nsandbox: { paths: { a: { root: ., approval: true } } }\n",
    "version: 1\nsandbox: { paths: { a: { root: ., approval: { read: true, write: false } } } }\n",
    "version: 1\nsandbox:\n  require_read_approval: true\n  paths: { a: { root: . } }\n",
    "version: 1\nsandbox: { paths: { a: { root: ., read_approval: true, approval: { read: none } } } }\n",
    "version: 1\nshell: { default: { allowed: false }, rules: [ { pattern: ls, action: approve } ] }\n",
    "version: 1\nshell_default: { allowed: true }\nshell: { default: { approval: none } }\n",
    "version: 1\nshell_rules: [ { pattern: ls, approval: false, allowed: true } ] # c\n",
    "version: 1\ncustom_tools: [a, shell_exec] # only\n",
    "version: 1\ncustom_tools:\n  a: { approval: required }\n  b:\n",
    "version: 1\ntools: { a: { risk: high } }\ncustom_tools: { a: { approval: human } }\ntool_configs: { b: {} }\n",
    "version: 1\ntools: { patch_file: { approval: true } }\n",
    "version: 1\ntools: { a: [ { pre_approved: true, when: { x: 1 } }, { approval_required: true } ] }\n",
    "version: 1\ntools: { a: { action: deny, approval: none, pre_approved: true } }\n",
    "version: 1\npre_approved: [a, b, \"mcp__x__*\"]\ntools: { b: { approval: human } }\n",
    "version: 1\nsandbox: { paths: { n: { root: ., mode: rw } } }\ntool_rules:\n  sandbox.write: { allowed: false }\n  sandbox.read: { approval_required: true }\n  mail: { approval_required: false }\n",
    "version: 1\nsafe_commands: [ls, \"git log\"]\ndangerous_patterns: ['>']\nshell:\n  rules:\n  - pattern: cat\n    approval: none\n",
    "version: 1\ntools:\n  write_file:\n    # quick\n    safe_paths: [cache]\n    risk: high\n",
    "version: 1\ntools: { read_file: { require_read_approval: true } }\nsandbox: { paths: { n: { root: . } } }\n",
    "version: 1\r\ndefault_approval: false # no\r\n",
    "default_approval: none\n",
    "",
    "# nothing\n",
    "version: 1\ntools:\n  a:\n    approval: true\n    description: |\n      Send {to}\n      and no more\n    risk: high # r\n",
    "version: 1\ntools:\n  a:\n    description: >-  # folded\n      true\n    approval: true\n  # last\n  b: {}\n",
    "version: 1\ntools:\n    b: {}\ntool_configs:\n    a:\n        description: |+\n          Send {to}\n\n        # kept\n        risk: high\n",
    "version: 1\nshell_rules:\n  - pattern: |-\n      git status\n    approval: false\n  - description: |2\n        deep\n    pattern: ls\n    allowed: false\n",
    "version: 1\ntools:\n  a: { approval: true }\n  b:\n    description: |+\n      last\n\n\n",
    "version: 1\r\ntools:\r\n  a:\r\n    description: |\r\n      one\r\n      two\r\n    allowed: false\r\n",
    "version: 1\ntools:\n  # w\n  write_file:   # header\n    # the safe ones\n    safe_paths:   # behind\n      - ./cache/   # quick\n      # further\n      - notes\n    # the risk\n    risk: high   # very\n",
    "version: 1\ntools:\n  write_file: { safe_paths: [cache], approval: false } # a\n  edit_file: { safe_paths: [] } # ab\n",
    "version: 1\ntools:\n  write_file:\n    description: |\n      Write {path}\n    safe_paths: [cache]\n    exclude_keys: [content]\n",
];

/// Generates texts in every YAML style.
fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["Send {to}", "true", "a: b", "- x", "12", "é \"q\" 'r'", "x  "]);
    let style = prop::sample::select(vec!["|", ">", "|-", ">-", "|+", ">+", "|2"]);
    let block =
        (style, prop::collection::vec(line.clone(), 1..4), 0..3_usize).prop_map(|(style, lines, blank)| {
            let lines: String = lines.iter().map(|line| format!("      {line}\n")).collect();
            format!("{style}\n{lines}{}", "\n".repeat(blank))
        });
    prop_oneof![block, line.prop_map(|line| format!("{}\n", serde_json::Value::from(line)))]
}

fn statement() -> impl Strategy<Value = String> {
    let old = prop::sample::select(vec![
        "approval: true",
        "approval_required: false",
        "allowed: false",
        "action: approve",
        "pre_approved: true",
        "safe_paths: [cache, ./notes/]",
        "safe_paths:\n    - cache",
        "safe_paths: []",
        "risk: high",
    ]);
    let comment = prop::sample::select(vec!["", " # c", "  # a longer one"]);
    prop_oneof![
        (old, comment).prop_map(|(old, comment)| format!("    {old}{comment}\n")),
        text().prop_map(|text| format!("    description: {text}")),
        prop::sample::select(vec!["    # c\n", "\n    # above\n", "\n"]).prop_map(str::to_owned),
    ]
}

prop_compose! {
    /// Generates a tool with older spellings, without duplicate keys.
    fn tool(name: &'static str)(statements in prop::collection::vec(statement(), 1..6)) -> String {
        let key = |text: &str| text.split(':').next().unwrap_or_default().trim().to_owned();
        let mut seen = Vec::new();
        let kept: String = statements
            .into_iter()
            .filter(|text| {
                let new = text.trim_start().starts_with('#') || !seen.contains(&key(text));
                seen.push(key(text));
                new
            })
            .collect();
        format!("  {name}:\n    exclude_keys: [x]\n{kept}")
    }
}

#[test]
fn migrated_text_has_the_same_settings_without_warnings() {
    let world = World::new();
    for text in CASES {
        let new = migrated(text).text;
        let (settings, warnings) = world.read(&new).unwrap_or_else(|faults| panic!("{faults}\n{new}"));
        assert_eq!(report(&warnings), "", "{new}");
        assert_eq!(meaning(&settings), meaning(&world.settings(text)), "{text}\n{new}");
    }
}

#[test]
fn second_migration_changes_nothing() {
    for text in CASES {
        let once = migrated(text);
        let twice = migrated(&once.text);
        assert_eq!(twice.text, once.text, "{text}");
        assert_eq!(report(&twice.changes), "", "{text}");
    }
}

/// Counts how often a text contains a comment.
fn count_comment(text: &str, comment: &str) -> usize {
    let parts = text.lines().flat_map(|line| line.split(" #"));
    parts.filter(|part| part.trim_start_matches(['#', ' ']).trim_end() == comment).count()
}

fn assert_comments_stay(text: &str, new: &str) {
    for comment in text.lines().filter_map(|line| line.split_once('#')).map(|(_, comment)| comment.trim()) {
        assert_eq!(count_comment(new, comment), count_comment(text, comment), "{comment}\n{text}\n{new}");
    }
}

#[test]
fn migration_neither_loses_nor_repeats_comments() {
    for text in CASES {
        assert_comments_stay(text, &migrated(text).text);
    }
}

#[test]
fn migration_keeps_current_spellings_unchanged() {
    let text = "version: 1\ntools:\n  a:\n    description: |  # why\n      Send {to}\n      # no comment\n    allowed: false\n";
    assert_eq!(migrated(text).text, text.replace("allowed: false", "approval: deny"));
}

#[test]
fn comments_of_safe_paths_move_with_them() {
    let text = CASES.iter().find(|text| text.contains("the safe ones")).unwrap();
    insta::assert_snapshot!(migrated(text).text);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn migration_of_any_style_keeps_the_settings(
        section in prop::sample::select(vec!["tools", "tool_configs", "custom_tools"]),
        (a, b) in (tool("write_file"), tool("b")),
    ) {
        let world = World::new();
        let text = format!("version: 1\ndefault_approval: true\n{section}:\n{a}{b}");
        let new = migrated(&text).text;
        let (settings, warnings) = world.read(&new).unwrap_or_else(|faults| panic!("{faults}\n{text}\n{new}"));
        prop_assert_eq!(report(&warnings), "", "{}\n{}", text, new);
        prop_assert_eq!(meaning(&settings), meaning(&world.settings(&text)), "{}\n{}", text, new);
        prop_assert_eq!(&migrated(&new).text, &new, "{}", text);
        assert_comments_stay(&text, &new);
    }
}

#[test]
fn migration_keeps_windows_line_endings() {
    let new = migrated("version: 1\r\ndefault_approval: false # no\r\n").text;
    assert_eq!(new, "version: 1\r\ndefault_approval: none  # no\r\n");
}

#[test]
fn unsafe_migration_is_refused() {
    let refused = |text: &str| match migrate(text, Path::new("askfirst.yaml")) {
        Ok(new) => panic!("{}", new.text),
        Err(faults) => faults.to_string(),
    };
    let aliases = "version: 1\ntools: { a: &a { approval: true }, b: *a }\n";
    let twice = "version: 1\ntools: { a: 1, a: 2 }\n";
    let both = "version: 1\nshell_rules: []\nshell: { rules: [] }\n";
    insta::assert_snapshot!([aliases, twice, both, "a: ["].map(refused).join("\n"));
}

#[test]
fn migration_that_would_break_the_text_is_refused() {
    for text in [": :", ": :\n", "? :\n"] {
        assert!(migrate(text, Path::new("askfirst.yaml")).is_err(), "{text:?}");
    }
}
