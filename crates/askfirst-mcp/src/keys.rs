//! Checks the keys of a client's message: every reader must find the same value under a known key.
//!
//! A server may ignore the case of a key, fold its Unicode form, or end it at a control character. The keys of the message
//! itself are a closed set. This module checks those of the parameters, of `_meta` and of the arguments. Deeper keys are
//! data.

use std::collections::BTreeMap;

use askfirst::Args;
use askfirst_runtime::fold_text;
use serde_json::Value;

/// The keys that the parameters of a call may have. Newer revisions may add keys with other names.
const CALL_KEYS: [&str; 5] = ["name", "arguments", "_meta", "requestState", "inputResponses"];

/// The keys of `_meta` that the gateway or a server reads.
const META_KEYS: [&str; 5] = [
    "progressToken",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/subscriptionId",
];

/// Folds a key as the readers do that treat most keys as equal.
pub(crate) fn folded(key: &str) -> String {
    fold_text(key.trim())
}

/// Checks that no key of the parameters, of `_meta` and of the arguments has a control character.
pub(crate) fn check_controls(params: &Args) -> Result<(), String> {
    let inner = ["_meta", "arguments"].map(|key| (key, params.get(key).and_then(Value::as_object)));
    let inner = inner.into_iter().filter_map(|(place, keys)| Some((place, keys?)));
    for (place, keys) in std::iter::once(("params", params)).chain(inner) {
        if keys.keys().any(|key| key.contains(char::is_control)) {
            return Err(format!("a key in `{place}` has a control character"));
        }
    }
    Ok(())
}

/// Checks that the parameters of a call have no key that a reader could take for another one.
pub(crate) fn check_call(params: &Args) -> Result<(), String> {
    check_controls(params)?;
    let meta = params.get("_meta").and_then(Value::as_object);
    let similar = lookalike(params, |key| CALL_KEYS.contains(&key), CALL_KEYS)
        .or_else(|| lookalike(meta?, |key| META_KEYS.contains(&key), META_KEYS));
    match similar {
        Some((key, known)) => Err(format!("`{key}` is too similar to the key `{known}`")),
        None => Ok(()),
    }
}

/// Checks that no two arguments have names that a reader could take for one: the rules could check one argument and the
/// server could use the other.
pub(crate) fn check_twins(args: &Args) -> Result<(), String> {
    let mut seen = BTreeMap::new();
    for key in args.keys() {
        if let Some(other) = seen.insert(folded(key), key) {
            return Err(format!("`{key}` in `arguments` looks like `{other}`"));
        }
    }
    Ok(())
}

/// Finds an unknown key that a reader could take for a known one. Returns both.
pub(crate) fn lookalike<'a>(
    keys: &'a Args,
    is_known: impl Fn(&str) -> bool,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<(&'a str, &'a str)> {
    let unknown = keys.keys().filter(|key| !is_known(key));
    let unknown: BTreeMap<String, &str> = unknown.map(|key| (folded(key), key.as_str())).collect();
    if unknown.is_empty() {
        return None;
    }
    known.into_iter().find_map(|name| Some((*unknown.get(&folded(name))?, name)))
}

#[cfg(test)]
#[path = "keys/tests.rs"]
mod tests;
