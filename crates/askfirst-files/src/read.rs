//! Reading a file, never more of it than was asked for.

use std::fs::File;

use rustix::buffer::spare_capacity;
use rustix::fs::{Stat, fstat};
use rustix::io::Errno;
use serde_json::{Map, Value};

use super::base64;
use super::error::Trouble;
use super::handle::size_of;
use super::wish::Encoding;

/// At most `limit` bytes of a file.
pub(crate) fn bytes(file: &File, label: &str, offset: u64, limit: u64) -> Result<Vec<u8>, Trouble> {
    let fault = |e: Errno| Trouble::failed(&format!("`{label}` cannot be read"), e);
    let size = size_of(&fstat(file).map_err(fault)?);
    of_size(file, label, offset, limit, size)
}

/// The same where it is known how much is there. One byte of room is left to see the end.
fn of_size(file: &File, label: &str, offset: u64, limit: u64, size: u64) -> Result<Vec<u8>, Trouble> {
    let fault = |e: Errno| Trouble::failed(&format!("`{label}` cannot be read"), e);
    let there = size.saturating_sub(offset);
    let mut bytes = Vec::new();
    let mut room = limit.min(there.saturating_add(1));
    loop {
        let whole = usize::try_from(room).unwrap_or(usize::MAX);
        bytes.reserve_exact(whole.saturating_sub(bytes.len()));
        while bytes.len() < whole {
            let at = offset.saturating_add(bytes.len() as u64);
            match rustix::io::pread(file, spare_capacity(&mut bytes), at) {
                Ok(0) => return Ok(bytes),
                // A regular file gives less than there is room for only at its end.
                Ok(_) if bytes.len() < whole && bytes.len() as u64 >= there => return Ok(bytes),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(fault(error)),
            }
        }
        if room == limit {
            return Ok(bytes);
        }
        // It has grown meanwhile.
        room = limit.min(room.saturating_mul(2));
    }
}

/// A part of a file as JSON. A character that the limit cuts in two is left for the next part.
pub(crate) fn part(
    file: &File,
    stat: &Stat,
    label: &str,
    offset: u64,
    limit: u64,
    encoding: Encoding,
) -> Result<Value, Trouble> {
    let size = size_of(stat);
    let mut bytes = of_size(file, label, offset, limit, size)?;
    let (content, offset, end) = match encoding {
        Encoding::Base64 => (base64::encode(&bytes), offset, offset.saturating_add(bytes.len() as u64)),
        Encoding::Utf8 => {
            let inner = |byte: &&u8| **byte & 0xC0 == 0x80;
            let begun = if offset == 0 { 0 } else { bytes.iter().take(3).take_while(inner).count() };
            bytes.drain(..begun);
            let no_text = || Trouble::Failed(format!("`{label}` is no UTF-8 text; hint: read it as base64"));
            let text = String::from_utf8(bytes).or_else(|error| {
                let (end, cut) = (error.utf8_error().valid_up_to(), error.utf8_error().error_len().is_none());
                let mut bytes = error.into_bytes();
                bytes.truncate(end);
                if cut && end > 0 { String::from_utf8(bytes).map_err(|_| no_text()) } else { Err(no_text()) }
            })?;
            if has_nul(text.as_bytes()) {
                return Err(Trouble::Failed(format!("`{label}` is binary; hint: read it as base64")));
            }
            let offset = offset.saturating_add(begun as u64);
            let end = offset.saturating_add(text.len() as u64);
            (text, offset, end)
        }
    };
    // Each value is moved in: `json!` would copy the content.
    let mut result = Map::new();
    result.insert("path".to_owned(), label.into());
    result.insert("content".to_owned(), content.into());
    result.insert("offset".to_owned(), offset.into());
    result.insert("size".to_owned(), size.into());
    if offset < end && end < size {
        result.insert("next_offset".to_owned(), end.into());
        result.insert("left_out".to_owned(), (size - end).into());
    }
    Ok(Value::Object(result))
}

/// Whether a NUL byte is among some bytes. Piece by piece without a way out within one, which the compiler turns into
/// a few instructions for many bytes.
pub(crate) fn has_nul(bytes: &[u8]) -> bool {
    bytes.chunks(4 << 10).any(|piece| piece.iter().fold(false, |found, byte| found | (*byte == 0)))
}
