//! Reads one word that is an option, or a cluster of them, with the values that belong to it.

use std::sync::Arc;

use super::{Pending, Reader};
use crate::line::arithmetic;
use crate::line::tree::{Piece, Word};
use crate::programs::table::{Opt, OptEffect, Section, Special};
use crate::programs::used::{Effect, Given, Role};
use crate::programs::words::{Lead, lead, many, shown, splits, without};
use crate::programs::{glob, guards, wrap};

/// What a long name stands for.
enum Found<'t> {
    /// This name of this section.
    One(&'t Section, &'t str),
    /// Several begin so.
    Several(Vec<String>),
    Nothing,
}

impl<'t> Reader<'t, '_> {
    /// A word that begins with a dash, or with another sign that options have here.
    pub(in crate::programs) fn option(&mut self, word: &Word, at: usize) {
        if splits(word) {
            let why = format!("`{}` may become several words", shown(word));
            self.doubt(at, &why);
        }
        let text = word.prefix();
        if self.style.long || text.starts_with("--") {
            self.long(word, at);
            return;
        }
        // A name of several letters with one dash that has a row of its own.
        let name = text.split('=').next().unwrap_or(text);
        if name.chars().count() > 2
            && (word.literal().is_some() || name.len() < text.len())
            && let Some((section, name)) = self.exactly(name)
        {
            self.long_value(section, name, word, name.len(), at);
            return;
        }
        self.cluster(word, at);
    }

    /// A word that begins with a sign other than a dash. False: it is an operand.
    pub(super) fn signed(&mut self, word: &Word, at: usize) -> bool {
        let text = word.prefix();
        let Some(sign) = text.chars().next() else { return false };
        if !self.scope().any(|section| section.signs.contains(&sign)) {
            return false;
        }
        if word.literal().is_some()
            && let Some((section, name)) = self.exactly(text)
        {
            self.give(section, name, text, None, at);
            return true;
        }
        let bare = sign.to_string();
        if let Some((section, name)) = self.exactly(&bare) {
            let value = without(word, sign.len_utf8());
            self.give(section, name, &bare, Some(value), at);
            return true;
        }
        if let Some((section, name)) = self.starred(text) {
            // Where not every end of the word is fine, it must be known.
            if word.literal().is_none() && name.chars().count() > 2 {
                self.unreadable(word, at);
            } else {
                self.give(section, name, text, None, at);
            }
            return true;
        }
        let first: String = text.chars().take(2).collect();
        if first.chars().count() == 2 && self.exactly(&first).is_some() {
            self.cluster(word, at);
            return true;
        }
        false
    }

    fn exactly(&self, name: &str) -> Option<(&'t Section, &'t str)> {
        self.scope()
            .find_map(|section| section.index.get_key_value(name).map(|(name, _)| (section, name.as_str())))
    }

    fn starred(&self, name: &str) -> Option<(&'t Section, &'t str)> {
        self.scope().find_map(|section| {
            let option = section.starred(name)?;
            let known = option.names.iter().find(|known| known.ends_with('*'))?;
            Some((section, known.as_str()))
        })
    }

    fn long(&mut self, word: &Word, at: usize) {
        let text = word.prefix().to_owned();
        let (name, valued) = match text.split_once('=') {
            Some((name, _)) => (name, true),
            None => (text.as_str(), false),
        };
        if !valued && word.literal().is_none() {
            // The name itself goes on with what is not known, unless any name that begins so is fine.
            match self.starred(name) {
                Some((section, known)) => self.give(section, known, name, None, at),
                None => self.unreadable(word, at),
            }
            return;
        }
        match self.find_long(name) {
            Found::One(section, known) => self.long_value(section, known, word, name.len(), at),
            Found::Several(mut names) => {
                names.push(name.to_owned());
                let why = format!("`{name}` could be short for several options");
                let (names, effect) = (names.into(), Effect::Unknown);
                self.used.options.push(Given { names, word: at, value: None, effect });
                self.doubt(at, &why);
            }
            Found::Nothing => self.unknown(name, at),
        }
    }

    fn find_long(&self, name: &str) -> Found<'t> {
        if let Some((section, known)) = self.exactly(name) {
            return Found::One(section, known);
        }
        if self.style.long {
            let other = match name.strip_prefix("--") {
                Some(rest) => format!("-{rest}"),
                None => format!("-{name}"),
            };
            let number = name.strip_prefix('-').is_some_and(is_number);
            let found = self
                .exactly(&other)
                .or_else(|| self.starred(name))
                .or_else(|| if number { self.exactly("-NUM") } else { None });
            return found.map_or(Found::Nothing, |(section, known)| Found::One(section, known));
        }
        if !self.style.exact && name.len() > 2 {
            let mut found: Vec<(&'t Section, &'t Opt, &'t str)> = Vec::new();
            for section in self.scope() {
                for option in &section.options {
                    let known =
                        option.names.iter().find(|known| known.starts_with(name) && !known.ends_with('*'));
                    let Some(known) = known else { continue };
                    if !found.iter().any(|(_, other, _)| other.names == option.names) {
                        found.push((section, option, known));
                    }
                }
            }
            match found.as_slice() {
                [] => {}
                [(section, _, known)] => return Found::One(section, known),
                [_, _, ..] => {
                    let names =
                        found.iter().flat_map(|(_, option, _)| option.names.iter().cloned()).collect();
                    return Found::Several(names);
                }
            }
        }
        self.starred(name).map_or(Found::Nothing, |(section, known)| Found::One(section, known))
    }

    /// An option whose name is the first `length` bytes of the word, perhaps with `=value`.
    fn long_value(&mut self, section: &'t Section, known: &'t str, word: &Word, length: usize, at: usize) {
        let text = word.prefix();
        let name = text.get(..length).unwrap_or(text).to_owned();
        let value = (text.len() > length).then(|| without(word, length + 1));
        let takes = section.rows(known).any(|option| !option.values.is_empty() || option.is_starred());
        if value.is_some() && !takes {
            let why = format!("`{name}` is not known to take a value");
            let mut names: Vec<String> =
                section.rows(known).flat_map(|option| option.names.clone()).collect();
            names.push(name.clone());
            self.doubt_named(at, names, why);
        }
        self.give(section, known, &name, value, at);
    }

    /// One or more letters after one dash.
    fn cluster(&mut self, word: &Word, at: usize) {
        let text = word.prefix();
        let sign = text.get(..1).unwrap_or("-");
        let whole = word.literal().is_some();
        let mut length = 1;
        let mut understood = Some(0);
        let count = text.chars().skip(1).count();
        let mut name = String::with_capacity(8);
        for (place, letter) in text.chars().skip(1).enumerate() {
            name.clear();
            name.push_str(sign);
            name.push(letter);
            let rest = text.get(length..).unwrap_or_default();
            length += letter.len_utf8();
            if let Some((section, known)) = self.exactly(&name) {
                if section.rows(known).all(|option| option.values.is_empty()) {
                    self.give(section, known, &name, None, at);
                    understood = understood.map(|_| length);
                    continue;
                }
                let value = (text.len() > length || !whole).then(|| without(word, length));
                self.give(section, known, &name, value, at);
                return;
            }
            if whole
                && is_number(rest)
                && let Some((section, known)) = self.exactly("-NUM")
            {
                self.give(section, known, &format!("{sign}{rest}"), None, at);
                return;
            }
            if place == 0
                && let Some((section, known)) = self.starred(text)
            {
                self.give(section, known, text, None, at);
                return;
            }
            if count == 1 && whole {
                self.unknown(&name, at);
            } else {
                let names = Arc::new([name.clone(), text.to_owned()]);
                self.used.options.push(Given { names, word: at, value: None, effect: Effect::Unknown });
                // The rest may be a password that is attached: it is not said again, and no letter of it.
                let why = match understood.take() {
                    Some(0) => format!("askfirst does not know `{name}` with text attached"),
                    Some(known) => format!(
                        "askfirst does not know the text after `{}`",
                        text.get(..known).unwrap_or_default()
                    ),
                    None => continue,
                };
                self.doubt(at, &why);
            }
        }
        if !whole {
            self.unreadable(word, at);
        }
    }

    /// `tar xzf FILE`, `ps aux`: a first word without a dash.
    pub(super) fn old_cluster(&mut self) {
        let Some(word) = self.words.get(1) else { return };
        let Some(text) = word.literal() else {
            if lead(word) != Lead::Dash {
                let why = format!("`{}` is in the place of option letters", shown(word));
                self.doubt(1, &why);
                self.next = 2;
            }
            return;
        };
        if text.is_empty() || text.starts_with('-') || text.bytes().all(|byte| byte.is_ascii_digit()) {
            return;
        }
        self.next = 2;
        let mut said = false;
        for letter in text.chars() {
            let dashed = format!("-{letter}");
            match self.exactly(&letter.to_string()).or_else(|| self.exactly(&dashed)) {
                Some((section, known)) => self.give(section, known, &dashed, None, 1),
                None => {
                    let names = Arc::new([dashed.clone(), text.to_owned()]);
                    self.used.options.push(Given { names, word: 1, value: None, effect: Effect::Unknown });
                    if !std::mem::replace(&mut said, true) {
                        let why = format!("askfirst does not know the option letter `{letter}` in `{text}`");
                        self.doubt(1, &why);
                    }
                }
            }
        }
    }

    /// Notes an option with its value, or takes the next words for it. What it does is counted at the end.
    pub(in crate::programs) fn give(
        &mut self,
        section: &'t Section,
        known: &'t str,
        written: &str,
        attached: Option<Word>,
        at: usize,
    ) {
        let shape = section.rows(known).max_by_key(|option| option.values.len());
        let mut values: Vec<(Word, usize)> = Vec::new();
        let mut parts = shape.map(|option| option.values.as_slice()).unwrap_or_default().iter();
        let mut tool = false;
        if let Some(value) = attached {
            if parts.next().is_some_and(|part| matches!(part.role, Role::Command | Role::Rest) || part.tool) {
                self.doubt(at, "a command is attached to an option");
            }
            let needs = shape.is_some_and(|option| !option.optional && !option.values.is_empty());
            if needs && !self.style.long && !written.starts_with("--") && may_be_empty(&value) {
                let why = format!("the value of `{written}` may be the next word");
                self.doubt(at, &why);
            }
            values.push((value, at));
        } else if shape.is_some_and(|option| option.optional) || self.stands_alone(section, known) {
            parts = [].iter();
        }
        for part in parts {
            let Some(word) = self.words.get(self.next) else {
                let why = format!("`{written}` has no value");
                self.doubt(at, &why);
                break;
            };
            let place = self.next;
            if part.role == Role::Command {
                wrap::command_value(self, written);
                break;
            }
            if part.role == Role::Rest {
                self.next = self.words.len();
                break;
            }
            self.next += 1;
            if many(word) {
                let why = format!("`{}` may become several words, or none", shown(word));
                self.doubt(place, &why);
            }
            // Git has options whose values stand in the same word only.
            let git = self.used.program == "git" && word.prefix().starts_with("--");
            if (self.style.exact || self.style.long || git)
                && self.style.special != Special::Find
                && looks_like_option(word)
            {
                let why = format!("`{}` may be read as an option, not as a value", shown(word));
                self.doubt(place, &why);
            }
            tool |= part.tool;
            values.push((word.clone(), place));
        }
        let mut names = shape.map(Opt::shared).unwrap_or_default();
        if known.ends_with('*') {
            names = names.iter().cloned().chain([written.to_owned()]).collect();
        }
        let value = values.first().map(|(word, _)| word.clone());
        let last = if tool { values.last().cloned() } else { None };
        self.pending.push(Pending {
            section,
            known,
            given: self.used.options.len(),
            written: written.to_owned(),
            values,
        });
        self.used.options.push(Given { names, word: at, value, effect: Effect::Harmless });
        if let Some((word, place)) = last {
            self.tool(&word, place);
        }
    }

    /// Whether the next word is no value of an option that may have one: `-j 4`, but `-j --verbose`.
    fn stands_alone(&self, section: &Section, known: &str) -> bool {
        let next = self.words.get(self.next).and_then(Word::literal);
        let bare = section
            .rows(known)
            .any(|option| option.values.is_empty() && option.effect == OptEffect::Harmless);
        let mut globs = section.rows(known).filter(|option| !option.values.is_empty()).peekable();
        let fits = |option: &Opt| {
            option.glob.as_deref().is_none_or(|glob| next.is_some_and(|next| glob::matches(glob, next)))
        };
        bare && globs.peek().is_some() && !globs.any(fits)
    }

    fn unknown(&mut self, name: &str, at: usize) {
        let names = vec![name.to_owned()];
        if guards::explains(&self.used.program, name) && !self.used.subs.is_empty() {
            let effect = Effect::Harmless;
            self.used.options.push(Given { names: names.clone().into(), word: at, value: None, effect });
            self.alone.push((names, at));
            return;
        }
        self.used.options.push(Given {
            names: names.clone().into(),
            word: at,
            value: None,
            effect: Effect::Unknown,
        });
        let why = format!("askfirst does not know the option `{name}`");
        self.doubt_named(at, names, why);
    }

    /// An option of which not even the name is known.
    pub(in crate::programs) fn unreadable(&mut self, word: &Word, at: usize) {
        let names = Arc::new([shown(word)]);
        self.used.options.push(Given { names, word: at, value: None, effect: Effect::Unknown });
        let why = format!("`{}` is an option that is not known in advance", shown(word));
        self.doubt(at, &why);
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `-x`, `--name`, `--name=value`: some programs don't take these for the value of the option before.
fn looks_like_option(word: &Word) -> bool {
    let text = word.prefix();
    let name = text.strip_prefix("--").or_else(|| text.strip_prefix('-')).unwrap_or_default();
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && !name.contains(char::is_whitespace)
}

/// Whether nothing may be left of a word.
fn may_be_empty(word: &Word) -> bool {
    word.pieces.iter().all(|piece| match piece {
        Piece::Unknown(unknown) => arithmetic(&unknown.text).is_none(),
        Piece::Text(_) | Piece::Glob(_) | Piece::Home => false,
    })
}
