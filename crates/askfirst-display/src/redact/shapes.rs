//! Finds secrets by their shape: tokens with a prefix, armored keys, headers, URLs and assignments.
//!
//! Each shape has a regular expression of its own, so that no shape slows down another.
//! An expression is built and run only if the text contains one of the words that the shape needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, packed};
use regex::bytes::{Captures, Regex, RegexBuilder};

use super::armor::ArmorScanner;
use super::ends::{self, ValueContext};
use super::names::is_about_a_secret;
use super::span::{SecretKind, Span};
use super::values::from_base64;

/// A word of a command line: in quotes, or up to the character that ends it for the shell.
macro_rules! word {
    () => {
        r#"(?:"((?:[^"\\\r\n]|\\.)*)|'([^'\r\n]*)|((?:[^\s"'\\;|&<>()-]|\\.)(?:[^\s"'\\;|&<>()]|\\.)*))"#
    };
}

/// The user name before the colon of a password.
macro_rules! user {
    () => {
        r#"([^\s:"'=/-][^\s:"']*):"#
    };
}

struct SecretShape {
    kind: SecretKind,
    /// Words of which the text must contain at least one, ignoring case.
    needs: &'static [&'static str],
    /// The regular expression. The secret is the last group that matched, or the whole match.
    pattern: &'static str,
    check: fn(&Match<'_>) -> bool,
}

struct Match<'a> {
    secret: &'a [u8],
    groups: &'a Captures<'a>,
    after: Option<u8>,
}

const fn sure(kind: SecretKind, needs: &'static [&'static str], pattern: &'static str) -> SecretShape {
    SecretShape { kind, needs, pattern, check: |_| true }
}

/// The shape of a password in the arguments of a certain program.
const fn password(needs: &'static [&'static str], pattern: &'static str) -> SecretShape {
    SecretShape { kind: SecretKind::Password, needs, pattern, check: |found| !is_reference(found.secret) }
}

static SHAPES: [SecretShape; 26] = [
    sure(SecretKind::PrivateKey, &["-----begin"], r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"),
    sure(SecretKind::AwsKeyId, &["akia", "asia", "abia", "acca"], r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}"),
    sure(
        SecretKind::GitHub,
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"(?:gh[pousr]_[A-Za-z0-9_]{30,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    sure(
        SecretKind::GitLab,
        &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-"],
        r"gl(?:pat|dt|rt|ptt|cbt|soat|ft|imt|agent)-[A-Za-z0-9_.-]{18,}",
    ),
    sure(
        SecretKind::Slack,
        &["xox", "xapp-", "hooks.slack.com"],
        r"(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}|hooks\.slack\.com/[a-z]+/[A-Za-z0-9/_-]{20,})",
    ),
    sure(
        SecretKind::Stripe,
        &["k_live_", "k_test_", "whsec_"],
        r"(?:[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,})",
    ),
    sure(
        SecretKind::Google,
        &["aiza", "ya29.", "gocspx-", "1//0"],
        r"(?:AIza[A-Za-z0-9_-]{35,}|ya29\.[A-Za-z0-9_.-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,})",
    ),
    sure(SecretKind::Anthropic, &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{16,}"),
    SecretShape {
        kind: SecretKind::OpenAi,
        needs: &["sk-"],
        pattern: r"(?:^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{20,})",
        check: |found| is_mixed(found.secret),
    },
    sure(SecretKind::Npm, &["npm_"], r"npm_[A-Za-z0-9]{30,}"),
    sure(SecretKind::PyPi, &["pypi-"], r"pypi-[A-Za-z0-9_-]{40,}"),
    sure(
        SecretKind::Service,
        &["hf_", "o_v1_", "r_v1_", "p_v1_", "dckr_pat_", "hvs.", "sg."],
        concat!(
            r"(?:hf_[A-Za-z0-9]{30,}|do[opr]_v1_[a-f0-9]{40,}|dckr_pat_[A-Za-z0-9_-]{20,}",
            r"|hvs\.[A-Za-z0-9_-]{24,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,})"
        ),
    ),
    sure(
        SecretKind::Service,
        &["shpat_", "shpca_", "shppa_", "shpss_", "age-secret-key-1", "lin_api_", "figd_"],
        concat!(
            r"(?:shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}|AGE-SECRET-KEY-1[A-Z0-9]{50,}",
            r"|lin_api_[A-Za-z0-9]{30,}|figd_[A-Za-z0-9_-]{30,})"
        ),
    ),
    sure(SecretKind::Jwt, &["eyj"], r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)+"),
    SecretShape {
        kind: SecretKind::UrlPassword,
        needs: &["://"],
        pattern: r#"://[^\s/:@?#"'<>\\]*:([^\s/"'<>\\]+)@"#,
        check: |found| !is_reference(found.secret) && !is_port(found.secret),
    },
    SecretShape {
        kind: SecretKind::Basic,
        needs: &["basic"],
        pattern: r"(?i:basic)[ \t]+([A-Za-z0-9+/_-]{4,}={0,2})",
        check: |found| from_base64(found.secret).is_some_and(|plain| plain.contains(&b':')),
    },
    SecretShape {
        kind: SecretKind::Bearer,
        needs: &["bearer"],
        pattern: r"(?i:bearer)[ \t]+([A-Za-z0-9._~+/-]{8,}=*)",
        check: |found| has_digit(found.secret) || found.secret.len() >= 24,
    },
    SecretShape {
        kind: SecretKind::Authorization,
        needs: &["authorization"],
        pattern: concat!(
            r#"(?i)authorization\\*["']?[ \t]*[:=][ \t]*\\*["']?"#,
            r#"((?:basic|bearer|token|digest|negotiate|apikey)[ \t]+)?([^\s"'\\,;]+)"#
        ),
        check: is_authorization,
    },
    SecretShape {
        kind: SecretKind::Cookie,
        needs: &["cookie:"],
        pattern: r#"(?i)cookie:[ \t]*([^\s=;"']+=[^\r\n"']*)"#,
        check: |found| !is_reference(found.secret),
    },
    SecretShape {
        kind: SecretKind::Password,
        needs: &["pass", "pwd", "secret", "token", "credential", "key"],
        pattern: concat!(
            r"(?i)(pass(?:word|wd|phrase|code)|(?:^|[^a-z])pass|pwd|secret|token|credential",
            r"|(?:api|access|account|auth|private|signing|encryption)[_-]?key)",
            r#"(s?(?:[_-][a-z0-9_-]{0,24})?[0-9]{0,4})\\*["']?([ \t]*(?::=|=>|[:=])[ \t]*)"#,
            r#"(?:"((?:[^"\\\r\n]|\\.)*)|'((?:[^'\\\r\n]|\\.)*)|\\+["']((?:[^"'\\\r\n]|\\\\\\?.|\\[^"'\\])*)"#,
            r#"|([^\s"'&;,<>|()\[\]{}\\`]+))"#
        ),
        check: is_assigned,
    },
    SecretShape {
        kind: SecretKind::Password,
        needs: &["pass", "secret", "token", "credential", "key"],
        pattern: concat!(
            r"(?i)-[a-z0-9_-]*?(pass(?:word|wd|phrase|code)|[_-]pass|secret|token|credential",
            r"|(?:api|access|account|auth|private)[_-]?key)(s?(?:[_-][a-z0-9_-]{0,24})?[0-9]{0,4})([ \t]+)",
            r#"(?:"([^"\\\r\n]+)|'([^'\\\r\n]+)|([^\s"'&;|<>`-][^\s"'&;|<>`]*))"#
        ),
        check: |found| !is_about_a_secret(&name(found)) && !is_reference(found.secret),
    },
    SecretShape {
        kind: SecretKind::Password,
        needs: &["-u", "--user", "--proxy-user"],
        pattern: concat!(
            r#"(?:^|[\s"'])(?:-[uU]|--user|--proxy-user)[ \t=]*"#,
            r#"(?:""#,
            user!(),
            r#"((?:[^"\\\r\n]|\\.)+)|'"#,
            user!(),
            r"([^'\r\n]+)|",
            user!(),
            word!(),
            ")"
        ),
        check: |found| {
            let user =
                [1, 3, 5].into_iter().find_map(|i| found.groups.get(i)).map_or(&[][..], |m| m.as_bytes());
            let number = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
            user != found.secret && !(number(user) && number(found.secret)) && !is_reference(found.secret)
        },
    },
    password(&["sshpass"], concat!(r"sshpass(?:[ \t]+-[^\s-]\S*)*?[ \t]+-p[ \t]*", word!())),
    password(&["mysql", "mariadb"], concat!(r"(?:mysql|mariadb)[a-z-]*[^\r\n|;&]*?[ \t]-p", word!())),
    password(
        &["login"],
        concat!(
            r"(?:^|[\s/;&|(])(?:docker|podman|nerdctl|buildah|skopeo|oras|helm|crane|az)",
            r"(?:[ \t]+-\S+(?:[ \t]+[^\s-]\S*)?)*?[ \t]+(?:(?:registry|auth)[ \t]+)?login",
            r"(?:[ \t][^\r\n|;&]*?)?[ \t]-p[ \t=]*",
            word!()
        ),
    ),
    password(&["redis-cli"], concat!(r"redis-cli(?:[ \t][^\r\n|;&]*?)?[ \t]-a[ \t]+", word!())),
];

/// The index of the first shape about the words of a command. These shapes also apply to lists of words.
const OF_WORDS: usize = SHAPES.len() - 5;

/// The shapes that may be in a text, one bit for each.
#[derive(Clone, Copy)]
pub(super) struct Candidates(u32);

/// Finds the needed words of a text and the shapes that they belong to.
struct Gate {
    search: AhoCorasick,
    shapes: Vec<usize>,
}

/// The number of bytes that the quick search reads at once.
const PIECE: usize = 4096;

/// The quick search groups words by length, up to this many letters.
/// The shortest word of a group limits how selective its search is, so short words have groups of their own.
const FIRST: usize = 4;

/// Argument names that need no shape. A text that contains one must be searched all the same.
const NAMES: [&str; 3] = ["cookie", "jwt", "pw\":"];

fn words() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().flat_map(|shape| shape.needs.iter().copied()).chain(NAMES)
}

static GATE: LazyLock<Option<Gate>> = LazyLock::new(|| {
    let search = AhoCorasick::builder().ascii_case_insensitive(true).build(words()).ok()?;
    let cookie = SHAPES.iter().position(|shape| shape.kind == SecretKind::Cookie)?;
    let own = SHAPES.iter().enumerate().flat_map(|(i, shape)| shape.needs.iter().map(move |_| i));
    Some(Gate { search, shapes: own.chain(NAMES.map(|_| cookie)).collect() })
});

/// A faster search for any needed word, in lower case, if the processor supports it.
/// Most texts contain none, so the slower search is seldom built.
static QUICK: LazyLock<Option<Vec<packed::Searcher>>> = LazyLock::new(|| quick(&words().collect::<Vec<_>>()));

/// Builds the quick search. A word that contains another word needs no search of its own.
fn quick(words: &[&str]) -> Option<Vec<packed::Searcher>> {
    let needed = |word: &&str| !words.iter().any(|other| other != word && word.contains(other));
    let mut by_length: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for word in words.iter().copied().filter(needed) {
        by_length.entry(word.len().min(FIRST)).or_default().insert(word);
    }
    by_length.into_values().map(packed::Searcher::new).collect()
}

static EXPRESSIONS: [OnceLock<Option<Regex>>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];

fn expression(shape: &SecretShape) -> Option<Regex> {
    RegexBuilder::new(shape.pattern).unicode(false).build().ok()
}

/// Whether any shape may be in a text.
pub(super) fn any(text: &[u8]) -> bool {
    match &*QUICK {
        Some(quick) => any_quick(quick, text),
        None => GATE.as_ref().is_none_or(|gate| gate.search.is_match(text)),
    }
}

fn any_quick(quick: &[packed::Searcher], text: &[u8]) -> bool {
    // A word can cross the border of two pieces.
    let longest =
        SHAPES.iter().flat_map(|shape| shape.needs).map(|need| need.len()).max().unwrap_or_default();
    let mut lower = [0; PIECE];
    let mut rest = text;
    loop {
        let piece = rest.get(..PIECE).unwrap_or(rest);
        let lower = lower.get_mut(..piece.len()).unwrap_or_default();
        lower.copy_from_slice(piece);
        lower.make_ascii_lowercase();
        if quick.iter().any(|search| search.find(&*lower).is_some()) {
            return true;
        }
        if piece.len() == rest.len() {
            return false;
        }
        rest = rest.get(PIECE - longest..).unwrap_or_default();
    }
}

pub(super) fn candidates(text: &[u8]) -> Candidates {
    if !any(text) {
        return Candidates(0);
    }
    let Some(gate) = &*GATE else { return Candidates(u32::MAX) };
    let found =
        gate.search.find_overlapping_iter(text).filter_map(|m| gate.shapes.get(m.pattern().as_usize()));
    Candidates(found.fold(0, |bits, shape| bits | 1 << shape))
}

/// The passwords in the words of a command. No word contains a space.
pub(super) fn in_words(line: &str) -> Vec<Span> {
    let Candidates(found) = candidates(line.as_bytes());
    let mut spans = Vec::new();
    self::spans(line, Candidates(found >> OF_WORDS << OF_WORDS), &mut spans);
    spans
}

pub(super) fn spans(text: &str, candidates: Candidates, spans: &mut Vec<Span>) {
    for (i, (shape, expression)) in SHAPES.iter().zip(&EXPRESSIONS).enumerate() {
        if candidates.0 & 1 << i == 0 {
            continue;
        }
        match expression.get_or_init(|| self::expression(shape)) {
            Some(_) if shape.kind == SecretKind::PrivateKey && !text.contains("PRIVATE KEY") => {}
            Some(expression) => find(text, shape, expression, spans),
            // Without the expression, the text cannot be searched, so nothing of it is shown.
            None => spans.push(Span { start: 0, end: text.len(), kind: SecretKind::Text }),
        }
    }
}

fn find(text: &str, shape: &SecretShape, expression: &Regex, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let (mut ids, mut armor) = (Vec::new(), ArmorScanner::default());
    let mut from = 0;
    for groups in expression.captures_iter(bytes) {
        let Some(whole) = groups.get(0) else { continue };
        if whole.start() < from {
            continue;
        }
        let last = (1..groups.len()).rev().find_map(|i| groups.get(i));
        let secret = last.unwrap_or(whole);
        let after = bytes.get(whole.end()).copied();
        let found = Match { secret: secret.as_bytes(), groups: &groups, after };
        if !(shape.check)(&found) {
            continue;
        }
        let mut span = Span { start: secret.start(), end: secret.end(), kind: kind(shape, &found) };
        if shape.kind == SecretKind::PrivateKey {
            span.end = armor.end(bytes, span.end, spans);
            from = span.end;
        } else if !shape.kind.is_sure() {
            let context =
                if shape.kind == SecretKind::Cookie { ValueContext::Header } else { ValueContext::Word };
            let place = (whole.start(), span.start, span.end);
            span.end = ends::end(bytes, place, context);
        }
        if shape.kind == SecretKind::AwsKeyId {
            ids.push(span);
        }
        spans.push(span);
    }
    if !ids.is_empty() {
        beside_key_ids(bytes, &ids, spans);
    }
}

fn kind(shape: &SecretShape, found: &Match<'_>) -> SecretKind {
    if shape.kind != SecretKind::Password || found.groups.len() < 5 {
        return shape.kind;
    }
    let word = found.groups.get(1).map(|m| m.as_bytes().to_ascii_lowercase()).unwrap_or_default();
    match word.as_slice() {
        b"secret" => SecretKind::Secret,
        b"token" => SecretKind::Token,
        b"credential" => SecretKind::Credential,
        other if other.ends_with(b"key") => SecretKind::ApiKey,
        _ => SecretKind::Password,
    }
}

/// Finds the secrets of access key ids: a run of exactly forty characters nearby.
fn beside_key_ids(bytes: &[u8], ids: &[Span], spans: &mut Vec<Span>) {
    const NEAR: usize = 512;
    let mut ids = ids.iter().peekable();
    let mut start = 0;
    for (i, byte) in bytes.iter().copied().chain([b' ']).enumerate() {
        if byte.is_ascii_alphanumeric() || byte == b'/' || byte == b'+' {
            continue;
        }
        let run = (start, i);
        start = i + 1;
        let is_hex = || bytes.get(run.0..run.1).is_some_and(|run| run.iter().all(u8::is_ascii_hexdigit));
        if run.1 - run.0 != 40 || is_hex() {
            continue;
        }
        while ids.next_if(|id| id.end + NEAR < run.0).is_some() {}
        if ids.peek().is_some_and(|id| id.start < run.1 + NEAR) {
            spans.push(Span { start: run.0, end: run.1, kind: SecretKind::AwsSecret });
        }
    }
}

fn has_digit(text: &[u8]) -> bool {
    text.iter().any(u8::is_ascii_digit)
}

fn is_mixed(text: &[u8]) -> bool {
    has_digit(text) && text.iter().any(u8::is_ascii_uppercase)
}

/// Whether a value is not a secret but a variable, a placeholder, or already hidden.
pub(super) fn is_reference(secret: &[u8]) -> bool {
    matches!(secret.first(), None | Some(b'$' | b'{' | b'<'))
        || secret
            .iter()
            .all(|b| matches!(b, b'*' | b'.' | b'x' | b'X' | b'\xe2' | b'\x80' | b'\xa2' | b'\xa6'))
}

/// Whether the value is a port: `http://localhost:8080?mail=a@b` has no password.
fn is_port(secret: &[u8]) -> bool {
    let mut rest = secret.iter().skip_while(|b| b.is_ascii_digit());
    has_digit(secret)
        && matches!(rest.next(), Some(b'?' | b'#'))
        && secret.first().is_some_and(u8::is_ascii_digit)
}

fn is_authorization(found: &Match<'_>) -> bool {
    let scheme = found.groups.get(1).is_some();
    !is_reference(found.secret) && (scheme || found.secret.len() >= 8 && has_digit(found.secret))
}

/// The name before a value, in lower case.
fn name(found: &Match<'_>) -> String {
    let part = |i| found.groups.get(i).map_or(&[][..], |m| m.as_bytes());
    String::from_utf8_lossy(&[part(1), part(2)].concat()).to_ascii_lowercase()
}

const NO_SECRETS: [&str; 24] = [
    "true",
    "false",
    "null",
    "none",
    "nil",
    "undefined",
    "str",
    "string",
    "bool",
    "boolean",
    "int",
    "integer",
    "number",
    "bytes",
    "any",
    "required",
    "optional",
    "object",
    "array",
    "yes",
    "no",
    "text",
    "self",
    "redacted",
];

fn is_assigned(found: &Match<'_>) -> bool {
    let name = name(found);
    let name = name.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let value = String::from_utf8_lossy(found.secret);
    let plain = value.to_ascii_lowercase();
    let digits = value.bytes().all(|b| b.is_ascii_digit());
    if is_reference(found.secret)
        || is_about_a_secret(name)
        || NO_SECRETS.contains(&plain.as_str())
        || plain == name
        || (name.starts_with("token") && digits && value.len() <= 7)
        || (name == "pwd" && value.starts_with(['/', '.', '~']))
    {
        return false;
    }
    let quoted = (4..=6).any(|i| found.groups.get(i).is_some());
    if quoted {
        return name.starts_with("pass") || !value.contains(char::is_whitespace);
    }
    if matches!(found.after, Some(b'(' | b'[' | b'<' | b'{')) || is_member(&plain, name) {
        return false;
    }
    let tight = found.groups.get(3).is_some_and(|sign| sign.as_bytes() == b"=");
    let strange = |b: u8| b.is_ascii_digit() || b"!@#$%^*+=/~-".contains(&b);
    tight
        || (value.len() >= 6
            && value.bytes().any(strange)
            && !value.starts_with(['/', '.', '~', '&', '*', '=']))
}

/// Whether the value is code that names a secret: `self.password`, `config.api_key`.
fn is_member(value: &str, name: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
    value.bytes().all(word) && value.rsplit_once('.').is_some_and(|(_, last)| last.contains(name))
}

#[cfg(test)]
#[path = "shapes/tests.rs"]
mod tests;
