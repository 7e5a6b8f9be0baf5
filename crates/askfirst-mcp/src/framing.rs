//! How bytes become messages, for whoever wants to look at it from outside: the fuzzer, and other tools.
//!
//! It is what the gateway itself uses, with nothing left out and nothing decided.

use crate::http::sse::{Splitter, with_data};
use crate::lines::{Lines, Next, TooLong};
use crate::message::{From, Message, read};

/// What a client's message asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks {
    /// A method, and an answer.
    Request(String),
    /// A method, and no answer.
    Notification(String),
    /// Nothing: it is an answer.
    Answer,
}

/// Reads a client's message.
///
/// # Errors
/// Fails with the reason if it could be read in two ways, or not at all.
pub fn message(bytes: &[u8]) -> Result<Asks, String> {
    match read(bytes, From::Client).map_err(|fault| fault.to_string())? {
        Message::Request { method, .. } => Ok(Asks::Request(method.into_owned())),
        Message::Notification { method, .. } => Ok(Asks::Notification(method.into_owned())),
        Message::Response { .. } => Ok(Asks::Answer),
    }
}

/// The lines of a stream whose bytes arrive in these pieces.
///
/// # Errors
/// Fails if one is too long.
pub fn lines(pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, TooLong> {
    let mut found = Vec::new();
    let mut lines = Lines::new(Pieces { pieces, at: 0 });
    loop {
        match lines.next() {
            Ok(Next::Line(line)) => found.push(line.to_vec()),
            Ok(Next::TooLong) => return Err(TooLong),
            Ok(Next::End) | Err(_) => return Ok(found),
        }
    }
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The bytes that it came in.
    pub raw: Vec<u8>,
    /// Its data.
    pub data: Option<Vec<u8>>,
    /// The same event, with the data in braces instead.
    pub changed: Vec<u8>,
}

/// The events of a stream whose bytes arrive in these pieces.
///
/// # Errors
/// Fails if one is too long.
pub fn events(pieces: &[&[u8]]) -> Result<Vec<Event>, TooLong> {
    let (mut splitter, mut found) = (Splitter::default(), Vec::new());
    for piece in pieces {
        splitter.push(piece)?;
        while let Some(event) = splitter.next()? {
            let changed = with_data(&event, b"{}");
            found.push(Event { raw: event.raw, data: event.data, changed });
        }
    }
    Ok(found)
}

struct Pieces<'a> {
    pieces: &'a [&'a [u8]],
    at: usize,
}

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while let Some((first, rest)) = self.pieces.split_first() {
            let mut left = first.get(self.at..).unwrap_or_default();
            if !left.is_empty() {
                let count = left.read(into)?;
                self.at += count;
                return Ok(count);
            }
            (self.pieces, self.at) = (rest, 0);
        }
        Ok(0)
    }
}

#[cfg(test)]
#[path = "framing/tests.rs"]
mod tests;
