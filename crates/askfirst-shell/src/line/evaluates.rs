//! Commands of the shell that take names of variables or numbers, and evaluate what is written there.

use super::simple::known;
use super::state::State;
use super::syntax::Span;
use super::tree::{Assignment, Exported, Piece, Step, Unknown, Word};
use super::walk::Walker;

impl Walker<'_> {
    pub(super) fn test(&mut self, operands: &[Word], span: &Span) {
        let operands = match operands {
            [head @ .., last] if last.literal() == Some("]") => head,
            all => all,
        };
        // A variable in quotes stays one word, also where it holds what a wildcard found.
        let quoted = |word: &Word| {
            let text = self.slice(&word.span);
            let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            inner.is_some_and(|inner| !inner.contains(['"', '\\']))
        };
        let spread = |word: &Word| {
            (word.has_glob() && !quoted(word))
                || word
                    .pieces
                    .iter()
                    .any(|piece| matches!(piece, Piece::Unknown(it) if it.splits && !self.counts(it)))
        };
        if operands.iter().any(spread) {
            // It may become several words, among them `-v name[…]`.
            self.gap(span, "a test with words that may be split");
            return;
        }
        let asks = |word: &Word| matches!(word.literal(), Some("-v" | "-R"));
        for two in operands.windows(2) {
            if let [first, second] = two
                && asks(first)
                && !second.literal().is_some_and(plain_name)
            {
                self.gap(span, "a variable name that may be evaluated");
            }
        }
        let body = match operands {
            [not, rest @ ..] if not.literal() == Some("!") => rest,
            all => all,
        };
        let joined = operands.iter().any(|word| matches!(word.literal(), Some("-a" | "-o" | "(" | ")")));
        let unknown = |word: &Word| word.is_unknown() && word.prefix().is_empty();
        let unary = matches!(body, [first, _] if unknown(first));
        if unary
            || (joined && operands.iter().any(unknown))
            || (operands.len() > 4 && operands.iter().any(unknown))
        {
            self.gap(span, "a test whose operators are not known in advance");
        }
    }

    /// Whether it is the output of what only counts, such as `wc -l` over one stream: digits, and nothing that falls
    /// apart.
    pub(super) fn counts(&self, unknown: &Unknown) -> bool {
        let Some(command) = unknown.output_of.and_then(|at| self.commands.get(at)) else { return false };
        // A message of a failure would be evaluated, and a function may stand in front of a program.
        if unknown.text.contains('&') || self.text.contains("()") || self.text.contains("function") {
            return false;
        }
        let words: Option<Vec<&str>> = command.words.iter().map(Word::literal).collect();
        // A pattern that is an option may have it print names: `grep -c -re.`.
        if matches!(words.as_deref(), Some(["grep", _, pattern]) if pattern.starts_with('-')) {
            return false;
        }
        let counts = matches!(
            words.as_deref(),
            Some(
                ["wc", "-l" | "-c" | "-w" | "-m"]
                    | ["date", "+%s" | "+%Y"]
                    | ["nproc"]
                    | ["id", "-u" | "-g"]
                    | ["grep", "-c" | "-ci" | "-cv" | "-cE", _]
                    | ["git", "rev-list", "--count", "HEAD"]
            )
        );
        let own =
            words.and_then(|words| words.first().copied()).is_some_and(|it| self.functions.contains(it));
        counts && !own
    }

    /// Whether a function of this name is made somewhere in the text.
    pub(super) fn may_be_function(&self, name: &str) -> bool {
        let made = |head: &str, tail: &str| self.plain.contains(&format!("{head}{name}{tail}"));
        (self.plain.contains("()") && made("", "()"))
            || (self.plain.contains("function") && made("function", ""))
    }

    pub(super) fn printf(&mut self, operands: &[Word], span: &Span, state: &mut State) {
        let Some(first) = operands.first() else { return };
        if first.prefix().starts_with("-v") {
            let name = match first.literal() {
                Some("-v") => operands.get(1).and_then(Word::literal),
                Some(text) => text.strip_prefix("-v"),
                None => None,
            };
            match name {
                Some(name) if plain_name(name) => {
                    self.watch(name, span);
                    operands.iter().for_each(|word| self.wilds.give(name, word));
                    state.set(name, None);
                }
                Some(_) | None => self.gap(span, "a variable name that may be evaluated"),
            }
        } else if first.literal().is_none() && first.prefix().is_empty() {
            self.gap(span, "a format that is not known in advance");
        } else if counts_letters(first, operands.get(1..).unwrap_or_default()) {
            self.gap(span, "a format that may set a variable");
        }
    }

    /// A change of how bytes are taken for letters: some of those that others have end in a backslash.
    pub(super) fn recodes(&mut self, name: &str, value: &Word, span: &Span) {
        if !self.text.is_ascii() && super::recodes(name, value.literal()) {
            self.gap(span, "a change of how non-ASCII characters are read");
        }
    }

    /// Whether texts are run in this very shell that are read on their own.
    pub(super) fn hands_on(&self) -> bool {
        ["eval", "trap"].iter().any(|word| self.plain.contains(word))
    }

    pub(super) fn declare(
        &mut self,
        name: &str,
        operands: &[Word],
        span: &Span,
        state: &mut State,
        exports: &mut Vec<Assignment>,
    ) {
        if name == "readonly" && operands.iter().any(|word| word.literal() != Some("-p")) {
            self.gap(span, "a variable that later assignments do not change");
        }
        self.breaks |= name == "readonly";
        // Not every shell cuts a value apart here.
        let cut = |two: &[Word]| match two {
            [one, other] => one.span == other.span && self.slice(&one.span).contains('$'),
            _ => false,
        };
        if operands.windows(2).any(cut) {
            self.gap(span, "a value that may be split into words");
        }
        // Outside a function it fails.
        let fails = name == "local" && !self.reached.iter().any(|step| matches!(step, Step::Function(_)));
        let mut keyed = false;
        let mut exported = name == "export";
        let mut evaluates = false;
        for word in operands {
            let text = word.literal();
            if let Some(options) = text.filter(|text| text.starts_with(['-', '+'])) {
                if name != "readonly"
                    && options.contains(['f', 'F'])
                    && !matches!(options, "-f" | "-F" if name != "export" && operands.len() == 1)
                {
                    self.gap(span, "functions that are exported or printed");
                }
                if options.contains('n') && name != "export" {
                    self.gap(span, "a name that refers to another variable");
                }
                if options.contains(['l', 'u', 'c']) && name != "export" {
                    self.gap(span, "a variable that stores something other than the given value");
                }
                if options.contains('r') && !options.contains('f') {
                    self.gap(span, "a variable that later assignments do not change");
                }
                if options.contains('i') {
                    self.gap(span, "a variable that evaluates the given value");
                }
                keyed |= options.contains('A');
                evaluates |= options.contains('i');
                self.breaks |= evaluates;
                exported |= options.contains('x');
                continue;
            }
            let (variable, value) = match word.prefix().split_once('=') {
                Some((variable, _)) => (variable, Some(behind(word))),
                None if text.is_some() => (word.prefix(), None),
                None => {
                    self.gap(span, "a variable name that may be evaluated");
                    continue;
                }
            };
            let append = variable.ends_with('+');
            let variable = variable.trim_end_matches('+');
            if !plain_name(variable) {
                self.gap(span, "a variable name that may be evaluated");
            }
            if evaluates {
                let number = |value: &Word| {
                    value.literal().is_some_and(|text| {
                        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
                    })
                };
                if !value.as_ref().is_none_or(number) {
                    self.gap(span, "arithmetic that evaluates the value of a variable");
                }
            }
            if value.as_ref().is_some_and(|value| value.prefix().starts_with('(')) {
                self.gap(span, "a quoted array value, which bash expands again");
            }
            self.watch(variable, span);
            if keyed {
                self.keyed.insert(variable.to_owned());
                // Texts that run in this very shell are read as if it were none.
                if self.hands_on() {
                    self.gap(span, "an associative array, which code that this line runs also sees");
                }
            }
            if let Some(value) = value {
                self.recodes(variable, &value, span);
                self.wilds.give(variable, &value);
                // Attributes of an earlier declaration may change what is kept.
                let plain = name == "export" && !append
                    || (name == "local" || name == "declare")
                        && !fails
                        && !append
                        && !evaluates
                        && operands.len() == 1;
                state.set(variable, plain.then(|| known(&value)).flatten());
                let exported = if exported { Exported::ToAll } else { Exported::No };
                exports.push(Assignment { name: variable.to_owned(), value, exported });
            } else if name != "export" {
                self.vanish(variable, span);
                state.set(variable, None);
            }
            if evaluates || name == "readonly" {
                state.forget();
            }
        }
    }
}

/// What stands behind the first `=`.
fn behind(word: &Word) -> Word {
    let mut pieces = word.pieces.to_vec();
    if let Some(Piece::Text(text)) = pieces.first_mut() {
        let rest = text.split_once('=').map(|(_, rest)| rest.to_owned()).unwrap_or_default();
        *text = rest;
    }
    pieces.retain(|piece| !matches!(piece, Piece::Text(text) if text.is_empty()));
    let mut value = Word::new(word.span.clone(), pieces);
    super::word::whole(&mut value);
    value
}

/// Whether a text is the name of a variable and nothing else.
pub(super) fn plain_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether `printf` may set a variable: `%n` stores how much was printed in the one that is named.
fn counts_letters(format: &Word, operands: &[Word]) -> bool {
    let names = |word: &Word| word.literal().is_none_or(plain_name);
    let Some(text) = format.literal() else { return operands.iter().any(names) };
    text.split('%').skip(1).any(|rest| {
        let kind = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #.*'hlLqjzt".contains(c));
        kind.starts_with('n')
    })
}
