//! Files that usually hold secrets. Reading one by its name is asked about, also where the root reads without asking.
//!
//! This is a net, not a wall: `sandbox.never_read` is how an owner says what must not be read.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

use super::glob::{Glob, Reach};
use super::line::tree::{Command, Piece, Stdin, Word};

/// Names, in lower case. A star stands for anything within a name.
const NAMES: [&str; 40] = [
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".git-credentials",
    ".vault-token",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "*key.pem",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.kdbx",
    "credentials.json",
    "service-account*.json",
    "shadow",
    ".boto",
    ".s3cfg",
    "*.key",
    "*.keystore",
    "*.tfstate",
    "kubeconfig",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
    "credentials.toml",
];

/// Folders whose content counts, too.
const FOLDERS: [&str; 7] = [".ssh", ".gnupg", ".aws", ".azure", ".gem", ".kube", ".docker"];

/// Endings of names that hold no secret though they look like it.
const SAMPLES: [&str; 7] = [".example", ".sample", ".template", ".dist", ".defaults", ".test", ".ci"];

/// Whether a place usually holds secrets.
#[must_use]
pub fn is_secret(path: &Path) -> bool {
    let Some(name) = path.file_name().map(lower) else { return false };
    if SAMPLES.iter().any(|sample| name.ends_with(sample)) {
        return false;
    }
    let in_folder = path.iter().map(lower).any(|part| FOLDERS.contains(&&*part));
    in_folder || NAMES.iter().any(|known| matches(known, &name))
}

/// A name in lower case, which most are.
fn lower(name: &OsStr) -> Cow<'_, str> {
    match name.to_str().map_or_else(|| name.to_string_lossy(), Cow::Borrowed) {
        text if text.is_ascii() && !text.bytes().any(|byte| byte.is_ascii_uppercase()) => text,
        text => Cow::Owned(text.to_lowercase()),
    }
}

/// Names by which secrets usually lie in a project or a home.
const USUAL: [&str; 6] = [".env", ".env.local", ".netrc", ".pgpass", "id_ed25519", "id_rsa"];

/// The word by which a command looks for files that usually hold secrets: `find . -name .env`.
pub(super) fn sought(words: &[Word]) -> Option<&str> {
    let not = |at: usize| {
        let before = at.checked_sub(2).and_then(|at| words.get(at)).and_then(Word::literal);
        matches!(before, Some("!" | "-not"))
    };
    let by_name = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).and_then(Word::literal);
        matches!(before, Some("-name" | "-iname"))
    };
    let by_path = |at: usize, text: &str| {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).and_then(Word::literal);
        let name = text.rsplit('/').next().unwrap_or(text);
        matches!(before, Some("-path" | "-ipath" | "-wholename" | "-iwholename"))
            && name.starts_with('.')
            && USUAL.iter().any(|usual| Glob::new(name).matches(usual, Reach::Anything))
    };
    words.iter().enumerate().skip(1).filter(|(at, _)| !not(*at)).find_map(|(at, word)| {
        let text = word.literal()?;
        let glob = text.contains(['*', '?', '[']) && by_name(at);
        if glob && USUAL.iter().any(|name| Glob::new(text).matches(name, Reach::Anything)) {
            return Some(text);
        }
        if by_path(at, text) {
            return Some(text);
        }
        let bare: String =
            text.chars().filter(|c| !matches!(c, '*' | '?' | '!' | '^' | '$' | '\\')).collect();
        let named = |text: &str| !text.is_empty() && is_secret(Path::new(text));
        let left_out = text.starts_with('!');
        (!left_out && (named(text) || named(&bare))).then_some(text)
    })
}

/// The name by which a search in files is held to those that usually hold secrets: `grep -r --include=.env`.
pub(super) fn included(words: &[Word]) -> Option<String> {
    let options = ["--include", "-g", "--glob", "--iglob"];
    let texts: Vec<&str> = words.iter().filter_map(Word::literal).collect();
    let values = texts.iter().enumerate().filter_map(|(at, text)| {
        let (name, value) =
            text.split_once('=').unwrap_or((text, texts.get(at + 1).copied().unwrap_or_default()));
        let attached = text.strip_prefix("-g").filter(|rest| !rest.is_empty() && !rest.starts_with('='));
        attached.or_else(|| options.contains(&name).then_some(value))
    });
    values.filter(|value| !value.starts_with('!')).find_map(|value| {
        let name = value.rsplit('/').next().unwrap_or(value).to_lowercase();
        let glob = Glob::new(&name);
        let named = is_secret(Path::new(&name))
            || (!name.starts_with('*') && USUAL.iter().any(|usual| glob.matches(usual, Reach::Anything)));
        named.then(|| {
            format!("this command searches `{value}`, and files with this name usually hold secrets")
        })
    })
}

/// Whether a variable of this name usually holds a secret.
pub(super) fn is_secret_variable(name: &str) -> bool {
    const PARTS: [&str; 13] = [
        "APIKEY",
        "AUTH",
        "CREDENTIAL",
        "CREDENTIALS",
        "KEY",
        "PASS",
        "PASSPHRASE",
        "PASSWD",
        "PASSWORD",
        "PAT",
        "SECRET",
        "TOKEN",
        "TOKENS",
    ];
    let capital = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(capital) && name.split('_').any(|part| PARTS.contains(&part))
}

/// The variable that an expansion shows the value of: `$NAME`, `${NAME:0:4}`; not `${NAME:+set}`, `${#NAME}`.
pub(super) fn shown_variable(expansion: &str) -> Option<&str> {
    let rest = expansion.strip_prefix('$')?;
    let inner = rest.strip_prefix('{').unwrap_or(rest);
    let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
    let (name, behind) = inner.split_at(end);
    let hides = behind.starts_with(":+") || behind.starts_with('+');
    (!name.is_empty() && !hides).then_some(name)
}

fn matches(known: &str, name: &str) -> bool {
    // The first letters tell most of them apart.
    if !known.starts_with('*') && known.bytes().next() != name.bytes().next() {
        return false;
    }
    match known.split_once('*') {
        None => known == name,
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

/// Variables whose value a command gets to see, and which usually hold a secret.
pub(super) fn secrets(command: &Command) -> Vec<String> {
    let sent = match &command.stdin {
        Stdin::Text(word) => Some(word),
        Stdin::Inherited | Stdin::Pipe(_) | Stdin::Unknown => None,
    };
    let words = command.words.iter().chain(command.assignments.iter().map(|set| &set.value)).chain(sent);
    let unknown = |piece: &'_ Piece| match piece {
        Piece::Unknown(unknown) => {
            shown_variable(&unknown.text).filter(|name| is_secret_variable(name)).map(str::to_owned)
        }
        Piece::Text(_) | Piece::Glob(_) | Piece::Home => None,
    };
    let names = words.flat_map(|word| word.pieces.iter().filter_map(unknown));
    names.map(|name| format!("this command gets the value of `{name}`, which is usually a secret")).collect()
}

#[cfg(test)]
#[path = "secrets/tests.rs"]
mod tests;
