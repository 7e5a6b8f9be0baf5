//! The mechanisms that the walls are made of, one name each. All of them stand, always; only a test of this crate
//! can leave one out, to see that something gets through then.

/// One mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// A network with nobody else in it.
    NetworkNamespace,
    /// Shared memory and message queues of its own.
    IpcNamespace,
    /// Process numbers of its own: nobody else can be named.
    PidNamespace,
    /// A host name of its own.
    UtsNamespace,
    /// A view of its own of control groups.
    CgroupNamespace,
    /// A tree of files that holds only what is granted.
    Mounts,
    /// Readable grants are mounted read only.
    ReadOnly,
    /// What is denied inside of a grant is covered or mounted read only.
    Masks,
    /// Folders above what is denied cannot be moved.
    Pins,
    /// `/proc` is mounted read only, and some of it is covered.
    Proc,
    /// A grant is the very folder that was meant.
    Identity,
    /// Landlock, on top of the mounts.
    Landlock,
    /// Sockets only of families that lead nowhere else.
    Sockets,
    /// No character is pushed into a terminal.
    Terminal,
    /// No further namespace.
    Nesting,
    /// No system call that changes mounts.
    Mounting,
    /// No key rings.
    Keys,
    /// Parts of the kernel that programs do not need and attackers like.
    Surface,
    /// Modules, clocks, reboot and the like.
    Machine,
    /// No program out of anonymous memory.
    MemoryPrograms,
    /// No program that would run as its owner for somebody else.
    SetId,
    /// Calls of other numberings and of later kernels.
    Numbering,
    /// Limits, set before the program starts.
    Limits,
    /// Only the standard streams.
    Descriptors,
    /// Only the variables that are listed.
    Environment,
    /// No capability.
    Capabilities,
    /// No program gives more rights than its starter has.
    NoNewPrivileges,
    /// The end of whoever started it is the end of all.
    Tie,
}

/// All of them, in the order of their numbers.
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
    /// Whether a mechanism stands.
    #[cfg(not(test))]
    #[allow(clippy::unused_self, reason = "only tests leave something out")]
    pub(crate) fn has(&self, _: Mechanism) -> bool {
        true
    }

    #[cfg(test)]
    pub(crate) fn has(&self, mechanism: Mechanism) -> bool {
        !self.off.contains(&mechanism)
    }
}
