//! A model of the agents: what each does with a call after its hook has replied.
//!
//! It follows the observed behavior of the agents and shares no code with the writers of answers.

use askfirst_agents::{Agent, Moment, Reply};
use serde_json::Value;

/// What an agent does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It runs the call without a question of its own.
    Runs,
    /// It asks the person.
    Asks,
    /// It follows its own rules, as if there were no hook.
    OwnRules,
    /// It does not run the call.
    Blocked,
}

/// What an agent does with a call at a moment, after this reply. A fault of the hook counts as [`Effect::Runs`].
pub fn effect(agent: Agent, moment: Moment, reply: &Reply) -> Effect {
    match agent {
        Agent::Claude => claude(moment, reply),
    }
}

/// The object on standard output, if there is one.
fn document(reply: &Reply) -> Option<Value> {
    serde_json::from_str(&reply.stdout).ok().filter(Value::is_object)
}

fn claude(moment: Moment, reply: &Reply) -> Effect {
    match reply.code {
        2 => return Effect::Blocked,
        0 if reply.stdout.is_empty() => return Effect::OwnRules,
        0 => {}
        _ => return Effect::Runs,
    }
    let Some(document) = document(reply) else { return Effect::Runs };
    let output = &document["hookSpecificOutput"];
    let (event, decision) = match moment {
        Moment::BeforeCall => ("PreToolUse", &output["permissionDecision"]),
        _ => ("PermissionRequest", &output["decision"]["behavior"]),
    };
    if output["hookEventName"] != event {
        return Effect::Runs;
    }
    match decision.as_str() {
        Some("ask") if moment == Moment::BeforeCall => Effect::Asks,
        Some("deny") => Effect::Blocked,
        Some("allow") | Some(_) => Effect::Runs,
        None => Effect::OwnRules,
    }
}
