//! The prompt on a terminal: one question at a time, answered by single keys that a person pressed after looking.
//!
//! It decides nothing by itself. Whatever goes wrong on the way to an answer is a no, with its own cause.

mod approver;
pub mod decode;
mod edit;
pub mod keys;
mod paint;
mod prompt;
mod tty;

use std::sync::Arc;

use askfirst_runtime::redact::Redactor;

pub use approver::TerminalApprover;

/// How the prompt looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// With a few colours.
    Coloured,
    /// Without any escape code.
    #[default]
    Plain,
}

impl Style {
    /// What the environment asks for: no colour with `NO_COLOR` or on a dumb terminal.
    #[must_use]
    pub fn of_environment() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        if is_set("NO_COLOR") || dumb { Self::Plain } else { Self::Coloured }
    }
}

/// What the prompt is made with.
#[derive(Debug, Clone)]
pub struct Options {
    /// How it looks.
    pub style: Style,
    /// More lines than this of one section are left to be viewed.
    pub preview_lines: usize,
    /// Finds the secrets.
    pub redactor: Arc<Redactor>,
}

impl Default for Options {
    fn default() -> Self {
        Self { style: Style::of_environment(), preview_lines: 50, redactor: Arc::default() }
    }
}
