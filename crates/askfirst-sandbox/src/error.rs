//! Why a launch did not happen or could not be followed to its end; never holds a value that may be a secret.

use std::ffi::OsStr;
use std::fmt;
use std::io;

/// Why a launch failed. Whatever had been started has been ended.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is nothing to run.
    #[error("the program name is empty")]
    NoProgram,
    /// The system ends strings at a NUL byte, so none can be passed on.
    #[error("{0} holds a NUL byte")]
    Nul(Place),
    /// A name that no environment can hold.
    #[error("the variable name `{0}` is empty or holds `=`")]
    VariableName(String),
    /// Programs disagree on which of the two counts.
    #[error("the variable `{0}` is given twice")]
    VariableTwice(String),
    /// No file at the path that was given.
    #[error("program `{0}` was not found")]
    NotFound(String),
    /// No file of that name in any folder of the `PATH` that was given.
    #[error("program `{0}` was not found in the PATH it is given")]
    NotInPath(String),
    /// There is something, but not a file that may be executed.
    #[error("program `{0}` is not an executable file")]
    NotExecutable(String),
    /// A relative folder would depend on where this process happens to be.
    #[error("the folder `{0}` is not an absolute path")]
    FolderRelative(String),
    /// The working folder is missing, no folder, or closed to us.
    #[error("the folder `{folder}` cannot be entered: {cause}")]
    Folder {
        /// As it was given.
        folder: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The system refused to start the program.
    #[error("program `{program}` could not be started: {cause}")]
    Start {
        /// As it was given.
        program: String,
        /// What the system said.
        cause: io::Error,
    },
    /// A limit could not be set; the program has been ended.
    #[error("the limit `{limit}` could not be set: {cause}")]
    Limit {
        /// The field of [`Limits`](crate::Limits).
        limit: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// Something else in this process collects all its children, or ignores `SIGCHLD`; what was left of the
    /// program has been ended.
    #[error("how program `{0}` ended was not told to its launcher but to another part of this process")]
    Lost(String),
    /// There is such a program outside perhaps, but not behind the walls.
    #[error("program `{0}` is not there behind the walls")]
    Hidden(String),
    /// The walls could not be made, so nothing was started.
    #[error("the walls could not be made: {step} failed: {cause}")]
    Walls {
        /// What was being done.
        step: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The system failed us on the way; the program, if it was started, has been ended.
    #[error("{doing} failed: {cause}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        cause: io::Error,
    },
}

impl LaunchError {
    /// For `map_err`: names what was being done.
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self::System { doing, cause: cause.into() }
    }
}

/// Where in a [`Spec`](crate::Spec) something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The name or path of the program.
    Program,
    /// The argument with this number, the first being 1.
    Argument(usize),
    /// The name or value of the variable with this name.
    Variable(String),
    /// The working folder.
    Folder,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => f.write_str("the program name"),
            Self::Argument(number) => write!(f, "argument {number}"),
            Self::Variable(name) => write!(f, "the variable `{name}`"),
            Self::Folder => f.write_str("the folder"),
        }
    }
}

/// On one line, with everything escaped that a screen would not show as it is.
pub(crate) fn shown(text: impl AsRef<OsStr>) -> String {
    let quoted = format!("{:?}", text.as_ref());
    match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.to_owned(),
        None => quoted,
    }
}
