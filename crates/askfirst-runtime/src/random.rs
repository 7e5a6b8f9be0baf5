//! Random bytes from the operating system. There is no fallback: without them, the caller gets an error.

use std::io::ErrorKind;

/// The number of random bytes: enough that no one can guess them.
pub const SIZE: usize = 32;

/// Returns new random bytes.
///
/// # Errors
/// Fails if the operating system cannot supply them.
pub fn bytes() -> std::io::Result<[u8; SIZE]> {
    let mut bytes = [0; SIZE];
    match rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())? {
        SIZE => Ok(bytes),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// Returns bytes as lowercase hex digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
