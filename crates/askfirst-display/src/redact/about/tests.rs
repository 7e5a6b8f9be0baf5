//! Descriptions that repeat secret arguments.

use serde_json::json;

use super::super::{Mark, Redactor};

fn said(args: serde_json::Value, text: &str) -> String {
    let redactor = Redactor::new(&["pin".to_owned()], Vec::new()).unwrap();
    redactor.text_about(args.as_object().unwrap(), text, Mark::Record).left
}

#[test]
fn what_the_config_calls_secret_is_in_no_description() {
    let text = said(json!({"pin": "4711-0815", "to": "x"}), "note(pin=\"4711-0815\", to=\"x\")");
    assert!(!text.contains("4711") && text.contains("to=\"x\""), "{text}");
    let text = said(json!({"pin": "a long one that was cut short"}), "note(pin=\"a long one th…\")");
    assert!(!text.contains("a long") && text.contains('…'), "{text}");
    let text = said(json!({"pin": 471_108}), "note 471108 for them");
    assert!(!text.contains("4711"), "{text}");
    let text = said(json!({"deep": [{"pin": {"a": "over\nthere"}}]}), "says over\\nthere, and over\nthere");
    assert!(!text.contains("there") && text.starts_with("says "), "{text}");
}

#[test]
fn a_short_one_is_taken_out_where_it_stands_alone() {
    let text = said(json!({"pin": "12"}), "pin=12, 123 of 312 and \"12\"");
    assert!(text.contains("123 of 312") && !text.contains("=12,") && !text.contains("\"12\""), "{text}");
}

#[test]
fn what_has_no_secret_stays_as_it_is() {
    assert_eq!(said(json!({"to": "somebody"}), "for somebody"), "for somebody");
    assert_eq!(said(json!({"pin": "", "n": 1}), "n = 1"), "n = 1");
}

#[test]
fn the_secrets_of_the_arguments_are_known_wherever_they_stand() {
    let args = json!({"password": "hunter2secretlong", "command": "mysql -phunter2other db", "to": "ada"});
    let redactor = Redactor::default();
    let about = redactor.about(args.as_object().unwrap());
    for text in ["echo login ada hunter2secretlong", "nothing is known about `-2` in `-phunter2other`"] {
        assert_eq!(redactor.text(text, Mark::Record).hidden, 0, "{text}");
        assert!(!about.is_clean(text.as_bytes()), "{text}");
        let left = about.text(text, Mark::Record).left;
        assert!(!left.contains("hunter2"), "{left}");
    }
    assert!(about.is_clean(b"ada"), "what is no secret stays");
}
