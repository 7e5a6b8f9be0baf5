//! A migrated text says the same, says it without warnings, keeps its comments, and is not migrated twice.

use std::path::Path;

use super::{Migrated, migrate};
use crate::config::testing::{World, example, meaning, report};

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

fn migrated(text: &str) -> Migrated {
    migrate(text, Path::new("askfirst.yaml")).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn a_migrated_text_keeps_its_comments_and_its_order() {
    insta::assert_snapshot!(migrated(OLD).text);
}

#[test]
fn every_change_is_named_with_its_new_spelling() {
    insta::assert_snapshot!(report(&migrated(OLD).changes));
}

#[test]
fn a_text_without_older_spellings_comes_back_as_it_is() {
    let text = example();
    let same = migrated(&text);
    assert_eq!((same.text, same.changes), (text, Vec::new()));
}

/// Older spellings, each alone and some together.
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
];

#[test]
fn a_migrated_text_reads_without_warnings_and_means_the_same() {
    let world = World::new();
    for text in CASES {
        let new = migrated(text).text;
        let (settings, warnings) = world.read(&new).unwrap_or_else(|faults| panic!("{faults}\n{new}"));
        assert_eq!(report(&warnings), "", "{new}");
        assert_eq!(meaning(&settings), meaning(&world.settings(text)), "{text}\n{new}");
    }
}

#[test]
fn migrating_twice_changes_nothing_more() {
    for text in CASES {
        let once = migrated(text);
        let twice = migrated(&once.text);
        assert_eq!(twice.text, once.text, "{text}");
        assert_eq!(report(&twice.changes), "", "{text}");
    }
}

#[test]
fn no_comment_is_lost() {
    for text in CASES {
        let new = migrated(text).text;
        for comment in
            text.lines().filter_map(|line| line.split_once('#')).map(|(_, comment)| comment.trim_end())
        {
            assert!(new.contains(comment), "{comment}\n{new}");
        }
    }
}

#[test]
fn a_text_with_windows_line_ends_keeps_them() {
    let new = migrated("version: 1\r\ndefault_approval: false # no\r\n").text;
    assert_eq!(new, "version: 1\r\ndefault_approval: none  # no\r\n");
}

#[test]
fn what_cannot_be_rewritten_safely_is_refused() {
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
fn a_text_that_rewriting_would_break_is_left_alone() {
    for text in [": :", ": :\n", "? :\n"] {
        assert!(migrate(text, Path::new("askfirst.yaml")).is_err(), "{text:?}");
    }
}
