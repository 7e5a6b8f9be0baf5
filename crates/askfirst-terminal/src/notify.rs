//! Calls a person who may look at another window: by the bell, and by a notification of the terminal.
//!
//! The notification consists of fixed words and the name of the front end. No text of an agent is in it.
//! When to call is decided by a state machine without a terminal or a clock of its own.

use std::time::Duration;

use crate::Notify;
use crate::decode::{Input, Key};

/// The time to wait for a key or a focus report. Many terminals report only changes of the focus.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// A focus report within this time describes the focus at the start of the question.
const FOCUS_TIME: Duration = Duration::from_secs(1);

/// Whether the terminal window is focused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Focus {
    /// The terminal has not reported it since the start of the question.
    #[default]
    Unknown,
    /// The terminal is focused.
    Here,
    /// Another window is focused.
    Elsewhere,
}

/// Decides when to call the person to one question: at most once.
#[derive(Debug, Default)]
pub(crate) struct Attention {
    focus: Focus,
    has_key: bool,
    has_called: bool,
}

impl Attention {
    /// Handles input, at a time since the start of the question. Returns whether to call the person now.
    pub(crate) fn read(&mut self, inputs: &[Input], now: Duration) -> bool {
        let mut left_early = false;
        for input in inputs {
            match input {
                Input::Key(Key::FocusIn) => self.focus = Focus::Here,
                Input::Key(Key::FocusOut) => {
                    self.focus = Focus::Elsewhere;
                    left_early |= now < FOCUS_TIME;
                }
                Input::Key(_) | Input::Paste(_) => self.has_key = true,
            }
        }
        left_early && self.call()
    }

    /// Returns whether to call the person at this time since the start of the question. `is_late` says that the deadline
    /// is close.
    pub(crate) fn tick(&mut self, now: Duration, is_late: bool) -> bool {
        let is_missing = now >= PATIENCE && !self.has_key && self.focus != Focus::Here;
        (is_missing || is_late && self.focus == Focus::Elsewhere) && self.call()
    }

    fn call(&mut self) -> bool {
        !std::mem::replace(&mut self.has_called, true)
    }
}

/// The escape code with which a terminal shows notifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// `OSC 9`, which most terminals know. The others ignore it.
    Osc9,
    /// `OSC 777`, for terminals that know only this one.
    Osc777,
    /// None: a multiplexer shows the bell in its own way, and a console has no notifications.
    Bell,
}

impl Protocol {
    /// The protocol of the terminal that the environment names.
    pub(crate) fn of_environment() -> Self {
        let value = |name: &str| std::env::var(name).unwrap_or_default();
        Self::of(&value("TERM"), !value("VTE_VERSION").is_empty())
    }

    fn of(term: &str, is_vte: bool) -> Self {
        let is = |names: &[&str]| names.iter().any(|name| term.starts_with(name));
        match () {
            () if is(&["screen", "tmux", "linux", "dumb"]) => Self::Bell,
            () if is_vte || is(&["rxvt", "foot"]) => Self::Osc777,
            () => Self::Osc9,
        }
    }
}

/// The bytes that call the person. They are empty if the config switches this off.
pub(crate) fn signal(notify: Notify, front_end: &str, protocol: Protocol) -> String {
    let protocol = match notify {
        Notify::Off => return String::new(),
        Notify::Bell => Protocol::Bell,
        Notify::Auto => protocol,
    };
    let name: String = front_end.chars().filter(char::is_ascii_alphanumeric).take(MAX_NAME).collect();
    let name = if name.is_empty() { String::new() } else { format!(" {name}") };
    let text = format!("askfirst{name}: a call waits for your answer");
    match protocol {
        Protocol::Bell => BELL.to_owned(),
        Protocol::Osc9 => format!("{BELL}\x1b]9;{text}\x1b\\"),
        Protocol::Osc777 => format!("{BELL}\x1b]777;notify;askfirst;{text}\x1b\\"),
    }
}

const BELL: &str = "\x07";
/// The longest name of a front end, in characters.
const MAX_NAME: usize = 20;

#[cfg(test)]
#[path = "notify/tests.rs"]
mod tests;
