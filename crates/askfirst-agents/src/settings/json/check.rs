//! Checks a text before it is edited, so that an error has a line and nothing is changed.

use std::collections::BTreeSet;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{HookForm, Nesting};
use crate::settings::SettingsError;

/// Whether an agent reads a file with comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::settings) enum Comments {
    Allowed,
    Refused,
}

impl Comments {
    /// Plain JSON but for comments: agents ignore a file that they cannot parse, and then the hook is off.
    pub(in crate::settings) fn options(self) -> ParseOptions {
        ParseOptions {
            allow_comments: self == Self::Allowed,
            allow_loose_object_property_names: false,
            allow_trailing_commas: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        }
    }
}

/// Reads a config as a value. A text without content is an empty object.
pub(in crate::settings) fn read(text: &str, comments: Comments) -> Result<serde_json::Value, SettingsError> {
    let Some(value) = parsed(text, comments)? else { return Ok(serde_json::Value::default()) };
    has_unique_keys(text, &value)?;
    Ok(value.into())
}

fn parsed(text: &str, comments: Comments) -> Result<Option<Value<'_>>, SettingsError> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &comments.options());
    let parsed = parsed.map_err(|error| {
        let reason = error.kind().to_string();
        let mut letters = reason.chars();
        let first = letters.next().map(|first| first.to_ascii_lowercase());
        SettingsError::at(text, error.range().start, first.into_iter().chain(letters).collect::<String>())
    })?;
    Ok(parsed.value)
}

/// Checks that the text is an object, and that its hooks have the form of this agent.
pub(super) fn check(text: &str, form: &HookForm) -> Result<(), SettingsError> {
    let Some(value) = parsed(text, form.comments)? else { return Ok(()) };
    has_unique_keys(text, &value)?;
    let wrong = |value: &Value<'_>, reason: String| Err(SettingsError::at(text, value.start(), reason));
    let Value::Object(object) = &value else { return wrong(&value, "expected an object".to_owned()) };
    let Some(hooks) = object.get("hooks") else { return Ok(()) };
    let Value::Object(hooks) = &hooks.value else {
        return wrong(&hooks.value, "expected `hooks` to be an object".to_owned());
    };
    for event in &hooks.properties {
        let name = event.name.as_str();
        let Value::Array(entries) = &event.value else {
            // Older versions of Gemini keep other settings among the events.
            if form.events.contains(&name) {
                return wrong(&event.value, format!("expected `hooks.{name}` to be a list"));
            }
            continue;
        };
        for entry in entries.elements.iter().filter(|_| form.events.contains(&name)) {
            let has_hooks = |group: &Object<'_>| group.get_array("hooks").is_some();
            let is_valid = match (entry, form.nesting) {
                (Value::Object(_), Nesting::Hooks) => true,
                (Value::Object(group), Nesting::Groups) => has_hooks(group),
                _ => false,
            };
            if !is_valid {
                let wanted = match form.nesting {
                    Nesting::Hooks => "objects",
                    Nesting::Groups => "objects with a list `hooks`",
                };
                return wrong(entry, format!("expected `hooks.{name}` to be a list of {wanted}"));
            }
        }
    }
    Ok(())
}

/// Of two equal keys, readers use the first or the last.
fn has_unique_keys(text: &str, value: &Value<'_>) -> Result<(), SettingsError> {
    match value {
        Value::Object(object) => {
            let mut seen = BTreeSet::new();
            object.properties.iter().try_for_each(|property| {
                if !seen.insert(property.name.as_str()) {
                    let reason = format!("the key `{}` is here twice", property.name.as_str());
                    return Err(SettingsError::at(text, property.start(), reason));
                }
                has_unique_keys(text, &property.value)
            })
        }
        Value::Array(array) => array.elements.iter().try_for_each(|value| has_unique_keys(text, value)),
        Value::StringLit(_) | Value::NumberLit(_) | Value::BooleanLit(_) | Value::NullKeyword(_) => Ok(()),
    }
}
