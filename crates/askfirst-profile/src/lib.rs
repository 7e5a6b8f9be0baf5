//! Derives the OS sandbox from a config, and cleans up after the commands that ran in it.
//!
//! - [`derive_os_sandbox_profile`] computes what a process may reach. It never grants more than the file tools would.
//! - [`ProtectedNames`] finds the protected names in the roots.
//! - [`quarantine`] renames protected names that a command created.
//! - [`Toolchains`] finds what the programs on `PATH` need to start.
//! - [`probe_machine`] finds the sandbox that works on this machine.

mod derive;
mod digests;
mod entry;
mod error;
mod folder_cache;
mod git;
mod hard_links;
mod harmless;
mod machine;
mod protected;
mod quarantine;
mod reading;
mod toolchains;

pub use derive::{DerivedProfile, derive_os_sandbox_profile};
pub use digests::EntryDigest;
pub use entry::{EntryKind, ProtectedEntry, Stamp};
pub use error::SandboxError;
pub use folder_cache::{CachedFolders, FolderCache};
pub use git::GitPointer;
pub use hard_links::{HardLinks, LinkedFiles};
pub use machine::{
    MachineSandbox, end_helpers, keep_helpers, probe_machine, start_helper_early, untested_sandbox,
    use_helper,
};
pub use protected::{ProtectedNames, SearchResult, Snapshot};
pub use quarantine::{QuarantineReport, QuarantineScope, quarantine, reopen};
pub use toolchains::{HiddenReason, StartEnvironment, Toolchains};

pub use askfirst_sandbox::{
    Denial, Descriptors, Grant, Helper, HelperError, Network, OSProfile, SYSTEM_PATHS, landlock_version,
    release_code_pages, release_free_memory, run_helper_if_requested,
};

// Old names, for code that has not been updated yet.
#[doc(hidden)]
pub use askfirst_sandbox::{let_go_of_code, main_if_helper};
#[doc(hidden)]
pub use machine::probe_machine as machine;

/// Whether this process runs as root, for which the sandbox is weaker in some respects.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests;
