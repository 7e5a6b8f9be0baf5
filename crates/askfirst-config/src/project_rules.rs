//! The user's own rules for one project: approvals that hold beyond the session.
//!
//! They are in the user's state folder, one file for each project, and never in the project's files, which an agent can
//! write. A file that another user could have written, or that is damaged, has no rules.

mod place;
mod worktree;

use std::path::{Path, PathBuf};

use askfirst::{
    ApprovalDecision, ApprovalScope, Cause, Digest, MemoryId, OfferedPattern, RememberedDecision, Risk,
    Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::effective::EffectiveLine;
use super::quote::escape;
use super::state_file::{self, FileStamp, LockedFolder, StateFileError, VERSION};

/// The folder with the files, below the state folder.
const FOLDER: &str = "projects";

/// The largest number of rules of one project.
const MAX_RULES: usize = 1_000;

/// A project, as far as the user's own rules for it are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The real path of its folder, which is its key.
    folder: String,
    /// The folder with the files of all projects.
    files: PathBuf,
    /// The same folder in the main repository, if the project is in a worktree that the main repository lists.
    main: Option<Box<Project>>,
}

/// One rule: the calls that the user always approves in a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectRule {
    /// The number of the rule, which no other rule of the project ever gets.
    pub id: u64,
    /// When the user approved it.
    pub since: Timestamp,
    /// The name of the tool.
    pub tool_name: String,
    /// The calls in words, as the user saw them.
    pub description: String,
    /// The calls.
    pub covers: RuleScope,
    /// The digest of the tool's definition. A tool with another definition is another tool.
    pub definition: Option<Digest>,
    /// The highest risk of the calls.
    pub risk: Risk,
}

/// The calls that a rule covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleScope {
    /// The calls with this payload.
    Payload(Value),
    /// The calls whose payload matches this pattern.
    Pattern(OfferedPattern),
}

/// Whether the rules of the main repository also apply in a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MainRules {
    /// They apply.
    Apply,
    /// They do not apply.
    DoNotApply,
}

/// The content of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProjectFile {
    version: u32,
    project: String,
    /// The number of the next rule.
    next: u64,
    /// The folder in the main repository whose rules also apply here, because the user confirmed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    main: Option<String>,
    rules: Vec<ProjectRule>,
}

/// The rules that apply in a project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RulesInForce {
    /// The rules of the project itself.
    pub own: Vec<ProjectRule>,
    /// The rules of the main repository, if the project is in a worktree for which the user confirmed them.
    pub of_main: Vec<ProjectRule>,
    /// Why rules do not apply.
    pub warnings: Vec<String>,
    /// The state of the files, for [`Project::has_changed`].
    stamps: Vec<Option<FileStamp>>,
}

impl RulesInForce {
    /// Returns the rules as remembered decisions.
    pub fn decisions(&self) -> impl Iterator<Item = RememberedDecision> {
        // The numbers of two files may be equal, and no one sees these.
        let numbered = |(number, rule): (u64, &ProjectRule)| RememberedDecision {
            id: MemoryId(number),
            ..rule.decision()
        };
        (1..).zip(self.own.iter().chain(&self.of_main)).map(numbered)
    }
}

impl ProjectRule {
    fn new(id: u64, entry: RememberedDecision) -> Self {
        let RememberedDecision { since, tool_name, payload, definition, pattern, risk, description, .. } =
            entry;
        let (description, covers) = match pattern {
            Some(pattern) => (pattern.label.clone(), RuleScope::Pattern(pattern)),
            None => (description, RuleScope::Payload(payload)),
        };
        Self { id, since, tool_name, description, covers, definition, risk }
    }

    /// Returns the rule as a remembered decision.
    #[must_use]
    pub fn decision(&self) -> RememberedDecision {
        let (scope, payload, pattern) = match &self.covers {
            RuleScope::Payload(payload) => (ApprovalScope::Session, payload.clone(), None),
            RuleScope::Pattern(pattern) => (ApprovalScope::Pattern, Value::Null, Some(pattern.clone())),
        };
        RememberedDecision {
            id: MemoryId(self.id),
            tool_name: self.tool_name.clone(),
            payload,
            definition: self.definition,
            any_definition: false,
            pattern,
            risk: self.risk,
            decision: ApprovalDecision::yes(Cause::Memory).remembered(scope).always(),
            description: self.description.clone(),
            since: self.since,
            until: None,
            hits: 0,
        }
    }

    /// Whether another rule covers the same calls.
    fn is_about_the_same(&self, other: &Self) -> bool {
        self.tool_name == other.tool_name
            && self.covers == other.covers
            && self.definition == other.definition
    }
}

impl Project {
    /// Returns the real path of the project's folder.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns the same folder in the main repository, if the project is in a worktree that the main repository lists.
    #[must_use]
    pub fn main(&self) -> Option<&Self> {
        self.main.as_deref()
    }

    /// Returns the file with the rules.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.files.join(self.file_name())
    }

    fn file_name(&self) -> String {
        format!("{}.json", Digest::of(&self.folder))
    }

    /// Returns the rules of the project itself.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is damaged, or could have been written by another user.
    pub fn rules(&self) -> Result<Vec<ProjectRule>, StateFileError> {
        Ok(self.read()?.rules)
    }

    /// Returns all rules that apply in the project. Rules that cannot be read safely do not apply.
    #[must_use]
    pub fn in_force(&self) -> RulesInForce {
        // A change after this point makes the next call read the files again.
        let mut found = RulesInForce { stamps: self.stamps(), ..RulesInForce::default() };
        let cannot = |error: &StateFileError| format!("your rules for this project do not apply: {error}");
        let file = match self.read() {
            Ok(file) => file,
            Err(error) => {
                found.warnings.push(cannot(&error));
                return found;
            }
        };
        found.own = file.rules;
        let Some(main) = self.main() else { return found };
        match main.rules() {
            Ok(rules) if file.main.as_deref() == Some(main.folder()) => found.of_main = rules,
            Ok(rules) if !rules.is_empty() => found.warnings.push(format!(
                "your rules for `{}` do not apply in this worktree of it\nhint: run `askfirst trust` here",
                escape(main.folder())
            )),
            Ok(_) => {}
            Err(error) => found.warnings.push(cannot(&error)),
        }
        found
    }

    /// Whether a file changed since the rules were read.
    #[must_use]
    pub fn has_changed(&self, since: &RulesInForce) -> bool {
        self.stamps() != since.stamps
    }

    fn stamps(&self) -> Vec<Option<FileStamp>> {
        std::iter::once(self).chain(self.main()).map(|project| FileStamp::of(&project.file())).collect()
    }

    /// Adds rules, each instead of one about the same calls.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written safely. No rule is added then.
    pub fn add(&self, approvals: Vec<RememberedDecision>) -> Result<Vec<ProjectRule>, StateFileError> {
        self.change(|file| {
            let first = file.next;
            let rules: Vec<ProjectRule> =
                (first..).zip(approvals).map(|(id, entry)| ProjectRule::new(id, entry)).collect();
            file.rules.retain(|old| !rules.iter().any(|new| new.is_about_the_same(old)));
            file.rules.extend(rules.iter().cloned());
            file.next = rules.last().map_or(first, |last| last.id.saturating_add(1));
            if file.rules.len() > MAX_RULES {
                return Err(format!("the project would have more than {MAX_RULES} rules"));
            }
            Ok(rules)
        })
    }

    /// Removes a rule. Returns it, or `None` if there is none with this number.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written safely. The rule then still applies.
    pub fn revoke(&self, id: u64) -> Result<Option<ProjectRule>, StateFileError> {
        if !self.file().exists() {
            return Ok(None);
        }
        self.change(|file| {
            let at = file.rules.iter().position(|rule| rule.id == id);
            Ok(at.map(|at| file.rules.remove(at)))
        })
    }

    /// Whether the user confirmed that the rules of the main repository also apply in this worktree.
    ///
    /// # Errors
    /// Fails if the file cannot be read safely.
    pub fn is_main_confirmed(&self) -> Result<bool, StateFileError> {
        let confirmed = self.read()?.main;
        Ok(confirmed.is_some() && confirmed.as_deref() == self.main().map(Self::folder))
    }

    /// Records whether the rules of the main repository also apply in this worktree.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written safely. Nothing changes then.
    pub fn use_main(&self, choice: MainRules) -> Result<(), StateFileError> {
        self.change(|file| {
            file.main = match choice {
                MainRules::Apply => self.main().map(|main| main.folder().to_owned()),
                MainRules::DoNotApply => None,
            };
            Ok(())
        })
    }

    /// Lists the rules that apply, for a person who looks at the merged config.
    #[must_use]
    pub fn effective(&self) -> Vec<EffectiveLine> {
        let found = self.in_force();
        let line = |project: &Self, rule: &ProjectRule| EffectiveLine {
            key: format!("your_rules[{}]", rule.id),
            value: format!(
                "always yes to {} for {}",
                escape(&rule.tool_name),
                match &rule.covers {
                    RuleScope::Payload(_) => escape(&rule.description),
                    RuleScope::Pattern(pattern) => escape(&pattern.label),
                }
            ),
            from: project.file().display().to_string(),
        };
        let own = found.own.iter().map(|rule| line(self, rule));
        let main =
            self.main().into_iter().flat_map(|main| found.of_main.iter().map(move |rule| line(main, rule)));
        own.chain(main).collect()
    }

    fn read(&self) -> Result<ProjectFile, StateFileError> {
        let path = self.file();
        let file: Option<ProjectFile> = state_file::read(&path)?;
        let Some(file) = file else {
            let project = self.folder.clone();
            return Ok(ProjectFile { version: VERSION, project, next: 1, main: None, rules: Vec::new() });
        };
        if file.project != self.folder {
            return Err(unreadable(&path, "it is about another project"));
        }
        if file.rules.iter().any(|rule| rule.id >= file.next) {
            return Err(unreadable(&path, "the numbers of its rules are wrong"));
        }
        Ok(file)
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut ProjectFile) -> Result<T, String>,
    ) -> Result<T, StateFileError> {
        let path = self.file();
        let unwritable = |error| StateFileError::Unwritable { path: path.clone(), error };
        let folder = LockedFolder::open(&self.files).map_err(unwritable)?;
        let mut file = self.read()?;
        let result = change(&mut file).map_err(|why| unwritable(std::io::Error::other(why)))?;
        folder.write(&self.file_name(), &file).map_err(unwritable)?;
        Ok(result)
    }
}

fn unreadable(path: &Path, reason: &str) -> StateFileError {
    StateFileError::Unreadable { path: path.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
#[path = "project_rules/tests.rs"]
mod tests;
