//! Finds secrets by their known value: unchanged, inside longer texts, and in the usual encodings.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;

use super::span::{SecretKind, Span};

/// The length of the shortest value. A shorter one would be found by chance everywhere.
const MIN_LENGTH: usize = 6;

/// The secret values to search for.
#[derive(Default)]
pub(super) struct Values {
    search: Option<AhoCorasick>,
}

impl Values {
    /// Builds the search. Returns `None` if there are too many values.
    pub(super) fn new(values: &[String]) -> Option<Self> {
        let long = values.iter().map(|value| value.trim()).filter(|v| v.chars().count() >= MIN_LENGTH);
        let forms: BTreeSet<Vec<u8>> = long.flat_map(forms).filter(|form| form.len() >= MIN_LENGTH).collect();
        let search = if forms.is_empty() { None } else { Some(AhoCorasick::new(&forms).ok()?) };
        Some(Self { search })
    }

    pub(super) fn is_in(&self, text: &[u8]) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_match(text))
    }

    pub(super) fn spans(&self, text: &str) -> Vec<Span> {
        let Some(search) = &self.search else { return Vec::new() };
        let mut spans: Vec<Span> = Vec::new();
        for found in search.find_overlapping_iter(text) {
            match spans.last_mut() {
                // A value that repeats itself gives overlapping matches.
                Some(last) if found.start() >= last.start && found.start() < last.end => {
                    last.end = last.end.max(found.end());
                }
                _ => spans.push(Span { start: found.start(), end: found.end(), kind: SecretKind::Known }),
            }
        }
        spans
    }
}

fn forms(value: &str) -> Vec<Vec<u8>> {
    let escaped = json_escaped(value);
    let mut forms = vec![value.to_owned(), json_escaped(&escaped), escaped, hex(value)];
    for spare in ["-_.~", "-_.~!*'()", "-_.~/", "-_.~/:@"] {
        let upper = percent_encoded(value, spare);
        forms.extend([upper.replace("%20", "+"), lower_percent(&upper), upper]);
    }
    forms.extend(base64_forms(value.as_bytes()));
    forms.into_iter().map(String::into_bytes).collect()
}

fn json_escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"')).unwrap_or_default().to_owned()
}

fn hex(value: &str) -> String {
    value.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn percent_encoded(value: &str, spare: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || spare.contains(c) {
            encoded.push(c);
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn lower_percent(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (hex, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        lower.extend(["%", &hex.to_ascii_lowercase(), rest]);
    }
    lower
}

/// The base64 forms of a value that is part of a longer encoded text.
/// It can start at any of three offsets. Characters that depend on its neighbors are cut off.
fn base64_forms(value: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for shift in 0..3_usize {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(value);
        let encoded = base64(&shifted);
        let skip = if shift == 0 { 0 } else { shift + 1 };
        let keep = (shifted.len() * 8 / 6).saturating_sub(skip);
        let middle: String = encoded.chars().skip(skip).take(keep).collect();
        forms.extend([middle.replace('+', "-").replace('/', "_"), middle]);
    }
    forms
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let at = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..=chunk.len() {
            let index = (bits >> (18 - 6 * place)) & 63;
            text.push(ALPHABET.get(index as usize).copied().map_or('=', char::from));
        }
    }
    text
}

/// Decodes base64 of either alphabet. Returns `None` if the text is invalid.
pub(super) fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let (mut bits, mut held) = (0_u32, 0);
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for &byte in text.iter().take_while(|byte| **byte != b'=') {
        let byte = match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        };
        let value = ALPHABET.iter().position(|known| *known == byte)?;
        bits = (bits << 6 | u32::try_from(value).ok()?) & 0xff_ffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(bytes)
}
