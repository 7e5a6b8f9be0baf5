//! The second backend, for systems where only some programs may create user namespaces.
//!
//! Bubblewrap creates the namespaces and the mounts, and our helper inside does the rest. Releases before 0.12 follow
//! symbolic links while they mount, so this backend refuses them.

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
use crate::error::{LaunchError, escape};
use crate::profile::{Denial, Descriptors, Identity, KeptFolder, Mode, Network, OSProfile, depth};

/// Where systems install bubblewrap. Folders of a user are not searched.
const PATHS: [&str; 2] = ["/usr/bin/bwrap", "/bin/bwrap"];
/// The first release that follows no links.
const MIN_VERSION: (u32, u32) = (0, 12);
/// The path of the helper inside the sandbox.
const HELPER_PATH: &str = "/.sandbox-helper";

/// Finds an installed release that is new enough.
pub(super) fn find() -> Result<PathBuf, String> {
    let path = PATHS.into_iter().find(|path| fs::exists(path).unwrap_or(false));
    let path = path.ok_or_else(|| "not installed".to_owned())?;
    let output = Command::new(path).arg("--version").env_clear().output().map_err(|e| e.to_string())?;
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    match version(&output) {
        Some(version) if version >= MIN_VERSION => Ok(path.into()),
        Some((major, minor)) => Err(format!(
            "{major}.{minor} is too old: {}.{} or newer is required",
            MIN_VERSION.0, MIN_VERSION.1
        )),
        None => Err("it does not report its version".to_owned()),
    }
}

fn version(output: &str) -> Option<(u32, u32)> {
    let mut numbers = output.trim().rsplit(' ').next()?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// A command line and the descriptors that it refers to. Their numbers follow 3 and the given number of others.
pub(super) struct BubblewrapCommand {
    pub(super) argv: Vec<CString>,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// A command line that is being built.
struct CommandBuilder {
    argv: Vec<OsString>,
    descriptors: Vec<OwnedFd>,
    first: usize,
}

impl CommandBuilder {
    fn words<const N: usize>(&mut self, words: [&OsStr; N]) {
        self.argv.extend(words.map(OsStr::to_owned));
    }

    /// Covers a file with an empty one that cannot be opened.
    fn cover(&mut self, path: &Path) -> io::Result<()> {
        let empty = File::open("/dev/null")?;
        self.words(["--perms".as_ref(), "000".as_ref()]);
        self.with_descriptor("--ro-bind-data", empty.into(), path);
        Ok(())
    }

    /// Adds an option that takes a descriptor and a path.
    fn with_descriptor(&mut self, option: &str, fd: OwnedFd, path: &Path) {
        let number = 3 + self.first + self.descriptors.len();
        self.descriptors.push(fd);
        self.words([option.as_ref(), number.to_string().as_ref(), path.as_ref()]);
    }
}

/// Builds the command line of bubblewrap for an order.
pub(super) fn command(
    order: &Order,
    helper: &Helper,
    others: usize,
) -> Result<BubblewrapCommand, LaunchError> {
    let profile = &order.profile;
    let failed = |path: &Path| {
        let step = format!("granting `{}`", escape(path));
        move |cause| LaunchError::Sandbox { step, cause }
    };
    let open = |path: &Path| sys::open_path(libc::AT_FDCWD, &sys::c_path(path)?);
    let mut builder = CommandBuilder { argv: vec!["bwrap".into()], descriptors: Vec::new(), first: others };
    for word in ["--unshare-all", "--unshare-user", "--die-with-parent", "--as-pid-1", "--clearenv"] {
        builder.words([word.as_ref()]);
    }
    match profile.network {
        Network::Own => {}
        Network::Shared => builder.words(["--share-net".as_ref()]),
    }
    match profile.descriptors {
        Descriptors::Standard => builder.words(["--new-session".as_ref()]),
        Descriptors::Terminal => {}
    }
    for path in &profile.system {
        match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() && depth(path) == 2 => {
                let to = fs::read_link(path).map_err(failed(path))?;
                builder.words(["--symlink".as_ref(), to.as_ref(), path.as_ref()]);
            }
            Ok(_) => builder.words(["--ro-bind-try".as_ref(), path.as_ref(), path.as_ref()]),
            Err(_) => {}
        }
    }
    for path in profile.private_folders() {
        builder.words(["--tmpfs".as_ref(), path.as_ref()]);
    }
    for KeptFolder { at, folder } in &profile.kept {
        let handle = open(&folder.path).map_err(failed(at))?;
        let stat = sys::stat(handle.as_fd()).map_err(failed(at))?;
        if (stat.st_dev, stat.st_ino) != (folder.identity.device, folder.identity.inode) {
            return Err(failed(at)(io::Error::from_raw_os_error(libc::ESTALE)));
        }
        builder.with_descriptor("--bind-fd", handle, at);
    }
    builder.words(["--proc".as_ref(), "/proc".as_ref()]);
    for name in PROC_COVERED.into_iter().chain(PROC_OF_ROOT) {
        let path = Path::new("/proc").join(OsStr::from_bytes(name.to_bytes()));
        if path.exists() {
            builder.cover(&path).map_err(failed(&path))?;
        }
    }
    for word in [["--remount-ro", "/proc"], ["--dev", "/dev"]] {
        builder.words(word.map(OsStr::new));
    }
    for (path, step) in steps(profile) {
        let handle = open(path).map_err(failed(path))?;
        let stat = sys::stat(handle.as_fd()).map_err(failed(path))?;
        match (step, stat.st_mode & libc::S_IFMT) {
            (MountStep::Grant(is, _), _) if (stat.st_dev, stat.st_ino) != (is.device, is.inode) => {
                return Err(failed(path)(io::Error::from_raw_os_error(libc::ESTALE)));
            }
            (MountStep::Grant(_, Mode::Read | Mode::Scratch), _) => {
                builder.with_descriptor("--ro-bind-fd", handle, path)
            }
            (MountStep::Grant(_, Mode::Write), _) => builder.with_descriptor("--bind-fd", handle, path),
            (MountStep::Pin | MountStep::Deny(_), libc::S_IFLNK) => {
                return Err(failed(path)(io::Error::from_raw_os_error(libc::ELOOP)));
            }
            (MountStep::Pin, _) => builder.with_descriptor("--bind-fd", handle, path),
            (MountStep::Deny(Denial::Write), libc::S_IFREG | libc::S_IFDIR) => {
                builder.with_descriptor("--ro-bind-fd", handle, path);
            }
            (MountStep::Deny(Denial::All), libc::S_IFDIR) => {
                builder.words(["--perms".as_ref(), "000".as_ref(), "--tmpfs".as_ref(), path.as_ref()]);
                builder.words(["--remount-ro".as_ref(), path.as_ref()]);
            }
            (MountStep::Deny(Denial::Write | Denial::All), _) => builder.cover(path).map_err(failed(path))?,
        }
    }
    for (path, to) in &profile.links {
        builder.words(["--symlink".as_ref(), to.as_ref(), path.as_ref()]);
    }
    let program = match &helper.0 {
        Program::Own => File::open("/proc/self/exe").map(OwnedFd::from),
        Program::File(file) => file.try_clone(),
    };
    builder.with_descriptor(
        "--ro-bind-fd",
        program.map_err(failed(Path::new(HELPER_PATH)))?,
        Path::new(HELPER_PATH),
    );
    builder.words(["--dir".as_ref(), order.folder.as_ref()]);
    builder.words([
        "--remount-ro".as_ref(),
        "/".as_ref(),
        "--argv0".as_ref(),
        NAME.as_ref(),
        "--".as_ref(),
        HELPER_PATH.as_ref(),
    ]);
    let argv = builder
        .argv
        .iter()
        .map(|word| crate::prepare::c_string(word.as_bytes(), || crate::SpecPart::Program));
    Ok(BubblewrapCommand { argv: argv.collect::<Result<_, _>>()?, descriptors: builder.descriptors })
}

/// The action of the command at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MountStep {
    Grant(Identity, Mode),
    /// Prevents renaming, by making the path a mount point.
    Pin,
    Deny(Denial),
}

/// Returns grants and the mounts over them, outer paths first: a mount on a folder hides earlier mounts inside it.
fn steps(profile: &OSProfile) -> Vec<(&Path, MountStep)> {
    let grants = profile.grants();
    let grants = grants
        .into_iter()
        .map(|(grant, mode)| (grant.path.as_path(), MountStep::Grant(grant.identity, mode)));
    let covers = profile.covers().into_iter();
    let covers = covers.map(|(path, denial)| (path, denial.map_or(MountStep::Pin, MountStep::Deny)));
    let mut steps: Vec<_> = grants.chain(covers).collect();
    // The sort is stable, so a denial at the path of a grant stays behind the grant.
    steps.sort_by_key(|(path, _)| depth(path));
    steps
}

#[cfg(test)]
#[path = "bubblewrap/tests.rs"]
mod tests;
