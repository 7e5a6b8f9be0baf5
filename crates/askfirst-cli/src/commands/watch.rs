//! `watch`: asks on this terminal for sessions that have no terminal.

use std::sync::Arc;

use anyhow::Context;
use askfirst::machine::Audience;
use askfirst::ports::Approver;
use askfirst_config::Places;
use askfirst_display::escape::escaped;
use askfirst_display::redact::Redactor;
use askfirst_runtime::watch::{Desk, DisplaySettings, ToolSchemas, WatchEnd};
use askfirst_terminal::{Options, Schemas, Style, TerminalApprover};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::Common;
use crate::exit::Exit;
use crate::print::err;
use crate::session::notify;

/// Answers requests until a signal arrives or the terminal is closed.
pub fn watch(common: &Common) -> anyhow::Result<Exit> {
    if TerminalApprover::audience() == Audience::Absent {
        err("error: no terminal to ask on");
        return Ok(Exit::NoOne);
    }
    let desk = Desk::open(&Places::from_env().state)?;
    let stop_handle = desk.stop_handle();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("cannot handle signals")?;
    std::thread::Builder::new().name("askfirst-signals".to_owned()).spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                askfirst_terminal::restore_terminals();
                std::process::exit(128 + signal);
            }
            stop_handle.stop();
        }
    })?;
    err("askfirst: waiting for requests; press Ctrl-C to stop");
    let style = if common.plain { Style::Plain } else { Style::of_environment() };
    let left = desk.serve(
        |look, takes| prompt(style, look, takes),
        |text| err(&format!("askfirst: {}", escaped(text))),
    )?;
    Ok(match left {
        WatchEnd::Stopped => Exit::Done,
        WatchEnd::TerminalLost => Exit::NoOne,
    })
}

/// Builds a prompt that redacts secrets and checks edited arguments like the session that asks.
fn prompt(style: Style, look: &DisplaySettings, takes: ToolSchemas) -> Option<Arc<dyn Approver>> {
    let redactor = Redactor::new(&look.secret_args, look.secret_values.clone()).ok()?;
    let options = Options {
        style,
        preview_lines: look.preview_lines,
        redactor: Arc::new(redactor),
        notify: notify(look.notify),
        front_end: "watch".to_owned(),
        withheld: Vec::new(),
    };
    let schemas = Schemas::new(move |tool| takes.of(tool));
    Some(Arc::new(TerminalApprover::new(options).with_schemas(schemas)))
}
