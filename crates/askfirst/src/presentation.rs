//! The content of a request as a person sees it, as data.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The kind of content in a presentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PresentationKind {
    /// A plain message.
    Text,
    /// A unified diff.
    Diff,
    /// The content of a file.
    FileContent,
    /// A command with its working directory and environment.
    Command,
    /// Data as JSON text.
    Structured,
}

/// Rich content for a prompt. It is raw data: the front end escapes it before it shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalPresentation {
    /// The kind of content.
    #[serde(rename = "type")]
    pub kind: PresentationKind,
    /// The content.
    pub content: String,
    /// The language for syntax highlighting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// More data about the content, such as `full_content` for a pager.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl ApprovalPresentation {
    /// Creates a presentation of `content`.
    #[must_use]
    pub fn new(kind: PresentationKind, content: impl Into<String>) -> Self {
        Self { kind, content: content.into(), language: None, metadata: Map::new() }
    }

    /// Sets the language for syntax highlighting.
    #[must_use]
    pub fn with_language(mut self, language: impl Into<String>) -> Self {
        self.language = Some(language.into());
        self
    }

    /// Returns `full_content` from the metadata, or else the content itself.
    #[must_use]
    pub fn full_content(&self) -> &str {
        self.metadata.get("full_content").and_then(Value::as_str).unwrap_or(&self.content)
    }
}

/// Returns the first `max_lines` lines, and a count of the lines that were cut off.
#[must_use]
pub fn truncate_for_display(content: &str, max_lines: usize) -> String {
    let total = content.split('\n').count();
    if total <= max_lines {
        return content.to_owned();
    }
    let head: Vec<&str> = content.split('\n').take(max_lines).collect();
    format!("{}\n\n... [{} more lines]", head.join("\n"), total - max_lines)
}

/// Returns at most `max` characters, with an ellipsis if the text was longer.
#[must_use]
pub(crate) fn shorten(text: &str, max: usize) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(max).collect();
    if chars.next().is_some() { format!("{head}…") } else { head }
}
