//! What a command says otherwise than the rule that matches it: an option again with another value, taken back, or more
//! than what the rule's own words do.

use super::{Case, Label};
use crate::line::tree::Word;
use crate::paths::word_text;
use crate::pattern::PatternWord;
use crate::programs;
use crate::programs::used::{Class, Given, Known};

/// By program and sub-command: an option that holds it to something harmless, and one that widens it again.
const WIDER: [(&str, &str, [&str; 2], [&str; 2]); 1] =
    [("git", "restore", ["-S", "--staged"], ["-W", "--worktree"])];

/// Options that the pattern names, and that stand there again with another value, taken back or widened.
pub(super) fn said(
    words: &[PatternWord],
    named: &[(usize, usize)],
    labels: &[Label],
    case: &Case<'_>,
) -> Vec<String> {
    let mut missing: Vec<String> = widened(words, case).collect();
    let options = named.iter().filter(|(index, _)| words.get(*index).is_some_and(PatternWord::is_option));
    for (index, at) in options {
        let Some(word) = words.get(*index) else { continue };
        // Behind it the words are those of a module, with options of its own.
        if case.used.program.starts_with("python") && word.head == "-m" {
            continue;
        }
        let next_is_named = named.contains(&(index + 1, at + 1));
        let again = Again { labels, case };
        let value_is_apart = again.is_value(at + 1);
        let names_value = (!value_is_apart || next_is_named) && !word.is_wild();
        let own = || case.used.options.iter().filter(|option| option.word == *at);
        let name = stands_again(words, *index, *at, next_is_named, case);
        let name = name.or_else(|| own().filter(|_| names_value).find_map(|own| again.otherwise(own)));
        missing.extend(
            name.map(|name| format!("`{name}` is repeated with a value that the rule does not name")),
        );
        let back = own().find_map(|own| again.taken_back(own));
        missing.extend(back.map(|name| format!("this command reverses `{name}`, which the rule names")));
    }
    missing
}

/// What does more than an option that the pattern names.
fn widened(words: &[PatternWord], case: &Case<'_>) -> impl Iterator<Item = String> {
    let names =
        |any: &[&str]| any.iter().any(|name| words.iter().skip(1).any(|word| word.names_option(name)));
    let given = |any: &[&str]| {
        case.used.options.iter().any(|option| option.names.iter().any(|name| any.contains(&name.as_str())))
    };
    WIDER.iter().filter_map(move |(program, sub, one, other)| {
        let about = case.used.program == *program && case.used.subs.iter().any(|given| given.name == *sub);
        let wider = about && names(one) && !names(other) && given(other);
        wider.then(|| format!("`{}` does more than the rule names", other.join("`, `")))
    })
}

/// Finds options of a command that stand in it more than once.
struct Again<'a> {
    labels: &'a [Label],
    case: &'a Case<'a>,
}

impl Again<'_> {
    fn is_value(&self, at: usize) -> bool {
        self.labels.get(at) == Some(&Label::Value)
    }

    fn others(&self, own: &Given) -> impl Iterator<Item = &Given> {
        let word = own.word;
        self.case.used.options.iter().filter(move |option| option.word != word)
    }

    fn twins(&self, own: &Given) -> impl Iterator<Item = &Given> {
        let names = own.names.clone();
        self.others(own).filter(move |other| other.names.iter().any(|name| names.contains(name)))
    }

    /// Its value; one that is not known is no text. What is started or run is none to a table, but stands where one does.
    fn value(&self, given: &Given) -> Option<Option<String>> {
        let next = given.word + 1;
        let apart = || self.case.start.words.get(next).filter(|_| self.is_value(next));
        let value = given.value.as_ref().or_else(apart)?;
        Some(value.literal().map(str::to_owned))
    }

    /// The name of an option that stands there with another value too.
    fn otherwise(&self, own: &Given) -> Option<String> {
        let value = self.value(own);
        let differs = |other: &Given| {
            let other = self.value(other);
            other == Some(None) || other != value
        };
        self.twins(own).any(differs).then(|| own.names.first().cloned().unwrap_or_default())
    }

    /// The name of an option that is taken back: `--no-dry-run` behind `--dry-run`, and the other way round.
    fn taken_back(&self, own: &Given) -> Option<String> {
        let negates = |given: &Given| {
            let word = self.case.start.words.get(given.word).map(word_text);
            word.is_some_and(|word| word.starts_with("--no-"))
        };
        let back = self.twins(own).any(|other| negates(other) != negates(own))
            || self.others(own).any(|other| are_opposites(&own.names, &other.names));
        back.then(|| own.names.first().cloned().unwrap_or_default())
    }
}

/// The same by the letters alone, for programs that nothing is known about: `--plugin=a --plugin=b`, `-r a -r b`.
fn stands_again(
    words: &[PatternWord],
    index: usize,
    at: usize,
    with_next: bool,
    case: &Case<'_>,
) -> Option<String> {
    let word = words.get(index)?.glob.plain()?;
    let next = words.get(index + 1).filter(|next| !next.is_option()).and_then(|next| next.glob.plain());
    let (name, value) = match (word.split_once('='), next) {
        (Some((name, value)), _) => (name, value),
        (None, Some(next)) if with_next => (word, next),
        (None, _) => return None,
    };
    let given = |at: usize| case.start.words.get(at).map(word_text);
    let again = (1..case.start.words.len()).filter(|other| *other != at).any(|other| {
        let Some(text) = given(other) else { return false };
        match text.split_once('=') {
            Some((own, set)) => own == name && set != value,
            None if *text == *name => given(other + 1).is_none_or(|next| *next != *value),
            None => false,
        }
    });
    again.then(|| name.to_owned())
}

/// `--x` and `--no-x`, where they are options of their own.
fn are_opposites(own: &[String], other: &[String]) -> bool {
    let bare = |name: &String| name.strip_prefix("--").map(str::to_owned);
    let pair = |one: &str, two: &str| one.strip_prefix("no-").is_some_and(|rest| rest == two);
    if own.iter().any(|name| other.contains(name)) {
        return false;
    }
    let (own, other): (Vec<String>, Vec<String>) =
        (own.iter().filter_map(bare).collect(), other.iter().filter_map(bare).collect());
    own.iter().any(|one| other.iter().any(|two| pair(one, two) || pair(two, one)))
}

/// What changes something, under a rule that names options with which the program only reads: `git branch -vv -D x`.
pub(super) fn does_more(words: &[PatternWord], named: &[(usize, usize)], case: &Case<'_>) -> Option<String> {
    let options = named.iter().any(|(index, _)| words.get(*index).is_some_and(PatternWord::is_option));
    if !options || case.used.class != Class::Changes || case.used.known != Known::Table {
        return None;
    }
    let own: Option<Vec<Word>> =
        words.iter().map(|word| Some(Word::text(word.glob.plain()?, 0..0))).collect();
    let alone = programs::used(&own?);
    let reads = alone.class == Class::Reads && alone.doubts.is_empty();
    reads.then(|| "the rule names a form that only reads, but this command changes something".to_owned())
}
