//! One message on the socket: its length, then its JSON in the one way that this program writes it.
//!
//! Nothing longer than agreed is read, nothing is waited for longer than agreed, and what is not byte for byte what
//! this program would have written is no message.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why there is no message.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other side ended.
    #[error("it ended")]
    Ended,
    /// It takes too long.
    #[error("it takes too long")]
    TooSlow,
    /// It is longer than agreed.
    #[error("a message is too long")]
    TooLong,
    /// It is none.
    #[error("what it says is no message")]
    Garbled,
    /// The operating system said no.
    #[error("{0}")]
    Io(std::io::Error),
}

/// How long a message may take.
#[derive(Debug, Clone, Copy)]
pub(super) enum Patience {
    /// The whole of it, from now.
    Within(Duration),
    /// A person thinks: for ever. Once it has begun it must come soon.
    Person,
}

/// How long the rest of a message may take once it has begun.
const REST: Duration = Duration::from_secs(5);

/// Reads one message.
pub(super) fn read<T: DeserializeOwned + Serialize>(
    stream: &UnixStream,
    limit: usize,
    patience: Patience,
) -> Result<T, FrameError> {
    let mut length = [0; 4];
    let (first, rest) = length.split_at_mut(1);
    let until = match patience {
        Patience::Within(time) => {
            let until = Instant::now() + time;
            fill(stream, first, Some(until))?;
            until
        }
        Patience::Person => {
            fill(stream, first, None)?;
            Instant::now() + REST
        }
    };
    fill(stream, rest, Some(until))?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > limit {
        return Err(FrameError::TooLong);
    }
    let mut bytes = vec![0; length];
    fill(stream, &mut bytes, Some(until))?;
    let message: T = serde_json::from_slice(&bytes).map_err(|_| FrameError::Garbled)?;
    // A key too many, a key twice, a number that lost something: then it was written by somebody else.
    match serde_json::to_vec(&message) {
        Ok(ours) if ours == bytes => Ok(message),
        Ok(_) | Err(_) => Err(FrameError::Garbled),
    }
}

fn fill(mut stream: &UnixStream, mut buffer: &mut [u8], until: Option<Instant>) -> Result<(), FrameError> {
    while !buffer.is_empty() {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(FrameError::TooSlow);
        }
        stream.set_read_timeout(left).map_err(FrameError::Io)?;
        match stream.read(buffer) {
            Ok(0) => return Err(FrameError::Ended),
            Ok(count) => buffer = buffer.get_mut(count..).unwrap_or_default(),
            Err(e) => match e.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock | ErrorKind::TimedOut => return Err(FrameError::TooSlow),
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => return Err(FrameError::Ended),
                _ => return Err(FrameError::Io(e)),
            },
        }
    }
    Ok(())
}

/// Writes one message. Whoever does not read it in time loses it.
pub(super) fn write(
    mut stream: &UnixStream,
    message: &impl Serialize,
    limit: usize,
) -> Result<(), FrameError> {
    let bytes = serde_json::to_vec(message).map_err(|_| FrameError::Garbled)?;
    let length = u32::try_from(bytes.len()).ok().filter(|_| bytes.len() <= limit);
    let length = length.ok_or(FrameError::TooLong)?;
    stream.set_write_timeout(Some(REST)).map_err(FrameError::Io)?;
    let mut whole = Vec::with_capacity(bytes.len() + 4);
    whole.extend_from_slice(&length.to_be_bytes());
    whole.extend_from_slice(&bytes);
    stream.write_all(&whole).map_err(|e| match e.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => FrameError::TooSlow,
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => FrameError::Ended,
        _ => FrameError::Io(e),
    })
}
