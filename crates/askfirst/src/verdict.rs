//! The judge's verdict: allow, rehearse, ask or deny, always with reasons.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::{Approval, Cause};

/// A reason for a verdict: a rule, where it is defined, and its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Because {
    /// The name of the rule: `tools.send_email`, `default_approval`, `shell.rules[2]`, …
    pub rule: Arc<str>,
    /// The config file that defines the rule. `None` for a built-in rule.
    pub file: Option<Arc<str>>,
    /// The line in the file, counted from 1.
    pub line: Option<u32>,
    /// The text of the rule.
    pub text: Arc<str>,
}

impl Because {
    /// Creates a reason that comes from no file.
    #[must_use]
    pub fn built_in(rule: &str, text: impl Into<Arc<str>>) -> Self {
        Self { rule: rule.into(), file: None, line: None, text: text.into() }
    }

    /// Whether this is the tool's own assessment. The reasons after it then name the rules that the tool applied.
    #[must_use]
    pub fn is_own_assessment(&self) -> bool {
        &*self.rule == "tool's own assessment"
    }

    /// Returns the name of the rule with its file and line.
    #[must_use]
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{} ({file}:{line})", self.rule),
            (Some(file), None) => format!("{} ({file})", self.rule),
            (None, _) => self.rule.to_string(),
        }
    }

    /// Returns a sentence with the file and line of the rule after it, if the rule comes from a file.
    ///
    /// Of a long path, only the end is in it, so that the sentence stays short. [`place`](Self::place) has all of it.
    #[must_use]
    pub fn after(&self, sentence: &str) -> String {
        match (self.file.as_deref().map(end_of_path), self.line) {
            (Some(file), Some(line)) => format!("{sentence} ({file}:{line})"),
            (Some(file), None) => format!("{sentence} ({file})"),
            (None, _) => sentence.to_owned(),
        }
    }
}

/// The longest name of a folder that a short path includes, in characters.
const MAX_FOLDER: usize = 16;

/// The name of a file, with its folder if that has a short name.
fn end_of_path(path: &str) -> String {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    match (parts.next(), parts.next()) {
        (None, _) => path.to_owned(),
        (Some(_), None) if path.len() <= MAX_FOLDER => path.to_owned(),
        (Some(folder), _) if folder.chars().count() <= MAX_FOLDER => format!("…/{folder}/{name}"),
        (Some(_), _) => format!("…/{name}"),
    }
}

impl std::fmt::Display for Because {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place(), self.text)
    }
}

/// The judge's verdict about a call. Variants are ordered by strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call may run at once.
    Allow,
    /// The call may run on a view, and only its effects decide.
    Rehearse,
    /// A person must approve the call.
    Ask,
    /// The call must not run.
    #[default]
    Deny,
}

impl Verdict {
    /// Returns the word that `askfirst decide` prints.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Rehearse => "rehearse",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl From<Approval> for Verdict {
    fn from(approval: Approval) -> Self {
        match approval {
            Approval::None => Self::Allow,
            Approval::Rehearse => Self::Rehearse,
            Approval::OncePerSession | Approval::Required | Approval::Human => Self::Ask,
            Approval::Deny => Self::Deny,
        }
    }
}

/// The refusal of a call, as the agent gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The name of the tool.
    pub tool_name: String,
    /// The origin of the refusal.
    pub cause: Cause,
    /// The reason in one line.
    pub reason: String,
    /// The note of the person who refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The rules that led to the refusal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Because>,
    /// Whether it ends the run: a person said no, and the config says `on_denial: stop`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_run: bool,
    /// The output of a call that ran on a view, if its changes were discarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<Value>>,
    /// The state of the changes of a call that ran on a view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<RefusedChanges>,
}

/// The state of the changes of a call that ran on a view and was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedChanges {
    /// They were discarded.
    Discarded,
}

impl Refusal {
    /// Creates a refusal that names no rule.
    #[must_use]
    pub fn new(tool_name: impl Into<String>, cause: Cause, reason: impl Into<String>) -> Self {
        let (tool_name, reason) = (tool_name.into(), reason.into());
        Self {
            tool_name,
            cause,
            reason,
            note: None,
            because: Vec::new(),
            ends_run: false,
            output: None,
            changes: None,
        }
    }
}

impl Refusal {
    /// Returns the text for the agent: the refusal, and the output of a call whose changes were discarded.
    #[must_use]
    pub fn for_agent(&self) -> String {
        match &self.output {
            Some(output) => format!("{self}\noutput: {output}"),
            None => self.to_string(),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` was refused ({}): {}", self.tool_name, self.cause, self.reason)?;
        match &self.note {
            Some(note) => write!(f, ": {note}"),
            None => Ok(()),
        }
    }
}
