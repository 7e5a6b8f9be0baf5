//! Answers to an event, and the bytes and exit code that tell the agent.

use askfirst::Args;
use serde_json::Value;

/// An answer to an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The call may run.
    Allow {
        /// The whole new input of the call, if it must run with another input.
        input: Option<Args>,
        /// A text for the model. An agent whose hook cannot pass it on gets the answer without it.
        context: Option<String>,
    },
    /// The agent asks the person.
    Ask {
        /// The text that the person sees.
        reason: String,
    },
    /// The call must not run.
    Deny {
        /// The text that the model sees.
        reason: String,
    },
    /// askfirst has no opinion: the agent's own rules decide.
    Nothing,
}

impl Answer {
    /// The answer that a call may run as it is.
    pub const ALLOW: Self = Self::Allow { input: None, context: None };
}

/// All that a hook tells its agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// The text for standard output.
    pub stdout: String,
    /// The text for standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl Reply {
    /// Creates a reply that prints nothing and succeeds.
    #[must_use]
    pub fn silent() -> Self {
        Self::default()
    }

    /// Creates a reply that prints one JSON document and succeeds.
    pub(crate) fn json(document: &Value) -> Self {
        Self { stdout: format!("{document}\n"), ..Self::default() }
    }

    /// Creates a reply that blocks by exit code 2, with the reason on standard error.
    ///
    /// Some agents also look for JSON on standard error. The first word keeps any reason from being JSON.
    pub(crate) fn blocked(reason: &str) -> Self {
        Self { stderr: format!("askfirst: {}\n", readable(reason)), code: 2, ..Self::default() }
    }
}

/// Returns a reason that is never empty and that no terminal acts on.
///
/// Codex ignores a denial without a reason.
pub(crate) fn readable(reason: &str) -> String {
    if reason.trim().is_empty() {
        return "askfirst denied this call".to_owned();
    }
    let mut text = String::with_capacity(reason.len());
    for c in reason.chars() {
        match c {
            '\n' => text.push(c),
            c if c.is_control() => text.extend(c.escape_default()),
            c => text.push(c),
        }
    }
    text
}
