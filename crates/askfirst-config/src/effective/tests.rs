//! Every value in force is listed with where it comes from.

use std::time::Duration;

use super::{effective, size, time};
use crate::testing::{World, example};

fn listed(world: &World) -> String {
    let config = world.load().unwrap();
    let lines = effective(&config);
    let lines: Vec<String> =
        lines.iter().map(|line| format!("{}: {}  # {}", line.key, line.value, line.from)).collect();
    world.redact(&lines.join("\n"))
}

#[test]
fn without_a_config_everything_is_a_default() {
    let report = listed(&World::new());
    insta::assert_snapshot!(report);
}

#[test]
fn every_value_says_where_it_comes_from() {
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
fn whatever_a_name_says_is_listed_and_no_key_twice() {
    let world = World::new();
    world.write(
        "home/.config/askfirst/askfirst.yaml",
        "version: 1\nshell: { rules: [ { pattern: ls, exact: true, risk: high, description: see, approval: none } ] }\ntools:\n  a: { approval: human, risk: irreversible, description: \"pay {to}\", exclude_keys: [pin], when: { to: [bob, \"x*\", 1] }, options: { limit: 1 } }\n  w: { command: [wc, \"{n}\", \"{f}\"], args: { n: { type: integer, optional: true }, f: { enum: [x, y] } } }\nmcp: { g: { command: [g, x], env: { pass: [TOKEN] }, hide_denied: true, ask_by: [watch] }, u: { url: \"http://u\", token_file: /t } }\n",
    );
    let floor = "version: 1\ndefault_approval: human\nshell: { rules: [ { pattern: ls, approval: deny } ] }\ntools: { a: { approval: deny } }\n";
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
fn times_and_sizes_are_written_as_they_are_read() {
    for text in ["500ms", "1500ms", "30s", "90s", "10m", "8h", "1d"] {
        assert_eq!(time(crate::scalar::duration(text).unwrap()), text);
    }
    assert_eq!(time(Duration::from_secs(3600)), "1h");
    for text in ["1B", "1KiB", "64MiB", "4GiB", "1000B"] {
        assert_eq!(size(crate::scalar::size(text).unwrap()), text);
    }
}
