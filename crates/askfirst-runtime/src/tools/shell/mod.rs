//! The shell tools. They parse a command line instead of guessing what it does.
//!
//! askfirst finds every program that a command line would start. It judges each one by the rules, the roots and the
//! program table; the strictest result decides.
//! askfirst asks about a command line that it cannot parse. The bytes that were judged are the bytes that run.

mod jobs;
mod run;
mod scripts;
mod show;
#[cfg(test)]
mod tests;
mod wish;

use std::sync::Arc;

use askfirst::ports::{Access, Launcher, WriteScope};
use askfirst::toolset::BoxFuture;
use askfirst::{
    Approval, ApprovalAware, ApprovalContext, ApprovalRequest, Assessment, Because, Fact, Invocation,
    RunFactKind, Shown, ToolDefinition, ToolError, Toolset, View,
};
use askfirst_config::{Config, Disk, LayerRole, NetworkAccess};
use askfirst_files::{CallTargets, FilesError, RootView, Roots};
use askfirst_shell::{Judged, Layer, Script, ShellPolicy};
pub use askfirst_shell::{Masked, SandboxView};
use serde_json::Value;

use run::Runner;
pub(crate) use run::run_to_end;
use scripts::Scripts;
use wish::{ShellArguments, Wait};

/// Why the shell tools cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The config has no `shell:` section.
    #[error("the config has no `shell:` section")]
    NotOffered,
    /// The roots cannot be opened.
    #[error(transparent)]
    Roots(#[from] FilesError),
    /// An expression of `dangerous_patterns` is invalid.
    #[error("invalid dangerous pattern: {0}")]
    Pattern(#[from] askfirst_shell::BadPattern),
}

/// Tools that run commands.
pub struct ShellToolset(Arc<ShellTools>);

struct ShellTools {
    policy: ShellPolicy,
    roots: Roots,
    disk: Disk,
    sandbox: Box<dyn SandboxView + Send + Sync>,
    targets: CallTargets,
    scripts: Scripts,
    runner: Runner,
    definitions: Vec<ToolDefinition>,
}

impl ShellToolset {
    /// Creates the tools for a config, for a launcher without a sandbox.
    ///
    /// # Errors
    /// Fails if the config has no `shell:` section, or if its roots or patterns cannot be used.
    pub fn new(config: &Config, launcher: Arc<dyn Launcher>) -> Result<Self, ShellError> {
        Self::with_masks(config, launcher, Masked::No)
    }

    /// Creates the tools for a config, for a launcher whose sandbox may hide the files of `never_read`.
    ///
    /// # Errors
    /// Fails in the same cases as [`ShellToolset::new`].
    pub fn with_masks(
        config: &Config,
        launcher: Arc<dyn Launcher>,
        masked: Masked,
    ) -> Result<Self, ShellError> {
        Self::with_sandbox(config, launcher, Box::new(masked))
    }

    /// Creates the tools for a config, for a launcher with this sandbox.
    ///
    /// # Errors
    /// Fails in the same cases as [`ShellToolset::new`].
    pub fn with_sandbox(
        config: &Config,
        launcher: Arc<dyn Launcher>,
        sandbox: Box<dyn SandboxView + Send + Sync>,
    ) -> Result<Self, ShellError> {
        let shell = config.main.shell.as_ref().ok_or(ShellError::NotOffered)?;
        let floors = config.shell_floors();
        let floors = floors.map(|(settings, shell)| Layer::new(shell.layer(settings, LayerRole::Floor)));
        let policy = ShellPolicy {
            main: Layer::new(shell.layer(&config.main, LayerRole::Main))?,
            floors: floors.collect::<Result<_, _>>()?,
        };
        let roots = Roots::new(config)?;
        Ok(Self(Arc::new(ShellTools {
            policy,
            disk: Disk::new(roots.home().map(ToOwned::to_owned)),
            roots,
            sandbox,
            targets: CallTargets::default(),
            scripts: Scripts::new(Box::new(scripts::read_script)),
            runner: Runner::new(shell, launcher),
            definitions: wish::definitions(),
        })))
    }
}

impl ShellTools {
    /// Judges a command on the file system as it is now.
    fn judge<'s>(&self, script: &'s Script) -> Judged<'s> {
        self.policy.judge(script, &self.disk, &RootView::new(&self.roots), &*self.sandbox)
    }

    /// The command of a call that was assessed, read again only if the file system changed how it reads.
    fn script(&self, wish: &ShellArguments) -> Arc<Script> {
        self.scripts.take(wish, self.roots.folder(), &self.disk)
    }

    fn assess(&self, call: &ApprovalContext, wish: &ShellArguments) -> Assessment {
        let script = self.scripts.read(wish, self.roots.folder(), &self.disk);
        let assessment = self.assess_script(call, wish, &script);
        if !matches!(assessment.view, View::Blocked(_)) {
            self.scripts.keep(wish, script);
        }
        assessment
    }

    fn assess_script(&self, call: &ApprovalContext, wish: &ShellArguments, script: &Script) -> Assessment {
        let mut judged = self.judge(script);
        self.targets.remember(call, std::mem::take(&mut judged.basis));
        // A server or a watcher would not notice changes below a view.
        let approval = match judged.approval() {
            Approval::Rehearse if wish.wait == Wait::No => Approval::Required,
            approval => approval,
        };
        let mut because: Vec<Because> = Vec::new();
        for said in judged.deciding().into_iter().filter_map(|reason| reason.because.as_ref()) {
            if !because.contains(said) {
                because.push(said.clone());
            }
        }
        let mut facts = show::facts(wish, &judged);
        if self.runner.writes_of(wish) == WriteScope::Products {
            let text = "only build output; all other files are read-only for it";
            facts.push(Fact::new("writes", text));
        }
        let base = match approval {
            Approval::None => Assessment::harmless(),
            Approval::Deny => {
                let why: Vec<&str> = judged.deciding().into_iter().map(|reason| &*reason.text).collect();
                Assessment::blocked(why.join("; "))
            }
            Approval::Rehearse | Approval::OncePerSession | Approval::Required | Approval::Human => {
                let command = wish.command_call();
                let payload = judged.payload(command);
                let mut request =
                    ApprovalRequest::new(&call.tool_name, show::description(wish, &judged), payload);
                request.approval = approval;
                request.facts = facts.clone();
                request.risk = judged.risk;
                request.patterns = judged.patterns(command, &request.payload);
                request.same = Some(judged.same(command));
                Assessment::needs_approval(request)
            }
        };
        let exclude_keys = if wish.stdin.is_empty() { Vec::new() } else { vec!["stdin".to_owned()] };
        Assessment {
            because,
            firm: true,
            starts_process: true,
            rehearses: true,
            facts,
            risk: judged.risk,
            exclude_keys,
            ..base
        }
    }
}

impl Toolset for ShellToolset {
    fn tools(&self) -> Vec<ToolDefinition> {
        self.0.definitions.clone()
    }

    fn call(&self, invocation: Invocation) -> BoxFuture<'_, Result<Value, ToolError>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let name = invocation.call.tool_name.clone();
            if let Some(done) = inner.runner.about_jobs(&invocation).await {
                return done;
            }
            let wish = ShellArguments::read(&name, invocation.args()).ok_or(ToolError::Unknown(name))?;
            let wish = wish.map_err(ToolError::BadArgs)?;
            // The verdict is worked out again on the file system as it is: a link may have been swapped since.
            let script = inner.script(&wish);
            let judged = inner.judge(&script);
            let (now, network) = (judged.basis, judged.network);
            match &invocation.basis {
                Some(basis) if *basis == Value::from(now.clone()) => {}
                Some(_) => {
                    return Err(ToolError::Stale("a path leads elsewhere than when it was shown".to_owned()));
                }
                None => inner.targets.check(&invocation.call, &now)?,
            }
            // The person saw that the command uses the network, or the mode or an earlier answer stands for one.
            let was_asked =
                matches!(invocation.access, Access::Standing | Access::Remembered | Access::Approved);
            let gets_network = match network {
                Some(NetworkAccess::None) => true,
                Some(NetworkAccess::Required) => was_asked,
                Some(NetworkAccess::Deny) | None => false,
            };
            let accepted = if gets_network { vec![RunFactKind::Network] } else { Vec::new() };
            drop(script);
            inner.runner.run(inner.roots.folder(), wish, accepted, invocation).await
        })
    }

    fn approval(&self) -> Option<&dyn ApprovalAware> {
        Some(self)
    }

    fn definition(&self, name: &str) -> Option<ToolDefinition> {
        self.0.definitions.iter().find(|tool| tool.name == name).cloned()
    }
}

impl ApprovalAware for ShellToolset {
    fn check_approval(&self, call: &ApprovalContext) -> Assessment {
        if run::is_about_jobs(&call.tool_name) {
            let facts = vec![Fact::new("job", "of this session")];
            return Assessment { firm: true, facts, ..Assessment::harmless() };
        }
        match ShellArguments::read(&call.tool_name, &call.args) {
            None => Assessment::silent(),
            Some(Err(why)) => Assessment { firm: true, starts_process: true, ..Assessment::blocked(why) },
            Some(Ok(wish)) => self.0.assess(call, &wish),
        }
    }

    fn present(&self, call: &ApprovalContext, _: &ApprovalRequest) -> Shown {
        match ShellArguments::read(&call.tool_name, &call.args) {
            Some(Ok(wish)) => {
                let script = self.0.script(&wish);
                let shown = show::shown(&wish, &self.0.judge(&script), self.0.roots.folder());
                self.0.scripts.keep(&wish, script);
                shown
            }
            Some(Err(_)) | None => Shown::default(),
        }
    }
}
