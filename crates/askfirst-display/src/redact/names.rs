//! Names of arguments whose values are secret because of the name.

use globset::GlobSet;

use super::span::SecretKind;

/// The values that a name hides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HiddenValues {
    /// Every value, because the config names it.
    Configured,
    /// Texts and numbers.
    All,
    /// Texts. A number under such a name is a count.
    Texts,
    /// Texts that look like a key.
    Keys,
    /// Texts that are not a path.
    NoPaths,
}

/// The secret names that the config adds to the built-in ones.
#[derive(Clone, Default)]
pub(super) struct Names {
    globs: Option<GlobSet>,
}

impl Names {
    pub(super) fn new(globs: Option<GlobSet>) -> Self {
        Self { globs }
    }

    pub(super) fn is_configured(&self, name: &str) -> bool {
        self.globs.as_ref().is_some_and(|globs| globs.is_match(name))
    }

    pub(super) fn reach(&self, name: &str) -> Option<(SecretKind, HiddenValues)> {
        if self.is_configured(name) {
            return Some((SecretKind::Argument, HiddenValues::Configured));
        }
        // A longer name is not the name of an argument.
        if name.len() > 200 {
            return None;
        }
        let snake = snake(name);
        if is_about_a_secret(&snake) {
            return None;
        }
        built_in(&snake).or_else(|| built_in(&name.to_ascii_lowercase()))
    }

    /// The kind of secret that follows a word of a command, such as `--password`.
    pub(super) fn flag(&self, word: &str) -> Option<SecretKind> {
        let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
        if name.contains('=') || name.len() < 3 {
            return None;
        }
        match self.reach(name)? {
            (kind, HiddenValues::Configured | HiddenValues::All | HiddenValues::Texts) => Some(kind),
            (_, HiddenValues::Keys | HiddenValues::NoPaths) => None,
        }
    }
}

/// Converts `clientSecret`, `client-secret` and `CLIENT_SECRET` to `client_secret`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut after_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && after_lower {
            snake.push('_');
        }
        after_lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        snake.push(if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    }
    snake
}

const PASSWORDS: [&str; 4] = ["password", "passwd", "passphrase", "passcode"];
const KEYS: [&str; 12] = [
    "api_key",
    "apikey",
    "access_key",
    "accesskey",
    "secret_key",
    "secretkey",
    "private_key",
    "privatekey",
    "signing_key",
    "encryption_key",
    "auth_key",
    "account_key",
];

fn built_in(name: &str) -> Option<(SecretKind, HiddenValues)> {
    let any = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let last = |word: &str| name == word || name.strip_suffix(word).is_some_and(|rest| rest.ends_with('_'));
    if any(&PASSWORDS) || last("pass") {
        Some((SecretKind::Password, HiddenValues::All))
    } else if last("pwd") || last("pw") {
        Some((SecretKind::Password, HiddenValues::NoPaths))
    } else if any(&KEYS) {
        Some((SecretKind::ApiKey, HiddenValues::All))
    } else if any(&["credential"]) {
        Some((SecretKind::Credential, HiddenValues::All))
    } else if last("secret") || last("secrets") || name.starts_with("secret_") {
        Some((SecretKind::Secret, HiddenValues::All))
    } else if any(&["token"]) && !any(&["tokeniz"]) || last("jwt") {
        Some((SecretKind::Token, HiddenValues::Texts))
    } else if last("authorization") {
        Some((SecretKind::Authorization, HiddenValues::All))
    } else if last("cookie") || last("cookies") {
        Some((SecretKind::Cookie, HiddenValues::All))
    } else if last("key") {
        Some((SecretKind::ApiKey, HiddenValues::Keys))
    } else {
        None
    }
}

/// Last words of names that are about a secret without holding one: `token_count`, `password_file`.
const ABOUT: [&str; 41] = [
    "file", "path", "dir", "name", "id", "ids", "type", "count", "len", "length", "limit", "url", "uri",
    "env", "stdin", "policy", "field", "prompt", "size", "min", "max", "usage", "expiry", "expires", "ttl",
    "at", "in", "regex", "pattern", "label", "hint", "reset", "required", "budget", "command", "cmd",
    "program", "helper", "process", "provider", "script",
];

/// Whether a name in lower case is only about a secret.
pub(super) fn is_about_a_secret(name: &str) -> bool {
    let last = name.rsplit(['_', '-']).next().unwrap_or_default();
    name.contains(['_', '-']) && ABOUT.contains(&last)
}

/// Whether a name hides a text.
pub(super) fn hides(text: &str, reach: HiddenValues) -> bool {
    match reach {
        HiddenValues::Configured | HiddenValues::All | HiddenValues::Texts => !text.is_empty(),
        HiddenValues::Keys => looks_like_a_key(text),
        HiddenValues::NoPaths => !text.is_empty() && !text.starts_with(['/', '.', '~']),
    }
}

fn looks_like_a_key(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"+/=_-.".contains(&b);
    (16..=4096).contains(&text.len())
        && text.bytes().all(plain)
        && text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().any(|b| b.is_ascii_alphabetic())
        && !is_uuid(text)
        && !text.starts_with(['/', '.'])
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}
