//! The walls: a process is started behind them by a helper, or not at all. They know nothing of config or approval.
//!
//! The full tier is made of user, mount, pid, ipc, uts, cgroup and network namespaces, Landlock, a filter on system
//! calls, limits, closed descriptors and a listed environment. Which tier holds is found by running something behind
//! it; a step that fails ends the start, and never leads into a weaker tier.

mod behind;
mod bubblewrap;
mod check;
mod child;
mod content;
mod filter;
pub mod helper;
mod init;
mod inside;
mod landlock;
mod mechanism;
mod mounts;
mod network;
mod notify;
mod order;
mod pool;
mod routes;
mod seat;
mod stay;
mod steps;
mod streams;
mod sys;
#[cfg(test)]
mod tests;
mod turns;
mod violation;
mod wire;

use std::fmt;
use std::io;
use std::path::PathBuf;

pub use behind::{Behind, attach_behind, launch_behind};
pub use helper::{Helper, HelperError, main_if_helper};
pub use violation::{Tried, Violation};

use order::Way;

use crate::error::LaunchError;
use crate::profile::OSProfile;
use crate::spec::{End, Spec};
use crate::stop::Stop;

/// What keeps an order as it was written.
const SEALS: i32 = libc::F_SEAL_SEAL | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE;

/// How much holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Landlock and a filter on system calls alone.
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

/// Walls that hold on this machine.
#[derive(Debug)]
pub struct Walls {
    helper: Helper,
    way: Way,
    bubblewrap: Option<PathBuf>,
    /// Why better ways in do not hold.
    passed_over: Vec<String>,
    /// Where helpers are kept for the next program.
    pool: Option<pool::Pool>,
}

/// Why no walls hold.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct NoWalls(pub Vec<String>);

impl Walls {
    /// The best tier that holds, found by running something behind it; none that is weaker than `least`.
    ///
    /// # Errors
    ///
    /// If none holds, with what each said.
    pub fn probe(helper: Helper, least: Tier) -> Result<Self, NoWalls> {
        Self::find(helper, least, None)
    }

    /// The same as with [`keeping_helpers`](Self::keeping_helpers) afterwards, and the helper that has made the walls for
    /// the try is the first that is kept.
    ///
    /// # Errors
    ///
    /// As [`probe`](Self::probe).
    pub fn probe_keeping(helper: Helper, least: Tier) -> Result<Self, NoWalls> {
        Self::find(helper, least, Some(pool::Pool::default()))
    }

    fn find(helper: Helper, least: Tier, pool: Option<pool::Pool>) -> Result<Self, NoWalls> {
        let mut walls = Self { helper, way: Way::Own, bubblewrap: None, passed_over: Vec::new(), pool };
        match walls.holds() {
            Ok(()) => return Ok(walls),
            Err(why) => walls.passed_over.push(format!("own namespaces: {why}")),
        }
        walls.pool = None;
        match bubblewrap::find() {
            Ok(path) => {
                walls.way = Way::Bubblewrap;
                walls.bubblewrap = Some(path);
                match walls.holds() {
                    Ok(()) => return Ok(walls),
                    Err(why) => walls.passed_over.push(format!("bubblewrap: {why}")),
                }
            }
            Err(why) => walls.passed_over.push(format!("bubblewrap: {why}")),
        }
        match least {
            Tier::Full => return Err(NoWalls(walls.passed_over)),
            Tier::ContentOnly => {}
        }
        walls.way = Way::ContentOnly;
        match walls.holds() {
            Ok(()) => Ok(walls),
            Err(why) => {
                walls.passed_over.push(format!("Landlock and seccomp alone: {why}"));
                Err(NoWalls(walls.passed_over))
            }
        }
    }

    /// The same, with helpers kept for the next program, which starts sooner then. A helper has the rights that this
    /// process has when it is started, so only for a process that gives up none later. It must not be split without
    /// another program taking over.
    #[must_use]
    pub fn keeping_helpers(mut self) -> Self {
        self.pool = (self.way == Way::Own).then(pool::Pool::default);
        self
    }

    /// Lets helpers that were kept end, and waits for them: for a process that is about to end, so that it leaves nothing
    /// that somebody else would have to collect.
    pub fn end_helpers(&self) {
        self.pool.iter().for_each(pool::Pool::end);
    }

    /// How much holds.
    #[must_use]
    pub fn tier(&self) -> Tier {
        match self.way {
            Way::Own | Way::Bubblewrap => Tier::Full,
            Way::ContentOnly => Tier::ContentOnly,
        }
    }

    /// How the walls are made, in words.
    #[must_use]
    pub fn way(&self) -> &'static str {
        match self.way {
            Way::Own => "own namespaces, Landlock and seccomp",
            Way::Bubblewrap => "bubblewrap, Landlock and seccomp",
            Way::ContentOnly => "Landlock and seccomp alone",
        }
    }

    /// Why better ways in do not hold.
    #[must_use]
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// Looks around behind the walls, and starts a program there.
    fn holds(&self) -> Result<(), String> {
        let program = ["/bin/true", "/usr/bin/true", "/bin/sh"]
            .into_iter()
            .find(|path| std::fs::exists(path).unwrap_or(false));
        let Some(program) = program else { return Err("there is no program to try it with".to_owned()) };
        let mut spec = Spec::new(program, "/");
        spec.limits.wall = Some(std::time::Duration::from_secs(20));
        let tried =
            behind::try_behind(self, &OSProfile::nothing(), &spec, &Stop::new(), order::Inside::Check);
        match tried {
            Ok(Behind { finished, .. }) if finished.end == End::Exited(0) => Ok(()),
            Ok(Behind { finished, .. }) => Err(format!("a program ended with {:?}", finished.end)),
            Err(LaunchError::Walls { step, cause }) => Err(format!("{step} failed: {cause}")),
            Err(cause) => Err(cause.to_string()),
        }
    }
}

/// Which version of Landlock this kernel has.
///
/// # Errors
///
/// If it has none.
pub fn landlock_version() -> io::Result<u32> {
    landlock::version()
}
