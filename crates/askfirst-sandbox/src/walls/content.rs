//! The weaker tier: Landlock and seccomp without namespaces. What is denied inside of a grant is left out by granting
//! its neighbours one by one, which is stricter than asked: nothing new can be made beside it.
//!
//! It does not hold changes of modes, owners, times and attributes, nor looks at what exists.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::landlock::{LEAST_CONTENT, Rights, Rules, Tcp};
use super::order::{Failed, Order};
use super::sys;
use crate::error::shown;
use crate::profile::{Denial, Mode, Network};

const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

pub(super) fn rules(order: &Order) -> Result<Rules, Failed> {
    let failed = |path: &Path| Failed::at::<io::Error>(format!("granting `{}`", shown(path)));
    let tcp = match order.profile.network {
        Network::Own => Tcp::Refused,
        Network::Shared => Tcp::Free,
    };
    let rules = Rules::new(LEAST_CONTENT, tcp).map_err(Failed::at("making the rules of Landlock"))?;
    let allow_there = |path: &Path, rights: Rights| match fs::canonicalize(path) {
        Ok(real) => rules.allow(&real, rights).map_err(failed(path)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(cause) => Err(failed(path)(cause)),
    };
    for path in &order.profile.system {
        allow_there(path, Rights::Read)?;
    }
    for path in DEVICES.map(Path::new) {
        allow_there(path, Rights::Use)?;
    }
    allow_there(Path::new("/proc"), Rights::Read)?;
    for (grant, mode) in order.profile.grants() {
        let found = sys::c_path(&grant.path).and_then(|path| sys::look(libc::AT_FDCWD, &path));
        let stat = found.and_then(|found| sys::stat(std::os::fd::AsFd::as_fd(&found)));
        let stat = stat.map_err(failed(&grant.path))?;
        if (stat.st_dev, stat.st_ino) != (grant.is.device, grant.is.inode) {
            return Err(failed(&grant.path)(io::Error::from_raw_os_error(libc::ESTALE)));
        }
        around(order, &rules, &grant.path, mode).map_err(failed(&grant.path))?;
    }
    Ok(rules)
}

/// Grants a path, or its parts if something in it is denied or less is granted further inside.
fn around(order: &Order, rules: &Rules, path: &Path, mode: Mode) -> io::Result<()> {
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
        return rules.allow(path, if mode == Mode::Write { Rights::Write } else { Rights::Read });
    }
    rules.allow(path, Rights::List)?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let granted = order.profile.grants().into_iter().any(|(grant, _)| grant.path == entry.path());
        // A link is no file; where it leads is granted or not by its own name.
        if !granted && !entry.file_type()?.is_symlink() {
            around(order, rules, &entry.path(), mode)?;
        }
    }
    Ok(())
}
