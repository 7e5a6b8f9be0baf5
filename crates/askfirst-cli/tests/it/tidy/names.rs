//! Rules about the names of types and tests, and about words that the code no longer uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{root, rust, sources, wrong};

/// The largest number of modules that may define a type of the same name.
const MAX_MODULES: usize = 3;

/// The largest length of a function's name, in characters.
const MAX_NAME: usize = 60;

fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    stem == "tests" || stem.starts_with("tests_") || path.components().any(|part| part.as_os_str() == "tests")
}

/// The part of a line of code after its visibility.
pub(super) fn item(line: &str) -> &str {
    match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ").map_or(line, |(_, rest)| rest),
        Some(rest) => rest.trim_start(),
        None => line,
    }
}

/// The name at the start of a text.
fn name(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap()
}

/// The type that a line defines. An indented `type` is an associated type, which a trait names.
fn defined_type(line: &str) -> Option<&str> {
    let words = if line.starts_with(' ') {
        ["struct ", "enum ", "trait ", "union "].as_slice()
    } else {
        ["struct ", "enum ", "trait ", "union ", "type "].as_slice()
    };
    let item = item(line.trim_start());
    words.iter().find_map(|word| item.strip_prefix(word)).map(name)
}

#[test]
fn type_name_is_defined_in_at_most_three_modules() {
    let mut modules: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    let crates = root().join("crates");
    for (path, text) in rust().into_iter().filter(|(path, _)| path.starts_with(&crates)) {
        if path.components().any(|part| part.as_os_str() == "src") && !is_test(&path) {
            for name in text.lines().filter_map(defined_type) {
                modules.entry(name.to_owned()).or_default().insert(path.clone());
            }
        }
    }
    assert!(modules["Session"].len() > 1, "the search finds definitions");
    let common = modules.into_iter().filter(|(_, modules)| modules.len() > MAX_MODULES);
    wrong(
        "type names of too many modules",
        common.map(|(name, modules)| format!("{name}: {modules:?}")).collect(),
    );
}

#[test]
fn function_names_have_at_most_60_characters() {
    let mut files = rust();
    for folder in ["crates/askfirst-python", "tests/mcp", "bench/python"] {
        let found = sources(&root().join(folder), ".py").into_iter();
        files.extend(found.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())));
    }
    let mut places = Vec::new();
    for (path, text) in files {
        let keyword = if path.extension().unwrap() == "py" { "def " } else { "fn " };
        for (number, line) in text.lines().enumerate() {
            let function = line.split_once(keyword).map(|(_, rest)| name(rest));
            if let Some(name) = function.filter(|name| name.chars().count() > MAX_NAME) {
                places.push(format!("{}:{}: {name}", path.display(), number + 1));
            }
        }
    }
    wrong("function names that are too long", places);
}

/// Participles that do not end in `ed`: no name of a type is one of them.
const PARTICIPLES: [&str; 14] = [
    "Coming",
    "Found",
    "Given",
    "Gone",
    "Hidden",
    "Incoming",
    "Kept",
    "Listening",
    "Outgoing",
    "Running",
    "Seen",
    "Sent",
    "Told",
    "Waiting",
];

/// Whether a type is named by a participle alone, such as `Locked`.
fn is_participle(name: &str) -> bool {
    let is_one_word = name.chars().filter(|c| c.is_uppercase()).count() == 1;
    PARTICIPLES.contains(&name) || (is_one_word && name.ends_with("ed") && !name.ends_with("eed"))
}

#[test]
fn type_names_are_no_participles() {
    let inside_shell = root().join("crates/askfirst-shell");
    let mut places = Vec::new();
    for (path, text) in rust().into_iter().filter(|(path, _)| !path.starts_with(&inside_shell)) {
        for name in text.lines().filter_map(defined_type).filter(|name| is_participle(name)) {
            places.push(format!("{}: {name}", path.display()));
        }
    }
    wrong("types that are named by a participle", places);
    assert!(is_participle("Locked") && is_participle("Seen"));
    assert!(!is_participle("Feed") && !is_participle("LockedFile") && !is_participle("Recording"));
}

/// Words that are no subject: the name of a function never starts with one.
const NO_SUBJECT: [&str; 5] = ["what_", "who_", "whoever_", "nobody_", "somebody_"];

/// Words that add nothing at the start of a test's name.
const NO_START_OF_TEST: [&str; 4] = ["a_", "an_", "the_", "where_"];

#[test]
fn function_names_start_with_their_subject() {
    let crates = root().join("crates");
    let mut places = Vec::new();
    for (path, text) in rust().into_iter().filter(|(path, _)| path.starts_with(&crates)) {
        let mut is_test = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            let Some(name) =
                line.split_once("fn ").map(|(_, rest)| name(rest)).filter(|_| !line.starts_with("//"))
            else {
                continue;
            };
            let starts = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
            if starts(&NO_SUBJECT) || (is_test && starts(&NO_START_OF_TEST)) {
                places.push(format!("{}:{}: {name}", path.display(), number + 1));
            }
            is_test = false;
        }
    }
    wrong("names of functions without a subject", places);
}

/// Replaced words, each with the word of the glossary.
const REPLACED: [(&str, &str); 4] = [
    (concat!("wa", "lls"), "sandbox"),
    (concat!("wa", "lled"), "sandbox"),
    (concat!("do", "or"), "front end"),
    (concat!("do", "ors"), "front ends"),
];

/// Public fields, and keys and paths on disk, that keep such a word.
const KEPT: [&str; 10] = [
    concat!("wa", "lled:"),
    concat!(".wa", "lled"),
    concat!("\"wa", "lled\":"),
    concat!("do", "or:"),
    concat!(".do", "or"),
    concat!("\"no_wa", "lls\""),
    concat!("\"wa", "lls\""),
    concat!("\"wa", "lls/turn\""),
    concat!("\"askfirst wa", "lls 1\""),
    concat!("__WA", "LL"),
];

/// The words of a line, with names split at underscores and capital letters.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in line.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && small) {
            words.push(String::new());
        }
        small = c.is_lowercase();
        words.last_mut().unwrap().extend(c.is_alphanumeric().then(|| c.to_ascii_lowercase()));
    }
    words
}

/// The lines of a file, with their numbers, without items for old callers (`#[doc(hidden)]`).
fn lines_without_old_names(text: &str) -> Vec<(usize, &str)> {
    let mut kept = Vec::new();
    let mut hidden: Option<usize> = None;
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        match hidden {
            Some(start) => {
                let ends = line.trim_end().ends_with(';') || line.trim_start().starts_with('}');
                if ends && indent == start {
                    hidden = None;
                }
            }
            None if line.trim_start() == "#[doc(hidden)]" => hidden = Some(indent),
            None => kept.push((number + 1, line)),
        }
    }
    kept
}

#[test]
fn replaced_words_are_only_in_old_names_and_stored_keys() {
    let mut places = Vec::new();
    for (path, text) in rust() {
        for (number, line) in lines_without_old_names(&text) {
            let rest = KEPT.iter().fold(line.to_owned(), |line, kept| line.replace(kept, " "));
            for word in words(&rest) {
                if let Some((_, better)) = REPLACED.iter().find(|(replaced, _)| word == *replaced) {
                    places.push(format!("{}:{number}: `{word}`, say `{better}`", path.display()));
                }
            }
        }
    }
    wrong("words that the glossary replaces", places);
}

#[test]
fn search_for_words_sees_parts_of_names_and_skips_old_names() {
    let found = |text: &str| words(text).contains(&REPLACED[0].0.to_owned());
    assert!(found(concat!("with_wa", "lls_found_by")) && found(concat!("NoWa", "lls::new")));
    assert!(!found("wall-clock time of limits.wall"));
    let text = "a;\n#[doc(hidden)]\npub use self::{\n    B as C,\n};\nd;\n    #[doc(hidden)]\n    fn e() {\n        f;\n    }\n    g;";
    let lines: Vec<&str> = lines_without_old_names(text).into_iter().map(|(_, line)| line.trim()).collect();
    assert_eq!(lines, ["a;", "d;", "g;"]);
    assert_eq!(defined_type("pub(super) struct A<'a> {"), Some("A"));
    assert_eq!((defined_type("pub type B = C;"), defined_type("    type B = C;")), (Some("B"), None));
}
