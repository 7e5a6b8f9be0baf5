//! `memory`: what running sessions remember, and forgetting some of it.

use askfirst::MemoryId;
use askfirst_runtime::config::Places;
use askfirst_runtime::present::time::time_of_day;
use askfirst_runtime::redact::Mark;
use askfirst_runtime::sessions;
use serde_json::{Value, json};

use crate::args::Common;
use crate::exit::Exit;
use crate::print::{counted, out};
use crate::session::{read_config, redactor};

/// Lists what is remembered.
pub fn list(common: &Common) -> anyhow::Result<Exit> {
    let mut found = sessions::list(&Places::from_env().state)?;
    // Sessions have configs of their own; without one here, secrets are known by name and shape.
    let redactor = read_config(common).ok().and_then(|config| redactor(&config).ok()).unwrap_or_default();
    for entry in found.iter_mut().flat_map(|session| &mut session.remembered) {
        let about = match &entry.payload {
            Value::Object(args) => redactor.about(args),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                redactor.clone()
            }
        };
        entry.description = about.text(&entry.description, Mark::Screen).left;
        entry.payload = redactor.value(&entry.payload, Mark::Screen).left;
        if let Some(pattern) = &mut entry.pattern {
            pattern.label = about.text(&pattern.label, Mark::Screen).left;
        }
    }
    if common.json {
        crate::print::json(&redactor.value(&serde_json::to_value(&found)?, Mark::Screen).left);
        return Ok(Exit::Done);
    }
    if found.iter().all(|session| session.remembered.is_empty()) {
        out(&format!("nothing is remembered ({} running sessions)", found.len()));
    }
    for session in &found {
        for entry in &session.remembered {
            let word = if entry.decision.approved { "yes" } else { "no" };
            let covers = entry.pattern.as_ref().map_or("equal calls", |pattern| pattern.label.as_str());
            let until = entry.until.map_or("the session ends".to_owned(), time_of_day);
            out(&format!(
                "{}:{}  {word} to `{}` for {covers}, since {}, until {until}, used {}",
                session.session,
                entry.id.0,
                entry.tool_name,
                time_of_day(entry.since),
                counted(entry.hits, "time")
            ));
            out(&format!("    {}", entry.description));
        }
    }
    Ok(Exit::Done)
}

/// Forgets one decision, named `SESSION:NUMBER`.
pub fn revoke(common: &Common, id: &str) -> anyhow::Result<Exit> {
    let named = id.rsplit_once(':').and_then(|(session, number)| Some((session, number.parse().ok()?)));
    let Some((session, number)) = named else {
        anyhow::bail!("`{id}` does not name a decision; `askfirst memory` lists them");
    };
    let revoked = sessions::revoke(&Places::from_env().state, session, MemoryId(number))?;
    if common.json {
        crate::print::json(&json!({"id": id, "revoked": revoked}));
    } else {
        out(&if revoked { format!("forgot {id}") } else { format!("there is no {id}") });
    }
    Ok(if revoked { Exit::Done } else { Exit::Usage })
}
