//! Turns a `Spec` into what the system call takes; refuses everything that can be known to be wrong beforehand.

use std::collections::HashSet;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags};

use crate::error::{LaunchError, Place, shown};
use crate::marker::{self, Marker};
use crate::spawn::away;
use crate::spec::Spec;

/// A checked start. The folder is held open: what was checked is what is entered.
pub(crate) struct Prepared {
    pub(crate) path: CString,
    pub(crate) argv: Vec<CString>,
    pub(crate) envp: Vec<CString>,
    pub(crate) folder: OwnedFd,
    pub(crate) marker: Marker,
}

impl Prepared {
    pub(crate) fn new(spec: &Spec) -> Result<Self, LaunchError> {
        if spec.program.is_empty() {
            return Err(LaunchError::NoProgram);
        }
        let argv = words(spec)?;
        let marker = Marker::fresh().map_err(LaunchError::system("reading random bytes"))?;
        let mut envp = variables(spec)?;
        let mark = format!("{}={}", marker::VARIABLE, marker.value());
        envp.push(c_string(mark.as_bytes(), || Place::Variable(marker::VARIABLE.to_owned()))?);
        let folder = enter(&spec.folder)?;
        let path = c_string(find(spec)?.as_os_str().as_bytes(), || Place::Program)?;
        Ok(Self { path, argv, envp, folder, marker })
    }
}

pub(crate) fn c_string(bytes: &[u8], place: impl FnOnce() -> Place) -> Result<CString, LaunchError> {
    CString::new(bytes).map_err(|_| LaunchError::Nul(place()))
}

/// The program's own name and its arguments.
pub(crate) fn words(spec: &Spec) -> Result<Vec<CString>, LaunchError> {
    let mut argv = vec![c_string(spec.program.as_bytes(), || Place::Program)?];
    for (index, arg) in spec.args.iter().enumerate() {
        argv.push(c_string(arg.as_bytes(), || Place::Argument(index + 1))?);
    }
    Ok(argv)
}

/// The variables but for the mark.
pub(crate) fn variables(spec: &Spec) -> Result<Vec<CString>, LaunchError> {
    let mut seen = HashSet::new();
    let mut envp = Vec::with_capacity(spec.env.len() + 1);
    for (name, value) in &spec.env {
        if name.is_empty() || name.as_bytes().contains(&b'=') {
            return Err(LaunchError::VariableName(shown(name)));
        }
        if !seen.insert(name) {
            return Err(LaunchError::VariableTwice(shown(name)));
        }
        if name != marker::VARIABLE {
            let entry = [name.as_bytes(), value.as_bytes()].join(&b'=');
            envp.push(c_string(&entry, || Place::Variable(shown(name)))?);
        }
    }
    Ok(envp)
}

pub(crate) fn enter(folder: &Path) -> Result<OwnedFd, LaunchError> {
    c_string(folder.as_os_str().as_bytes(), || Place::Folder)?;
    if !folder.is_absolute() {
        return Err(LaunchError::FolderRelative(shown(folder)));
    }
    #[cfg(target_os = "linux")]
    let how = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let how = OFlags::RDONLY;
    rustix::fs::open(folder, how | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|handle| rustix::fs::access(folder, Access::EXEC_OK).map(|()| handle))
        .map_err(io::Error::from)
        .and_then(away)
        .map_err(|cause| LaunchError::Folder { folder: shown(folder), cause })
}

enum Candidate {
    Runnable,
    Forbidden,
    Missing,
}

fn look(path: &Path) -> Candidate {
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

/// The file to execute. An empty or relative folder in `PATH` is passed over: it would mean the working folder,
/// and a program is not picked up there because of its name.
fn find(spec: &Spec) -> Result<PathBuf, LaunchError> {
    let program = Path::new(&spec.program);
    if spec.program.as_bytes().contains(&b'/') {
        let path = spec.folder.join(program);
        return match look(&path) {
            Candidate::Runnable => Ok(path),
            Candidate::Forbidden => Err(LaunchError::NotExecutable(shown(program))),
            Candidate::Missing => Err(LaunchError::NotFound(shown(program))),
        };
    }
    let path = spec.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let mut error = LaunchError::NotInPath(shown(program));
    for folder in std::env::split_paths(path.unwrap_or(OsStr::new(""))).filter(|folder| folder.is_absolute())
    {
        let path = folder.join(program);
        match look(&path) {
            Candidate::Runnable => return Ok(path),
            Candidate::Forbidden => error = LaunchError::NotExecutable(shown(program)),
            Candidate::Missing => {}
        }
    }
    Err(error)
}

#[cfg(test)]
mod tests;
