//! The folders that programs on views see as `/tmp` and as the home. `/tmp` lasts as long as the session. Each run gets an
//! empty home, and askfirst throws it away after it has listed the files in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use askfirst_sandbox::{Grant, KeptFolder, OSProfile, User};

/// The start of the name of a folder that is being made.
const NEW: &str = "new-";

/// The most files in a thrown-away home that are counted.
const MAX_COUNTED: usize = 1_000;

/// The folders of one session. Dropping it removes them.
pub(crate) struct SessionFolders {
    folder: PathBuf,
    next: AtomicU64,
    /// Homes in which nothing was written, so that the next run can use them.
    clean: Arc<Mutex<Vec<PathBuf>>>,
    /// Locked as long as the session lives, so that others know when the folder may be removed.
    _lock: File,
}

/// The home of one run. Dropping it removes it, or leaves it to the next run if nothing was written.
pub(crate) struct RunHome {
    folder: PathBuf,
    /// Where the program sees it.
    at: PathBuf,
    mount_points: BTreeSet<PathBuf>,
    clean: Arc<Mutex<Vec<PathBuf>>>,
}

impl SessionFolders {
    /// Makes the folders of a session beneath the state folder, and removes those of sessions that are gone.
    pub(crate) fn new(state: &Path) -> io::Result<Self> {
        let all = state.join("scratch");
        make_private(&all)?;
        for entry in fs::read_dir(&all)?.flatten() {
            let lock = File::open(entry.path().join("lock"));
            let is_new = entry.file_name().as_encoded_bytes().starts_with(NEW.as_bytes());
            if !is_new && lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
                // The next session tries again to remove the rest.
                drop(fs::remove_dir_all(entry.path()));
            }
        }
        // Until it is locked, the folder has a name that no other session looks at.
        let name = new_name()?;
        let (new, folder) = (all.join(format!("{NEW}{name}")), all.join(name));
        make_private(&new)?;
        let lock = File::create_new(new.join("lock"))?;
        lock.lock()?;
        fs::rename(&new, &folder)?;
        Ok(Self { folder, next: AtomicU64::new(0), clean: Arc::default(), _lock: lock })
    }

    /// Puts the `/tmp` of the session and an empty home into a profile. `working` is the working folder of the program.
    pub(crate) fn add_to(&self, profile: &mut OSProfile, working: &Path) -> io::Result<Option<RunHome>> {
        let tmp = Path::new("/tmp");
        if profile.private.iter().any(|path| path == tmp) {
            let folder = self.folder.join("tmp");
            if !folder.is_dir() {
                make_private(&folder)?;
                fs::set_permissions(&folder, fs::Permissions::from_mode(0o1777))?;
                give_to(&folder, profile.user)?;
            }
            profile.kept.push(KeptFolder { at: tmp.to_owned(), folder: Grant::of(folder)? });
        }
        let Some(at) = profile.private.iter().find(|path| *path != tmp).cloned() else { return Ok(None) };
        let reused = self.clean.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let folder = match reused {
            Some(folder) => folder,
            None => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                let folder = self.folder.join(format!("home-{number}"));
                make_private(&folder)?;
                give_to(&folder, profile.user)?;
                folder
            }
        };
        profile.kept.push(KeptFolder { at: at.clone(), folder: Grant::of(&folder)? });
        let mount_points = profile.mount_points_in(&at, working);
        Ok(Some(RunHome { folder, at, mount_points, clean: Arc::clone(&self.clean) }))
    }
}

impl Drop for SessionFolders {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

impl RunHome {
    /// Whether nothing is in it but the places where something was mounted.
    fn is_clean(&self, below: &Path) -> bool {
        let Ok(entries) = fs::read_dir(self.folder.join(below)) else { return false };
        entries.into_iter().all(|entry| {
            let Ok(entry) = entry else { return false };
            let path = below.join(entry.file_name());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            self.mount_points.contains(&path) && (!is_folder || self.is_clean(&path))
        })
    }

    /// Says what a program wrote to its home, if it wrote something.
    pub(crate) fn lost(&self) -> Option<String> {
        let mut found = Vec::new();
        self.walk(Path::new(""), &mut found);
        let first = found.first()?;
        let more = match found.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "it wrote `{}`{more} outside every root, on a copy that is thrown away",
            self.at.join(first).display()
        ))
    }

    fn walk(&self, below: &Path, found: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(self.folder.join(below)) else { return };
        for entry in entries.flatten() {
            let path = below.join(entry.file_name());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if found.len() >= MAX_COUNTED {
                return;
            }
            if is_folder {
                self.walk(&path, found);
            } else if !self.mount_points.contains(&path) {
                found.push(path);
            }
        }
    }
}

impl Drop for RunHome {
    fn drop(&mut self) {
        if self.is_clean(Path::new("")) {
            self.clean.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.folder));
        } else {
            drop(fs::remove_dir_all(&self.folder));
        }
    }
}

/// Returns a name that no other process has.
pub(crate) fn new_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn give_to(folder: &Path, user: User) -> io::Result<()> {
    match user {
        User::Same => Ok(()),
        User::Other { user, group } => chown(folder, Some(user), Some(group)),
    }
}
