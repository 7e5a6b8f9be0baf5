//! Errors and warnings about a config: the message, its position in the file, and a hint.

use std::path::PathBuf;
use std::sync::Arc;

/// One error or warning about a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The path of the config file.
    pub file: PathBuf,
    /// The complete text of the file.
    pub source: Arc<str>,
    /// The byte range of the text that is wrong.
    pub span: std::ops::Range<usize>,
    /// The line number, starting at 1.
    pub line: u32,
    /// The column number in characters, starting at 1.
    pub column: u32,
    /// The message: one line that says what is wrong.
    pub message: String,
    /// Advice on how to fix it.
    pub hint: Option<String>,
}

/// All errors of all config files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Faults(pub Vec<Fault>);

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file.display(), self.line, self.column, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
