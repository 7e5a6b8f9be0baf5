//! The walls where this crate has none of its own: on macOS those of Seatbelt, which were never tried, and elsewhere
//! none. The names are those of Linux, so that callers do not differ.

use std::fmt;
use std::io;
use std::path::Path;

use crate::error::LaunchError;
use crate::profile::OSProfile;
use crate::spec::{End, Finished, Spec};
use crate::stop::Stop;

/// How much holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// A weaker tier of Linux.
    ContentOnly,
    /// Everything.
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

/// What the kernel told of. Here it tells nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What was tried.
    pub tried: Tried,
    /// The name of the process.
    pub program: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` was refused something", crate::error::shown(&self.program))
    }
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
    /// To reach addresses outside of its network: how often.
    Outside(i32),
}

/// A launch behind walls that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// As without walls.
    pub finished: Finished,
    /// What the kernel told of.
    pub violations: Vec<Violation>,
}

/// There is none here: walls are made without one.
#[derive(Clone, Debug)]
pub struct Helper;

/// Why there is no helper.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// None is used on this system.
    #[error("no helper is used on this system")]
    None,
}

impl Helper {
    /// None is needed.
    ///
    /// # Errors
    ///
    /// Never here.
    pub fn own() -> Result<Self, HelperError> {
        Ok(Self)
    }

    /// None is used.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn at(_path: &Path, _digest: &str) -> Result<Self, HelperError> {
        Err(HelperError::None)
    }

    /// None is used.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn beside(_library: &Path) -> Result<Self, HelperError> {
        Err(HelperError::None)
    }
}

/// Does nothing here.
pub fn main_if_helper() {}

/// Walls that hold on this machine.
#[derive(Debug)]
pub struct Walls(());

/// Why no walls hold.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct NoWalls(pub Vec<String>);

impl Walls {
    /// The same: there is nothing to keep here.
    #[must_use]
    pub fn keeping_helpers(self) -> Self {
        self
    }

    /// The same as [`probe`](Self::probe): there is nothing to keep here.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn probe_keeping(helper: Helper, least: Tier) -> Result<Self, NoWalls> {
        Self::probe(helper, least)
    }

    /// There are none.
    pub fn end_helpers(&self) {}

    /// Finds out by running something.
    ///
    /// # Errors
    ///
    /// If none hold.
    #[cfg(target_os = "macos")]
    pub fn probe(_helper: Helper, _least: Tier) -> Result<Self, NoWalls> {
        let walls = Self(());
        let tried =
            launch_behind(&walls, &OSProfile::nothing(), &Spec::new("/usr/bin/true", "/"), &Stop::new());
        match tried {
            Ok(over) if over.finished.end == End::Exited(0) => Ok(walls),
            Ok(over) => Err(NoWalls(vec![format!("Seatbelt: a program ended with {:?}", over.finished.end)])),
            Err(cause) => Err(NoWalls(vec![format!("Seatbelt: {cause}")])),
        }
    }

    /// None hold.
    ///
    /// # Errors
    ///
    /// Always.
    #[cfg(not(target_os = "macos"))]
    pub fn probe(_helper: Helper, _least: Tier) -> Result<Self, NoWalls> {
        Err(NoWalls(vec!["walls cannot be applied on this system".to_owned()]))
    }

    /// How much holds.
    #[must_use]
    pub fn tier(&self) -> Tier {
        Tier::Full
    }

    /// How the walls are made, in words.
    #[must_use]
    pub fn way(&self) -> &'static str {
        "Seatbelt, which this version was never tried with"
    }

    /// Why better ways in do not hold.
    #[must_use]
    pub fn passed_over(&self) -> &[String] {
        &[]
    }
}

/// Runs a program behind walls to its end.
///
/// # Errors
///
/// If it could not be started.
#[cfg(target_os = "macos")]
pub fn launch_behind(
    _walls: &Walls,
    profile: &OSProfile,
    spec: &Spec,
    stop: &Stop,
) -> Result<Behind, LaunchError> {
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
    Ok(Behind { finished: crate::launch::launch(&spec, stop)?, violations: Vec::new() })
}

/// None hold, so nothing runs.
///
/// # Errors
///
/// Always.
#[cfg(not(target_os = "macos"))]
pub fn launch_behind(
    _walls: &Walls,
    _profile: &OSProfile,
    _spec: &Spec,
    _stop: &Stop,
) -> Result<Behind, LaunchError> {
    Err(unsupported())
}

/// Not here.
///
/// # Errors
///
/// Always.
pub fn attach_behind(
    _walls: &Walls,
    _profile: &OSProfile,
    _spec: &Spec,
    _stop: &Stop,
) -> Result<(End, Vec<Violation>), LaunchError> {
    Err(unsupported())
}

fn unsupported() -> LaunchError {
    LaunchError::Walls { step: "making them".to_owned(), cause: io::ErrorKind::Unsupported.into() }
}

/// There is none.
///
/// # Errors
///
/// Always.
pub fn landlock_version() -> io::Result<u32> {
    Err(io::ErrorKind::Unsupported.into())
}
