//! A session: config, policy, tools, controller, audit log, redaction and sandbox, put together in one place.
//!
//! The command line, the gateway, the MCP server and Python all open their sessions here.

mod log;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use askfirst::policy::NeedsApproval;
use askfirst::ports::{Approver, Clock, Durability, Recorder};
use askfirst::record::{CommitRecord, Record};
use askfirst::toolset::BoxFuture;
use askfirst::{
    ApprovalContext, ApprovalMemory, Mode, Outcome, Policy, RememberedDecision, SandboxStatus, Toolset,
};
use askfirst_config::{
    Config, DEFAULT_APPROVAL_TIMEOUT, DEFAULT_MEMORY_EXPIRE, Fallback, Faults, OnDenial, Places, Project,
};
use askfirst_display::redact::{BadGlob, Redactor};

use crate::assess::{JudgedCall, Unknown};
use crate::clock::SystemClock;
use crate::controller::ApprovalController;
use crate::launcher::{SandboxLauncher, lacks_required_sandbox, lazy_sandbox_status};
use crate::ledger::{Ledger, SessionId};
use crate::observer::Observer;
use crate::origin;
use crate::project::ProjectRules;
use crate::tools::catalog::{Catalog, CatalogError, ledger_path, redactor, warnings};
use crate::toolset::{ApprovalToolset, Run};
use askfirst_rehearsal::UndoStore;
use log::LogSetup;

pub use log::{log_action, log_actions};

/// A session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The config requires a sandbox that does not work here.
    #[error("the config requires a sandbox, and none works here")]
    NoSandbox,
    /// The tools of the config cannot be used.
    #[error(transparent)]
    Tools(#[from] CatalogError),
    /// A name in `secrets:` is not a glob.
    #[error(transparent)]
    Secrets(#[from] BadGlob),
    /// The config has unknown keys, and no override uses them.
    #[error(transparent)]
    UnknownKeys(#[from] Faults),
    /// The override of the decision point does not fit the config.
    #[error("{0}")]
    Override(String),
    /// The audit log cannot be written.
    #[error("{0}")]
    AuditLog(String),
}

/// The data from which a front end makes its approver.
pub struct ApproverContext<'a> {
    /// The config.
    pub config: &'a Config,
    /// The name of the session.
    pub id: &'a str,
    /// The tools that requests are about.
    pub tools: &'a Arc<dyn Toolset>,
    /// Finds the secrets that a person must not see.
    pub redactor: &'a Arc<Redactor>,
    /// The clock of the session.
    pub clock: &'a Arc<dyn Clock>,
}

#[doc(hidden)]
pub use ApproverContext as Opening;

type MakeApprover<'a> = Box<dyn FnOnce(ApproverContext<'_>) -> Arc<dyn Approver> + 'a>;
type WrapTools<'a> = Box<dyn FnOnce(Arc<dyn Toolset>, &Arc<SandboxLauncher>) -> Arc<dyn Toolset> + 'a>;

/// The source of answers to requests.
enum ApproverSource<'a> {
    NoOne,
    Approver(MakeApprover<'a>),
    Controller(ApprovalController),
}

/// The place of the audit log.
enum Log {
    Off,
    /// The place that the config names, or the state folder.
    OfConfig,
    /// The config's own place or the state folder, if the config has a section `ledger`.
    IfConfigured,
    At(PathBuf),
}

/// The tools of a session.
enum Tools<'a> {
    Config(Option<WrapTools<'a>>),
    Own(Arc<dyn Toolset>),
}

/// Puts a session together.
pub struct SessionBuilder<'a> {
    config: Config,
    front_end: &'a str,
    mode: Mode,
    id: Option<String>,
    asking: ApproverSource<'a>,
    log: Log,
    state: Option<PathBuf>,
    tools: Tools<'a>,
    unknown: Unknown,
    overriding: Option<Arc<dyn NeedsApproval>>,
    override_keys_are_used: bool,
    observer: Option<Arc<dyn Observer>>,
    on_denial: Option<OnDenial>,
    run: Run,
    project: Option<(Project, Warn)>,
    remembered: Vec<RememberedDecision>,
}

/// Tells a person what they should know while the session runs.
type Warn = Box<dyn Fn(&str) + Send + Sync>;

impl<'a> SessionBuilder<'a> {
    /// The name of the front end, for the audit log.
    #[must_use]
    pub fn front_end(mut self, name: &'a str) -> Self {
        self.front_end = name;
        self
    }

    /// The mode; interactive unless set.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The name of the session; a new one unless set.
    #[must_use]
    pub fn id(mut self, id: Option<String>) -> Self {
        self.id = id;
        self
    }

    /// The approver, made when everything that it needs is there.
    #[must_use]
    pub fn approver(mut self, make: impl FnOnce(ApproverContext<'_>) -> Arc<dyn Approver> + 'a) -> Self {
        self.asking = ApproverSource::Approver(Box::new(make));
        self
    }

    /// An existing controller, with its own mode, memory, approver and timeout.
    #[must_use]
    pub fn controller(mut self, controller: ApprovalController) -> Self {
        self.mode = controller.mode();
        self.asking = ApproverSource::Controller(controller);
        self
    }

    /// Keeps an audit log: where the config says, or else in this state folder.
    #[must_use]
    pub fn log_in(self, state: impl Into<PathBuf>) -> Self {
        Self { log: Log::OfConfig, ..self.state_in(state) }
    }

    /// Keeps an audit log as [`log_in`](Self::log_in) does, if the config has a section `ledger`.
    #[must_use]
    pub fn log_if_configured(self, state: impl Into<PathBuf>) -> Self {
        Self { log: Log::IfConfigured, ..self.state_in(state) }
    }

    /// The state folder, in which the head of the audit log is stored; the user's own unless set.
    #[must_use]
    pub fn state_in(mut self, state: impl Into<PathBuf>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// Keeps an audit log in this file.
    #[must_use]
    pub fn log_at(mut self, file: impl Into<PathBuf>) -> Self {
        self.log = Log::At(file.into());
        self
    }

    /// Wraps the tools of the config before approval wraps them.
    #[must_use]
    pub fn wrap_tools(
        mut self,
        wrap: impl FnOnce(Arc<dyn Toolset>, &Arc<SandboxLauncher>) -> Arc<dyn Toolset> + 'a,
    ) -> Self {
        self.tools = Tools::Config(Some(Box::new(wrap)));
        self
    }

    /// These tools instead of the config's.
    #[must_use]
    pub fn own_tools(mut self, tools: Arc<dyn Toolset>) -> Self {
        self.tools = Tools::Own(tools);
        self
    }

    /// The meaning of a name without a tool; blocked unless set.
    #[must_use]
    pub fn unknown(mut self, unknown: Unknown) -> Self {
        self.unknown = unknown;
        self
    }

    /// Code that replaces the config's decision, where the design allows it.
    #[must_use]
    pub fn overriding(mut self, overriding: Option<Arc<dyn NeedsApproval>>) -> Self {
        self.overriding = overriding;
        self
    }

    /// Allows unknown keys of tools without an override, because other code of the program uses them.
    #[must_use]
    pub fn override_keys_are_used(mut self, used: bool) -> Self {
        self.override_keys_are_used = used;
        self
    }

    /// Code that is notified of each step of each call.
    #[must_use]
    pub fn observe(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The effect of a person's no, instead of the config's value.
    #[must_use]
    pub fn on_denial(mut self, on_denial: Option<OnDenial>) -> Self {
        self.on_denial = on_denial;
        self
    }

    /// The run that a person's no ends under `on_denial: stop`.
    #[must_use]
    pub fn run(mut self, run: Run) -> Self {
        self.run = run;
        self
    }

    /// The project whose own rules of the user apply; none unless set. `warn` tells the user why a rule does not apply, or
    /// why it could not be stored.
    #[must_use]
    pub fn project(mut self, project: Option<Project>, warn: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.project = project.map(|project| (project, Box::new(warn) as Warn));
        self
    }

    /// Decisions that an earlier process of the same session remembered. An existing controller has its own memory.
    #[must_use]
    pub fn remembering(mut self, remembered: Vec<RememberedDecision>) -> Self {
        self.remembered = remembered;
        self
    }

    /// Opens the session. The first entry of its audit log says how it is set up.
    ///
    /// # Errors
    /// Fails if the sandbox, the tools, the config's values or the audit log cannot be used.
    pub fn open(mut self) -> Result<Session, OpenError> {
        if let Log::At(file) = &self.log {
            self.config.set_audit_log(file.clone());
        }
        let state = self.state.unwrap_or_else(|| Places::from_env().state);
        let undo_state = state.clone();
        let unknown = &self.config.main.override_keys;
        if self.overriding.is_none() && !self.override_keys_are_used && !unknown.is_empty() {
            return Err(Faults(unknown.clone()).into());
        }
        let (config, policy, tools, launcher) = match self.tools {
            Tools::Config(wrap) => {
                let fails = self.config.main.sandbox.os_sandbox_fallback == Fallback::FailFast;
                if fails && lacks_required_sandbox(&self.config) {
                    return Err(OpenError::NoSandbox);
                }
                let Catalog { config, policy, toolset, launcher } =
                    Catalog::with_state(self.config, state.clone())?;
                let tools = match wrap {
                    Some(wrap) => wrap(toolset, &launcher),
                    None => toolset,
                };
                (config, policy, tools, Some(launcher))
            }
            Tools::Own(tools) => {
                let policy = self.config.policy(SandboxStatus::default());
                let policy = policy.with_sandbox_probe(lazy_sandbox_status(&self.config));
                (self.config, policy, tools, None)
            }
        };
        let policy = match self.overriding {
            Some(overriding) => policy.with_override(overriding).map_err(OpenError::Override)?,
            None => policy,
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::start());
        let redactor = Arc::new(redactor(&config)?);
        let fresh = SessionId::new(clock.now());
        let id = self.id.unwrap_or_else(|| fresh.to_string());
        let project =
            self.project.map(|(project, warn)| ProjectRules::new(project, Arc::clone(&redactor), warn));
        let mut warnings = warnings(&config, self.mode);
        warnings.extend(project.iter().flat_map(ProjectRules::warnings));
        let log = match self.log {
            Log::Off => None,
            Log::IfConfigured if !config.main.ledger.is_set => None,
            Log::OfConfig | Log::IfConfigured => Some(ledger_path(&config, &state)),
            Log::At(file) => Some(file),
        };
        let ledger = match log {
            Some(path) => {
                let mut start = log::start(self.front_end, self.mode, policy.digest(), warnings);
                let (config, redactor, clock) = (&config, &redactor, &clock);
                let setup = LogSetup { path, state, config, session: fresh, redactor, clock };
                let ledger = log::begin(setup, &mut start)?;
                warnings = start.warnings;
                Some(ledger)
            }
            None => None,
        };
        if let Some(ledger) = &ledger {
            log_killed_commits(&config, &undo_state, &**ledger)?;
        }
        let project = project.map(|project| project.recorder(ledger.clone().map(|ledger| ledger as _)));
        let controller = match self.asking {
            ApproverSource::Controller(controller) => controller,
            ApproverSource::NoOne => controller(&config, self.mode, None, &clock, project, self.remembered),
            ApproverSource::Approver(make) => {
                let context = ApproverContext {
                    config: &config,
                    id: &id,
                    tools: &tools,
                    redactor: &redactor,
                    clock: &clock,
                };
                controller(&config, self.mode, Some(make(context)), &clock, project, self.remembered)
            }
        };
        let mut pipeline = ApprovalToolset::new(tools, controller, policy)
            .redactor(Redactor::clone(&redactor))
            .on_denial(self.on_denial.unwrap_or(config.main.on_denial))
            .run(self.run)
            .unknown(self.unknown)
            .clock(Arc::clone(&clock))
            .session(&id);
        if let Some(ledger) = &ledger {
            pipeline = pipeline.recorder(Arc::clone(ledger) as _);
        }
        if let Some(observer) = self.observer {
            pipeline = pipeline.observer(observer);
        }
        let _log_end = LogEnd(ledger.clone());
        Ok(Session { id, tools: pipeline, config, clock, ledger, launcher, redactor, warnings, _log_end })
    }
}

/// Younger commits may belong to a session that is about to log them.
const LOGGED_WITHIN: Duration = Duration::from_secs(10);

/// Writes entries for commits whose process was killed before it wrote them.
fn log_killed_commits(config: &Config, state: &Path, ledger: &dyn Recorder) -> Result<(), OpenError> {
    if !UndoStore::exists(state) {
        return Ok(());
    }
    // A store that cannot be opened is reported when a command needs it.
    let Ok(store) = UndoStore::open(state, &config.folder) else { return Ok(()) };
    for commit in store.unlogged(LOGGED_WITHIN).unwrap_or_default() {
        let commit = CommitRecord { by: Some(origin::of_this_process()), ..commit };
        let entry = Record::Committed(commit.clone());
        ledger.record(&entry, Durability::Synced).map_err(|e| OpenError::AuditLog(e.to_string()))?;
        store.mark_logged(&commit);
    }
    Ok(())
}

fn controller(
    config: &Config,
    mode: Mode,
    approver: Option<Arc<dyn Approver>>,
    clock: &Arc<dyn Clock>,
    project: Option<ProjectRules>,
    remembered: Vec<RememberedDecision>,
) -> ApprovalController {
    let mut memory = ApprovalMemory::new(Some(config.main.memory_expire.unwrap_or(DEFAULT_MEMORY_EXPIRE)));
    remembered.into_iter().for_each(|decision| memory.insert(decision));
    let setup = ApprovalController::setup(mode)
        .memory(memory)
        .time_out(Some(config.main.approval_timeout.unwrap_or(DEFAULT_APPROVAL_TIMEOUT)))
        .project(project)
        .clock(Arc::clone(clock));
    match approver {
        Some(approver) => setup.approver(approver).build(),
        None => setup.build(),
    }
}

/// Stores the head of the audit log when the session is dropped. Other threads may still hold the log itself.
struct LogEnd(Option<Arc<Ledger>>);

impl Drop for LogEnd {
    fn drop(&mut self) {
        if let Some(ledger) = &self.0 {
            // If this fails, the stored head lags behind.
            drop(ledger.store_head());
        }
    }
}

/// Everything around the calls of one front end.
pub struct Session {
    /// Its name; calls are numbered below it.
    pub id: String,
    /// The tools, behind approval.
    pub tools: ApprovalToolset,
    /// The config.
    pub config: Config,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The audit log, if there is one.
    pub ledger: Option<Arc<Ledger>>,
    /// Starts the processes of the config's tools.
    pub launcher: Option<Arc<SandboxLauncher>>,
    /// Finds secrets.
    pub redactor: Arc<Redactor>,
    /// Warnings for the user, before the first call.
    pub warnings: Vec<String>,
    _log_end: LogEnd,
}

impl Session {
    /// A session on a config: interactive, with the config's tools, no approver and no audit log until set.
    #[must_use]
    pub fn builder<'a>(config: Config) -> SessionBuilder<'a> {
        SessionBuilder {
            config,
            front_end: "library",
            mode: Mode::Interactive,
            id: None,
            asking: ApproverSource::NoOne,
            log: Log::Off,
            state: None,
            tools: Tools::Config(None),
            unknown: Unknown::Blocked,
            overriding: None,
            override_keys_are_used: false,
            observer: None,
            on_denial: None,
            run: Run::Session,
            project: None,
            remembered: Vec::new(),
        }
    }

    /// The controller.
    #[must_use]
    pub fn controller(&self) -> &ApprovalController {
        self.tools.controller()
    }

    /// Submits calls that belong together; see [`ApprovalToolset::submit`].
    pub fn submit(
        &self,
        calls: impl IntoIterator<Item = ApprovalContext>,
    ) -> Vec<BoxFuture<'static, Outcome>> {
        self.tools.submit(calls)
    }

    /// Judges a call without submitting it. No one is asked, nothing runs and nothing is recorded.
    pub fn decide<T>(&self, call: ApprovalContext, read: impl FnOnce(JudgedCall<'_>) -> T) -> T {
        self.tools.decide(call, read)
    }

    /// One more toolset with its own policy, on the same controller, audit log and redaction.
    #[must_use]
    pub fn over(&self, toolset: Arc<dyn Toolset>, policy: Policy) -> ApprovalToolset {
        self.tools.over(toolset, policy)
    }

    /// Ends the processes that the config's tools started, within this time. Returns what a person should know of them.
    pub fn end(&self, patience: Duration) -> Vec<String> {
        self.launcher.as_ref().map(|launcher| launcher.end(patience)).unwrap_or_default()
    }

    /// The audit log file of a config whose state folder is `state`.
    #[must_use]
    pub fn log_path(config: &Config, state: &Path) -> PathBuf {
        ledger_path(config, state)
    }
}
