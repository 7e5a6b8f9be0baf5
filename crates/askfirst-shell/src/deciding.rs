//! What decides about a command: its programs, where they read and write, whom they reach. Nothing may hide it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use super::line::tree::Word;
use super::open;
use super::paths::word_text;
use super::programs::used::{Effect, Given, Known, Role};
use super::start::{Kind, Opened, Start};
use super::world::Empty;

/// A longer text is not looked at.
const MAX_TEXT: usize = 64 << 10;

/// The words that decide about some commands.
#[derive(Debug, Clone, Default)]
pub struct Deciding {
    /// What surely does.
    words: BTreeSet<String>,
    /// What may: words of a program that nothing is known about.
    perhaps: BTreeSet<String>,
    /// Where the first stand.
    ranges: Vec<Range<usize>>,
    /// Where the others stand, and what was not understood.
    doubtful: Vec<Range<usize>>,
    /// The names of programs and files.
    files: BTreeSet<String>,
    /// Whether something runs that is not plainly there: code, or what a variable holds.
    open: bool,
}

impl Deciding {
    /// Those of a command line.
    pub fn of_text(text: &str) -> Self {
        if text.len() > MAX_TEXT {
            let doubtful = std::iter::once(0..text.len()).collect();
            return Self { doubtful, open: true, ..Self::default() };
        }
        Self::of(&open::open_text(text, Path::new("/"), &Empty), text)
    }

    /// Those of a program with its words. They stand nowhere.
    pub fn of_words(words: &[String]) -> Self {
        if words.iter().map(String::len).sum::<usize>() > MAX_TEXT {
            return Self { open: true, ..Self::default() };
        }
        let deciding = Self::of(&open::open_words(words, "", Path::new("/"), &Empty), "");
        Self { doubtful: Vec::new(), ..deciding }
    }

    /// Adds what decides about another command.
    pub fn add(&mut self, other: Self) {
        self.words.extend(other.words);
        self.perhaps.extend(other.perhaps);
        self.files.extend(other.files);
        self.open |= other.open;
    }

    fn of(opened: &Opened, text: &str) -> Self {
        let mut deciding = Self::default();
        for start in &opened.starts {
            deciding.start(start, text);
        }
        deciding.doubtful.extend(opened.gaps.iter().map(|(span, _)| span.clone()));
        deciding.open |= !opened.gaps.is_empty();
        deciding
    }

    fn start(&mut self, start: &Start, text: &str) {
        // What another program starts has places of its own.
        let text = if start.via.is_empty() { text } else { "" };
        if let Some(program) = start.words.first().filter(|_| start.kind != Kind::Nothing) {
            self.word(program, text);
            self.file(program);
            self.open |= program.literal().is_none();
        }
        for target in &start.redirections {
            self.word(&target.word, text);
            self.file(&target.word);
        }
        self.open |= !start.gaps.is_empty();
        let rest = start.words.iter().skip(1);
        rest.clone().filter(|word| word_text(word).contains('@')).for_each(|word| self.host(word, text));
        rest.clone().filter(|word| word_text(word).contains("://")).for_each(|word| self.host(word, text));
        let Some(used) = &start.used else { return };
        let code = |role: Role| matches!(role, Role::Code | Role::Script);
        self.open |= used.paths.iter().any(|path| code(path.role))
            || used.operands.iter().any(|operand| code(operand.role))
            || used.options.iter().any(|given| given.effect == Effect::Asks);
        let files = used.paths.iter().filter(|path| !code(path.role) && path.role != Role::Url);
        files.for_each(|path| self.file(&path.word));
        // Behind an option that is not known, a word may be its value.
        let unknown = |given: &&Given| given.effect == Effect::Unknown && given.value.is_none();
        let behind: Vec<usize> = used.options.iter().filter(unknown).map(|given| given.word + 1).collect();
        let is_value = |word: &Word| behind.iter().any(|at| start.words.get(*at) == Some(word));
        for path in &used.paths {
            match path.role {
                Role::Read | Role::Tree | Role::List | Role::Write if is_value(&path.word) => {
                    self.perhaps(&path.word, text);
                }
                Role::Read
                | Role::Tree
                | Role::List
                | Role::Write
                | Role::Text
                | Role::Folder
                | Role::Pathspec
                | Role::Url
                | Role::File
                | Role::Rest
                | Role::Command
                | Role::Script
                | Role::Code
                | Role::Ask => self.word(&path.word, text),
            }
        }
        for operand in &used.operands {
            let Some(word) = start.words.get(operand.word) else { continue };
            match operand.role {
                Role::Url if is_value(word) => self.perhaps(word, text),
                Role::Url => self.host(word, text),
                Role::File | Role::Command | Role::Folder => self.word(word, text),
                Role::Text
                | Role::Read
                | Role::Tree
                | Role::List
                | Role::Write
                | Role::Pathspec
                | Role::Rest
                | Role::Script
                | Role::Code
                | Role::Ask => {}
            }
        }
        if used.known == Known::Nothing {
            for word in rest.filter(|word| !word.prefix().starts_with('-')) {
                self.perhaps(word, text);
            }
        }
    }

    fn perhaps(&mut self, word: &Word, text: &str) {
        self.doubtful.extend(stands(word, text));
        self.perhaps.insert(word_text(word).into_owned());
    }

    /// A file decides by each of its names.
    fn file(&mut self, word: &Word) {
        let name = word_text(word);
        if !name.contains("://") {
            self.files.extend(name.split('/').map(str::to_owned));
        }
    }

    fn word(&mut self, word: &Word, text: &str) {
        if word_text(word).contains("://") {
            return self.host(word, text);
        }
        self.ranges.extend(stands(word, text));
        self.words.insert(word_text(word).into_owned());
    }

    /// An address decides by all but the password in it.
    fn host(&mut self, word: &Word, text: &str) {
        let address = word_text(word);
        let rest = address.split_once("://").map_or(&*address, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
        let host = authority.rsplit('@').next().unwrap_or_default();
        self.words.insert(host.to_owned());
        if !user.contains(':') {
            self.ranges.extend(stands(word, text));
            self.words.extend(address.split_once('=').map(|(_, value)| value.to_owned()));
            self.words.insert(address.into_owned());
            return;
        }
        let behind = rest.get(user.len()..).unwrap_or_default();
        self.words.insert(behind.to_owned());
        let written = text.get(word.span.clone()).unwrap_or_default();
        if let Some(at) = written.rfind(behind).map(|at| word.span.start + at) {
            self.ranges.push(at..at + behind.len());
        }
    }

    /// Whether a value is what surely decides, or has it in it as a word.
    pub fn is(&self, value: &str) -> bool {
        self.words.contains(value) || parts(value).any(|part| self.words.contains(part))
    }

    /// Whether a guess is not hidden: it decides, or could where more runs than can be seen.
    pub fn spares(&self, guess: &str) -> bool {
        self.is(guess) || self.open && could_decide(guess)
    }

    /// Whether a value is the name of a program or a file, whatever it looks like.
    pub fn names(&self, value: &str) -> bool {
        self.files.contains(value)
    }

    /// Whether hiding a value would hide a part of what decides.
    pub fn touches(&self, value: &str) -> bool {
        const TELLING: usize = 3;
        let long = |part: &&str| part.len() >= TELLING;
        let within =
            |word: &String| word.contains(value) || parts(value).filter(long).any(|part| word.contains(part));
        let perhaps = self.perhaps.iter().filter(|_| could_decide(value));
        self.is(value) || self.words.iter().chain(perhaps).any(within)
    }

    /// Whether hiding what stands here would hide a part of what surely decides.
    pub fn stands_in(&self, place: &Range<usize>) -> bool {
        self.ranges.iter().any(|range| range.start < place.end && place.start < range.end)
    }

    /// The same of what may decide.
    pub fn may_stand_in(&self, place: &Range<usize>) -> bool {
        let overlaps = |range: &Range<usize>| range.start < place.end && place.start < range.end;
        self.stands_in(place) || self.doubtful.iter().any(overlaps)
    }
}

/// Whether a value may be a program, a file, a host or a command: few passwords are a plain word, or have these in them.
fn could_decide(value: &str) -> bool {
    let plain = value.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte));
    plain || value.contains(|c: char| "/.".contains(c) || c.is_whitespace())
}

/// A value as a shell would take it apart.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "\"'`$;&|<>()".contains(c);
    value.split(ends).filter(|part| !part.is_empty())
}

/// Where a word stands in a text, if it does.
fn stands(word: &Word, text: &str) -> Option<Range<usize>> {
    text.get(word.span.clone()).filter(|written| !written.is_empty()).map(|_| word.span.clone())
}

#[cfg(test)]
#[path = "deciding/tests.rs"]
mod tests;
