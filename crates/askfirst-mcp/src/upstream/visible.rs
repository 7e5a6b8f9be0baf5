//! Makes hidden characters in a tool's definition visible: a model reads them, but a person would not see them.

use askfirst_display::escape::escaped;
use serde_json::{Map, Value};

/// Escapes all hidden characters in a tool's definition, except in the tool's name. Returns their number.
pub(super) fn make_visible(tool: &mut Value) -> usize {
    let name = tool.get("name").cloned();
    let count = show(tool);
    if let (Some(name), Some(shown)) = (name, tool.get_mut("name")) {
        *shown = name;
    }
    count
}

fn show(value: &mut Value) -> usize {
    match value {
        Value::String(text) => match shown(text) {
            Some((new, count)) => {
                *text = new;
                count
            }
            None => 0,
        },
        Value::Array(items) => items.iter_mut().map(show).sum(),
        Value::Object(map) => show_keys(map) + map.values_mut().map(show).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Escapes hidden characters in keys. An escaped key never replaces another key.
fn show_keys(map: &mut Map<String, Value>) -> usize {
    if map.keys().all(|key| shown(key).is_none()) {
        return 0;
    }
    let mut all = 0;
    let (odd, mut plain): (Map<_, _>, Map<_, _>) =
        std::mem::take(map).into_iter().partition(|(key, _)| shown(key).is_some());
    for (key, value) in odd {
        let (mut new, count) = shown(&key).unwrap_or((key, 0));
        while plain.contains_key(&new) {
            new.push('_');
        }
        plain.insert(new, value);
        all += count;
    }
    *map = plain;
    all
}

/// Escapes the hidden characters of a text, and returns the text and their number. Returns `None` if there are none.
fn shown(text: &str) -> Option<(String, usize)> {
    let blank = |c: char| matches!(c, '\n' | '\t' | '\r');
    if text.chars().all(|c| blank(c) || matches!(c, ' '..='~')) {
        return None;
    }
    let (mut new, mut count) = (String::with_capacity(text.len()), 0);
    for c in text.chars() {
        let mut one = [0; 4];
        let plain = &*c.encode_utf8(&mut one);
        match escaped(plain) {
            escape if !blank(c) && escape != plain => {
                new.push_str(&escape);
                count += 1;
            }
            _ => new.push(c),
        }
    }
    (count > 0).then_some((new, count))
}

#[cfg(test)]
#[path = "visible/tests.rs"]
mod tests;
