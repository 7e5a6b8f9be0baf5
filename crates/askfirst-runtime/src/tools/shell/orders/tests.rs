//! Orders on standard input that start programs.

use super::may_start;

#[test]
fn an_order_that_starts_a_program_is_seen() {
    for (program, text) in [
        ("ed", "!rm x"),
        ("psql", "\\! rm x"),
        ("sqlite3", ".shell rm x"),
        ("mysql", "system rm x"),
        ("at", "rm x"),
    ] {
        assert!(may_start(program, Some(text)), "{program}");
    }
}

#[test]
fn what_is_not_known_may_be_one() {
    assert!(may_start("psql", None));
}

#[test]
fn a_query_starts_nothing() {
    for (program, text) in
        [("psql", "select 1;"), ("sqlite3", "select 1;"), ("mysql", "select 1;"), ("cat", "!rm")]
    {
        assert!(!may_start(program, Some(text)), "{program}");
    }
}
