//! The attempts that the kernel refused and reported. They contain facts only, and no memory of the process.

use std::fmt;

/// An attempt that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The attempt.
    pub attempt: Attempt,
    /// The name of the process, as the kernel stores it; empty if the kernel does not say which process it was.
    pub program: String,
}

/// An operation that a program attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Opening a socket of a forbidden family, with its number.
    Socket(i32),
    /// Opening a pair of datagram sockets, which could send to other programs.
    DatagramPair,
    /// Changing mounts, with the number of the system call.
    Mount(i32),
    /// Creating or entering a namespace.
    Namespace,
    /// Reaching addresses outside its network, with the number of attempts. The kernel does not say which process it was.
    Outside(i32),
}

impl Violation {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (tag, number) = match self.attempt {
            Attempt::Socket(family) => (b's', family),
            Attempt::DatagramPair => (b'd', 0),
            Attempt::Mount(call) => (b'm', call),
            Attempt::Namespace => (b'n', 0),
            Attempt::Outside(times) => (b'o', times),
        };
        [&[tag][..], &number.to_le_bytes(), self.program.as_bytes()].concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (tag, rest) = bytes.split_first()?;
        let (number, program) = rest.split_first_chunk()?;
        let number = i32::from_le_bytes(*number);
        let attempt = match tag {
            b's' => Attempt::Socket(number),
            b'd' => Attempt::DatagramPair,
            b'm' => Attempt::Mount(number),
            b'n' => Attempt::Namespace,
            b'o' => Attempt::Outside(number),
            _ => return None,
        };
        Some(Self { attempt, program: String::from_utf8_lossy(program).into_owned() })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = crate::error::escape(&self.program);
        match self.attempt {
            Attempt::Socket(libc::AF_UNIX) => {
                write!(f, "`{program}` tried to open a unix socket, which could reach other programs")
            }
            Attempt::Socket(family @ (libc::AF_INET | libc::AF_INET6)) => {
                let version = if family == libc::AF_INET { 4 } else { 6 };
                write!(f, "`{program}` tried to open an IPv{version} socket")
            }
            Attempt::Socket(family) => write!(f, "`{program}` tried to open a socket of family {family}"),
            Attempt::DatagramPair => {
                write!(
                    f,
                    "`{program}` tried to open a pair of datagram sockets, which could reach other programs"
                )
            }
            Attempt::Mount(_) => write!(f, "`{program}` tried to change mounts"),
            Attempt::Namespace => write!(f, "`{program}` tried to create or enter a namespace"),
            Attempt::Outside(1) => {
                write!(f, "the sandbox blocked 1 attempt to reach an outside address")
            }
            Attempt::Outside(times) => {
                write!(f, "the sandbox blocked {times} attempts to reach an outside address")
            }
        }
    }
}
