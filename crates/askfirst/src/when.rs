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
    text: String,
    matches: Matches,
}

/// What a glob matches by.
#[derive(Debug, Clone)]
enum Matches {
    /// For `text*`: the text, and what the rest must not contain. Most globs are such, and a matcher takes long to build.
    Prefix(String, Stops),
    Matcher(GlobMatcher),
}

/// What `*` stops at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stops {
    AtSlash,
    Nowhere,
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
        Self::build(text, Stops::AtSlash)
    }

    /// A glob over tool names, whose `*` stops at nothing: a name is no path, and whoever makes it up could put a
    /// `/` into it to slip past a rule.
    ///
    /// # Errors
    /// Fails if the text is not a glob.
    pub fn of_names(text: &str) -> Result<Self, BadGlob> {
        Self::build(text, Stops::Nowhere)
    }

    fn build(text: &str, stops: Stops) -> Result<Self, BadGlob> {
        let matches = match text.strip_suffix('*').filter(|prefix| Self::is_plain(prefix)) {
            Some(prefix) => Matches::Prefix(prefix.to_owned(), stops),
            None => {
                let mut builder = GlobBuilder::new(text);
                let glob = builder.literal_separator(stops == Stops::AtSlash).backslash_escape(true).build();
                let bad = |e: globset::Error| BadGlob { text: text.to_owned(), reason: e.kind().to_string() };
                Matches::Matcher(glob.map_err(bad)?.compile_matcher())
            }
        };
        Ok(Self { text: text.to_owned(), matches })
    }

    /// How many characters a match is sure to have in common with the glob: of alternatives and classes, none.
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
        match &self.matches {
            Matches::Prefix(prefix, stops) => {
                text.strip_prefix(prefix.as_str()).is_some_and(|rest| match stops {
                    Stops::AtSlash => !rest.contains('/'),
                    Stops::Nowhere => true,
                })
            }
            Matches::Matcher(matcher) => matcher.is_match(text),
        }
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

    /// Whether a test needs a path with its links followed.
    #[must_use]
    pub fn wants_path(&self) -> bool {
        self.any_of.iter().any(|test| matches!(test, Test::Path(_)))
    }
}

/// Whether a tool could read a value as the one that is denied: many turn `"1"`, `1.0` and `"yes"` into what they
/// expect, so a value of another kind is in doubt.
fn could_be(wanted: &Value, value: &Value) -> bool {
    match (wanted, value) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (_, Value::Null) | (Value::Null, _) => wanted == value,
        (a, b) => a == b || std::mem::discriminant(a) != std::mem::discriminant(b),
    }
}

/// `a/*` must not be satisfied by `a/..`: a text that climbs, however it spells that, softens nothing, and it may lead
/// to whatever is denied.
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

/// The path without what does not lead anywhere: `./a//b` is `a/b`.
fn tidy(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
#[path = "when/tests.rs"]
mod tests;
