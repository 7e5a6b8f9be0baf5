//! Texts that another shell than bash may read: `sh` may be any. What they read in different ways is not understood.

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
    !SIGNS.iter().any(|sign| duplicates.contains(sign)) && !words.any(word) && !braces && !streams
}
