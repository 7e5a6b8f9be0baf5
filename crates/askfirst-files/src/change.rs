//! Creates folders, and moves, copies and deletes files, with open folders and single names.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::error::CallError;
use super::file_call::{DeleteScope, ExistingTarget};
use super::handle::{self, ObjectKind};
use super::location::Location;
use super::place::{RootView, changed_meanwhile};
use super::plan::Access;
use super::write::{Target, rename_to_new, sync};

/// Creates a folder and the missing folders above it.
pub(crate) fn make_folder(view: &RootView<'_>, location: &Location) -> Result<Value, CallError> {
    let fault = |e: Errno| match e {
        Errno::LOOP => changed_meanwhile(&location.label),
        error => CallError::failed(&format!("cannot create the folder `{}`", location.label), error),
    };
    match location.kind() {
        Some(ObjectKind::Folder) => return Ok(json!({"path": location.label, "made": false})),
        Some(ObjectKind::File | ObjectKind::Link | ObjectKind::Other(_)) => return Err(fault(Errno::EXIST)),
        None => {}
    }
    let root = view.root(location.root)?;
    let mut inner: Option<OwnedFd> = None;
    let mut names = location.path.iter().peekable();
    while let Some(name) = names.next() {
        let folder = inner.as_ref().map_or(root.folder.as_fd(), AsFd::as_fd);
        let made = match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(fault(error)),
        };
        if made {
            sync(folder, &location.label)?;
        }
        if !made || names.peek().is_some() {
            inner = Some(handle::open_folder(folder, Path::new(name)).map_err(fault)?);
        }
    }
    Ok(json!({"path": location.label, "made": true}))
}

/// Moves a file, link or folder.
pub(crate) fn move_object(
    view: &RootView<'_>,
    from: &Location,
    to: &Location,
    existing: ExistingTarget,
) -> Result<Value, CallError> {
    let Some(object) = &from.object else { return Err(missing(from)) };
    refuse_existing(to, existing)?;
    let (folder, name) = view.open_parent(from)?;
    let (to_folder, to_name) = view.open_parent(to)?;
    let fault = |e: Errno| match e {
        Errno::EXIST => changed_meanwhile(&to.label),
        Errno::XDEV => CallError::Failed(format!(
            "cannot move the folder `{}` to the file system of `{}`; hint: create the folder there and move its \
             files one by one",
            from.label, to.label
        )),
        error => CallError::failed(&format!("cannot move `{}`", from.label), error),
    };
    let now = handle::stat_name(&folder, &name).map_err(fault)?;
    if !now.is_some_and(|now| handle::is_same_file(&now, &object.stat)) {
        return Err(changed_meanwhile(&from.label));
    }
    let renamed = match &to.object {
        None => rename_to_new(&folder, &name, &to_folder, &to_name),
        Some(old) => {
            let now = handle::stat_name(&to_folder, &to_name).map_err(fault)?;
            if !now.is_some_and(|now| handle::is_same_file(&now, &old.stat)) {
                return Err(changed_meanwhile(&to.label));
            }
            rustix::fs::renameat(&folder, &name, &to_folder, &to_name)
        }
    };
    match renamed {
        Ok(()) => sync(&to_folder, &to.label)?,
        // The copy is complete and synced before the original is deleted.
        Err(Errno::XDEV) if object.kind == ObjectKind::File => {
            copy(view, from, to, existing)?;
            delete(view, from, DeleteScope::Single)?;
        }
        Err(error) => return Err(fault(error)),
    }
    sync(&folder, &from.label)?;
    Ok(json!({"path": from.label, "to": to.label, "replaced": to.object.is_some()}))
}

/// Copies a file.
pub(crate) fn copy(
    view: &RootView<'_>,
    from: &Location,
    to: &Location,
    existing: ExistingTarget,
) -> Result<Value, CallError> {
    refuse_existing(to, existing)?;
    let (source, stat) = view.open_file(from)?;
    if to.object.as_ref().is_some_and(|object| handle::is_same_file(&object.stat, &stat)) {
        return Err(CallError::Failed(format!("`{}` and `{}` are the same file", from.label, to.label)));
    }
    let max = to.rights.max_file_bytes.unwrap_or(u64::MAX);
    let mut copied = 0;
    Target::new(view, to)?.with_mode(stat.st_mode).replace(|file| {
        copied = io::copy(&mut source.take(max.saturating_add(1)), file)?;
        if copied > max { Err(io::Error::from(io::ErrorKind::FileTooLarge)) } else { Ok(()) }
    })?;
    Ok(json!({"path": from.label, "to": to.label, "bytes": copied, "replaced": to.object.is_some()}))
}

fn refuse_existing(to: &Location, existing: ExistingTarget) -> Result<(), CallError> {
    match (to.kind(), existing) {
        (None, _) | (Some(ObjectKind::File | ObjectKind::Link), ExistingTarget::Replace) => Ok(()),
        (Some(ObjectKind::Folder | ObjectKind::Other(_)), _) => {
            Err(CallError::Failed(format!("`{}` already exists and is not a file", to.label)))
        }
        (Some(ObjectKind::File | ObjectKind::Link), ExistingTarget::Keep) => {
            let text = format!("`{}` already exists; hint: set `overwrite` to replace it", to.label);
            Err(CallError::Failed(text))
        }
    }
}

fn missing(location: &Location) -> CallError {
    CallError::Failed(format!("`{}` does not exist", location.label))
}

/// Deletes a file, a link or a folder.
pub(crate) fn delete(
    view: &RootView<'_>,
    location: &Location,
    scope: DeleteScope,
) -> Result<Value, CallError> {
    let Some(object) = &location.object else { return Err(missing(location)) };
    let (folder, name) = view.open_parent(location)?;
    let fault = |e: Errno| CallError::failed(&format!("cannot delete `{}`", location.label), e);
    let now = handle::stat_name(&folder, &name).map_err(fault)?;
    if !now.is_some_and(|now| handle::is_same_file(&now, &object.stat)) {
        return Err(changed_meanwhile(&location.label));
    }
    let mut count = 1;
    if object.kind == ObjectKind::Folder {
        if scope == DeleteScope::Recursive {
            let inner = super::tree::open_folder(view, location)?;
            count += delete_content(view, location, inner, &location.path)?;
        }
        rustix::fs::unlinkat(&folder, &name, AtFlags::REMOVEDIR).map_err(|e| match e {
            Errno::NOTEMPTY => CallError::Failed(format!(
                "`{}` is not empty; hint: set `recursive` to delete its content too",
                location.label
            )),
            error => fault(error),
        })?;
    } else {
        rustix::fs::unlinkat(&folder, &name, AtFlags::empty()).map_err(fault)?;
    }
    sync(&folder, &location.label)?;
    Ok(json!({"path": location.label, "deleted": count}))
}

/// Deletes everything in an open folder without following links. `path` is the path of the folder in its root.
fn delete_content(
    view: &RootView<'_>,
    location: &Location,
    folder: OwnedFd,
    path: &Path,
) -> Result<u64, CallError> {
    let fault = |e: Errno| {
        let label = view.label(location.root, path);
        CallError::failed(&format!("cannot delete the content of `{label}`"), e)
    };
    let mut names: Vec<OsString> = Vec::new();
    for entry in Dir::read_from(&folder).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let name = std::os::unix::ffi::OsStrExt::from_bytes(entry.file_name().to_bytes());
        let name: &std::ffi::OsStr = name;
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    let mut count = 0;
    for name in names {
        let path = path.join(&name);
        let label = view.label(location.root, &path);
        let below = path.strip_prefix(&location.path).unwrap_or(&path);
        view.refuse_never(&view.real_path(location)?.join(below), &label, Access::Write)?;
        let Some(stat) = handle::stat_name(&folder, &name).map_err(fault)? else { continue };
        let flags = if ObjectKind::of(&stat) == ObjectKind::Folder {
            let inner = handle::open_folder(folder.as_fd(), Path::new(&name)).map_err(fault)?;
            count += delete_content(view, location, inner, &path)?;
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        rustix::fs::unlinkat(&folder, &name, flags).map_err(fault)?;
        count += 1;
    }
    Ok(count)
}
