//! Orders on standard input that start programs.

use super::may_start;
use crate::line::tree::Word;

#[test]
fn order_that_starts_a_program_is_seen() {
    for (program, text) in [
        ("ed", "!rm x"),
        ("psql", "\\! rm x"),
        ("sqlite3", ".shell rm x"),
        ("mysql", "system rm x"),
        ("at", "rm x"),
    ] {
        assert!(may_start(program, &[], Some(text)), "{program}");
    }
}

#[test]
fn unknown_input_may_start_a_program() {
    assert!(may_start("psql", &[], None));
}

#[test]
fn query_starts_nothing() {
    for (program, text) in
        [("psql", "select 1;"), ("sqlite3", "select 1;"), ("mysql", "select 1;"), ("cat", "!rm")]
    {
        assert!(!may_start(program, &[], Some(text)), "{program}");
    }
}

#[test]
fn input_of_a_shell_elsewhere_may_start_a_program() {
    let starts = |line: &str| {
        let words: Vec<Word> = line.split(' ').map(|word| Word::text(word, 0..0)).collect();
        may_start(words[0].literal().unwrap(), &words, Some("rm x"))
    };
    for line in ["docker exec -i c bash", "docker run -i x /bin/sh", "kubectl exec -i p -- sh", "nix develop"]
    {
        assert!(starts(line), "{line}");
    }
    for line in
        ["docker exec -i db psql", "docker exec -i c sh -c wc", "docker build -", "kubectl apply -f -"]
    {
        assert!(!starts(line), "{line}");
    }
}
