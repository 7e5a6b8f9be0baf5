//! Puts a session together: config, policy, tools, record and whoever is asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use askfirst::ports::{Approver, Clock, Durability, Recorder};
use askfirst::record::{Record, SessionRecord};
use askfirst::{ApprovalMemory, Mode};
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::config::{
    Config, DEFAULT_APPROVAL_TIMEOUT, DEFAULT_MEMORY_EXPIRE, DEFAULT_PREVIEW_LINES, DEFAULT_ROTATE, Fallback,
    LoadOptions, Places, load,
};
use askfirst_runtime::launcher::{WalledLauncher, lacks_demanded_walls};
use askfirst_runtime::ledger::{Ledger, LedgerSettings, SessionId};
pub use askfirst_runtime::offered::{Offered, ledger_path, redactor, warnings};
use askfirst_runtime::redact::Redactor;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
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

/// Says what there is to warn of; whoever reads JSON finds it in the record.
fn tell(warnings: &[String], common: &Common) {
    if !common.json {
        warnings.iter().for_each(|warning| crate::print::err_lines(&format!("warning: {warning}")));
    }
}

/// The same for a command that opens no session.
pub fn tell_warnings(config: &Config, common: &Common) {
    tell(&warnings(config, Mode::Interactive), common);
}

/// What there is to ask with.
pub struct Asking<'a> {
    /// The config.
    pub config: &'a Config,
    /// The session's name.
    pub session: &'a str,
    /// The terminal of this process.
    pub terminal: Arc<dyn Approver>,
    /// Finds what is not shown.
    pub redactor: Arc<Redactor>,
    /// The session's clock.
    pub clock: &'a Arc<dyn Clock>,
}

/// Everything around the calls of one process.
pub struct Session {
    pub id: String,
    pub tools: ApprovalToolset,
    pub state: PathBuf,
    pub clock: Arc<dyn Clock>,
    pub ledger: Arc<Ledger>,
    pub launcher: Arc<WalledLauncher>,
    pub redactor: Arc<Redactor>,
}

/// Ends what runs at the end of a session, and says what of it was moved aside.
pub fn end_commands(launcher: &WalledLauncher) {
    launcher.end(ENDING).iter().for_each(|line| crate::print::err(&format!("walls: {line}")));
}

impl Session {
    /// Opens the record and says first how the session is set up.
    pub fn open(
        offered: Offered,
        common: &Common,
        mode: ModeFlags,
        door: &str,
        state: &Path,
    ) -> anyhow::Result<Self> {
        Self::open_asking(offered, common, mode, door, state, |asking| asking.terminal)
    }

    /// The same, asking whoever `ask` says.
    pub fn open_asking(
        offered: Offered,
        common: &Common,
        mode: ModeFlags,
        door: &str,
        state: &Path,
        ask: impl FnOnce(Asking<'_>) -> Arc<dyn Approver>,
    ) -> anyhow::Result<Self> {
        let Offered { config, policy, toolset, launcher } = offered;
        if lacks_demanded_walls(&config) && config.main.sandbox.os_sandbox_fallback == Fallback::FailFast {
            return Err(anyhow::Error::new(crate::report::NoWalls));
        }
        // With somebody who hears of it, a limit on the size of files is an error of the write, and not the end.
        signal_hook::flag::register(SIGXFSZ, Arc::default()).context("signals cannot be watched")?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let redactor = Arc::new(redactor(&config)?);
        let session = SessionId::new(clock.now());
        let id = session.to_string();
        let settings = LedgerSettings {
            path: ledger_path(&config, state),
            sync: config.main.ledger.sync,
            rotate: config.main.ledger.rotate.unwrap_or(DEFAULT_ROTATE),
        };
        let ledger = Ledger::open(settings, session, Arc::clone(&redactor), Arc::clone(&clock))
            .map_err(|e| anyhow::Error::new(crate::report::Unrecorded(e.to_string())))?;
        let ledger = Arc::new(ledger);
        let mode = match (mode.approve_all, mode.strict) {
            (true, _) => Mode::ApproveAll,
            (false, true) => Mode::Strict,
            (false, false) => Mode::Interactive,
        };
        let warnings = warnings(&config, mode);
        let begun = Record::Session(SessionRecord {
            program: format!("askfirst {}", env!("CARGO_PKG_VERSION")),
            door: door.to_owned(),
            mode,
            policy: policy.digest(),
            warnings: warnings.clone(),
        });
        ledger
            .record(&begun, Durability::Written)
            .map_err(|e| anyhow::Error::new(crate::report::Unrecorded(e.0)))?;
        tell(&warnings, common);
        let options = Options {
            style: if common.plain { Style::Plain } else { Style::of_environment() },
            preview_lines: config.main.preview_lines.unwrap_or(DEFAULT_PREVIEW_LINES),
            redactor: Arc::clone(&redactor),
        };
        let tools = Arc::clone(&toolset);
        let schemas = Schemas::new(move |tool| tools.definition(tool).map(|tool| tool.input_schema));
        let terminal = Arc::new(TerminalApprover::new(options).with_schemas(schemas));
        let approver = ask(Asking {
            config: &config,
            session: &id,
            terminal,
            redactor: Arc::clone(&redactor),
            clock: &clock,
        });
        let controller = ApprovalController::setup(mode)
            .approver(approver)
            .memory(ApprovalMemory::new(Some(config.main.memory_expire.unwrap_or(DEFAULT_MEMORY_EXPIRE))))
            .time_out(Some(config.main.approval_timeout.unwrap_or(DEFAULT_APPROVAL_TIMEOUT)))
            .clock(Arc::clone(&clock))
            .build();
        end_on_signals(Arc::clone(&launcher), controller.clone())?;
        let tools = ApprovalToolset::new(toolset, controller, policy)
            .recorder(Arc::clone(&ledger) as _)
            .redactor(Redactor::clone(&redactor))
            .on_denial(config.main.on_denial)
            .clock(Arc::clone(&clock))
            .session(&id);
        Ok(Self { id, tools, state: state.to_owned(), clock, ledger, launcher, redactor })
    }
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
fn end_on_signals(launcher: Arc<WalledLauncher>, controller: ApprovalController) -> anyhow::Result<()> {
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
                end_commands(&launcher);
                askfirst_terminal::put_back();
                std::process::exit(128 + signal);
            });
        }
    })?;
    Ok(())
}
