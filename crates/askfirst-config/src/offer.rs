//! Builds the judge's policy from a config, and lists the tools that the config offers.
//!
//! Every front end uses these functions, so all of them offer the same tools.

use std::collections::{BTreeMap, HashSet};

use askfirst::{Because, Policy, SandboxStatus};

use super::quote::escape;
use super::read::BUILT_IN_TOOLS;
use super::settings::{CommandTool, Config, Settings, UntrustedOffer};

/// The tools of the `shell:` section.
const SHELL_TOOLS: &[&str] = &["shell", "exec", "shell_output", "shell_stop"];

impl Config {
    /// Builds the policy that the judge applies.
    #[must_use]
    pub fn policy(&self, sandbox: SandboxStatus) -> Policy {
        let policy = Policy::new(self.main.rules.clone()).with_sandbox(sandbox).with_digest(self.digest);
        let policy = policy.with_folder(self.folder.clone());
        let policy = policy.with_untrusted_tools(self.untrusted.tools.clone());
        let policy = self.floors.iter().fold(policy, |policy, floor| policy.with_floor(floor.rules.clone()));
        let Some(only) = &self.main.only_tools else { return policy };
        let names: HashSet<String> = only.iter().cloned().collect();
        let origin = self.only_tools_origin(only);
        policy.with_offer(move |name| names.contains(name) || !is_custom(name), origin)
    }

    /// Returns the tools that run a program and that the config offers.
    #[must_use]
    pub fn command_tools(&self) -> BTreeMap<String, CommandTool> {
        let is_offered = |name: &String| self.main.only_tools.as_ref().is_none_or(|only| only.contains(name));
        let tools = self.main.commands.iter().filter(|(name, _)| is_offered(name));
        tools.map(|(name, tool)| (name.clone(), tool.clone())).collect()
    }

    fn only_tools_origin(&self, only: &[String]) -> Because {
        let names: Vec<String> = only.iter().map(|name| escape(name)).collect();
        let because = Because::built_in("only_tools", format!("[{}]", names.join(", ")));
        let from = self.main.origins.get("only_tools").and_then(|origin| origin.from.rsplit_once(':'));
        match from.and_then(|(file, line)| Some((file, line.parse().ok()?))) {
            Some((file, line)) => Because { file: Some(file.into()), line: Some(line), ..because },
            None => because,
        }
    }
}

/// Returns the section of the config that offers a built-in tool.
#[must_use]
pub fn section_that_offers(tool: &str) -> Option<&'static str> {
    match tool {
        _ if SHELL_TOOLS.contains(&tool) => Some("shell"),
        _ if tool.starts_with("worker_") || !BUILT_IN_TOOLS.contains(&tool) => None,
        _ => Some("sandbox.paths"),
    }
}

/// Returns the names of the tools and servers that a config defines.
pub(crate) fn of(settings: &Settings) -> UntrustedOffer {
    let is_file_tool = |name: &&&str| section_that_offers(name) == Some("sandbox.paths");
    let files = BUILT_IN_TOOLS.iter().filter(is_file_tool).filter(|_| !settings.sandbox.paths.is_empty());
    let shell = SHELL_TOOLS.iter().filter(|_| settings.shell.is_some());
    let built_in = files.chain(shell).map(|name| (*name).to_owned());
    UntrustedOffer {
        tools: built_in.chain(settings.commands.keys().cloned()).collect(),
        servers: settings.mcp.keys().cloned().collect(),
    }
}

/// Returns true for a tool that is neither built in nor behind the MCP gateway.
fn is_custom(name: &str) -> bool {
    !BUILT_IN_TOOLS.contains(&name) && !name.starts_with("mcp__")
}
