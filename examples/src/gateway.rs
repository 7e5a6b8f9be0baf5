//! A gateway in front of an MCP server, between standard input and standard output. Strict: it refuses what needs
//! approval.

use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::Context;
use askfirst::{Mode, SandboxStatus};
use askfirst_config::{LoadOptions, Places, load};
use askfirst_mcp::{Connection, Gateway, Pins, Setup};
use askfirst_runtime::Session;

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (program, args) = words.split_first().context("usage: gateway SERVER ARGS…")?;
    let mut server = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{program}`"))?;
    let places = Places::from_env();
    let state = places.state.clone();
    let options = LoadOptions { explicit: None, folder: std::env::current_dir()?, places };
    let config = load(&options).map_err(|faults| anyhow::anyhow!("{faults}"))?;
    let policy = config.policy(SandboxStatus::Settled);
    let session = Session::builder(config).front_end("example").mode(Mode::Strict).log_in(&state).open()?;
    let gateway = Gateway::new(Setup {
        server: "example".to_owned(),
        approval: session.tools.clone(),
        policy,
        pins: Pins::open(&state, "example")?,
        hide_denied: false,
        tell: Box::new(|text| eprintln!("gateway: {text}")),
    });
    let to_server = server.stdin.take().context("the server has no input")?;
    let from_server = server.stdout.take().context("the server has no output")?;
    let connection = Connection::lines(Box::new(std::io::stdout()), Box::new(to_server));
    let link = gateway.link();
    let (client, client_ways) = (Arc::clone(&link), connection.clone());
    std::thread::spawn(move || {
        client.serve_client(&client_ways, std::io::stdin());
        client_ways.close_server();
    });
    link.serve_server(&connection, from_server);
    server.wait()?;
    Ok(())
}
