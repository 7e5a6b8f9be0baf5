//! Reads files, never more bytes than requested.

use std::fs::File;

use rustix::buffer::spare_capacity;
use rustix::fs::{Stat, fstat};
use rustix::io::Errno;
use serde_json::{Map, Value};

use super::base64;
use super::error::CallError;
use super::file_call::Encoding;
use super::handle::size_of;

/// Reads at most `limit` bytes of a file.
pub(crate) fn read_bytes(file: &File, label: &str, offset: u64, limit: u64) -> Result<Vec<u8>, CallError> {
    let fault = |e: Errno| CallError::failed(&format!("cannot read `{label}`"), e);
    let size = size_of(&fstat(file).map_err(fault)?);
    read_sized(file, label, offset, limit, size)
}

/// Reads at most `limit` bytes of a file whose size is known.
///
/// The buffer has room for one more byte, so that a single read can detect the end of the file.
fn read_sized(file: &File, label: &str, offset: u64, limit: u64, size: u64) -> Result<Vec<u8>, CallError> {
    let fault = |e: Errno| CallError::failed(&format!("cannot read `{label}`"), e);
    let available = size.saturating_sub(offset);
    let mut bytes = Vec::new();
    let mut capacity = limit.min(available.saturating_add(1));
    loop {
        let whole = usize::try_from(capacity).unwrap_or(usize::MAX);
        bytes.reserve_exact(whole.saturating_sub(bytes.len()));
        while bytes.len() < whole {
            let at = offset.saturating_add(bytes.len() as u64);
            match rustix::io::pread(file, spare_capacity(&mut bytes), at) {
                Ok(0) => return Ok(bytes),
                // A read of a regular file returns less than requested only at its end.
                Ok(_) if bytes.len() < whole && bytes.len() as u64 >= available => return Ok(bytes),
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(fault(error)),
            }
        }
        if capacity == limit {
            return Ok(bytes);
        }
        // The file has grown since its size was read.
        capacity = limit.min(capacity.saturating_mul(2));
    }
}

/// Reads a part of a file as JSON. A character that the limit would split is left for the next part.
pub(crate) fn read_part(
    file: &File,
    stat: &Stat,
    label: &str,
    offset: u64,
    limit: u64,
    encoding: Encoding,
) -> Result<Value, CallError> {
    let size = size_of(stat);
    let mut bytes = read_sized(file, label, offset, limit, size)?;
    let (content, offset, end) = match encoding {
        Encoding::Base64 => (base64::encode(&bytes), offset, offset.saturating_add(bytes.len() as u64)),
        Encoding::Utf8 => {
            let is_continuation = |byte: &&u8| **byte & 0xC0 == 0x80;
            let split =
                if offset == 0 { 0 } else { bytes.iter().take(3).take_while(is_continuation).count() };
            bytes.drain(..split);
            let not_text = |what: &str| {
                CallError::Failed(format!("`{label}` is {what}; hint: set `encoding` to `base64`"))
            };
            let text = String::from_utf8(bytes).or_else(|error| {
                let (end, is_cut) =
                    (error.utf8_error().valid_up_to(), error.utf8_error().error_len().is_none());
                let mut bytes = error.into_bytes();
                bytes.truncate(end);
                match String::from_utf8(bytes) {
                    Ok(text) if is_cut && end > 0 => Ok(text),
                    Ok(_) | Err(_) => Err(not_text("not UTF-8 text")),
                }
            })?;
            if has_nul(text.as_bytes()) {
                return Err(not_text("a binary file"));
            }
            let offset = offset.saturating_add(split as u64);
            let end = offset.saturating_add(text.len() as u64);
            (text, offset, end)
        }
    };
    // Inserts each value by move, because `json!` would copy the content.
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

/// Returns true if the bytes contain a NUL byte.
///
/// The loop over a chunk has no early exit, so that the compiler can vectorize it.
pub(crate) fn has_nul(bytes: &[u8]) -> bool {
    bytes.chunks(4 << 10).any(|chunk| chunk.iter().fold(false, |found, byte| found | (*byte == 0)))
}
