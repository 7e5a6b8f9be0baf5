//! Puts a session together: config, policy, tools, record and whoever is asked.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use askfirst::ports::{Approver, Clock, Durability, Recorder};
use askfirst::record::{Record, SessionRecord};
use askfirst::{ApprovalMemory, Mode, Policy, Toolset, Walls};
use askfirst_runtime::clock::SystemClock;
use askfirst_runtime::config::{
    Config, DEFAULT_APPROVAL_TIMEOUT, DEFAULT_MEMORY_EXPIRE, DEFAULT_PREVIEW_LINES, DEFAULT_ROTATE, Fallback,
    LoadOptions, Places, load,
};
use askfirst_runtime::launcher::{WalledLauncher, lacks_demanded_walls, walls_when_asked};
use askfirst_runtime::ledger::{Ledger, LedgerSettings, SessionId};
use askfirst_runtime::redact::{Redactor, secret_env};
use askfirst_runtime::tools::Combined;
use askfirst_runtime::tools::command::CommandToolset;
use askfirst_runtime::tools::filesystem::FileToolset;
use askfirst_runtime::tools::shell::ShellToolset;
use askfirst_runtime::{ApprovalController, ApprovalToolset};
use askfirst_terminal::{Options, Style, TerminalApprover};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::args::{Common, ModeFlags};

/// How long a session that was told to end may take to write down how it ended.
const GRACE: std::time::Duration = std::time::Duration::from_secs(2);

/// The tools on offer and the policy over them.
pub struct Offered {
    pub config: Config,
    pub policy: Policy,
    pub toolset: Arc<dyn Toolset>,
    launcher: Arc<WalledLauncher>,
}

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

impl Offered {
    /// What a config offers.
    pub fn new(config: Config) -> anyhow::Result<Self> {
        let policy = config.policy(Walls::default()).with_walls_found_by(walls_when_asked(&config));
        let launcher = Arc::new(WalledLauncher::new(config.clone()));
        let shell = config.main.shell.clone().unwrap_or_default();
        let commands = CommandToolset::new(
            config.command_tools(),
            environment(&shell.env_pass),
            shell.limits,
            Arc::clone(&launcher) as _,
        );
        let mut toolset = Combined::default();
        if !config.main.sandbox.paths.is_empty() {
            toolset = toolset.with(Arc::new(FileToolset::new(&config)?));
        }
        if config.main.shell.is_some() {
            toolset = toolset.with(Arc::new(ShellToolset::new(&config, Arc::clone(&launcher) as _)?));
        }
        let toolset = Arc::new(toolset.with(Arc::new(commands)));
        Ok(Self { config, policy, toolset, launcher })
    }
}

fn environment(pass: &[String]) -> Vec<(OsString, OsString)> {
    pass.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}

/// Everything around the calls of one process.
pub struct Session {
    pub id: String,
    pub tools: ApprovalToolset,
    pub state: PathBuf,
    pub clock: Arc<dyn Clock>,
    pub ledger: Arc<Ledger>,
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
        let Offered { config, policy, toolset, launcher } = offered;
        if lacks_demanded_walls(&config) && config.main.sandbox.os_sandbox_fallback == Fallback::FailFast {
            return Err(anyhow::Error::new(crate::report::NoWalls));
        }
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
            .map_err(|e| anyhow::Error::new(crate::report::Unrecorded(e.to_string())))?;
        if !common.json {
            warnings.iter().for_each(|warning| crate::print::err(&format!("warning: {warning}")));
        }
        let options = Options {
            style: if common.plain { Style::Plain } else { Style::of_environment() },
            preview_lines: config.main.preview_lines.unwrap_or(DEFAULT_PREVIEW_LINES),
            redactor,
        };
        let approver: Arc<dyn Approver> = Arc::new(TerminalApprover::new(options));
        let controller = ApprovalController::setup(mode)
            .approver(approver)
            .memory(ApprovalMemory::new(Some(config.main.memory_expire.unwrap_or(DEFAULT_MEMORY_EXPIRE))))
            .time_out(Some(config.main.approval_timeout.unwrap_or(DEFAULT_APPROVAL_TIMEOUT)))
            .clock(Arc::clone(&clock))
            .build();
        end_on_signals(launcher, controller.clone())?;
        let tools = ApprovalToolset::new(toolset, controller, policy)
            .recorder(Arc::clone(&ledger) as _)
            .on_denial(config.main.on_denial)
            .clock(Arc::clone(&clock))
            .session(&id);
        Ok(Self { id, tools, state: state.to_owned(), clock, ledger })
    }
}

/// Told to end, the session ends what it started: questions are withdrawn, which gives the terminal back, and running
/// tools are killed. What has not come to its end by then is left; a second signal leaves it at once.
fn end_on_signals(launcher: Arc<WalledLauncher>, controller: ApprovalController) -> anyhow::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).context("signals cannot be watched")?;
    std::thread::Builder::new().name("askfirst-signals".to_owned()).spawn(move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            controller.stop();
            launcher.stop();
            std::thread::spawn(move || {
                std::thread::sleep(GRACE);
                std::process::exit(128 + signal);
            });
        }
    })?;
    Ok(())
}

/// Where the record is.
pub fn ledger_path(config: &Config, state: &Path) -> PathBuf {
    config.main.ledger.path.clone().unwrap_or_else(|| state.join("ledger.jsonl"))
}

/// Finds what the config calls secret.
pub fn redactor(config: &Config) -> anyhow::Result<Redactor> {
    let secrets = &config.main.secrets;
    Ok(Redactor::new(&secrets.args, secret_env(&secrets.env, std::env::vars_os())?)?)
}

/// What is weaker than it could be.
pub fn warnings(config: &Config, mode: Mode) -> Vec<String> {
    let mut warnings = Vec::new();
    match mode {
        Mode::ApproveAll => {
            warnings.push("UNSAFE: --approve-all approves whatever would be asked".to_owned())
        }
        Mode::Interactive | Mode::Strict => {}
    }
    if config.main.sandbox.require_os_sandbox == Some(false) {
        warnings.push("processes run without walls: `sandbox.require_os_sandbox` is false".to_owned());
    }
    let open = |name: &str| {
        let entry = config.main.rules.exact(name);
        entry.is_some_and(|entry| {
            entry.cases().iter().any(|case| case.approval == Some(askfirst::Approval::None))
        })
    };
    for name in ["shell", "exec"].into_iter().filter(|name| open(name)) {
        warnings.push(format!("`tools.{name}` is `none`: every command that is not denied runs unasked"));
    }
    warnings.extend(config.warnings.iter().map(ToString::to_string));
    warnings
}
