//! A model of the agents: what each does with a call after its hook has replied.
//!
//! It follows the observed behavior of the agents and shares no code with the writers of answers.

use askfirst_agents::{Agent, Moment, Reply};
use serde_json::Value;

/// The effect of a reply on its call.
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

/// The effect of a reply on its call at a moment. A fault of the hook counts as [`Effect::Runs`].
pub fn effect(agent: Agent, moment: Moment, reply: &Reply) -> Effect {
    match agent {
        Agent::Claude | Agent::Qwen => claude(moment, reply),
        Agent::Codex => codex(moment, reply),
        Agent::Gemini => gemini(reply),
        Agent::Copilot => copilot(moment, reply),
        Agent::Opencode => opencode(reply),
        Agent::Cursor => cursor(moment, reply),
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

/// Codex runs the call if its answer has any field or value that it does not know.
fn codex(moment: Moment, reply: &Reply) -> Effect {
    match reply.code {
        2 if !reply.stderr.trim().is_empty() => return Effect::Blocked,
        0 if reply.stdout.is_empty() => return Effect::OwnRules,
        0 => {}
        _ => return Effect::Runs,
    }
    let Some(document) = document(reply) else { return Effect::Runs };
    let output = &document["hookSpecificOutput"];
    let only = |value: &Value, known: &[&str]| {
        value.as_object().is_some_and(|map| map.keys().all(|key| known.contains(&key.as_str())))
    };
    let text = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    if !only(&document, &["hookSpecificOutput"]) {
        return Effect::Runs;
    }
    if moment == Moment::PermissionRequest {
        let decision = &output["decision"];
        let is_known = output["hookEventName"] == "PermissionRequest"
            && only(output, &["hookEventName", "decision"])
            && only(decision, &["behavior", "message"]);
        return match decision["behavior"].as_str() {
            Some("deny") if is_known && text(&decision["message"]) => Effect::Blocked,
            _ => Effect::Runs,
        };
    }
    let fields = [
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
        "additionalContext",
    ];
    if output["hookEventName"] != "PreToolUse" || !only(output, &fields) {
        return Effect::Runs;
    }
    match output["permissionDecision"].as_str() {
        Some("deny") if text(&output["permissionDecisionReason"]) => Effect::Blocked,
        None if output["updatedInput"].is_null() => Effect::OwnRules,
        _ => Effect::Runs,
    }
}

/// Versions of Gemini CLI differ in how they read JSON beside an exit code other than 0, so that counts as a fault.
fn gemini(reply: &Reply) -> Effect {
    match reply.code {
        0 if reply.stdout.is_empty() && reply.stderr.is_empty() => return Effect::OwnRules,
        0 => {}
        2 if reply.stdout.is_empty() && serde_json::from_str::<Value>(&reply.stderr).is_err() => {
            return if reply.stderr.trim().is_empty() { Effect::Runs } else { Effect::Blocked };
        }
        _ => return Effect::Runs,
    }
    match document(reply).unwrap_or_default()["decision"].as_str() {
        Some("deny" | "block") => Effect::Blocked,
        Some("allow" | "approve") => Effect::OwnRules,
        _ => Effect::Runs,
    }
}

fn copilot(moment: Moment, reply: &Reply) -> Effect {
    match reply.code {
        2 => return Effect::Blocked,
        0 if reply.stdout.is_empty() => return Effect::OwnRules,
        0 => {}
        _ if moment == Moment::BeforeCall => return Effect::Blocked,
        _ => return Effect::Runs,
    }
    let document = document(reply).unwrap_or_default();
    let decision =
        if moment == Moment::BeforeCall { &document["permissionDecision"] } else { &document["behavior"] };
    match decision.as_str() {
        Some("deny") => Effect::Blocked,
        Some("ask") if moment == Moment::BeforeCall => Effect::Asks,
        _ => Effect::Runs,
    }
}

/// The plugin of askfirst throws unless the answer is a plain `allow`.
fn opencode(reply: &Reply) -> Effect {
    let document = document(reply).unwrap_or_default();
    let allows = reply.code == 0 && document["version"] == 1 && document["decision"] == "allow";
    if allows { Effect::OwnRules } else { Effect::Blocked }
}

fn cursor(moment: Moment, reply: &Reply) -> Effect {
    match reply.code {
        2 => return Effect::Blocked,
        0 if !reply.stdout.is_empty() => {}
        _ => return Effect::Runs,
    }
    let Some(document) = document(reply) else { return Effect::Blocked };
    match document["permission"].as_str() {
        Some("deny") => Effect::Blocked,
        Some("ask") if moment == Moment::BeforeShell => Effect::Asks,
        Some("ask") => Effect::Runs,
        Some("allow") | None => Effect::OwnRules,
        Some(_) => Effect::Blocked,
    }
}
