//! The disk that a store changes.

use rustix::io::Errno;

/// Makes the changes of the disk, beneath open folders. Its methods are in [`crate::beneath`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Disk {
    before_change: fn() -> Result<(), Errno>,
}

impl Disk {
    /// The disk as it is: it accepts every change.
    pub(crate) const REAL: Self = Self::new(|| Ok(()));

    /// A disk that calls a function before each change. If the function fails, so does the change.
    pub(crate) const fn new(before_change: fn() -> Result<(), Errno>) -> Self {
        Self { before_change }
    }

    /// Comes before each change.
    pub(crate) fn begin_change(self) -> Result<(), Errno> {
        (self.before_change)()
    }
}
