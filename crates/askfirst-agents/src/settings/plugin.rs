//! The plugin for opencode, which has no hooks. The file is askfirst's own.

use serde_json::json;

use super::{HookCommand, SettingsError};

const TEXT: &str = include_str!("plugin/askfirst.js");

/// The start of every version of the plugin.
const MARK: &str = "// Written by `askfirst hook install opencode`.";

pub(super) fn install(text: &str, hook: &HookCommand) -> Result<String, SettingsError> {
    if !is_ours(text) && !text.trim().is_empty() {
        return Err(SettingsError { line: 1, reason: "this file is another plugin".to_owned() });
    }
    let text = TEXT.replace("\"{program}\"", &json!(hook.program).to_string());
    Ok(text.replace("TIME_LIMIT = 0;", &format!("TIME_LIMIT = {};", hook.time_limit.as_millis())))
}

pub(super) fn uninstall(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !is_ours(text))
}

fn is_ours(text: &str) -> bool {
    text.starts_with(MARK)
}
