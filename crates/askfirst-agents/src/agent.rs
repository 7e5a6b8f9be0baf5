//! The coding agents that askfirst knows, and the facts about the hooks of each.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A coding agent with hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Agent {
    /// Claude Code.
    Claude,
}

/// How an agent treats a call whose hook gave no valid answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookFault {
    /// The agent denies the call.
    Denies,
    /// The agent denies the call if its config makes the hook fail closed. Otherwise the call runs.
    DeniesIfConfigured,
    /// The call runs. An agent that was not observed counts as one that runs it.
    Runs,
}

/// The facts about an agent's hooks, as observed in the versions that [`AgentFacts::versions`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentFacts {
    /// The name in commands and configs.
    pub name: &'static str,
    /// The name of the product.
    pub title: &'static str,
    /// The versions that these facts come from.
    pub versions: &'static str,
    /// Whether a hook can change the input of a call before it runs.
    pub can_rewrite_input: bool,
    /// Whether a hook can make the agent ask the person, before every kind of call and without a risk of hanging.
    pub can_ask: bool,
    /// The time that the agent gives a hook by default.
    pub hook_time_limit: Duration,
    /// The effect of a hook that prints nothing.
    pub silence: HookFault,
    /// The effect of a hook that prints text which is no valid answer.
    pub nonsense: HookFault,
    /// The effect of a hook that ends with an error or a signal.
    pub crash: HookFault,
    /// The effect of a hook that exceeds its time limit.
    pub timeout: HookFault,
    /// The effect of a hook whose program does not exist.
    pub missing: HookFault,
}

/// The error for a name that is not the name of an agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown agent `{0}`")]
pub struct UnknownAgent(pub String);

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

static CLAUDE: AgentFacts = AgentFacts {
    name: "claude",
    title: "Claude Code",
    versions: "2.1.325",
    can_rewrite_input: true,
    can_ask: true,
    hook_time_limit: seconds(600),
    silence: HookFault::Runs,
    nonsense: HookFault::Runs,
    crash: HookFault::DeniesIfConfigured,
    timeout: HookFault::DeniesIfConfigured,
    missing: HookFault::DeniesIfConfigured,
};

impl Agent {
    /// All agents.
    pub const ALL: [Self; 1] = [Self::Claude];

    /// Returns the facts about this agent.
    #[must_use]
    pub fn facts(self) -> &'static AgentFacts {
        match self {
            Self::Claude => &CLAUDE,
        }
    }

    /// Returns the name in commands and configs, such as `claude`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.facts().name
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(name: &str) -> Result<Self, UnknownAgent> {
        Self::ALL.into_iter().find(|agent| agent.name() == name).ok_or_else(|| UnknownAgent(name.to_owned()))
    }
}
