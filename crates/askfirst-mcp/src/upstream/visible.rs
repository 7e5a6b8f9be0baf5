//! Every text of a tool's definition made visible: a model reads all of it, also what no person would see.

use askfirst_display::escape::escaped;
use serde_json::{Map, Value};

/// Escapes what nobody would see in a tool, wherever it stands, but for the tool's name. Says how much.
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

/// Escapes keys too. None takes the place of another.
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

/// A text with what is hidden in it escaped, and how much that is. None if nothing is.
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
