//! The weaker tier: Landlock and seccomp without namespaces.
//!
//! Landlock cannot deny a path inside a grant. So this tier grants the neighbors of a denied path one by one. That is
//! stricter than required: the program cannot create new files next to a denied one.
//!
//! This tier does not prevent changes of modes, owners, times and extended attributes, or checks whether a path exists.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::landlock::{AccessRights, MIN_VERSION_CONTENT_ONLY, Ruleset, Tcp};
use super::order::{Order, SetupError};
use super::sys;
use crate::error::escape;
use crate::profile::{Denial, Mode, Network};

const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

pub(super) fn rules(order: &Order) -> Result<Ruleset, SetupError> {
    let failed = |path: &Path| SetupError::at::<io::Error>(format!("granting `{}`", escape(path)));
    let tcp = match order.profile.network {
        Network::Own => Tcp::Refused,
        Network::Shared => Tcp::Free,
    };
    let rules =
        Ruleset::new(MIN_VERSION_CONTENT_ONLY, tcp).map_err(SetupError::at("creating the Landlock rules"))?;
    let allow_existing = |path: &Path, rights: AccessRights| match fs::canonicalize(path) {
        Ok(real) => rules.allow(&real, rights).map_err(failed(path)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(failed(path)(cause)),
    };
    for path in &order.profile.system {
        allow_existing(path, AccessRights::Read)?;
    }
    for path in DEVICES.map(Path::new) {
        allow_existing(path, AccessRights::Use)?;
    }
    allow_existing(Path::new("/proc"), AccessRights::Read)?;
    for (grant, mode) in order.profile.grants() {
        let found = sys::c_path(&grant.path).and_then(|path| sys::open_path(libc::AT_FDCWD, &path));
        let stat = found.and_then(|found| sys::stat(std::os::fd::AsFd::as_fd(&found)));
        let stat = stat.map_err(failed(&grant.path))?;
        if (stat.st_dev, stat.st_ino) != (grant.identity.device, grant.identity.inode) {
            return Err(failed(&grant.path)(io::Error::from_raw_os_error(libc::ESTALE)));
        }
        grant_parts(order, &rules, &grant.path, mode).map_err(failed(&grant.path))?;
    }
    Ok(rules)
}

/// Grants a path, or its parts if it contains a denied path or a grant with fewer rights.
fn grant_parts(order: &Order, rules: &Ruleset, path: &Path, mode: Mode) -> io::Result<()> {
    let denied = order.profile.denied.iter().filter(|denied| denied.path.starts_with(path));
    let here = denied.clone().filter(|denied| denied.path == path).map(|denied| denied.what).max();
    let mode = match here {
        Some(Denial::All) => return Ok(()),
        Some(Denial::Write) => Mode::Read,
        None => mode,
    };
    let other_grant = order
        .profile
        .grants()
        .into_iter()
        .any(|(grant, _)| grant.path != path && grant.path.starts_with(path));
    let inner: Vec<&PathBuf> = denied.map(|denied| &denied.path).filter(|denied| *denied != path).collect();
    if inner.is_empty() && !(other_grant && mode == Mode::Write) {
        return rules.allow(path, if mode == Mode::Write { AccessRights::Write } else { AccessRights::Read });
    }
    rules.allow(path, AccessRights::List)?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let granted = order.profile.grants().into_iter().any(|(grant, _)| grant.path == entry.path());
        // Landlock ignores links. The target is granted or not under its own path.
        if !granted && !entry.file_type()?.is_symlink() {
            grant_parts(order, rules, &entry.path(), mode)?;
        }
    }
    Ok(())
}
