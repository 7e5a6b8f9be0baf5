//! Whether a rule that denies is about a command: loosely. No option, path or wrapper hinders the match.

mod address;
pub(super) mod modes;
mod scripts;

use std::path::{Path, PathBuf};

use super::glob::{Glob, Reach};
use super::line::tree::{Piece, Word};
use super::paths::{self, Named, word_text};
use super::pattern::{Exact, Pattern, PatternWord};
use super::programs::used::{Given, Known, Lifts, Role, Used};
use super::real::{plain, real};
use super::start::Start;
use super::world::World;

/// What a denial makes of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Denied {
    /// It is about something else.
    No,
    /// It may be about it: a person should look.
    Perhaps,
    /// It is about it.
    Yes,
}

/// Where paths of a pattern begin.
#[derive(Clone, Copy)]
pub(super) struct Ways<'a> {
    /// The folder of the config.
    pub(super) base: &'a Path,
    pub(super) world: &'a dyn World,
}

/// Holds a denial against a command, and against the script that it runs.
pub(super) fn denies(pattern: &Pattern, start: &Start, used: &Used, ways: Ways<'_>) -> Denied {
    match denies_words(pattern, start, used, ways) {
        Denied::Yes => Denied::Yes,
        said @ (Denied::No | Denied::Perhaps) => said.max(scripts::denies(pattern, start, used, ways)),
    }
}

fn denies_words(pattern: &Pattern, start: &Start, used: &Used, ways: Ways<'_>) -> Denied {
    let (Some(program), Some(first)) = (pattern.words.first(), start.words.first()) else {
        return Denied::No;
    };
    let linked =
        start.folders.iter().filter_map(|folder| linked(used.path.as_deref()?, folder, ways.world)).next();
    let by_link = linked.is_some_and(|name| program.glob.matches(&name, Reach::Anything));
    if !by_link && !program_matches(program, used, first) {
        return Denied::No;
    }
    let rest = pattern.words.get(1..).unwrap_or_default();
    if begins_so(rest, pattern.exact, start) {
        return Denied::Yes;
    }
    let mut said = Denied::Yes;
    let mut words: Vec<&PatternWord> = Vec::new();
    let mut rest = rest.iter().peekable();
    while let Some(word) = rest.next() {
        if !word.is_option() {
            words.push(word);
            continue;
        }
        // What follows an option that has a value is that value.
        match rest.peek().filter(|next| !next.is_option()).and_then(|next| has_value(word, next, used)) {
            Some(has) => {
                said = said.min(has);
                rest.next();
            }
            None => said = said.min(has_option(word, start, used, ways.world)),
        }
    }
    said.min(has_words(&words, pattern.exact, start, used, ways))
}

/// Whether a command begins with the very words of a denial.
fn begins_so(rest: &[PatternWord], exact: Exact, start: &Start) -> bool {
    let given = start.words.get(1..).unwrap_or_default();
    let fits = |(wanted, given): (&PatternWord, &Word)| {
        given.literal().is_some_and(|text| wanted.glob.matches(text, Reach::Anything))
    };
    !rest.is_empty()
        && given.len() >= rest.len()
        && (exact == Exact::No || given.len() == rest.len())
        && rest.iter().zip(given).all(fits)
}

/// Whether an option is given with this value. Nothing where the option has none.
fn has_value(option: &PatternWord, value: &PatternWord, used: &Used) -> Option<Denied> {
    let named = |given: &&Given| given.names.iter().any(|known| option.names_option(known));
    let values = used.options.iter().filter(named).filter_map(|given| given.value.as_ref());
    values
        .map(|given| match given.literal() {
            Some(text) if value.glob.matches(text, Reach::Anything) => Denied::Yes,
            Some(_) => Denied::No,
            None => Denied::Perhaps,
        })
        .max()
}

fn program_matches(pattern: &PatternWord, used: &Used, word: &Word) -> bool {
    let wanted = pattern.glob.plain().unwrap_or(&pattern.head);
    match loose(word) {
        // `/bin/r?`: what it may become decides.
        Some(glob) => {
            let name = wanted.rsplit('/').next().unwrap_or(wanted);
            glob.matches(wanted, Reach::Anything) || base(&glob, word).matches(name, Reach::Anything)
        }
        None => {
            let text = word_text(word);
            let name = text.rsplit('/').next().unwrap_or(&text);
            let own = wanted.rsplit('/').next().unwrap_or(wanted);
            let by_name = [name, &*text, used.program.as_str()];
            by_name.iter().any(|name| pattern.glob.matches(name, Reach::Anything))
                || (pattern.glob.plain().is_some() && (name == own || is_version(name, own)))
        }
    }
}

/// `python3.11` where `python3` or `python` is meant.
fn is_version(name: &str, own: &str) -> bool {
    let rest = name.strip_prefix(own).filter(|rest| !own.is_empty() && !rest.is_empty());
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-'))
}

/// The names that a denial may know a program by: its own, without a version, that of the file behind a link, and
/// those of the programs that would run the same script.
pub(super) fn names_of(used: &Used, folders: &[PathBuf], world: &dyn World) -> Vec<String> {
    let own = used.program.as_str();
    let linked = folders.iter().filter_map(|folder| linked(used.path.as_deref()?, folder, world));
    let mut names: Vec<String> = linked.collect();
    let version = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let major = own.split('.').next().unwrap_or(own).trim_end_matches('-');
    names.extend([own, major, own.trim_end_matches(version)].map(str::to_owned));
    names.extend(scripts::starters(used).map(str::to_owned));
    names.sort();
    names.dedup();
    names.retain(|name| !name.is_empty());
    names
}

/// The name of the file that a program's path leads to.
fn linked(path: &str, folder: &Path, world: &dyn World) -> Option<String> {
    let real = real(&folder.join(path), world)?;
    real.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// The last part of a word with wildcards.
fn base(glob: &Glob, word: &Word) -> Glob {
    let text = glob_text(word);
    text.rsplit('/').next().map_or_else(|| glob.clone(), Glob::new)
}

fn glob_text(word: &Word) -> String {
    let escape = |text: &str| {
        let mut out = String::new();
        for letter in text.chars() {
            if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
                out.push('\\');
            }
            out.push(letter);
        }
        out
    };
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => escape(text),
        Piece::Glob(text) => text.clone(),
        Piece::Home => "~".to_owned(),
        Piece::Unknown(_) => "*".to_owned(),
    };
    word.pieces.iter().map(piece).collect()
}

/// A word with wildcards, as a glob of what it may become.
fn loose(word: &Word) -> Option<Glob> {
    word.has_glob().then(|| Glob::new(&glob_text(word)))
}

fn has_option(wanted: &PatternWord, start: &Start, used: &Used, world: &dyn World) -> Denied {
    if wanted.head == "--" {
        return names_file(start, world);
    }
    if start.words.iter().skip(1).any(|word| word.literal() == wanted.glob.plain() && !wanted.is_wild()) {
        return Denied::Yes;
    }
    // `-XPOST`
    let glued = |given: &Given| {
        let value = given.value.as_ref().and_then(Word::literal);
        let own = |name: &String| wanted.head.strip_prefix(name.as_str()).filter(|rest| !rest.is_empty());
        let mut short = given.names.iter().filter(|name| name.len() == 2);
        value.is_some() && short.any(|name| own(name) == value)
    };
    if used.options.iter().any(glued) {
        return Denied::Yes;
    }
    let (name, value) = match wanted.head.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (wanted.head.as_str(), None),
    };
    let names: Vec<String> = match cluster(name, used) {
        Some(letters) => letters,
        None => vec![name.to_owned()],
    };
    let given = |name: &String| {
        used.options.iter().any(|option| {
            let named = option.names.iter().any(|known| known == name || abbreviates(known, name));
            let fits = value.is_none_or(|value| {
                option
                    .value
                    .as_ref()
                    .is_none_or(|given| given.is_unknown() || word_text(given) == value || wanted.is_wild())
            });
            named && fits
        }) || (used.known == Known::Nothing || has_gap(used))
            && start.words.iter().skip(1).any(|word| raw_option(word, name))
    };
    if names.iter().all(given) {
        return Denied::Yes;
    }
    let wild = wanted.is_wild()
        && start.words.iter().skip(1).any(|word| wanted.glob.matches(&word_text(word), Reach::Anything));
    let unknown = start.words.iter().skip(1).any(Word::is_unknown);
    match (wild, unknown) {
        (true, _) => Denied::Yes,
        (false, true) => Denied::Perhaps,
        (false, false) => Denied::No,
    }
}

/// `git checkout -- x` is about files, also where the dashes are left out.
fn names_file(start: &Start, world: &dyn World) -> Denied {
    let words = start.words.iter().skip(1);
    let dashes = words.clone().any(|word| word.literal() == Some("--"));
    let there = |text: &str| start.folders.iter().any(|folder| world.exists(&folder.join(text)));
    let file = words.clone().filter_map(Word::literal).any(|text| !text.is_empty() && there(text));
    if dashes || file { Denied::Yes } else { Denied::No }
}

fn has_gap(used: &Used) -> bool {
    used.doubts.iter().any(|doubt| doubt.lifts == Lifts::Nothing)
}

/// `-rf` as `-r` and `-f`, unless the program knows it as one option.
fn cluster(name: &str, used: &Used) -> Option<Vec<String>> {
    let letters = name.strip_prefix('-').filter(|rest| !rest.starts_with('-') && rest.len() > 1)?;
    let one = used.options.iter().any(|option| option.names.iter().any(|known| known == name));
    let plain = letters.chars().all(|c| c.is_ascii_alphabetic());
    (!one && plain).then(|| letters.chars().map(|letter| format!("-{letter}")).collect())
}

/// Whether a long option that the table does not know is the beginning of the one that is meant.
fn abbreviates(given: &str, name: &str) -> bool {
    given.starts_with("--") && given.len() > 2 && name.starts_with(given)
}

/// Whether a word of a program without a table may be this option.
fn raw_option(word: &Word, name: &str) -> bool {
    let text = word_text(word);
    let own = text.split_once('=').map_or(&*text, |(own, _)| own);
    let short = name.strip_prefix('-').filter(|letter| letter.len() == 1);
    own == name
        || abbreviates(own, name)
        || short.is_some_and(|letter| {
            own.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter))
        })
}

/// `git push` without a remote or a branch. `--tags` alone pushes no branch.
fn pushes_default(used: &Used) -> bool {
    let tags = used.options.iter().any(|given| given.names.iter().any(|name| name == "--tags"));
    used.program == "git" && used.subs.first().is_some_and(|sub| sub.name == "push") && !tags
}

/// Whether the words that are no options begin as the pattern's do.
fn has_words(wanted: &[&PatternWord], exact: Exact, start: &Start, used: &Used, ways: Ways<'_>) -> Denied {
    let table = used.known == Known::Table && !has_gap(used);
    let given: Vec<usize> = if table {
        let mut given: Vec<usize> = used.subs.iter().map(|sub| sub.word).collect();
        given.extend(used.operands.iter().map(|operand| operand.word));
        given.sort_unstable();
        given.dedup();
        given
    } else {
        let plain = |at: &usize| start.words.get(*at).is_some_and(|word| !word.prefix().starts_with('-'));
        (1..start.words.len()).filter(plain).collect()
    };
    if exact == Exact::Yes && table && given.len() != wanted.len() {
        return Denied::No;
    }
    let word = |pattern: &PatternWord, at: usize| says(pattern, at, start, used, ways);
    if table {
        let mut said = Denied::Yes;
        let mut paths = false;
        for (index, pattern) in wanted.iter().enumerate() {
            let here = given.get(index).map_or(Denied::No, |at| word(pattern, *at));
            // Of several paths, any may be the one that is meant.
            let role =
                given.get(index).and_then(|at| used.operands.iter().find(|operand| operand.word == *at));
            paths |= role.is_some_and(|operand| {
                is_place(operand.role)
                    || operand.role == Role::Ask
                    || (operand.role == Role::Url && used.program != "git")
            });
            // What is pushed where, if it is not said, the configuration says.
            if given.get(index).is_none() && pushes_default(used) {
                said = said.min(Denied::Perhaps);
                continue;
            }
            let later = || given.iter().skip(index).map(|at| word(pattern, *at)).max().unwrap_or(Denied::No);
            let any = match role {
                _ if paths => later(),
                // Of several others it may be.
                Some(_) => here.max(later().min(Denied::Perhaps)),
                None => here,
            };
            said = said.min(any);
        }
        return said;
    }
    // Which words are values of options is not known: any that stand in this order may be meant.
    let mut from = 0;
    let mut said = Denied::Yes;
    for pattern in wanted {
        let found = given.iter().enumerate().skip(from).map(|(index, at)| (word(pattern, *at), index));
        match found.max_by_key(|(denied, index)| (*denied, std::cmp::Reverse(*index))) {
            Some((denied, index)) => {
                said = said.min(denied);
                from = index + 1;
            }
            None => return Denied::No,
        }
    }
    said
}

fn is_place(role: Role) -> bool {
    match role {
        Role::Read | Role::Tree | Role::List | Role::Write | Role::Folder | Role::File | Role::Pathspec => {
            true
        }
        Role::Text | Role::Url | Role::Rest | Role::Command | Role::Script | Role::Code | Role::Ask => false,
    }
}

fn says(pattern: &PatternWord, at: usize, start: &Start, used: &Used, ways: Ways<'_>) -> Denied {
    let Some(word) = start.words.get(at) else { return Denied::No };
    let sub = used.subs.iter().find(|sub| sub.word == at);
    // The orders of `systemctl` share a section, and are not names of one.
    let alike = sub.filter(|_| used.program != "systemctl");
    if alike.is_some_and(|sub| pattern.glob.matches(&sub.name, Reach::Anything))
        || pattern.glob.matches(&word_text(word), Reach::Anything)
    {
        return Denied::Yes;
    }
    // `HEAD:main`, `refs/heads/main`, `+main`: a branch by another way of saying it.
    let last = |text: &str| {
        text.rsplit([':', '/', '+'])
            .next()
            .is_some_and(|last| last != text && pattern.glob.plain() == Some(last))
    };
    let operand = used.operands.iter().position(|operand| operand.word == at);
    // The branch that is there now, and all of them.
    let current = |text: &str| matches!(text, "HEAD" | "@" | ":" | "+HEAD" | "+:") || text.contains('*');
    let current = |text: &str| pushes_default(used) && operand.is_some_and(|at| at > 0) && current(text);
    if used.program == "git"
        && sub.is_none()
        && word.literal().is_some_and(|text| last(text) || current(text))
    {
        return Denied::Perhaps;
    }
    let role = operand.and_then(|at| used.operands.get(at)).map(|operand| operand.role);
    let fetches = role == Some(Role::Url) && used.program != "git";
    if role.is_some() && (fetches || pattern.is_address()) && !word.is_unknown() {
        return address::hears(&pattern.glob, &word_text(word));
    }
    if let ("chmod", Some(0), Some(wanted)) = (used.program.as_str(), operand, pattern.glob.plain())
        && !word.is_unknown()
    {
        return modes::hears(wanted, &word_text(word));
    }
    if let (Some(glob), Some(plain)) = (loose(word), pattern.glob.plain())
        && !word.is_unknown()
        && glob.matches(plain, Reach::Within)
    {
        return Denied::Yes;
    }
    if word.is_unknown() {
        return Denied::Perhaps;
    }
    if sub.is_some() {
        return Denied::No;
    }
    start.folders.iter().map(|folder| names(pattern, word, folder, ways)).max().unwrap_or(Denied::Perhaps)
}

/// Whether a path leads to what a denial names, whatever it is called and wherever the command runs.
fn names(pattern: &PatternWord, word: &Word, folder: &Path, ways: Ways<'_>) -> Denied {
    let Named::Places(places) = paths::named(word, folder, ways.world) else { return Denied::Perhaps };
    if pattern.is_wild() {
        return Denied::No;
    }
    let heads: Vec<PathBuf> = match (pattern.head.strip_prefix("~/"), ways.world.home()) {
        (Some(rest), Some(home)) => vec![home.join(rest)],
        (_, _) => vec![folder.join(&pattern.head), ways.base.join(&pattern.head)],
    };
    let one = |place: &paths::Place, head: &PathBuf| {
        let meant = real(head, ways.world).unwrap_or_else(|| plain(head.to_owned()));
        if place.real == meant || place.plain == plain(head.to_owned()) {
            Denied::Yes
        } else if meant.starts_with(&place.real) {
            Denied::Perhaps
        } else {
            Denied::No
        }
    };
    let all = places.iter().flat_map(|place| heads.iter().map(move |head| one(place, head)));
    all.max().unwrap_or(Denied::No)
}

/// Whether the words of a denial stand in a text that was not understood, quotes aside.
pub(super) fn in_text(pattern: &Pattern, text: &str) -> bool {
    let bare: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let letter = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+');
    let mut words = bare.split(|c: char| !letter(c)).filter(|word| !word.is_empty());
    let mut wanted = pattern.words.iter().filter_map(|word| word.glob.plain());
    let own = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    wanted.all(|wanted| {
        let wanted = own(wanted);
        words.any(|word| word == wanted)
    }) && pattern.words.iter().any(|word| word.glob.plain().is_some())
}
