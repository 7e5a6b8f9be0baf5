//! From change sets to effects: what each changed path is called, and how much it matters.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use askfirst::{Approval, ChangedPath, Digest, Effects, PathChange, PathLevel, RunFact};
use askfirst_changes::{Change, ChangeKind, Object, ObjectKind, SpecialProperty};
use askfirst_config::Config;
use askfirst_display::escape::escaped_line;
use askfirst_files::RootView;
use askfirst_shell::{FileLevel, Roots as _, protection};

use crate::changed_root::ChangedRoot;
use crate::git_objects::GitObjects;
use crate::ignore_rules::{IgnoreRules, read_rules};
use crate::rehearsals::{Rehearsals, is_product, keep_limits};
use crate::repositories::{Repositories, is_derived};
use crate::views::CollectedView;

/// The reason to show a path that git ignores.
const IGNORED: &str = "git ignores it, so git does not show the change";

/// Returns the effects of changes in some roots.
pub(crate) fn of(
    roots: &[ChangedRoot<'_>],
    ground: &RootView<'_>,
    config: &Config,
    facts: Vec<RunFact>,
    undo_obstacle: Option<&str>,
) -> Effects {
    let mut changes = Vec::new();
    for view in roots {
        let folders: BTreeSet<&Path> =
            view.changes.changes().filter_map(|change| change.path().parent()).collect();
        let ignored = IgnoreRules::new(view.path, folders, |path| versions(view, path));
        let repositories = Repositories::new(view);
        // Only where undo cannot restore a file does it matter whether git can.
        let git = undo_obstacle.and_then(|_| GitObjects::of(view.path));
        let classifier = PathClassifier { view, ground, ignored, repositories, git, config };
        changes.extend(view.changes.changes().map(|change| classifier.at(change)));
    }
    let parts: Vec<[u8; 32]> = roots.iter().map(|view| *view.changes.digest().as_bytes()).collect();
    let digest = Digest::of_parts(parts.iter().map(|part| &part[..]));
    Effects { digest, changes, facts }
}

/// Returns the new folder that holds all changes, if git ignores it and nothing else is to say about any of them.
pub(crate) fn new_product(views: &[CollectedView], changes: &[ChangedPath]) -> Option<PathBuf> {
    let is_ignored = |changed: &ChangedPath| match &changed.level {
        PathLevel::Shown(why) => **why == *IGNORED,
        PathLevel::Ordinary | PathLevel::Never(_) => false,
    };
    let mut changed = views.iter().filter(|view| !view.changes.is_empty());
    let (Some(view), None) = (changed.next(), changed.next()) else { return None };
    // The folder itself comes before its content.
    let folder = view.changes.changes().min_by_key(|change| change.path().components().count())?;
    let is_new = folder.before.is_none() && folder.after.as_ref().is_some_and(Object::is_folder);
    let is_inside = view.changes.changes().all(|change| change.path().starts_with(folder.path()));
    (is_new && is_inside && changes.iter().all(is_ignored)).then(|| view.path.join(folder.path()))
}

/// A file of the real folder, and its new version if it changes.
fn versions(view: &ChangedRoot<'_>, path: &Path) -> Vec<String> {
    let old = view.open_old(path).map(|file| Box::new(File::from(file)) as Box<dyn Read>);
    [old, view.open_new(path)].into_iter().flatten().filter_map(read_rules).collect()
}

struct PathClassifier<'a, 'r> {
    view: &'a ChangedRoot<'r>,
    ground: &'a RootView<'a>,
    ignored: IgnoreRules,
    repositories: Repositories,
    git: Option<GitObjects>,
    config: &'a Config,
}

impl PathClassifier<'_, '_> {
    fn at(&self, change: &Change) -> ChangedPath {
        let real = self.view.path.join(change.path());
        let governed = self.ground.governs(&real);
        let write = match &governed {
            Some(governed) if governed.writable => governed.write,
            Some(_) | None => Approval::Deny,
        };
        ChangedPath {
            path: label(&real, self.ground.folder()),
            change: kind_of(change),
            level: self.level(change, &real),
            write,
            because: governed.map(|governed| governed.origin.clone()),
            is_in_git: self.is_in_git(change),
        }
    }

    /// Whether git can restore what a change replaces.
    fn is_in_git(&self, change: &Change) -> bool {
        let restores = |git: &GitObjects| {
            self.view.open_old(change.path()).is_some_and(|file| git.restores(change.path(), file))
        };
        // The files in a folder decide about it.
        change.before.as_ref().is_some_and(Object::is_folder) || self.git.as_ref().is_some_and(restores)
    }

    fn level(&self, change: &Change, real: &Path) -> PathLevel {
        let shown = |why: String| PathLevel::Shown(why.into());
        let is_folder = |object: &Option<Object>| object.as_ref().is_some_and(Object::is_folder);
        let is_folder = is_folder(&change.after) || (change.after.is_none() && is_folder(&change.before));
        // The files in a folder decide about it.
        let requested = self.view.requested.get(change.path()).map(PathBuf::as_path);
        let names = [Some(real), requested].into_iter().flatten().filter(|_| !is_folder);
        let listed = names.filter_map(|name| protection(&self.listed_path(change, name)));
        let listed = listed.max_by_key(|(level, _)| *level);
        // A new time alone changes nothing that a program reads: `git branch -d` writes `.git/config` as it was.
        if matches!(change.kind(), ChangeKind::Times | ChangeKind::Unchanged) && change.special().is_empty() {
            return PathLevel::Ordinary;
        }
        let never = || match listed {
            Some((FileLevel::Never, ref why)) => Some(why.clone()),
            Some((FileLevel::Ordinary | FileLevel::Shown, _)) | None => None,
        };
        if let Some(why) = self.ground.never_write(real).filter(|_| !is_folder).or_else(never) {
            return match self.is_in_new_repository(change.path()) {
                true => shown("it belongs to a new git repository".to_owned()),
                false => PathLevel::Never(why.into()),
            };
        }
        // A view gives a changed file an inode of its own, so its other names keep the old content, whatever they are.
        let is_product = is_product(self.config, real);
        let has_names = |object: &Object| object.kind == ObjectKind::File && object.links > 1;
        if change.kind() == ChangeKind::Content
            && change.before.as_ref().is_some_and(has_names)
            && change.special().is_empty()
            && !is_product
            && !change.path().starts_with(".git/objects")
        {
            return shown("it has another name, which would keep the old content".to_owned());
        }
        if !is_folder && self.view.protected.iter().any(|protected| real.starts_with(protected)) {
            return PathLevel::Never("it can run or control programs".into());
        }
        let special = change.special();
        let gives_privileges = |special: &&SpecialProperty| {
            matches!(special, SpecialProperty::SetId | SpecialProperty::Capabilities)
        };
        if let Some(privileged) = special.iter().find(gives_privileges) {
            return PathLevel::Never(special_words(*privileged).into());
        }
        if let Some(first) = special.first() {
            return shown(special_words(*first).to_owned());
        }
        if change.path().to_str().is_none_or(|path| path.chars().any(is_hidden)) {
            return shown("its name has characters that a screen does not show".to_owned());
        }
        if let Some(level) = self.repositories.level(change.path()) {
            return level;
        }
        if let Some((FileLevel::Shown, why)) = listed
            && !is_derived(change.path())
        {
            return shown(why);
        }
        if !is_product && self.ignored.ignores(change.path(), is_folder) {
            return shown(IGNORED.to_owned());
        }
        match &change.after {
            Some(after) => self.level_of_content(change, after, real).map_or(PathLevel::Ordinary, shown),
            None => PathLevel::Ordinary,
        }
    }

    /// The path for the list of files: from the folder of the config, or from the folder above a root elsewhere.
    fn listed_path(&self, change: &Change, real: &Path) -> PathBuf {
        match (real.strip_prefix(self.ground.folder()), self.view.path.file_name()) {
            (Ok(path), _) => path.to_owned(),
            (Err(_), Some(name)) => Path::new(name).join(change.path()),
            (Err(_), None) => change.path().to_owned(),
        }
    }

    fn level_of_content(&self, change: &Change, after: &Object, real: &Path) -> Option<String> {
        match &after.kind {
            ObjectKind::Link(target) => self
                .leads_outside(target, real)
                .then(|| "it is a link that leads out of the folder".to_owned()),
            // Build output may contain programs. An object of the repository is none, whatever it begins with.
            ObjectKind::File if is_product(self.config, real) => None,
            ObjectKind::File if change.path().starts_with(".git") => None,
            ObjectKind::File if after.mode & 0o111 != 0 => Some("it is a program".to_owned()),
            ObjectKind::File => {
                let changed =
                    matches!(change.kind(), ChangeKind::Added | ChangeKind::Content | ChangeKind::Kind);
                (changed && self.is_script(change.path())).then(|| "it is a script".to_owned())
            }
            ObjectKind::Folder | ObjectKind::Device | ObjectKind::Pipe | ObjectKind::Socket => None,
        }
    }

    /// Whether a path is in a `.git` folder that this run created.
    fn is_in_new_repository(&self, path: &Path) -> bool {
        let repository = path.ancestors().find(|above| above.file_name().is_some_and(|name| name == ".git"));
        let is_new = |at: &Path| {
            let own = self.view.changes.changes().find(|change| change.path() == at);
            own.is_some_and(|change| {
                change.before.is_none() && change.after.as_ref().is_some_and(Object::is_folder)
            })
        };
        repository.is_some_and(is_new)
    }

    fn is_script(&self, path: &Path) -> bool {
        let Some(mut file) = self.view.open_new(path) else { return true };
        let mut start = [0; 2];
        file.read_exact(&mut start).is_ok() && start == *b"#!"
    }

    /// Whether a link leads out of the folder, or may: links on its way are not followed.
    fn leads_outside(&self, target: &[u8], real: &Path) -> bool {
        use std::os::unix::ffi::OsStrExt;
        let target = Path::new(std::ffi::OsStr::from_bytes(target));
        let mut led = real.parent().unwrap_or(real).to_owned();
        let mut has_named = false;
        for part in target.components() {
            match part {
                // The folder that it climbs out of may itself be a link to elsewhere.
                Component::ParentDir if has_named || !led.pop() => return true,
                Component::ParentDir | Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => led = PathBuf::from("/"),
                Component::Normal(name) => {
                    has_named = true;
                    led.push(name);
                }
            }
        }
        !led.starts_with(self.view.path)
    }
}

fn kind_of(change: &Change) -> PathChange {
    match change.kind() {
        ChangeKind::Added => PathChange::Added,
        ChangeKind::Removed => PathChange::Removed,
        ChangeKind::Kind | ChangeKind::Content => PathChange::Changed,
        ChangeKind::Attributes | ChangeKind::Times | ChangeKind::Unchanged => PathChange::Attributes,
    }
}

/// The name of a path for a person: relative to the folder of the config, with escapes. Two paths never get one name.
pub(crate) fn label(real: &Path, folder: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let short = real.strip_prefix(folder).unwrap_or(real).as_os_str();
    let mut name = String::new();
    for chunk in short.as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' => name.push_str("\\\\"),
                letter if letter.is_control() => name.extend(letter.escape_default()),
                letter => name.push_str(&escaped_line(letter.encode_utf8(&mut [0; 4]))),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(name, "\\x{byte:02x}");
        }
    }
    if name.is_empty() { ".".to_owned() } else { name }
}

fn is_hidden(letter: char) -> bool {
    letter.is_control() || (!letter.is_ascii() && !letter.is_alphanumeric())
}

fn special_words(special: SpecialProperty) -> &'static str {
    match special {
        SpecialProperty::Device => "it is a device",
        SpecialProperty::Pipe => "it is a named pipe",
        SpecialProperty::Socket => "it is a socket",
        SpecialProperty::SetId => "it runs with the rights of its owner or group for every user",
        SpecialProperty::Capabilities => "it gives privileges to everyone who starts it",
        SpecialProperty::Attributes => "it has new extended attributes",
        SpecialProperty::Owner => "it gets another owner",
        SpecialProperty::LinkedElsewhere => "it has another name outside these changes",
        SpecialProperty::Unreadable => "it cannot be read",
    }
}

/// Why undo could not keep more.
pub(crate) const NO_ROOM: &str = "`undo.size` is used up by changes that only undo can restore";

impl Rehearsals {
    /// Why undo could not keep what a commit replaces.
    pub(crate) fn undo_obstacle(&self, views: &[CollectedView]) -> Option<Arc<str>> {
        let bytes = views.iter().map(|view| view.changes.replaced_bytes()).fold(0_u64, u64::saturating_add);
        if bytes == 0 {
            return None;
        }
        match self.store.would_fit(bytes, &keep_limits(&self.config), std::time::SystemTime::now()) {
            Ok(true) => None,
            Ok(false) => Some(NO_ROOM.into()),
            Err(error) => Some(error.to_string().into()),
        }
    }
}

#[cfg(test)]
#[path = "effects/tests.rs"]
mod tests;
