//! What a process tried and the kernel told us of: facts only. What it read in its own memory is not asked for.

use std::fmt;

/// Something that was tried and refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What was tried.
    pub tried: Tried,
    /// The name that the process gave itself, as the kernel keeps it; empty if it does not say whose it was.
    pub program: String,
}

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// To open a socket of a family that is not there: its number.
    Socket(i32),
    /// To open a datagram pair, which could be sent anywhere.
    DatagramPair,
    /// To change mounts: the number of the system call.
    Mount(i32),
    /// To make or enter a namespace.
    Namespace,
    /// To reach addresses outside of its network: how often. The kernel counts it and does not say who it was.
    Outside(i32),
}

impl Violation {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (tag, number) = match self.tried {
            Tried::Socket(family) => (b's', family),
            Tried::DatagramPair => (b'd', 0),
            Tried::Mount(call) => (b'm', call),
            Tried::Namespace => (b'n', 0),
            Tried::Outside(times) => (b'o', times),
        };
        [&[tag][..], &number.to_le_bytes(), self.program.as_bytes()].concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first()?;
        let (number, program) = rest.split_first_chunk()?;
        let number = i32::from_le_bytes(*number);
        let tried = match tag {
            b's' => Tried::Socket(number),
            b'd' => Tried::DatagramPair,
            b'm' => Tried::Mount(number),
            b'n' => Tried::Namespace,
            b'o' => Tried::Outside(number),
            _ => return None,
        };
        Some(Self { tried, program: String::from_utf8_lossy(program).into_owned() })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = crate::error::shown(&self.program);
        match self.tried {
            Tried::Socket(libc::AF_UNIX) => {
                write!(f, "`{program}` tried to open a unix socket, which could reach other programs")
            }
            Tried::Socket(family @ (libc::AF_INET | libc::AF_INET6)) => {
                let version = if family == libc::AF_INET { 4 } else { 6 };
                write!(f, "`{program}` tried to open an IPv{version} socket")
            }
            Tried::Socket(family) => write!(f, "`{program}` tried to open a socket of family {family}"),
            Tried::DatagramPair => {
                write!(
                    f,
                    "`{program}` tried to open a pair of datagram sockets, which could reach other programs"
                )
            }
            Tried::Mount(_) => write!(f, "`{program}` tried to change what is mounted"),
            Tried::Namespace => write!(f, "`{program}` tried to make or enter a namespace"),
            Tried::Outside(1) => write!(f, "an address outside was tried once, and cannot be reached"),
            Tried::Outside(times) => {
                write!(f, "addresses outside were tried {times} times, and cannot be reached")
            }
        }
    }
}
