//! Splits a stream of server-sent events and keeps the original bytes of each. An event that is too long ends the
//! stream.

use crate::lines::{MAX_LINE, TooLong};

/// The byte order mark at the start of a stream, which is not part of an event.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// One event, with its original bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SseEvent {
    /// All bytes of the event, including the empty line.
    pub(crate) raw: Vec<u8>,
    /// The data, with its lines joined, or `None` without a data field.
    pub(crate) data: Option<Vec<u8>>,
    /// The type, unless it is `message`.
    pub(crate) kind: Option<Vec<u8>>,
    /// The id.
    pub(crate) id: Option<Vec<u8>>,
    /// How long to wait before the client connects again, in milliseconds.
    pub(crate) retry: Option<u64>,
}

/// Splits a stream into events.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    buffer: Vec<u8>,
    /// The number of bytes in the buffer that are whole lines of the next event.
    looked_at: usize,
    /// The position up to which the buffer has no unread line ending.
    scanned: usize,
    begun: bool,
}

impl Splitter {
    /// Adds bytes as they arrive.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.buffer.extend_from_slice(bytes);
        if !self.begun {
            if self.buffer.starts_with(MARK) {
                self.buffer.drain(..MARK.len());
                self.begun = true;
            }
            self.begun |= !MARK.starts_with(&self.buffer);
        }
        // The buffer may hold whole events that were not taken yet. The caller takes them before it reads more.
        if self.buffer.len() > 2 * MAX_LINE { Err(TooLong) } else { Ok(()) }
    }

    /// The next whole event.
    pub(crate) fn next(&mut self) -> Result<Option<SseEvent>, TooLong> {
        if !self.begun {
            return Ok(None);
        }
        loop {
            let from = self.scanned.max(self.looked_at);
            let Some((end, next)) = next_line(self.buffer.get(from..).unwrap_or_default()) else {
                // A carriage return at the end of the buffer is checked again together with the next byte.
                let half = usize::from(self.buffer.last() == Some(&b'\r'));
                self.scanned = self.buffer.len() - half;
                return if self.buffer.len() > MAX_LINE { Err(TooLong) } else { Ok(None) };
            };
            let empty = from + end == self.looked_at;
            (self.looked_at, self.scanned) = (from + next, from + next);
            if empty {
                let raw: Vec<u8> = self.buffer.drain(..self.looked_at).collect();
                (self.looked_at, self.scanned) = (0, 0);
                return if raw.len() > MAX_LINE { Err(TooLong) } else { Ok(Some(parsed(raw))) };
            }
        }
    }
}

/// The end of the first line and the start of the next. A carriage return at the very end may be half of a line
/// ending.
fn next_line(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    match (bytes.get(end), bytes.get(end + 1)) {
        (Some(b'\n'), _) => Some((end, end + 1)),
        (_, Some(b'\n')) => Some((end, end + 2)),
        (_, Some(_)) => Some((end, end + 1)),
        (_, None) => None,
    }
}

fn parsed(raw: Vec<u8>) -> SseEvent {
    let mut event = SseEvent::default();
    for line in lines(&raw) {
        let (name, value) = field(line);
        match name {
            b"data" => match &mut event.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => event.data = Some(value.to_vec()),
            },
            b"event" if value != b"message" && !value.is_empty() => event.kind = Some(value.to_vec()),
            b"event" => event.kind = None,
            b"id" if !value.contains(&0) => event.id = Some(value.to_vec()),
            b"retry" => {
                event.retry = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
            }
            _ => {}
        }
    }
    event.raw = raw;
    event
}

fn lines(mut raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if raw.is_empty() {
            return None;
        }
        let (end, next) = next_line(raw).unwrap_or_else(|| {
            let end = raw.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(raw.len());
            (end, raw.len())
        });
        let line = raw.get(..end).unwrap_or_default();
        raw = raw.get(next..).unwrap_or_default();
        Some(line)
    })
}

fn field(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b':') {
        Some(at) => {
            let value = line.get(at + 1..).unwrap_or_default();
            (line.get(..at).unwrap_or_default(), value.strip_prefix(b" ").unwrap_or(value))
        }
        None => (line, b""),
    }
}

/// Builds an event with other data and otherwise the same fields.
pub(crate) fn with_data(event: &SseEvent, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 64);
    for line in lines(&event.raw).filter(|line| !line.is_empty() && field(line).0 != b"data") {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    add_data(&mut out, data);
    out
}

/// Builds an event of our own.
pub(crate) fn of(data: &[u8]) -> Vec<u8> {
    let mut out = b"event: message\n".to_vec();
    add_data(&mut out, data);
    out
}

/// Adds a message as data. A line break in JSON is only whitespace.
fn add_data(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend(data.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
#[path = "sse/tests.rs"]
mod tests;
