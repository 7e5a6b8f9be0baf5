//! Finds what the programs on `PATH` need to start: their folders, the installations that they belong to, the targets of
//! links, and the interpreters of scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::fence::{Fence, HiddenReason, is_system};
use super::is_real;
use super::layout::{self, Installation};
use super::listing::{self, FolderEntry, Folders};
use super::trace::{Trace, trace};
use crate::reading::read;

/// The maximum number of entries of `PATH` that are examined.
const MAX_ENTRIES: usize = 512;
/// The maximum number of files and folders that are shown. Each takes time before every command.
const MAX_SHOWN: usize = 256;
/// The maximum number of files that are shown one by one, in a folder that also has folders.
const MAX_FILES: usize = 128;
/// The maximum number of links and interpreters that are followed.
const MAX_FOLLOWED: usize = 4_096;
/// How many steps lead from a program on `PATH` to something that it needs: a link, an interpreter, a base of an environment.
const MAX_STEPS: usize = 8;

/// The findings so far.
pub(super) struct Scan<'a> {
    fence: &'a Fence,
    /// The files and folders to show, without links.
    pub(super) shown: BTreeSet<PathBuf>,
    /// Names in them that stay hidden.
    pub(super) denied: BTreeSet<PathBuf>,
    /// Links outside the shown folders, each with its target without links.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    /// The paths that stay hidden, as `PATH` or a link names them.
    pub(super) hidden: BTreeMap<PathBuf, HiddenReason>,
    /// Those of the shown paths that the config names.
    pub(super) named: BTreeSet<PathBuf>,
    /// The environment variables that programs need to find their folders.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The folders that were listed.
    pub(super) folders: Folders,
    /// The entries of `PATH` whose programs were examined.
    pub(super) searched: BTreeSet<PathBuf>,
    /// The number of paths that were followed.
    followed: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(fence: &'a Fence) -> Self {
        Self {
            fence,
            shown: BTreeSet::new(),
            denied: BTreeSet::new(),
            links: BTreeMap::new(),
            hidden: BTreeMap::new(),
            named: BTreeSet::new(),
            variables: Vec::new(),
            folders: Folders::default(),
            searched: BTreeSet::new(),
            followed: 0,
        }
    }

    /// Examines the entries of `PATH`, in order.
    pub(super) fn search_path(&mut self, entries: &[PathBuf]) {
        for (number, entry) in entries.iter().enumerate() {
            let found = match number < MAX_ENTRIES {
                true => self.search_entry(entry),
                false => Err(HiddenReason::TooMany),
            };
            if let Err(reason) = found {
                self.hidden.insert(entry.clone(), reason);
            }
        }
    }

    fn search_entry(&mut self, entry: &Path) -> Result<(), HiddenReason> {
        if !entry.is_absolute() || entry.components().any(|part| part.as_os_str() == "..") {
            return Err(HiddenReason::Relative);
        }
        let Some(found) = trace(entry, self.fence)? else { return Ok(()) };
        if !found.real.is_dir() {
            return Ok(());
        }
        // A root is as readable as the config says. A process could have written what is in it, so nothing follows from it.
        let is_in_root = self.fence.root_around(&found.real).is_some();
        if !is_in_root && !is_system(&found.real) {
            match layout::around(&found.real, self.fence) {
                Some(installation) => self.show_installation(installation, 0)?,
                None => match self.show_programs(&found.real) {
                    // The config names it.
                    Err(_) if self.is_shown(&found.real) => {}
                    shown => shown?,
                },
            }
        }
        if !is_in_root && self.searched.insert(found.real.clone()) {
            self.search_links(&found.real, 0);
            self.search_managers(&found.real);
        }
        Ok(())
    }

    /// Shows a path that the config names.
    pub(super) fn show_named(&mut self, path: &Path) {
        let shown = match (is_real(path), self.fence.forbids(path)) {
            (false, _) => Err(HiddenReason::Gone),
            (true, Some(reason)) => Err(reason),
            (true, None) => self.show_searched(path).or_else(|reason| match reason {
                HiddenReason::Unsearchable => {
                    self.deny_secrets(path);
                    self.show(path)
                }
                reason => Err(reason),
            }),
        };
        match shown {
            Ok(()) => drop(self.named.insert(path.to_owned())),
            Err(reason) => drop(self.hidden.insert(path.to_owned(), reason)),
        }
    }

    /// Shows a folder that belongs to no installation.
    fn show_programs(&mut self, folder: &Path) -> Result<(), HiddenReason> {
        if let Some(reason) = self.fence.refuses(folder) {
            return Err(reason);
        }
        let found = fs::metadata(folder).map_err(|_| HiddenReason::Unsearchable)?;
        if found.permissions().mode() & 0o002 != 0 {
            return Err(HiddenReason::OpenToEveryone);
        }
        // A folder directly below `/` contains more than programs.
        if folder.components().count() < 3 {
            return Err(HiddenReason::Collection);
        }
        let entries = self.folders.list(folder).ok_or(HiddenReason::Unsearchable)?;
        let files: Vec<PathBuf> =
            entries.iter().filter(|entry| entry.is_program()).map(|entry| entry.path.clone()).collect();
        let is_program = |link: &Path| link.metadata().is_ok_and(|found| listing::is_program(&found));
        let mut links = entries.iter().filter(|entry| entry.is_link());
        if files.is_empty() && !links.any(|link| is_program(&link.path)) {
            return Err(HiddenReason::NoProgram);
        }
        self.show_top(folder, &entries)?;
        for script in files {
            self.search_interpreter(&script, 0);
        }
        Ok(())
    }

    /// Shows the files and links of a folder. The folders in it stay hidden, except for what a link or a script needs: they
    /// may be projects.
    fn show_top(&mut self, folder: &Path, entries: &[FolderEntry]) -> Result<(), HiddenReason> {
        if self.is_shown(folder) {
            return Ok(());
        }
        let hidden = listing::hidden(folder, entries, self.fence);
        let folders = entries.iter().filter(|entry| entry.is_folder() && !hidden.contains(&entry.path));
        let folders: Vec<PathBuf> = folders.map(|entry| entry.path.clone()).collect();
        let is_shown = |entry: &&FolderEntry| entry.is_file() && !hidden.contains(&entry.path);
        let files: Vec<&FolderEntry> = entries.iter().filter(is_shown).collect();
        if hidden.len() > listing::MAX_HIDDEN {
            return Err(HiddenReason::Unsearchable);
        }
        self.denied.extend(hidden);
        match folders.len() {
            0 => return self.show(folder),
            // So many files would take too long before every command. Then links into these folders lead nowhere.
            count if files.len() > MAX_FILES && count <= listing::MAX_HIDDEN => {
                self.denied.extend(folders);
                return self.show(folder);
            }
            _ if files.len() > MAX_FILES => return Err(HiddenReason::Unsearchable),
            _ => {}
        }
        files.iter().try_for_each(|file| self.show(&file.path))?;
        // No program is started by a link to a folder.
        let is_wanted =
            |entry: &&FolderEntry| entry.is_link() && entry.path.is_file() && !self.fence.hides(&entry.path);
        let links: Vec<PathBuf> = entries.iter().filter(is_wanted).map(|entry| entry.path.clone()).collect();
        links.iter().for_each(|link| self.follow(link, 0));
        Ok(())
    }

    /// Shows a file, or a folder except for the names in it that stay hidden.
    fn show_searched(&mut self, path: &Path) -> Result<(), HiddenReason> {
        let hidden = self.folders.search(path, self.fence).ok_or(HiddenReason::Unsearchable)?;
        self.show(path)?;
        self.denied.extend(hidden);
        Ok(())
    }

    fn show(&mut self, path: &Path) -> Result<(), HiddenReason> {
        if self.is_shown(path) {
            return Ok(());
        }
        if self.shown.len() >= MAX_SHOWN {
            return Err(HiddenReason::TooMany);
        }
        self.shown.insert(path.to_owned());
        Ok(())
    }

    fn is_shown(&self, path: &Path) -> bool {
        is_system(path) || path.ancestors().any(|above| self.shown.contains(above))
    }

    pub(super) fn note_links(&mut self, links: Vec<(PathBuf, PathBuf)>) {
        self.links.extend(links.into_iter().filter(|(link, _)| !is_system(link)));
    }

    /// Shows the parts of an installation, and what its programs need outside it.
    fn show_installation(&mut self, found: Installation, steps: usize) -> Result<(), HiddenReason> {
        let Installation { root, parts } = found;
        let is_known = parts.iter().any(|part| self.shown.contains(part));
        if is_known || steps > MAX_STEPS {
            return Ok(());
        }
        self.deny_secrets(&root);
        for part in parts {
            match part.is_symlink() {
                true => self.follow(&part, steps + 1),
                false => self.show(&part)?,
            }
            if part.file_name().is_some_and(|name| layout::COLLECTIONS.iter().any(|other| name == *other)) {
                self.search_collection(&part, steps + 1);
            }
        }
        self.search_links(&root.join("bin"), steps + 1);
        // A virtual environment starts the Python that it was made from.
        let settings = read(&root.join("pyvenv.cfg")).ok().flatten().unwrap_or_default();
        let settings = String::from_utf8_lossy(&settings).into_owned();
        let base = settings.lines().filter_map(|line| line.split_once('='));
        for (_, base) in base.filter(|(name, _)| name.trim() == "home") {
            self.follow(Path::new(base.trim()), steps + 1);
        }
        Ok(())
    }

    /// Hides the secrets at the top of an installation. Deeper names belong to the software, as those in `/usr` do.
    fn deny_secrets(&mut self, root: &Path) {
        const SETTINGS: [&str; 3] = ["pip.conf", "npmrc", ".condarc"];
        for folder in [root.to_owned(), root.join("etc")] {
            let names = self.folders.list(&folder).unwrap_or_default().into_iter().map(|entry| entry.path);
            let is_settings =
                |path: &Path| SETTINGS.iter().any(|name| path.file_name() == Some(name.as_ref()));
            self.denied.extend(names.filter(|path| is_settings(path) || self.fence.hides(path)));
        }
    }

    /// Examines a folder of installations: links may lead to others elsewhere.
    fn search_collection(&mut self, folder: &Path, steps: usize) {
        for entry in self.folders.list(folder).unwrap_or_default() {
            match entry.is_link() {
                true => self.follow(&entry.path, steps),
                false => self.deny_secrets(&entry.path),
            }
        }
    }

    /// Follows the links in a folder of programs that lead out of what is shown.
    fn search_links(&mut self, folder: &Path, steps: usize) {
        for entry in self.folders.list(folder).unwrap_or_default().into_iter().filter(|entry| entry.is_link())
        {
            let Ok(mut to) = fs::read_link(&entry.path) else { continue };
            // `/usr/bin` has many links. Only those that leave the system's folders are worth following.
            if to.starts_with("/etc/alternatives") {
                to = fs::read_link(&to).unwrap_or(to);
            }
            let is_beside = !to.is_absolute() && !to.iter().any(|part| part == "..");
            let is_near = to.strip_prefix("..").is_ok_and(|rest| !rest.iter().any(|part| part == ".."));
            let stays = is_beside
                || is_near && folder.parent().is_some_and(is_system)
                || is_system(&to) && !to.starts_with("/etc");
            if !stays {
                self.follow(&entry.path, steps);
            }
        }
    }

    /// Shows what a path leads to, and what that needs.
    fn follow(&mut self, path: &Path, steps: usize) {
        self.followed += 1;
        if steps > MAX_STEPS || !path.is_absolute() {
            return;
        }
        if self.followed > MAX_FOLLOWED {
            self.hidden.insert(path.parent().unwrap_or(path).to_owned(), HiddenReason::TooMany);
            return;
        }
        let followed = trace(path, self.fence).and_then(|found| match found {
            Some(Trace { real, links }) => {
                self.show_target(&real, steps)?;
                self.note_links(links);
                Ok(())
            }
            None => Ok(()),
        });
        if let Err(reason) = followed {
            self.hidden.insert(path.to_owned(), reason);
        }
    }

    fn show_target(&mut self, real: &Path, steps: usize) -> Result<(), HiddenReason> {
        if self.is_shown(real) {
            return Ok(());
        }
        if let Some(root) = self.fence.root_around(real) {
            // Everything in a root is as readable as the config says.
            return if real.exists() { Ok(()) } else { Err(HiddenReason::Root(root.clone())) };
        }
        if let Some(installation) = layout::around(real, self.fence) {
            return self.show_installation(installation, steps);
        }
        if let Some(reason) = self.fence.refuses(real) {
            return Err(reason);
        }
        // A script of Node needs the packages next to it.
        let packages =
            real.ancestors().filter(|above| above.file_name().is_some_and(|name| name == "node_modules"));
        if let Some(packages) = packages.last().filter(|packages| self.fence.refuses(packages).is_none()) {
            return self.show_searched(packages).or_else(|reason| match (reason, package(real)) {
                // There is too much to search. A program with all its packages in one folder still starts.
                (HiddenReason::Unsearchable, Some(package)) => self.show_searched(&package),
                (reason, _) => Err(reason),
            });
        }
        let found = fs::metadata(real).map_err(|_| HiddenReason::Unsearchable)?;
        if !listing::is_program(&found) {
            return Err(HiddenReason::NoProgram);
        }
        self.show(real)?;
        self.search_interpreter(real, steps + 1);
        Ok(())
    }

    /// Shows the interpreter that the first line of a script names.
    fn search_interpreter(&mut self, script: &Path, steps: usize) {
        if let Some(interpreter) = listing::interpreter(script).filter(|path| !is_system(path)) {
            self.follow(&interpreter, steps + 1);
        }
    }

    /// Shows the folders of managers whose programs start others: rustup, uv, and pip with `--user`.
    fn search_managers(&mut self, folder: &Path) {
        let is_there =
            |name: &str| folder.join(name).metadata().is_ok_and(|found| listing::is_program(&found));
        let home = self.fence.home.clone();
        let own = |path: &str| home.as_ref().map(|home| home.join(path));
        if is_there("rustup") {
            let beside = folder.parent().and_then(|cargo| {
                let name = cargo.file_name()?.to_str()?.replace("cargo", "rustup");
                Some(cargo.parent()?.join(name))
            });
            let usual = own(".rustup");
            let mut all = usual.iter().chain(&beside);
            if let Some(root) = all.find(|root| root.join("toolchains").is_dir()).cloned() {
                self.show_parts(&root, &["toolchains", "settings.toml"]);
                if usual.as_ref() != Some(&root) {
                    self.variables.push(("RUSTUP_HOME".into(), root.into()));
                }
            }
        }
        if let Some(root) = own(".local/share/uv").filter(|_| is_there("uv")) {
            self.show_parts(&root, &["python"]);
        }
        if let Some(libraries) = own(".local/lib").filter(|_| own(".local/bin").as_deref() == Some(folder)) {
            let entries = self.folders.list(&libraries).unwrap_or_default();
            let names = entries.iter().filter_map(|entry| entry.path.file_name()?.to_str());
            let names: Vec<&str> = names.filter(|name| name.starts_with("python")).collect();
            self.show_parts(&libraries, &names);
        }
    }

    /// Shows parts of a folder that no link leads to, and follows the links in them.
    fn show_parts(&mut self, root: &Path, parts: &[&str]) {
        for part in parts.iter().map(|part| root.join(part)) {
            let shown = match trace(&part, self.fence) {
                Ok(Some(found)) => {
                    let reason = self.fence.refuses(&found.real);
                    let shown = reason.map_or(Ok(()), Err).and_then(|()| self.show(&found.real));
                    self.note_links(found.links);
                    self.search_collection(&found.real, 1);
                    shown
                }
                Ok(None) => Ok(()),
                Err(reason) => Err(reason),
            };
            if let Err(reason) = shown {
                self.hidden.insert(part, reason);
            }
        }
    }
}

/// The package of Node that contains a path: the folder in the innermost `node_modules`, or below its scope.
fn package(path: &Path) -> Option<PathBuf> {
    let packages =
        path.ancestors().find(|above| above.file_name().is_some_and(|name| name == "node_modules"))?;
    let mut names = path.strip_prefix(packages).ok()?.iter();
    let name = names.next()?;
    let package = packages.join(name);
    let is_scope = name.to_str().is_some_and(|name| name.starts_with('@'));
    Some(if is_scope { package.join(names.next()?) } else { package })
}
