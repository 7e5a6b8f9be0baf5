//! Programs that start others: which words they start, with which variables, and what they add.

use super::guards;
use super::read::Reader;
use super::table::Special;
use super::used::{Fed, Nested, Role, Used};
use super::words::{is_name, many, push_text, replaced, shown};
use crate::line::tree::{Piece, Unknown, Word};

/// A command that is the rest of the words.
pub(super) fn command(reader: &mut Reader<'_, '_>, words: &[Word]) {
    let mut words = words.to_vec();
    let mut fed = Fed::No;
    if reader.style.special == Special::Xargs {
        match place(reader) {
            Some(mark) => {
                for word in &mut words {
                    *word = replaced(word, &mark, &[input()]);
                }
            }
            None => fed = Fed::FromInput,
        }
    }
    let via = reader.used.program.clone();
    let assignments = std::mem::take(&mut reader.assignments);
    reader.used.nested.push(Nested::Words { via, words, assignments, fed });
}

/// The text that `xargs` replaces.
fn place(reader: &mut Reader<'_, '_>) -> Option<String> {
    let given =
        reader.used.options.iter().rev().find(|given| given.names.iter().any(|name| is_replace(name)))?;
    let (word, value) = (given.word, given.value.clone());
    match value {
        None => Some("{}".to_owned()),
        Some(value) => {
            if value.literal().is_none_or(str::is_empty) {
                let why = format!("`{}` is not known in advance", shown(&value));
                reader.doubt(word, &why);
            }
            value.literal().filter(|text| !text.is_empty()).map(str::to_owned)
        }
    }
}

fn is_replace(name: &str) -> bool {
    matches!(name, "-I" | "-i" | "--replace")
}

/// A word of standard input, in the place that was kept for it.
fn input() -> Piece {
    Piece::Unknown(Unknown { text: "{}".to_owned(), splits: false, output_of: None, ..Unknown::default() })
}

/// A command that is the value of an option: up to `;` or `+` for `find`, else all that follows.
pub(super) fn command_value(reader: &mut Reader<'_, '_>, option: &str) {
    let from = reader.next;
    let rest = reader.words.get(from..).unwrap_or_default();
    let via = format!("{} {option}", reader.used.program);
    if reader.style.special != Special::Find {
        reader.next = reader.words.len();
        let words = rest.to_vec();
        reader.used.nested.push(Nested::Words { via, words, assignments: Vec::new(), fed: Fed::No });
        return;
    }
    let mut end = None;
    for (place, word) in rest.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| rest.get(before)).and_then(Word::literal);
        match word.literal() {
            Some(";") => end = Some(place),
            Some("+") if before == Some("{}") => end = Some(place),
            Some(_) => continue,
            None if many(word) => {
                let why = format!("`{}` may become several words, or none", shown(word));
                reader.doubt(from + place, &why);
                continue;
            }
            None => continue,
        }
        break;
    }
    let Some(end) = end else {
        reader.next = reader.words.len();
        let why = format!("the command after `{option}` has no end");
        reader.doubt(from.saturating_sub(1), &why);
        let words = rest.to_vec();
        reader.used.nested.push(Nested::Words { via, words, assignments: Vec::new(), fed: Fed::No });
        return;
    };
    reader.next = from + end + 1;
    let words = rest.get(..end).unwrap_or_default();
    if words.is_empty() {
        let why = format!("`{option}` has no command");
        reader.doubt(from.saturating_sub(1), &why);
    }
    let mut starts: Vec<Vec<Piece>> =
        reader.operands.iter().filter_map(|at| Some(reader.words.get(*at)?.pieces.to_vec())).collect();
    if starts.is_empty() {
        starts.push(vec![Piece::Text(".".to_owned())]);
    }
    for mut found in starts {
        push_text(&mut found, "/");
        found.push(Piece::Glob("**".to_owned()));
        // Inside a longer text a file's name may become anything: code of a shell, a way through a link.
        let within = |word: &Word| {
            word.literal().is_some_and(|text| {
                let behind = text.strip_prefix("{}").unwrap_or(text);
                text.contains("{}") && (behind.len() == text.len() || behind.contains(['/', ' ', '{']))
            })
        };
        let place = |word: &Word| {
            if within(word) { replaced(word, "{}", &[input()]) } else { replaced(word, "{}", &found) }
        };
        let words = words.iter().map(place).collect();
        reader.used.nested.push(Nested::Words {
            via: via.clone(),
            words,
            assignments: Vec::new(),
            fed: Fed::No,
        });
    }
}

/// The program that would take for code what `find` finds or `xargs` is given.
pub(super) fn runs_unknown(used: &Used, depth: usize) -> Option<String> {
    const MOST: usize = 8;
    let unknown = |word: &Word| word.literal().is_none();
    let file = used.paths.iter().any(|path| path.role == Role::File && unknown(&path.word));
    if used.unknown_code || file {
        return Some(used.program.clone());
    }
    used.nested.iter().find_map(|nested| match nested {
        Nested::Words { words, .. } if depth == MOST || words.first().is_some_and(unknown) => {
            words.first().map(shown)
        }
        Nested::Words { words, fed: Fed::No, .. } => runs_unknown(&super::alone(words), depth + 1),
        Nested::Words { words, fed: Fed::FromInput, .. } => {
            let name = Word::new(0..0, vec![Piece::Text("./".to_owned()), input()]);
            let words: Vec<Word> = words.iter().cloned().chain([name]).collect();
            runs_unknown(&super::alone(&words), depth + 1)
        }
        Nested::Script { text, .. } => unknown(text).then(|| used.program.clone()),
        Nested::Stdin { .. } => None,
    })
}

/// `NAME=value` before the command of `env`. Also `-`, which is `-i`.
pub(super) fn assignment(reader: &mut Reader<'_, '_>, word: &Word) -> bool {
    if word.literal() == Some("-") {
        return true;
    }
    let Some((name, _)) = word.prefix().split_once('=') else { return false };
    let (name, length) = (name.to_owned(), name.len() + 1);
    if many(word) || !is_name(&name) {
        let why = format!("`{}` is not a plain variable", shown(word));
        reader.doubt(reader.next.saturating_sub(1), &why);
    }
    reader.assignments.push((name, super::words::without(word, length)));
    true
}

/// What is started where no word says it: a shell that reads its input, `xargs` alone, `env` alone, `env -S`.
pub(super) fn standard_input(reader: &mut Reader<'_, '_>) {
    match reader.style.special {
        Special::Shell => {
            if reader.has("-c") {
                if reader.operands.is_empty() {
                    reader.doubt(0, "the text after `-c` is missing");
                }
            } else if reader.has("-s") || reader.operands.is_empty() {
                let via = reader.used.program.clone();
                reader.used.nested.push(Nested::Stdin { via });
            }
        }
        Special::Xargs => {
            if reader.used.nested.is_empty() {
                let echo = Word::text("echo", 0..0);
                command(reader, &[echo]);
            }
        }
        Special::Env => env(reader),
        Special::Nothing if reader.used.program == "patch" => patch(reader),
        Special::Nothing => {
            // An interpreter without a file runs what it is sent.
            let first = reader.row().and_then(|row| row.at(0)).map(|part| part.role);
            let filed = reader.used.paths.iter().any(|path| path.role == Role::File);
            let interprets = first == Some(Role::File) && reader.operands.is_empty() && !filed;
            let subs: Vec<&str> = reader.used.subs.iter().map(|sub| sub.name.as_str()).collect();
            let words: Vec<Option<&str>> = reader.words.iter().skip(1).map(Word::literal).collect();
            let waits = guards::runs_its_input(&reader.used.program, &subs, &words, reader.operands.len());
            if (interprets || waits) && reader.used.nested.is_empty() {
                let via = reader.used.program.clone();
                reader.used.nested.push(Nested::Stdin { via });
            }
        }
        Special::Find
        | Special::Sed
        | Special::Awk
        | Special::Jq
        | Special::Yq
        | Special::Trap
        | Special::Names
        | Special::Test => {}
    }
}

/// A patch that is sent names what it changes, and is not known before.
fn patch(reader: &mut Reader<'_, '_>) {
    let given = reader.operands.len() > 1;
    let harmless = ["--input", "--dry-run", "--version", "--help"].iter().any(|name| reader.has(name));
    if !given && !harmless {
        reader.doubt(0, "only the patch names the files that this command changes");
    }
}

fn env(reader: &mut Reader<'_, '_>) {
    let split =
        reader.used.options.iter().find(|given| given.names.iter().any(|name| name == "--split-string"));
    let Some((at, value)) = split.map(|given| (given.word, given.value.clone().unwrap_or_default())) else {
        if reader.used.nested.is_empty() {
            reader.prints_all_variables();
        }
        return;
    };
    // The words stand where the string stood, and are read as words of `env` again.
    let mut after = reader.used.nested.iter().find_map(|nested| match nested {
        Nested::Words { words, .. } => Some(words.clone()),
        Nested::Script { .. } | Nested::Stdin { .. } => None,
    });
    match value.literal().and_then(split_string) {
        Some(texts) => {
            let mut words = vec![Word::text("env", 0..0)];
            words.extend(texts.into_iter().map(|text| Word::text(text, 0..0)));
            words.append(after.get_or_insert_default());
            reader.used.nested = vec![Nested::Words {
                via: "env -S".to_owned(),
                words,
                assignments: std::mem::take(&mut reader.assignments),
                fed: Fed::No,
            }];
        }
        None => {
            reader.doubt(at, "the value of `-S` is not made of plain words");
            reader.used.nested.push(Nested::Script { via: "env -S".to_owned(), text: value });
        }
    }
}

/// The words of a string, where it has only blanks and plain quotes.
fn split_string(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    for char in text.chars() {
        match (quote, char) {
            (_, '\\' | '$' | '#') => return None,
            (Some(open), _) if char == open => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(char),
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, _) if char.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(char),
        }
    }
    if quote.is_some() {
        return None;
    }
    words.extend(word);
    Some(words)
}
