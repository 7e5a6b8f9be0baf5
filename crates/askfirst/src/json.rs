//! A JSON parser for calls: strict, exact and limited in size.
//!
//! Two texts that a tool could tell apart must never count as the same call. So the parser:
//!
//! - refuses duplicate keys
//! - refuses integers that do not fit in 64 bits
//! - keeps `1`, `1.0` and `true` distinct

use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The arguments of a call: a JSON object.
pub type Args = Map<String, Value>;

/// The deepest nesting that the parser accepts.
pub const MAX_DEPTH: usize = 64;

/// The largest number of values that the parser accepts.
///
/// Small values need far more space in memory than in the text, so a limit on the length of the text is not enough.
pub const MAX_VALUES: usize = 200_000;

/// The number of values that an object counts as: an object with one key needs that much memory.
const OBJECT: usize = 16;

/// The error for a text that the parser refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// The text is not one strict JSON document.
    #[error("{0}")]
    Garbled(String),
    /// The document has more values than the parser accepts.
    #[error("more than {MAX_VALUES} values, where each object counts as {OBJECT}")]
    TooMany,
}

/// Parses one JSON document, with no text after it.
///
/// # Errors
/// Fails on anything that is not one strict JSON document:
///
/// - duplicate keys
/// - invalid UTF-8
/// - integers that do not fit in 64 bits
/// - nesting deeper than [`MAX_DEPTH`]
/// - more than [`MAX_VALUES`] values
/// - text after the document
pub fn parse(bytes: &[u8]) -> Result<Value, JsonFault> {
    parse_within(bytes, MAX_VALUES)
}

/// Parses one JSON document with any number of values.
///
/// Use it only for the owner's own files, never for input from an agent or a server.
///
/// # Errors
/// Fails for the same reasons as [`parse`], except for the number of values.
pub fn parse_of_any_size(bytes: &[u8]) -> Result<Value, JsonFault> {
    parse_within(bytes, usize::MAX)
}

fn parse_within(bytes: &[u8], values: usize) -> Result<Value, JsonFault> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| JsonFault::Garbled(format!("not UTF-8 at byte {}", e.valid_up_to())))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let left = Cell::new(Some(values));
    let strict = Strict { depth: 0, left: &left }.deserialize(&mut reader).map_err(|e| match left.get() {
        Some(_) => JsonFault::Garbled(e.to_string()),
        None => JsonFault::TooMany,
    })?;
    reader.end().map_err(|e| JsonFault::Garbled(e.to_string()))?;
    if has_large_float(&strict) {
        check_integers(text)?;
    }
    Ok(strict)
}

/// A JSON value that deserializes as strictly as [`parse`], as a part of another type.
///
/// It also refuses floats of 9e18 and more. Only the text shows whether such a float was an integer that does not
/// fit in 64 bits, so use [`parse`] for them.
#[derive(Debug)]
pub struct StrictJson(pub Value);

#[doc(hidden)]
pub use self::StrictJson as Strictly;

impl<'de> Deserialize<'de> for StrictJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let left = Cell::new(Some(MAX_VALUES));
        let value = Strict { depth: 0, left: &left }.deserialize(deserializer)?;
        if has_large_float(&value) {
            return Err(de::Error::custom("a number may be an integer that does not fit in 64 bits"));
        }
        Ok(Self(value))
    }
}

/// Parses one JSON document that must be an object.
///
/// # Errors
/// Fails for the same reasons as [`parse`], and if the document is not an object.
pub fn parse_object(bytes: &[u8]) -> Result<Args, JsonFault> {
    match parse(bytes)? {
        Value::Object(map) => Ok(map),
        other => Err(JsonFault::Garbled(format!("expected an object, found {}", kind(&other)))),
    }
}

/// Counts the values in a JSON value, as [`MAX_VALUES`] counts them.
#[must_use]
pub fn count(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(map) => count_object(map),
    }
}

/// Counts the values in an object, as [`MAX_VALUES`] counts them.
#[must_use]
pub fn count_object(map: &Map<String, Value>) -> usize {
    OBJECT + map.values().map(|item| 1 + count(item)).sum::<usize>()
}

/// Returns the type of a value as text, such as "a string".
#[must_use]
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns the canonical text of a value: keys sorted, no spaces, exact numbers. Digests use this text.
#[must_use]
pub fn canonical(value: &Value) -> String {
    if *KEEPS_ORDER { sorted(value).to_string() } else { value.to_string() }
}

/// Whether JSON objects keep their insertion order instead of sorting their keys.
///
/// Any crate in a program can turn this on for the whole program, with a feature of `serde_json`.
static KEEPS_ORDER: LazyLock<bool> = LazyLock::new(|| {
    let map: Args = ["b", "a"].into_iter().map(|key| (key.to_owned(), Value::Null)).collect();
    map.keys().next().is_some_and(|first| first == "b")
});

fn sorted(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        Value::Object(map) => {
            Value::Object(in_order(map).map(|(key, item)| (key.clone(), sorted(item))).collect())
        }
    }
}

/// Iterates over the fields of an object in the order of their keys.
pub(crate) fn in_order(map: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut unsorted: Vec<(&String, &Value)> = Vec::new();
    if *KEEPS_ORDER {
        unsorted.extend(map);
        unsorted.sort_by_key(|(key, _)| *key);
    }
    let plain = map.iter().filter(|_| !*KEEPS_ORDER);
    plain.chain(unsorted)
}

/// Whether a tool could not tell two values apart. Unlike `==`, this keeps `0.0` and `-0.0` distinct.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other && sign(one) == sign(other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => is_same_object(one, other),
        _ => one == other,
    }
}

/// Whether a tool could not tell two objects apart; see [`is_same`].
pub(crate) fn is_same_object(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let same = |(key, item): (&String, &Value)| other.get(key).is_some_and(|other| is_same(item, other));
    one.len() == other.len() && one.iter().all(same)
}

fn sign(number: &Number) -> bool {
    number.as_f64().is_some_and(f64::is_sign_negative)
}

/// Feeds a value to a hasher. Equal values give equal input, and different values give different input.
pub(crate) fn hash_value<H: Hasher>(value: &Value, state: &mut H) {
    match value {
        Value::Null => state.write_u8(0),
        Value::Bool(b) => (1_u8, b).hash(state),
        Value::Number(n) => hash_number(n, state),
        Value::String(s) => (3_u8, s).hash(state),
        Value::Array(items) => {
            (4_u8, items.len()).hash(state);
            items.iter().for_each(|item| hash_value(item, state));
        }
        Value::Object(map) => hash_object(map, state),
    }
}

/// Feeds an object to a hasher; see [`hash_value`].
pub(crate) fn hash_object<H: Hasher>(map: &Map<String, Value>, state: &mut H) {
    (5_u8, map.len()).hash(state);
    for (key, item) in in_order(map) {
        key.hash(state);
        hash_value(item, state);
    }
}

fn hash_number<H: Hasher>(number: &Number, state: &mut H) {
    if let Some(n) = number.as_u64() {
        (6_u8, n).hash(state);
    } else if let Some(n) = number.as_i64() {
        (7_u8, n).hash(state);
    } else {
        (8_u8, number.as_f64().unwrap_or(f64::NAN).to_bits()).hash(state);
    }
}

fn has_large_float(value: &Value) -> bool {
    match value {
        Value::Number(n) => n.is_f64() && n.as_f64().is_none_or(|f| f.abs() >= 9.0e18),
        Value::Array(items) => items.iter().any(has_large_float),
        Value::Object(map) => map.values().any(has_large_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// Checks the text for integers that do not fit in 64 bits, because `serde_json` turns them into floats silently.
fn check_integers(text: &str) -> Result<(), JsonFault> {
    let mut rest = text.as_bytes().iter().copied().peekable();
    let mut in_string = false;
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' if in_string => {
                rest.next();
            }
            b'"' => in_string = !in_string,
            b'-' | b'0'..=b'9' if !in_string => {
                let mut number = String::from(char::from(byte));
                while let Some(next) = rest.next_if(|b| b"+-.eE0123456789".contains(b)) {
                    number.push(char::from(next));
                }
                let whole = !number.contains(['.', 'e', 'E']);
                if whole && number.parse::<u64>().is_err() && number.parse::<i64>().is_err() {
                    return Err(JsonFault::Garbled(format!(
                        "the integer `{}` does not fit in 64 bits",
                        crate::presentation::shorten(&number, 40)
                    )));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The visitor that builds a value and checks the rules of this module.
struct Strict<'a> {
    depth: usize,
    /// The number of values that may still follow; `None` once the document had too many.
    left: &'a Cell<Option<usize>>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Strict<'_> {
    fn deeper<E: de::Error>(&self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("nested deeper than {MAX_DEPTH}")));
        }
        Ok(Self { depth: self.depth + 1, left: self.left })
    }

    fn spend<E: de::Error>(&self, values: usize) -> Result<(), E> {
        let left = self.left.get().and_then(|left| left.checked_sub(values));
        self.left.set(left);
        left.map(drop).ok_or_else(|| E::custom(JsonFault::TooMany))
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        self.spend(1)?;
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, v: bool) -> Result<Value, E> {
        self.spend(1)?;
        Ok(Value::Bool(v))
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Value, E> {
        self.spend(1)?;
        Ok(Value::from(v))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Value, E> {
        self.spend(1)?;
        Ok(Value::from(v))
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Value, E> {
        self.spend(1)?;
        Number::from_f64(v).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<Value, E> {
        self.spend(1)?;
        Ok(Value::String(v.to_owned()))
    }

    fn visit_string<E: de::Error>(self, v: String) -> Result<Value, E> {
        self.spend(1)?;
        Ok(Value::String(v))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        self.spend(1)?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.deeper()?)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.spend(OBJECT)?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<Key>()? {
            self.spend(1)?;
            if key.0 == NUMBER_AS_TEXT {
                return Err(de::Error::custom(
                    "numbers cannot be read: `serde_json` is built with its feature `arbitrary_precision`",
                ));
            }
            let value = access.next_value_seed(self.deeper()?)?;
            if map.contains_key(&key.0) {
                let name = crate::presentation::shorten(&key.0, 40);
                return Err(de::Error::custom(format_args!("duplicate key `{name}`")));
            }
            map.insert(key.0, value);
        }
        Ok(Value::Object(map))
    }
}

/// The key of the object in which `serde_json` hides a number if another crate turns on `arbitrary_precision`.
const NUMBER_AS_TEXT: &str = "$serde_json::private::Number";

struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Key)
    }
}

#[cfg(test)]
#[path = "json/tests.rs"]
mod tests;
