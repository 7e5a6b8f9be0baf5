//! `jq` and `yq` filters. They compute; a few of their words reach for variables, files or programs, and those are doubts.

use super::Looked;

/// Words of `jq` that reach outside.
const JQ: [&str; 7] = ["env", "ENV", "import", "include", "modulemeta", "get_search_list", "__prog_args"];

/// Words of `yq` in Go that reach outside; the other one of this name has those of `jq`.
const YQ: [&str; 6] = ["strenv", "envsubst", "system", "eval", "filename_index", "file_write"];
/// What is in the names of all operators of `yq` that read a file: `load_str`, `xmlload`.
const LOADING: &str = "load";

/// Whether a filter only computes.
pub(in crate::programs) fn jq(text: &str) -> Looked {
    look(text, &[&JQ], "jq")
}

/// The same for `yq`.
pub(in crate::programs) fn yq(text: &str) -> Looked {
    look(text, &[&JQ, &YQ], "yq")
}

/// Looks at every word of the text, those in texts too: an interpolation is code.
fn look(text: &str, outside: &[&[&str]], language: &str) -> Looked {
    let is_word = |char: char| char.is_alphanumeric() || char == '_';
    let mut rest = text;
    let mut before = String::new();
    while let Some(start) = rest.find(is_word) {
        let (gap, tail) = rest.split_at(start);
        before.push_str(gap);
        let end = tail.find(|char| !is_word(char)).unwrap_or(tail.len());
        let (word, after) = tail.split_at(end);
        if outside.iter().any(|words| words.contains(&word)) || (language == "yq" && word.contains(LOADING)) {
            let field = before.ends_with('.') && !before.ends_with("..");
            let key = after.trim_start().starts_with(':') && !after.trim_start().starts_with("::");
            let called = after.trim_start().starts_with('(');
            let variable = before.ends_with('$');
            if variable || called || !(field || key) {
                return Looked::Doubt(format!("the `{language}` filter uses `{word}`"));
            }
        }
        before.clear();
        before.push_str(word);
        rest = after;
    }
    Looked::Fine { reads: Vec::new() }
}
