//! Queries that only read, and others.

use super::only_reads;

#[test]
fn reading_queries_are_recognized() {
    for text in [
        "select 1",
        "SELECT count(*) FROM users;",
        "with a as (select 1) select * from a",
        ".tables",
        ".schema users",
        "\\dt",
        "\\d+ users",
        "explain select 1",
    ] {
        assert!(only_reads(text), "{text}");
    }
}

#[test]
fn changing_or_outgoing_queries_are_not_read_only() {
    for text in [
        "drop table x",
        "select 1; drop table x",
        "select * into x from y",
        "with d as (delete from x returning *) select * from d",
        "select pg_read_file('/etc/passwd')",
        "copy x to program 'sh'",
        ".shell rm x",
        "\\! rm x",
        "\\copy x to 'f'",
        "select 1 \\g |sh",
        "select load_extension('x')",
        "select writefile('x', 'y')",
        "select 1\n.shell rm",
        "",
        "\\d x; drop table y",
        "select lo_export(1, 'x')",
    ] {
        assert!(!only_reads(text), "{text}");
    }
}
