//! Tests of every older spelling in every section, alone and in combination.
//!
//! The strictest value wins, and a second rewrite changes nothing.

use std::path::Path;

use askfirst::Approval::{self, Deny, Human, None, OncePerSession, Required};

use super::{RewriteReport, rewrite};
use crate::file;
use crate::migrate::migrate;
use crate::node::{Node, Source};
use crate::read::Dialect;
use crate::testing::{World, meaning};

const SECTIONS: [&str; 4] = ["tools", "custom_tools", "tool_configs", "tool_rules"];
const NAMES: [(&str, &str); 3] = [("a", "a"), ("shell_exec", "shell"), ("patch_file", "edit_file")];
const VALUES: [(&str, Approval); 9] = [
    ("{ approval: none }", None),
    ("{ approval: once_per_session }", OncePerSession),
    ("{ approval: human }", Human),
    ("{ approval: true }", Required),
    ("{ approval_required: false }", None),
    ("{ pre_approved: true }", None),
    ("{ action: approve }", Required),
    ("{ action: deny, risk: high }", Deny),
    ("{ allowed: false, approval: none }", Deny),
];

fn rewritten(text: &str) -> (Node, RewriteReport) {
    let source = Source::new("askfirst.yaml", text);
    let mut root = file::parse(&source).unwrap().root;
    let report = rewrite(&mut root, &source, Dialect::File);
    (root, report)
}

/// Reads the approval of a tool. Also checks that a second rewrite changes nothing.
fn read(world: &World, text: &str, tool: &str) -> Option<Approval> {
    let (root, report) = rewritten(text);
    assert!(report.faults.is_empty(), "{text}: {:?}", report.faults);
    let mut again = root.clone();
    let twice = rewrite(&mut again, &Source::new("askfirst.yaml", text), Dialect::File);
    assert!(twice.warnings.is_empty() && twice.faults.is_empty(), "{text}: {twice:?}");
    assert_eq!(again, root, "{text}");
    let settings = world.settings(text);
    assert!(settings.rules.exact("shell_exec").is_none() && settings.rules.exact("patch_file").is_none());
    settings.rules.exact(tool).and_then(|entry| entry.cases()[0].approval)
}

#[test]
fn older_section_sets_the_approval_of_its_tool() {
    let world = World::new();
    for section in SECTIONS {
        for (old, new) in NAMES {
            for (value, approval) in VALUES {
                let text = format!("version: 1\n{section}: {{ {old}: {value} }}\n");
                assert_eq!(read(&world, &text, new), Some(approval), "{text}");
                let migrated = migrate(&text, Path::new("askfirst.yaml")).unwrap().text;
                let of = |text: &str| meaning(&world.settings(text));
                assert_eq!(of(&migrated), of(&text), "{text}{migrated}");
                let again = migrate(&migrated, Path::new("askfirst.yaml")).unwrap();
                assert_eq!((again.text, again.changes), (migrated, Vec::new()), "{text}");
            }
        }
    }
}

#[test]
fn stricter_of_two_sections_wins() {
    let world = World::new();
    for (one, other) in SECTIONS.iter().flat_map(|one| SECTIONS.map(|other| (one, other))) {
        for (old, new) in NAMES {
            for (value, approval) in VALUES {
                for (also, beside) in VALUES.into_iter().filter(|_| *one != other) {
                    let text =
                        format!("version: 1\n{one}: {{ {old}: {value} }}\n{other}: {{ {new}: {also} }}\n");
                    assert_eq!(read(&world, &text, new), Some(approval.max(beside)), "{text}");
                }
            }
        }
    }
    for (old, new) in NAMES.into_iter().filter(|(old, new)| old != new) {
        let text = format!(
            "version: 1\ntool_rules: {{ {old}: {{ allowed: false }}, {new}: {{ approval: none }} }}\n"
        );
        assert_eq!(read(&world, &text, new), Some(Deny));
        let text = format!("version: 1\ncustom_tools: [{old}]\npre_approved: [{old}]\n");
        assert_eq!(read(&world, &text, new), Some(None));
    }
}

#[test]
fn sandbox_rules_are_rewritten_in_every_spelling() {
    let world = World::new();
    let value = [("deny", Deny), ("human", Human)]
        .into_iter()
        .chain(VALUES.into_iter().filter(|(value, _)| !value.contains("risk")));
    for (value, approval) in value {
        for verb in ["read", "attach", "write", "edit", "delete", "create", "append", "move", "copy"] {
            for kept in ["", ", approval: false", ", write_approval: false, read_approval: false"] {
                let text = format!(
                    "version: 1\nsandbox: {{ paths: {{ n: {{ root: ., mode: rw{kept} }} }} }}\ntool_rules: {{ sandbox.{verb}: {value} }}\n"
                );
                read(&world, &text, "n");
                let found = world.settings(&text).sandbox.paths["n"].approval;
                let found = match verb {
                    "read" => found.read,
                    "attach" => found.attach,
                    _ => found.write,
                };
                assert_eq!(found, approval, "{text}");
            }
        }
    }
}

#[test]
fn require_read_approval_overrides_looser_roots() {
    let world = World::new();
    for text in [
        "tools: { read_file: { require_read_approval: true } }\nsandbox: { paths: { n: { root: ., approval: false } } }\n",
        "tool_rules: { read_file: { require_read_approval: true } }\nsandbox: { paths: { n: { root: . } } }\n",
        "sandbox: { require_read_approval: true, paths: { n: { root: ., approval: false } } }\n",
    ] {
        let text = format!("version: 1\n{text}");
        read(&world, &text, "n");
        assert_eq!(world.settings(&text).sandbox.paths["n"].approval.read, Required, "{text}");
    }
}

#[test]
fn invalid_older_section_is_an_error() {
    let world = World::new();
    let cases = [
        "tool_rules: { sandbox.write: { aproval: deny } }\n",
        "tool_rules: { sandbox.write: { approval: bogus } }\n",
        "tool_rules: { sandbox.write: { approval: deny, description: x } }\n",
        "tool_rules: { sandbox.write: true }\n",
        "tool_rules: { sandbox.write: forbid }\n",
        "tool_rules: { sandbox.write: [ { approval: deny } ] }\n",
        "tool_rules: { a: true }\n",
        "tool_rules: { a: forbid }\n",
        "tools: { a: { approval: none } }\ntool_rules: { a: { approval: bogus } }\n",
        "tools: { a: { approval: none, when: { x: 1 } } }\ntool_rules: { a: { approval: deny } }\n",
        "tools: { a: { approval: deny } }\ntool_rules: { a: { approval: none, when: { x: 1 } } }\n",
        "custom_tools: 5\n",
        "tool_configs: [a]\n",
        "tools: { a: { safe_paths: [x], when: { path: ./y/ } } }\n",
    ];
    let report = |case: &&str| {
        let text = format!("version: 1\nsandbox: {{ paths: {{ n: {{ root: . }} }} }}\n{case}");
        format!("{}\n{}", case.trim_end(), world.faults(&text))
    };
    let report = cases.iter().map(report).collect::<Vec<_>>().join("\n\n");
    insta::assert_snapshot!(report);
}

#[test]
fn safe_paths_keep_other_conditions() {
    let settings =
        World::new().settings("version: 1\ntools: { a: { safe_paths: [./cache/], when: { to: bob } } }\n");
    let cases = settings.rules.exact("a").unwrap().cases();
    let fields = |n: usize| cases[n].when.iter().map(|one| one.field.as_str()).collect::<Vec<_>>();
    assert_eq!((cases[0].approval, fields(0)), (Some(None), vec!["to", "path"]));
    assert_eq!((cases[1].approval, fields(1)), (Some(Required), vec!["to"]));
}
