//! Conditions on a call's arguments.

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use crate::call::ApprovalContext;

/// One way in which an argument may match.
#[derive(Debug, Clone)]
pub enum Test {
    /// The argument equals this value.
    Exact(Value),
    /// The argument is a string that matches. `*` stops at `/`, `**` does not.
    Glob(Glob),
    /// The argument is a path that leads, every link followed, to one that matches.
    Path(Glob),
}

/// A compiled glob and its text.
#[derive(Debug, Clone)]
pub struct Glob {
    matcher: GlobMatcher,
    text: String,
}

/// The glob cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a glob: {reason}")]
pub struct BadGlob {
    text: String,
    reason: String,
}

impl Glob {
    /// A glob whose `*` stops at `/`.
    ///
    /// # Errors
    /// Fails if the text is not a glob.
    pub fn new(text: &str) -> Result<Self, BadGlob> {
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        let bad = |e: globset::Error| BadGlob { text: text.to_owned(), reason: e.kind().to_string() };
        Ok(Self { matcher: glob.map_err(bad)?.compile_matcher(), text: text.to_owned() })
    }

    /// Whether it is a plain text without any wildcard.
    #[must_use]
    pub fn is_plain(text: &str) -> bool {
        !text.contains(['*', '?', '[', ']', '{', '}', '\\'])
    }

    /// The text before the first wildcard.
    #[must_use]
    pub fn literal_prefix(text: &str) -> &str {
        text.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default()
    }

    /// Whether a text matches.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.matcher.is_match(text)
    }

    /// The text as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Whether a condition widens or narrows what may run. It decides which way doubt falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The condition guards a `deny`: in doubt it matches.
    Matches,
    /// The condition guards anything else: in doubt it does not.
    Fails,
}

/// A condition on one argument: one of its tests must hold.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The argument.
    pub field: String,
    /// The tests.
    pub any_of: Vec<Test>,
}

impl Condition {
    pub(crate) fn holds(&self, call: &ApprovalContext, doubt: Doubt) -> bool {
        match call.args.get(&self.field) {
            None => false,
            // Of a list, every item must match before something is softened, and one is enough to deny.
            Some(Value::Array(items)) => match doubt {
                Doubt::Matches => items.iter().any(|item| self.value_holds(item, call, doubt)),
                Doubt::Fails => {
                    !items.is_empty() && items.iter().all(|item| self.value_holds(item, call, doubt))
                }
            },
            Some(value) => self.value_holds(value, call, doubt),
        }
    }

    fn value_holds(&self, value: &Value, call: &ApprovalContext, doubt: Doubt) -> bool {
        self.any_of.iter().any(|test| match (test, value) {
            (Test::Exact(wanted), value) => wanted == value,
            (Test::Glob(glob), Value::String(text)) => text_matches(glob, text, doubt),
            (Test::Path(glob), Value::String(text)) => match call.resolved.get(text) {
                Some(path) => glob.is_match(path),
                None => doubt == Doubt::Matches,
            },
            (Test::Glob(_) | Test::Path(_), _) => doubt == Doubt::Matches && value.is_object(),
        })
    }

    /// Whether a test needs a path with its links followed.
    #[must_use]
    pub fn wants_path(&self) -> bool {
        self.any_of.iter().any(|test| matches!(test, Test::Path(_)))
    }
}

/// `a/*` must not be satisfied by `a/..`: a text that climbs softens nothing.
fn text_matches(glob: &Glob, text: &str, doubt: Doubt) -> bool {
    let climbs = glob.text().contains('/') && text.split('/').any(|part| part == "..");
    match doubt {
        Doubt::Matches => glob.is_match(text),
        Doubt::Fails => !climbs && glob.is_match(text),
    }
}

#[cfg(test)]
#[path = "when/tests.rs"]
mod tests;
