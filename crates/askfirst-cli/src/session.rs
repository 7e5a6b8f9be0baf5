//! Sessions of the command line: reading the config, asking at the terminal, ending on signals.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use askfirst::ports::Approver;
use askfirst::{Mode, Toolset};
use askfirst_config::{Config, DEFAULT_PREVIEW_LINES, LoadOptions, Places, load};
use askfirst_runtime::session::{OpenError, Opening, Session, SessionBuilder};
use askfirst_runtime::sessions::{self, Listening};
use askfirst_runtime::tools::catalog::warnings;
use askfirst_terminal::{Options, Schemas, Style, TerminalApprover};
use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::args::{Common, ModeFlags};
use crate::servers;

/// How long a session that was told to end may take to write down how it ended.
const GRACE: Duration = Duration::from_secs(2);

/// How long commands that still run when a session ends may take to end, and what they made to be searched.
const ENDING: Duration = Duration::from_secs(20);

/// Reads the config as the flags say.
pub fn read_config(common: &Common) -> anyhow::Result<Config> {
    let folder = std::env::current_dir().context("the working folder is gone")?;
    read_config_in(common.config.clone(), folder, Places::from_env())
}

/// Reads the config for a folder.
pub fn read_config_in(explicit: Option<PathBuf>, folder: PathBuf, places: Places) -> anyhow::Result<Config> {
    load(&LoadOptions { explicit, folder, places }).map_err(|faults| {
        crate::report::faults(&faults.0);
        anyhow::Error::new(crate::report::Reported)
    })
}

/// Prints warnings, unless a program reads the output: it finds them in the audit log.
fn print_warnings(warnings: &[String], common: &Common) {
    if !common.json {
        warnings.iter().for_each(|warning| crate::print::err_lines(&format!("warning: {warning}")));
    }
}

/// Prints the warnings of a config, for a command that opens no session.
pub fn tell_warnings(config: &Config, common: &Common) {
    print_warnings(&warnings(config, Mode::Interactive), common);
}

/// Opens a session of the command line: with an audit log, the user's terminal, and an end on signals. `ask` chooses who
/// is asked; it gets the approver of the terminal.
pub fn open(
    builder: SessionBuilder<'_>,
    common: &Common,
    mode: ModeFlags,
    state: &Path,
    ask: impl FnOnce(Opening<'_>, Arc<dyn Approver>) -> Arc<dyn Approver>,
) -> anyhow::Result<Session> {
    // With a handler, a limit on the size of files is an error of the write. Without one, it ends the process.
    signal_hook::flag::register(SIGXFSZ, Arc::default()).context("cannot watch signals")?;
    let mode = match (mode.approve_all, mode.strict) {
        (true, _) => Mode::ApproveAll,
        (false, true) => Mode::Strict,
        (false, false) => Mode::Interactive,
    };
    let approver = |opening: Opening<'_>| {
        let terminal = terminal(&opening, common);
        ask(opening, terminal)
    };
    let opened = builder.mode(mode).log_in(state).approver(approver).open();
    let session = opened.map_err(|error| match error {
        OpenError::NoSandbox => anyhow::Error::new(crate::report::NoWalls),
        OpenError::AuditLog(why) => anyhow::Error::new(crate::report::Unrecorded(why)),
        error @ (OpenError::Tools(_) | OpenError::Secrets(_) | OpenError::Override(_)) => error.into(),
    })?;
    print_warnings(&session.warnings, common);
    end_on_signals(&session)?;
    Ok(session)
}

/// The terminal of this process.
fn terminal(opening: &Opening<'_>, common: &Common) -> Arc<dyn Approver> {
    let options = Options {
        style: if common.plain { Style::Plain } else { Style::of_environment() },
        preview_lines: opening.config.main.preview_lines.unwrap_or(DEFAULT_PREVIEW_LINES),
        redactor: Arc::clone(opening.redactor),
    };
    let tools = Arc::clone(opening.tools);
    let schemas = Schemas::new(move |tool| tools.definition(tool).map(|tool| tool.input_schema));
    Arc::new(TerminalApprover::new(options).with_schemas(schemas))
}

/// Makes a session visible to `askfirst memory` in another terminal.
pub fn listen(session: &Session, state: &Path) -> Option<Listening> {
    let listening = sessions::listen(state, &session.id, session.controller(), &session.redactor);
    if let Err(e) = &listening {
        crate::print::err(&format!("warning: this session cannot be looked at from outside: {e}"));
    }
    listening.ok()
}

/// Ends the processes that the session started, and reports the files that were moved aside.
pub fn end_commands(session: &Session) {
    report_moved(&session.end(ENDING));
}

fn report_moved(lines: &[String]) {
    lines.iter().for_each(|line| crate::print::err(&format!("walls: {line}")));
}

/// A second signal that comes sooner was sent with the first: whoever closes a terminal sends two.
const AT_ONCE: Duration = Duration::from_millis(300);

/// The signal that told the session to end.
static ENDED_BY: AtomicI32 = AtomicI32::new(0);

/// The signal that told the session to end, if one did.
pub fn ended_by() -> Option<i32> {
    Some(ENDED_BY.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
}

/// Told to end, the session ends what it started: questions are withdrawn, which gives the terminal back, and running
/// tools are killed; what they made is searched. What has not come to its end by then is left; a second signal leaves it
/// at once.
fn end_on_signals(session: &Session) -> anyhow::Result<()> {
    let (Some(launcher), controller) = (session.launcher.clone(), session.controller().clone()) else {
        return Ok(());
    };
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("signals cannot be watched")?;
    std::thread::Builder::new().name("askfirst-signals".to_owned()).spawn(move || {
        let mut first = None;
        for signal in signals.forever() {
            if let Some(first) = first {
                if Instant::elapsed(&first) < AT_ONCE {
                    continue;
                }
                servers::end(Signal::KILL);
                askfirst_terminal::put_back();
                std::process::exit(128 + signal);
            }
            first = Some(Instant::now());
            ENDED_BY.store(signal, Ordering::SeqCst);
            if signal == SIGHUP {
                controller.hang_up();
            } else {
                controller.stop();
            }
            servers::end(Signal::TERM);
            launcher.stop();
            let launcher = Arc::clone(&launcher);
            std::thread::spawn(move || {
                std::thread::sleep(GRACE / 2);
                servers::end(Signal::KILL);
                std::thread::sleep(GRACE / 2);
                report_moved(&launcher.end(ENDING));
                askfirst_terminal::put_back();
                std::process::exit(128 + signal);
            });
        }
    })?;
    Ok(())
}
