//! One message on the socket: its length, then its JSON exactly as askfirst writes it.
//!
//! A reader has a size limit and a time limit. It rejects a message that differs in any byte from what askfirst would
//! write.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why a message could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other side closed the connection.
    #[error("the other side closed it")]
    Ended,
    /// The message takes too long.
    #[error("the other side took too long")]
    TooSlow,
    /// The message is longer than the limit.
    #[error("a message is too long")]
    TooLong,
    /// The bytes are not a valid message.
    #[error("the other side sent an invalid message")]
    Garbled,
    /// The operating system returned an error.
    #[error("{0}")]
    Io(std::io::Error),
}

/// How long a message may take.
#[derive(Debug, Clone, Copy)]
pub(super) enum Patience {
    /// The whole message must arrive within this time.
    Within(Duration),
    /// A person answers, so there is no limit until the first byte. The rest must follow within [`REST`].
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
    // An extra key, a duplicate key or a number that lost precision means that another program wrote it.
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

/// Writes one message. If the other side does not read it in time, the message is lost.
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
