//! Tests of texts that repeat secret arguments.

use serde_json::json;

use super::super::{Mark, Redactor};

fn redacted(args: serde_json::Value, text: &str) -> String {
    let redactor = Redactor::new(&["pin".to_owned()], Vec::new()).unwrap();
    redactor.text_about(args.as_object().unwrap(), text, Mark::Record).left
}

#[test]
fn configured_secret_is_hidden_in_a_description() {
    let text = redacted(json!({"pin": "4711-0815", "to": "x"}), "note(pin=\"4711-0815\", to=\"x\")");
    assert!(!text.contains("4711") && text.contains("to=\"x\""), "{text}");
    let text = redacted(json!({"pin": "a long one that was cut short"}), "note(pin=\"a long one th…\")");
    assert!(!text.contains("a long") && text.contains('…'), "{text}");
    let text = redacted(json!({"pin": 471_108}), "note 471108 for them");
    assert!(!text.contains("4711"), "{text}");
    let text =
        redacted(json!({"deep": [{"pin": {"a": "over\nthere"}}]}), "says over\\nthere, and over\nthere");
    assert!(!text.contains("there") && text.starts_with("says "), "{text}");
}

#[test]
fn short_secret_is_hidden_only_as_a_whole_word() {
    let text = redacted(json!({"pin": "12"}), "pin=12, 123 of 312 and \"12\"");
    assert!(text.contains("123 of 312") && !text.contains("=12,") && !text.contains("\"12\""), "{text}");
}

#[test]
fn text_without_a_secret_stays_unchanged() {
    assert_eq!(redacted(json!({"to": "somebody"}), "for somebody"), "for somebody");
    assert_eq!(redacted(json!({"pin": "", "n": 1}), "n = 1"), "n = 1");
}

#[test]
fn secrets_of_arguments_are_hidden_in_other_texts() {
    let args = json!({"password": "hunter2secretlong", "command": "mysql -phunter2other db", "to": "ada"});
    let redactor = Redactor::default();
    let about = redactor.about(args.as_object().unwrap());
    for text in ["echo login ada hunter2secretlong", "nothing is known about `-2` in `-phunter2other`"] {
        assert_eq!(redactor.text(text, Mark::Record).hidden, 0, "{text}");
        assert!(!about.is_clean(text.as_bytes()), "{text}");
        let left = about.text(text, Mark::Record).left;
        assert!(!left.contains("hunter2"), "{left}");
    }
    assert!(about.is_clean(b"ada"), "a plain argument was hidden");
}
