//! `serve`: the config's tools as an MCP server on standard streams or over HTTP.

use std::io::BufReader;
use std::sync::Arc;

use askfirst::Approval;
use askfirst_config::{AskBy, Config, PathMode, Places};
use askfirst_mcp::serve::{BEAT, Running, Server};
use askfirst_runtime::sessions;

use crate::args::{Common, ListenFlags, ModeFlags, Way};
use crate::asking::{self, Door};
use crate::commands::mcp::http::front;
use crate::exit::Exit;
use crate::print::err;
use crate::session::{Asking, Offered, Session, end_commands, read_config};

/// Serves the client that started us, or those that come to an address.
pub fn serve(common: &Common, listen: &ListenFlags, mode: ModeFlags, ask_by: &[Way]) -> anyhow::Result<Exit> {
    let mut offered = Offered::new(read_config(common)?)?;
    let launcher = Arc::clone(&offered.launcher);
    let running = Running::new(Arc::clone(&offered.toolset)).ended_by(move || launcher.stop());
    let running = Arc::new(running);
    offered.toolset = Arc::clone(&running) as _;
    let allowed = allowed(&offered.config);
    let state = Places::from_env().state;
    let ways: Vec<AskBy> = ask_by.iter().map(|way| asking::of(*way)).collect();
    let mut elicit = None;
    let door = Door { door: "serve", name: "", state: &state, tools: Arc::clone(&offered.toolset) };
    let ask = |asking: Asking<'_>| {
        let asked = asking::by(&ways, &door, &asking);
        elicit = asked.elicit;
        asked.approver
    };
    let session = Session::open_asking(offered, common, mode, "serve", &state, ask)?;
    let listening =
        sessions::listen(&session.state, &session.id, session.tools.controller(), &session.redactor);
    if let Err(e) = &listening {
        err(&format!("warning: this session cannot be looked at from outside: {e}"));
    }
    let server = Server { tools: Arc::new(session.tools), running, allowed, elicit, beat: BEAT };
    if let Some(front) = front(listen)? {
        Arc::new(server).serve_http(front)?;
        return Ok(Exit::Done);
    }
    let served = server.serve(BufReader::with_capacity(1 << 16, std::io::stdin()), std::io::stdout());
    end_commands(&session.launcher);
    served?;
    Ok(Exit::Done)
}

/// What the config lets run unasked, in one line.
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
        "reading below",
        roots().filter(|(_, root)| free(root.approval.read)).map(|(name, _)| named(name)).collect(),
    );
    let written = roots().filter(|(_, root)| root.mode == PathMode::Rw && free(root.approval.write));
    list("writing below", written.map(|(name, _)| named(name)).collect());
    let rules = config.main.shell.iter().flat_map(|shell| &shell.rules);
    list("the commands", rules.filter(|rule| free(rule.approval)).map(|rule| named(&rule.pattern)).collect());
    let entries = config.main.rules.entries();
    let tools = entries.filter(|entry| entry.cases().iter().any(|case| case.approval.is_some_and(free)));
    list("the tools", tools.map(|entry| format!("`{}`", entry.name)).collect());
    match parts.is_empty() {
        true => "The config lets nothing run unasked.".to_owned(),
        false => format!("The config lets these run unasked: {}.", parts.join("; ")),
    }
}
