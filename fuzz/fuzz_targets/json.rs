//! Parses any bytes as JSON: no panic, one canonical text, and the same value as a plain reader, except for named
//! refusals.
#![no_main]

use askfirst::json::{MAX_DEPTH, MAX_VALUES, canonical, count, parse};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|bytes: &[u8]| {
    let plain = serde_json::from_slice::<Value>(bytes);
    match parse(bytes) {
        Ok(value) => {
            let text = canonical(&value);
            let again = parse(text.as_bytes());
            assert_eq!(again.as_ref().ok(), Some(&value), "{text:?} reads otherwise: {again:?}");
            assert_eq!(canonical(&value), text);
            assert_eq!(plain.ok(), Some(value), "a plain reader sees something else");
        }
        Err(fault) => {
            let Ok(value) = plain else { return };
            let fault = fault.to_string();
            if fault.contains("duplicate key") {
                assert!(pairs(bytes) > keys(&value), "{fault}, but no key is repeated");
            } else if fault.contains("nested deeper") {
                assert!(depth(&value) > MAX_DEPTH, "{fault}, but it is {} deep", depth(&value));
            } else if fault.contains("does not fit in 64 bits") {
                assert!(has_float(&value), "{fault}, but all numbers fit");
            } else if fault.contains("arbitrary_precision") {
                assert!(
                    value.to_string().contains("$serde_json::private::Number"),
                    "{fault}, but no such key"
                );
            } else if fault.contains("more than") {
                assert!(count(&value) > MAX_VALUES, "{fault}, but it has {}", count(&value));
            } else {
                panic!("refused without need: {fault}");
            }
        }
    }
});

/// Returns the number of key and value pairs in the text: colons outside strings.
fn pairs(bytes: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b':' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

fn keys(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(keys).sum(),
        Value::Object(map) => map.len() + map.values().map(keys).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(map) => map.values().any(has_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}
