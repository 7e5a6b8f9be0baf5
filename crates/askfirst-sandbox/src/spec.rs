//! What a caller asks for and what it gets back: data only, no behaviour, no defaults taken from this process.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::capture::Captured;

/// One program to run.
#[derive(Clone)]
pub struct Spec {
    /// A path if it holds a slash (a relative one starts at `folder`), else a name to look up in the `PATH` of
    /// `env`. Only absolute folders in `PATH` are searched.
    pub program: OsString,
    /// The arguments after the program's own name, byte for byte.
    pub args: Vec<OsString>,
    /// The whole environment: nothing is inherited. One variable, `ASKFIRST_LAUNCH`, is added, by which what the
    /// program leaves behind is found.
    pub env: Vec<(OsString, OsString)>,
    /// The working folder, absolute.
    pub folder: PathBuf,
    /// What the program reads.
    pub stdin: Stdin,
    /// What the program may use up.
    pub limits: Limits,
    /// Is told what the program writes, while it runs.
    pub heard: Option<Heard>,
}

/// Is told what a program writes.
pub type Heard = Arc<dyn Fn(Output, &[u8]) + Send + Sync>;

/// Which of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Spec {
    /// `program` in `folder`, without arguments, environment or input, under the default limits.
    pub fn new(program: impl Into<OsString>, folder: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            folder: folder.into(),
            stdin: Stdin::Null,
            limits: Limits::default(),
            heard: None,
        }
    }
}

/// The values of variables and the bytes of the input may be secrets, so only names and lengths are shown.
impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spec")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &self.env.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("folder", &self.folder)
            .field("stdin", &self.stdin)
            .field("limits", &self.limits)
            .finish()
    }
}

/// What a program reads.
#[derive(Clone, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing: the end of the input at once.
    Null,
    /// These bytes through a pipe, then the end.
    Bytes(Vec<u8>),
}

impl fmt::Debug for Stdin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
        }
    }
}

/// What a program may use up. A limit that is already lower for this process stays lower.
///
/// `wall` and `output` hold everywhere and for the whole tree. The other four are set by the kernel, on Linux
/// only (elsewhere asking for one is an error), for each process by itself, and just after the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time on the clock for the program; then its whole tree is killed.
    pub wall: Option<Duration>,
    /// Processor time of each process, in whole seconds rounded up: `SIGXCPU`, and a second later `SIGKILL`.
    pub cpu: Option<Duration>,
    /// Bytes of private writable memory of each process (`RLIMIT_DATA`; address space alone is not counted).
    pub memory: Option<u64>,
    /// How many more processes and threads the user may have than when the program was started. The kernel counts
    /// all of the user's, so others that the user starts meanwhile use it up too; it does not bind root.
    pub processes: Option<u64>,
    /// Size in bytes up to which a file may be written: `SIGXFSZ`.
    pub file: Option<u64>,
    /// Bytes kept of each of the two output streams; see [`Captured`].
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { wall: None, cpu: None, memory: None, processes: None, file: None, output: 1 << 20 }
    }
}

/// A launch that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How the program ended.
    pub end: End,
    /// What the tree wrote to its standard output.
    pub stdout: Captured,
    /// What the tree wrote to its standard error.
    pub stderr: Captured,
    /// From the start until the program ended or was told to.
    pub took: Duration,
    /// Processes of the tree that could not be ended (another user's, or stuck in the kernel). Nearly always none.
    pub survivors: Vec<i32>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that this crate did not send.
    Signalled(i32),
    /// Killed because its time on the clock was over.
    TimedOut,
    /// Killed, or never started, because of [`Stop::stop`](crate::Stop::stop).
    Stopped,
}
