//! Bytes that nobody can guess, from the operating system. Without them nothing is made up instead.

use std::io::ErrorKind;

/// So many bytes cannot be guessed.
pub const SIZE: usize = 32;

/// Fresh bytes.
///
/// # Errors
/// Fails if the operating system has none.
pub fn bytes() -> std::io::Result<[u8; SIZE]> {
    let mut bytes = [0; SIZE];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())? {
        SIZE => Ok(bytes),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// The same as text.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
