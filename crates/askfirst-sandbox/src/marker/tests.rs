//! Tests that a mark is found exactly where it was set, alone or inside others.

use super::*;

#[test]
fn marks_are_unique_and_have_128_bits() {
    let (one, two) = (Marker::fresh().unwrap(), Marker::fresh().unwrap());
    assert_ne!(one.id, two.id);
    assert!(is_id(&one.id));
}

#[test]
fn mark_is_found_only_in_its_own_variable() {
    let marker = Marker::inside("", 7);
    let id = format!("{:032x}", 7);
    assert_eq!(marker.value(), id);
    assert!(marker.is_in(format!("A=1\0ASKFIRST_LAUNCH={id}\0B=2\0").as_bytes()));
    assert!(marker.is_in(format!("ASKFIRST_LAUNCH={id}").as_bytes()));
    assert!(!marker.is_in(format!("OTHER_ASKFIRST_LAUNCH={id}\0").as_bytes()));
    assert!(!marker.is_in(format!("ASKFIRST_LAUNCH2={id}\0").as_bytes()));
    assert!(!marker.is_in(format!("ASKFIRST_LAUNCH={id}0\0").as_bytes()));
    assert!(!marker.is_in(b""));
}

#[test]
fn outer_mark_is_found_in_processes_of_inner_launch() {
    let outer = Marker::inside("", 1);
    let inner = Marker::inside(outer.value(), 2);
    let environ = format!("ASKFIRST_LAUNCH={}\0", inner.value());
    assert!(outer.is_in(environ.as_bytes()));
    assert!(inner.is_in(environ.as_bytes()));
    assert!(!inner.is_in(format!("ASKFIRST_LAUNCH={}\0", outer.value()).as_bytes()));
}

#[test]
fn malformed_outer_value_is_not_inherited() {
    let deep = vec![format!("{:032x}", 9); MAX_DEPTH].join(":");
    for outer in ["", "x", "1234", ":", "0000000000000000000000000000000G", &deep] {
        assert_eq!(Marker::inside(outer, 3).value().len(), 32, "{outer}");
    }
}
