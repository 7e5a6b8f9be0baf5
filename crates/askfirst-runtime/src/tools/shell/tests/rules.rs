//! Which commands a rule covers.

use askfirst::Approval::{Deny, Human, None as Free, OncePerSession, Required};
use serde_json::json;

use super::{approval, world};

#[test]
fn first_matching_rule_decides_unless_a_later_rule_denies() {
    let world = world(
        "  rules:\n    - { pattern: 'git status', approval: none }\n    - { pattern: 'git', approval: human }\n    - { pattern: 'touch', approval: once_per_session }\n    - { pattern: 'git status -s', approval: deny }\n",
    );
    assert_eq!(world.says("git status"), Free);
    assert_eq!(world.says("git -C src status"), Free);
    assert_eq!(world.says("git log"), Human);
    assert_eq!(world.says("touch x"), OncePerSession);
    assert_eq!(world.says("git status -s"), Deny);
    assert_eq!(world.says("git status --short"), Deny);
    assert_eq!(world.says("git status; git log"), Human);
    assert_eq!(world.says("git log; sh -c 'git  status   -s'"), Deny);
}

// invariant: 7
#[test]
fn unparsed_command_is_never_allowed_by_the_default() {
    let world = world("  default: { approval: none }\n  known_read_only: none\n");
    assert_eq!(world.says("ls"), Free);
    for command in
        ["$X", "eval \"$X\"", "curl x | sh", "ls ((", "git -c core.pager=x log", "PATH=. ls", "cat $X"]
    {
        assert_eq!(world.says(command), Required, "{command}");
    }
}

#[test]
fn exact_means_that_nothing_follows() {
    let world = world("  rules:\n    - { pattern: 'rm -rf build', exact: true, approval: none }\n");
    assert_eq!(world.says("rm -rf build"), Free);
    assert_eq!(world.says("rm  -rf  'build'"), Free);
    assert_eq!(world.says("rm -rf build src"), Required);
    assert_eq!(world.says("rm -rf build/../src"), Required);
}

#[test]
fn further_paths_than_a_rule_names_are_asked_about() {
    let world = world("  rules:\n    - { pattern: 'rm -rf build', approval: none }\n");
    assert_eq!(world.says("rm -rf build"), Free);
    assert_eq!(world.says("rm -rf build src"), Required);
}

#[test]
fn path_pattern_of_a_rule_limits_all_further_paths() {
    let world = world("  rules:\n    - { pattern: 'cat src/*', approval: none }\n");
    assert_eq!(world.says("cat src/main.rs"), Free);
    assert_eq!(world.says("cat ./src/main.rs src/x"), Free);
    for command in ["cat src/main.rs a.txt", "cat src/../a.txt", "cat src/sub/x", "cat a.txt", "cat src"] {
        assert_eq!(world.says(command), Required, "{command}");
    }
    std::os::unix::fs::symlink("../a.txt", world.folder.path().join("src/link")).unwrap();
    assert_eq!(world.says("cat src/link"), Required);
    assert_eq!(world.says("cat src/*"), Required);
}

#[test]
fn variables_must_be_harmless_or_named() {
    let world = world(
        "  rules:\n    - { pattern: 'FOO=* ls', approval: none }\n    - { pattern: 'ls', approval: none }\n",
    );
    assert_eq!(world.says("CI=1 ls"), Free);
    assert_eq!(world.says("FOO=1 ls"), Free);
    assert_eq!(world.says("BAR=1 ls"), Required);
    assert_eq!(world.says("env BAR=1 ls"), Required);
    assert_eq!(world.says("export BAR=1; ls"), Required);
    assert_eq!(world.says("LD_PRELOAD=x ls"), Required);
}

#[test]
fn rule_can_name_a_wrapper_and_its_command() {
    let world = world(
        "  known_read_only: none\n  rules:\n    - { pattern: 'timeout 5 touch', approval: none }\n    - { pattern: 'env', approval: none }\n",
    );
    assert_eq!(world.says("timeout 5 touch a.txt"), Free);
    assert_eq!(world.says("timeout 6 touch a.txt"), Required);
    assert_eq!(world.says("env touch a.txt"), Required);
    assert_eq!(world.says("env ls"), Free);
}

#[test]
fn rule_for_a_reader_does_not_cover_its_output_file() {
    let world = world(
        "  known_read_only: none\n  rules:\n    - { pattern: 'cat', approval: none }\n    - { pattern: 'echo', approval: none }\n",
    );
    assert_eq!(world.says("cat a.txt > b.txt"), Required);
    assert_eq!(world.says("cat a.txt >/dev/null 2>&1"), Free);
    assert_eq!(world.says("echo hi > b.txt"), Free);
    assert_eq!(world.says("echo hi > askfirst.yaml"), Deny);
}

#[test]
fn output_goes_unasked_into_a_file_that_any_tool_may_write() {
    let reads = "  known_read_only: none\n";
    let world = world(reads);
    for command in ["ls > b.txt", "cat a.txt src/main.rs > c", "> c", "ls 2>> c", "cat a.txt | sort > src/c"]
    {
        assert_eq!(world.says(command), Free, "{command}");
    }
    for command in ["ls > /etc/x", "ls > Makefile", "ls > ../c", "touch c > d"] {
        assert_eq!(world.says(command), Required, "{command}");
    }
    assert_eq!(world.says("cat a.txt > askfirst.yaml"), Deny);
    let asked = "  paths:\n    kept: { root: ./src, mode: rw, approval: { write: required } }\n";
    let world = super::world_with(&asked.replace("  paths:\n", ""), reads);
    assert_eq!(world.says("cat a.txt > src/c"), Required);
}

// invariant: 7
#[test]
fn deny_rule_matches_disguised_commands() {
    let world = world(
        "  default: { approval: none }\n  network: true\n  rules:\n    - { pattern: 'rm', approval: deny }\n    - { pattern: 'git push --force', approval: deny }\n",
    );
    std::os::unix::fs::symlink("/bin/rm", world.folder.path().join("clean")).unwrap();
    for command in [
        "rm x",
        "/bin/rm x",
        "\\rm x",
        "r''m x",
        "env -i rm x",
        "ls | xargs rm",
        "find . -exec rm {} +",
        "f() { rm x; }; f",
        "bash -c 'sh -c \"rm x\"'",
        "echo 'rm x' | sh",
        "sh <<E\nrm x\nE",
        "/bin/r? x",
        "nohup nice rm x &",
        "./clean x",
        "git push -f",
        "git push origin --forc",
        "git -C src push --force origin",
    ] {
        assert_eq!(world.says(command), Deny, "{command}");
    }
    assert_eq!(world.says("git push"), Free);
    assert_eq!(world.says("echo rm"), Free);
}

#[test]
fn roots_that_a_rule_names_must_hold_every_path() {
    let folder = "  paths:\n    sub: { root: ./sub, mode: rw, approval: { write: none } }\n";
    let lines = "  rules:\n    - { pattern: 'touch', approval: none, sandbox_paths: [sub] }\n";
    let world = super::world_with(&folder.replace("  paths:\n", ""), lines);
    assert_eq!(approval(&world.assess(json!({"command": "touch x", "cwd": "sub"}))), Free);
    assert_eq!(world.says("touch sub/x"), Required);
    assert_eq!(approval(&world.assess(json!({"command": "touch ../x", "cwd": "sub"}))), Required);
}

#[test]
fn older_expressions_ask_even_over_a_rule() {
    let world =
        world("  dangerous_patterns: ['--hard']\n  rules:\n    - { pattern: 'echo', approval: none }\n");
    assert_eq!(world.says("echo a"), Free);
    assert_eq!(world.says("echo --hard"), Required);
}

#[test]
fn program_without_a_shell_is_judged_alike() {
    let world =
        world("  rules:\n    - { pattern: 'ls', approval: none }\n    - { pattern: 'rm', approval: deny }\n");
    let exec = |argv: serde_json::Value| approval(&world.assess(json!({"argv": argv})));
    assert_eq!(exec(json!(["ls", "-l"])), Free);
    assert_eq!(exec(json!(["ls", "; touch x"])), Free);
    assert_eq!(exec(json!(["bash", "-c", "rm x"])), Deny);
    assert_eq!(exec(json!(["touch", "x"])), Required);
}

#[test]
fn lookup_time_does_not_grow_with_ten_thousand_rules() {
    let rules: Vec<String> =
        (0..10_000).map(|n| format!("    - {{ pattern: 'tool{n} run', approval: none }}\n")).collect();
    let world = world(&format!("  rules:\n{}    - {{ pattern: 'ls', approval: none }}\n", rules.concat()));
    assert_eq!(world.says("ls"), Free);
    assert_eq!(world.says("tool77 run x"), Free);
    assert_eq!(world.says("tool77 stop"), Required);
}

#[test]
fn line_that_needs_too_much_work_is_a_gap() {
    let world = world("  default: { approval: none }\n  known_read_only: none\n");
    let wide = format!("ls{}", " */*/*".repeat(200));
    let many = "true;".repeat(1_000);
    let deep = format!("{}true{}", "find a b c d e f g h -exec ".repeat(40), " ;".repeat(40));
    for command in [wide, many, deep, "env ".repeat(100) + "ls"] {
        assert_eq!(world.says(&command), Required);
    }
}
