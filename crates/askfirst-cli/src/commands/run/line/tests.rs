//! Tests of the rows that `run` prints.

use serde_json::json;

use super::*;

fn over(by: &'static str, took_ms: Option<u64>) -> CallSummary {
    CallSummary { by: Some(by), took_ms, ..CallSummary::default() }
}

fn all(columns: usize) -> String {
    let lines = [
        (1, "ran", over("rule", Some(3)), "read_file (path: notes:plan.md)", "812 bytes", ""),
        (
            2,
            "ran",
            over("you", Some(12_345)),
            "shell (command: cargo test --workspace --locked -- --nocapture)",
            "test result: ok. 512 passed (of 600 lines)",
            "",
        ),
        (3, "ran", over("session", Some(9)), "note (text: one)", "", ""),
        (
            4,
            "refused",
            over("you", None),
            "note (text: \u{202e}two)",
            "",
            "a person said no: not now, the release is on Friday",
        ),
        (5, "failed", over("mode", Some(61)), "shell (command: false)", "", "the command ended with 1"),
    ];
    let rows = lines.iter().flat_map(|(number, word, over, what, result, rest)| {
        CallLine { number: *number, word, over, what, result, rest }.rows(columns)
    });
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn rows_match_their_snapshots_at_every_width() {
    for columns in [40, 80, 120] {
        let drawn = all(columns);
        assert!(drawn.lines().all(|row| width(row) <= columns), "{drawn}");
        insta::assert_snapshot!(format!("run_{columns}"), drawn);
    }
}

#[test]
fn error_is_printed_whole_at_every_width() {
    for columns in 1..130 {
        let drawn: String = all(columns).split_whitespace().collect();
        assert!(drawn.contains("apersonsaidno:notnow,thereleaseisonFriday"), "{columns}");
    }
}

#[test]
fn result_is_summarized_in_a_few_words() {
    for (result, words) in [
        (json!({"stdout": "one\n", "stderr": "", "exit_code": 0}), "one"),
        (json!({"stdout": "\none\ntwo\n", "stderr": ""}), "one (of 3 lines)"),
        (json!({"stdout": "", "stderr": "oops"}), "oops"),
        (json!({"content": "abc", "path": "x"}), "3 bytes"),
        (json!({"path": "w:a", "entries": [1, 2]}), "entries: 2 items, path: w:a"),
        (json!("text"), "text"),
        (json!(null), ""),
        (json!([1]), "[1]"),
    ] {
        assert_eq!(result_words(&result), words);
    }
}
