//! Tests of the bytes that call a person.

use super::*;

#[test]
fn each_terminal_gets_the_notification_it_knows() {
    for (term, is_vte, expected) in [
        ("xterm-256color", false, Protocol::Osc9),
        ("xterm-kitty", false, Protocol::Osc9),
        ("xterm-256color", true, Protocol::Osc777),
        ("rxvt-unicode-256color", false, Protocol::Osc777),
        ("foot", false, Protocol::Osc777),
        ("tmux-256color", true, Protocol::Bell),
        ("linux", false, Protocol::Bell),
    ] {
        assert_eq!(Protocol::of(term, is_vte), expected, "{term}");
    }
}

#[test]
fn notification_consists_of_fixed_words_and_the_front_end() {
    let text = "askfirst run: a call waits for your answer";
    assert_eq!(signal(Notify::Auto, "run", Protocol::Osc9), format!("\x07\x1b]9;{text}\x1b\\"));
    assert_eq!(
        signal(Notify::Auto, "run", Protocol::Osc777),
        format!("\x07\x1b]777;notify;askfirst;{text}\x1b\\")
    );
}

#[test]
fn config_limits_the_signal_to_the_bell_or_to_nothing() {
    for protocol in [Protocol::Osc9, Protocol::Osc777, Protocol::Bell] {
        assert_eq!(signal(Notify::Bell, "run", protocol), "\x07");
        assert_eq!(signal(Notify::Off, "run", protocol), "");
    }
}

#[test]
fn name_of_a_front_end_cannot_end_the_escape_code() {
    let sent = signal(Notify::Auto, "a\x07;\x1b\\b\u{9c}\n", Protocol::Osc9);
    assert_eq!(sent, "\x07\x1b]9;askfirst ab: a call waits for your answer\x1b\\");
    assert!(signal(Notify::Auto, &"x".repeat(999), Protocol::Osc777).len() < 120);
}
