//! What a config offers and what the judge goes by: one place for every door.

use std::collections::{BTreeMap, HashSet};

use askfirst::{Because, Policy, Walls};

use super::quote::quoted;
use super::read::OWN_TOOLS;
use super::settings::{CommandTool, Config};

impl Config {
    /// What the judge goes by.
    #[must_use]
    pub fn policy(&self, walls: Walls) -> Policy {
        let policy = Policy::new(self.main.rules.clone()).with_walls(walls).with_digest(self.digest);
        let policy = policy.with_folder(self.folder.clone());
        let policy = self.floors.iter().fold(policy, |policy, floor| policy.with_floor(floor.rules.clone()));
        let Some(only) = &self.main.only_tools else { return policy };
        let named: HashSet<String> = only.iter().cloned().collect();
        let origin = self.only_tools_origin(only);
        policy.with_offer(move |name| named.contains(name) || !is_custom(name), origin)
    }

    /// The programs that are offered as tools.
    #[must_use]
    pub fn command_tools(&self) -> BTreeMap<String, CommandTool> {
        let offered = |name: &String| self.main.only_tools.as_ref().is_none_or(|only| only.contains(name));
        let tools = self.main.commands.iter().filter(|(name, _)| offered(name));
        tools.map(|(name, tool)| (name.clone(), tool.clone())).collect()
    }

    fn only_tools_origin(&self, only: &[String]) -> Because {
        let names: Vec<String> = only.iter().map(|name| quoted(name)).collect();
        let says = Because::built_in("only_tools", format!("[{}]", names.join(", ")));
        let from = self.main.origins.get("only_tools").and_then(|origin| origin.from.rsplit_once(':'));
        match from.and_then(|(file, line)| Some((file, line.parse().ok()?))) {
            Some((file, line)) => Because { file: Some(file.into()), line: Some(line), ..says },
            None => says,
        }
    }
}

/// Whether a tool is neither one of our own nor behind the gateway.
fn is_custom(name: &str) -> bool {
    !OWN_TOOLS.contains(&name) && !name.starts_with("mcp__")
}
