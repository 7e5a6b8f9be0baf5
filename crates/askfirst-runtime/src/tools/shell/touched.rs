//! What one command touches: its folder, its paths, the files that its streams lead to, and the repository that git
//! would work in.

mod foreign;
mod inside;
mod other_names;

use std::path::{Path, PathBuf};

use askfirst::Approval;

use super::judged::Reason;
use super::line::tree::{Way, Word};
use super::paths::{self, Named, Place, entered_all, word_text};
use super::programs::guards::is_remote;
use super::programs::used::{Class, Known, Role, Used};
use super::reach::{Reach, Touch};
use super::secrets::is_secret;
use super::start::{Kind, Start, Target};

/// Programs that put what they are given into a folder under its own name.
const COPYING: [&str; 6] = ["cp", "install", "ln", "mv", "rsync", "scp"];

/// Programs that write a file without the end of its name, or with another.
const UNPACKING: [&str; 13] = [
    "bunzip2",
    "bzip2",
    "gunzip",
    "gzip",
    "lz4",
    "lzma",
    "uncompress",
    "unlz4",
    "unlzma",
    "unxz",
    "unzstd",
    "xz",
    "zstd",
];

/// How many names of a folder are looked at.
const MOST_NAMES: usize = 10_000;

/// Programs that fill a file with what they are given.
const FILLING: [&str; 25] = [
    "bunzip2", "cp", "curl", "dd", "docker", "git", "gunzip", "gzip", "install", "ln", "mv", "patch", "perl",
    "rsync", "scp", "sed", "split", "sponge", "tar", "tee", "truncate", "unxz", "unzip", "wget", "xz",
];
/// Programs that take away or change a folder with all that is in it.
const SWEEPING: [&str; 8] = ["rm", "rmdir", "unlink", "shred", "mv", "chmod", "chown", "chgrp"];
/// Programs that print what stands in the command line.
const SAYING: [&str; 2] = ["echo", "printf"];
/// Programs that run what they read. Without a table nobody can tell what that is.
const INTERPRETERS: [&str; 40] = [
    "R",
    "Rscript",
    "bun",
    "clojure",
    "deno",
    "dc",
    "ed",
    "elixir",
    "emacs",
    "erl",
    "ex",
    "expect",
    "fish",
    "gdb",
    "ghci",
    "groovy",
    "guile",
    "iex",
    "irb",
    "julia",
    "ksh",
    "lldb",
    "lua",
    "luajit",
    "m4",
    "node",
    "nvim",
    "octave",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "pypy",
    "python",
    "ruby",
    "scala",
    "tclsh",
    "vim",
    "wish",
    "zsh",
];

/// What a command touches.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) reasons: Vec<Reason>,
    /// For each redirection, in order.
    pub(super) streams: Vec<Reason>,
    /// Where everything lies now.
    pub(super) places: Vec<String>,
    /// The root of each place; nothing where it lies in none.
    pub(super) roots: Vec<Option<String>>,
    /// The roots that are written.
    pub(super) writes: Vec<String>,
    /// Where something comes to lie that may lead elsewhere: folders with links or repositories in them, and links.
    pub(super) made: Vec<PathBuf>,
    /// What is read, where it really lies.
    pub(super) read: Vec<PathBuf>,
    /// Files that would run.
    pub(super) run: Vec<PathBuf>,
    /// Files that get their content from a stream or another file.
    pub(super) filled: Vec<PathBuf>,
}

/// Looks at everything that a command touches.
pub(super) fn touched(start: &Start, reach: &Reach<'_>, home: Option<&Path>) -> Touched {
    let mut looker = Looker { start, reach, home, touched: Touched::default() };
    looker.folder();
    if let (Some(used), Kind::Program) = (&start.used, start.kind) {
        looker.program(used);
        looker.paths(used);
        looker.repositories(used);
        looker.remotes(used);
        looker.listed(used);
        looker.keyed(used);
        looker.patched(used);
        looker.strangers(used);
        looker.shadowed(used);
    }
    for target in &start.redirections {
        let reason = looker.stream(target);
        looker.touched.streams.push(reason);
    }
    looker.touched
}

struct Looker<'a> {
    start: &'a Start,
    reach: &'a Reach<'a>,
    home: Option<&'a Path>,
    touched: Touched,
}

impl Looker<'_> {
    fn ask(&mut self, why: impl Into<String>) {
        self.touched.reasons.push(Reason::new(Approval::Required, why));
    }

    fn folder(&mut self) {
        if self.start.folders.is_empty() {
            self.ask("the folder that it runs in is not known");
        }
        for folder in &self.start.folders {
            let text = folder.display().to_string();
            let place = Place { text, plain: folder.clone(), real: folder.clone() };
            let reached = self.reach.look(&place, Touch::Names);
            self.touched.places.push(place.text);
            self.touched.roots.push(reached.root.clone());
            if reached.approval > Approval::None {
                let why = if reached.root.is_none() && reached.because.is_some() {
                    format!("it runs in `{}`, which lies outside every root", folder.display())
                } else {
                    reached.why
                };
                self.touched.reasons.push(Reason {
                    approval: reached.approval,
                    text: why,
                    because: reached.because,
                });
            }
        }
    }

    /// The program itself, where it is a file that is named by its path.
    fn program(&mut self, used: &Used) {
        let Some(word) = self.start.words.first() else { return };
        let Some(text) = word.literal() else {
            return self.ask(format!("the program `{}` is not known before it runs", word_text(word)));
        };
        if let Some(letter) = text.chars().find(|letter| !letter.is_ascii()) {
            return self.ask(format!(
                "the program's name has the letter U+{:04X}, which may look like another",
                u32::from(letter)
            ));
        }
        if text.is_empty() || text.starts_with('=') || text.starts_with('%') {
            return self.ask(format!("`{text}` is no program's name"));
        }
        let version = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
        let interpreter = INTERPRETERS.contains(&used.program.trim_end_matches(version));
        if used.known == Known::Nothing && interpreter {
            self.ask(format!("`{}` runs what it reads, and nothing is known about its words", used.program));
        }
        let usual = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"];
        let elsewhere = used.path.as_deref().is_some_and(|path| {
            !usual.iter().any(|folder| path.strip_prefix(folder).is_some_and(|name| !name.contains('/')))
        });
        if elsewhere {
            self.one(&word.clone(), Touch::Read, &self.start.folders.clone());
            self.runs(&word.clone(), &self.start.folders.clone());
        }
    }

    fn paths(&mut self, used: &Used) {
        let folders = entered_all(&self.start.folders, &used.folders, self.home);
        // Where a `cd` leads counts only for what runs there.
        let moves = used.program == "cd" && used.path.is_none();
        for word in used.folders.iter().filter(|_| !moves) {
            let word = word.clone();
            let at = self.start.words.iter().position(|given| *given == word);
            if at.is_some_and(|at| self.start.below.contains(&at)) {
                self.ask("the folder that it works in is not known before it runs");
            }
            self.one(&word, Touch::Names, &self.start.folders.clone());
        }
        if folders.is_empty() && !self.start.folders.is_empty() {
            self.ask("the folder that it works in is not known");
        }
        let paths = if moves { &[] } else { used.paths.as_slice() };
        let count = paths.len();
        for (index, path) in paths.iter().enumerate() {
            let Some(mut touch) = Touch::of(path.role) else { continue };
            let at = self.start.words.iter().position(|word| *word == path.word);
            let below = at.is_some_and(|at| self.start.below.contains(&at));
            let last = index + 1 == count && used.program == "mv" && count > 1;
            touch = match touch {
                Touch::Read | Touch::Names if below => Touch::ReadAll,
                Touch::Write if SWEEPING.contains(&used.program.as_str()) && !last => Touch::WriteAll,
                other => other,
            };
            let named = at.filter(|at| self.start.some_name.contains(at));
            if below && matches!(touch, Touch::Write | Touch::WriteAll) {
                self.ask(format!("`{}` writes files that are not known before it runs", used.program));
            }
            if named.is_some() && (!self.reach.ground.roots.never.reads_all() || touch != Touch::Read) {
                self.ask("a file's name is not known before it runs");
            }
            let folders =
                if path.role == Role::Folder { self.start.folders.clone() } else { folders.clone() };
            self.addressed(&path.word, &folders);
            if matches!(used.program.as_str(), "mv" | "ln") && path.role == Role::Write && index + 1 < count {
                self.renamed(&path.word, &folders);
            }
            if path.role == Role::File {
                self.runs(&path.word, &folders);
            }
            self.one(&path.word.clone(), touch, &folders);
            let moves = used.program == "git" && used.subs.iter().any(|sub| sub.name == "mv");
            if touch == Touch::Write && COPYING.contains(&used.program.as_str()) {
                self.falls_into(used, index, &folders);
            }
            if matches!(touch, Touch::Write | Touch::WriteAll)
                && (moves || COPYING.contains(&used.program.as_str()))
            {
                self.makes(used, index, &folders);
            }
            if touch == Touch::Write && UNPACKING.contains(&used.program.as_str()) {
                let text = path.word.literal().and_then(|text| text.rsplit_once('.'));
                if let Some((unpacked, _)) = text {
                    self.one(&Word::text(unpacked, path.word.span.clone()), touch, &folders);
                }
            }
        }
        if used.network {
            self.addresses(used, &folders);
        }
        for operand in used.operands.iter().filter(|operand| operand.role == Role::Pathspec) {
            let Some(word) = self.start.words.get(operand.word).cloned() else { continue };
            self.within(&word, &folders);
            self.perhaps(&word, &folders, Doubtful::IfThere);
            self.restored(used, &word, &folders);
        }
        if let ("yq", [one]) = (used.program.as_str(), used.operands.as_slice()) {
            // Alone it is a file, where there is one of that name.
            let word = self.start.words.get(one.word).cloned();
            word.iter().for_each(|word| self.perhaps(word, &folders, Doubtful::IfThere));
        }
        self.mentioned(used, &folders);
        if used.program == "git" {
            let values = used.options.iter().filter_map(|given| given.value.clone());
            values.collect::<Vec<_>>().iter().for_each(|value| self.within(value, &folders));
        }
        if used.known == Known::Nothing {
            for word in self.start.words.iter().skip(1).cloned().collect::<Vec<_>>() {
                self.perhaps(&word, &folders, Doubtful::Any);
            }
        } else {
            for operand in used.operands.iter().filter(|operand| operand.role == Role::Rest) {
                if let Some(word) = self.start.words.get(operand.word).cloned() {
                    self.perhaps(&word, &folders, Doubtful::IfThere);
                }
            }
        }
    }

    /// What is copied or moved into a folder comes to lie there under its own name, and a folder's content under theirs.
    fn falls_into(&mut self, used: &Used, target: usize, folders: &[PathBuf]) {
        let places = |word: &Word| {
            let named = folders.iter().map(|folder| paths::named(word, folder, self.home));
            let known = named.filter_map(|named| match named {
                Named::Places(places) => Some(places),
                Named::Unknown(_) => None,
            });
            known.flatten().map(|place| place.real.clone()).collect::<Vec<_>>()
        };
        let Some(path) = used.paths.get(target) else { return };
        let into: Vec<PathBuf> = places(&path.word).into_iter().filter(|real| real.is_dir()).collect();
        let others = used.paths.iter().enumerate().filter(|(index, _)| *index != target);
        let mut why = Vec::new();
        for real in others.flat_map(|(_, other)| places(&other.word)) {
            let content = std::fs::read_dir(&real).into_iter().flatten().flatten().take(MOST_NAMES);
            let names = content.map(|entry| entry.file_name()).chain(real.file_name().map(ToOwned::to_owned));
            for name in names {
                let found = into.iter().find_map(|folder| self.reach.never_in(folder, &name));
                why.extend(found.map(|found| format!("it may write `{}`: {found}", name.to_string_lossy())));
            }
        }
        why.dedup();
        why.into_iter().take(3).for_each(|why| self.ask(why));
    }

    /// A word that may be a path: looked at where it leads out of the roots, or to what is never touched.
    fn perhaps(&mut self, word: &Word, folders: &[PathBuf], doubtful: Doubtful) {
        let text = word_text(word);
        let value =
            text.split_once('=').filter(|(name, _)| name.starts_with('-')).map(|(_, value)| value.to_owned());
        let word = match value {
            Some(value) if word.literal().is_some() => Word::text(value, word.span.clone()),
            Some(_) | None => word.clone(),
        };
        for folder in folders {
            let Named::Places(places) = paths::named(&word, folder, self.home) else {
                if doubtful == Doubtful::Any {
                    self.ask(format!("`{text}` is not known before it runs"));
                }
                continue;
            };
            for place in places {
                let there = place.real.symlink_metadata().is_ok();
                let out = self.reach.root_of(&place.real).is_none();
                let looks = place.text.contains('/') && !place.text.contains("://");
                let counts = match doubtful {
                    Doubtful::Any => there || (out && looks),
                    Doubtful::IfThere => there,
                };
                if counts {
                    self.place(&place, Touch::Read);
                }
                let written = self.reach.look(&place, Touch::Write);
                if doubtful == Doubtful::Any && written.approval == Approval::Deny && written.root.is_none() {
                    self.ask(written.why);
                }
            }
        }
    }

    /// Under another name nobody sees what it holds.
    fn renamed(&mut self, word: &Word, folders: &[PathBuf]) {
        for folder in folders {
            let Named::Places(places) = paths::named(word, folder, self.home) else { continue };
            for place in places.iter().filter(|place| is_secret(&place.real)) {
                self.ask(format!(
                    "`{}` gets another name, and files of this name usually hold secrets",
                    place.text
                ));
            }
        }
    }

    fn runs(&mut self, word: &Word, folders: &[PathBuf]) {
        for folder in folders {
            if let Named::Places(places) = paths::named(word, folder, self.home) {
                self.touched.run.extend(places.into_iter().map(|place| place.real));
            }
        }
    }

    fn one(&mut self, word: &Word, touch: Touch, folders: &[PathBuf]) {
        for folder in folders {
            match paths::named(word, folder, self.home) {
                Named::Unknown(why) => self.ask(why),
                Named::Places(places) => places.iter().for_each(|place| self.place(place, touch)),
            }
        }
    }

    fn place(&mut self, place: &Place, touch: Touch) {
        let reason = self.reason(place, touch);
        if reason.approval > Approval::None {
            self.touched.reasons.push(reason);
        }
    }

    fn reason(&mut self, place: &Place, touch: Touch) -> Reason {
        let reached = self.reach.look(place, touch);
        self.touched.places.push(place.real.display().to_string());
        if matches!(touch, Touch::Read | Touch::ReadAll) {
            self.touched.read.push(place.real.clone());
        }
        let device = place.plain.starts_with("/dev") && reached.approval == Approval::None;
        if !device {
            self.touched.roots.push(reached.root.clone());
        }
        let fills = self.start.used.as_ref().is_none_or(|used| FILLING.contains(&used.program.as_str()));
        if matches!(touch, Touch::Write | Touch::WriteAll) && fills {
            self.touched.filled.push(place.real.clone());
        }
        if let (Touch::Write | Touch::WriteAll, Some(root)) = (touch, &reached.root) {
            self.touched.writes.push(root.clone());
        }
        Reason { approval: reached.approval, text: reached.why, because: reached.because }
    }

    fn stream(&mut self, target: &Target) -> Reason {
        let touches: &[Touch] = match target.way {
            Way::Read if target.below => &[Touch::ReadAll],
            Way::Read => &[Touch::Read],
            Way::Write | Way::Both if target.below => {
                return Reason::new(Approval::Required, "the file is not known before it runs");
            }
            Way::Write => &[Touch::Write],
            Way::Both => &[Touch::Read, Touch::Write],
        };
        let mut strictest = Reason::new(Approval::None, "");
        if self.start.folders.is_empty() {
            return Reason::new(Approval::Required, "the folder that it runs in is not known");
        }
        for folder in &self.start.folders.clone() {
            match paths::named(&target.word, folder, self.home) {
                Named::Unknown(why) => return Reason::new(Approval::Required, why),
                Named::Places(places) => {
                    // Each round of a loop may read another one.
                    if places.is_empty() || (places.len() > 1 && target.way != Way::Read) {
                        return Reason::new(Approval::Required, "it leads to more than one file");
                    }
                    if target.way != Way::Read {
                        self.touched.filled.extend(places.iter().map(|place| place.real.clone()));
                    }
                    for (place, touch) in
                        places.iter().flat_map(|place| touches.iter().map(move |touch| (place, *touch)))
                    {
                        let reason = self.reason(place, touch);
                        if reason.approval > strictest.approval || strictest.text.is_empty() {
                            strictest = reason;
                        }
                    }
                }
            }
        }
        strictest
    }
}

/// Which words of a program without a table count as paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubtful {
    /// All that look like one.
    Any,
    /// Only those where something is.
    IfThere,
}

/// Whether a redirection writes a file that stays.
pub(super) fn is_written(target: &Target, reason: &Reason) -> bool {
    let device = reason.because.is_none() && reason.text.ends_with("holds nothing");
    target.way != Way::Read && !device
}

/// Whether a rule for the program covers a file that it prints into: where it changes things anyway, or where what it
/// prints stands in the line itself.
pub(super) fn may_print_into(start: &Start, target: &Target) -> bool {
    let Some(used) = &start.used else { return false };
    let plain =
        target.text.trim_start_matches('1').strip_prefix('>').is_some_and(|rest| !rest.starts_with('&'));
    match used.class {
        // What they change lies elsewhere.
        Class::Changes if is_remote(&used.program) => false,
        Class::Changes | Class::Runs => used.known == Known::Table,
        Class::Reads => plain && (SAYING.contains(&used.program.as_str()) || start.says),
        Class::Asks => false,
    }
}
