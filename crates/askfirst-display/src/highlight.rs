//! Syntax highlighting for the lines on screen, within a time budget.
//!
//! A line that is too long, too far down or too slow to parse stays plain. It is shown either way.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use super::text::{IndexedText, STRIDE};
use super::tone::{Token, Tone};

/// The longest line in bytes that is highlighted.
const MAX_LINE: usize = 400;
/// The number of lines whose tones the cache keeps.
const MAX_KEPT: usize = 4_000;
/// The time budget for one call of [`Highlight::tones`] unless [`Highlight::until`] sets another.
const BUDGET: Duration = Duration::from_millis(20);

static LANGUAGES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// The syntax class for each prefix of a scope name.
static TOKENS: LazyLock<Vec<(Scope, Token)>> = LazyLock::new(|| {
    let table = [
        ("comment", Token::Comment),
        ("string", Token::Quoted),
        ("constant", Token::Constant),
        ("keyword", Token::Keyword),
        ("storage", Token::Keyword),
        ("entity.name.function", Token::Function),
        ("support.function", Token::Function),
        ("variable.function", Token::Function),
        ("entity.name", Token::Name),
        ("entity.other.attribute-name", Token::Name),
        ("support.type", Token::Name),
        ("support.class", Token::Name),
        ("markup.heading", Token::Keyword),
        ("markup.raw", Token::Quoted),
    ];
    table.iter().filter_map(|(name, token)| Some((Scope::new(name).ok()?, *token))).collect()
});

type Tones = Vec<(Range<usize>, Tone)>;

/// The syntax highlighting of one text.
#[derive(Clone)]
pub(super) struct Highlight(Arc<Mutex<HighlightCache>>);

struct HighlightCache {
    /// The state of the parser before every 32nd slot.
    states: Vec<(ParseState, ScopeStack)>,
    lines: BTreeMap<usize, Tones>,
    until: Option<Instant>,
    has_failed: bool,
}

impl std::fmt::Debug for Highlight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Highlight")
    }
}

impl Highlight {
    /// Finds the language by its name or file suffix. Returns `None` for an unknown language.
    pub(super) fn new(language: &str) -> Option<Self> {
        let syntax = LANGUAGES.find_syntax_by_token(language)?;
        let start = (ParseState::new(syntax), ScopeStack::new());
        let cache =
            HighlightCache { states: vec![start], lines: BTreeMap::new(), until: None, has_failed: false };
        Some(Self(Arc::new(Mutex::new(cache))))
    }

    /// Sets the time at which highlighting stops.
    pub(super) fn until(&self, until: Instant) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).until = Some(until);
    }

    /// The tones of one line. They are empty if there was no time.
    pub(super) fn tones(&self, text: &IndexedText, at: usize) -> Tones {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tones) = cache.lines.get(&at) {
            return tones.clone();
        }
        let until = cache.until.unwrap_or_else(|| Instant::now() + BUDGET);
        cache.read(text, at, until);
        cache.lines.get(&at).cloned().unwrap_or_default()
    }
}

impl HighlightCache {
    /// Parses from the last stored state before a line up to the end of that line.
    fn read(&mut self, text: &IndexedText, at: usize, until: Instant) {
        if self.has_failed {
            return;
        }
        let mark = (at / STRIDE).min(self.states.len().saturating_sub(1));
        let Some((mut state, mut stack)) = self.states.get(mark).cloned() else { return };
        let (first, slots) = text.near(mark * STRIDE);
        if self.lines.len() > MAX_KEPT {
            self.lines.clear();
        }
        for (here, slot) in (first..).zip(slots) {
            if here > first && here % STRIDE == 0 && self.states.len() == here / STRIDE {
                self.states.push((state.clone(), stack.clone()));
            }
            if here > at || Instant::now() > until {
                return;
            }
            let tones = if slot.raw.len() > MAX_LINE {
                Some(Vec::new())
            } else {
                parse(&format!("{}\n", slot.raw), &mut state, &mut stack)
            };
            let Some(tones) = tones else {
                self.has_failed = true;
                return;
            };
            self.lines.insert(here, tones);
        }
    }
}

fn parse(line: &str, state: &mut ParseState, stack: &mut ScopeStack) -> Option<Tones> {
    let ops = state.parse_line(line, &LANGUAGES).ok()?;
    let mut tones: Tones = Vec::new();
    let mut add = |range: Range<usize>, stack: &ScopeStack| {
        let Some(token) = token(stack).filter(|_| !range.is_empty()) else { return };
        match tones.last_mut() {
            Some((last, tone)) if *tone == Tone::Code(token) && last.end == range.start => {
                last.end = range.end
            }
            Some(_) | None => tones.push((range, Tone::Code(token))),
        }
    };
    let mut from = 0;
    for (at, op) in ops {
        add(from..at, stack);
        from = from.max(at);
        stack.apply(&op).ok()?;
    }
    add(from..line.len(), stack);
    Some(tones)
}

/// The syntax class of the innermost scope that has one.
fn token(stack: &ScopeStack) -> Option<Token> {
    let of =
        |scope: &Scope| TOKENS.iter().find(|(known, _)| known.is_prefix_of(*scope)).map(|(_, token)| *token);
    stack.as_slice().iter().rev().find_map(of)
}

#[cfg(test)]
#[path = "highlight/tests.rs"]
mod tests;
