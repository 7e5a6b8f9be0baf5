//! Finds the settings that switch hooks off.

use serde_json::Value;
use toml_edit::Item;

use super::json::{Comments, read};
use super::{SettingsError, codex};
use crate::Agent;

/// Returns the settings in a config that switch the hook off, as a person would write them.
///
/// # Errors
/// Fails if the text cannot be parsed.
pub fn switches(agent: Agent, text: &str) -> Result<Vec<String>, SettingsError> {
    if agent == Agent::Codex {
        let config = codex::parse(text)?;
        let features = config.get("features");
        let is_off =
            |name: &&str| features.and_then(|all| all.get(name)).and_then(Item::as_bool) == Some(false);
        let names = ["hooks", "codex_hooks"].into_iter().filter(is_off);
        return Ok(names.map(|name| format!("features.{name} = false")).collect());
    }
    if agent == Agent::Opencode {
        return Ok(Vec::new());
    }
    let config = read(text, Comments::Allowed)?;
    let at = |path: &str| config.pointer(path);
    let mut found = Vec::new();
    if at("/disableAllHooks") == Some(&Value::Bool(true)) {
        found.push("disableAllHooks: true".to_owned());
    }
    if agent == Agent::Gemini {
        let switches = [("/hooksConfig/enabled", "hooksConfig.enabled"), ("/hooks/enabled", "hooks.enabled")];
        let off = switches.into_iter().filter(|(path, _)| at(path) == Some(&Value::Bool(false)));
        found.extend(off.map(|(_, name)| format!("{name}: false")));
        let lists =
            [("/hooksConfig/disabled", "hooksConfig.disabled"), ("/hooks/disabled", "hooks.disabled")];
        for (path, name) in lists {
            let names = at(path).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            let ours = names.filter(|name| *name == "askfirst" || name.ends_with("askfirst hook gemini"));
            found.extend(ours.map(|ours| format!("{name}: [\"{ours}\"]")));
        }
    }
    Ok(found)
}
