//! An MCP server on standard input and output with the tools of a config. Strict: it refuses what needs approval.

use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use askfirst::Mode;
use askfirst_config::{LoadOptions, Places, load};
use askfirst_mcp::server::{BEAT, RunningCalls, Server};
use askfirst_runtime::Session;

fn main() -> anyhow::Result<()> {
    let file = std::env::args().nth(1).map(PathBuf::from).context("usage: server CONFIG")?;
    let places = Places::from_env();
    let state = places.state.clone();
    let options = LoadOptions { explicit: Some(file), folder: std::env::current_dir()?, places };
    let config = load(&options).map_err(|faults| anyhow::anyhow!("{faults}"))?;
    let mut running = None;
    let session = Session::builder(config)
        .front_end("example")
        .mode(Mode::Strict)
        .log_in(state)
        .wrap_tools(|tools, _| {
            let tools = Arc::new(RunningCalls::new(tools));
            running = Some(Arc::clone(&tools));
            tools
        })
        .open()?;
    let running = running.context("the tools are missing")?;
    let tools = Arc::new(session.tools.clone());
    let server = Server { tools, running, allowed: String::new(), elicit: None, beat: BEAT };
    server.serve(BufReader::new(std::io::stdin()), std::io::stdout())?;
    Ok(())
}
