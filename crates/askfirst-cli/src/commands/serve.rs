//! `serve`: offers the config's tools as an MCP server, over standard input and output or HTTP.

use std::io::BufReader;
use std::sync::Arc;

use anyhow::Context;
use askfirst::{Approval, Toolset};
use askfirst_config::{AskBy, Config, PathMode, Places};
use askfirst_mcp::server::{BEAT, RunningCalls, Server};
use askfirst_runtime::Session;
use askfirst_runtime::session::ApproverContext;

use crate::args::{ApproverChoice, Common, ListenFlags, ModeFlags};
use crate::asking::{self, Asker};
use crate::commands::mcp::http::front;
use crate::commands::tools::no_tools;
use crate::exit::Exit;
use crate::session::{FrontEnd, end_commands, listen, open, print_warnings, read_config};

/// Serves the client that started this process, or all clients that connect to an address.
pub fn serve(
    common: &Common,
    address: &ListenFlags,
    mode: ModeFlags,
    ask_by: &[ApproverChoice],
) -> anyhow::Result<Exit> {
    let state = Places::from_env().state;
    let ways: Vec<AskBy> = ask_by.iter().map(|way| asking::of(*way)).collect();
    let (mut elicit, mut running) = (None, None);
    let asker = Asker { front_end: "serve", name: "", state: &state };
    let ask = |context: ApproverContext<'_>, terminal| {
        let asked = asking::by(&ways, &asker, &context, terminal);
        elicit = asked.elicit;
        asked.approver
    };
    let builder = Session::builder(read_config(common)?).wrap_tools(|tools, launcher| {
        let launcher = Arc::clone(launcher);
        let tools = Arc::new(RunningCalls::new(tools).ended_by(move || launcher.stop()));
        running = Some(Arc::clone(&tools));
        tools
    });
    let session = open(&FrontEnd { name: "serve", withheld: &[] }, builder, common, mode, &state, ask)?;
    let _listening = listen(&session, &state);
    if session.tools.tools().is_empty() {
        print_warnings(&[no_tools(&session.config).to_owned()], common);
    }
    let running = running.context("the tools are missing")?;
    let (tools, allowed) = (Arc::new(session.tools.clone()), allowed(&session.config));
    let server = Server { tools, running, allowed, elicit, beat: BEAT };
    if let Some(front) = front(address)? {
        Arc::new(server).serve_http(front)?;
        return Ok(Exit::Done);
    }
    let served = server.serve(BufReader::with_capacity(1 << 16, std::io::stdin()), std::io::stdout());
    end_commands(&session);
    served?;
    Ok(Exit::Done)
}

/// Describes in one line what the config lets run without asking.
fn allowed(config: &Config) -> String {
    let free = |approval: Approval| approval == Approval::None;
    let mut parts = Vec::new();
    let mut list = |what: &str, names: Vec<String>| {
        if !names.is_empty() {
            parts.push(format!("{what} {}", names.join(", ")));
        }
    };
    let roots = || config.main.sandbox.paths.iter();
    let named = |name: &String| format!("`{name}`");
    list(
        "reading files in",
        roots().filter(|(_, root)| free(root.approval.read)).map(|(name, _)| named(name)).collect(),
    );
    let written = roots().filter(|(_, root)| root.mode == PathMode::Rw && free(root.approval.write));
    list("writing files in", written.map(|(name, _)| named(name)).collect());
    let rules = config.main.shell.iter().flat_map(|shell| &shell.rules);
    list("the commands", rules.filter(|rule| free(rule.approval)).map(|rule| named(&rule.pattern)).collect());
    let entries = config.main.rules.entries();
    let tools = entries.filter(|entry| entry.cases().iter().any(|case| case.approval.is_some_and(free)));
    list("the tools", tools.map(|entry| format!("`{}`", entry.name)).collect());
    match parts.is_empty() {
        true => "The config lets nothing run without asking.".to_owned(),
        false => format!("The config lets these run without asking: {}.", parts.join("; ")),
    }
}
