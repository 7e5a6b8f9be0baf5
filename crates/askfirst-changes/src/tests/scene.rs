//! A small root with a hand-made upper layer that has every kind of change, for tests with faults.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{CWD, FileType, Mode, XattrFlags};

use crate::disk::Disk;
use crate::{
    ChangeError, ChangeStore, CollectLimits, CommitOptions, Durability, PendingCommit, RootId, SpecialFiles,
    collect,
};

pub(super) fn open(path: &Path) -> OwnedFd {
    File::open(path).unwrap().into()
}

/// Where the upper layer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    /// In the store, so that objects move.
    Own,
    /// Elsewhere, so that objects are copied.
    Other,
}

/// A folder in memory if possible: a killed process loses nothing that a slow disk would keep.
pub(super) fn quick_folder() -> QuickFolder {
    QuickFolder(tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap()))
}

/// A temporary folder that an ordinary user can remove, whatever the permissions in it.
pub(super) struct QuickFolder(tempfile::TempDir);

impl QuickFolder {
    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for QuickFolder {
    fn drop(&mut self) {
        make_removable(self.path());
    }
}

pub(super) fn make_removable(folder: &Path) {
    let _ = Command::new("chmod").args(["-R", "u+rwX"]).arg(folder).status();
}

/// A folder with a root, a state folder and an upper layer elsewhere.
pub(super) struct Scene(pub(super) PathBuf);

impl Scene {
    pub(super) fn make(folder: &Path) -> Self {
        let scene = Self(folder.to_owned());
        for name in ["root", "state", "elsewhere"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let root = scene.root();
        for name in ["keep", "change", "remove", "kind", "mode", "times"] {
            fs::write(root.join(name), format!("old {name}")).unwrap();
        }
        for name in ["gone/in/deep", "opaque/old", "merged/a", "shut/b", "closed/c"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("old {name}")).unwrap();
        }
        symlink("keep", root.join("link")).unwrap();
        mode(&root.join("shut"), 0o555);
        mode(&root.join("closed"), 0o500);
        scene
    }

    pub(super) fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    pub(super) fn store(&self) -> Result<ChangeStore, ChangeError> {
        ChangeStore::on_disk(Disk::new(super::fault::step), open(&self.0.join("state")))
    }

    pub(super) fn upper(&self, pending: &PendingCommit, layer: Layer) -> PathBuf {
        match layer {
            Layer::Own => self.0.join("state/commits").join(pending.id()).join("upper"),
            Layer::Other => self.0.join("elsewhere"),
        }
    }

    /// Makes an upper layer with every kind of change.
    pub(super) fn fill(&self, upper: &Path) {
        let (root, old) = (self.root(), |name: &str| format!("old {name}"));
        mode(upper, fs::metadata(&root).unwrap().permissions().mode());
        for name in ["remove", "gone"] {
            whiteout(&upper.join(name));
        }
        for name in ["change", "added"] {
            fs::write(upper.join(name), format!("new {name}")).unwrap();
        }
        mark(&upper.join("change"), "user.overlay.origin", b"");
        fs::create_dir(upper.join("kind")).unwrap();
        fs::write(upper.join("kind/inside"), "new").unwrap();
        fs::write(upper.join("mode"), old("mode")).unwrap();
        times_of(&root.join("mode"), &upper.join("mode"));
        mode(&upper.join("mode"), 0o755);
        fs::write(upper.join("times"), old("times")).unwrap();
        set_time(&upper.join("times"), 1_000_000_000);
        fs::create_dir(upper.join("opaque")).unwrap();
        fs::write(upper.join("opaque/new"), "new").unwrap();
        mark(&upper.join("opaque"), "user.overlay.opaque", b"y");
        fs::create_dir_all(upper.join("whole/new/folder")).unwrap();
        fs::write(upper.join("whole/new/file"), "new").unwrap();
        fs::create_dir(upper.join("protected")).unwrap();
        fs::write(upper.join("protected/file"), "new").unwrap();
        mode(&upper.join("protected"), 0o555);
        fs::create_dir(upper.join("merged")).unwrap();
        fs::write(upper.join("merged/b"), "new").unwrap();
        whiteout(&upper.join("merged/a"));
        fs::create_dir(upper.join("shut")).unwrap();
        fs::write(upper.join("shut/b"), "new b").unwrap();
        mode(&upper.join("shut"), 0o555);
        fs::create_dir(upper.join("closed")).unwrap();
        fs::write(upper.join("closed/d"), "new d").unwrap();
        mode(&upper.join("closed"), 0o750);
        symlink("change", upper.join("link")).unwrap();
    }

    /// The options of most tests: what they test is not the disk.
    pub(super) fn options() -> CommitOptions {
        CommitOptions {
            durability: Durability::Kill,
            special: SpecialFiles::Approved,
            ..CommitOptions::default()
        }
    }

    /// Commits the upper layer, and returns the id.
    pub(super) fn commit(&self, layer: Layer) -> Result<String, ChangeError> {
        let (store, root) = (self.store()?, open(&self.root()));
        let pending = store.begin(&root)?;
        let upper = self.upper(&pending, layer);
        if layer == Layer::Own || fs::read_dir(&upper).unwrap().next().is_none() {
            self.fill(&upper);
        }
        let upper = open(&upper);
        let changes = collect(&root, &upper, &CollectLimits::default())?;
        pending.commit(&root, &upper, &changes, &Self::options())?;
        Ok(pending.id().to_owned())
    }

    /// Finishes what was left, as the next start does.
    pub(super) fn recover(&self) -> Result<(), ChangeError> {
        let root = |_: RootId| Some(open(&self.root()));
        for (id, result) in self.store()?.recover(root)? {
            if let crate::RecoveredCommit::Failed(error) = result {
                panic!("{id}: {error}");
            }
        }
        Ok(())
    }

    pub(super) fn tree(&self) -> Listing {
        tree(&self.root())
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o7777)).unwrap();
}

pub(super) fn whiteout(path: &Path) {
    rustix::fs::mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
}

pub(super) fn mark(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::lsetxattr(path, name, value, XattrFlags::empty()).unwrap();
}

pub(super) fn set_time(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    File::open(path).unwrap().set_modified(time).unwrap();
}

fn times_of(from: &Path, to: &Path) {
    let time = fs::metadata(from).unwrap().modified().unwrap();
    File::open(to).unwrap().set_modified(time).unwrap();
}

/// Kind and permissions, content and time by path.
pub(super) type Listing = BTreeMap<PathBuf, (u32, Vec<u8>, Option<std::time::SystemTime>)>;

pub(super) fn tree(root: &Path) -> Listing {
    let mut found = Listing::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let kind = meta.file_type();
            let content = if kind.is_dir() {
                waiting.push(path.clone());
                Vec::new()
            } else if kind.is_symlink() {
                fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
            } else if kind.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            let time = kind.is_file().then(|| meta.modified().unwrap());
            let relative = path.strip_prefix(root).unwrap().to_owned();
            found.insert(relative, (meta.permissions().mode(), content, time));
        }
    }
    found
}

/// The tree without the times, which a new layer does not repeat.
pub(super) fn timeless(tree: Listing) -> Listing {
    let past = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_500_000_000);
    let without =
        |(path, (mode, content, time)): (PathBuf, (u32, Vec<u8>, Option<std::time::SystemTime>))| {
            (path, (mode, content, time.filter(|time| *time < past)))
        };
    tree.into_iter().map(without).collect()
}
