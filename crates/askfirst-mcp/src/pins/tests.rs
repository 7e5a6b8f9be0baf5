//! Tests pins across restarts, and pins that cannot be read.

use askfirst::json::MAX_VALUES;
use serde_json::json;

use super::{Pins, PinsError};

#[test]
fn tool_is_pinned_when_first_seen_and_survives_a_restart() {
    let state = tempfile::tempdir().unwrap();
    let (old, new) =
        (json!({"name": "add", "description": "Adds"}), json!({"name": "add", "description": "Adds. Also…"}));
    let pins = Pins::open(state.path(), "maths").unwrap();
    assert!(pins.changed(&[("add".to_owned(), old.clone())]).unwrap().is_empty());
    let pins = Pins::open(state.path(), "maths").unwrap();
    assert_eq!(pins.changed(&[("add".to_owned(), new.clone())]).unwrap()["add"], old);
    assert_eq!(pins.changed(&[("add".to_owned(), new.clone())]).unwrap()["add"], old, "told until accepted");
    pins.accept("add", &new).unwrap();
    let pins = Pins::open(state.path(), "maths").unwrap();
    assert!(pins.changed(&[("add".to_owned(), new)]).unwrap().is_empty());
    let other = Pins::open(state.path(), "other").unwrap();
    assert!(other.changed(&[("add".to_owned(), old)]).unwrap().is_empty(), "each server has its own");
}

#[test]
fn too_many_pins_are_refused_and_the_others_stay() {
    let state = tempfile::tempdir().unwrap();
    let pins = Pins::open(state.path(), "maths").unwrap();
    let large = json!(vec![1; MAX_VALUES / 2]);
    pins.changed(&[("one".to_owned(), large.clone())]).unwrap();
    let two = [("two".to_owned(), large.clone())];
    assert!(matches!(pins.changed(&two), Err(PinsError::Full { .. })));
    assert!(matches!(pins.changed(&two), Err(PinsError::Full { .. })), "it is not kept in memory either");
    assert!(matches!(pins.accept("two", &large), Err(PinsError::Full { .. })));
    let pins = Pins::open(state.path(), "maths").unwrap();
    let small = json!({"name": "one"});
    assert_eq!(pins.changed(&[("one".to_owned(), small)]).unwrap()["one"], large);
}

#[test]
fn unreadable_pins_are_an_error_and_not_a_fresh_start() {
    let state = tempfile::tempdir().unwrap();
    Pins::open(state.path(), "../x").unwrap().accept("add", &json!({})).unwrap();
    let file = std::fs::read_dir(state.path().join("pins")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&file, "{\"add\":").unwrap();
    assert!(matches!(Pins::open(state.path(), "../x"), Err(PinsError::Garbled { .. })));
}
