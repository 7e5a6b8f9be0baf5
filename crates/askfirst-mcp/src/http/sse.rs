//! Server-sent events, cut out of a stream as they are: what passes is what came. An event that is too long ends it.

use crate::lines::{MAX_LINE, TooLong};

/// A stream may begin with a mark of its encoding, which is no part of it.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// One event, with the bytes that it came in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    /// All its bytes, up to and with the empty line.
    pub(crate) raw: Vec<u8>,
    /// Its data, lines joined; none if it has no data field.
    pub(crate) data: Option<Vec<u8>>,
    /// Its type, where that is not `message`.
    pub(crate) kind: Option<Vec<u8>>,
    /// Its id.
    pub(crate) id: Option<Vec<u8>>,
    /// How long to wait before coming back, in milliseconds.
    pub(crate) retry: Option<u64>,
}

/// Cuts a stream into events.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    buffer: Vec<u8>,
    /// How many bytes of the buffer are whole lines of the event to come.
    looked_at: usize,
    /// Up to where no end of a line has been found.
    scanned: usize,
    begun: bool,
}

impl Splitter {
    /// Takes bytes as they arrive.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.buffer.extend_from_slice(bytes);
        if !self.begun {
            if self.buffer.starts_with(MARK) {
                self.buffer.drain(..MARK.len());
                self.begun = true;
            }
            self.begun |= !MARK.starts_with(&self.buffer);
        }
        // What has come may hold whole events that nobody has taken yet; those are taken before more is read.
        if self.buffer.len() > 2 * MAX_LINE { Err(TooLong) } else { Ok(()) }
    }

    /// The next whole event.
    pub(crate) fn next(&mut self) -> Result<Option<Event>, TooLong> {
        if !self.begun {
            return Ok(None);
        }
        loop {
            let from = self.scanned.max(self.looked_at);
            let Some((end, next)) = next_line(self.buffer.get(from..).unwrap_or_default()) else {
                // A carriage return at the very end is looked at again with what follows.
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

/// Where the first line ends and where the next begins. A carriage return at the very end may be half of an end.
fn next_line(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    match (bytes.get(end), bytes.get(end + 1)) {
        (Some(b'\n'), _) => Some((end, end + 1)),
        (_, Some(b'\n')) => Some((end, end + 2)),
        (_, Some(_)) => Some((end, end + 1)),
        (_, None) => None,
    }
}

fn parsed(raw: Vec<u8>) -> Event {
    let mut event = Event::default();
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

/// The same event with other data.
pub(crate) fn with_data(event: &Event, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 64);
    for line in lines(&event.raw).filter(|line| !line.is_empty() && field(line).0 != b"data") {
        out.extend_from_slice(line);
        out.push(b'\n');
    }
    add_data(&mut out, data);
    out
}

/// An event of our own.
pub(crate) fn of(data: &[u8]) -> Vec<u8> {
    let mut out = b"event: message\n".to_vec();
    add_data(&mut out, data);
    out
}

/// A message is JSON, in which an end of line is but a blank.
fn add_data(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(b"data: ");
    out.extend(data.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
#[path = "sse/tests.rs"]
mod tests;
