//! What is known about programs: tables as data, and what they make of a command's words. See `README.md` here.

mod code;
mod files;
mod find;
mod glob;
pub(super) mod guards;
mod read;
mod table;
mod test_words;
pub(crate) mod used;
mod words;
mod wrap;

#[cfg(test)]
mod tests;

use self::table::Special;
use self::used::{Class, Doubt, Effect, Given, Held, Known, Lifts, Operand, PathUse, Role, Used};
use self::words::{Lead, lead, may_leave, shown, splits};
use crate::line::tree::Word;

pub(crate) use code::{is_python, only_computes};
pub(crate) use files::table_of;
pub(crate) use read::goals::PRINTS_ALL;
pub(crate) use read::queries::only_reads;

/// Folders whose programs are those that the tables speak of.
const TRUSTED: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];

/// Whether a program lies directly in one of these folders.
pub(crate) fn is_usual(path: &str) -> bool {
    TRUSTED.iter().any(|folder| path.strip_prefix(folder).is_some_and(|name| !name.contains('/')))
}

/// The other names of a program. A rule that allows it by one name covers it by all of them.
pub(crate) fn synonyms(name: &str) -> impl Iterator<Item = &str> {
    let groups = table_of(name).map(|table| table.synonyms.as_slice()).unwrap_or_default();
    let group = groups.iter().find(|group| group.iter().any(|known| known == name));
    group.into_iter().flatten().map(String::as_str).filter(move |known| *known != name)
}

/// What a command's words mean to its program.
pub(crate) fn used(words: &[Word]) -> Used {
    let mut used = alone(words);
    let style = table_of(&used.program).and_then(|table| table.root.style);
    if style.is_some_and(|style| matches!(style.special, Special::Find | Special::Xargs))
        && let Some(program) = wrap::runs_unknown(&used, 0)
    {
        let why = format!("`{program}` would run a command that is not known in advance");
        used.doubts.push(Doubt { words: 0..1, names: Vec::new(), lifts: Lifts::Nothing, why });
    }
    used
}

/// The same, without a look into what it starts.
fn alone(words: &[Word]) -> Used {
    let Some(first) = words.first() else {
        return opaque(String::new(), "no program is given");
    };
    let Some(written) = first.literal().filter(|name| !name.is_empty()) else {
        return opaque(shown(first), "the program is not known in advance");
    };
    let name = written.rsplit('/').next().unwrap_or(written);
    let mut used = match table_of(name) {
        Some(table) => read::read(table, name.to_owned(), words),
        None => without_table(name, words),
    };
    if written.contains('/') {
        used.path = Some(written.to_owned());
        let folder = written.strip_suffix(name).unwrap_or_default();
        if !TRUSTED.contains(&folder) {
            // A file of the project, whatever its name.
            used.held = Held::Inside;
            used.class = used.class.max(Class::Runs);
            used.paths.push(PathUse { word: first.clone(), role: Role::File });
        }
    }
    used
}

/// A command whose program cannot be told.
fn opaque(program: String, why: &str) -> Used {
    let mut used = read::blank(program, Known::Nothing);
    used.doubts.push(Doubt { words: 0..1, names: Vec::new(), lifts: Lifts::Nothing, why: why.to_owned() });
    used
}

/// A program without a table: a rule covers operands; every option must be named.
fn without_table(name: &str, words: &[Word]) -> Used {
    let mut used = read::blank(name.to_owned(), Known::Nothing);
    used.class = Class::Runs;
    used.held = held_without_table(name);
    // Of a script that is named by its place in the project, whoever names it means its options too.
    let own = words.first().and_then(Word::literal).is_some_and(is_placed);
    let mut ended = false;
    for (at, word) in words.iter().enumerate().skip(1) {
        let doubt = |names: Vec<String>, lifts, why| Doubt { words: at..at + 1, names, lifts, why };
        match lead(word) {
            Lead::Dash if !ended && word.literal() == Some("--") => {
                ended = true;
                continue;
            }
            Lead::Dash if !ended && word.literal() != Some("-") => {
                let text = word.prefix();
                let option = text.split('=').next().unwrap_or(text).to_owned();
                let named = option.len() < text.len() || word.literal().is_some();
                let lifts = if named && !splits(word) { Lifts::Named } else { Lifts::Nothing };
                let why = format!("askfirst does not know the option `{option}`");
                let value = (option.len() < text.len()).then(|| words::without(word, option.len() + 1));
                let names = vec![option];
                let effect = if own && lifts == Lifts::Named { Effect::Harmless } else { Effect::Unknown };
                if effect == Effect::Unknown {
                    used.doubts.push(doubt(names.clone(), lifts, why));
                }
                used.options.push(Given { names: names.into(), word: at, value, effect });
                continue;
            }
            Lead::Glob | Lead::Unknown | Lead::Plain
                if !ended && (splits(word) || matches!(lead(word), Lead::Glob | Lead::Unknown)) =>
            {
                let why = format!("`{}` may be an option", shown(word));
                used.doubts.push(doubt(Vec::new(), Lifts::Nothing, why));
            }
            Lead::Dash | Lead::Glob | Lead::Unknown | Lead::Plain | Lead::Empty => {}
        }
        if may_leave(word) {
            used.paths.push(PathUse { word: word.clone(), role: Role::Read });
        }
        used.operands.push(Operand { word: at, role: Role::Pathspec });
    }
    used
}

/// Whether a rehearsal can hold the effect of a program without a table.
fn held_without_table(name: &str) -> Held {
    let rows = include_str!("without_table.txt").lines().map(str::split_whitespace);
    let row = rows.filter_map(|mut words| Some((words.next()?, words)));
    let mut row = row.filter(|(held, _)| matches!(*held, "outside" | "terminal"));
    match row.find_map(|(held, mut names)| names.any(|known| known == name).then_some(held)) {
        Some("outside") => Held::Outside,
        Some("terminal") => Held::Terminal,
        Some(_) | None => Held::Inside,
    }
}

/// `scripts/run.sh`, `./run.sh`: a file by its place, from the folder on.
fn is_placed(program: &str) -> bool {
    program.contains('/') && !program.starts_with(['/', '~'])
}
