//! Tests of two programs on one terminal: one asks, the other waits, and keys go to the request on screen.

use std::time::Duration;

use super::stories::{list, place, write};
use super::{Place, Terminal};

/// Waits until a condition holds.
fn until(so: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came to it");
}

/// Whether both programs have started.
fn are_two(place: &Place) -> bool {
    place.run(&["log", "--json", "--config", "c.yaml"]).1.matches("\"kind\":\"session\"").count() == 2
}

// invariant: 6
#[test]
fn two_programs_on_one_terminal_ask_one_at_a_time() {
    let place = place();
    list(&place, &[write("notes:two", "two\n")]);
    std::fs::rename(place.path().join("calls.jsonl"), place.path().join("later.jsonl")).unwrap();
    list(&place, &[write("notes:one", "one\n")]);
    // Standard input is a terminal for the second program only.
    let script = "\"$0\" run calls.jsonl --config c.yaml & \
        while ! test -e go; do sleep 0.05; done; \"$0\" run later.jsonl --config c.yaml; wait";
    let mut terminal = Terminal::program(&place, "sh", &["-c", script, env!("CARGO_BIN_EXE_askfirst")], &[]);
    let page = terminal.wait_for("ready:");
    assert!(page.contains("notes/one"), "{page}");
    std::fs::write(place.path().join("go"), "").unwrap();
    until(|| are_two(&place));
    // Long enough to draw a prompt if the program did not wait.
    std::thread::sleep(Duration::from_millis(1_500));
    let drawn = String::from_utf8_lossy(&terminal.seen.lock().unwrap()).into_owned();
    assert!(!drawn.contains("create notes/two"), "two at once: {drawn}");
    terminal.type_keys("y");
    let told = terminal.wait_for("approved once: write_file");
    assert!(!told.contains("create notes/two"), "{told}");
    let page = terminal.press("n");
    assert!(page.contains("create notes/two"), "{page}");
    terminal.end();
    let there = ["one", "two"].map(|name| place.path().join("notes").join(name).exists());
    assert_eq!(there, [true, false], "the keys went to what was shown");
}

#[test]
fn output_of_one_program_waits_for_the_question_of_another() {
    let place = place();
    let quick = serde_json::json!({"tool": "quick"});
    list(&place, &[quick.clone(), quick]);
    std::fs::rename(place.path().join("calls.jsonl"), place.path().join("later.jsonl")).unwrap();
    list(&place, &[write("notes:one", "one\n")]);
    let script = "\"$0\" run calls.jsonl --config c.yaml & \
        while ! test -e go; do sleep 0.05; done; \"$0\" run later.jsonl --config c.yaml </dev/null; wait";
    let mut terminal = Terminal::program(&place, "sh", &["-c", script, env!("CARGO_BIN_EXE_askfirst")], &[]);
    terminal.wait_for("ready:");
    std::fs::write(place.path().join("go"), "").unwrap();
    until(|| are_two(&place));
    std::thread::sleep(Duration::from_millis(1_500));
    let drawn = String::from_utf8_lossy(&terminal.seen.lock().unwrap()).into_owned();
    assert!(!drawn.contains("quick"), "it stands in the question: {drawn}");
    terminal.type_keys("y");
    terminal.wait_for("approved once: write_file");
    let (_, told) = terminal.end();
    assert_eq!(told.matches("→ quick").count(), 2, "{told}");
}
