//! The prompt on a terminal: one question at a time, answered by single keys that a person pressed after looking.
//!
//! It decides nothing by itself. Whatever goes wrong on the way to an answer is a no, with its own cause.

mod approver;
mod colours;
pub mod decode;
mod edit;
pub mod keys;
mod live;
mod paint;
mod pause;
mod plain;
pub mod schema;
mod signals;
pub mod still;
mod surface;
mod tty;
mod ui;
mod words;

use std::sync::Arc;

use askfirst_runtime::redact::Redactor;

pub use approver::TerminalApprover;
pub use schema::Schemas;
pub use signals::{put_back, wait_until_left};
pub use tty::{Turn, turn_to_print};

/// How the prompt looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Drawn in place, with the colours of the terminal's palette.
    Coloured,
    /// Drawn in place, without any colour.
    Uncoloured,
    /// Printed once, without any escape code: for screen readers and dumb terminals.
    #[default]
    Plain,
}

impl Style {
    /// What the environment asks for: no colour with `NO_COLOR`, lines on a dumb terminal.
    #[must_use]
    pub fn of_environment() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        match (dumb, is_set("NO_COLOR")) {
            (true, _) => Self::Plain,
            (false, true) => Self::Uncoloured,
            (false, false) => Self::Coloured,
        }
    }
}

/// How many columns a line that is printed may take: those of the screen that it is printed on, or 80.
#[must_use]
pub fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
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
