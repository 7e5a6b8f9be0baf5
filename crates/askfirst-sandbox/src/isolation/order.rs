//! The order that a helper receives, and the messages that it sends back.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use crate::profile::OSProfile;
use crate::spec::{Lasts, RunFacts};
use crate::terminal::TerminalAccess;

/// One program and its sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) backend: Backend,
    pub(crate) task: Task,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) folder: PathBuf,
    pub(crate) terminal: TerminalAccess,
    pub(crate) own_network: OwnNetwork,
    pub(crate) lasts: Lasts,
    pub(crate) profile: OSProfile,
}

/// Where the network of a program comes from that does not share the network of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnNetwork {
    /// It is created for the program.
    New,
    /// The launcher passes it, and other programs may be in it.
    Passed,
}

/// How the sandbox is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    /// The helper creates the namespaces and everything else.
    Namespaces,
    /// Bubblewrap creates the namespaces and mounts; the helper does the rest.
    Bubblewrap,
    /// Landlock and seccomp only.
    ContentOnly,
}

/// The task that runs in the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// The program.
    Program,
    /// The self-test of the helper. The program follows only if the self-test passes.
    SelfTest,
    /// No program: the helper creates a network and sends it to the launcher.
    Network,
}

/// A setup step that failed. Then nothing runs.
#[derive(Debug)]
pub(crate) struct SetupError {
    pub(crate) step: String,
    pub(crate) cause: io::Error,
}

impl SetupError {
    /// Returns a function for `map_err` that adds the name of the step.
    pub(crate) fn at<E: Into<io::Error>>(step: impl Into<String>) -> impl FnOnce(E) -> Self {
        move |cause| Self { step: step.into(), cause: cause.into() }
    }
}

/// A message from the helper to the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HelperMessage {
    /// A setup step failed with this error number.
    Failed(String, i32),
    /// The program does not exist in the sandbox or cannot be executed: the error number.
    NotStarted(i32),
    /// The program ended with this status, as `wait` returns it.
    Status(i32),
    /// The program ended with this status, and no process of it is left. Only the sender is still about to exit.
    Gone(i32),
    /// The program has stopped, and the launcher should stop too.
    Stopped,
    /// The time of the program is over, and the sender is about to kill it.
    TimedOut,
    /// The kernel's facts about the program, at its end.
    Facts(RunFacts),
    /// The kernel reported an attempt that was refused.
    Refused(super::violation::Violation),
}

impl HelperMessage {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (tag, number, text) = match self {
            Self::Failed(step, number) => (b'F', *number, step.clone().into_bytes()),
            Self::NotStarted(number) => (b'N', *number, Vec::new()),
            Self::Status(status) => (b'S', *status, Vec::new()),
            Self::Gone(status) => (b'G', *status, Vec::new()),
            Self::Stopped => (b'T', 0, Vec::new()),
            Self::TimedOut => (b'O', 0, Vec::new()),
            Self::Facts(facts) => (b'P', 0, encode_facts(facts)),
            Self::Refused(violation) => (b'V', 0, violation.encode()),
        };
        let length = u32::try_from(text.len()).unwrap_or(0);
        [&[tag][..], &number.to_le_bytes(), &length.to_le_bytes(), text.get(..length as usize).unwrap_or(&[])]
            .concat()
    }

    /// Decodes the first message and returns it with the remaining bytes; `None` if it is incomplete or invalid.
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
            b'O' => Self::TimedOut,
            b'P' => Self::Facts(decode_facts(text)?),
            b'V' => Self::Refused(super::violation::Violation::decode(text)?),
            _ => return None,
        };
        Some((word, rest))
    }
}

fn encode_facts(facts: &RunFacts) -> Vec<u8> {
    let RunFacts { left_processes, listening, refused_connections, refused_datagrams, scratch_files } = facts;
    let numbers = [left_processes, refused_connections, refused_datagrams, scratch_files]
        .map(|number| number.to_le_bytes());
    numbers.into_iter().flatten().chain(listening.iter().flat_map(|port| port.to_le_bytes())).collect()
}

fn decode_facts(bytes: &[u8]) -> Option<RunFacts> {
    let mut rest = bytes;
    let mut number = || {
        let (number, after) = rest.split_first_chunk()?;
        rest = after;
        Some(u32::from_le_bytes(*number))
    };
    let (left_processes, refused_connections) = (number()?, number()?);
    let (refused_datagrams, scratch_files) = (number()?, number()?);
    let ports = rest.chunks(2).map(|port| Some(u16::from_le_bytes(port.try_into().ok()?)));
    Some(RunFacts {
        left_processes,
        listening: ports.collect::<Option<_>>()?,
        refused_connections,
        refused_datagrams,
        scratch_files,
    })
}
