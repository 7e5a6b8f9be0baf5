//! Conditions on a call's arguments, and the globs that they use.

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use crate::call::ApprovalContext;

/// One test of an argument.
#[derive(Debug, Clone)]
pub enum Test {
    /// The argument equals this value.
    Exact(Value),
    /// The argument is a string that matches the glob. `*` stops at `/`, and `**` does not.
    Glob(Glob),
    /// The argument is a path. With all links resolved, it matches the glob.
    Path(Glob),
}

/// A glob and its text.
#[derive(Debug, Clone)]
pub struct Glob {
    text: String,
    matcher: Matcher,
}

/// The compiled form of a glob.
#[derive(Debug, Clone)]
enum Matcher {
    /// The text before the `*` of a glob such as `text*`.
    ///
    /// Most globs have this form, and `GlobMatcher` is slow to build.
    Prefix(String, StarLimit),
    Full(GlobMatcher),
}

/// Where a `*` stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StarLimit {
    Slash,
    None,
}

/// The error for a text that is not a glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a glob: {reason}")]
pub struct BadGlob {
    text: String,
    reason: String,
}

impl Glob {
    /// Creates a glob whose `*` stops at `/`.
    ///
    /// # Errors
    /// Fails if the text is not a glob.
    pub fn new(text: &str) -> Result<Self, BadGlob> {
        Self::build(text, StarLimit::Slash)
    }

    /// Creates a glob for tool names, whose `*` matches every character.
    ///
    /// A name is not a path. If `*` stopped at `/`, a server could put a `/` into a name to evade a rule.
    ///
    /// # Errors
    /// Fails if the text is not a glob.
    pub fn of_names(text: &str) -> Result<Self, BadGlob> {
        Self::build(text, StarLimit::None)
    }

    fn build(text: &str, limit: StarLimit) -> Result<Self, BadGlob> {
        let matcher = match text.strip_suffix('*').filter(|prefix| Self::is_plain(prefix)) {
            Some(prefix) => Matcher::Prefix(prefix.to_owned(), limit),
            None => {
                let mut builder = GlobBuilder::new(text);
                let glob =
                    builder.literal_separator(limit == StarLimit::Slash).backslash_escape(true).build();
                let bad = |e: globset::Error| BadGlob { text: text.to_owned(), reason: e.kind().to_string() };
                Matcher::Full(glob.map_err(bad)?.compile_matcher())
            }
        };
        Ok(Self { text: text.to_owned(), matcher })
    }

    /// Returns how many characters every match shares with the glob. Alternatives and classes count as zero.
    #[must_use]
    pub fn literal_length(text: &str) -> usize {
        let (mut count, mut braces, mut class) = (0, 0_usize, false);
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                ']' if class => class = false,
                _ if class => {}
                '[' => class = true,
                '{' => braces += 1,
                '}' => braces = braces.saturating_sub(1),
                '*' | '?' => {}
                '\\' => {
                    chars.next();
                    count += usize::from(braces == 0);
                }
                _ => count += usize::from(braces == 0),
            }
        }
        count
    }

    /// Whether a text has no wildcard.
    #[must_use]
    pub fn is_plain(text: &str) -> bool {
        !text.contains(['*', '?', '[', ']', '{', '}', '\\'])
    }

    /// Returns the text before the first wildcard.
    #[must_use]
    pub fn literal_prefix(text: &str) -> &str {
        text.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default()
    }

    /// Whether a text matches the glob.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Prefix(prefix, limit) => {
                text.strip_prefix(prefix.as_str()).is_some_and(|rest| match limit {
                    StarLimit::Slash => !rest.contains('/'),
                    StarLimit::None => true,
                })
            }
            Matcher::Full(matcher) => matcher.is_match(text),
        }
    }

    /// Returns the text of the glob.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The result of a test that is in doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The test matches. Conditions of a `deny` use this.
    Matches,
    /// The test fails. All other conditions use this.
    Fails,
}

/// A condition on one argument: at least one of its tests must match.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The name of the argument.
    pub field: String,
    /// The tests.
    pub any_of: Vec<Test>,
}

impl Condition {
    pub(crate) fn holds(&self, call: &ApprovalContext, doubt: Doubt) -> bool {
        match call.args.get(&self.field) {
            None => false,
            // In a list, one matching item is enough to deny. Every other condition needs all items to match.
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
        if let (Doubt::Matches, Value::Array(items)) = (doubt, value) {
            return items.iter().any(|item| self.value_holds(item, call, doubt));
        }
        self.any_of.iter().any(|test| match (test, value) {
            (Test::Exact(wanted), value) => match doubt {
                Doubt::Fails => wanted == value,
                Doubt::Matches => could_be(wanted, value),
            },
            (Test::Glob(glob), Value::String(text)) => text_matches(glob, text, doubt),
            (Test::Path(glob), Value::String(text)) => match call.resolved.get(text) {
                Some(path) => glob.is_match(path),
                None => doubt == Doubt::Matches,
            },
            (Test::Glob(_) | Test::Path(_), _) => doubt == Doubt::Matches && !value.is_null(),
        })
    }

    /// Whether a test needs a resolved path.
    #[must_use]
    pub fn wants_path(&self) -> bool {
        self.any_of.iter().any(|test| matches!(test, Test::Path(_)))
    }
}

/// Whether a tool could treat a value as the denied one.
///
/// Many tools convert `"1"`, `1.0` or `"yes"` to the type they expect, so a value of another type is in doubt.
fn could_be(wanted: &Value, value: &Value) -> bool {
    match (wanted, value) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (_, Value::Null) | (Value::Null, _) => wanted == value,
        (a, b) => a == b || std::mem::discriminant(a) != std::mem::discriminant(b),
    }
}

/// Whether a text matches a glob, with care for paths that climb with `..` in any spelling.
///
/// A climbing path such as `a/..` must not match `a/*` in order to allow a call. In a `deny`, it may match any path.
fn text_matches(glob: &Glob, text: &str, doubt: Doubt) -> bool {
    match doubt {
        Doubt::Matches => {
            glob.is_match(text) || glob.text().contains('/') && (climbs(text) || glob.is_match(&tidy(text)))
        }
        Doubt::Fails => !climbs(text) && !text.contains(char::is_control) && glob.is_match(text),
    }
}

fn climbs(text: &str) -> bool {
    let up = |part: &str| part.to_ascii_lowercase().replace("%2e", ".") == "..";
    text.split(['/', '\\']).any(up)
}

/// Returns a path without `.` and empty parts: `./a//b` becomes `a/b`.
fn tidy(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
#[path = "when/tests.rs"]
mod tests;
