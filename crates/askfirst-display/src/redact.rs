//! Finds secrets by the name of their argument, by their shape and by their value, and takes them out.
//!
//! It hides too much rather than too little, but never a hash: a commit or a digest is what a record is read for. Nor does a
//! guess hide what decides about a command: else an agent could dress a program as a password.
//! A text is gone through in time that grows with its length, whatever stands in it. What was taken out once is
//! left alone the second time.

mod about;
mod armour;
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

use names::{Names, Reach};
use span::{Kind, Span};
pub(crate) use span::{Masked, digests};
use values::Values;

use askfirst_shell::Deciding;

/// What is left of a text or of arguments, and how many secrets were taken out.
#[derive(Debug, Clone, PartialEq)]
pub struct Redacted<T> {
    /// What is left.
    pub left: T,
    /// How many secrets were taken out.
    pub hidden: usize,
}

/// How a secret is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// For a screen: kind, length and short digest.
    Screen,
    /// For the record: kind and length.
    Record,
}

/// A glob of an argument or of an environment variable that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bad glob `{glob}`: {cause}")]
pub struct BadGlob {
    /// The glob as it is written.
    pub glob: String,
    /// What is wrong with it.
    pub cause: String,
}

/// The deepest nesting that is gone into; what lies deeper is taken out whole.
const MAX_DEPTH: usize = 100;

/// Taking one secret out can lay another bare; a text that is not at rest by then is taken out whole.
const MAX_PASSES: usize = 6;

/// Environment variables whose values are secret without being named in a config.
const SECRET_ENV: [&str; 8] =
    ["*_KEY", "*_TOKEN", "*_SECRET", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*_CREDENTIALS", "*_APIKEY"];

/// Finds secrets. A clone shares everything.
#[derive(Clone, Default)]
pub struct Redactor(Arc<Inner>);

#[derive(Default)]
struct Inner {
    names: Names,
    values: Arc<Values>,
    /// What a call's own arguments give away.
    own: Values,
    /// What decides about the call: no guess hides it.
    spared: Option<Arc<Deciding>>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor")
    }
}

/// The values of environment variables that count as secret: those that the built-in globs or `globs` name.
///
/// # Errors
/// Fails if one of `globs` cannot be read.
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
    // What is not UTF-8 as a whole can still stand in a text by its readable parts.
    Ok(secret.flat_map(|(_, value)| readable(&value.to_string_lossy())).collect())
}

/// Whether a name ends with a word, in any case, or has it in it where the glob has a star at either end. What needs no
/// matcher is not worth building one at every start.
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
    /// A redactor that knows more names of arguments, and values that are secret wherever they stand.
    ///
    /// # Errors
    /// Fails if a glob cannot be read, or if there are more values than can be searched for.
    pub fn new(arg_globs: &[String], secret_values: Vec<String>) -> Result<Self, BadGlob> {
        let globs =
            if arg_globs.is_empty() { None } else { Some(glob_set(arg_globs.iter().map(String::as_str))?) };
        let names = Names::new(globs);
        let values = Values::new(&secret_values)
            .ok_or_else(|| BadGlob { glob: "*".to_owned(), cause: "too many secret values".to_owned() })?;
        Ok(Self(Arc::new(Inner { names, values: Arc::new(values), ..Inner::default() })))
    }

    /// Takes the secrets out of a text.
    #[must_use]
    pub fn text(&self, text: &str, mark: Mark) -> Redacted<String> {
        let masked = self.hide(text, mark, self.spans(text), |left| self.spans(left));
        let hidden = masked.hidden();
        Redacted { left: masked.left, hidden }
    }

    /// Goes over a text again and again until nothing more is found.
    fn hide(&self, text: &str, mark: Mark, first: Vec<Span>, more: impl Fn(&str) -> Vec<Span>) -> Masked {
        let mut found = first;
        let mut masked = Masked::new(text, &found, mark);
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
            masked = Masked::new(text, &found, mark);
        }
        Masked::new(text, &[Span { start: 0, end: text.len(), kind: Kind::Text }], mark)
    }

    /// Takes the secrets out of arguments, at any depth.
    #[must_use]
    pub fn args(&self, args: &Args, mark: Mark) -> Redacted<Args> {
        let mut hidden = 0;
        let left = self.sparing(args).object(args, mark, 0, &mut hidden);
        Redacted { left, hidden }
    }

    /// Takes the secrets out of any JSON value.
    #[must_use]
    pub fn value(&self, value: &Value, mark: Mark) -> Redacted<Value> {
        let mut hidden = 0;
        let left = self.any(value, mark, 0, &mut hidden);
        Redacted { left, hidden }
    }

    /// Whether nothing in a text, or in the JSON text of one, can be a secret. May say no where there is none.
    #[must_use]
    pub fn is_clean(&self, text: &[u8]) -> bool {
        !shapes::any(text) && !self.0.values.is_in(text) && !self.0.own.is_in(text)
    }

    /// Whether what an argument of this name holds is hidden for its name alone.
    pub(crate) fn is_secret_name(&self, name: &str) -> bool {
        self.0.names.reach(name).is_some()
    }

    /// Whether no name in a map is one that only a config knows, and nothing lies too deep.
    #[must_use]
    pub fn has_plain_names(&self, map: &Args) -> bool {
        self.plain_map(map, 0)
    }

    /// Whether no name in a value is one that only a config knows, and nothing lies too deep.
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

    /// What is known by its shape, or was known before; of guesses, those that hide nothing that decides.
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
                Value::String(Kind::Deep.mark("", mark))
            }
            Value::Array(items) => Value::Array(self.list(items, mark, depth, hidden)),
            Value::Object(map) => Value::Object(self.object(map, mark, depth, hidden)),
        }
    }

    fn number(&self, number: &serde_json::Number, mark: Mark, hidden: &mut usize) -> Value {
        let text = number.to_string();
        if self.0.values.is_in(text.as_bytes()) {
            *hidden += 1;
            return Value::String(Kind::Known.mark(&text, mark));
        }
        Value::Number(number.clone())
    }

    fn named(
        &self,
        value: &Value,
        kind: Kind,
        reach: Reach,
        mark: Mark,
        depth: usize,
        hidden: &mut usize,
    ) -> Value {
        let hide = match value {
            Value::Null => false,
            Value::Bool(_) => reach == Reach::Configured,
            Value::Number(_) => matches!(reach, Reach::Configured | Reach::All),
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

/// Two secret keys leave the same mark; neither may push the other out.
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
