//! Rules about sentences: their subject and their length.

use std::path::{Path, PathBuf};

use super::{root, sources, wrong};

/// Words that are no subject: no sentence starts with one, unless it is a question.
const NO_SUBJECT: [&str; 6] = ["What", "Whatever", "Who", "Whoever", "Nobody", "Somebody"];

/// The largest number of words in a sentence. Code in backticks is one word.
const MAX_WORDS: usize = 30;

/// All texts that people read, without the inside of the shell crate.
fn texts() -> Vec<(PathBuf, String)> {
    let inside_shell = root().join("crates/askfirst-shell/src");
    let suffixes = [".rs", ".py", ".pyi", ".md", ".toml", ".yaml"];
    let paths = suffixes.iter().flat_map(|suffix| sources(&root(), suffix));
    let paths = paths.filter(|path| !path.starts_with(&inside_shell) && !path.ends_with("tidy/prose.rs"));
    paths.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// The sentence without a subject that a line begins, if there is one: in a comment, a literal or a document.
fn sentence_without_subject(line: &str) -> Option<&str> {
    NO_SUBJECT.iter().find_map(|word| {
        line.match_indices(word).find_map(|(at, _)| {
            let (before, sentence) = line.split_at(at);
            let before = before.trim();
            let starts = before.is_empty() || before.ends_with([';', '.', '/', '!', '#', '-', '*', '|', '"']);
            let is_word = sentence.split(' ').next() == Some(word);
            let end = sentence.find(['.', '?']).unwrap_or(sentence.len());
            (starts && is_word && !sentence[end..].starts_with('?')).then_some(sentence)
        })
    })
}

#[test]
fn no_sentence_starts_with_a_word_that_is_no_subject() {
    let mut places = Vec::new();
    for (path, text) in texts() {
        for (number, line) in text.lines().enumerate() {
            if let Some(sentence) = sentence_without_subject(line) {
                places.push(format!("{}:{}: {sentence}", path.display(), number + 1));
            }
        }
    }
    wrong("sentences without a subject", places);
}

/// The text of a line of documentation. In Rust, that is a doc comment.
fn documentation<'l>(path: &Path, line: &'l str) -> Option<&'l str> {
    let line = line.trim();
    match path.extension().unwrap().to_str().unwrap() {
        "rs" => line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::trim),
        "md" => Some(line),
        _ => None,
    }
}

/// The paragraphs, list items and table cells of a document, each with the number of its first line.
fn paragraphs(path: &Path, text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut is_code = false;
    let mut continues = false;
    for (number, line) in text.lines().enumerate() {
        let Some(line) = documentation(path, line) else {
            (is_code, continues) = (false, false);
            continue;
        };
        if line.starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.is_empty() || line.starts_with("```") {
            continues = false;
        } else if let Some(cells) = line.strip_prefix('|') {
            found.extend(cells.split('|').map(|cell| (number + 1, cell.to_owned())));
            continues = false;
        } else if continues && !line.starts_with(['-', '*', '#']) {
            let last = &mut found.last_mut().unwrap().1;
            last.push(' ');
            last.push_str(line);
        } else {
            found.push((number + 1, line.trim_start_matches(['-', '*', '#', ' ']).to_owned()));
            continues = true;
        }
    }
    found
}

/// The numbers of words in the sentences of a paragraph.
fn lengths(paragraph: &str) -> Vec<usize> {
    let code_is_a_word: Vec<&str> =
        paragraph.split('`').enumerate().map(|(at, part)| if at % 2 == 1 { "code" } else { part }).collect();
    let mut lengths = vec![0];
    for word in code_is_a_word.concat().split_whitespace() {
        *lengths.last_mut().unwrap() += 1;
        if word.trim_end_matches([')', '*', '"']).ends_with(['.', '!', '?', ':']) {
            lengths.push(0);
        }
    }
    lengths
}

#[test]
fn sentences_of_documentation_have_at_most_30_words() {
    let mut places = Vec::new();
    for (path, text) in texts() {
        for (number, paragraph) in paragraphs(&path, &text) {
            for length in lengths(&paragraph).into_iter().filter(|length| *length > MAX_WORDS) {
                places.push(format!("{}:{number}: {length} words", path.display()));
            }
        }
    }
    wrong("sentences that are too long", places);
}

#[test]
fn search_for_sentences_finds_subjects_and_counts_words() {
    let found = |line: &str| sentence_without_subject(line).is_some();
    assert!(
        found("    /// What a call does.") && found("Yes. Who knows, asks.") && found("key(\"What it is.\")")
    );
    assert!(!found("// What is it?") && !found("Ask what it is.") && !found("let What = Whole;"));
    let text = "//! One two\n//! three. `a b` four\n\nfn f() {}\n/// - five\n/// ```\n/// code\n/// ```\n/// six: seven\n";
    let lengths: Vec<Vec<usize>> =
        paragraphs(Path::new("a.rs"), text).iter().map(|(_, paragraph)| lengths(paragraph)).collect();
    assert_eq!(lengths, [vec![3, 2], vec![1], vec![1, 1]]);
    assert_eq!(paragraphs(Path::new("a.md"), "a\n| b | c d |\n").len(), 4);
}
