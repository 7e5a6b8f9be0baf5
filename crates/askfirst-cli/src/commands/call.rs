//! `call`: one call through the whole pipeline.

use std::io::Read;
use std::sync::Arc;

use anyhow::Context;
use askfirst_config::Places;

use crate::args::{Common, ModeFlags};
use crate::commands::run::live::{Coming, Live, Told};
use crate::exit::Exit;
use crate::session::{Offered, Session, end_commands, read_config};

/// The most that is read as arguments.
const MAX_ARGS: u64 = 16 << 20;

/// Makes one call.
pub fn call(common: &Common, mode: ModeFlags, tool: &str, args: &str) -> anyhow::Result<Exit> {
    let args = parse_args(args)?;
    let offered = Offered::new(read_config(common)?)?;
    let session = Session::open(offered, common, mode, "call", &Places::from_env().state)?;
    let live = Arc::new(Live::new(Told::Program, Arc::clone(&session.redactor)));
    let session = live.looks_at(session);
    // No row is told of it, so it need not be known there.
    live.expect([Coming { number: 1, call: Arc::default() }]);
    let outcome = session.tools.call_sync(tool, args);
    askfirst_terminal::wait_until_left();
    end_commands(&session.launcher);
    let over = live.settle(std::slice::from_ref(&outcome));
    let edited = over.iter().find_map(|over| over.edited.as_deref());
    Ok(crate::outcome::print(&outcome, edited, &session.redactor, common.json))
}

/// Arguments from the command line, or from standard input for `-`.
pub fn parse_args(args: &str) -> anyhow::Result<askfirst::Args> {
    let bytes = if args == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .take(MAX_ARGS)
            .read_to_end(&mut bytes)
            .context("standard input cannot be read")?;
        bytes
    } else {
        args.as_bytes().to_vec()
    };
    askfirst::json::parse_object(&bytes).map_err(|e| anyhow::anyhow!("`--args` is not a JSON object: {e}"))
}
