//! Answers questions from another terminal. A session without a terminal sends its questions to `askfirst watch`, the
//! watcher, where a person answers them.
//!
//! They connect through a socket in a folder that only the user can access. Each side proves that it can read the
//! user's secret, and that it is the process at the other end.
//! So a process in between, or another process on the socket, can neither read nor answer a question.
//! A watcher only gives answers. Every failure counts as a refusal.

mod approver;
mod desk;
mod frame;
mod hands;
mod place;
mod takes;

use std::path::PathBuf;

use askfirst::machine::Question;
use serde::{Deserialize, Serialize};

pub use approver::WatchApprover;
pub use desk::{Desk, StopHandle, WatchEnd};
pub use frame::FrameError;
pub use takes::ToolSchemas;

// The former names of these types.
#[doc(hidden)]
pub use desk::{StopHandle as Leaving, WatchEnd as Left};
#[doc(hidden)]
pub use takes::ToolSchemas as Takes;

/// Why a watcher cannot start, or cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Other users can access the folder, the secret or the socket.
    #[error("`{}` is not private: only your user may have access to it", .0.display())]
    NotOurs(PathBuf),
    /// Another watcher is already running.
    #[error("another `askfirst watch` is already running")]
    Busy,
    /// No watcher is running.
    #[error("no `askfirst watch` is running")]
    NoWatcher,
    /// The other side could not prove its identity.
    #[error("the process on the socket could not prove that it is your `askfirst watch`: {0}")]
    Unproven(&'static str),
    /// The other side is a different version, which might not show everything.
    #[error("`askfirst watch` is another version (`{0}`); hint: restart it")]
    Version(String),
    /// The operating system returned an error.
    #[error("cannot use `{}`: {}", .0.display(), .1)]
    Io(PathBuf, std::io::Error),
    /// The other side closed the connection or broke the protocol.
    #[error("the connection failed: {0}")]
    Talk(#[from] frame::FrameError),
}

/// The origin of a question, as the person at the watcher sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asker {
    /// The kind of session: `mcp` or `serve`.
    pub door: String,
    /// The name of the session, such as the name of the MCP server.
    pub name: String,
    /// The session id.
    pub session: String,
    /// The folder that the session works in.
    pub folder: String,
}

/// Display settings of the session, so that the watcher shows a question as the session itself would.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisplaySettings {
    /// The maximum number of lines that a section shows at first.
    pub preview_lines: usize,
    /// How the watcher calls a person who looks at another window.
    pub notify: askfirst_config::Notify,
    /// Globs of secret arguments.
    pub secret_args: Vec<String>,
    /// Secret values. The session sends only those that occur in the question.
    pub secret_values: Vec<String>,
}

#[doc(hidden)]
pub use self::DisplaySettings as Look;

/// A message from a watcher.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum FromWatcher {
    Hello { version: String, nonce: String },
    Proof { proof: String },
    Answer { answer: askfirst::machine::Answer },
}

/// A message from a session.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum FromAsker {
    Hello { version: String, nonce: String, proof: String },
    Ask { asker: Asker, look: DisplaySettings, takes: takes::Schemas, question: Box<Question> },
    Withdraw { cause: askfirst::Cause },
}

/// Both sides must have the same version, because another one might understand a question differently.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(test)]
mod tests;
