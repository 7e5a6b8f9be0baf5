//! Where secrets stand in a text, and the marks that are put in their place.

use askfirst::Digest;

use super::Mark;

/// What a secret is. Of two that overlap the earlier name here is the one that is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    PrivateKey,
    AwsKeyId,
    AwsSecret,
    GitHub,
    GitLab,
    Slack,
    Stripe,
    Google,
    Anthropic,
    OpenAi,
    Npm,
    PyPi,
    Service,
    Jwt,
    UrlPassword,
    Basic,
    Bearer,
    Cookie,
    Authorization,
    Password,
    ApiKey,
    Credential,
    Token,
    Secret,
    Known,
    Argument,
    Deep,
    Text,
}

impl Kind {
    const ALL: [Self; 28] = [
        Self::PrivateKey,
        Self::AwsKeyId,
        Self::AwsSecret,
        Self::GitHub,
        Self::GitLab,
        Self::Slack,
        Self::Stripe,
        Self::Google,
        Self::Anthropic,
        Self::OpenAi,
        Self::Npm,
        Self::PyPi,
        Self::Service,
        Self::Jwt,
        Self::UrlPassword,
        Self::Basic,
        Self::Bearer,
        Self::Cookie,
        Self::Authorization,
        Self::Password,
        Self::ApiKey,
        Self::Credential,
        Self::Token,
        Self::Secret,
        Self::Known,
        Self::Argument,
        Self::Deep,
        Self::Text,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::PrivateKey => "private key",
            Self::AwsKeyId => "aws access key id",
            Self::AwsSecret => "aws secret key",
            Self::GitHub => "github token",
            Self::GitLab => "gitlab token",
            Self::Slack => "slack token",
            Self::Stripe => "stripe key",
            Self::Google => "google key",
            Self::Anthropic => "anthropic key",
            Self::OpenAi => "openai key",
            Self::Npm => "npm token",
            Self::PyPi => "pypi token",
            Self::Service => "access token",
            Self::Jwt => "json web token",
            Self::UrlPassword => "password in an address",
            Self::Basic => "basic credentials",
            Self::Bearer => "bearer token",
            Self::Cookie => "cookie",
            Self::Authorization => "authorization",
            Self::Password => "password",
            Self::ApiKey => "key",
            Self::Credential => "credentials",
            Self::Token => "token",
            Self::Secret => "secret",
            Self::Known => "known value",
            Self::Argument => "named in the config",
            Self::Deep => "nested too deep",
            Self::Text => "text full of secrets",
        }
    }

    /// What stands in the place of `secret`.
    pub(super) fn mark(self, secret: &str, mark: Mark) -> String {
        let (kind, length) = (self.as_str(), secret.chars().count());
        match mark {
            Mark::Screen => {
                format!("{OPEN}{kind}, {length} characters, {}{CLOSE}", Digest::of(secret).short())
            }
            Mark::Record => format!("{OPEN}{kind}, {length} characters{CLOSE}"),
        }
    }
}

pub(super) const OPEN: &str = "‹secret: ";
const CLOSE: &str = "›";

/// A secret in a text: bytes from `start` to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Kind,
}

/// Whether a text is one mark and nothing else.
pub(super) fn is_mark(text: &str) -> bool {
    mark_length(text) == Some(text.len())
}

/// How long the mark is that a text begins with. Only what could be a mark of ours counts: words of this room and
/// numbers, so that nobody gets a secret through by dressing it as a mark.
fn mark_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(OPEN)?;
    let (kind, rest) = rest.split_once(", ")?;
    Kind::ALL.iter().find(|known| known.as_str() == kind)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let rest = rest.get(digits..)?.strip_prefix(" characters").filter(|_| (1..=12).contains(&digits))?;
    let rest = match rest.strip_prefix(", ") {
        Some(digest) => {
            let hex = digest.get(..8)?;
            digest.get(8..).filter(|_| hex.bytes().all(|b| b.is_ascii_hexdigit()))?
        }
        None => rest,
    };
    Some(text.len() - rest.strip_prefix(CLOSE)?.len())
}

/// The marks that already stand in a text.
fn marks(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (start, _) in text.match_indices(OPEN) {
        // The longest mark there can be is short; looking no further keeps this linear.
        let mut end = text.len().min(start + 120);
        while !text.is_char_boundary(end) {
            end += 1;
        }
        if let Some(length) = text.get(start..end).and_then(mark_length) {
            found.push((start, start + length));
        }
    }
    found
}

/// Puts spans in order, keeps them off marks, widens them to whole characters and joins those that overlap.
pub(super) fn settle(text: &str, mut spans: Vec<Span>) -> Vec<Span> {
    if spans.is_empty() {
        return spans;
    }
    for span in &mut spans {
        while !text.is_char_boundary(span.start) {
            span.start -= 1;
        }
        while !text.is_char_boundary(span.end) {
            span.end += 1;
        }
    }
    spans.sort_by_key(|span| (span.start, span.end));
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans.into_iter().filter(|span| span.start < span.end) {
        match joined.last_mut() {
            Some(last) if span.start < last.end => {
                last.end = last.end.max(span.end);
                last.kind = last.kind.min(span.kind);
            }
            _ => joined.push(span),
        }
    }
    off_marks(joined, &marks(text))
}

fn off_marks(spans: Vec<Span>, marks: &[(usize, usize)]) -> Vec<Span> {
    if marks.is_empty() {
        return spans;
    }
    let mut left = Vec::with_capacity(spans.len());
    let mut marks = marks.iter().peekable();
    for mut span in spans {
        while marks.next_if(|(_, end)| *end <= span.start).is_some() {}
        // A mark can reach past this span into the next, so it is only looked at here.
        let mut ahead = marks.clone();
        while let Some((start, end)) = ahead.next_if(|(start, _)| *start < span.end) {
            if span.start < *start {
                left.push(Span { end: *start, ..span });
            }
            span.start = *end;
            if *end <= span.end {
                marks.next();
            }
        }
        if span.start < span.end {
            left.push(span);
        }
    }
    left
}

/// The text with a mark in place of every span.
pub(super) fn replace(text: &str, spans: &[Span], mark: Mark) -> String {
    let mut left = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        left.push_str(text.get(from..span.start).unwrap_or_default());
        left.push_str(&span.kind.mark(text.get(span.start..span.end).unwrap_or_default(), mark));
        from = span.end;
    }
    left.push_str(text.get(from..).unwrap_or_default());
    left
}
