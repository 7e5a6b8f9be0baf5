//! `hook`: adds askfirst to the config of a coding agent, removes it, and shows the state of every agent.

mod agent_call;
mod agent_session;
mod answer;
mod asking;
mod change;
mod config_file;
mod handed_tools;
mod inspect;
mod places;

use askfirst_agents::Agent;
use askfirst_agents::settings::{self, FloorKind, HookCommand};
use askfirst_config::Config;
use serde_json::json;

use crate::args::{Common, HookPlace};
use crate::commands::init;
use crate::exit::Exit;
use crate::print::{err, out};
use crate::session::read_config;
use change::ConfigChange;
use inspect::Inspection;
use places::ConfigPlace;

pub use answer::answer;
pub use inspect::{HookState, inspect};
pub use places::{Scope, hook_command};

/// How a change is confirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    /// A person sees it and approves it.
    Ask,
    /// The flag `--yes` confirms it.
    Given,
    /// It is only printed.
    PrintOnly,
}

impl Confirmation {
    pub fn of(print: bool, yes: bool) -> Self {
        match (print, yes) {
            (true, _) => Self::PrintOnly,
            (false, true) => Self::Given,
            (false, false) => Self::Ask,
        }
    }
}

/// Adds the hook to an agent's config.
pub fn install(common: &Common, place: HookPlace, confirmation: Confirmation) -> anyhow::Result<Exit> {
    let (agent, scope) = (place.agent, Scope::of(place));
    let (config, hook) = (read_config(common)?, places::hook_command()?);
    let place = ConfigPlace::find(agent, scope)?;
    let change = ConfigChange::read(&place, |text| settings::install(agent, text, &hook).map(Some))?;
    let title = agent.facts().title;
    if change.is_empty() {
        out(&format!("already installed for {title}: {}", change.file.path.display()));
    } else {
        let exit =
            change.make(common, &config, &format!("add askfirst to {title}"), confirmation, |text| {
                settings::uninstall(agent, text, &hook)
            })?;
        if exit != Exit::Done {
            return Ok(exit);
        }
    }
    if agent == Agent::Codex {
        trust_in_codex(common, &config, scope, &hook, confirmation)?;
    }
    notes(agent, scope)?;
    if confirmation == Confirmation::PrintOnly {
        return Ok(Exit::Done);
    }
    offer_config(common, &config, confirmation)
}

/// Asks whether Codex may run the hook, and records it in Codex's config. Codex runs no hook that is not trusted there.
fn trust_in_codex(
    common: &Common,
    config: &Config,
    scope: Scope,
    hook: &HookCommand,
    confirmation: Confirmation,
) -> anyhow::Result<()> {
    if confirmation == Confirmation::PrintOnly {
        out("then asks whether to trust this hook in Codex's own `config.toml`");
        return Ok(());
    }
    let trusted = inspect::codex_hooks(scope, hook)?;
    let change =
        ConfigChange::read(&ConfigPlace::codex_config()?, |text| settings::trust(text, &trusted).map(Some))?;
    if change.is_empty() {
        return Ok(());
    }
    // Trust always needs a person, whatever the flags say.
    let headline = "trust the hook of askfirst in Codex";
    let exit = change
        .make(common, config, headline, Confirmation::Ask, |text| settings::distrust(text, &trusted))?;
    if exit != Exit::Done {
        out(
            "Codex does not run the hook until you trust it: run `askfirst hook install codex` again, or use `/hooks` in Codex",
        );
    }
    Ok(())
}

/// Prints what the hook cannot guarantee, and what weakens it.
fn notes(agent: Agent, scope: Scope) -> anyhow::Result<()> {
    settings::limits(agent).iter().for_each(|limit| out(&format!("note: {limit}")));
    let found = inspect(agent, scope)?;
    for (file, switch) in &found.switches {
        out(&format!("WARNING: `{switch}` in {} switches the hook off", file.display()));
    }
    if !found.floors.is_empty() {
        let title = agent.facts().title;
        out(&format!("note: in askfirst's sandbox, these rules of {title} do not see the commands:"));
        for (file, floor) in &found.floors {
            let word = match floor.kind {
                FloorKind::Deny => "deny",
                FloorKind::Ask => "ask ",
            };
            out(&format!("  {word} {}({})  {}", floor.tool, floor.pattern, file.display()));
        }
        out("hint: add them to `shell.rules` in askfirst.yaml");
    }
    Ok(())
}

/// Offers to write a config if none is in force: without one, askfirst asks about every call.
fn offer_config(common: &Common, config: &Config, confirmation: Confirmation) -> anyhow::Result<Exit> {
    if !config.files.is_empty() {
        return Ok(Exit::Done);
    }
    out("no config for askfirst is in force here, so it asks about every call");
    if confirmation == Confirmation::Given || places::is_home() {
        out("hint: run `askfirst init` in your project");
        return Ok(Exit::Done);
    }
    // The hook is installed, whatever the answers are.
    init::init(common, false, false)?;
    Ok(Exit::Done)
}

/// Removes the hook from an agent's config.
pub fn uninstall(common: &Common, place: HookPlace, confirmation: Confirmation) -> anyhow::Result<Exit> {
    let (agent, scope) = (place.agent, Scope::of(place));
    let (config, hook) = (read_config(common)?, places::hook_command()?);
    let title = agent.facts().title;
    let mut changes = Vec::new();
    if agent == Agent::Codex {
        let trusted = inspect::codex_hooks(scope, &hook)?;
        changes.push(ConfigChange::back(&ConfigPlace::codex_config()?, |text| {
            settings::distrust(text, &trusted)
        })?);
    }
    let place = ConfigPlace::find(agent, scope)?;
    changes.push(ConfigChange::back(&place, |text| settings::uninstall(agent, text, &hook))?);
    changes.retain(|change| !change.is_empty());
    if changes.is_empty() {
        out(&format!("not installed for {title}: nothing to remove"));
    }
    for change in &changes {
        let exit = change.undo(common, &config, &format!("remove askfirst from {title}"), confirmation)?;
        if exit != Exit::Done {
            return Ok(exit);
        }
    }
    Ok(Exit::Done)
}

/// Shows the state of the hooks of one agent, or of all.
pub fn status(common: &Common, agent: Option<Agent>) -> anyhow::Result<Exit> {
    let agents = agent.map_or(Agent::ALL.to_vec(), |agent| vec![agent]);
    let mut found = Vec::new();
    for agent in agents {
        for scope in [Scope::User, Scope::Project] {
            found.push((agent, scope, inspect(agent, scope)?));
        }
    }
    if common.json {
        let json: Vec<_> = found.iter().map(|(agent, scope, found)| found.json(*agent, *scope)).collect();
        crate::print::json(&json!(json));
        return Ok(Exit::Done);
    }
    for (agent, scope, found) in &found {
        print_state(*agent, *scope, found, common);
    }
    Ok(Exit::Done)
}

fn print_state(agent: Agent, scope: Scope, found: &Inspection, common: &Common) {
    let state = found.state.sentence();
    out(&format!("{:<9}{:<8} {state}: {}", agent.name(), scope.name(), found.path.display()));
    let HookState::Unreadable(_) = &found.state else {
        found.warnings(agent).iter().for_each(|warning| out(&format!("    {warning}")));
        if found.state == HookState::Active && !common.plain {
            settings::limits(agent).iter().for_each(|limit| out(&format!("    note: {limit}")));
        }
        return;
    };
    err("hint: correct the file; nothing is changed until askfirst can read it");
}
