//! The judge's answer: allow, ask or deny, never without its reasons.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::words::{Approval, Cause};

/// One reason: a rule, where it stands, and what it says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Because {
    /// The rule: `tools.send_email`, `default_approval`, `shell.rules[2]`, …
    pub rule: Arc<str>,
    /// The file it stands in, if it stands in one.
    pub file: Option<Arc<str>>,
    /// The line, counted from 1.
    pub line: Option<u32>,
    /// What it says.
    pub text: Arc<str>,
}

impl Because {
    /// A reason that stands in no file.
    #[must_use]
    pub fn built_in(rule: &str, text: impl Into<Arc<str>>) -> Self {
        Self { rule: rule.into(), file: None, line: None, text: text.into() }
    }

    /// The rule and where it stands.
    #[must_use]
    pub fn place(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{} ({file}:{line})", self.rule),
            (Some(file), None) => format!("{} ({file})", self.rule),
            (None, _) => self.rule.to_string(),
        }
    }
}

impl std::fmt::Display for Because {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place(), self.text)
    }
}

/// What may happen to a call. The order is the order of strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It may run at once.
    Allow,
    /// A person must be asked.
    Ask,
    /// It may never run.
    #[default]
    Deny,
}

impl Verdict {
    /// The word in `decide`'s answer.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl From<Approval> for Verdict {
    fn from(approval: Approval) -> Self {
        match approval {
            Approval::None => Self::Allow,
            Approval::OncePerSession | Approval::Required | Approval::Human => Self::Ask,
            Approval::Deny => Self::Deny,
        }
    }
}

/// Why a call did not run: what the agent is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The tool.
    pub tool_name: String,
    /// Who or what refused.
    pub cause: Cause,
    /// The reason in one line.
    pub reason: String,
    /// The person's note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The rules it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Because>,
    /// Whether it ends the run: a person said no, and the config says `on_denial: stop`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_run: bool,
}

impl Refusal {
    /// A refusal for a reason that rests on no rule.
    #[must_use]
    pub fn new(tool_name: impl Into<String>, cause: Cause, reason: impl Into<String>) -> Self {
        let (tool_name, reason) = (tool_name.into(), reason.into());
        Self { tool_name, cause, reason, note: None, because: Vec::new(), ends_run: false }
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
