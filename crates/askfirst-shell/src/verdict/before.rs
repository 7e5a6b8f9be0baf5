//! What stands before a program in its line, and makes something else of what it uses.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use askfirst::Approval;

use super::{Class, Known, Reason, Start, Touched, Used};
use crate::file_level::{FileLevel, level_of};
use crate::glob::{Glob, Reach};
use crate::line::tree::Piece;
use crate::paths;
use crate::programs::is_python;
use crate::programs::used::Given;
use crate::world::World;

/// Programs that bring files from elsewhere, under names that are not told by their words.
const BRINGING: [&str; 32] = [
    "7z", "7za", "aria2c", "ar", "aws", "bsdtar", "cpio", "csplit", "curl", "docker", "gcloud", "gh", "git",
    "gsutil", "http", "jar", "kubectl", "lz4", "patch", "podman", "rsync", "scp", "sftp", "split", "sponge",
    "tar", "unar", "unzip", "uudecode", "wget", "wget2", "zstd",
];

/// Programs that make nothing but what their words say, and repositories that are as git makes them.
const MAKING: [&str; 12] =
    ["cd", "chmod", "echo", "export", "gh", "git", "ln", "mkdir", "printf", "rm", "rmdir", "touch"];

/// What git brings back or moves by name.
const RESTORING: [&str; 6] = ["checkout", "mv", "read-tree", "restore", "stash", "worktree"];

/// Programs that replace files under names that stand in what they read.
const REPLACING: [&str; 12] =
    ["7z", "7za", "bsdtar", "cpio", "hg", "jj", "patch", "sl", "svn", "tar", "unar", "unzip"];

#[derive(Debug, Default)]
pub(super) struct Before {
    /// Whether files may have come from elsewhere.
    brought: bool,
    /// Where those stand by which they came.
    bringers: Vec<Range<usize>>,
    /// Whether any file of the folder may have been replaced.
    replaced: bool,
    /// Whether by something that knows no repository, and so may replace what is in its own folder too.
    unpacked: bool,
    /// Whether something ran that may make any file.
    ran: bool,
    /// What came to lie somewhere, and may lead elsewhere.
    made: Vec<PathBuf>,
    /// Files that got their content.
    filled: Vec<PathBuf>,
    /// Those of them that came from another time or place of the repository.
    restored: Vec<PathBuf>,
    /// Whether a name was made that is an option, or several words, to whoever lists it.
    odd: bool,
    /// Whether a branch may be checked out whose name is an option.
    dashed: bool,
}

impl Before {
    /// Takes note of a program that stands before the others.
    pub(super) fn note(&mut self, start: &Start, touched: &mut Touched) {
        self.odd |= touched.odd;
        // What is moved or copied may have come by this line itself.
        let moves = |used: &Used| match used.program.as_str() {
            "cp" | "ln" | "link" | "mv" | "rsync" => true,
            "git" => used.subs.first().is_some_and(|sub| sub.name == "mv"),
            _ => false,
        };
        let came = self.replaced || !self.made.is_empty() || !self.restored.is_empty();
        if came && start.used.as_deref().is_some_and(moves) {
            self.made.extend(touched.written.iter().cloned());
        }
        self.made.append(&mut touched.made);
        let git = start.used.as_ref().filter(|used| used.program == "git");
        if git.and_then(|used| used.subs.first()).is_some_and(|sub| RESTORING.contains(&sub.name.as_str())) {
            self.restored.extend(touched.filled.iter().cloned());
        }
        let names = git.filter(|used| used.class != Class::Reads).into_iter().flat_map(|used| &used.operands);
        self.dashed |= names.filter_map(|operand| start.words.get(operand.word)).any(|word| {
            let text = paths::word_text(word);
            text.starts_with('-') || text.contains("/-") || text.contains("{-") || word.is_unknown()
        });
        self.filled.append(&mut touched.filled);
        let brings = start
            .used
            .as_ref()
            .is_some_and(|used| used.class != Class::Reads && BRINGING.contains(&used.program.as_str()));
        self.brought |= brings;
        self.bringers.extend(brings.then(|| start.span.clone()));
        self.replaced |= start.used.as_ref().is_some_and(|used| replaces(used, start));
        self.unpacked |= start
            .used
            .as_ref()
            .is_some_and(|used| used.class != Class::Reads && REPLACING.contains(&used.program.as_str()));
        self.ran |= start
            .used
            .as_ref()
            .is_some_and(|used| used.class != Class::Reads && !MAKING.contains(&used.program.as_str()));
    }

    /// Whether anything was noted that could hinder a program.
    pub(super) fn has_something(&self) -> bool {
        self.odd
            || self.dashed
            || self.brought
            || self.replaced
            || !self.made.is_empty()
            || !self.filled.is_empty()
    }

    /// What hinders a program that uses such things.
    pub(super) fn hinders(
        &self,
        start: &Start,
        touched: &Touched,
        order: Order,
        unclear: Approval,
        world: &dyn World,
    ) -> Option<Reason> {
        let mut uses = touched.read.iter().chain(&touched.kept);
        // What runs at the same time as itself is not counted against it.
        let copies = |used: &Used| !matches!(used.program.as_str(), "mkdir" | "rm" | "tee" | "touch");
        let counts = order == Order::Before || !start.used.as_deref().is_some_and(copies);
        let mut writes = touched.written.iter();
        // `cp x folder` follows a link of that name in it.
        let into = |used: &Used| matches!(used.program.as_str(), "cp" | "install" | "rsync");
        let inside = order == Order::Before && start.used.as_deref().is_some_and(into);
        let own = |used: &Used| matches!(used.program.as_str(), "git" | "mv" | "rm");
        let follows = counts && !start.used.as_deref().is_some_and(own);
        let written = counts && !touched.written.is_empty();
        let runs = start.used.as_ref().is_some_and(|used| used.class == Class::Runs);
        let changes = start.used.as_ref().is_some_and(|used| used.class != Class::Reads);
        // `./gradlew` runs what the project configures, as `npm test` does.
        let tool = start.used.as_ref().is_some_and(|used| used.path.is_some() && used.known == Known::Table);
        let below = |path: &PathBuf, tops: &[PathBuf]| tops.iter().any(|top| path.starts_with(top));
        let why = if uses.any(|path| below(path, &self.made)) || self.may_be_found(start, touched, written) {
            "this command uses a path that this line moves or copies first, and it may lead elsewhere"
        } else if writes
            .any(|path| self.made.iter().any(|made| (inside || path != made) && path.starts_with(made)))
        {
            "this command writes into a path that this line moves or copies first, and it may lead elsewhere"
        } else if touched.kept.iter().any(|folder| self.may_bring_repository(folder, world)) {
            "this line may create a repository there, and its config can run programs"
        } else if self.unpacked && !touched.kept.is_empty() {
            "this line may replace the repository's settings first"
        } else if touched.judged_by.iter().any(|path| self.may_bring(path)) {
            "this line may first change files that askfirst used to judge this command"
        } else if self.replaced && touched.read.iter().any(|path| !world.is_folder(path)) {
            "this command reads a file that this line may replace with a link"
        } else if touched.read.iter().any(|path| below(path, &self.restored)) {
            "this command reads a file that this line restores, and it may be a link"
        } else if follows && touched.written.iter().any(|path| below(path, &self.restored)) {
            "this command writes a file that this line restores, and it may be a link"
        } else if self.replaced && follows && touched.written.iter().any(|path| !world.is_folder(path)) {
            "this command writes a file that this line may replace with a link"
        } else if touched.run.iter().any(|path| below(path, &self.filled)) {
            "this command runs a file that this line itself writes"
        } else if self.brought && touched.run.iter().any(|path| world.info_behind(path).is_none()) {
            "this command runs a file that does not exist yet, and this line may create it"
        } else if self.replaced && !tool && !touched.run.is_empty() {
            "this command runs a file that this line may replace first"
        } else if changes
            && !start.below.is_empty()
            && (self.brought || self.replaced || !self.made.is_empty())
        {
            "this command changes all files there, and this line may add more"
        } else if !start.below.is_empty() && (self.odd || self.replaced) {
            "this command gets all file names there, and this line may add names that are options"
        } else if self.dashed && !start.some_name.is_empty() {
            "this command gets a branch name, and this line may check out a branch whose name is an option"
        } else if start.loose && (self.odd || self.brought || self.replaced) {
            "this command gets the files that a wildcard finds, and this line may add names that split into words"
        } else if runs && self.filled.iter().any(|filled| level_of(filled) > FileLevel::Ordinary) {
            "this command may run a file that this line itself writes"
        } else if touched.run.is_empty() && self.may_be_imported(start) {
            "this command may import a file that this line itself adds"
        } else {
            return None;
        };
        Some(Reason::new(unclear, why))
    }
}

impl Before {
    /// Whether code on the line may import what came before instead of Python's own modules.
    fn may_be_imported(&self, start: &Start) -> bool {
        let module = |given: &Given| given.names.iter().any(|name| name == "-m");
        let code = |used: &&Arc<Used>| is_python(&used.program) && !used.options.iter().any(module);
        let imported = |path: &PathBuf| {
            let kind = path.extension().map(|kind| kind.to_string_lossy());
            kind.is_none_or(|kind| matches!(&*kind, "py" | "pyc" | "so" | "pyd"))
        };
        start.used.as_ref().filter(code).is_some()
            && (self.replaced
                || self.bringers.iter().any(|span| start.fed_by.as_ref() != Some(span))
                || self.filled.iter().chain(&self.made).any(imported))
    }

    /// Whether a wildcard may find what was moved, copied or brought back, or a name that is not known be its own.
    fn may_be_found(&self, start: &Start, touched: &Touched, writes: bool) -> bool {
        let words = start.words.iter().chain(start.redirections.iter().map(|target| &target.word));
        let came = || self.made.iter().chain(&self.restored);
        let mut wild = words.filter(|_| came().next().is_some()).filter(|word| word.has_glob());
        if start.guessed && came().next().is_some() && (!touched.read.is_empty() || writes) {
            return true;
        }
        wild.any(|word| {
            let parts = word.pieces.iter().map(|piece| match piece {
                Piece::Text(text) => Some(paths::as_glob(text)),
                Piece::Glob(text) => Some(text.clone()),
                Piece::Home | Piece::Unknown(_) => None,
            });
            let Some(glob) = parts.collect::<Option<String>>().filter(|glob| !glob.contains("..")) else {
                return true;
            };
            let finds = |folder: &PathBuf, made: &Path| {
                let made = made.strip_prefix(if glob.starts_with('/') { Path::new("/") } else { folder });
                let names = made.iter().flat_map(|made| made.components());
                let names = names.map(|name| name.as_os_str().to_string_lossy().into_owned());
                let mut globs = glob.split('/').filter(|part| !matches!(*part, "" | "."));
                made.is_ok()
                    && names.zip(globs.by_ref()).all(|(name, part)| {
                        part.contains("**") || Glob::new(part).matches(&name, Reach::Anything)
                    })
            };
            start.folders.is_empty()
                || start.folders.iter().any(|folder| came().any(|made| finds(folder, made)))
        })
    }

    /// Whether a file may come about before, or be changed.
    fn may_bring(&self, path: &Path) -> bool {
        let stem = |path: &Path| {
            path.file_name()
                .map(|name| name.to_string_lossy().split('.').next().unwrap_or_default().to_owned())
        };
        let same = |other: &PathBuf| {
            path.starts_with(other) || (path.parent() == other.parent() && stem(path) == stem(other))
        };
        self.replaced || self.filled.iter().chain(&self.made).any(same)
    }

    /// Whether a folder may become a repository of its own before: it has none, and what is there may change.
    fn may_bring_repository(&self, folder: &Path, world: &dyn World) -> bool {
        let named = || self.restored.iter().any(|restored| folder.starts_with(restored));
        let comes = self.replaced || (self.ran && !world.exists(folder)) || named();
        comes && !world.exists(&folder.join(".git"))
    }
}

/// When the others ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Before this one.
    Before,
    /// Before or behind it, or at the same time.
    Any,
}

/// Whether a command may replace any file of the folder: what it is told to bring back by name counts as written.
fn replaces(used: &Used, start: &Start) -> bool {
    if used.class == Class::Reads {
        return false;
    }
    let subs: Vec<&str> = used.subs.iter().map(|sub| sub.name.as_str()).collect();
    let has = |any: &[&str]| {
        used.options.iter().any(|given| given.names.iter().any(|name| any.contains(&name.as_str())))
    };
    match (used.program.as_str(), subs.as_slice()) {
        // A branch that begins here changes no file.
        ("git", ["checkout" | "switch"]) => {
            let new = has(&["-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan"]);
            let stays = new && used.operands.is_empty();
            !stays && !named_plainly(used, start)
        }
        ("git", ["apply"]) => !has(&["--check", "--stat", "--numstat", "--summary"]),
        ("git", ["restore"]) => !named_plainly(used, start),
        ("git", ["reset"]) => has(&["--hard", "--keep", "--merge"]),
        // From where a person has it follow; anything else is named.
        ("git", ["pull"]) => !used.operands.is_empty(),
        ("git", ["stash", "drop" | "clear" | "create" | "store"]) => false,
        ("git", [sub, ..]) => matches!(
            *sub,
            "am" | "apply"
                | "bisect"
                | "checkout-index"
                | "cherry-pick"
                | "merge"
                | "read-tree"
                | "rebase"
                | "revert"
                | "sparse-checkout"
                | "stash"
                | "submodule"
                | "worktree"
        ),
        ("gh", ["pr", "checkout"]) => true,
        (program, _) => REPLACING.contains(&program),
    }
}

/// Whether all that git is to bring back is named by its path: behind `--`, or to `restore`.
fn named_plainly(used: &Used, start: &Start) -> bool {
    let dashes = start.words.iter().position(|word| word.literal() == Some("--"));
    let from = dashes.or_else(|| used.subs.iter().find(|sub| sub.name == "restore").map(|sub| sub.word));
    let Some(from) = from else { return false };
    let operands = used.operands.iter().filter(|operand| operand.word > from);
    let mut texts = operands.filter_map(|operand| start.words.get(operand.word)).peekable();
    let plain = |text: &str| !text.starts_with(':') && !text.contains(['*', '?', '[']);
    texts.peek().is_some() && texts.all(|word| word.literal().is_some_and(plain))
}
