//! The sandbox API on systems other than Linux: Seatbelt on macOS, which was never tested, and nothing elsewhere.
//!
//! The names are the same as on Linux, so callers need no conditional code.

use std::fmt;
use std::io;
use std::path::Path;

use crate::error::LaunchError;
use crate::profile::{OSProfile, User};
use crate::spec::{End, LaunchOutcome, RunFacts, Spec};
use crate::stop::Stop;

/// How much a sandbox enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// A weaker tier that exists on Linux only.
    ContentOnly,
    /// The complete sandbox.
    Full,
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContentOnly => "content-only",
            Self::Full => "full",
        })
    }
}

/// An attempt that the kernel refused and reported. These systems report none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The attempt.
    pub attempt: Attempt,
    /// The name of the process.
    pub program: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` tried something that the sandbox refused", crate::error::escape(&self.program))
    }
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
    /// Reaching addresses outside its network, with the number of attempts.
    Outside(i32),
}

/// The result of a launch in a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxRun {
    /// The result of the launch itself.
    pub finished: LaunchOutcome,
    /// The refused attempts that the kernel reported.
    pub violations: Vec<Violation>,
    /// The other facts that the kernel reported. On this system, there are none.
    pub facts: RunFacts,
}

/// The helper program. On this system, the sandbox needs none.
#[derive(Clone, Debug)]
pub struct Helper;

/// Why no helper is available.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// This system uses no helper.
    #[error("no helper is used on this system")]
    None,
}

impl Helper {
    /// Succeeds without doing anything.
    ///
    /// # Errors
    ///
    /// Never fails on this system.
    pub fn own() -> Result<Self, HelperError> {
        Ok(Self)
    }

    /// Always fails, since this system uses no helper.
    ///
    /// # Errors
    ///
    /// Fails on this system.
    pub fn at(_path: &Path, _digest: &str) -> Result<Self, HelperError> {
        Err(HelperError::None)
    }

    /// Always fails, since this system uses no helper.
    ///
    /// # Errors
    ///
    /// Fails on this system.
    pub fn beside(_library: &Path) -> Result<Self, HelperError> {
        Err(HelperError::None)
    }
}

/// Does nothing on this system.
pub fn run_helper_if_requested() {}

/// A sandbox that works on this machine.
#[derive(Debug)]
pub struct Sandbox(());

/// A network that programs share. Only Linux has it.
#[derive(Debug)]
pub enum LoopbackNetwork {}

impl LoopbackNetwork {
    /// Always fails, since only Linux has such networks.
    ///
    /// # Errors
    ///
    /// Fails on this system.
    pub fn create(_sandbox: &Sandbox, _user: User) -> Result<Self, LaunchError> {
        Err(unsupported())
    }
}

/// Why no view of a folder can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("only Linux has views")]
pub struct NoView;

/// Why no sandbox works on this machine.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct ProbeError(pub Vec<String>);

impl Sandbox {
    /// Does nothing, since this system uses no helpers.
    #[must_use]
    pub fn with_helper_pool(self) -> Self {
        self
    }

    /// Same as [`probe`](Self::probe), since this system uses no helpers.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`probe`](Self::probe).
    pub fn probe_with_helper_pool(helper: Helper, least: Tier) -> Result<Self, ProbeError> {
        Self::probe(helper, least)
    }

    /// Does nothing, since this system uses no helpers.
    pub fn end_helpers(&self) {}

    /// This system has no sandbox that is used without a test.
    pub(crate) fn untested(_helper: Helper) -> Option<Self> {
        None
    }

    /// Does nothing, since this system uses no helpers.
    pub(crate) fn start_helper(&self) {}

    pub(crate) fn is_first_choice(&self) -> bool {
        true
    }

    /// Tests the sandbox by running a program in it.
    ///
    /// # Errors
    ///
    /// Fails if the program does not run.
    #[cfg(target_os = "macos")]
    pub fn probe(_helper: Helper, _least: Tier) -> Result<Self, ProbeError> {
        let sandbox = Self(());
        let tried = launch_in_sandbox(
            &sandbox,
            &OSProfile::nothing(),
            &Spec::new("/usr/bin/true", "/"),
            &Stop::new(),
        );
        match tried {
            Ok(over) if over.finished.end == End::Exited(0) => Ok(sandbox),
            Ok(over) => {
                Err(ProbeError(vec![format!("Seatbelt: a program ended with {:?}", over.finished.end)]))
            }
            Err(cause) => Err(ProbeError(vec![format!("Seatbelt: {cause}")])),
        }
    }

    /// Always fails, since there is no sandbox for this system.
    ///
    /// # Errors
    ///
    /// Fails on this system.
    #[cfg(not(target_os = "macos"))]
    pub fn probe(_helper: Helper, _least: Tier) -> Result<Self, ProbeError> {
        Err(ProbeError(vec!["this system has no supported sandbox".to_owned()]))
    }

    /// Always fails, since only Linux has views.
    ///
    /// # Errors
    ///
    /// Fails on this system.
    pub fn check_view(&self, _root: &Path, _layers: &Path, _user: User) -> Result<(), NoView> {
        Err(NoView)
    }

    /// How much the sandbox enforces.
    #[must_use]
    pub fn tier(&self) -> Tier {
        Tier::Full
    }

    /// How the sandbox is built, in words.
    #[must_use]
    pub fn backend(&self) -> &'static str {
        "Seatbelt, never tested with this version"
    }

    /// Why preferred backends do not work.
    #[must_use]
    pub fn rejected_backends(&self) -> &[String] {
        &[]
    }

    /// Old name of [`backend`](Self::backend).
    #[doc(hidden)]
    #[must_use]
    pub fn way(&self) -> &'static str {
        self.backend()
    }

    /// Old name of [`rejected_backends`](Self::rejected_backends).
    #[doc(hidden)]
    #[must_use]
    pub fn passed_over(&self) -> &[String] {
        self.rejected_backends()
    }

    /// Old name of [`with_helper_pool`](Self::with_helper_pool).
    #[doc(hidden)]
    #[must_use]
    pub fn keeping_helpers(self) -> Self {
        self.with_helper_pool()
    }
}

/// Runs a program in the sandbox to its end.
///
/// # Errors
///
/// Fails if the program could not be started.
#[cfg(target_os = "macos")]
pub fn launch_in_sandbox(
    _sandbox: &Sandbox,
    profile: &OSProfile,
    spec: &Spec,
    stop: &Stop,
) -> Result<SandboxRun, LaunchError> {
    let made = crate::seatbelt::Seatbelt::new(profile);
    let mut args = vec!["-p".into(), made.text.into()];
    for (name, value) in made.parameters {
        let mut word = std::ffi::OsString::from(format!("{name}="));
        word.push(value);
        args.extend(["-D".into(), word]);
    }
    args.push("--".into());
    args.push(spec.program.clone());
    args.extend(spec.args.iter().cloned());
    let env = spec.env.iter().filter(|(name, _)| profile.environment.contains(name)).cloned().collect();
    let spec = Spec { program: "/usr/bin/sandbox-exec".into(), args, env, ..spec.clone() };
    Ok(SandboxRun {
        finished: crate::launch::launch(&spec, stop)?,
        violations: Vec::new(),
        facts: RunFacts::default(),
    })
}

/// Always fails and runs nothing, since there is no sandbox for this system.
///
/// # Errors
///
/// Fails on this system.
#[cfg(not(target_os = "macos"))]
pub fn launch_in_sandbox(
    _sandbox: &Sandbox,
    _profile: &OSProfile,
    _spec: &Spec,
    _stop: &Stop,
) -> Result<SandboxRun, LaunchError> {
    Err(unsupported())
}

/// Always fails: this system does not support attached programs.
///
/// # Errors
///
/// Fails on this system.
pub fn attach_in_sandbox(
    _sandbox: &Sandbox,
    _profile: &OSProfile,
    _spec: &Spec,
    _stop: &Stop,
) -> Result<(End, Vec<Violation>), LaunchError> {
    Err(unsupported())
}

fn unsupported() -> LaunchError {
    LaunchError::Sandbox { step: "choosing a backend".to_owned(), cause: io::ErrorKind::Unsupported.into() }
}

/// Always fails, since only Linux has Landlock.
///
/// # Errors
///
/// Fails on this system.
pub fn landlock_version() -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}
