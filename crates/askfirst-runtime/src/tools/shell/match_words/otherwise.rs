//! What a command says otherwise than the rule that matches it: an option again with another value, taken back, or more
//! than what the rule's own words do.

use super::{Case, Label};
use crate::tools::shell::line::tree::Word;
use crate::tools::shell::paths::word_text;
use crate::tools::shell::pattern::PatternWord;
use crate::tools::shell::programs;
use crate::tools::shell::programs::used::{Class, Given, Known};

/// By program and sub-command: an option that holds it to something harmless, and one that widens it again.
const WIDER: [(&str, &str, [&str; 2], [&str; 2]); 1] =
    [("git", "restore", ["-S", "--staged"], ["-W", "--worktree"])];

/// Options that the pattern names, and that stand there again with another value or taken back.
pub(super) fn said(
    words: &[PatternWord],
    named: &[(usize, usize)],
    labels: &[Label],
    case: &Case<'_>,
) -> Vec<String> {
    let mut missing = Vec::new();
    let names = |name: &str| words.iter().skip(1).any(|word| word.names_option(name));
    let given =
        |name: &str| case.used.options.iter().any(|option| option.names.iter().any(|known| known == name));
    for (program, sub, one, other) in WIDER {
        let about = case.used.program == program && case.used.subs.iter().any(|given| given.name == sub);
        if about
            && one.iter().any(|one| names(one))
            && !other.iter().any(|other| names(other))
            && other.iter().any(|other| given(other))
        {
            missing.push(format!("`{}` does more than what the rule names", other.join("`, `")));
        }
    }
    let options = named.iter().filter(|(index, _)| words.get(*index).is_some_and(PatternWord::is_option));
    for (index, at) in options {
        // Behind it the words are those of a module, with options of its own.
        if case.used.program.starts_with("python") && words.get(*index).is_some_and(|word| word.head == "-m")
        {
            continue;
        }
        let value_is_apart = labels.get(at + 1) == Some(&Label::Value);
        let names_value = !value_is_apart || named.contains(&(index + 1, at + 1));
        let is_wild = words.get(*index).is_some_and(PatternWord::is_wild);
        if let Some(name) = stands_again(words, *index, *at, named.contains(&(index + 1, at + 1)), case) {
            missing.push(format!("`{name}` stands there again, with another value than the rule names"));
        }
        for own in case.used.options.iter().filter(|option| option.word == *at) {
            let others = || case.used.options.iter().filter(|option| option.word != *at);
            let again = others().filter(|other| other.names.iter().any(|name| own.names.contains(name)));
            // What is started or run is no value to a table, but stands where one does.
            let value = |given: &Given| {
                let next = || {
                    case.start
                        .words
                        .get(given.word + 1)
                        .filter(|_| labels.get(given.word + 1) == Some(&Label::Value))
                };
                given.value.clone().or_else(|| next().cloned())
            };
            let text = |value: Option<Word>| value.map(|value| value.literal().map(str::to_owned));
            let differs = |other: &&Given| {
                let other = text(value(other));
                other == Some(None) || other != text(value(own))
            };
            let name = own.names.first().map(String::as_str).unwrap_or_default();
            if names_value && !is_wild && again.clone().any(|other| differs(&other)) {
                missing.push(format!("`{name}` stands there again, with another value than the rule names"));
            }
            let negates = |given: &Given| {
                let word = case.start.words.get(given.word).map(word_text);
                word.is_some_and(|word| word.starts_with("--no-"))
            };
            if again.clone().any(|other| negates(other) != negates(own))
                || others().any(|other| takes_back(&own.names, &other.names))
            {
                missing.push(format!("`{name}` is taken back, which the rule names"));
            }
        }
    }
    missing
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

/// `--no-dry-run` behind `--dry-run`, and the other way round, where they are options of their own.
fn takes_back(own: &[String], other: &[String]) -> bool {
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
    reads.then(|| "with what the rule names it only reads, and this changes something".to_owned())
}
