//! The second way in, for systems that let only some programs make user namespaces: bubblewrap makes the namespaces
//! and the mounts, and our helper inside does the rest. Older releases follow links while they mount, and are refused.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::helper::{Helper, NAME, Program};
use super::mounts::{PROC_COVERED, PROC_OF_ROOT};
use super::order::Order;
use super::sys;
use crate::error::{LaunchError, shown};
use crate::profile::{Denial, Descriptors, Identity, Mode, Network, OSProfile, depth};

/// Where a system keeps it; no folder of a person is searched.
const PLACES: [&str; 2] = ["/usr/bin/bwrap", "/bin/bwrap"];
/// The first release that follows no links.
const LEAST: (u32, u32) = (0, 12);
/// Where the helper lies inside.
const INSIDE: &str = "/.walls-helper";

/// Finds a release that is new enough.
pub(super) fn find() -> Result<PathBuf, String> {
    let path = PLACES.into_iter().find(|path| fs::exists(path).unwrap_or(false));
    let path = path.ok_or_else(|| "not installed".to_owned())?;
    let said = Command::new(path).arg("--version").env_clear().output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    match version(&said) {
        Some(version) if version >= LEAST => Ok(path.into()),
        Some((major, minor)) => {
            Err(format!("{major}.{minor} is too old: {}.{} or newer is needed", LEAST.0, LEAST.1))
        }
        None => Err("it does not say its version".to_owned()),
    }
}

fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.trim().rsplit(' ').next()?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A command and the descriptors that it names, which follow the given number of others from 3 on.
pub(super) struct Made {
    pub(super) argv: Vec<CString>,
    pub(super) descriptors: Vec<OwnedFd>,
}

struct Making {
    argv: Vec<OsString>,
    descriptors: Vec<OwnedFd>,
    first: usize,
}

impl Making {
    fn words<const N: usize>(&mut self, words: [&OsStr; N]) {
        self.argv.extend(words.map(OsStr::to_owned));
    }

    /// Covers a file by an empty one that nobody can open.
    fn cover(&mut self, path: &Path) -> io::Result<()> {
        let empty = File::open("/dev/null")?;
        self.words(["--perms".as_ref(), "000".as_ref()]);
        self.with_descriptor("--ro-bind-data", empty.into(), path);
        Ok(())
    }

    fn with_descriptor(&mut self, option: &str, fd: OwnedFd, path: &Path) {
        let number = 3 + self.first + self.descriptors.len();
        self.descriptors.push(fd);
        self.words([option.as_ref(), number.to_string().as_ref(), path.as_ref()]);
    }
}

pub(super) fn command(order: &Order, helper: &Helper, others: usize) -> Result<Made, LaunchError> {
    let profile = &order.profile;
    let failed = |path: &Path| {
        let step = format!("granting `{}`", shown(path));
        move |cause| LaunchError::Walls { step, cause }
    };
    let look = |path: &Path| sys::look(libc::AT_FDCWD, &sys::c_path(path)?);
    let mut made = Making { argv: vec!["bwrap".into()], descriptors: Vec::new(), first: others };
    for word in ["--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1", "--clearenv"] {
        made.words([word.as_ref()]);
    }
    match profile.network {
        Network::Own => {}
        Network::Shared => made.words(["--share-net".as_ref()]),
    }
    match profile.descriptors {
        Descriptors::Standard => made.words(["--new-session".as_ref()]),
        Descriptors::Terminal => {}
    }
    for path in &profile.system {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() && depth(path) == 2 => {
                let to = fs::read_link(path).map_err(failed(path))?;
                made.words(["--symlink".as_ref(), to.as_ref(), path.as_ref()]);
            }
            Ok(_) => made.words(["--ro-bind-try".as_ref(), path.as_ref(), path.as_ref()]),
            Err(_) => {}
        }
    }
    for path in &profile.private {
        made.words(["--tmpfs".as_ref(), path.as_ref()]);
    }
    made.words(["--proc".as_ref(), "/proc".as_ref()]);
    for name in PROC_COVERED.into_iter().chain(PROC_OF_ROOT) {
        let path = Path::new("/proc").join(OsStr::from_bytes(name.to_bytes()));
        if path.exists() {
            made.cover(&path).map_err(failed(&path))?;
        }
    }
    for word in [["--remount-ro", "/proc"], ["--dev", "/dev"]] {
        made.words(word.map(OsStr::new));
    }
    for (path, step) in steps(profile) {
        let handle = look(path).map_err(failed(path))?;
        let stat = sys::stat(handle.as_fd()).map_err(failed(path))?;
        match (step, stat.st_mode & libc::S_IFMT) {
            (Step::Grant(is, _), _) if (stat.st_dev, stat.st_ino) != (is.device, is.inode) => {
                return Err(failed(path)(io::Error::from_raw_os_error(libc::ESTALE)));
            }
            (Step::Grant(_, Mode::Read), _) => made.with_descriptor("--ro-bind-fd", handle, path),
            (Step::Grant(_, Mode::Write), _) => made.with_descriptor("--bind-fd", handle, path),
            (Step::Pin | Step::Deny(_), libc::S_IFLNK) => {
                return Err(failed(path)(io::Error::from_raw_os_error(libc::ELOOP)));
            }
            (Step::Pin, _) => made.with_descriptor("--bind-fd", handle, path),
            (Step::Deny(Denial::Write), libc::S_IFREG | libc::S_IFDIR) => {
                made.with_descriptor("--ro-bind-fd", handle, path);
            }
            (Step::Deny(Denial::All), libc::S_IFDIR) => {
                made.words(["--perms".as_ref(), "000".as_ref(), "--tmpfs".as_ref(), path.as_ref()]);
                made.words(["--remount-ro".as_ref(), path.as_ref()]);
            }
            (Step::Deny(Denial::Write | Denial::All), _) => made.cover(path).map_err(failed(path))?,
        }
    }
    let program = match &helper.0 {
        Program::Own => File::open("/proc/self/exe").map(OwnedFd::from),
        Program::File(file) => file.try_clone(),
    };
    made.with_descriptor("--ro-bind-fd", program.map_err(failed(Path::new(INSIDE)))?, Path::new(INSIDE));
    made.words(["--dir".as_ref(), order.folder.as_ref()]);
    made.words([
        "--remount-ro".as_ref(),
        "/".as_ref(),
        "--argv0".as_ref(),
        NAME.as_ref(),
        "--".as_ref(),
        INSIDE.as_ref(),
    ]);
    let argv =
        made.argv.iter().map(|word| crate::prepare::c_string(word.as_bytes(), || crate::Place::Program));
    Ok(Made { argv: argv.collect::<Result<_, _>>()?, descriptors: made.descriptors })
}

/// What is done at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Grant(Identity, Mode),
    /// It cannot be moved any more.
    Pin,
    Deny(Denial),
}

/// Grants and what covers them, from the outside in: what is bound over a folder hides what was bound in it before.
fn steps(profile: &OSProfile) -> Vec<(&Path, Step)> {
    let grants = profile.grants();
    let grants = grants.into_iter().map(|(grant, mode)| (grant.path.as_path(), Step::Grant(grant.is, mode)));
    let covers = profile.covers().into_iter();
    let covers = covers.map(|(path, denial)| (path, denial.map_or(Step::Pin, Step::Deny)));
    let mut steps: Vec<_> = grants.chain(covers).collect();
    // What is denied at the place of a grant stays behind it.
    steps.sort_by_key(|(path, _)| depth(path));
    steps
}

#[cfg(test)]
#[path = "bubblewrap/tests.rs"]
mod tests;
