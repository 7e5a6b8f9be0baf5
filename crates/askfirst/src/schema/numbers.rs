//! Compares JSON values as JSON Schema does. Where two numbers cannot be told apart, the comparison leaves it open.

use std::cell::Cell;
use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{STEP_BYTES, spend};

/// Below this number, a float holds every integer exactly.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns whether two values may be equal. In a schema, `1` and `1.0` are the same number.
pub(super) fn equals(left: &Value, right: &Value, steps: &Cell<usize>) -> bool {
    if !spend(steps, 1) {
        return true;
    }
    match (left, right) {
        (Value::Number(_), Value::Number(_)) => order(left, right).is_none_or(Ordering::is_eq),
        (Value::String(left), Value::String(right)) => {
            left.len() == right.len() && (!spend(steps, left.len() / STEP_BYTES) || left == right)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equals(left, right, steps))
        }
        (Value::Object(left), Value::Object(right)) => equal_fields(left, right, steps),
        (left, right) => left == right,
    }
}

/// Returns whether two objects may be equal.
pub(super) fn equal_fields(
    left: &Map<String, Value>,
    right: &Map<String, Value>,
    steps: &Cell<usize>,
) -> bool {
    let has_equal =
        |(key, value): (&String, &Value)| right.get(key).is_some_and(|other| equals(value, other, steps));
    left.len() == right.len() && left.iter().all(has_equal)
}

/// Returns the order of two numbers, or `None` if it is unknown because a float may have rounded one of them.
pub(super) fn order(left: &Value, right: &Value) -> Option<Ordering> {
    let (Value::Number(left), Value::Number(right)) = (left, right) else { return None };
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return Some(left.cmp(&right));
    }
    let (left, right) = (left.as_f64()?, right.as_f64()?);
    let order = left.partial_cmp(&right)?;
    // Rounding keeps the order of two numbers, but can make them equal.
    (order.is_ne() || left.abs() < MAX_EXACT).then_some(order)
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}
