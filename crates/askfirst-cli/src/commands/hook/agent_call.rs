//! Translates a call of a coding agent to calls of askfirst's tools, which the policy judges.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use askfirst::{Approval, ApprovalContext, Fact};
use askfirst_agents::HookEvent;
use askfirst_agents::tools::{self, Mapping, Step};
use askfirst_config::Config;
use askfirst_files::{RootView, Roots};
use askfirst_shell::Roots as _;

/// The largest file whose edit is shown.
const MAX_FILE: u64 = 16 << 20;

/// A call of the agent in terms of askfirst.
pub struct AgentCall {
    /// The calls that do the same, with facts about each.
    pub steps: Vec<(ApprovalContext, Vec<Fact>)>,
    /// The files in roots that the call changes.
    pub written: Vec<PathBuf>,
    /// The tool whose effect askfirst cannot tell, although it knows the tool.
    pub unclear: Option<String>,
}

/// Translates the call of an event. A call about files outside every root keeps the agent's name for its tool, and its
/// steps in roots are judged as well.
pub fn agent_call(event: &HookEvent, config: &Config, state: &Path) -> Result<AgentCall, String> {
    let own = tools::under_own_name(event);
    let (mut steps, mut written, mut is_outside, mut is_unclear) = (Vec::new(), Vec::new(), false, false);
    match tools::map(event) {
        Mapping::Unknown(_) => is_unclear = tools::is_mapped(event),
        Mapping::Known(mapped) => {
            let places = FilePlaces { config, state };
            for step in mapped {
                let (calls, facts) = match step {
                    Step::Call(call, facts) => (vec![call], facts),
                    Step::Update(update) => {
                        let paths = update.paths().map(Path::new);
                        let mut outside = paths.clone().map(|path| places.is_outside(path, FileUse::Write));
                        let leads_outside =
                            outside.try_fold(false, |any, one| Ok::<_, String>(any | one?))?;
                        let current = text_of(Path::new(update.path())).ok().filter(|_| !leads_outside);
                        let Some(calls) = current.and_then(|current| update.calls(&current).ok()) else {
                            paths.clone().try_for_each(|path| places.check_writable(path))?;
                            (is_outside, is_unclear) =
                                (is_outside | leads_outside, is_unclear | !leads_outside);
                            continue;
                        };
                        (calls, Vec::new())
                    }
                };
                for call in calls {
                    let paths = paths_of(&call);
                    let outside = paths.iter().map(|(path, used)| places.is_outside(path, *used));
                    if outside.collect::<Result<Vec<bool>, _>>()?.contains(&true) {
                        is_outside = true;
                        continue;
                    }
                    let changed = paths.into_iter().filter(|(_, used)| *used == FileUse::Write);
                    written.extend(changed.map(|(path, _)| path));
                    steps.push((call, facts.clone()));
                }
            }
        }
    }
    let unclear = is_unclear.then(|| own.tool_name.clone());
    if steps.is_empty() || is_outside || is_unclear {
        steps.push((own, vec![Fact::new("in", event.cwd.as_str())]));
    }
    Ok(AgentCall { steps, written, unclear })
}

/// The file tools that change nothing.
const READS: [&str; 4] = ["read_file", "list_files", "find_in_files", "stat_file"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileUse {
    Read,
    Write,
}

/// Returns the paths that a call of a file tool uses. Other tools have none.
fn paths_of(call: &ApprovalContext) -> Vec<(PathBuf, FileUse)> {
    let tool = call.tool_name.as_str();
    if matches!(tool, "shell" | "web_fetch") || tool.starts_with("mcp__") {
        return Vec::new();
    }
    let used = if READS.contains(&tool) { FileUse::Read } else { FileUse::Write };
    let path = |key| Some((PathBuf::from(call.args.get(key)?.as_str()?), used));
    ["path", "to"].into_iter().filter_map(path).collect()
}

/// The places of the config, for questions about the files of a call.
struct FilePlaces<'a> {
    config: &'a Config,
    state: &'a Path,
}

impl FilePlaces<'_> {
    /// Whether a path is outside every root. Fails if the lists of files that are never read or written have it.
    fn is_outside(&self, path: &Path, use_of_file: FileUse) -> Result<bool, String> {
        let real = real_of(path)?;
        if self.config.main.sandbox.paths.values().any(|root| real.starts_with(&root.root)) {
            return Ok(false);
        }
        self.check(path, &real, use_of_file)?;
        Ok(true)
    }

    /// Fails if no call may write this file, in a root or outside.
    fn check_writable(&self, path: &Path) -> Result<(), String> {
        let real = real_of(path)?;
        self.check(path, &real, FileUse::Write)?;
        let roots = Roots::new(self.config).map_err(|e| e.to_string())?;
        match RootView::new(&roots).governs(&real) {
            Some(root) if !root.writable || root.write == Approval::Deny => {
                Err(format!("`{}` is read-only: it is in `{}:`", path.display(), root.root))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check(&self, path: &Path, real: &Path, use_of_file: FileUse) -> Result<(), String> {
        let roots = Roots::new(self.config).map_err(|e| e.to_string())?;
        let view = RootView::new(&roots);
        let (reason, used) = match use_of_file {
            FileUse::Read => (view.never_read(real), "read"),
            FileUse::Write => (view.never_write(real), "written"),
        };
        let is_ours = real_path(self.state).is_ok_and(|state| real.starts_with(state));
        let reason = reason.or_else(|| is_ours.then(|| "askfirst keeps its state there".to_owned()));
        reason.map_or(Ok(()), |why| Err(format!("`{}` is never {used}: {why}", path.display())))
    }
}

fn real_of(path: &Path) -> Result<PathBuf, String> {
    real_path(path).map_err(|e| format!("cannot look at `{}`: {e}", path.display()))
}

/// Follows the links in the part of a path that exists.
fn real_path(path: &Path) -> std::io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(real) => return Ok(missing.iter().rev().fold(real, |path, name| path.join(name))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // A link that leads nowhere, or a name that is none.
        let is_link = existing.symlink_metadata().is_ok();
        let (Some(name), Some(parent)) = (existing.file_name().filter(|_| !is_link), existing.parent())
        else {
            return Err(std::io::ErrorKind::NotFound.into());
        };
        missing.push(name.to_owned());
        existing = parent;
    }
}

/// The text of a regular file.
fn text_of(path: &Path) -> std::io::Result<String> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
    let file = File::options().read(true).custom_flags(flags.cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    if file.take(MAX_FILE + 1).read_to_string(&mut text)? as u64 > MAX_FILE {
        return Err(std::io::Error::other("it is too large"));
    }
    Ok(text)
}
