//! The prompt on a terminal: asks one question at a time and reads the answer as single keys.
//!
//! Only a person decides, with keys that are pressed after the content was on screen.
//! Every failure on the way to an answer is a refusal with its own cause.

mod approver;
mod colors;
pub mod decode;
mod edit;
pub mod headless;
pub mod keys;
mod live;
mod more;
mod notify;
mod paint;
mod pause;
mod plain;
pub mod schema;
mod signals;
mod surface;
mod tty;
mod ui;
mod words;

use std::sync::Arc;

use askfirst_display::Choice;
use askfirst_display::redact::Redactor;

pub use approver::TerminalApprover;
pub use schema::Schemas;
pub use signals::{restore_terminals, wait_until_released};
pub use tty::{TerminalLock, lock_for_printing};

/// Older names of public items.
pub use signals::{restore_terminals as put_back, wait_until_released as wait_until_left};
/// Older names of public items.
pub use tty::{TerminalLock as Turn, lock_for_printing as turn_to_print};

/// The style of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Drawn in place, with the colors of the terminal's own palette.
    Colored,
    /// Drawn in place, without colors.
    Uncolored,
    /// Printed once, without escape codes, for screen readers and dumb terminals.
    #[default]
    Plain,
}

impl Style {
    /// The style that the environment asks for: uncolored with `NO_COLOR`, plain on a dumb terminal.
    #[must_use]
    pub fn of_environment() -> Self {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        match (dumb, is_set("NO_COLOR")) {
            (true, _) => Self::Plain,
            (false, true) => Self::Uncolored,
            (false, false) => Self::Colored,
        }
    }
}

/// The width of the terminal on standard output in columns, or 80 if there is none.
#[must_use]
pub fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

/// How the prompt calls a person who looks at another window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Notify {
    /// By the bell and by a notification of the terminal.
    #[default]
    Auto,
    /// By the bell.
    Bell,
    /// Not at all.
    Off,
}

/// The settings of the prompt.
#[derive(Debug, Clone)]
pub struct Options {
    /// The style of the prompt.
    pub style: Style,
    /// The number of lines of one section in a preview.
    pub preview_lines: usize,
    /// Finds the secrets.
    pub redactor: Arc<Redactor>,
    /// How the prompt calls a person who looks at another window.
    pub notify: Notify,
    /// The name of the front end, for a notification.
    pub front_end: String,
    /// Choices that would do nothing in this session, so that no question offers them.
    pub withheld: Vec<Choice>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            style: Style::of_environment(),
            preview_lines: 50,
            redactor: Arc::default(),
            notify: Notify::default(),
            front_end: String::new(),
            withheld: Vec::new(),
        }
    }
}
