//! The coding agents that askfirst knows, and the facts about the hooks of each.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::event::Moment;

/// A coding agent with hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// GitHub Copilot CLI.
    Copilot,
    /// Qwen Code.
    Qwen,
    /// opencode, through a plugin of askfirst.
    Opencode,
    /// Cursor. Its contract was read in its SDK, not tried with the program.
    Cursor,
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

/// The facts about an agent's hooks, as observed in one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentFacts {
    /// The name in commands and configs.
    pub name: &'static str,
    /// The name of the product.
    pub title: &'static str,
    /// The version that was observed.
    pub version: &'static str,
    /// The moments at which a hook can change the input of a call.
    pub can_rewrite_input: &'static [Moment],
    /// The moments at which a hook can make the agent ask the person, without a risk that the agent hangs.
    pub can_ask: &'static [Moment],
    /// The time that the agent gives a hook by default, if it has a limit.
    pub hook_time_limit: Option<Duration>,
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

use HookFault::{Denies, DeniesIfConfigured, Runs};
use Moment::{BeforeCall, BeforeShell, PermissionRequest};

static CLAUDE: AgentFacts = AgentFacts {
    name: "claude",
    title: "Claude Code",
    version: "2.1.325",
    can_rewrite_input: &[BeforeCall, PermissionRequest],
    can_ask: &[BeforeCall, PermissionRequest],
    hook_time_limit: Some(Duration::from_secs(600)),
    silence: Runs,
    nonsense: Runs,
    crash: DeniesIfConfigured,
    timeout: DeniesIfConfigured,
    missing: DeniesIfConfigured,
};

static CODEX: AgentFacts = AgentFacts {
    name: "codex",
    title: "Codex",
    version: "0.169",
    can_rewrite_input: &[BeforeCall],
    can_ask: &[],
    hook_time_limit: Some(Duration::from_secs(600)),
    silence: Runs,
    nonsense: Runs,
    crash: DeniesIfConfigured,
    timeout: Runs,
    missing: DeniesIfConfigured,
};

static GEMINI: AgentFacts = AgentFacts {
    name: "gemini",
    title: "Gemini CLI",
    version: "0.61.0",
    can_rewrite_input: &[BeforeCall],
    can_ask: &[],
    hook_time_limit: Some(Duration::from_secs(60)),
    silence: Runs,
    nonsense: Runs,
    crash: DeniesIfConfigured,
    timeout: Runs,
    missing: DeniesIfConfigured,
};

static COPILOT: AgentFacts = AgentFacts {
    name: "copilot",
    title: "Copilot CLI",
    version: "1.0.102",
    can_rewrite_input: &[BeforeCall],
    can_ask: &[BeforeCall],
    hook_time_limit: Some(Duration::from_secs(30)),
    silence: Runs,
    nonsense: DeniesIfConfigured,
    crash: Denies,
    timeout: Runs,
    missing: Denies,
};

static QWEN: AgentFacts = AgentFacts {
    name: "qwen",
    title: "Qwen Code",
    version: "0.15.10",
    can_rewrite_input: &[],
    can_ask: &[BeforeCall, PermissionRequest],
    hook_time_limit: Some(Duration::from_secs(60)),
    silence: Runs,
    nonsense: Runs,
    crash: DeniesIfConfigured,
    timeout: Runs,
    missing: DeniesIfConfigured,
};

static OPENCODE: AgentFacts = AgentFacts {
    name: "opencode",
    title: "opencode",
    version: "1.18.33",
    can_rewrite_input: &[BeforeCall],
    can_ask: &[],
    hook_time_limit: None,
    silence: Denies,
    nonsense: Denies,
    crash: Denies,
    timeout: Denies,
    missing: Denies,
};

static CURSOR: AgentFacts = AgentFacts {
    name: "cursor",
    title: "Cursor",
    version: "1.0.32",
    can_rewrite_input: &[BeforeCall],
    can_ask: &[BeforeShell],
    hook_time_limit: Some(Duration::from_secs(60)),
    silence: DeniesIfConfigured,
    nonsense: Denies,
    crash: DeniesIfConfigured,
    timeout: DeniesIfConfigured,
    missing: DeniesIfConfigured,
};

impl Agent {
    /// All agents.
    pub const ALL: [Self; 7] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::Copilot, Self::Qwen, Self::Opencode, Self::Cursor];

    /// Returns the facts about this agent.
    #[must_use]
    pub fn facts(self) -> &'static AgentFacts {
        match self {
            Self::Claude => &CLAUDE,
            Self::Codex => &CODEX,
            Self::Gemini => &GEMINI,
            Self::Copilot => &COPILOT,
            Self::Qwen => &QWEN,
            Self::Opencode => &OPENCODE,
            Self::Cursor => &CURSOR,
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
