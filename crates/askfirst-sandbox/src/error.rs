//! The reasons why a launch failed. No error contains a value that may be a secret.

use std::ffi::OsStr;
use std::fmt;
use std::io;

/// Why a launch failed. Every process that was already started has been killed.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program name is empty.
    #[error("the program name is empty")]
    NoProgram,
    /// The operating system ends strings at a NUL byte, so none can be passed to it.
    #[error("{0} contains a NUL byte")]
    Nul(SpecPart),
    /// An environment cannot contain a variable with this name.
    #[error("the variable name `{0}` is empty or contains `=`")]
    VariableName(String),
    /// A variable is set twice, and programs disagree on which value counts.
    #[error("the variable `{0}` is set twice")]
    VariableTwice(String),
    /// There is no file at the given path.
    #[error("program `{0}` was not found")]
    NotFound(String),
    /// No folder in the given `PATH` contains a file with this name.
    #[error("program `{0}` was not found in the PATH of its environment")]
    NotInPath(String),
    /// The path exists, but it is not a file that may be executed.
    #[error("program `{0}` is not an executable file")]
    NotExecutable(String),
    /// The working folder is a relative path, so it would depend on the working folder of this process.
    #[error("the folder `{0}` is not an absolute path")]
    FolderRelative(String),
    /// The working folder does not exist, is not a folder, or may not be entered.
    #[error("cannot enter the folder `{folder}`: {cause}")]
    Folder {
        /// The path as the caller gave it.
        folder: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// The system refused to start the program.
    #[error("cannot start program `{program}`: {cause}")]
    Start {
        /// The name or path as the caller gave it.
        program: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// A limit could not be set. The program has been killed.
    #[error("cannot set the limit `{limit}`: {cause}")]
    Limit {
        /// The field of [`Limits`](crate::Limits).
        limit: &'static str,
        /// The error of the system.
        cause: io::Error,
    },
    /// Another part of this process collects all child processes or ignores `SIGCHLD`, so the exit status is unknown.
    /// The rest of the program has been killed.
    #[error("lost the exit status of program `{0}`: another part of this process collected it")]
    Lost(String),
    /// The program may exist on this machine, but the sandbox does not contain it.
    #[error("program `{0}` does not exist inside the sandbox")]
    Hidden(String),
    /// No sandbox of the required tier works on this machine, so nothing was started.
    #[error("no sandbox works here: {0}")]
    NoSandbox(String),
    /// The sandbox could not be set up, so nothing was started.
    #[error("sandbox setup failed while {step}: {cause}")]
    Sandbox {
        /// The step that failed.
        step: String,
        /// The error of the system.
        cause: io::Error,
    },
    /// A system call failed. The program has been killed if it was already started.
    #[error("{doing} failed: {cause}")]
    System {
        /// The operation that failed.
        doing: &'static str,
        /// The error of the system.
        cause: io::Error,
    },
}

impl LaunchError {
    /// Returns a function for `map_err` that adds the name of the operation.
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self::System { doing, cause: cause.into() }
    }
}

/// A part of a [`Spec`](crate::Spec), named in an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecPart {
    /// The name or path of the program.
    Program,
    /// The argument with this number, counted from 1.
    Argument(usize),
    /// The name or value of the variable with this name.
    Variable(String),
    /// The working folder.
    Folder,
}

impl fmt::Display for SpecPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program => f.write_str("the program name"),
            Self::Argument(number) => write!(f, "argument {number}"),
            Self::Variable(name) => write!(f, "the variable `{name}`"),
            Self::Folder => f.write_str("the folder"),
        }
    }
}

/// Returns the text on one line, with every character escaped that a terminal would not print literally.
pub(crate) fn escape(text: impl AsRef<OsStr>) -> String {
    let quoted = format!("{:?}", text.as_ref());
    match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.to_owned(),
        None => quoted,
    }
}
