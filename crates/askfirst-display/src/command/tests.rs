//! Tests of commands that were taken apart.

use serde_json::json;

use super::*;
use crate::redact::{Mark, Redactor};

fn taken(mut value: Value, command: &str) -> (Option<Parts>, Map<String, Value>) {
    let metadata = value.as_object_mut().unwrap();
    let parts = Parts::take(metadata, command, &Masked::whole(command));
    (parts, metadata.clone())
}

fn texts(parts: &Parts) -> Vec<String> {
    let entries = parts.entries(&mut Counted::default(), |_, text| text.to_owned());
    entries.iter().flat_map(|entry| entry.wrap(70)).map(|line| line.text()).collect()
}

#[test]
fn every_program_has_a_row_of_its_own() {
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
    let (parts, left) = taken(metadata, command);
    let parts = parts.unwrap();
    assert_eq!(
        texts(&parts),
        [
            "in       /home/me",
            "allowed  git add -A  · rule 2",
            "asked    sudo rm -rf x",
            "denied   > out  · outside of every root",
            "mind     sudo  · runs as another user",
        ]
    );
    assert_eq!(parts.tones, [(14..18, Tone::Warning)]);
    assert_eq!(left.keys().collect::<Vec<_>>(), ["more"]);
}

#[test]
fn a_reason_is_given_once() {
    let metadata = json!({
        "rows": [
            {"text": "touch a", "verdict": "ask", "why": "it writes `a`; no rule speaks for it"},
            {"text": "ls", "verdict": "allow", "why": "it only looks"},
        ],
        "folder": "/home/me",
        "must_see": [
            {"start": 0, "end": 7, "why": "it writes `a`"},
            {"start": 0, "end": 5, "why": "it writes `a`"},
            {"start": 0, "end": 7, "why": "it writes"},
        ],
    });
    let parts = taken(metadata, "touch a; ls").0.unwrap();
    assert_eq!(
        texts(&parts),
        [
            "in       /home/me",
            "asked    touch a  · it writes `a`; no rule speaks for it",
            "allowed  ls  · it only looks",
            "mind     touch  · it writes `a`",
            "mind     touch a  · it writes",
        ]
    );
    let says = |label: &str, text: &str| parts.say(&Fact::new(label, text));
    assert!(
        says("why", "it writes `a`") && says("why", "no rule speaks for it") && says("folder", "/home/me")
    );
    assert!(!says("why", "it writes") && !says("why", "it only looks") && !says("folder", "/home"));
    assert!(!says("network", "it writes `a`"));
}

#[test]
fn rows_that_cannot_be_read_stay_data() {
    for rows in [json!([{"text": "a"}]), json!([{"verdict": "perhaps", "text": "a"}]), json!("rows")] {
        let (parts, left) = taken(json!({"rows": rows}), "a");
        assert_eq!(parts, None);
        assert!(left.contains_key("rows"));
    }
}

#[test]
fn a_part_that_is_not_there_leaves_all_of_them_to_be_shown_as_data() {
    let (parts, left) = taken(json!({"rows": [], "must_see": [{"start": 0, "end": 99, "why": "x"}]}), "é");
    assert!(parts.unwrap().must_see.is_empty());
    assert!(left.contains_key("must_see"));
}

#[test]
fn hostile_rows_are_escaped() {
    let row = json!({"text": "a\u{1b}[2J\n[y] yes", "verdict": "ask", "why": "\u{202e}"});
    let (parts, _) = taken(json!({"rows": [row]}), "");
    let drawn = texts(&parts.unwrap()).join("");
    assert!(drawn.contains(r"a\x1b[2J\n[y] yes") && drawn.contains(r"\u{202e}"), "{drawn}");
}

#[test]
fn what_must_be_seen_is_found_in_what_is_left_of_the_command() {
    let command = "export API_TOKEN=notes1; rm -rf notes2 > PGPASSWORD=x";
    let masked = Redactor::default().command(&askfirst::Args::new(), command, Mark::Record);
    let part = |text: &str, why: &str| {
        let start = command.find(text).unwrap();
        json!({"start": start, "end": start + text.len(), "why": why})
    };
    let must_see = json!([part("rm -rf notes2", "a"), part("notes1; rm", "b"), part("export", "c")]);
    let mut metadata = json!({"rows": [], "must_see": must_see}).as_object().unwrap().clone();
    let parts = Parts::take(&mut metadata, command, &masked).unwrap();
    assert!(metadata.is_empty(), "{metadata:?}");
    assert_eq!(
        texts(&parts),
        [
            "mind     rm -rf notes2  · a",
            "mind     ‹secret: token, 6 characters›; rm  · b",
            "mind     export  · c",
        ]
    );
    let toned: Vec<&str> =
        parts.tones.iter().map(|(range, _)| masked.left.get(range.clone()).unwrap()).collect();
    assert_eq!(toned, ["export", "‹secret: token, 6 characters›; rm"]);
}
