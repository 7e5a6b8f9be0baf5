//! Finds secrets by the name of their argument, by their shape and by their value, and replaces them with marks.
//!
//! The redactor hides too much rather than too little, with two exceptions.
//! It never hides a hash, because readers of the audit log need commits and digests.
//! A guess never hides a part that decides about a command; otherwise an agent could disguise a program as a password.
//!
//! The time grows linearly with the length of the text, whatever the text contains.
//! Redacting a redacted text changes nothing.

mod about;
mod armor;
mod ends;
mod names;
mod shapes;
mod span;
mod values;
mod words;

use std::ffi::OsString;
use std::sync::Arc;

use askfirst::Args;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::Value;

use names::{HiddenValues, Names};
pub(crate) use span::{MaskedText, digests};
use span::{SecretKind, Span};
use values::Values;

use askfirst_shell::Deciding;

/// A redacted text or redacted arguments, and the number of replaced secrets.
#[derive(Debug, Clone, PartialEq)]
pub struct Redaction<T> {
    /// The text or the arguments, with a mark for each secret.
    pub left: T,
    /// The number of replaced secrets.
    pub hidden: usize,
}

/// Older name of [`Redaction`].
pub use self::Redaction as Redacted;

/// The form of the mark that replaces a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// For the screen: kind, length and short digest.
    Screen,
    /// For the audit log: kind and length.
    Record,
}

/// An invalid glob for the names of arguments or environment variables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid glob `{glob}`: {cause}")]
pub struct BadGlob {
    /// The glob as it was written.
    pub glob: String,
    /// The reason why it is invalid.
    pub cause: String,
}

/// The deepest level of nesting that is searched. A deeper value is replaced as a whole.
const MAX_DEPTH: usize = 100;

/// The number of passes over a text, because replacing one secret can uncover another.
/// A text that still changes after the last pass is replaced as a whole.
const MAX_PASSES: usize = 6;

/// Environment variables whose values are secret by default.
const SECRET_ENV: [&str; 8] =
    ["*_KEY", "*_TOKEN", "*_SECRET", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*_CREDENTIALS", "*_APIKEY"];

/// Finds and replaces secrets. Clones share their data.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RedactorState>);

#[derive(Default)]
struct RedactorState {
    names: Names,
    values: Arc<Values>,
    /// The secrets in a call's own arguments.
    own: Values,
    /// The parts that decide about the call. No guess hides them.
    spared: Option<Arc<Deciding>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor")
    }
}

/// The values of the environment variables that the built-in globs or `globs` name as secret.
///
/// # Errors
/// Fails if one of `globs` is invalid.
pub fn secret_env(
    globs: &[String],
    vars: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Vec<String>, BadGlob> {
    let further = if globs.is_empty() { None } else { Some(glob_set(globs.iter().map(String::as_str))?) };
    let is_secret = |name: &str| {
        SECRET_ENV.iter().any(|glob| is_like(name, glob))
            || further.as_ref().is_some_and(|set| set.is_match(name))
    };
    let secret = vars.into_iter().filter(|(name, _)| is_secret(&name.to_string_lossy()));
    // A value that is not UTF-8 can still occur in a text in part.
    Ok(secret.flat_map(|(_, value)| readable(&value.to_string_lossy())).collect())
}

/// Whether a built-in glob matches a name, ignoring case.
/// The built-in globs need no matcher, and building one at every start would cost time.
fn is_like(name: &str, glob: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let word = glob.trim_matches('*');
    if glob.ends_with('*') { name.contains(word) } else { name.ends_with(word) }
}

fn readable(value: &str) -> Vec<String> {
    value.split('\u{fffd}').map(str::to_owned).collect()
}

fn glob_set<'a>(globs: impl Iterator<Item = &'a str>) -> Result<GlobSet, BadGlob> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let bad = |e: globset::Error| BadGlob { glob: glob.to_owned(), cause: e.kind().to_string() };
        set.add(GlobBuilder::new(glob).case_insensitive(true).build().map_err(bad)?);
    }
    set.build()
        .map_err(|e| BadGlob { glob: e.glob().unwrap_or_default().to_owned(), cause: e.kind().to_string() })
}

impl Redactor {
    /// Creates a redactor with more secret argument names, and with values that are secret wherever they occur.
    ///
    /// # Errors
    /// Fails if a glob is invalid, or if there are too many values to search for.
    pub fn new(arg_globs: &[String], secret_values: Vec<String>) -> Result<Self, BadGlob> {
        let globs =
            if arg_globs.is_empty() { None } else { Some(glob_set(arg_globs.iter().map(String::as_str))?) };
        let names = Names::new(globs);
        let values = Values::new(&secret_values)
            .ok_or_else(|| BadGlob { glob: "*".to_owned(), cause: "too many secret values".to_owned() })?;
        Ok(Self(Arc::new(RedactorState { names, values: Arc::new(values), ..RedactorState::default() })))
    }

    /// Redacts a text.
    #[must_use]
    pub fn text(&self, text: &str, mark: Mark) -> Redaction<String> {
        let masked = self.hide(text, mark, self.spans(text), |left| self.spans(left));
        let hidden = masked.hidden();
        Redaction { left: masked.left, hidden }
    }

    /// Replaces secrets in a text, pass by pass, until a pass finds none.
    fn hide(&self, text: &str, mark: Mark, first: Vec<Span>, more: impl Fn(&str) -> Vec<Span>) -> MaskedText {
        let mut found = first;
        let mut masked = MaskedText::new(text, &found, mark);
        if found.is_empty() {
            return masked;
        }
        for _ in 1..MAX_PASSES {
            let more = more(&masked.left);
            if more.is_empty() {
                return masked;
            }
            found.extend(more.into_iter().map(|span| masked.before(span)));
            found.sort_by_key(|span| span.start);
            masked = MaskedText::new(text, &found, mark);
        }
        MaskedText::new(text, &[Span { start: 0, end: text.len(), kind: SecretKind::Text }], mark)
    }

    /// Redacts arguments at any depth.
    #[must_use]
    pub fn args(&self, args: &Args, mark: Mark) -> Redaction<Args> {
        let mut hidden = 0;
        let left = self.sparing(args).object(args, mark, 0, &mut hidden);
        Redaction { left, hidden }
    }

    /// Redacts a JSON value.
    #[must_use]
    pub fn value(&self, value: &Value, mark: Mark) -> Redaction<Value> {
        let mut hidden = 0;
        let left = self.any(value, mark, 0, &mut hidden);
        Redaction { left, hidden }
    }

    /// Whether a text, or its JSON form, certainly contains no secret. `false` means that it may contain one.
    #[must_use]
    pub fn is_clean(&self, text: &[u8]) -> bool {
        !shapes::any(text) && !self.0.values.is_in(text) && !self.0.own.is_in(text)
    }

    /// Whether the value of an argument is hidden because of its name.
    pub(crate) fn is_secret_name(&self, name: &str) -> bool {
        self.0.names.reach(name).is_some()
    }

    /// Whether a map has no name that only the config marks as secret, and is not nested too deep.
    #[must_use]
    pub fn has_plain_names(&self, map: &Args) -> bool {
        self.plain_map(map, 0)
    }

    /// Whether a value has no name that only the config marks as secret, and is not nested too deep.
    #[must_use]
    pub fn is_plain(&self, value: &Value) -> bool {
        self.plain(value, 0)
    }

    fn plain(&self, value: &Value, depth: usize) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            Value::Array(items) => depth < MAX_DEPTH && items.iter().all(|item| self.plain(item, depth + 1)),
            Value::Object(map) => self.plain_map(map, depth),
        }
    }

    fn plain_map(&self, map: &Args, depth: usize) -> bool {
        depth < MAX_DEPTH
            && map.iter().all(|(key, item)| !self.0.names.is_configured(key) && self.plain(item, depth + 1))
    }

    fn spans(&self, text: &str) -> Vec<Span> {
        let mut spans = self.shaped(text, self.0.spared.as_deref());
        spans.extend(self.0.own.spans(text));
        span::settle(text, spans)
    }

    /// The secrets with a known shape or a known value. Guesses that would hide a deciding part are left out.
    fn shaped(&self, text: &str, spared: Option<&Deciding>) -> Vec<Span> {
        let found = shapes::candidates(text.as_bytes());
        let mut spans = self.0.values.spans(text);
        shapes::spans(text, found, &mut spans);
        if let Some(deciding) = spared {
            let value = |span: &Span| text.get(span.start..span.end).unwrap_or_default();
            spans.retain(|span| match span.kind.is_sure() {
                true => !deciding.names(value(span)),
                false => !deciding.spares(value(span)),
            });
        }
        spans
    }

    fn spares(&self, value: &str) -> bool {
        self.0.spared.as_ref().is_some_and(|deciding| deciding.is(value))
    }

    fn object(&self, map: &Args, mark: Mark, depth: usize, hidden: &mut usize) -> Args {
        let mut left = Args::new();
        for (key, item) in map {
            let item = match self.0.names.reach(key) {
                None => self.any(item, mark, depth + 1, hidden),
                Some((kind, reach)) => self.named(item, kind, reach, mark, depth + 1, hidden),
            };
            let name = self.text(key, mark);
            *hidden += name.hidden;
            left.insert(free_name(&left, name.left), item);
        }
        left
    }

    fn any(&self, value: &Value, mark: Mark, depth: usize, hidden: &mut usize) -> Value {
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            Value::Number(number) => self.number(number, mark, hidden),
            Value::String(text) => {
                let text = self.text(text, mark);
                *hidden += text.hidden;
                Value::String(text.left)
            }
            Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => {
                *hidden += 1;
                Value::String(SecretKind::Deep.mark("", mark))
            }
            Value::Array(items) => Value::Array(self.list(items, mark, depth, hidden)),
            Value::Object(map) => Value::Object(self.object(map, mark, depth, hidden)),
        }
    }

    fn number(&self, number: &serde_json::Number, mark: Mark, hidden: &mut usize) -> Value {
        let text = number.to_string();
        if self.0.values.is_in(text.as_bytes()) {
            *hidden += 1;
            return Value::String(SecretKind::Known.mark(&text, mark));
        }
        Value::Number(number.clone())
    }

    fn named(
        &self,
        value: &Value,
        kind: SecretKind,
        reach: HiddenValues,
        mark: Mark,
        depth: usize,
        hidden: &mut usize,
    ) -> Value {
        let hide = match value {
            Value::Null => false,
            Value::Bool(_) => reach == HiddenValues::Configured,
            Value::Number(_) => matches!(reach, HiddenValues::Configured | HiddenValues::All),
            Value::String(text) => !span::is_mark(text) && names::hides(text, reach),
            Value::Array(_) | Value::Object(_) if depth >= MAX_DEPTH => true,
            Value::Array(items) => {
                let part = |item| self.named(item, kind, reach, mark, depth + 1, hidden);
                return Value::Array(items.iter().map(part).collect());
            }
            Value::Object(map) => {
                let mut left = Args::new();
                for (key, item) in map {
                    let item = self.named(item, kind, reach, mark, depth + 1, hidden);
                    let name = self.text(key, mark);
                    *hidden += name.hidden;
                    left.insert(free_name(&left, name.left), item);
                }
                return Value::Object(left);
            }
        };
        if !hide {
            return self.any(value, mark, depth, hidden);
        }
        *hidden += 1;
        match value {
            Value::String(text) => Value::String(kind.mark(text, mark)),
            Value::Number(number) => Value::String(kind.mark(&number.to_string(), mark)),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
                Value::String(kind.mark("", mark))
            }
        }
    }
}

/// A name that is not in the map yet. Two secret keys can have the same mark, and both must stay.
fn free_name(map: &Args, name: String) -> String {
    if !map.contains_key(&name) {
        return name;
    }
    let mut n = map.len();
    loop {
        let other = format!("{name} {n}");
        if !map.contains_key(&other) {
            return other;
        }
        n += 1;
    }
}

#[cfg(test)]
#[path = "redact/tests.rs"]
mod tests;
