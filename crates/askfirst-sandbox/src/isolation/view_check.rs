//! Finds out whether a view of a folder can be made, by making one.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::order::Backend;
use super::{Sandbox, launch_in_sandbox, sys, test_program};
use crate::error::{LaunchError, escape};
use crate::profile::{Grant, OSProfile, User, View};
use crate::spec::{End, Spec};
use crate::stop::Stop;

/// The first kernel on which an ordinary user can make a view.
const MIN_KERNEL: (u32, u32) = (5, 11);

/// Why no view of a folder can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoView {
    /// The sandbox has no namespaces of its own. The text is the reason.
    #[error("a view needs user namespaces, which do not work here: {0}")]
    NoNamespaces(String),
    /// The kernel has no views for ordinary users. The text is its release.
    #[error("a view needs Linux 5.11 or newer, and this is Linux {0}")]
    KernelTooOld(String),
    /// Another file system is mounted inside the folder.
    #[error("another file system is mounted inside the folder, at `{0}`")]
    MountInside(String),
    /// The folder is on an overlay that lies over another one, and a view would be the third.
    #[error("the folder is already on two overlays, and the kernel allows no third")]
    TooManyOverlays,
    /// The folder of the layers cannot hold any.
    #[error("the file system of `{0}` cannot hold the layers of a view")]
    Layers(String),
    /// The test failed for another reason.
    #[error("{0}")]
    Other(String),
}

/// The results of earlier tests.
#[derive(Debug, Default)]
pub(super) struct ViewChecks(Mutex<Vec<(Question, Result<(), NoView>)>>);

/// A folder, a folder for layers, and the user that a program would run as.
type Question = (Grant, Grant, User);

impl Sandbox {
    /// Whether a view of the folder `root` can be made if its layers are in the folder `layers`.
    ///
    /// The first call for two folders starts a program on a view. Later calls only look for new mounts.
    ///
    /// # Errors
    ///
    /// Fails with the reason if no view can be made.
    pub fn check_view(&self, root: &Path, layers: &Path, user: User) -> Result<(), NoView> {
        if self.backend != Backend::Namespaces {
            let reason = self.rejected_backends.first().cloned().unwrap_or_default();
            return Err(NoView::NoNamespaces(reason));
        }
        if let Some(inside) = mount_inside(root).map_err(other("reading the mounts"))? {
            return Err(NoView::MountInside(escape(&inside)));
        }
        let grant = |path: &Path| Grant::of(path).map_err(other(format!("opening `{}`", escape(path))));
        let question = (grant(root)?, grant(layers)?, user);
        let mut known = self.view_checks.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, answer)) = known.iter().find(|(asked, _)| *asked == question) {
            return answer.clone();
        }
        let answer = self.test_view(&question);
        known.push((question, answer.clone()));
        answer
    }

    fn test_view(&self, (root, layers, user): &Question) -> Result<(), NoView> {
        let test = TestFolder::new(&layers.path, *user)
            .map_err(other(format!("creating layers in `{}`", escape(&layers.path))))?;
        let failed = match self.run_on_view(root.clone(), &test.layers("1")?, *user) {
            Ok(()) => return Ok(()),
            Err(failed) => failed,
        };
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        if version(&release).is_some_and(|version| version < MIN_KERNEL) {
            return Err(NoView::KernelTooOld(release.trim().to_owned()));
        }
        let lower = Grant::of(test.folder("lower")?).map_err(other("creating a folder"))?;
        let of_layers = self.run_on_view(lower, &test.layers("2")?, *user);
        Err(match of_layers {
            Err(why) if why.starts_with("making a view") => NoView::Layers(escape(&layers.path)),
            Ok(()) if is_overlay(&root.path) => NoView::TooManyOverlays,
            Ok(()) | Err(_) => NoView::Other(failed),
        })
    }

    /// Starts a program on a view, and returns the reason if it does not run.
    fn run_on_view(&self, root: Grant, layers: &[PathBuf; 2], user: User) -> Result<(), String> {
        let [upper, work] = layers.each_ref().map(Grant::of);
        let view = View {
            root: root.path.clone(),
            upper: upper.map_err(|cause| cause.to_string())?,
            work: work.map_err(|cause| cause.to_string())?,
        };
        let profile = OSProfile { writable: vec![root], views: vec![view], user, ..OSProfile::nothing() };
        let mut spec = Spec::new(test_program()?, "/");
        spec.limits.wall = Some(Duration::from_secs(20));
        match launch_in_sandbox(self, &profile, &spec, &Stop::new()) {
            Ok(run) if run.finished.end == End::Exited(0) => Ok(()),
            Ok(run) => Err(format!("a program on a view ended with {:?}", run.finished.end)),
            Err(LaunchError::Sandbox { step, cause }) => Err(format!("{step} failed: {cause}")),
            Err(cause) => Err(cause.to_string()),
        }
    }
}

fn other(doing: impl Into<String>) -> impl FnOnce(io::Error) -> NoView {
    let doing = doing.into();
    move |cause| NoView::Other(format!("{doing} failed: {cause}"))
}

/// A new folder for the layers of tests. Dropping it removes it.
struct TestFolder {
    path: PathBuf,
    user: User,
}

impl TestFolder {
    fn new(layers: &Path, user: User) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = layers.join(format!(".view-test-{}-{number}", std::process::id()));
        create(&path, user)?;
        Ok(Self { path, user })
    }

    fn folder(&self, name: &str) -> Result<PathBuf, NoView> {
        let path = self.path.join(name);
        create(&path, self.user).map_err(other("creating a folder"))?;
        Ok(path)
    }

    fn layers(&self, name: &str) -> Result<[PathBuf; 2], NoView> {
        Ok([self.folder(&format!("upper-{name}"))?, self.folder(&format!("work-{name}"))?])
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        for work in ["work-1", "work-2"] {
            for name in ["work", "work/incompat", "work/incompat/volatile"] {
                let folder = self.path.join(work).join(name);
                // The kernel creates these folders without any rights. They are missing if the test failed.
                let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
            }
        }
        // A folder that cannot be removed is empty and does no harm.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn create(path: &Path, user: User) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)?;
    match user {
        User::Same => Ok(()),
        User::Other { user, group } => std::os::unix::fs::lchown(path, Some(user), Some(group)),
    }
}

/// Returns the first mount strictly inside a folder.
fn mount_inside(root: &Path) -> io::Result<Option<PathBuf>> {
    let mounts = fs::read("/proc/thread-self/mountinfo")?;
    let mut points = mounts.split(|byte| *byte == b'\n').filter_map(mount_point);
    Ok(points.find(|point| point.starts_with(root) && point != root))
}

/// The mount point in a line of `mountinfo`, where the kernel writes special bytes as octal numbers.
fn mount_point(line: &[u8]) -> Option<PathBuf> {
    let mut rest = line.split(|byte| *byte == b' ').nth(4)?;
    let mut path = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        let digits = if *first == b'\\' { after.split_first_chunk::<3>() } else { None };
        let value = digits.and_then(|(digits, _)| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        match (value, digits) {
            (Some(value), Some((_, after))) => {
                path.push(value);
                rest = after;
            }
            _ => {
                path.push(*first);
                rest = after;
            }
        }
    }
    Some(std::ffi::OsString::from_vec(path).into())
}

fn is_overlay(path: &Path) -> bool {
    sys::c_path(path).and_then(|path| sys::file_system(&path)).is_ok_and(|kind| kind == sys::OVERLAY)
}

/// Parses the first two numbers of a kernel release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
#[path = "view_check/tests.rs"]
mod tests;
