//! Tests that every effective value is listed with its origin.

use std::time::Duration;

use super::{effective, format_duration, format_size};
use crate::testing::{World, example};

fn listed(world: &World) -> String {
    let config = world.load().unwrap();
    let lines = effective(&config);
    let lines: Vec<String> =
        lines.iter().map(|line| format!("{}: {}  # {}", line.key, line.value, line.from)).collect();
    world.redact(&lines.join("\n"))
}

#[test]
fn effective_without_a_config_lists_defaults() {
    let report = listed(&World::new());
    insta::assert_snapshot!(report);
}

#[test]
fn effective_value_is_listed_with_its_origin() {
    let world = World::new();
    world.write(
        "home/.config/askfirst/askfirst.yaml",
        &example().replace("root: .", "root: ../../../project"),
    );
    world.write("etc/askfirst.yaml", "version: 1\napproval_timeout: 30s\nsandbox: { never_read: [pin] }\ntools: { rm: { approval: deny } }\nshell: { rules: [ { pattern: dd, approval: deny } ] }\n");
    let report = listed(&world);
    insta::assert_snapshot!(report);
}

#[test]
fn named_entries_are_listed_completely_with_unique_keys() {
    let world = World::new();
    world.write(
        "home/.config/askfirst/askfirst.yaml",
        "version: 1\nshell: { rules: [ { pattern: ls, exact: true, risk: high, description: see, approval: none } ] }\ntools:\n  a: { approval: human, risk: irreversible, description: \"pay {to}\", exclude_keys: [pin], when: { to: [bob, \"x*\", 1] }, options: { limit: 1 } }\n  w: { command: [wc, \"{n}\", \"{f}\"], args: { n: { type: integer, optional: true }, f: { enum: [x, y] } } }\nmcp: { g: { command: [g, x], env: { pass: [TOKEN] }, hide_denied: true, ask_by: [watch] }, u: { url: \"http://u\", token_file: /t } }\n",
    );
    let floor = "version: 1\ndefault_approval: human\nshell: { rules: [ { pattern: ls, approval: deny } ] }\ntools: { a: { approval: deny } }\nsandbox: { toolchains: [/opt/x] }\n";
    world.write("etc/askfirst.yaml", floor);
    world.write("project/askfirst.yaml", floor);
    let report = listed(&world);
    let named: Vec<&str> = report
        .lines()
        .filter(|line| {
            ["shell.rules", "tools.", "mcp.", "managed.", "project."]
                .iter()
                .any(|start| line.starts_with(start))
        })
        .collect();
    insta::assert_snapshot!(named.join("\n"));
    let config = world.load().unwrap();
    let mut keys: Vec<String> = effective(&config).into_iter().map(|line| line.key).collect();
    let all = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), all);
}

#[test]
fn durations_and_sizes_are_formatted_as_they_are_parsed() {
    for text in ["500ms", "1500ms", "30s", "90s", "10m", "8h", "1d"] {
        assert_eq!(format_duration(crate::scalar::parse_duration(text).unwrap()), text);
    }
    assert_eq!(format_duration(Duration::from_secs(3600)), "1h");
    for text in ["1B", "1KiB", "64MiB", "4GiB", "1000B"] {
        assert_eq!(format_size(crate::scalar::parse_size(text).unwrap()), text);
    }
}
