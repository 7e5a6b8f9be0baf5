//! Builds the approver of a gateway or server: tries the approvers that a config or a flag names, in order.

use std::path::Path;
use std::sync::Arc;

use askfirst::Toolset;
use askfirst::ports::Approver;
use askfirst_config::{AskBy, Config, DEFAULT_PREVIEW_LINES, McpServer};
use askfirst_display::redact::secret_env;
use askfirst_mcp::elicit::Elicit;
use askfirst_runtime::in_turn::InTurn;
use askfirst_runtime::session::ApproverContext;
use askfirst_runtime::watch::{self, DisplaySettings, WatchApprover};

use crate::args::ApproverChoice;

/// Converts the value of a flag to the value of the config.
pub fn of(way: ApproverChoice) -> AskBy {
    match way {
        ApproverChoice::Terminal => AskBy::Terminal,
        ApproverChoice::Watch => AskBy::Watch,
        ApproverChoice::Elicitation => AskBy::Elicitation,
    }
}

/// Returns the approvers that every server names, in the order of the first server.
pub fn common(servers: &[McpServer]) -> Vec<AskBy> {
    let Some((first, others)) = servers.split_first() else { return Vec::new() };
    let all = |way: &&AskBy| others.iter().all(|server| server.ask_by.contains(way));
    first.ask_by.iter().filter(all).copied().collect()
}

/// The session that asks, as `askfirst watch` shows it.
pub struct Asker<'a> {
    /// The front end.
    pub front_end: &'a str,
    /// The name of the session among others of the front end.
    pub name: &'a str,
    /// The folder where watchers are found.
    pub state: &'a Path,
}

/// The approvers of a session.
pub struct Approvers {
    /// One approver that tries all of them in order.
    pub approver: Arc<dyn Approver>,
    /// The MCP client, if it is one of them.
    pub elicit: Option<Arc<Elicit>>,
}

/// Builds an approver that tries these in order. An empty list means the terminal.
pub fn by(
    ways: &[AskBy],
    asker: &Asker<'_>,
    context: &ApproverContext<'_>,
    terminal: Arc<dyn Approver>,
) -> Approvers {
    let watch = || watch(asker, context);
    let ways = if ways.is_empty() { &[AskBy::Terminal] } else { ways };
    let elicit = || Elicit::new(Arc::clone(context.redactor), Arc::clone(context.clock));
    let elicit = ways.contains(&AskBy::Elicitation).then(elicit);
    let approvers = ways.iter().flat_map(|way| match way {
        AskBy::Terminal => vec![Arc::clone(&terminal), watch()],
        AskBy::Watch => vec![watch()],
        AskBy::Elicitation => elicit.iter().map(|elicit| Arc::clone(elicit) as _).collect(),
    });
    let approver = Arc::new(InTurn::new(approvers.collect()));
    Approvers { approver, elicit }
}

/// Builds an approver that asks through `askfirst watch`.
pub fn watch(asker: &Asker<'_>, context: &ApproverContext<'_>) -> Arc<dyn Approver> {
    let folder = std::env::current_dir().unwrap_or_default().display().to_string();
    let session = watch::Asker {
        door: asker.front_end.to_owned(),
        name: asker.name.to_owned(),
        session: context.id.to_owned(),
        folder,
    };
    let tools = Arc::clone(context.tools);
    let takes = move |tool: &str| tools.definition(tool).map(|tool| tool.input_schema);
    Arc::new(WatchApprover::new(asker.state, session, look(context.config), takes))
}

/// Returns the settings with which `askfirst watch` shows a request the way this process would.
fn look(config: &Config) -> DisplaySettings {
    let secrets = &config.main.secrets;
    DisplaySettings {
        preview_lines: config.main.preview_lines.unwrap_or(DEFAULT_PREVIEW_LINES),
        notify: config.main.notify,
        secret_args: secrets.args.clone(),
        // An invalid glob was already reported.
        secret_values: secret_env(&secrets.env, std::env::vars_os()).unwrap_or_default(),
    }
}
