//! The input and output of a launch, as plain data. Nothing is taken from the environment of this process.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::capture::Capture;
use crate::isolation::LoopbackNetwork;

/// One program to run.
#[derive(Clone)]
pub struct Spec {
    /// A path if it contains a slash, otherwise a name to look up in the `PATH` of `env`.
    /// A relative path starts at `folder`. Only absolute folders in `PATH` are searched.
    pub program: OsString,
    /// The arguments after the program name, byte for byte.
    pub args: Vec<OsString>,
    /// The complete environment: nothing is inherited. The launcher adds one variable, `ASKFIRST_LAUNCH`, by which it
    /// later finds the processes that the program left behind.
    pub env: Vec<(OsString, OsString)>,
    /// The working folder, absolute.
    pub folder: PathBuf,
    /// The standard input of the program.
    pub stdin: Stdin,
    /// The resource limits of the program.
    pub limits: Limits,
    /// A network that the program shares with others, instead of a new one. It is used only in a sandbox with namespaces
    /// of its own, and only if the profile grants no network and runs the program as the user of this network.
    pub network: Option<Arc<LoopbackNetwork>>,
    /// The processes whose end is the end of the run.
    pub lasts: Lasts,
    /// Receives the output of the program while it runs.
    pub listener: Option<OutputListener>,
}

/// A function that receives the output of a program, piece by piece.
pub type OutputListener = Arc<dyn Fn(Output, &[u8]) + Send + Sync>;

/// One of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Spec {
    /// Creates a spec for `program` in `folder`, without arguments, environment or input, and with the default limits.
    pub fn new(program: impl Into<OsString>, folder: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            folder: folder.into(),
            stdin: Stdin::Null,
            limits: Limits::default(),
            network: None,
            lasts: Lasts::Program,
            listener: None,
        }
    }
}

/// Prints only names and lengths, since values of variables and bytes of the input may be secrets.
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

/// The processes that a run waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// The program. The processes that it leaves behind are ended.
    Program,
    /// All of its processes, such as a server that a shell leaves behind. Only in a sandbox that is no content-only one.
    AllProcesses,
}

/// The standard input of a program.
#[derive(Clone, PartialEq, Eq)]
pub enum Stdin {
    /// No input: the program reads the end of file at once.
    Null,
    /// These bytes through a pipe, then the end of file.
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

/// The resource limits of a program. A limit that is already lower for this process stays lower.
///
/// `wall` and `output` work on every system and apply to the whole process tree.
/// The kernel enforces the other four, for each process separately and from just after the start.
/// They exist on Linux only; on other systems, a request for one is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Elapsed time. After it, the whole process tree is killed.
    pub wall: Option<Duration>,
    /// Processor time of each process, rounded up to seconds. Then it gets `SIGXCPU`, and `SIGKILL` a second later.
    pub cpu: Option<Duration>,
    /// Bytes of private writable memory of each process (`RLIMIT_DATA`, which does not count address space).
    pub memory: Option<u64>,
    /// How many processes and threads the user may have in addition to those running when the program started.
    /// The kernel counts all processes of the user, also those started elsewhere. The limit does not apply to root.
    pub processes: Option<u64>,
    /// Maximum size in bytes of a file that a process writes. Beyond it, the process gets `SIGXFSZ`.
    pub file: Option<u64>,
    /// How many bytes of each output stream are kept; see [`Capture`].
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { wall: None, cpu: None, memory: None, processes: None, file: None, output: 1 << 20 }
    }
}

/// The result of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchOutcome {
    /// How the program ended.
    pub end: End,
    /// The standard output of the process tree.
    pub stdout: Capture,
    /// The standard error of the process tree.
    pub stderr: Capture,
    /// The time from the start until the program ended or was killed.
    pub took: Duration,
    /// Processes that could not be killed, since they belong to another user or hang in the kernel. Almost always empty.
    pub survivors: Vec<i32>,
}

/// The kernel's facts about a program in the sandbox, which its output does not show.
///
/// Everything is zero if [`Stop::stop`](crate::Stop::stop) ended the program, and outside Linux.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// How many of its processes still ran a tenth of a second after the program had ended, or when its time was over.
    /// The program itself does not count. All of them have been killed.
    pub left_processes: u32,
    /// The TCP ports on which a process listened at that moment, in ascending order. Only in a network of its own.
    pub listening: Vec<u16>,
    /// How often it could not connect to a local TCP port, because the program that listens there is outside its network.
    pub refused_connections: u32,
    /// How often it sent a datagram to a local port on which no program in its network listens. An example is a name
    /// lookup at a resolver of this machine.
    pub refused_datagrams: u32,
    /// How many files and folders it changed or created in throw-away layers. A removed file that it created does not
    /// count.
    pub scratch_files: u32,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The program exited with this code.
    Exited(i32),
    /// A signal that this crate did not send killed the program.
    Signalled(i32),
    /// The program was killed because its time was over.
    TimedOut,
    /// [`Stop::stop`](crate::Stop::stop) killed the program, or prevented its start.
    Stopped,
}
