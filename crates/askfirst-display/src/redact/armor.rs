//! Finds the end of an armored private key.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::span::{SecretKind, Span};

/// Scans the armored keys of one text.
#[derive(Default)]
pub(super) struct ArmorScanner {
    /// The place of the next end line, if it was searched for.
    next: Option<Option<usize>>,
}

impl ArmorScanner {
    /// The end of the key whose first line ends at `from`. Text that cannot be part of a key is shown.
    /// Long runs of key characters before the end line are hidden too.
    pub(super) fn end(&mut self, text: &[u8], from: usize, spans: &mut Vec<Span>) -> usize {
        const NEAR: usize = 16 << 10;
        const PIECE: usize = 20;
        let length = |expression: &Regex| {
            let found = text.get(from..).and_then(|rest| expression.find(rest));
            found.map_or(0, |found| found.end())
        };
        let body = from + BODY.as_ref().map_or(text.len() - from, length);
        let stale = self.next.is_none_or(|next| next.is_some_and(|next| next < body));
        if stale {
            let rest = text.get(body..).unwrap_or_default();
            self.next = Some(memchr::memmem::find(rest, b"-----END ").map(|at| body + at));
        }
        let Some(end) = self.next.flatten().filter(|end| end - body <= NEAR) else { return body };
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
        let mut start = body;
        for run in text.get(body..end).unwrap_or_default().split(|byte| !is_part(byte)) {
            if run.len() >= PIECE {
                spans.push(Span { start, end: start + run.len(), kind: SecretKind::PrivateKey });
            }
            start += run.len() + 1;
        }
        body
    }
}

/// The text after the first line of an armored key: headers, key lines and the end line.
static BODY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let lines =
        r"[A-Za-z0-9+/=]+|\\+[nrt]|[ \t]*\r?\n[ \t>-]{0,8}|[A-Z][A-Za-z-]{2,20}: [A-Za-z0-9 ,./+=_-]*";
    let last = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----";
    RegexBuilder::new(&format!(r"\A(?:(?:{lines})*{last}|(?:{lines})*)")).unicode(false).build().ok()
});
