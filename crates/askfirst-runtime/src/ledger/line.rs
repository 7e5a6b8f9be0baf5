//! One line of the audit log as bytes: the fields before and after the record, and the hash over all of it.
//!
//! A line is `{"v":1,"seq":N,…,"prev":"sha256:…","hash":"sha256:…"}`. The hash covers the exact bytes before
//! `,"hash":`, so a line can be checked without parsing it.
//!
//! A line with `"v":2` has long arguments. In the bytes that are hashed, the digest of the arguments replaces them. So
//! they are hashed once, not twice.

use askfirst::{ContentDigest, Digest};

use super::body::{LongArguments, args_in};
use super::error::LedgerError;

/// The maximum length of a line, in bytes.
pub(super) const MAX_LINE: usize = 64 << 20;

/// The `prev` hash of the first line.
pub(super) const NO_HASH: [u8; 64] = [b'0'; 64];

const PREV: &[u8] = b",\"prev\":\"sha256:";
const HASH: &[u8] = b",\"hash\":\"sha256:";

/// The bytes after the hash of a line.
pub(super) const END: &[u8; 3] = b"\"}\n";

/// The first bytes of a line.
const HEAD: [u8; 13] = *b"{\"v\":1,\"seq\":";
/// The first bytes of a line whose hash covers the digest of the arguments instead of the arguments.
const HEAD_APART: [u8; 13] = *b"{\"v\":2,\"seq\":";

/// The hex digits of a hash.
pub(super) type Hex = [u8; 64];

/// The position of a line in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChainPosition {
    pub(super) seq: u64,
    pub(super) prev: Hex,
    pub(super) hash: Hex,
}

/// Why a line is not part of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PositionError {
    /// It does not start or end like a line of the audit log.
    Shape,
    /// Its hash does not match its bytes.
    Hash,
}

/// Returns the position of a line, given without its newline, and checks its hash.
pub(super) fn place(line: &[u8]) -> Result<ChainPosition, PositionError> {
    let (seq, prev, body, hash) = parts(line).ok_or(PositionError::Shape)?;
    if hash_of_line(body).ok_or(PositionError::Shape)? != hash {
        return Err(PositionError::Hash);
    }
    Ok(ChainPosition { seq, prev, hash })
}

/// Computes the hash of a line that was read. `body` is the line up to its hash.
fn hash_of_line(body: &[u8]) -> Option<Hex> {
    if !body.starts_with(&HEAD_APART) {
        return Some(hash_of(body, None));
    }
    let args = args_in(body)?;
    let digest = ContentDigest::of(body.get(args.clone()).unwrap_or_default());
    Some(hash_of(body, Some(&LongArguments { args, digest })))
}

/// Computes the hash of the bytes before it. No JSON value starts like a digest, so a digest cannot be mistaken for
/// arguments.
fn hash_of(body: &[u8], apart: Option<&LongArguments>) -> Hex {
    let Some(LongArguments { args, digest }) = apart else { return Digest::of(body).hex() };
    let part = |range| body.get::<std::ops::Range<usize>>(range).unwrap_or_default();
    let digest = digest.to_string();
    Digest::of_joined([part(0..args.start), digest.as_bytes(), part(args.end..body.len())]).hex()
}

/// Returns whether bytes match the start of a line.
pub(super) fn may_begin(bytes: &[u8]) -> bool {
    [HEAD, HEAD_APART].iter().any(|head| bytes.iter().zip(head).all(|(byte, head)| byte == head))
}

/// Returns whether bytes that are not a line may be the rest of one.
/// They may be its start, cut off before the end, or zeros from a system crash before all of it was on the disk.
/// Any other bytes were changed, or written by another program.
pub(super) fn may_be_torn(bytes: &[u8]) -> bool {
    let zeros = bytes.first() == Some(&0)
        || bytes.last() == Some(&0)
        || memchr::memmem::find(bytes, &[0; SECTOR]).is_some();
    zeros || may_begin(bytes) && !goes_beyond(bytes)
}

/// The smallest unit that a disk writes, in bytes.
const SECTOR: usize = 512;

/// Returns whether the bytes contain the last part of a line, or other bytes instead of it.
fn goes_beyond(bytes: &[u8]) -> bool {
    if bytes.strip_suffix(b"\"}").is_some_and(|line| cut_hash(line, HASH).is_some()) {
        return true;
    }
    let end = memchr::memmem::rfind(bytes, PREV).map(|prev| prev + PREV.len() + NO_HASH.len() + 1);
    let Some((body, rest)) = end.and_then(|end| bytes.split_at_checked(end)) else { return false };
    let last = [HASH, &hash_of_line(body).unwrap_or(NO_HASH), b"\"}"].concat();
    // An argument name may look like it too, but then more than one brace is open.
    let is_last = serde_json::from_slice::<serde::de::IgnoredAny>(&[body, b"}"].concat()).is_ok();
    is_last && rest.len() <= last.len() + 1 && !last.starts_with(rest)
}

fn parts(line: &[u8]) -> Option<(u64, Hex, &[u8], Hex)> {
    let rest = line.strip_prefix(&HEAD).or_else(|| line.strip_prefix(&HEAD_APART))?;
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let seq = rest.get(..digits).filter(|_| rest.get(digits) == Some(&b','))?;
    let seq: u64 = std::str::from_utf8(seq).ok()?.parse().ok()?;
    let (body, hash) = cut_hash(line.strip_suffix(b"\"}")?, HASH)?;
    let (_, prev) = cut_hash(body.strip_suffix(b"\"")?, PREV)?;
    Some((seq, prev, body, hash))
}

fn cut_hash<'a>(line: &'a [u8], name: &[u8]) -> Option<(&'a [u8], Hex)> {
    let (rest, hash) = line.split_last_chunk::<64>()?;
    let plain = hash.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    rest.strip_suffix(name).filter(|_| plain).map(|rest| (rest, *hash))
}

/// Parses the hex digits of a digest.
pub(super) fn digest(hex: &Hex) -> Option<Digest> {
    format!("sha256:{}", std::str::from_utf8(hex).ok()?).parse().ok()
}

/// A line under construction, with space before the record for the number that is known only under the lock.
#[derive(Debug, Default)]
pub(super) struct EntryLine {
    bytes: Vec<u8>,
    apart: Option<LongArguments>,
}

/// The fields before the record, except the number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) at: &'a str,
    pub(super) session: &'a str,
    pub(super) pid: u32,
}

impl EntryLine {
    /// Starts a line. The caller then appends the record as JSON fields, each after a comma.
    pub(super) fn begin(&mut self, head: Head<'_>) -> Result<&mut Vec<u8>, LedgerError> {
        self.apart = None;
        let bytes = &mut self.bytes;
        bytes.clear();
        bytes.extend_from_slice(&HEAD);
        bytes.extend_from_slice(&[b'0'; SEQ_DIGITS]);
        bytes.extend_from_slice(b",\"at\":\"");
        bytes.extend_from_slice(head.at.as_bytes());
        bytes.extend_from_slice(b"\",\"session\":");
        serde_json::to_writer(&mut *bytes, head.session)?;
        bytes.extend_from_slice(b",\"pid\":");
        bytes.extend_from_slice(head.pid.to_string().as_bytes());
        Ok(bytes)
    }

    /// Sets where the long arguments of the record are, if it has any.
    pub(super) fn set_apart(&mut self, apart: Option<LongArguments>) {
        self.apart = apart;
    }

    /// Ends the line with its position in the chain, and returns its bytes and its hash.
    pub(super) fn end(&mut self, seq: u64, prev: &Hex) -> Result<(&[u8], Hex), LedgerError> {
        let number = seq.to_string();
        let skip = SEQ_DIGITS.saturating_sub(number.len());
        let head = if self.apart.is_some() { HEAD_APART } else { HEAD };
        let head = head.iter().chain(number.as_bytes());
        self.bytes.iter_mut().skip(skip).zip(head).for_each(|(to, from)| *to = *from);
        self.bytes.extend_from_slice(PREV);
        self.bytes.extend_from_slice(prev);
        self.bytes.push(b'"');
        let apart = self.apart.as_ref();
        let apart = apart.map(|LongArguments { args, digest }| LongArguments {
            args: args.start.saturating_sub(skip)..args.end.saturating_sub(skip),
            digest: *digest,
        });
        let hash = hash_of(self.bytes.get(skip..).unwrap_or_default(), apart.as_ref());
        self.bytes.extend_from_slice(HASH);
        self.bytes.extend_from_slice(&hash);
        self.bytes.extend_from_slice(END);
        let line = self.bytes.get(skip..).unwrap_or_default();
        if line.len() > MAX_LINE { Err(LedgerError::TooLarge(line.len())) } else { Ok((line, hash)) }
    }

    /// Frees the memory that a large record took.
    pub(super) fn shrink(&mut self) {
        if self.bytes.capacity() > KEPT {
            *self = Self::default();
        }
    }
}

const SEQ_DIGITS: usize = 20;

/// How much memory is kept for the next line, in bytes.
const KEPT: usize = 4 << 20;
