//! Secrets between programs: random, or from a file or the environment. They are never logged, and are compared in
//! constant time.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use hyper::header::HeaderValue;
use sha2::{Digest as _, Sha256};

/// The shortest token that cannot be guessed, in characters.
const SHORTEST: usize = 16;
const LONGEST: u64 = 64 << 10;

/// The reason why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file of the token cannot be read.
    #[error("cannot read the token in `{}`: {}", .0.display(), .1)]
    File(PathBuf, std::io::Error),
    /// The token is invalid.
    #[error("invalid token in `{0}`: expected one line of printable characters")]
    Shape(String),
    /// The token is too short.
    #[error("the token in `{0}` is shorter than {SHORTEST} characters")]
    Short(String),
    /// The system has no random numbers.
    #[error("cannot create a token: {0}")]
    Random(std::io::Error),
}

/// A secret that clients send to askfirst, or askfirst sends to a server.
#[derive(Clone)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// Creates a new random token.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = [0_u8; 32];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let flags = rustix::rand::GetRandomFlags::empty();
            filled += rustix::rand::getrandom(rest, flags).map_err(|e| TokenError::Random(e.into()))?;
        }
        let mut text = String::with_capacity(64);
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// Reads a token from a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read or does not hold a token.
    pub fn from_file(file: &Path) -> Result<Self, TokenError> {
        use std::io::Read as _;
        let bad = |e| TokenError::File(file.to_owned(), e);
        let mut text = String::new();
        let opened = std::fs::File::open(file).map_err(bad)?;
        opened.take(LONGEST).read_to_string(&mut text).map_err(bad)?;
        Self::from_text(&text, &format!("`{}`", file.display()))
    }

    /// Creates a token from a text. Errors name the source `from`.
    ///
    /// # Errors
    /// Fails if the text is not one line of printable characters.
    pub fn from_text(text: &str, from: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Shape(from.to_owned()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the token if it is long enough to protect a listener.
    ///
    /// # Errors
    /// Fails if the token is too short.
    pub fn guarding(self, from: &str) -> Result<Self, TokenError> {
        if self.0.len() < SHORTEST { Err(TokenError::Short(from.to_owned())) } else { Ok(self) }
    }

    /// The token itself, to be printed once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The `Authorization` header for a server.
    pub(crate) fn header(&self) -> HeaderValue {
        // A token has printable characters only, so it is always a valid header.
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0))
            .unwrap_or_else(|_| HeaderValue::from_static("Bearer"));
        value.set_sensitive(true);
        value
    }

    /// Whether a client's `Authorization` header contains the token.
    pub(crate) fn is_shown_by(&self, header: &HeaderValue) -> bool {
        let shown = header.as_bytes();
        let (scheme, rest) = shown.split_at_checked(7).unwrap_or_default();
        let same = Sha256::digest(rest) == Sha256::digest(self.0.as_bytes());
        scheme.eq_ignore_ascii_case(b"bearer ") && same
    }
}
