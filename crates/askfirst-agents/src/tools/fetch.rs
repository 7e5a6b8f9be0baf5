//! Fetches of web pages.

use askfirst::Fact;

use super::{Input, Step, arguments, call};
use crate::agent::Agent;
use crate::event::HookEvent;

/// Returns the tool of an agent that fetches one page, and its fields that cannot change which one.
///
/// Gemini CLI has the addresses in a text for its model, so its fetches are unknown.
fn tool(agent: Agent) -> Option<(&'static str, &'static [&'static str])> {
    Some(match agent {
        Agent::Claude => ("WebFetch", &["prompt"]),
        Agent::Qwen => ("web_fetch", &["prompt", "format"]),
        Agent::Copilot => ("web_fetch", &["max_length", "start_index", "raw"]),
        Agent::Opencode => ("webfetch", &["format", "timeout"]),
        Agent::Codex | Agent::Gemini | Agent::Cursor => return None,
    })
}

pub(super) fn is_mapped(event: &HookEvent) -> bool {
    tool(event.agent).is_some_and(|(name, _)| event.tool == name)
}

pub(super) fn map(event: &HookEvent) -> Option<Vec<Step>> {
    let (name, harmless) = tool(event.agent)?;
    if event.tool != name {
        return None;
    }
    let mut input = Input::new(event);
    let url = input.text("url")?;
    input.ignore(harmless);
    input.end()?;
    let host = host(&url)?;
    let args = arguments(vec![("url", url.into()), ("host", host.as_str().into())]);
    Some(vec![Step::Call(call(event, "web_fetch", args), vec![Fact::new("host", host)])])
}

/// Returns the host of a web address, if every reader of addresses finds the same one.
pub(super) fn host(url: &str) -> Option<String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
    if url.chars().any(|c| !c.is_ascii_graphic() || c == '\\') {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = authority.split_once(':').unwrap_or((authority, "443"));
    let is_port = !port.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit());
    let host = host.to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_known = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(is_known)
    };
    // A last label with a digit in front is an IPv4 address in one of its forms. Only the usual form is clear.
    let is_number =
        host.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_digit()));
    let is_byte = |label: &str| label.parse::<u8>().is_ok_and(|byte| byte.to_string() == label);
    let is_address = host.split('.').count() == 4 && host.split('.').all(is_byte);
    let is_clear = is_port && host.split('.').all(is_label) && (!is_number || is_address);
    is_clear.then_some(host)
}
