//! JSON as this project reads it: strict, exact and bounded.
//!
//! Two texts that a tool could tell apart must never count as one call. So duplicate keys are refused, integers
//! that no machine integer holds are refused, and equality keeps `1`, `1.0` and `true` apart.

use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The arguments of a call: a JSON object, keys in order.
pub type Args = Map<String, Value>;

/// The deepest nesting that is read.
pub const MAX_DEPTH: usize = 64;

/// The most values that are read. Small values take far more room in memory than in a text, so that a limit on the
/// text alone is none.
pub const MAX_VALUES: usize = 200_000;

/// What an object counts as: even one with a single key takes as much room as that many other values.
const OBJECT: usize = 16;

/// Why a text is not taken as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// It is not one strict JSON document.
    #[error("{0}")]
    Garbled(String),
    /// There is more in it than is read.
    #[error("it has more than {MAX_VALUES} values, each object counted as {OBJECT}")]
    TooMany,
}

/// Reads one JSON document and nothing after it.
///
/// # Errors
/// Fails on anything that is not one strict JSON document: duplicate keys, invalid UTF-8, numbers that cannot be
/// held exactly, nesting deeper than [`MAX_DEPTH`], more than [`MAX_VALUES`] values, trailing text.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonFault> {
    parse_within(bytes, MAX_VALUES)
}

/// The same for a file of the owner's own, which may have any number of values. Not for what an agent or a server sends.
///
/// # Errors
/// As [`parse`], but for the number of values.
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

/// A value that is read as [`parse`] reads, in one pass with what stands around it. A number that only its text can tell
/// from an integer past 64 bits is refused: whether it is one, [`parse`] knows.
#[derive(Debug)]
pub struct Strictly(pub Value);

impl<'de> Deserialize<'de> for Strictly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let left = Cell::new(Some(MAX_VALUES));
        let value = Strict { depth: 0, left: &left }.deserialize(deserializer)?;
        if has_large_float(&value) {
            return Err(de::Error::custom("a number that may not be held exactly"));
        }
        Ok(Self(value))
    }
}

/// Reads one JSON document that must be an object.
///
/// # Errors
/// As [`parse`], and when the document is not an object.
pub fn parse_object(bytes: &[u8]) -> Result<Args, JsonFault> {
    match parse(bytes)? {
        Value::Object(map) => Ok(map),
        other => Err(JsonFault::Garbled(format!("expected an object, found {}", kind(&other)))),
    }
}

/// How many values there are in one, as [`MAX_VALUES`] counts them.
#[must_use]
pub fn count(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(map) => count_object(map),
    }
}

/// The same for an object.
#[must_use]
pub fn count_object(map: &Map<String, Value>) -> usize {
    OBJECT + map.values().map(|item| 1 + count(item)).sum::<usize>()
}

/// What a value is, in words.
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

/// The one text of a value: keys sorted, no blanks, numbers exact. Digests are taken over it.
#[must_use]
pub fn canonical(value: &Value) -> String {
    if *KEEPS_ORDER { sorted(value).to_string() } else { value.to_string() }
}

/// Whether maps keep the order in which they were filled: any crate of a program can switch that on for all of it. Otherwise they
/// are sorted.
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

/// What is in an object, by its keys in order.
pub(crate) fn in_order(map: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let mut unsorted: Vec<(&String, &Value)> = Vec::new();
    if *KEEPS_ORDER {
        unsorted.extend(map);
        unsorted.sort_by_key(|(key, _)| *key);
    }
    let plain = map.iter().filter(|_| !*KEEPS_ORDER);
    plain.chain(unsorted)
}

/// Whether nobody could tell two values apart. Equality alone takes `0.0` for `-0.0`.
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

/// The same for objects.
pub(crate) fn is_same_object(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let same = |(key, item): (&String, &Value)| other.get(key).is_some_and(|other| is_same(item, other));
    one.len() == other.len() && one.iter().all(same)
}

fn sign(number: &Number) -> bool {
    number.as_f64().is_some_and(f64::is_sign_negative)
}

/// Feeds a value to a hasher so that values hash alike exactly when they are equal.
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

/// The same for an object.
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

/// The reader turns an integer past 64 bits into a float without a word, so the text is looked at again.
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
                        "the integer `{}` cannot be held exactly",
                        crate::presentation::shorten(&number, 40)
                    )));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

struct Strict<'a> {
    depth: usize,
    /// How many more values are read; none once there were too many.
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
                    "a number as text: `serde_json` is built with `arbitrary_precision`, which holds no number exactly as it is shown",
                ));
            }
            let value = access.next_value_seed(self.deeper()?)?;
            if map.contains_key(&key.0) {
                let name = crate::presentation::shorten(&key.0, 40);
                return Err(de::Error::custom(format_args!("the key `{name}` stands twice")));
            }
            map.insert(key.0, value);
        }
        Ok(Value::Object(map))
    }
}

/// The key under which a reader that keeps numbers as text, as another crate may want it to, hides them in an object.
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
