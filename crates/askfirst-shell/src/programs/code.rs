//! Languages in words: `sed`, `awk`, `jq`, `yq`, a little of Python. A reader says that a text only computes and prints, or that it cannot tell.

use crate::line::tree::Word;

mod awk;
mod jq;
mod python;
mod sed;

pub(super) use awk::awk;
pub(super) use jq::{jq, yq};
pub(super) use python::python;
pub(super) use sed::sed;

/// What a look into a text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Looked {
    /// It only computes and prints, and reads these files.
    Fine {
        /// Files that it names itself.
        reads: Vec<String>,
    },
    /// It does more, or was not understood; why, in words for a person.
    Doubt(String),
}

/// Whether a text that an interpreter is given only computes and prints. Where lines of it are left out, nothing is sure.
pub(crate) fn only_computes(program: &str, words: &[Word], text: &str) -> bool {
    // It may stand behind the value of another option.
    let skips = |word: &Word| {
        let option = word.prefix().strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        option.and_then(|letters| letters.split('c').next()).is_some_and(|letters| letters.contains('x'))
    };
    let mut own = words.iter().skip(1).take_while(|word| word.prefix().starts_with('-'));
    is_python(program)
        && !own.any(Word::is_unknown)
        && !words.iter().skip(1).any(skips)
        && matches!(python(text), Looked::Fine { .. })
}

/// Whether a program is Python, of any version.
pub(crate) fn is_python(program: &str) -> bool {
    let version = |c: char| c.is_ascii_digit() || c == '.';
    matches!(program.trim_end_matches(version), "python" | "py" | "pypy")
}
