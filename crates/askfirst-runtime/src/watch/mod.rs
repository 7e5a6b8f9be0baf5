//! Questions answered from another terminal. A session that has no terminal of its own hands its questions to a
//! watcher, which one person sits at.
//!
//! They meet at a socket in the user's own folder. Each proves to the other that it can read the user's secret, and
//! that it is the very process at the other end: whoever stands between them, or sits down at the socket, neither
//! reads a question nor answers one. A watcher gives answers and nothing else; whatever goes wrong is a no.

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
pub use desk::{Desk, Leaving, Left};
pub use frame::FrameError;
pub use takes::Takes;

/// Why nobody can watch, or be reached.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The folder, the secret or the socket is not the user's alone.
    #[error("`{}` is not yours alone", .0.display())]
    NotOurs(PathBuf),
    /// Somebody watches already.
    #[error("another `askfirst watch` runs already")]
    Busy,
    /// Nobody watches.
    #[error("nobody watches")]
    Nobody,
    /// The other side did not prove that it is who it should be.
    #[error("whoever sits at the socket is not a watcher of yours: {0}")]
    Stranger(&'static str),
    /// The other side is another version, which might not show all that there is.
    #[error("the watcher is another version (`{0}`): start it anew")]
    Version(String),
    /// The operating system said no.
    #[error("`{}` cannot be used: {}", .0.display(), .1)]
    Io(PathBuf, std::io::Error),
    /// The other side went away or does not keep to what was agreed.
    #[error("the other side cannot be talked to: {0}")]
    Talk(#[from] frame::FrameError),
}

/// Who asks: what the person at the watcher is told about where a question comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asker {
    /// What kind of session: `mcp`, `serve`.
    pub door: String,
    /// Its name among its kind, such as the server's.
    pub name: String,
    /// The session.
    pub session: String,
    /// The folder that it works in.
    pub folder: String,
}

/// What a prompt needs to know besides the question, so that it looks as it would at home.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// More lines than this of one section are left to be viewed.
    pub preview_lines: usize,
    /// Globs of arguments that are secret.
    pub secret_args: Vec<String>,
    /// Values that are secret. Over the socket go only those that stand in the question.
    pub secret_values: Vec<String>,
}

/// What a watcher says.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum FromWatcher {
    Hello { version: String, nonce: String },
    Proof { proof: String },
    Answer { answer: askfirst::machine::Answer },
}

/// What a session says.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum FromAsker {
    Hello { version: String, nonce: String, proof: String },
    Ask { asker: Asker, look: Look, takes: takes::Schemas, question: Box<Question> },
    Withdraw { cause: askfirst::Cause },
}

/// Programs of different versions might understand a question differently.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(test)]
mod tests;
