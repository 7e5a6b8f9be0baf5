//! The shell tools: commands understood, not guessed.
//!
//! A command line is read into every program that it would start; each is judged by the rules, the roots and what is
//! known about the program; the strictest decides. What is not understood is asked about. The bytes that were judged
//! are the bytes that run.

mod aliases;
pub(crate) mod deciding;
mod examples;
mod fill;
mod filters;
mod glob;
mod jobs;
mod judged;
pub(crate) mod line;
mod lists;
mod match_deny;
mod match_words;
mod open;
mod orders;
mod paths;
mod pattern;
mod payload;
pub(crate) mod programs;
mod reach;
mod real;
mod rules;
mod run;
mod secrets;
mod show;
mod start;
#[cfg(test)]
mod tests;
mod touched;
mod variables;
mod verdict;
mod wish;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use askfirst::ports::Launcher;
use askfirst::toolset::BoxFuture;
use askfirst::{
    Approval, ApprovalAware, ApprovalContext, ApprovalRequest, Assessment, Because, Fact, Invocation, Shown,
    ToolDefinition, ToolError, Toolset,
};
use serde_json::Value;

pub(crate) use examples::rule_matches;
pub use reach::Masked;

use judged::Judged;
use reach::Reach;
use rules::{Layer, Speaks};
use run::Runner;
use start::Opened;
use verdict::Judge;
use wish::Wish;

use crate::config::Config;
use crate::tools::filesystem::FilesError;
use crate::tools::filesystem::place::Ground;
use crate::tools::filesystem::roots::Roots;
use crate::tools::filesystem::sightings::Sightings;

/// The shell tools cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum ShellError {
    /// The config has no section for them.
    #[error("the config has no `shell:` section")]
    NotOffered,
    /// The roots cannot be opened.
    #[error(transparent)]
    Roots(#[from] FilesError),
    /// An expression of `dangerous_patterns` cannot be read.
    #[error("a dangerous pattern cannot be read: {0}")]
    Pattern(#[from] regex::Error),
}

/// Tools that run commands.
pub struct ShellToolset(Arc<Inner>);

struct Inner {
    main: Layer,
    floors: Vec<Layer>,
    roots: Roots,
    network: bool,
    masked: Masked,
    sightings: Sightings,
    runner: Runner,
    definitions: Vec<ToolDefinition>,
}

impl ShellToolset {
    /// The tools as a config has them.
    ///
    /// # Errors
    /// Fails if the config has no `shell:` section, or if its roots or patterns cannot be used.
    pub fn new(config: &Config, launcher: Arc<dyn Launcher>) -> Result<Self, ShellError> {
        Self::with_masks(config, launcher, Masked::No)
    }

    /// The same, where walls may hide what is never read.
    ///
    /// # Errors
    /// As [`ShellToolset::new`].
    pub fn with_masks(
        config: &Config,
        launcher: Arc<dyn Launcher>,
        masked: Masked,
    ) -> Result<Self, ShellError> {
        let shell = config.main.shell.as_ref().ok_or(ShellError::NotOffered)?;
        let floors = config.shell_floors();
        let floors = floors.map(|(settings, shell)| Layer::new(settings, shell, Speaks::Floor));
        Ok(Self(Arc::new(Inner {
            main: Layer::new(&config.main, shell, Speaks::Main)?,
            floors: floors.collect::<Result<_, _>>()?,
            roots: Roots::new(config)?,
            network: shell.network,
            masked,
            sightings: Sightings::default(),
            runner: Runner::new(shell, launcher),
            definitions: wish::definitions(),
        })))
    }
}

impl Inner {
    /// Judges what a call would run.
    fn judge(&self, wish: &Wish) -> Judged {
        let ground = Ground::new(&self.roots);
        let said = std::iter::once(&self.main).chain(&self.floors);
        let outside =
            said.filter_map(|layer| Some((layer.outside_roots?, layer.origin("shell.outside_roots"))));
        let (outside, outside_origin) =
            outside.max_by_key(|(approval, _)| *approval).unwrap_or((Approval::Required, None));
        let reach = Reach {
            ground: &ground,
            outside,
            outside_origin,
            masked: self.masked,
            left: Cell::new(reach::MAX_WALK),
            seen: RefCell::default(),
        };
        let home = self.roots.home.as_deref();
        let folder = match wish.folder.as_os_str().is_empty() {
            true => real::real(&self.roots.folder),
            false => real::real(&self.roots.folder.join(&wish.folder)),
        };
        let folder = folder.unwrap_or_else(|| self.roots.folder.clone());
        let opened: Opened = match &wish.what {
            wish::What::Line => open::open_text(&wish.text, &folder, home),
            wish::What::Words(words) => open::open_words(words, &wish.text, &folder, home),
        };
        let (main, floors, network) = (&self.main, self.floors.as_slice(), self.network);
        let judge = Judge { main, floors, reach, home, cwd: &folder, network };
        judge.judge(&wish.text, opened)
    }

    fn assess(&self, call: &ApprovalContext, wish: &Wish) -> Assessment {
        let mut judged = self.judge(wish);
        self.sightings.saw(call, std::mem::take(&mut judged.basis));
        let approval = judged.approval();
        let mut because: Vec<Because> = Vec::new();
        for said in judged.deciding().into_iter().filter_map(|reason| reason.because.as_ref()) {
            if !because.contains(said) {
                because.push(said.clone());
            }
        }
        let facts = show::facts(wish, &judged);
        let base = match approval {
            Approval::None => Assessment::harmless(),
            Approval::Deny => {
                let why: Vec<&str> = judged.deciding().into_iter().map(|reason| &*reason.text).collect();
                Assessment::blocked(why.join("; "))
            }
            Approval::OncePerSession | Approval::Required | Approval::Human => {
                let payload = payload::payload(wish, &judged);
                let mut request =
                    ApprovalRequest::new(&call.tool_name, show::description(wish, &judged), payload);
                request.approval = approval;
                request.facts = facts.clone();
                request.risk = judged.risk;
                request.patterns = payload::patterns(wish, &judged, &request.payload);
                request.same = Some(payload::same(wish, &judged));
                Assessment::needs_approval(request)
            }
        };
        let exclude_keys = if wish.stdin.is_empty() { Vec::new() } else { vec!["stdin".to_owned()] };
        Assessment {
            because,
            firm: true,
            starts_process: true,
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
            if let Some(done) = inner.runner.about_jobs(&name, invocation.args()).await {
                return done;
            }
            let wish = Wish::read(&name, invocation.args()).ok_or(ToolError::Unknown(name))?;
            let wish = wish.map_err(ToolError::BadArgs)?;
            let now = inner.judge(&wish).basis;
            match &invocation.basis {
                Some(basis) if *basis == Value::from(now.clone()) => {}
                Some(_) => {
                    return Err(ToolError::Stale("a path leads elsewhere since it was shown".to_owned()));
                }
                None => inner.sightings.check(&invocation.call, &now)?,
            }
            inner.runner.run(&inner.roots.folder, wish, invocation).await
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
        match Wish::read(&call.tool_name, &call.args) {
            None => Assessment::silent(),
            Some(Err(why)) => Assessment { firm: true, starts_process: true, ..Assessment::blocked(why) },
            Some(Ok(wish)) => self.0.assess(call, &wish),
        }
    }

    fn present(&self, call: &ApprovalContext, _: &ApprovalRequest) -> Shown {
        match Wish::read(&call.tool_name, &call.args) {
            Some(Ok(wish)) => show::shown(&wish, &self.0.judge(&wish)),
            Some(Err(_)) | None => Shown::default(),
        }
    }
}
