//! The places of secrets in a text, and the marks that replace them.

use std::ops::Range;

use askfirst::Digest;

use super::Mark;

/// The kind of a secret. If two secrets overlap, the mark names the kind that is listed first here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SecretKind {
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

impl SecretKind {
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
            Self::UrlPassword => "password in a URL",
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

    /// Whether it is certainly a secret: a token with a known format, or a value that was known before the call.
    pub(super) fn is_sure(self) -> bool {
        match self {
            Self::AwsKeyId
            | Self::AwsSecret
            | Self::GitHub
            | Self::GitLab
            | Self::Slack
            | Self::Stripe
            | Self::Google
            | Self::Anthropic
            | Self::OpenAi
            | Self::Npm
            | Self::PyPi
            | Self::Service
            | Self::Jwt
            | Self::Known
            | Self::Deep
            | Self::Text => true,
            Self::PrivateKey
            | Self::UrlPassword
            | Self::Basic
            | Self::Bearer
            | Self::Cookie
            | Self::Authorization
            | Self::Password
            | Self::ApiKey
            | Self::Credential
            | Self::Token
            | Self::Secret
            | Self::Argument => false,
        }
    }

    /// The mark that replaces `secret`.
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
    pub(super) kind: SecretKind,
}

/// Whether a text is exactly one mark.
pub(super) fn is_mark(text: &str) -> bool {
    mark_length(text) == Some(text.len())
}

/// The length of the mark at the start of a text.
/// A mark contains only the kinds of this module and numbers, so that a secret cannot be disguised as a mark.
fn mark_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(OPEN)?;
    let (kind, rest) = rest.split_once(", ")?;
    SecretKind::ALL.iter().find(|known| known.as_str() == kind)?;
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

/// The marks that are already in a text.
fn marks(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (start, _) in text.match_indices(OPEN) {
        // Every mark is short. Looking no further keeps the search linear.
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

/// Sorts spans, widens them to whole characters, joins those that overlap, and cuts out existing marks.
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
    cut_out_marks(joined, &marks(text))
}

fn cut_out_marks(spans: Vec<Span>, marks: &[(usize, usize)]) -> Vec<Span> {
    if marks.is_empty() {
        return spans;
    }
    let mut left = Vec::with_capacity(spans.len());
    let mut marks = marks.iter().peekable();
    for mut span in spans {
        while marks.next_if(|(_, end)| *end <= span.start).is_some() {}
        // A mark can reach into the next span, so it is not consumed here.
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

/// A redacted text, with the old and the new place of each secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MaskedText {
    /// The text with a mark for each secret.
    pub(crate) left: String,
    moved: Vec<(Range<usize>, Range<usize>)>,
}

impl MaskedText {
    /// Replaces every span of a text with a mark.
    pub(super) fn new(text: &str, spans: &[Span], mark: Mark) -> Self {
        let mut masked = Self { left: String::with_capacity(text.len()), moved: Vec::new() };
        let mut from = 0;
        for span in spans {
            masked.left.push_str(text.get(from..span.start).unwrap_or_default());
            let start = masked.left.len();
            let secret = text.get(span.start..span.end).unwrap_or_default();
            masked.left.push_str(&span.kind.mark(secret, mark));
            masked.moved.push((span.start..span.end, start..masked.left.len()));
            from = span.end;
        }
        masked.left.push_str(text.get(from..).unwrap_or_default());
        masked
    }

    /// A text without secrets.
    pub(crate) fn whole(text: &str) -> Self {
        Self { left: text.to_owned(), moved: Vec::new() }
    }

    /// The number of replaced secrets.
    pub(crate) fn hidden(&self) -> usize {
        self.moved.len()
    }

    /// The new place of a part of the text. It contains the whole mark of every secret that overlaps the part.
    pub(crate) fn place(&self, part: &Range<usize>) -> Range<usize> {
        let before = |at: usize| {
            let known = self.moved.partition_point(|(old, _)| old.start < at);
            known.checked_sub(1).and_then(|last| self.moved.get(last))
        };
        let start = match before(part.start + 1) {
            Some((old, new)) if part.start < old.end => new.start,
            Some((old, new)) => new.end + (part.start - old.end),
            None => part.start,
        };
        let end = match before(part.end) {
            Some((old, new)) if part.end <= old.end => new.end,
            Some((old, new)) => new.end + (part.end - old.end),
            None => part.end,
        };
        start..end.max(start)
    }

    /// The place in the original text of a span that contains no mark.
    pub(super) fn before(&self, span: Span) -> Span {
        let at = |place: usize| {
            let known = self.moved.partition_point(|(_, new)| new.end <= place);
            let last = known.checked_sub(1).and_then(|last| self.moved.get(last));
            last.map_or(place, |(old, new)| old.end + (place - new.end))
        };
        let start = at(span.start);
        Span { start, end: start + (span.end - span.start), ..span }
    }
}

/// The digests of the marks in a text.
pub(crate) fn digests(text: &str) -> impl Iterator<Item = &str> {
    let mark = move |(start, end): (usize, usize)| text.get(start..end);
    marks(text).into_iter().filter_map(mark).filter_map(|mark| mark.strip_suffix(CLOSE)?.rsplit(", ").next())
}
