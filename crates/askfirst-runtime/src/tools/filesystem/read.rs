//! Reading a file, never more of it than was asked for.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use rustix::fs::Stat;
use serde_json::{Value, json};

use super::base64;
use super::error::Trouble;
use super::handle::size_of;
use super::wish::Encoding;

/// At most `limit` bytes of a file.
pub(crate) fn bytes(file: &mut File, label: &str, offset: u64, limit: u64) -> Result<Vec<u8>, Trouble> {
    let fault = |e: std::io::Error| Trouble::failed(&format!("`{label}` cannot be read"), e);
    file.seek(SeekFrom::Start(offset)).map_err(fault)?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(fault)?;
    Ok(bytes)
}

/// A part of a file as JSON. A character that the limit cuts in two is left for the next part.
pub(crate) fn part(
    file: &mut File,
    stat: &Stat,
    label: &str,
    offset: u64,
    limit: u64,
    encoding: Encoding,
) -> Result<Value, Trouble> {
    let mut bytes = bytes(file, label, offset, limit)?;
    let (content, offset, end) = match encoding {
        Encoding::Base64 => (base64::encode(&bytes), offset, offset.saturating_add(bytes.len() as u64)),
        Encoding::Utf8 => {
            let inner = |byte: &&u8| **byte & 0xC0 == 0x80;
            let begun = if offset == 0 { 0 } else { bytes.iter().take(3).take_while(inner).count() };
            bytes.drain(..begun);
            if let Err(error) = std::str::from_utf8(&bytes)
                && error.error_len().is_none()
                && error.valid_up_to() > 0
            {
                bytes.truncate(error.valid_up_to());
            }
            let no_text = |_| Trouble::Failed(format!("`{label}` is no UTF-8 text; hint: read it as base64"));
            let text = String::from_utf8(bytes).map_err(no_text)?;
            if text.contains('\0') {
                return Err(Trouble::Failed(format!("`{label}` is binary; hint: read it as base64")));
            }
            let offset = offset.saturating_add(begun as u64);
            let end = offset.saturating_add(text.len() as u64);
            (text, offset, end)
        }
    };
    let size = size_of(stat);
    let mut result = json!({"path": label, "content": content, "offset": offset, "size": size});
    if let Some(result) = result.as_object_mut().filter(|_| offset < end && end < size) {
        result.insert("next_offset".to_owned(), end.into());
        result.insert("left_out".to_owned(), (size - end).into());
    }
    Ok(result)
}
