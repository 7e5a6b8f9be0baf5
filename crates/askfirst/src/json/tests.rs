//! Tests of the JSON parser: which texts it refuses, and which values count as equal.

use std::hash::{BuildHasher, RandomState};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    JsonFault, MAX_VALUES, StrictJson, canonical, count, hash_value, parse, parse_object, parse_of_any_size,
    parse_within,
};

fn fault(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn duplicate_key_is_refused() {
    assert!(fault(r#"{"a":1,"b":{"c":1,"c":2}}"#).contains("duplicate key `c`"));
}

#[test]
fn integer_beyond_64_bits_is_refused_but_a_float_is_not() {
    assert!(fault(r#"{"id":18446744073709551616}"#).contains("does not fit in 64 bits"));
    assert!(fault(r#"[-9223372036854775809]"#).contains("does not fit in 64 bits"));
    assert_eq!(parse(b"18446744073709551615").unwrap(), json!(u64::MAX));
    assert!(parse(br#"{"avogadro":6.022e23,"text":"99999999999999999999999"}"#).is_ok());
}

#[test]
fn similar_numbers_stay_distinct() {
    assert_ne!(parse(b"9007199254740993").unwrap(), parse(b"9007199254740992").unwrap());
    assert_ne!(parse(b"1").unwrap(), parse(b"1.0").unwrap());
    assert_ne!(parse(b"1").unwrap(), parse(b"true").unwrap());
}

#[test]
fn invalid_json_texts_are_refused() {
    let deep = "[".repeat(100_000);
    for text in ["", "{", "1 2", "{\"a\":1}{}", "[1,]", "\"\\ud800\"", "NaN", "1e999", "'a'", deep.as_str()] {
        assert!(parse(text.as_bytes()).is_err(), "{text:.20}");
    }
    assert!(parse(b"\"\xff\"").unwrap_err().to_string().contains("not UTF-8"));
    assert!(parse_object(b"[]").unwrap_err().to_string().contains("found a list"));
    assert!(parse(br#""nul \u0000 is text""#).is_ok());
}

/// Returns a list that counts as `values` values, itself included.
fn list_of(values: usize, item: &str, each: usize) -> String {
    format!("[{}]", vec![item; (values - 1) / each].join(","))
}

#[test]
fn document_with_too_many_values_is_refused() {
    for (item, each) in [("1", 1), ("null", 1), ("\"\"", 1), ("[]", 1), ("{}", 16), (r#"{"a":1}"#, 18)] {
        let (most, more) = (list_of(MAX_VALUES, item, each), list_of(MAX_VALUES + each, item, each));
        assert!(parse(most.as_bytes()).is_ok(), "{item}");
        assert_eq!(parse(more.as_bytes()), Err(JsonFault::TooMany), "{item}");
        assert!(parse_of_any_size(more.as_bytes()).is_ok(), "{item}");
        assert!(serde_json::from_str::<StrictJson>(&most).is_ok(), "{item}");
        let error = serde_json::from_str::<StrictJson>(&more).unwrap_err().to_string();
        assert!(error.contains("more than 200000 values"), "{error}");
    }
    let keys: Vec<String> = (0..MAX_VALUES / 2).map(|n| format!("\"{n}\":1")).collect();
    assert_eq!(parse_object(format!("{{{}}}", keys.join(",")).as_bytes()), Err(JsonFault::TooMany));
    assert!(parse(format!("\"{}\"", "a".repeat(4 << 20)).as_bytes()).is_ok(), "one text is one value");
}

#[test]
fn arbitrary_precision_number_is_refused() {
    let error = parse(br#"{"n": {"$serde_json::private::Number": "1.0"}}"#).unwrap_err().to_string();
    assert!(error.contains("arbitrary_precision"), "{error}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1.0e6..1.0e6).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn parser_never_panics_on_random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = parse(&bytes);
    }

    #[test]
    fn canonical_text_parses_to_the_same_value(value in any_json()) {
        prop_assert_eq!(parse(canonical(&value).as_bytes()).unwrap(), value);
    }

    #[test]
    fn parser_counts_values_like_count(value in any_json()) {
        let (text, values) = (canonical(&value), count(&value));
        prop_assert!(parse_within(text.as_bytes(), values).is_ok());
        prop_assert_eq!(parse_within(text.as_bytes(), values - 1), Err(JsonFault::TooMany));
    }

    #[test]
    fn equal_values_have_equal_hashes_and_canonical_texts(a in any_json(), b in any_json()) {
        let state = RandomState::new();
        let hash = |v: &Value| {
            let mut hasher = state.build_hasher();
            hash_value(v, &mut hasher);
            std::hash::Hasher::finish(&hasher)
        };
        prop_assert_eq!(hash(&a), hash(&a.clone()));
        prop_assert_eq!(a == b, canonical(&a) == canonical(&b));
    }
}
