//! Tests of base64 encoding and decoding.

use proptest::prelude::*;

use super::*;

#[test]
fn base64_matches_the_examples_of_the_standard() {
    let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
    for (plain, coded) in cases {
        assert_eq!(encode(plain.as_bytes()), coded);
        assert_eq!(decode(coded).unwrap(), plain.as_bytes());
    }
}

#[test]
fn invalid_base64_is_rejected() {
    for text in ["Z", "Zg", "Zg=", "Zh==", "Z===", "====", "Zg==Zg==", "Zm9 v", "Zm9v\n", "Zm-_"] {
        assert_eq!(decode(text), None, "{text:?}");
    }
}

proptest! {
    #[test]
    fn base64_round_trip_keeps_the_bytes(bytes: Vec<u8>) {
        prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
    }
}
