//! The tools that a config offers, with the policy for them. This module opens no audit log and asks no one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::{Approval, ApprovalContext, Mode, Policy, SandboxStatus, Toolset};
use askfirst_config::{Config, Places};
use askfirst_display::redact::{BadGlob, Redactor, secret_env};

use crate::assess::{self, JudgedCall, Unknown};
use crate::launcher::{SandboxLauncher, accepts_missing_sandbox, lazy_sandbox_status};
use crate::sandbox::{SYSTEM_PATHS, probe_machine};
use crate::tools::CombinedToolset;
use crate::tools::command::CommandToolset;
use crate::tools::filesystem::{FileToolset, FilesError};
use crate::tools::shell::{Masked, SandboxView, ShellError, ShellToolset};
use askfirst::ports::Launcher;

/// Why the tools of a config cannot be used here.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The roots cannot be used.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The shell tools cannot be used.
    #[error(transparent)]
    Shell(#[from] ShellError),
}

/// The tools of a config and the policy for them.
pub struct Catalog {
    /// The config.
    pub config: Config,
    /// The policy.
    pub policy: Policy,
    /// The built-in tools and the command tools of the config.
    pub toolset: Arc<dyn Toolset>,
    /// Starts the processes of the tools, and can end them.
    pub launcher: Arc<SandboxLauncher>,
}

impl Catalog {
    /// Creates the tools that a config offers.
    ///
    /// # Errors
    /// Fails if a root or a pattern of the config cannot be used here.
    pub fn new(config: Config) -> Result<Self, CatalogError> {
        let state = Places::from_env().state;
        Self::with_state(config, state)
    }

    /// Creates the tools that a config offers, with the changes of commands in this state folder.
    ///
    /// # Errors
    /// Fails if a root or a pattern of the config cannot be used here.
    pub fn with_state(config: Config, state: PathBuf) -> Result<Self, CatalogError> {
        let launcher = Arc::new(SandboxLauncher::new(config.clone()).with_state(state.clone()));
        let views = Arc::clone(&launcher);
        let policy = config.policy(SandboxStatus::default());
        let policy = policy.with_sandbox_probe(lazy_sandbox_status(&config));
        let policy = policy.with_rehearsal_probe(move || views.view_obstacle());
        let shell = config.main.shell.clone().unwrap_or_default();
        let commands = CommandToolset::new(
            config.command_tools(),
            environment(&shell.env_pass),
            shell.limits,
            Arc::clone(&launcher) as _,
        );
        let mut toolset = CombinedToolset::default();
        if !config.main.sandbox.paths.is_empty() {
            toolset = toolset.with(Arc::new(FileToolset::with_state(&config, &state)?));
        }
        if config.main.shell.is_some() {
            let sandbox = MachineView { launcher: Arc::clone(&launcher) };
            let shell = ShellToolset::with_sandbox(&config, Arc::clone(&launcher) as _, Box::new(sandbox))?;
            toolset = toolset.with(Arc::new(shell));
        }
        let toolset = Arc::new(toolset.with(Arc::new(commands)));
        Ok(Self { config, policy, toolset, launcher })
    }

    /// Judges a call without submitting it. askfirst asks no one, runs nothing and logs nothing.
    ///
    /// A tool of another program counts as known if an entry of `tools:` covers its name, or if it is behind a
    /// gateway.
    pub fn decide<T>(&self, call: ApprovalContext, read: impl FnOnce(JudgedCall<'_>) -> T) -> T {
        assess::decide(call, &*self.toolset, &self.policy, Unknown::Unnamed, read)
    }
}

/// The sandbox of this machine, as the commands of a config see it.
struct MachineView {
    launcher: Arc<SandboxLauncher>,
}

impl SandboxView for MachineView {
    /// Only the full tier hides files. The first call in this process starts a program in the sandbox to find it out.
    /// The launcher uses the same answer: where it is yes, it starts no program without the sandbox.
    fn masked(&self) -> Masked {
        match &probe_machine().full {
            Ok(_) => Masked::BySandbox,
            Err(_) => Masked::No,
        }
    }

    fn shown(&self) -> &[&str] {
        &SYSTEM_PATHS
    }

    fn private(&self) -> &[&str] {
        match self.launcher.view_obstacle() {
            None => &["/tmp"],
            Some(_) => &[],
        }
    }

    fn is_in_toolchain(&self, path: &Path) -> bool {
        self.launcher.toolchains().contains(path)
    }
}

fn environment(pass: &[String]) -> Vec<(OsString, OsString)> {
    pass.iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect()
}

/// Returns the path of the audit log.
#[must_use]
pub fn ledger_path(config: &Config, state: &Path) -> PathBuf {
    config.main.ledger.path.clone().unwrap_or_else(|| state.join("ledger.jsonl"))
}

/// Creates the redactor for the values that the config calls secret.
///
/// # Errors
/// Fails if a name in `secrets:` is not a valid glob.
pub fn redactor(config: &Config) -> Result<Redactor, BadGlob> {
    let secrets = &config.main.secrets;
    Redactor::new(&secrets.args, secret_env(&secrets.env, std::env::vars_os())?)
}

/// Returns warnings about settings that weaken the protection.
#[must_use]
pub fn warnings(config: &Config, mode: Mode) -> Vec<String> {
    let mut warnings = Vec::new();
    match mode {
        Mode::ApproveAll => {
            warnings.push("UNSAFE: --approve-all approves every request without asking".to_owned())
        }
        Mode::Interactive | Mode::Strict => {}
    }
    // To check the sandbox itself, askfirst would have to start a process, and many sessions never start one.
    if accepts_missing_sandbox(config) {
        warnings.push(
            "where the sandbox does not work, processes run without it: `sandbox.require_os_sandbox` is false"
                .to_owned(),
        );
    }
    let open = |name: &str| {
        let entry = config.main.rules.exact(name);
        entry.is_some_and(|entry| entry.cases().iter().any(|case| case.approval == Some(Approval::None)))
    };
    for name in ["shell", "exec"].into_iter().filter(|name| open(name)) {
        warnings
            .push(format!("`tools.{name}` is `none`: every command that no rule denies runs without asking"));
    }
    warnings.extend(config.warnings.iter().map(ToString::to_string));
    warnings
}

#[cfg(test)]
#[path = "catalog/tests.rs"]
mod tests;
