//! Two programs on one terminal: one asks, the other waits its turn, and a key goes to the one that is shown.

use std::time::Duration;

use askfirst_runtime::present::Rule;

use super::stories::{list, place, write};
use super::without::{program, story};
use super::{Place, Terminal};

/// Until something is so.
fn until(so: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came to it");
}

fn is_asked_about(place: &Place, path: &str) -> bool {
    place.run(&["log", "--json", "--config", "c.yaml"]).1.contains(path)
}

pub(super) fn one_at_a_time() {
    let place = place();
    list(&place, &[write("notes:two", "two\n")]);
    std::fs::rename(place.path().join("calls.jsonl"), place.path().join("later.jsonl")).unwrap();
    list(&place, &[write("notes:one", "one\n")]);
    // The first has no terminal on its standard input, the second has.
    let script = "\"$0\" run calls.jsonl --config c.yaml & \
        while ! test -e go; do sleep 0.05; done; \"$0\" run later.jsonl --config c.yaml; wait";
    let program = program();
    let mut terminal = Terminal::program(&place, "sh", &["-c", script, program.to_str().unwrap()], &[]);
    let page = terminal.wait_for("ready:");
    assert!(page.contains("notes:one"), "{page}");
    std::fs::write(place.path().join("go"), "").unwrap();
    until(|| is_asked_about(&place, "notes:two"));
    // Long enough to draw a prompt, if it did not wait.
    std::thread::sleep(Duration::from_millis(1_500));
    let drawn = String::from_utf8_lossy(&terminal.seen.lock().unwrap()).into_owned();
    assert!(!drawn.contains("notes:two"), "two at once: {drawn}");
    terminal.type_keys("y");
    let told = terminal.wait_for("approved once: write_file");
    assert!(!told.contains("notes:two"), "{told}");
    let page = terminal.press("n");
    assert!(page.contains("notes:two"), "{page}");
    terminal.end();
    let there = ["one", "two"].map(|name| place.path().join("notes").join(name).exists());
    assert_eq!(there, [true, false], "the keys went to what was shown");
}

#[test]
fn two_programs_on_one_terminal_ask_one_after_the_other() {
    story(&[Rule::Turn], one_at_a_time);
}
