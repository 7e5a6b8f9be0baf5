//! Tests of the rows of a command.

use serde_json::json;

use super::*;
use crate::redact::{Mark, Redactor};

fn parsed(mut value: Value, command: &str) -> (Option<CommandRows>, Map<String, Value>) {
    let metadata = value.as_object_mut().unwrap();
    let parts = CommandRows::take(metadata, command, &MaskedText::whole(command));
    (parts, metadata.clone())
}

fn texts(parts: &CommandRows) -> Vec<String> {
    texts_with(parts, "")
}

fn texts_with(parts: &CommandRows, why: &str) -> Vec<String> {
    let paragraphs = parts.paragraphs(why, &mut EscapeCounter::default(), |_, text| text.to_owned());
    paragraphs.iter().flat_map(|paragraph| paragraph.wrap(70)).map(|line| line.text()).collect()
}

#[test]
fn every_program_and_redirection_has_its_row() {
    let command = "git add -A && sudo rm -rf x > out";
    let metadata = json!({
        "rows": [
            {"program": "git add", "text": "git add -A", "verdict": "allow", "why": "rule 2", "start": 0, "end": 10},
            {"program": "sudo", "text": "sudo rm -rf x", "verdict": "ask", "why": "", "start": 14, "end": 27},
        ],
        "redirections": [{"text": "> out", "verdict": "deny", "why": "outside of every root"}],
        "folder": "/home/me",
        "must_see": [{"start": 14, "end": 18, "why": "runs as another user"}],
        "more": 1,
    });
    let (parts, left) = parsed(metadata, command);
    let parts = parts.unwrap();
    assert_eq!(
        texts(&parts),
        [
            "  git add -A      rule 2",
            "▲ sudo rm -rf x",
            "▲ > out           outside of every root",
            "▲ sudo            runs as another user",
        ]
    );
    assert_eq!(parts.folder(), Some("/home/me"));
    assert_eq!(parts.tones, [(14..18, Tone::Warning)]);
    assert_eq!(left.keys().collect::<Vec<_>>(), ["more"]);
}

#[test]
fn reason_in_a_row_or_below_is_not_repeated() {
    let metadata = json!({
        "rows": [
            {"text": "touch a", "verdict": "ask", "why": "it writes `a`; no rule allows it"},
            {"text": "ls", "verdict": "allow", "why": "it only looks"},
        ],
        "folder": "/home/me",
        "must_see": [
            {"start": 0, "end": 7, "why": "it writes `a`"},
            {"start": 0, "end": 5, "why": "it writes `a`"},
            {"start": 0, "end": 7, "why": "it writes"},
        ],
    });
    let parts = parsed(metadata, "touch a; ls").0.unwrap();
    assert_eq!(
        texts(&parts),
        [
            "▲ touch a   it writes `a`; no rule allows it",
            "  ls        it only looks",
            "▲ touch     it writes `a`",
            "▲ touch a   it writes",
        ]
    );
    let why = "no rule allows it (askfirst.yaml:9)";
    assert_eq!(texts_with(&parts, why)[0], "▲ touch a   it writes `a`");
    assert!(!parts.is_explained_by(why));
    assert!(parts.is_explained_by("it writes `a`; no rule allows it"));
}

#[test]
fn long_program_stands_out_of_the_column_of_reasons() {
    let long = "x".repeat(50);
    let metadata = json!({"rows": [
        {"text": long, "verdict": "allow", "why": "this command only reads"},
        {"text": "ls", "verdict": "allow", "why": "this command only reads"},
    ]});
    let parts = parsed(metadata, "").0.unwrap();
    assert_eq!(texts(&parts)[1], "  ls   only reads");
    let drawn = texts(&parts).join("");
    assert!(drawn.contains("   only reads") && drawn.contains(&long), "{drawn}");
}

#[test]
fn single_program_is_the_whole_command_and_nothing_else() {
    let row = json!({"text": "rm a", "verdict": "ask", "why": "no rule"});
    let is_single = |metadata: Value| parsed(metadata, "rm a").0.unwrap().is_single("rm a");
    assert!(is_single(json!({"rows": [row]})));
    assert!(is_single(json!({"rows": [row], "must_see": [{"start": 0, "end": 4, "why": "x"}]})));
    assert!(!is_single(json!({"rows": [row, row]})));
    assert!(!is_single(json!({"rows": []})));
    assert!(!is_single(json!({"rows": [row], "must_see": [{"start": 0, "end": 2, "why": "x"}]})));
    let redirection = json!({"text": "> out", "verdict": "allow", "why": ""});
    assert!(!is_single(json!({"rows": [row], "redirections": [redirection]})));
    assert!(!is_single(json!({"rows": [{"text": "rm", "verdict": "ask", "why": ""}]})));
}

#[test]
fn invalid_rows_stay_in_the_metadata() {
    for rows in [json!([{"text": "a"}]), json!([{"verdict": "perhaps", "text": "a"}]), json!("rows")] {
        let (parts, left) = parsed(json!({"rows": rows}), "a");
        assert_eq!(parts, None);
        assert!(left.contains_key("rows"));
    }
}

#[test]
fn must_see_part_out_of_range_stays_in_the_metadata() {
    let (parts, left) = parsed(json!({"rows": [], "must_see": [{"start": 0, "end": 99, "why": "x"}]}), "é");
    assert!(parts.unwrap().must_see.is_empty());
    assert!(left.contains_key("must_see"));
}

#[test]
fn hostile_text_in_a_row_is_escaped() {
    let row = json!({"text": "a\u{1b}[2J\n[y] yes", "verdict": "ask", "why": "\u{202e}"});
    let (parts, _) = parsed(json!({"rows": [row]}), "");
    let drawn = texts(&parts.unwrap()).join("");
    assert!(drawn.contains(r"a\x1b[2J\n[y] yes") && drawn.contains(r"\u{202e}"), "{drawn}");
}

#[test]
fn must_see_parts_are_placed_in_the_masked_command() {
    let command = "export API_TOKEN=notes1; rm -rf notes2 > PGPASSWORD=x";
    let masked = Redactor::default().command(&askfirst::Args::new(), command, Mark::Record);
    let part = |text: &str, why: &str| {
        let start = command.find(text).unwrap();
        json!({"start": start, "end": start + text.len(), "why": why})
    };
    let must_see = json!([part("rm -rf notes2", "a"), part("notes1; rm", "b"), part("export", "c")]);
    let mut metadata = json!({"rows": [], "must_see": must_see}).as_object().unwrap().clone();
    let parts = CommandRows::take(&mut metadata, command, &masked).unwrap();
    assert!(metadata.is_empty(), "{metadata:?}");
    assert_eq!(
        texts(&parts),
        [
            "▲ rm -rf notes2                       a",
            "▲ ‹secret: token, 6 characters›; rm   b",
            "▲ export                              c",
        ]
    );
    let toned: Vec<&str> =
        parts.tones.iter().map(|(range, _)| masked.left.get(range.clone()).unwrap()).collect();
    assert_eq!(toned, ["export", "‹secret: token, 6 characters›; rm"]);
}
