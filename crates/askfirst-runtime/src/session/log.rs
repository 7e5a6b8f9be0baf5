//! Opens the audit log of a session. Its first entry says how the session is set up, who started it, and where.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::ports::{Clock, Durability, Recorder};
use askfirst::record::{Record, SessionRecord};
use askfirst::{Digest, Mode, SandboxStatus};
use askfirst_config::{Config, DEFAULT_ROTATE};
use askfirst_display::redact::Redactor;

use super::OpenError;
use crate::clock::SystemClock;
use crate::ledger::{Ledger, LedgerError, LedgerSettings, SessionId};
use crate::origin;
use crate::tools::catalog::{ledger_path, redactor};

/// The place of an audit log, and what its writer needs.
pub(super) struct LogSetup<'a> {
    pub(super) path: PathBuf,
    /// The state folder.
    pub(super) state: PathBuf,
    pub(super) config: &'a Config,
    pub(super) session: SessionId,
    pub(super) redactor: &'a Arc<Redactor>,
    pub(super) clock: &'a Arc<dyn Clock>,
}

/// Opens an audit log, and writes the first entry of the session. Adds a warning to the entry if the head of the log
/// cannot be stored.
pub(super) fn begin(setup: LogSetup<'_>, start: &mut SessionRecord) -> Result<Arc<Ledger>, OpenError> {
    let LogSetup { path, state, config, session, redactor, clock } = setup;
    let settings = LedgerSettings {
        path,
        sync: config.main.ledger.sync,
        rotate: config.main.ledger.rotate.unwrap_or(DEFAULT_ROTATE),
        state: Some(state),
    };
    let open = |settings| Ledger::open(settings, session.clone(), Arc::clone(redactor), Arc::clone(clock));
    let opened = match open(settings.clone()) {
        Err(LedgerError::HeadFolder(why)) => {
            start.warnings.push(format!(
                "the head of the audit log cannot be stored, so no one can detect that its newest entries were \
                 removed: {why}"
            ));
            open(LedgerSettings { state: None, ..settings })
        }
        opened => opened,
    };
    let ledger = opened.map_err(|e| OpenError::AuditLog(e.to_string()))?;
    // A session in which no one is asked must not go unnoticed, however it ends.
    let durability = match start.mode {
        Mode::ApproveAll => Durability::Synced,
        Mode::Interactive | Mode::Strict => Durability::Written,
    };
    let written = ledger.record(&Record::Session(start.clone()), durability);
    written.map_err(|e| OpenError::AuditLog(e.0))?;
    Ok(Arc::new(ledger))
}

/// Returns the first entry of a session that this process starts.
pub(super) fn start(
    front_end: &str,
    mode: Mode,
    policy: Option<Digest>,
    warnings: Vec<String>,
) -> SessionRecord {
    SessionRecord {
        program: format!("askfirst {}", env!("CARGO_PKG_VERSION")),
        door: front_end.to_owned(),
        mode,
        policy,
        warnings,
        origin: Some(origin::of_this_process()),
    }
}

/// Logs what a person is about to do outside of any call, such as trusting a config, in a session of its own.
///
/// # Errors
/// Fails if the audit log cannot be written. The person's action must then not happen.
pub fn log_action(config: &Config, state: &Path, front_end: &str, action: &Record) -> Result<(), OpenError> {
    log_actions(config, state, front_end, std::slice::from_ref(action))
}

/// Logs several entries outside of any session of this process; see [`log_action`].
///
/// # Errors
/// Fails if the audit log cannot be written. The entries before the fault are then in the log.
pub fn log_actions(
    config: &Config,
    state: &Path,
    front_end: &str,
    actions: &[Record],
) -> Result<(), OpenError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
    let redactor = Arc::new(redactor(config)?);
    let policy = config.policy(SandboxStatus::default()).digest();
    let mut start = start(front_end, Mode::Interactive, policy, Vec::new());
    let setup = LogSetup {
        path: ledger_path(config, state),
        state: state.to_owned(),
        config,
        session: SessionId::new(clock.now()),
        redactor: &redactor,
        clock: &clock,
    };
    let ledger = begin(setup, &mut start)?;
    let mut recorded = actions.iter().map(|action| ledger.record(action, Durability::Synced));
    recorded.try_for_each(|done| done.map_err(|e| OpenError::AuditLog(e.0)))
}
