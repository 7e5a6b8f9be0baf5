//! The arguments of `hook`.

use askfirst_agents::Agent;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum HookCommand {
    /// Add the hook to an agent's config: show the change, ask, and write it
    Install {
        #[command(flatten)]
        place: HookPlace,
        /// Only print the change
        #[arg(long, conflicts_with = "yes")]
        print: bool,
        /// Write the change without asking; this never trusts the hook in the agent
        #[arg(long)]
        yes: bool,
    },
    /// Remove the hook from an agent's config
    Uninstall {
        #[command(flatten)]
        place: HookPlace,
        /// Only print the change
        #[arg(long, conflicts_with = "yes")]
        print: bool,
        /// Write the change without asking
        #[arg(long)]
        yes: bool,
    },
    /// Show which agents have the hook, and what could switch it off
    Status {
        /// Name of the agent [default: every agent]
        #[arg(value_parser = agent_names())]
        agent: Option<Agent>,
    },
}

/// The config that gets the hook.
#[derive(Debug, Clone, Copy, Args)]
pub struct HookPlace {
    /// Name of the agent
    #[arg(value_parser = agent_names())]
    pub agent: Agent,
    /// Use the agent's config for this folder
    #[arg(long, conflicts_with = "user")]
    pub project: bool,
    /// Use your own config of the agent, for every folder [default]
    #[arg(long)]
    pub user: bool,
}

pub(super) fn agent_names() -> impl TypedValueParser<Value = Agent> {
    PossibleValuesParser::new(Agent::ALL.map(Agent::name)).try_map(|name| name.parse::<Agent>())
}
