//! Languages in words: `sed`, `awk`, `jq`, `yq`, a little of Python. A reader says that a text only computes and prints, or that it cannot tell.

use crate::tools::shell::line::tree::Word;

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
pub(in crate::tools::shell) fn only_computes(program: &str, words: &[Word], text: &str) -> bool {
    let skips = |word: &Word| {
        let option = word.prefix().strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        word.is_unknown() || option.is_some_and(|letters| letters.contains('x'))
    };
    let own = words.iter().skip(1).take_while(|word| word.prefix().starts_with('-'));
    let version = |c: char| c.is_ascii_digit() || c == '.';
    matches!(program.trim_end_matches(version), "python" | "py" | "pypy")
        && !own.clone().any(skips)
        && matches!(python(text), Looked::Fine { .. })
}
