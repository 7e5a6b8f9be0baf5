//! Texts that another shell than bash may read: `sh` may be any. What they read in different ways is not understood.

use super::super::glob::{Glob, Reach};
use super::super::line;
use super::super::line::tree::{Piece, Word};
use super::super::paths::as_glob;

/// Those that hand their text to bash, by the first word of the way.
const BASH: [&str; 6] = ["bash", "builtin", "command", "eval", "rbash", "trap"];

/// Signs that mean something to bash alone, or something else.
const SIGNS: [&str; 17] = [
    "[[", "((", "$'", "$\"", "[^", "&>", ">&", "<&", "+=", "=(", "<<<", "<(", ">(", "|&", "$[", "${!", "\\\n",
];

/// Words that only bash knows, or that others know otherwise.
const WORDS: [&str; 38] = [
    "BASHPID",
    "COLUMNS",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HOSTNAME",
    "HOSTTYPE",
    "LINENO",
    "LINES",
    "MACHTYPE",
    "OLDPWD",
    "OSTYPE",
    "PIPESTATUS",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "UID",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "function",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "select",
    "shopt",
    "source",
    "time",
    "typeset",
];

/// Whether every shell reads a text as bash does, as far as is known.
pub(super) fn is_common(via: &str, text: &str) -> bool {
    if BASH.contains(&via.split(' ').next().unwrap_or_default()) {
        return true;
    }
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let word = |word: &str| WORDS.contains(&word) || word.starts_with("BASH");
    // `{a,b}`, `{1..3}`; and `${x:1}`, `${x/a/b}`, `${x^}`, of which others know but a few.
    let braces = text.match_indices('{').any(|(at, _)| {
        let (before, inside) = text.split_at(at);
        let inside = inside.split('}').next().unwrap_or_default();
        let expands =
            ["/", "^", ",", "@", "[", ":0", ":1", ":2", ":3", ":4", ":5", ":6", ":7", ":8", ":9", ": ", ":$"];
        match before.ends_with('$') {
            true => expands.iter().any(|sign| inside.contains(sign)),
            false => inside.contains(',') || inside.contains(".."),
        }
    });
    // Numbers of streams with more than one digit are words to others.
    let long = |(at, _): (usize, &str)| {
        let before = text.get(..at).unwrap_or_default();
        before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len() > 1
    };
    let streams = text.match_indices(['<', '>']).any(long);
    let duplicates = text.replace("2>&1", "").replace(">&2", "");
    !SIGNS.iter().any(|sign| duplicates.contains(sign))
        && !words.any(word)
        && !braces
        && !streams
        && !climbs(text)
}

/// Whether a wildcard may find the folder above: `.*` does in most shells, and does not in bash.
fn climbs(text: &str) -> bool {
    let above = |word: &Word| {
        let parts = word.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => as_glob(text),
            Piece::Glob(text) => text.clone(),
            Piece::Home | Piece::Unknown(_) => "/".to_owned(),
        });
        let whole = parts.collect::<String>();
        let finds = |part: &str| part.starts_with('.') && Glob::new(part).matches("..", Reach::Anything);
        word.has_glob() && whole.split('/').any(|part| part != ".." && finds(part))
    };
    let commands = if text.contains(['*', '?', '[']) { line::read(text).commands } else { Vec::new() };
    commands.iter().flat_map(|command| &command.words).any(above)
}
