//! What the analysis needs to know about the config's roots, as a trait: the runtime answers from open folders.

use std::path::Path;

use askfirst::{Approval, Because};

/// The root that governs a place, and the strictest of everything that is configured for the place.
#[derive(Debug, Clone, Copy)]
pub struct Governed<'a, 'p> {
    /// The name of the root.
    pub root: &'a str,
    /// Where the config defines the root.
    pub origin: &'a Because,
    /// The path from the root to the place.
    pub inside: &'p Path,
    /// Whether the place may be written at all.
    pub writable: bool,
    /// Approval for reading.
    pub read: Approval,
    /// Approval for writing.
    pub write: Approval,
}

/// The roots of a config as they are now.
pub trait Roots {
    /// The folder of the config.
    fn folder(&self) -> &Path;

    /// The root that governs a place without links.
    fn governs<'p>(&self, real: &'p Path) -> Option<Governed<'_, 'p>>;

    /// Where the roots are now. A root that is gone is left out.
    fn places(&self) -> Vec<&Path>;

    /// Where relative paths of rules begin for a call that runs in `cwd`.
    fn base(&self, cwd: &Path) -> &Path;

    /// Whether the config hides nothing from reading.
    fn reads_all(&self) -> bool;

    /// Why a place is never read.
    fn never_read(&self, real: &Path) -> Option<String>;

    /// Why a place is never written.
    fn never_write(&self, real: &Path) -> Option<String>;
}
