//! Turns a `Spec` into the arguments of `posix_spawn`, and rejects every invalid value before anything starts.

use std::collections::HashSet;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags};

use crate::error::{LaunchError, SpecPart, escape};
use crate::marker::{self, Marker};
use crate::spawn::move_above_stdio;
use crate::spec::Spec;

/// Checked arguments for a spawn. The folder is held open, so the program starts in the folder that was checked.
pub(crate) struct SpawnArgs {
    pub(crate) path: CString,
    pub(crate) argv: Vec<CString>,
    pub(crate) envp: Vec<CString>,
    pub(crate) folder: OwnedFd,
    pub(crate) marker: Marker,
}

impl SpawnArgs {
    pub(crate) fn new(spec: &Spec) -> Result<Self, LaunchError> {
        if spec.program.is_empty() {
            return Err(LaunchError::NoProgram);
        }
        let argv = argv(spec)?;
        let marker = Marker::fresh().map_err(LaunchError::system("reading random bytes"))?;
        let mut envp = variables(spec)?;
        let mark = format!("{}={}", marker::VARIABLE, marker.value());
        envp.push(c_string(mark.as_bytes(), || SpecPart::Variable(marker::VARIABLE.to_owned()))?);
        let folder = open_folder(&spec.folder)?;
        let path = c_string(find(spec)?.as_os_str().as_bytes(), || SpecPart::Program)?;
        Ok(Self { path, argv, envp, folder, marker })
    }
}

/// Converts bytes to a C string. `place` names the part of the spec for the error.
pub(crate) fn c_string(bytes: &[u8], place: impl FnOnce() -> SpecPart) -> Result<CString, LaunchError> {
    CString::new(bytes).map_err(|_| LaunchError::Nul(place()))
}

/// Returns the program name and its arguments.
pub(crate) fn argv(spec: &Spec) -> Result<Vec<CString>, LaunchError> {
    let mut argv = vec![c_string(spec.program.as_bytes(), || SpecPart::Program)?];
    for (index, arg) in spec.args.iter().enumerate() {
        argv.push(c_string(arg.as_bytes(), || SpecPart::Argument(index + 1))?);
    }
    Ok(argv)
}

/// Returns the environment variables without the mark.
pub(crate) fn variables(spec: &Spec) -> Result<Vec<CString>, LaunchError> {
    let mut seen = HashSet::new();
    let mut envp = Vec::with_capacity(spec.env.len() + 1);
    for (name, value) in &spec.env {
        if name.is_empty() || name.as_bytes().contains(&b'=') {
            return Err(LaunchError::VariableName(escape(name)));
        }
        if !seen.insert(name) {
            return Err(LaunchError::VariableTwice(escape(name)));
        }
        if name != marker::VARIABLE {
            let entry = [name.as_bytes(), value.as_bytes()].join(&b'=');
            envp.push(c_string(&entry, || SpecPart::Variable(escape(name)))?);
        }
    }
    Ok(envp)
}

/// Opens the working folder and checks that it may be entered.
pub(crate) fn open_folder(folder: &Path) -> Result<OwnedFd, LaunchError> {
    c_string(folder.as_os_str().as_bytes(), || SpecPart::Folder)?;
    if !folder.is_absolute() {
        return Err(LaunchError::FolderRelative(escape(folder)));
    }
    #[cfg(target_os = "linux")]
    let how = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let how = OFlags::RDONLY;
    rustix::fs::open(folder, how | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|handle| rustix::fs::access(folder, Access::EXEC_OK).map(|()| handle))
        .map_err(io::Error::from)
        .and_then(move_above_stdio)
        .map_err(|cause| LaunchError::Folder { folder: escape(folder), cause })
}

/// The kind of file at a path where a program may be.
enum Candidate {
    Runnable,
    Forbidden,
    Missing,
}

fn inspect(path: &Path) -> Candidate {
    match fs::metadata(path) {
        Ok(file) if file.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok() => {
            Candidate::Runnable
        }
        Err(cause) if matches!(cause.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Candidate::Missing
        }
        Ok(_) | Err(_) => Candidate::Forbidden,
    }
}

/// Finds the file to execute. Skips empty and relative folders in `PATH`: they would mean the working folder, where an
/// attacker could place a program with the same name.
fn find(spec: &Spec) -> Result<PathBuf, LaunchError> {
    let program = Path::new(&spec.program);
    if spec.program.as_bytes().contains(&b'/') {
        let path = spec.folder.join(program);
        return match inspect(&path) {
            Candidate::Runnable => Ok(path),
            Candidate::Forbidden => Err(LaunchError::NotExecutable(escape(program))),
            Candidate::Missing => Err(LaunchError::NotFound(escape(program))),
        };
    }
    let path = spec.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let mut error = LaunchError::NotInPath(escape(program));
    for folder in std::env::split_paths(path.unwrap_or(OsStr::new(""))).filter(|folder| folder.is_absolute())
    {
        let path = folder.join(program);
        match inspect(&path) {
            Candidate::Runnable => return Ok(path),
            Candidate::Forbidden => error = LaunchError::NotExecutable(escape(program)),
            Candidate::Missing => {}
        }
    }
    Err(error)
}

#[cfg(test)]
mod tests;
