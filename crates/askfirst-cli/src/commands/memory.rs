//! `memory`: lists and revokes the decisions that running sessions remember.

use askfirst::MemoryId;
use askfirst_config::Places;
use askfirst_display::time::time_of_day;
use askfirst_runtime::sessions::{self, SessionsError};
use serde_json::json;

use crate::args::Common;
use crate::exit::Exit;
use crate::print::{counted, out};
use crate::report::Unrecorded;

/// Lists the remembered decisions.
pub fn list(common: &Common) -> anyhow::Result<Exit> {
    // Each session has already redacted the secrets of its own config.
    let found = sessions::list(&Places::from_env().state)?;
    if common.json {
        crate::print::json(&found);
        return Ok(Exit::Done);
    }
    if found.iter().all(|session| session.remembered.is_empty()) {
        out(&format!("no remembered decisions ({})", counted(found.len() as u64, "running session")));
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

/// Revokes the decision with the ID `SESSION:NUMBER`.
pub fn revoke(common: &Common, id: &str) -> anyhow::Result<Exit> {
    let named = id.rsplit_once(':').and_then(|(session, number)| Some((session, number.parse().ok()?)));
    let Some((session, number)) = named else {
        anyhow::bail!("invalid ID `{id}`; hint: use `askfirst memory` to list decisions");
    };
    let revoked = sessions::revoke(&Places::from_env().state, session, MemoryId(number));
    let revoked = revoked.map_err(|error| match error {
        SessionsError::NotLogged(why) => anyhow::Error::new(Unrecorded(why)),
        error @ (SessionsError::NotOurs(_) | SessionsError::Io(..)) => error.into(),
    })?;
    if common.json {
        crate::print::json(&json!({"id": id, "revoked": revoked}));
    } else {
        out(&if revoked { format!("revoked {id}") } else { format!("no remembered decision {id}") });
    }
    Ok(if revoked { Exit::Done } else { Exit::Usage })
}
