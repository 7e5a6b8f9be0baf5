//! How bytes become messages, as public functions for the fuzzer and other tools.
//!
//! The functions call the same code as the gateway, and they decide nothing.

use crate::http::sse::{Splitter, with_data};
use crate::lines::{LineRead, Lines, TooLong};
use crate::message::{Message, Sender, read};

/// The kind of a client's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageKind {
    /// A method call that expects an answer.
    Request(String),
    /// A method call that expects no answer.
    Notification(String),
    /// An answer to a request of the server.
    Answer,
}

/// The former name of [`MessageKind`].
#[doc(hidden)]
pub use MessageKind as Asks;

/// Reads a client's message.
///
/// # Errors
/// Fails with the reason if the bytes are not a message, or could be read in two ways.
pub fn message(bytes: &[u8]) -> Result<MessageKind, String> {
    match read(bytes, Sender::Client).map_err(|fault| fault.to_string())? {
        Message::Request { method, .. } => Ok(MessageKind::Request(method.into_owned())),
        Message::Notification { method, .. } => Ok(MessageKind::Notification(method.into_owned())),
        Message::Response { .. } => Ok(MessageKind::Answer),
    }
}

/// Splits a stream into lines. The bytes arrive in these pieces.
///
/// # Errors
/// Fails if a line is too long.
pub fn lines(pieces: &[&[u8]]) -> Result<Vec<Vec<u8>>, TooLong> {
    let mut found = Vec::new();
    let mut lines = Lines::new(Pieces { pieces, at: 0 });
    loop {
        match lines.next() {
            Ok(LineRead::Line(line)) => found.push(line.to_vec()),
            Ok(LineRead::TooLong) => return Err(TooLong),
            Ok(LineRead::End) | Err(_) => return Ok(found),
        }
    }
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The original bytes of the event.
    pub raw: Vec<u8>,
    /// The data of the event.
    pub data: Option<Vec<u8>>,
    /// The event with its data replaced by `{}`.
    pub changed: Vec<u8>,
}

/// Splits a stream into events. The bytes arrive in these pieces.
///
/// # Errors
/// Fails if an event is too long.
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
