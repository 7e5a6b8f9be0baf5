//! The mechanisms that the sandbox consists of. All are always on. Only a test of this crate can turn one off, to show
//! that an escape succeeds without it.

/// One mechanism of the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// A separate network without other processes.
    NetworkNamespace,
    /// Separate shared memory and message queues.
    IpcNamespace,
    /// Separate pids, so that no process outside can be named.
    PidNamespace,
    /// A separate host name.
    UtsNamespace,
    /// A separate view of control groups.
    CgroupNamespace,
    /// A file tree that contains only what is granted.
    Mounts,
    /// Read-only mounts for readable grants.
    ReadOnly,
    /// Covers or read-only mounts for denied paths inside a grant.
    Masks,
    /// Mounts on the folders above a denied path, which prevent renaming them.
    Pins,
    /// A read-only `/proc` with some files covered.
    Proc,
    /// The check that a grant is still the same file or folder.
    Identity,
    /// Landlock rules, in addition to the mounts.
    Landlock,
    /// The restriction of sockets to families that reach nothing else.
    Sockets,
    /// The ban on pushing characters into a terminal.
    Terminal,
    /// The ban on further namespaces.
    Nesting,
    /// The ban on system calls that change mounts.
    Mounting,
    /// The ban on key rings.
    Keys,
    /// The ban on kernel features that programs do not need and attackers use.
    Surface,
    /// The ban on kernel modules, clock changes, reboot and similar calls.
    Machine,
    /// The ban on executing anonymous memory.
    MemoryPrograms,
    /// The ban on creating set-uid and set-gid files.
    SetId,
    /// The ban on system calls of other architectures and of later kernels.
    Numbering,
    /// Resource limits, set before the program starts.
    Limits,
    /// The restriction to the standard streams.
    Descriptors,
    /// The restriction to the listed environment variables.
    Environment,
    /// No capabilities.
    Capabilities,
    /// No new privileges through executed programs.
    NoNewPrivileges,
    /// The end of all processes when the launcher ends.
    Tie,
}

/// All mechanisms, in the order of their numbers.
#[cfg(test)]
pub(crate) const ALL: [Mechanism; 28] = {
    use Mechanism::*;
    [
        NetworkNamespace,
        IpcNamespace,
        PidNamespace,
        UtsNamespace,
        CgroupNamespace,
        Mounts,
        ReadOnly,
        Masks,
        Pins,
        Proc,
        Identity,
        Landlock,
        Sockets,
        Terminal,
        Nesting,
        Mounting,
        Keys,
        Surface,
        Machine,
        MemoryPrograms,
        SetId,
        Numbering,
        Limits,
        Descriptors,
        Environment,
        Capabilities,
        NoNewPrivileges,
        Tie,
    ]
};

impl super::order::Order {
    /// Whether a mechanism is on.
    #[cfg(not(test))]
    #[allow(clippy::unused_self, reason = "only tests turn one off")]
    pub(crate) fn has(&self, _: Mechanism) -> bool {
        true
    }

    #[cfg(test)]
    pub(crate) fn has(&self, mechanism: Mechanism) -> bool {
        !self.off.contains(&mechanism)
    }
}
