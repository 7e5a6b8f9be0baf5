//! The state of an agent's hook, read from its config files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use askfirst_agents::Agent;
use askfirst_agents::settings::{self, Floor, HookCommand, TrustedHook};
use serde_json::{Value, json};

use super::places::{ConfigPlace, Scope, hook_command, settings_files};

/// A larger file is not read.
const MAX_BYTES: u64 = 16 << 20;

/// Whether an agent's config has the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookState {
    Missing,
    /// Not as `install` writes it.
    Outdated,
    /// Codex does not run it.
    Untrusted,
    Active,
    /// The config cannot be read.
    Unreadable(String),
}

impl HookState {
    pub fn sentence(&self) -> String {
        match self {
            Self::Missing => "no hook".to_owned(),
            Self::Outdated => "hook differs from what `askfirst hook install` writes".to_owned(),
            Self::Untrusted => "hook is not trusted in Codex, so Codex does not run it".to_owned(),
            Self::Active => "hook is installed".to_owned(),
            Self::Unreadable(why) => format!("cannot read the config ({why})"),
        }
    }
}

/// The state of a hook, and what weakens it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    pub path: PathBuf,
    pub state: HookState,
    /// Settings that switch the hook off.
    pub switches: Vec<(PathBuf, String)>,
    /// Rules of the agent that do not see commands in askfirst's sandbox.
    pub floors: Vec<(PathBuf, Floor)>,
    /// Files of settings that cannot be read.
    unreadable: Vec<(PathBuf, String)>,
}

impl Inspection {
    /// Returns sentences about everything that weakens an installed hook.
    pub fn warnings(&self, agent: Agent) -> Vec<String> {
        if matches!(self.state, HookState::Missing | HookState::Unreadable(_)) {
            return Vec::new();
        }
        let switches = self.switches.iter();
        let mut found: Vec<String> = switches
            .map(|(file, switch)| format!("`{switch}` in {} switches the hook off", file.display()))
            .collect();
        found.extend(
            self.unreadable.iter().map(|(file, why)| format!("cannot read {}: {why}", file.display())),
        );
        if agent.facts().can_rewrite_input.is_empty() {
            found.push(
                "`rehearse` means `required`: this agent cannot run commands in askfirst's sandbox"
                    .to_owned(),
            );
        }
        if !self.floors.is_empty() {
            let count = self.floors.len();
            found.push(format!("rules of the agent that do not see commands in askfirst's sandbox: {count}"));
        }
        found
    }

    pub fn json(&self, agent: Agent, scope: Scope) -> Value {
        let state = match self.state {
            HookState::Missing => "missing",
            HookState::Outdated => "outdated",
            HookState::Untrusted => "untrusted",
            HookState::Active => "active",
            HookState::Unreadable(_) => "unreadable",
        };
        let floors = self.floors.iter().map(|(file, floor)| {
            json!({"file": file, "tool": floor.tool, "pattern": floor.pattern, "kind": format!("{:?}", floor.kind).to_lowercase()})
        });
        json!({
            "agent": agent.name(),
            "scope": scope.name(),
            "file": self.path,
            "state": state,
            "switched_off_by": self.switches.iter().map(|(file, switch)| json!({"file": file, "setting": switch})).collect::<Value>(),
            "floors": floors.collect::<Value>(),
            "limits": settings::limits(agent),
        })
    }
}

/// Reads the config files of an agent.
pub fn inspect(agent: Agent, scope: Scope) -> anyhow::Result<Inspection> {
    let place = ConfigPlace::find(agent, scope)?;
    let mut found = Inspection {
        path: place.path(),
        state: state(agent, scope).unwrap_or_else(|error| HookState::Unreadable(format!("{error:#}"))),
        switches: Vec::new(),
        floors: Vec::new(),
        unreadable: Vec::new(),
    };
    for path in settings_files(agent, scope)? {
        let Some(text) = text_of(&path) else { continue };
        let name = path.display().to_string();
        let is_rules = agent == Agent::Codex && !name.ends_with(".toml") || name.contains("/policies/");
        let switches = if is_rules { Ok(Vec::new()) } else { settings::switches(agent, &text) };
        match (switches, settings::floors(agent, &name, &text)) {
            (Ok(switches), Ok(floors)) => {
                found.switches.extend(switches.into_iter().map(|switch| (path.clone(), switch)));
                found.floors.extend(floors.into_iter().map(|floor| (path.clone(), floor)));
            }
            (Err(error), _) | (_, Err(error)) => found.unreadable.push((path, error.to_string())),
        }
    }
    Ok(found)
}

fn text_of(path: &Path) -> Option<String> {
    let is_small = path.metadata().is_ok_and(|about| about.is_file() && about.len() <= MAX_BYTES);
    if is_small { std::fs::read_to_string(path).ok() } else { None }
}

fn state(agent: Agent, scope: Scope) -> anyhow::Result<HookState> {
    let hook = hook_command()?;
    let file = ConfigPlace::find(agent, scope)?.read()?;
    let text = file.text.as_deref().unwrap_or_default();
    let state = match settings::installed(agent, text, &hook)? {
        settings::HookState::No => HookState::Missing,
        settings::HookState::Outdated => HookState::Outdated,
        settings::HookState::Yes => HookState::Active,
    };
    if agent != Agent::Codex || state != HookState::Active {
        return Ok(state);
    }
    let trusted = codex_hooks(scope, &hook)?;
    let config = ConfigPlace::codex_config()?.read()?.text.unwrap_or_default();
    Ok(if settings::is_trusted(&config, &trusted)? { state } else { HookState::Untrusted })
}

/// Returns our hooks in Codex's config, as Codex records its trust in them: by the path of the file, as Codex writes it.
pub fn codex_hooks(scope: Scope, hook: &HookCommand) -> anyhow::Result<Vec<TrustedHook>> {
    let place = ConfigPlace::find(Agent::Codex, scope)?;
    let file = place.read()?;
    let paths = BTreeSet::from([place.path(), file.path, file.real]);
    let text = file.text.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    for path in paths {
        let hooks = settings::hooks_to_trust(text, path.display(), hook);
        found.extend(hooks.with_context(|| format!("cannot read `{}`", path.display()))?);
    }
    Ok(found)
}
