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

const FOCUS_IN: [Input; 1] = [Input::Key(Key::FocusIn)];
const FOCUS_OUT: [Input; 1] = [Input::Key(Key::FocusOut)];

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

#[test]
fn silent_terminal_calls_once_after_the_wait() {
    let mut attention = Attention::default();
    assert!(!attention.tick(at(0.0), false) && !attention.tick(at(4.9), false));
    assert!(attention.tick(at(5.0), false));
    assert!(!attention.tick(at(6.0), false) && !attention.tick(at(60.0), true));
    assert!(!attention.read(&FOCUS_OUT, at(0.5)));
}

#[test]
fn key_or_focus_keeps_the_bell_silent() {
    for inputs in [FOCUS_IN.to_vec(), vec![Input::Key(Key::Char('x'))], vec![Input::Paste("x".into())]] {
        let mut attention = Attention::default();
        assert!(!attention.read(&inputs, at(4.0)));
        assert!(!attention.tick(at(9.0), true), "{inputs:?}");
    }
}

#[test]
fn report_of_another_window_calls_at_the_start_or_at_the_end() {
    let mut attention = Attention::default();
    assert!(attention.read(&FOCUS_OUT, at(0.1)), "the terminal reports the focus at the start");
    let mut attention = Attention::default();
    assert!(!attention.read(&[Input::Key(Key::Char('x'))], at(0.5)));
    assert!(!attention.read(&FOCUS_OUT, at(2.0)), "the person has seen the question");
    assert!(!attention.tick(at(100.0), false) && attention.tick(at(200.0), true));
    let mut attention = Attention::default();
    assert!(!attention.read(&FOCUS_IN, at(0.5)) && !attention.read(&FOCUS_OUT, at(3.0)));
    assert!(attention.tick(at(5.0), false), "the person left without a key");
}
