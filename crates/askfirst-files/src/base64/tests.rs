//! Text and bytes, there and back.

use proptest::prelude::*;

use super::*;

#[test]
fn the_examples_of_the_standard_hold() {
    let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
    for (plain, coded) in cases {
        assert_eq!(encode(plain.as_bytes()), coded);
        assert_eq!(decode(coded).unwrap(), plain.as_bytes());
    }
}

#[test]
fn what_is_not_exactly_base64_is_refused() {
    for text in ["Z", "Zg", "Zg=", "Zh==", "Z===", "====", "Zg==Zg==", "Zm9 v", "Zm9v\n", "Zm-_"] {
        assert_eq!(decode(text), None, "{text:?}");
    }
}

proptest! {
    #[test]
    fn bytes_come_back_as_they_were(bytes: Vec<u8>) {
        prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
    }
}
