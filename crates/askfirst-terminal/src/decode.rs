//! Decodes the bytes from a terminal into keys. An escape sequence is one key, whatever it contains.

use std::time::Duration;

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape, pressed alone.
    Escape,
    /// Backspace.
    Backspace,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    /// Tab.
    Tab,
    /// Up arrow.
    Up,
    /// Down arrow.
    Down,
    /// Left arrow.
    Left,
    /// Right arrow.
    Right,
    /// Page Up.
    PageUp,
    /// Page Down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Delete.
    Delete,
    /// The terminal got the focus. This is not a key press.
    FocusIn,
    /// The terminal lost the focus. This is not a key press.
    FocusOut,
    /// Everything else: function keys, Alt with a key, replies of the terminal.
    Other,
}

/// One input from the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A key.
    Key(Key),
    /// Pasted text.
    Paste(String),
}

/// The longest sequence or paste in bytes. A longer one is cut off, because it decides nothing anyway.
const MAX_HELD: usize = 64 * 1024;
/// The time after an escape in which a sequence may follow.
const SEQUENCE: Duration = Duration::from_millis(50);
/// The longest pause in a paste.
const PASTE: Duration = Duration::from_secs(1);
const PASTE_BEGINS: &[u8] = b"\x1b[200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Turns bytes into keys as they arrive.
#[derive(Debug, Default)]
pub struct Decoder {
    held: Vec<u8>,
    pasting: bool,
}

enum DecodeStep {
    /// A key, and its length in bytes.
    Key(Key, usize),
    /// The start of a paste, and its length in bytes.
    PasteBegins(usize),
    /// More bytes are needed.
    More,
}

impl Decoder {
    /// Decodes more bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Input> {
        self.held.extend_from_slice(bytes);
        let mut found = Vec::new();
        loop {
            if self.pasting {
                let Some(text) = self.take_paste() else { break };
                found.push(Input::Paste(text));
            }
            match step(&self.held) {
                DecodeStep::Key(key, length) => {
                    self.held.drain(..length.min(self.held.len()));
                    found.push(Input::Key(key));
                }
                DecodeStep::PasteBegins(length) => {
                    self.held.drain(..length.min(self.held.len()));
                    self.pasting = true;
                }
                DecodeStep::More => break,
            }
        }
        if self.held.len() > MAX_HELD {
            found.append(&mut self.give_up());
        }
        found
    }

    /// The time to wait for more bytes before giving up, if bytes are held back.
    #[must_use]
    pub fn patience(&self) -> Option<Duration> {
        match (self.pasting, self.held.is_empty()) {
            (true, _) => Some(PASTE),
            (false, false) => Some(SEQUENCE),
            (false, true) => None,
        }
    }

    /// Decodes the bytes that are held back, because no more followed.
    pub fn give_up(&mut self) -> Vec<Input> {
        let held = std::mem::take(&mut self.held);
        if std::mem::take(&mut self.pasting) {
            return vec![Input::Paste(String::from_utf8_lossy(&held).into_owned())];
        }
        match held.as_slice() {
            [] => Vec::new(),
            [0x1b] => vec![Input::Key(Key::Escape)],
            _ => vec![Input::Key(Key::Other)],
        }
    }

    fn take_paste(&mut self) -> Option<String> {
        let at = self.held.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS)?;
        let text: Vec<u8> = self.held.drain(..at).collect();
        self.held.drain(..PASTE_ENDS.len());
        self.pasting = false;
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

fn step(held: &[u8]) -> DecodeStep {
    let Some((first, rest)) = held.split_first() else { return DecodeStep::More };
    match first {
        0x1b => sequence(held, rest),
        0x03 => DecodeStep::Key(Key::Interrupt, 1),
        0x04 => DecodeStep::Key(Key::EndOfInput, 1),
        b'\t' => DecodeStep::Key(Key::Tab, 1),
        b'\r' | b'\n' => DecodeStep::Key(Key::Enter, 1),
        0x7f | 0x08 => DecodeStep::Key(Key::Backspace, 1),
        0x00..=0x1f => DecodeStep::Key(Key::Other, 1),
        0x20..=0x7e => DecodeStep::Key(Key::Char(char::from(*first)), 1),
        0x80..=0xff => character(held),
    }
}

fn character(held: &[u8]) -> DecodeStep {
    let Some(chunk) = held.utf8_chunks().next() else { return DecodeStep::More };
    if let Some(c) = chunk.valid().chars().next() {
        let key = if c.is_control() { Key::Other } else { Key::Char(c) };
        return DecodeStep::Key(key, c.len_utf8());
    }
    // A character has at most four bytes. With fewer, the rest may still arrive.
    let unfinished = chunk.invalid().len() == held.len() && held.len() < 4;
    let may_be_text = matches!(held.first(), Some(0xc2..=0xf4));
    if unfinished && may_be_text {
        DecodeStep::More
    } else {
        DecodeStep::Key(Key::Other, chunk.invalid().len().max(1))
    }
}

/// The key of a sequence without its prefix.
fn named(body: &[u8]) -> Key {
    match body {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"C" => Key::Right,
        b"D" => Key::Left,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"F" | b"4~" | b"8~" => Key::End,
        b"3~" => Key::Delete,
        b"5~" => Key::PageUp,
        b"6~" => Key::PageDown,
        b"I" => Key::FocusIn,
        b"O" => Key::FocusOut,
        _ => Key::Other,
    }
}

fn sequence(held: &[u8], rest: &[u8]) -> DecodeStep {
    match rest.first() {
        None => DecodeStep::More,
        Some(b'[') => {
            let body = rest.get(1..).unwrap_or_default();
            match body.iter().position(|byte| !(0x20..=0x3f).contains(byte)) {
                None => DecodeStep::More,
                Some(at) if held.starts_with(PASTE_BEGINS) => DecodeStep::PasteBegins(at + 3),
                Some(at) => DecodeStep::Key(named(body.get(..=at).unwrap_or_default()), at + 3),
            }
        }
        Some(b'O') if rest.len() < 2 => DecodeStep::More,
        Some(b'O') => DecodeStep::Key(named(rest.get(1..2).unwrap_or_default()), 3),
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            let bell = rest.iter().position(|byte| *byte == 0x07).map(|at| at + 2);
            let end = rest.windows(2).position(|pair| pair == b"\x1b\\").map(|at| at + 3);
            match bell.into_iter().chain(end).min() {
                Some(length) => DecodeStep::Key(Key::Other, length),
                None => DecodeStep::More,
            }
        }
        Some(0x1b) => DecodeStep::Key(Key::Other, 1),
        Some(_) => match step(rest) {
            DecodeStep::Key(_, length) => DecodeStep::Key(Key::Other, length + 1),
            DecodeStep::PasteBegins(length) => DecodeStep::Key(Key::Other, length + 1),
            DecodeStep::More => DecodeStep::More,
        },
    }
}

#[cfg(test)]
#[path = "decode/tests.rs"]
mod tests;
