//! From a config to walls: what a process may reach, which names in it are protected, what appeared that should not
//! have, and which walls this machine has. It never grants what the file tools would not.

mod derive;
mod error;
mod found;
mod git;
mod harmless;
mod links;
mod machine;
mod marks;
mod protected;
mod quarantine;
mod reading;

pub use derive::{Derived, derive_os_sandbox_profile};
pub use error::WallsError;
pub use found::{Found, Sort, Stamp};
pub use git::Way;
pub use links::{Links, Names};
pub use machine::{Machine, end_helpers, keep_helpers, machine, use_helper};
pub use marks::Mark;
pub use protected::{Known, Protected, Searched};
pub use quarantine::{Moved, Since, quarantine, reopen};

pub use askfirst_sandbox::{
    Denial, Descriptors, Grant, Helper, HelperError, Network, OSProfile, SYSTEM_PATHS, landlock_version,
    let_go_of_code, main_if_helper,
};

/// Whether this process is root, for whom some of the walls are thinner.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
