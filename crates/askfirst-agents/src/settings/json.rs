//! Edits configs in JSON with comments.

mod check;

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

use super::{HookCommand, SettingsError};
use crate::Agent;
pub(super) use check::{Comments, read};

/// The form of the hooks in an agent's config.
pub(super) struct HookForm {
    pub(super) agent: Agent,
    /// The events that the hook gets.
    pub(super) events: &'static [&'static str],
    pub(super) nesting: Nesting,
    /// Whether the file starts with `"version": 1`.
    has_version: bool,
    pub(super) comments: Comments,
}

/// How an event lists its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    /// Groups with a matcher and a list `hooks`.
    Groups,
    /// The hooks themselves.
    Hooks,
}

/// Returns the form of an agent's hooks, or `None` for an agent with plugins.
pub(super) fn hook_form(agent: Agent) -> Option<HookForm> {
    let claude: &[&str] = &["PreToolUse", "PermissionRequest", "PostToolUse", "SessionEnd"];
    let (events, nesting, has_version, comments): (&[&str], _, _, _) = match agent {
        Agent::Claude | Agent::Qwen => (claude, Nesting::Groups, false, Comments::Allowed),
        // Codex ignores a file with comments.
        Agent::Codex => {
            let events = &["PreToolUse", "PermissionRequest", "PostToolUse"];
            (events, Nesting::Groups, false, Comments::Refused)
        }
        Agent::Gemini => {
            (&["BeforeTool", "AfterTool", "SessionEnd"], Nesting::Groups, false, Comments::Allowed)
        }
        Agent::Copilot => (&["preToolUse", "PermissionRequest"], Nesting::Hooks, true, Comments::Refused),
        Agent::Cursor => {
            let events = &["preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile"];
            (events, Nesting::Hooks, true, Comments::Allowed)
        }
        Agent::Opencode => return None,
    };
    Some(HookForm { agent, events, nesting, has_version, comments })
}

impl HookForm {
    /// The entry of an event in the form that this agent reads, with the switch that makes it fail closed.
    fn entry(&self, event: &str, hook: &HookCommand) -> CstInputValue {
        let text = |text: &str| CstInputValue::String(text.to_owned());
        let decides = !matches!(event, "PostToolUse" | "AfterTool" | "SessionEnd");
        let line = || text(&hook.line(self.agent));
        let guarded = || if decides { text(&hook.line_or_deny(self.agent)) } else { line() };
        let seconds = || CstInputValue::from(hook.time_limit.as_secs());
        let milliseconds = || CstInputValue::Number(hook.time_limit.as_millis().to_string());
        let fields = match self.agent {
            Agent::Claude => {
                let args = vec![text("hook"), text(self.agent.name())];
                let mut fields = vec![
                    ("type", text("command")),
                    ("command", text(&hook.program)),
                    ("args", CstInputValue::Array(args)),
                    ("timeout", seconds()),
                ];
                fields.extend(decides.then(|| ("onFailure", text("block"))));
                fields
            }
            Agent::Codex => {
                vec![("type", text("command")), ("command", guarded()), ("timeout", seconds())]
            }
            Agent::Gemini | Agent::Qwen => vec![
                ("type", text("command")),
                ("command", guarded()),
                ("name", text("askfirst")),
                ("timeout", milliseconds()),
            ],
            Agent::Copilot => vec![("type", text("command")), ("bash", line()), ("timeoutSec", seconds())],
            Agent::Cursor => {
                vec![("command", line()), ("timeout", seconds()), ("failClosed", CstInputValue::Bool(true))]
            }
            Agent::Opencode => Vec::new(),
        };
        let hook = object(fields);
        match self.nesting {
            Nesting::Groups => object([("hooks", CstInputValue::Array(vec![hook]))]),
            Nesting::Hooks => hook,
        }
    }

    /// Whether a hook is one of askfirst.
    fn is_ours(&self, hook: &Value, command: &HookCommand) -> bool {
        let text = |key: &str| hook.get(key).and_then(Value::as_str).unwrap_or_default();
        match self.agent {
            Agent::Claude => {
                let args = hook.get("args").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let words: Vec<_> = args.iter().filter_map(Value::as_str).collect();
                (words == ["hook", self.agent.name()] && command.is_program(text("command")))
                    || command.is_line(text("command"), self.agent)
            }
            Agent::Copilot => command.is_line(text("bash"), self.agent),
            Agent::Codex | Agent::Gemini | Agent::Qwen | Agent::Cursor | Agent::Opencode => {
                command.is_line(text("command"), self.agent)
            }
        }
    }
}

fn object<'a>(fields: impl IntoIterator<Item = (&'a str, CstInputValue)>) -> CstInputValue {
    CstInputValue::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Parses a text that the checks accept. Returns it with its object.
fn parse(form: &HookForm, text: &str) -> Result<(CstRootNode, CstObject), SettingsError> {
    check::check(text, form)?;
    let text = if text.trim().is_empty() { "{\n}\n" } else { text };
    let unreadable = || SettingsError { line: 1, reason: "expected an object".to_owned() };
    let root = CstRootNode::parse(text, &form.comments.options()).map_err(|_| unreadable())?;
    let object = root.object_value().ok_or_else(unreadable)?;
    Ok((root, object))
}

pub(super) fn install(form: &HookForm, text: &str, hook: &HookCommand) -> Result<String, SettingsError> {
    let (root, object) = parse(form, text)?;
    if form.has_version && object.get("version").is_none() {
        object.insert(0, "version", CstInputValue::Number("1".to_owned()));
    }
    let hooks = object.object_value_or_set("hooks");
    for event in form.events {
        let entries = hooks.array_value_or_set(event);
        let wanted = form.entry(event, hook);
        // The first entry of ours is replaced where it is: Codex knows trusted hooks by their positions.
        let mut ours = remove_parts(form, &entries, hook).into_iter();
        match ours.next() {
            Some(first) if first.to_serde_value() == Some(value_of(&wanted)) => {}
            Some(first) => {
                entries.insert(first.element_index().unwrap_or_default(), wanted);
                first.remove();
            }
            None => drop(entries.append(wanted)),
        }
        ours.for_each(CstNode::remove);
    }
    Ok(root.to_string())
}

pub(super) fn uninstall(
    form: &HookForm,
    text: &str,
    hook: &HookCommand,
) -> Result<Option<String>, SettingsError> {
    let (root, object) = parse(form, text)?;
    if let Some(hooks) = object.object_value("hooks") {
        for property in hooks.properties() {
            let Some(entries) = property.array_value() else { continue };
            let before = entries.elements().len();
            remove_parts(form, &entries, hook).into_iter().for_each(CstNode::remove);
            if before > 0 && entries.elements().is_empty() {
                property.remove();
            }
        }
        if let Some(property) = object.get("hooks").filter(|_| hooks.properties().is_empty()) {
            property.remove();
        }
    }
    let text = root.to_string();
    let rest: String = text.split_whitespace().collect();
    Ok(Some(text).filter(|_| rest != "{}" && rest != "{\"version\":1}"))
}

/// Removes our hooks from groups with other hooks. Returns the entries that are ours as a whole.
fn remove_parts(form: &HookForm, entries: &CstArray, command: &HookCommand) -> Vec<CstNode> {
    let is_ours = |node: &CstNode| node.to_serde_value().is_some_and(|hook| form.is_ours(&hook, command));
    let mut whole = Vec::new();
    for entry in entries.elements() {
        match form.nesting {
            Nesting::Hooks if is_ours(&entry) => whole.push(entry),
            Nesting::Hooks => {}
            Nesting::Groups => {
                let hooks = entry.as_object().and_then(|group| group.array_value("hooks"));
                let hooks = hooks.map(|hooks| hooks.elements()).unwrap_or_default();
                let ours: Vec<CstNode> = hooks.iter().filter(|hook| is_ours(hook)).cloned().collect();
                if ours.is_empty() {
                } else if ours.len() == hooks.len() {
                    whole.push(entry);
                } else {
                    ours.into_iter().for_each(CstNode::remove);
                }
            }
        }
    }
    whole
}

fn value_of(input: &CstInputValue) -> Value {
    match input {
        CstInputValue::Null => Value::Null,
        CstInputValue::Bool(value) => Value::Bool(*value),
        CstInputValue::Number(digits) => serde_json::from_str(digits).unwrap_or_default(),
        CstInputValue::String(text) => Value::String(text.clone()),
        CstInputValue::Array(items) => items.iter().map(value_of).collect(),
        CstInputValue::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), value_of(value))).collect()
        }
    }
}
