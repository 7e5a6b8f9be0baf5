//! Words whose unknown parts can be told after all: by what the command prints whose output they are.

mod eaten;
mod likeness;
mod printed;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(super) use likeness::Likeness;
use printed::{counted, goes_on, is_hash, is_object, is_one_line, is_revision, is_sum, moment, part_of_path};

use super::filters::{makes_function, unfiltered};
use super::line::arithmetic;
use super::line::tree::{Folder, Line, Piece, Taken, Unknown, Word};
use super::lists;
use super::paths::{self, Repository};
use super::programs;
use super::programs::used::{Used, Yields};
use super::world::World;

/// So many parts that may be nothing may a command have: every choice of them is tried.
const MOST_DOUBTFUL: usize = 4;
/// The bit by which lists are nothing.
const LISTS: u32 = 1 << 31;
/// So deep are substitutions inside substitutions looked at.
const MAX_DEPTH: usize = 8;
/// What the shell itself makes digits of.
const NUMBERS: [&str; 13] = [
    "?",
    "#",
    "$",
    "!",
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "UID",
    "EUID",
    "PPID",
    "BASHPID",
    "EPOCHSECONDS",
];

/// Fills words of one line.
pub(super) struct Filler<'a> {
    pub(super) line: &'a Line,
    pub(super) world: &'a dyn World,
    pub(super) folders: &'a [PathBuf],
    /// The same as the line says it.
    pub(super) own: Option<&'a [Folder]>,
    /// Whether the shell has other names for them.
    pub(super) linked: bool,
}

/// Words with what could be told filled in.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) words: Vec<Word>,
    /// Which words stand for any path below the one that they name.
    pub(super) below: Vec<usize>,
    /// Which words are a name that is not known.
    pub(super) some_name: Vec<usize>,
    /// How many parts were filled in that may turn out to be nothing.
    doubtful: usize,
    /// Whether some words may turn out to be several, or none.
    lists: bool,
}

/// What parts that were filled in turn out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// What was filled in.
    Told,
    /// Those of them are nothing whose bits are set; lists are nothing where the highest is.
    Empty(u32),
    /// What may be several words is three.
    Several,
}

/// What an unknown part turns out to be.
enum Told {
    Text(String),
    /// Something like this: a number, a date.
    Like(String),
    /// This, or nothing at all.
    Perhaps(String),
    /// Something like this, or nothing at all.
    PerhapsLike(String),
    Name,
    Hash,
    Below(Vec<Word>),
    Nothing,
}

impl Filler<'_> {
    pub(super) fn fill(&self, words: &[Word]) -> Filled {
        self.fill_to(words, 0, Turn::Told)
    }

    /// What else these words may be: without what may be nothing, and with more of what may be several.
    pub(super) fn others(&self, words: &[Word], filled: &Filled) -> Vec<Filled> {
        // Which of them are nothing may matter: each choice is tried.
        let choices = 1_u32 << filled.doubtful.min(MOST_DOUBTFUL);
        let mut turns: Vec<Turn> = (1..choices).map(Turn::Empty).collect();
        if filled.lists {
            turns.extend((0..choices).map(|choice| Turn::Empty(choice | LISTS)));
            turns.push(Turn::Several);
        }
        let mut others: Vec<Filled> = Vec::new();
        for other in turns.into_iter().map(|turn| self.fill_to(words, 0, turn)) {
            let known = others.iter().chain([filled]).any(|known| known.words == other.words);
            others.extend((!known).then_some(other));
        }
        others
    }

    /// A word that stays one word.
    pub(super) fn one(&self, word: &Word) -> Word {
        let mut filled = self.fill_to(std::slice::from_ref(word), 0, Turn::Told);
        let sure = filled.below.is_empty() && filled.some_name.is_empty() && filled.doubtful == 0;
        match (filled.words.pop(), filled.words.is_empty()) {
            (Some(one), true) if sure => one,
            (Some(_) | None, _) => word.clone(),
        }
    }

    /// Where a stream leads: one word, and whether it stands for any file below it.
    pub(super) fn target(&self, word: &Word) -> (Word, bool) {
        let mut filled = self.fill_to(std::slice::from_ref(word), 0, Turn::Told);
        match (filled.words.pop(), filled.words.is_empty()) {
            (Some(one), true) if filled.some_name.is_empty() && filled.doubtful == 0 => {
                (one, !filled.below.is_empty())
            }
            (Some(_) | None, _) => (word.clone(), false),
        }
    }

    fn fill_to(&self, words: &[Word], depth: usize, turn: Turn) -> Filled {
        // What the shell itself takes a number from does no harm with any.
        let first = words.first().and_then(Word::literal);
        let counts = first.is_some_and(|name| ["exit", "return", "wait", "sleep", "shift"].contains(&name));
        let mut filled = Filled { words: Vec::with_capacity(words.len()), ..Filled::default() };
        for word in words {
            if let [Piece::Unknown(unknown)] = &*word.pieces
                && let Told::Below(tops) = self.told(unknown, depth)
                && (unknown.splits || unknown.taken != Taken::All || is_one_line(self.line, unknown))
            {
                filled.lists = true;
                let times = match turn {
                    Turn::Empty(choice) if choice & LISTS != 0 => 0,
                    Turn::Several => 3,
                    Turn::Told | Turn::Empty(_) => 1,
                };
                for top in (0..times).flat_map(|_| tops.iter()) {
                    filled.below.push(filled.words.len());
                    filled.words.push(Word { span: word.span.clone(), ..top.clone() });
                }
                continue;
            }
            if !word.is_unknown() {
                filled.words.push(word.clone());
                continue;
            }
            let mut pieces: Vec<Piece> = Vec::new();
            let mut likeness = Likeness::default();
            let mut exact = 0;
            let alone = word.pieces.len() == 1;
            for (place, piece) in word.pieces.iter().enumerate() {
                let behind = word.pieces.get(place + 1);
                match piece {
                    Piece::Unknown(unknown) if is_digits(unknown, counts || !pieces.is_empty()) => {
                        likeness.stand_in("[-0-9]*");
                        push(&mut pieces, "0".to_owned());
                    }
                    Piece::Unknown(unknown) if counts && alone && is_status(&unknown.text) => {
                        push(&mut pieces, "0".to_owned());
                    }
                    Piece::Unknown(unknown) => match self.told(unknown, depth) {
                        Told::Text(text) => {
                            exact += 1;
                            likeness.push(&text);
                            push(&mut pieces, text);
                        }
                        told if is_taken(&told, place, behind, alone, &word.pieces)
                            && filled.is_empty_at(turn) => {}
                        // Where it turns out to be nothing, what stands beside it becomes something else.
                        Told::Like(text) => {
                            likeness.stand_in(&likeness::of_digits(&text));
                            push(&mut pieces, text);
                        }
                        Told::Perhaps(text) if alone || is_sum(&word.pieces) => {
                            likeness.push(&text);
                            push(&mut pieces, text);
                        }
                        Told::PerhapsLike(text) if alone || is_sum(&word.pieces) => {
                            likeness.stand_in(&likeness::of_digits(&text));
                            push(&mut pieces, text);
                        }
                        Told::Name if place > 0 || behind.is_none_or(goes_on) => {
                            filled.some_name.push(filled.words.len());
                            push(&mut pieces, "name".to_owned());
                        }
                        // Letters and digits are no code, whichever they are.
                        Told::Hash if place > 0 || behind.is_none_or(goes_on) => {
                            // Before the first commit git prints `HEAD` as it stands.
                            likeness.stand_in("[0-9a-fH][0-9a-fE][0-9a-fA][0-9a-fD]*");
                            push(&mut pieces, "0a1b2c3".to_owned());
                        }
                        Told::Perhaps(_)
                        | Told::PerhapsLike(_)
                        | Told::Name
                        | Told::Hash
                        | Told::Below(_)
                        | Told::Nothing => {
                            pieces.push(piece.clone());
                        }
                    },
                    Piece::Text(text) => {
                        likeness.push(text);
                        push(&mut pieces, text.clone());
                    }
                    Piece::Glob(_) | Piece::Home => {
                        likeness.wild();
                        pieces.push(piece.clone());
                    }
                }
            }
            // What is there by another number or hash than the one that stands in for it may be anything.
            if !counts && likeness.is_there(self.folders, self.world) {
                filled.words.push(word.clone());
                continue;
            }
            let splits = |piece: &Piece| matches!(piece, Piece::Unknown(unknown) if unknown.splits);
            // What is known to the letter is one word, in quotes or not.
            let bare = word.pieces.iter().all(splits) && exact < word.pieces.len();
            filled.lists |= bare && !pieces.iter().any(|piece| matches!(piece, Piece::Unknown(_)));
            // Nothing without quotes is no word.
            if bare && pieces.is_empty() {
                continue;
            }
            let times = if bare && turn == Turn::Several { 3 } else { 1 };
            let word = Word::new(word.span.clone(), pieces);
            filled.words.extend(std::iter::repeat_n(word, times));
        }
        filled
    }

    fn told(&self, unknown: &Unknown, depth: usize) -> Told {
        // The output of a command that stands here too, as a file to read from.
        if unknown.text.starts_with("<(") {
            return Told::Text("/dev/fd/63".to_owned());
        }
        let name = unknown.text.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
        let variable = unknown.text.starts_with('$') && !unknown.text.starts_with("$(");
        let plain = unknown.text == format!("${name}") || unknown.text == format!("${{{name}}}");
        if variable && plain && unknown.output_of.is_none() {
            if NUMBERS.contains(&name) {
                let always = matches!(name, "?" | "#" | "$");
                let told = if always { Told::Like } else { Told::PerhapsLike };
                return told("0".to_owned());
            }
            let folder = match (name, self.folders) {
                ("HOME", _) => self.world.home(),
                ("PWD", [folder]) if !self.linked => Some(folder.as_path()),
                (_, _) => None,
            };
            return tame(folder.and_then(Path::to_str)).map_or(Told::Nothing, Told::Text);
        }
        let read = matches!(unknown.taken, Taken::Line | Taken::Record);
        let from = unknown.output_of.filter(|from| !read || !eaten::is_eaten(self.line, *from));
        let Some(command) = from.and_then(|at| unfiltered(self.line, at)) else {
            return Told::Nothing;
        };
        let own = command.words.first().and_then(Word::literal).unwrap_or_default();
        // A function may stand in front of it, and what is led elsewhere is not printed.
        if depth >= MAX_DEPTH || makes_function(self.line, own) || !command.redirections.is_empty() {
            return Told::Nothing;
        }
        let filled = self.fill_to(&command.words, depth + 1, Turn::Told);
        if filled.words.is_empty() {
            return Told::Nothing;
        }
        // Behind what picks lines nothing may be left.
        let whole =
            unknown.output_of.and_then(|at| self.line.commands.get(at)).is_some_and(|own| own == command);
        let sure = |text: String| if whole { Told::Text(text) } else { Told::Perhaps(text) };
        let like = |text: String| if whole { Told::Like(text) } else { Told::PerhapsLike(text) };
        let known = filled.below.is_empty() && filled.some_name.is_empty() && filled.doubtful == 0;
        if let Some(text) = part_of_path(&filled.words) {
            return if known { sure(text) } else { Told::Nothing };
        }
        if let Some(text) = counted(&filled.words) {
            return like(text);
        }
        if let Some(text) = moment(&filled.words) {
            // A date that is given in words may be none.
            return if filled.words.len() == 2 { like(text) } else { Told::PerhapsLike(text) };
        }
        if is_hash(&filled.words) {
            return Told::Hash;
        }
        let used = programs::used(&filled.words);
        // Its own description may have anything in it.
        let describes = |name: &String| matches!(name.as_str(), "--help" | "--version");
        if used.options.iter().any(|given| given.names.iter().any(describes)) {
            return Told::Nothing;
        }
        match used.yields {
            Yields::Text => Told::Nothing,
            Yields::Number => Told::PerhapsLike("0".to_owned()),
            Yields::Name if is_object(&filled.words) => Told::Hash,
            Yields::Name if used.program == "git" && self.is_on_dashes() => Told::Nothing,
            Yields::Name if used.program != "git" || is_revision(&used, &filled.words) => Told::Name,
            Yields::Name => Told::Nothing,
            // It may run elsewhere: `$(cd x && pwd)`.
            Yields::Folder if command.folders.as_deref() != self.own => Told::Nothing,
            Yields::Folder => {
                let folder = self.folder(&used);
                tame(folder.as_deref().and_then(Path::to_str)).map_or(Told::Nothing, sure)
            }
            Yields::Paths if command.folders.as_deref() != self.own => Told::Nothing,
            Yields::Paths => {
                let tops = tops(&used);
                let plain = super::secrets::sought(&filled.words).is_none()
                    && lists::is_plain(&filled.words, &used, self.folders, self.world);
                // Bash leaves NUL out, and names run together.
                let plain =
                    plain && lists::parts_by_nul(&filled.words, &used) == (unknown.taken == Taken::Record);
                let tame = plain && !self.folders.is_empty() && fill_is_tame(&tops, self.folders, self.world);
                if tame { Told::Below(tops) } else { Told::Nothing }
            }
        }
    }

    /// Whether the branch that is checked out begins as an option does: one that was cloned may.
    fn is_on_dashes(&self) -> bool {
        self.folders.iter().any(|folder| match paths::repository(folder, self.world) {
            Repository::At(top) => {
                const DASHED: &[u8] = b"ref: refs/heads/-";
                let head = self.world.read(&top.join(".git/HEAD"), DASHED.len() as u64);
                head.is_some_and(|head| head == DASHED)
            }
            Repository::None | Repository::WorkTree(..) | Repository::Odd(_) => false,
        })
    }

    /// The folder that a command prints.
    fn folder(&self, used: &Used) -> Option<PathBuf> {
        let [folder] = self.folders else { return None };
        let folders = paths::entered_all(std::slice::from_ref(folder), &used.folders, self.world);
        let folder = folders.first()?;
        // Further words would be printed too.
        let alone = used.operands.is_empty()
            && used.options.iter().all(|given| {
                given.names.iter().any(|name| matches!(name.as_str(), "--show-toplevel" | "-C" | "-P" | "-L"))
            });
        match used.program.as_str() {
            _ if !alone => None,
            "pwd" if !self.linked => Some(folder.clone()),
            "git" => match paths::repository(folder, self.world) {
                Repository::At(at) | Repository::WorkTree(at, _) => Some(at),
                Repository::None | Repository::Odd(_) => None,
            },
            _ => None,
        }
    }
}

/// Programs without an option that a file's name could turn into harm.
const TAME: [&str; 10] = ["cat", "chmod", "cp", "head", "jq", "mv", "rm", "tail", "touch", "wc"];
/// How many names of a folder are looked at.
const MOST_NAMES: usize = 10_000;

/// The words with `*.log` as `./*.log`, where no name of the folder begins with a dash.
pub(super) fn dashless<'w>(words: &'w [Word], folders: &[PathBuf], world: &dyn World) -> Cow<'w, [Word]> {
    let wild = |word: &Word| matches!(word.pieces.first(), Some(Piece::Glob(_)));
    let tame = words.first().and_then(Word::literal).is_some_and(|name| TAME.contains(&name));
    if !tame || !words.iter().any(wild) || folders.is_empty() {
        return Cow::Borrowed(words);
    }
    let plain = folders.iter().all(|folder| {
        let listing = world.list(folder, MOST_NAMES).filter(|listing| !listing.is_cut());
        let dashed = |name: &OsStr| name.as_encoded_bytes().starts_with(b"-");
        listing.is_some_and(|listing| !listing.iter().any(|(name, _)| dashed(name)))
    });
    if !plain {
        return Cow::Borrowed(words);
    }
    let dotted = |word: &Word| {
        let mut word = word.clone();
        if wild(&word) {
            word.edit().insert(0, Piece::Text("./".to_owned()));
        }
        word
    };
    Cow::Owned(words.iter().map(dotted).collect())
}

/// Whether a further name in the place of those that are listed would be something else to the program: `uniq IN OUT`.
pub(super) fn roles_shift(words: &[Word], below: &[usize], used: &Used) -> bool {
    let Some(name) = below.last().and_then(|at| words.get(*at)) else { return false };
    let more: Vec<Word> = words.iter().chain([name]).cloned().collect();
    let more = programs::used(&more);
    more.class != used.class || more.doubts.len() > used.doubts.len()
}

/// `${PIPESTATUS[0]}`, and nothing more.
fn is_status(text: &str) -> bool {
    let index = text.strip_prefix("${PIPESTATUS[").and_then(|rest| rest.strip_suffix("]}"));
    index.is_some_and(|index| index.len() == 1 && index.bytes().all(|byte| byte.is_ascii_digit()))
}

impl Filled {
    /// Whether more parts may be nothing than are tried.
    pub(super) fn is_too_doubtful(&self) -> bool {
        self.doubtful > MOST_DOUBTFUL
    }

    /// Counts a part that may be nothing; whether it is.
    fn is_empty_at(&mut self, turn: Turn) -> bool {
        let at = self.doubtful;
        self.doubtful += 1;
        matches!(turn, Turn::Empty(choice) if at < MOST_DOUBTFUL && choice & (1 << at) != 0)
    }
}

/// Whether something is filled in that may turn out to be nothing.
fn is_taken(told: &Told, place: usize, behind: Option<&Piece>, alone: bool, pieces: &[Piece]) -> bool {
    match told {
        Told::Perhaps(_) | Told::PerhapsLike(_) => alone || is_sum(pieces),
        Told::Name | Told::Hash => place > 0 || behind.is_none_or(goes_on),
        Told::Text(_) | Told::Like(_) | Told::Below(_) | Told::Nothing => false,
    }
}

/// Whether arithmetic surely comes to digits: behind other text, where a minus sign is no option, or without one.
fn is_digits(unknown: &Unknown, behind: bool) -> bool {
    let Some(inner) = arithmetic(&unknown.text) else { return false };
    let positive = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '+' | '*' | '/' | '%' | '(' | ')');
    behind || (inner.len() <= 16 && inner.chars().all(positive))
}

/// A path that stays one word, whatever the shell does with it.
fn tame(path: Option<&str>) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "-_./+@:,".contains(c);
    path.filter(|path| path.chars().all(plain)).map(str::to_owned)
}

/// The places that a program's paths lie below.
pub(super) fn tops(used: &Used) -> Vec<Word> {
    let mut tops: Vec<Word> = used.paths.iter().map(|path| path.word.clone()).collect();
    // `ls x` prints names in `x`, which are looked for in its own folder.
    let lists = matches!(used.program.as_str(), "ls" | "dir" | "vdir");
    if tops.is_empty() || lists {
        tops.push(Word::text(".", 0..0));
    }
    // Its names have no folder before them, and so are as a wildcard's: any may be an option by the time it runs.
    if lists {
        tops.push(Word::new(0..0, vec![Piece::Glob("*".to_owned())]));
    }
    tops
}

/// Whether no name below these places could be taken for an option, or for several words.
pub(super) fn fill_is_tame(tops: &[Word], folders: &[PathBuf], world: &dyn World) -> bool {
    let mut left = super::reach::MAX_WALK;
    folders.iter().all(|folder| {
        tops.iter().all(|top| match paths::named(top, folder, world) {
            paths::Named::Unknown(_) => false,
            paths::Named::Places(places) => places.iter().all(|place| {
                let odd = |c: char| c.is_whitespace() || c.is_control() || "\\'\"".contains(c);
                !place.text.starts_with('-')
                    && !place.text.contains(odd)
                    && super::reach::names_are_tame(&place.real, &mut left, world)
            }),
        })
    })
}

fn push(pieces: &mut Vec<Piece>, text: String) {
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.push_str(&text),
        Some(Piece::Glob(_) | Piece::Home | Piece::Unknown(_)) | None => {
            if !text.is_empty() {
                pieces.push(Piece::Text(text));
            }
        }
    }
}
