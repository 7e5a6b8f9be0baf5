//! Where each agent keeps its config, and what its hooks cannot guarantee.

use crate::Agent;

/// The config files of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigFiles {
    /// The environment variable with the agent's own folder, and the part of the path below it.
    pub variable: Option<(&'static str, &'static str)>,
    /// The agent's own folder in the user's home folder.
    pub in_home: &'static str,
    /// The file for the hook, in the agent's own folder.
    pub user: &'static str,
    /// The file for the hook, in a project.
    pub project: &'static str,
    /// Other files in the agent's own folder with settings and rules. Files of a whole folder end with `/`.
    pub user_settings: &'static [&'static str],
    /// Other files in a project with settings and rules.
    pub project_settings: &'static [&'static str],
}

/// Returns the config files of an agent.
#[must_use]
pub fn files(agent: Agent) -> ConfigFiles {
    let own = |in_home, user, project| ConfigFiles {
        variable: None,
        in_home,
        user,
        project,
        user_settings: &[],
        project_settings: &[],
    };
    match agent {
        Agent::Claude => ConfigFiles {
            variable: Some(("CLAUDE_CONFIG_DIR", "")),
            project_settings: &[".claude/settings.local.json"],
            ..own(".claude", "settings.json", ".claude/settings.json")
        },
        Agent::Codex => ConfigFiles {
            variable: Some(("CODEX_HOME", "")),
            user_settings: &["config.toml", "rules/"],
            project_settings: &[".codex/config.toml", ".codex/rules/"],
            ..own(".codex", "hooks.json", ".codex/hooks.json")
        },
        Agent::Gemini => ConfigFiles {
            user_settings: &["policies/"],
            ..own(".gemini", "settings.json", ".gemini/settings.json")
        },
        Agent::Copilot => ConfigFiles {
            variable: Some(("COPILOT_HOME", "")),
            user_settings: &["settings.json", "config.json"],
            ..own(".copilot", "hooks/askfirst.json", ".github/hooks/askfirst.json")
        },
        Agent::Qwen => own(".qwen", "settings.json", ".qwen/settings.json"),
        Agent::Opencode => ConfigFiles {
            variable: Some(("XDG_CONFIG_HOME", "opencode")),
            ..own(".config/opencode", "plugins/askfirst.js", ".opencode/plugins/askfirst.js")
        },
        Agent::Cursor => ConfigFiles {
            user_settings: &["cli-config.json"],
            project_settings: &[".cursor/cli.json"],
            ..own(".cursor", "hooks.json", ".cursor/hooks.json")
        },
    }
}

/// Returns what the hooks of an agent cannot guarantee, as sentences.
#[must_use]
pub fn limits(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::Claude => &[
            "Claude Code runs a call if the program at the path of the hook prints anything but JSON.",
            "`disableAllHooks` in any settings file switches the hook off.",
        ],
        Agent::Codex => &[
            "Codex runs a call if askfirst does not answer in time, or if its hook prints anything but JSON.",
            "Codex runs a hook only while you trust exactly this hook; `codex exec` does not report a skipped hook.",
            "Codex shows no hook what the model types into a program that still runs.",
            "Codex cannot ask from a hook: askfirst asks on its own terminal or through `askfirst watch`.",
        ],
        Agent::Gemini => &[
            "Gemini runs a call if askfirst does not answer in time, or if its hook prints anything but JSON.",
            "Gemini runs hooks of a project only in a folder that you trust in Gemini.",
            "Gemini still asks by its own rules about a call that askfirst allows.",
        ],
        Agent::Copilot => &[
            "Copilot runs a call if askfirst does not answer in time.",
            "Copilot still asks by its own rules about a change of a file that askfirst allows.",
            "Copilot skips `.github/hooks` in a folder that you do not trust in Copilot, and does not report it.",
        ],
        Agent::Qwen => &[
            "Qwen Code runs a call if askfirst does not answer in time, or if its hook prints anything but JSON.",
        ],
        Agent::Opencode => &[
            "opencode runs every call without the hook if the plugin does not load.",
            "opencode cannot ask from a hook: askfirst asks on its own terminal or through `askfirst watch`.",
        ],
        Agent::Cursor => &[
            "The hook for Cursor was tested with its contract only, not with the program.",
            "Cursor still asks by its own rules about a call that askfirst allows.",
        ],
    }
}
