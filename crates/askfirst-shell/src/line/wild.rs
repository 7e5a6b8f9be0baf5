//! Wildcards in what is filled in: outside quotes the shell looks for names by them, wherever they lead.
//!
//! What a line itself puts into a variable is followed, and what it has printed by commands that print their words.

use std::collections::BTreeMap;

use super::state::{Known, State};
use super::syntax::{Pick, Raw, Span};
use super::tree::{Command, Piece, Stdin, Word};
use super::walk::Walker;

/// Commands that print what they are given, or what they read.
const PRINTS: [&str; 10] =
    ["echo", "printf", "date", "seq", "basename", "dirname", "cat", "head", "tail", "sort"];

/// Where a wildcard leads: without a path beside it, only to names of the folder.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leads {
    /// Elsewhere, as it stands.
    outside: bool,
    /// Elsewhere, if something in front of it is changed.
    path: bool,
}

impl Leads {
    const ANYWHERE: Self = Self { outside: true, path: true };

    fn or(self, other: Self) -> Self {
        Self { outside: self.outside || other.outside, path: self.path || other.path }
    }
}

/// What a line does with wildcards.
#[derive(Default)]
pub(super) struct Wilds {
    /// Variables that are given one.
    given: BTreeMap<String, Leads>,
    /// Variables that stand outside quotes: behind a path, or changed.
    spread: BTreeMap<String, Leads>,
    /// Variables that are given what others hold.
    copies: Vec<(String, String)>,
    /// Whether a substitution prints one.
    pub(super) printed: Option<Leads>,
}

impl Wilds {
    /// A variable is given this word.
    pub(super) fn give(&mut self, name: &str, word: &Word) {
        if let Some(leads) = written(word) {
            self.note(name, leads);
        }
        self.copies.extend(unknowns(word).map(|from| (named(name), named(from))));
    }

    /// A word is added to what a variable holds.
    pub(super) fn add(&mut self, name: &str, word: &Word) {
        let wild = written(word).is_some() || self.given.contains_key(&named(name));
        self.give(name, word);
        if wild {
            self.note(name, Leads::ANYWHERE);
        }
    }

    /// A variable is given what a substitution printed.
    pub(super) fn note(&mut self, name: &str, leads: Leads) {
        let given = self.given.entry(named(name)).or_default();
        *given = given.or(leads);
    }

    /// Whether a variable is given a wildcard and stands outside quotes, and a path is beside it.
    pub(super) fn meet(mut self) -> bool {
        // As often as what is handed on may be handed on.
        for _ in 0..self.copies.len() {
            let before = self.given.len();
            for (name, from) in std::mem::take(&mut self.copies) {
                match self.given.get(&from).copied() {
                    Some(_) => *self.given.entry(name).or_default() = Leads::ANYWHERE,
                    None => self.copies.push((name, from)),
                }
            }
            if self.given.len() == before {
                break;
            }
        }
        let meets =
            |leads: Leads, spread: &Leads| leads.outside || spread.outside || (leads.path && spread.path);
        self.given.iter().any(|(name, leads)| self.spread.get(name).is_some_and(|it| meets(*leads, it)))
    }
}

impl Walker<'_> {
    /// Takes note of what stands outside quotes in these words.
    pub(super) fn spreads(&mut self, made: &[Word], span: &Span) {
        for word in made {
            let path = word.pieces.iter().any(|piece| match piece {
                Piece::Text(text) | Piece::Glob(text) => text.contains('/'),
                Piece::Home => true,
                Piece::Unknown(_) => false,
            });
            for piece in word.pieces.iter() {
                let Piece::Unknown(unknown) = piece else { continue };
                // `"$@"` is several words, but no wildcard.
                let quoted = unknown.text.contains('@') && self.slice(span).contains('"');
                if !unknown.splits || quoted {
                    continue;
                }
                let printed = unknown.output_of.is_some() || unknown.text.starts_with(['`', '<']);
                let printed = printed || unknown.text.starts_with("$(");
                if printed && self.wilds.printed.is_some_and(|leads| leads.path || path) {
                    self.gap(span, "a wildcard in printed text");
                }
                for name in names(&unknown.text) {
                    let plain = unknown.text.trim_matches(['$', '{', '}']) == name;
                    let spread = self.wilds.spread.entry(named(name)).or_default();
                    *spread = spread.or(Leads { outside: path, path: !plain });
                }
            }
        }
    }

    /// Whether commands from this one on print a wildcard.
    pub(super) fn prints(&mut self, from: usize) {
        let commands = self.commands.get(from..).unwrap_or_default();
        let leads = commands.iter().filter_map(printed).chain(self.wilds.printed).reduce(Leads::or);
        self.wilds.printed = leads;
    }

    /// `read` and its like take what they read.
    pub(super) fn takes(&mut self, words: &[Word], stdin: &Stdin) {
        let Some("read" | "mapfile" | "readarray") = words.first().and_then(Word::literal) else { return };
        let names = || words.iter().skip(1).filter_map(Word::literal).chain(["REPLY", "MAPFILE"]);
        let leads = match stdin {
            Stdin::Text(text) => {
                names().for_each(|name| self.wilds.give(name, text));
                return;
            }
            Stdin::Pipe(from) => self.piped(*from),
            Stdin::Inherited | Stdin::Unknown => None,
        };
        if let Some(leads) = leads {
            names().for_each(|name| self.wilds.note(name, leads));
        }
    }

    /// Whether a command prints a wildcard, or one before it in the pipe.
    fn piped(&self, from: usize) -> Option<Leads> {
        let command = self.commands.get(from)?;
        let before = match command.stdin {
            Stdin::Pipe(before) if before < from => self.piped(before),
            Stdin::Pipe(_) | Stdin::Inherited | Stdin::Text(_) | Stdin::Unknown => None,
        };
        printed(command).into_iter().chain(before).reduce(Leads::or)
    }

    /// A wildcard in the word of `${x:-word}`, which stands outside quotes.
    pub(super) fn stands_in(&mut self, rest: &str, span: &Span) {
        let word = match rest.strip_prefix('/') {
            Some(pattern) => {
                let pattern = pattern.trim_start_matches(['/', '#', '%']);
                pattern.split_once('/').map_or("", |(_, word)| word)
            }
            None if rest.trim_start_matches(':').starts_with(['-', '+', '=']) => rest,
            None => "",
        };
        if word.contains(WILD) {
            self.gap(span, "a wildcard in a value that may be expanded");
        }
    }

    /// What a loop goes through. Where a person picks, all of it is shown.
    pub(super) fn give_each(&mut self, name: &str, pick: Pick, values: &[Word]) {
        match pick {
            Pick::Each => values.iter().for_each(|value| self.wilds.give(name, value)),
            Pick::Person => self.give_list(name, values),
        }
    }

    /// Whether a word is what a wildcard found, by a variable outside quotes: names with blanks fall apart.
    pub(super) fn over_wildcard(&self, raw: &Raw, state: &State) -> bool {
        let Raw::Word(span) = raw else { return false };
        let text = self.slice(span);
        let wild = |name: &str| match state.get(name) {
            Some(Known::Value(pieces)) => pieces.iter().any(|piece| matches!(piece, Piece::Glob(_))),
            Some(Known::Number | Known::List(_)) | None => false,
        };
        fills_bare(text) && names(text).any(wild)
    }

    /// What a list holds.
    pub(super) fn give_list(&mut self, name: &str, elements: &[Word]) {
        let slash = |word: &Word| {
            word.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains('/')))
        };
        // One may be put in front of another.
        if elements.iter().any(|word| written(word).is_some()) && elements.iter().any(slash) {
            self.wilds.note(name, Leads { outside: false, path: true });
        }
        for element in elements {
            self.wilds.give(name, element);
            // These are looked for at once.
            let outside = match element.pieces.first() {
                Some(Piece::Text(text)) => text.starts_with('/') || text.contains(".."),
                Some(Piece::Home | Piece::Unknown(_)) => true,
                Some(Piece::Glob(_)) | None => false,
            };
            if element.has_glob() && outside {
                self.gap(&element.span.clone(), "an array with a wildcard outside the working directory");
            }
        }
    }
}

const WILD: [char; 3] = ['*', '?', '['];

/// Whether a word has a wildcard in its text.
fn written(word: &Word) -> Option<Leads> {
    let texts = || {
        word.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Glob(_) | Piece::Home | Piece::Unknown(_) => None,
        })
    };
    let beside = word.pieces.iter().any(|piece| matches!(piece, Piece::Home | Piece::Unknown(_)));
    let out = |field: &str| field.starts_with(['/', '~']) || field.contains("..");
    texts().any(|text| text.contains(WILD)).then(|| Leads {
        outside: beside || texts().any(|text| text.split_whitespace().any(out)),
        path: beside || texts().any(|text| text.contains('/')),
    })
}

/// Whether a command prints a wildcard.
fn printed(command: &Command) -> Option<Leads> {
    let name = command.words.first().and_then(Word::literal)?;
    let read = match &command.stdin {
        Stdin::Text(text) => written(text),
        Stdin::Inherited | Stdin::Pipe(_) | Stdin::Unknown => None,
    };
    // Of others only what they read may come out again.
    if !PRINTS.contains(&name) {
        return read;
    }
    let words = || command.words.iter().skip(1);
    if matches!(name, "printf" | "echo") && words().any(spelled) {
        return Some(Leads::ANYWHERE);
    }
    let wild = words().filter_map(written).chain(read).reduce(Leads::or)?;
    let slash = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains('/'));
    let path = |word: &Word| word.is_unknown() || word.pieces.iter().any(slash);
    Some(if words().any(path) { Leads::ANYWHERE } else { wild })
}

/// Whether a text spells a wildcard by its number.
fn spelled(word: &Word) -> bool {
    const NUMBERS: [&str; 9] = ["52", "052", "x2a", "77", "077", "x3f", "133", "0133", "x5b"];
    word.pieces.iter().any(|piece| match piece {
        Piece::Text(text) => {
            let text = text.to_ascii_lowercase();
            text.split('\\').skip(1).any(|rest| {
                let unicode = rest.strip_prefix('u').map(|rest| rest.trim_start_matches('0'));
                let unicode =
                    unicode.is_some_and(|rest| ["2a", "3f", "5b"].iter().any(|it| rest.starts_with(it)));
                unicode || NUMBERS.iter().any(|number| rest.starts_with(number))
            })
        }
        Piece::Glob(_) | Piece::Home | Piece::Unknown(_) => false,
    })
}

/// Whether something may be filled in outside double quotes. Where other quotes stand beside it, that is not looked at closer.
pub(super) fn fills_bare(text: &str) -> bool {
    let counts = !text.contains(['\'', '\\', '`']);
    text.contains('$') && (!counts || text.split('"').step_by(2).any(|part| part.contains('$')))
}

/// What was given in places is one.
fn named(name: &str) -> String {
    let place = name.starts_with(|c: char| c.is_ascii_digit() || c == '@' || c == '*');
    if place { "@".to_owned() } else { name.to_owned() }
}

/// The names in an expansion.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let places = text.contains('@').then_some("@").into_iter().chain(text.contains('*').then_some("*"));
    text.split(move |c: char| !name(c)).filter(|name| !name.is_empty()).chain(places)
}

/// The variables in a word that are not known.
fn unknowns(word: &Word) -> impl Iterator<Item = &str> {
    word.pieces.iter().flat_map(|piece| match piece {
        Piece::Unknown(unknown) if unknown.output_of.is_none() => names(&unknown.text),
        Piece::Unknown(_) | Piece::Text(_) | Piece::Glob(_) | Piece::Home => names(""),
    })
}
