//! What the helper is told to do, and how it says what became of it.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::profile::OSProfile;
use crate::terminal::Place;

/// One program and the walls around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) way: Way,
    pub(crate) inside: Inside,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) folder: PathBuf,
    pub(crate) place: Place,
    pub(crate) profile: OSProfile,
    /// What a test leaves out, to see that something gets through then.
    #[cfg(test)]
    pub(crate) off: Vec<super::mechanism::Mechanism>,
}

/// How the walls are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Namespaces of our own, and all the rest.
    Own,
    /// Bubblewrap has made the namespaces and mounts; the rest is ours.
    Bubblewrap,
    /// Landlock and seccomp alone.
    ContentOnly,
}

/// What runs inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// The program.
    Program,
    /// A look around by the helper itself, and the program only if what must be refused is refused.
    Check,
}

/// A step that failed. Nothing runs then.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) step: String,
    pub(crate) cause: io::Error,
}

impl Failed {
    /// For `map_err`.
    pub(crate) fn at<E: Into<io::Error>>(step: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |cause| Self { step: step.into(), cause: cause.into() }
    }
}

/// What the helper says over its pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// A step failed with this error number.
    Failed(String, i32),
    /// There is no such program behind the walls, or it cannot be executed: this error number.
    NotStarted(i32),
    /// The program ended with this status, as `wait` gives it.
    Status(i32),
    /// The same, and nothing of it is left: only who says this is still about to end.
    Gone(i32),
    /// It has stopped, and so should the launcher.
    Stopped,
    /// The kernel told of something that was refused.
    Refused(super::violation::Violation),
}

impl Word {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (tag, number, text) = match self {
            Self::Failed(step, number) => (b'F', *number, step.clone().into_bytes()),
            Self::NotStarted(number) => (b'N', *number, Vec::new()),
            Self::Status(status) => (b'S', *status, Vec::new()),
            Self::Gone(status) => (b'G', *status, Vec::new()),
            Self::Stopped => (b'T', 0, Vec::new()),
            Self::Refused(violation) => (b'V', 0, violation.encode()),
        };
        let length = u32::try_from(text.len()).unwrap_or(0);
        [&[tag][..], &number.to_le_bytes(), &length.to_le_bytes(), text.get(..length as usize).unwrap_or(&[])]
            .concat()
    }

    /// The first word in some bytes, and what follows it; nothing if it is not whole or not understood.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (tag, rest) = bytes.split_first()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let number = i32::from_le_bytes(*number);
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let word = match tag {
            b'F' => Self::Failed(String::from_utf8_lossy(text).into_owned(), number),
            b'N' => Self::NotStarted(number),
            b'S' => Self::Status(number),
            b'G' => Self::Gone(number),
            b'T' => Self::Stopped,
            b'V' => Self::Refused(super::violation::Violation::decode(text)?),
            _ => return None,
        };
        Some((word, rest))
    }
}
