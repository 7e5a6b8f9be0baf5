//! What one command touches: its folder, its paths, the files that its streams lead to, and the repository that git
//! would work in.

mod followed;
mod foreign;
mod inside;
mod other_names;
mod sorts;
mod steered;
mod submodules;

use std::borrow::Cow;
use std::path::PathBuf;

use askfirst::Approval;

use super::judged::Reason;
use super::line::tree::{Piece, Way, Word};
use super::paths::{self, Named, Place, entered_all, word_text};
use super::programs::guards::is_remote;
use super::programs::is_usual;
use super::programs::used::{Class, Known, Role, Used};
use super::reach::{Reach, Reached, Touch};
use super::secrets::is_secret;
use super::start::{Kind, Start, Target};
use super::world::World;
use sorts::{COPYING, FILLING, INTERPRETERS, SAYING, SENDING, SWEEPING, UNPACKING};

/// How many names of a folder are looked at.
const MOST_NAMES: usize = 10_000;

/// What a command touches.
#[derive(Debug, Default)]
pub(super) struct Touched<'a> {
    pub(super) reasons: Vec<Reason>,
    /// For each redirection, in order.
    pub(super) streams: Vec<Reason>,
    /// Where everything lies now.
    pub(super) places: Vec<String>,
    /// The root of each place; nothing where it lies in none.
    pub(super) roots: Vec<Option<&'a str>>,
    /// The roots that are written.
    pub(super) writes: Vec<String>,
    /// Where something comes to lie that may lead elsewhere: folders with links or repositories in them, and links.
    pub(super) made: Vec<PathBuf>,
    /// What is read, where it really lies.
    pub(super) read: Vec<PathBuf>,
    /// What is written.
    pub(super) written: Vec<PathBuf>,
    /// The folders whose repository it works with.
    pub(super) kept: Vec<PathBuf>,
    /// Files that were looked into, or for, to judge it.
    pub(super) judged_by: Vec<PathBuf>,
    /// Files that would run.
    pub(super) run: Vec<PathBuf>,
    /// Files that get their content from a stream or another file.
    pub(super) filled: Vec<PathBuf>,
    /// Whether a name is written that is an option, or several words, to whoever lists it.
    pub(super) odd: bool,
    /// What is asked where its effect is not understood.
    pub(super) unclear: Approval,
}

/// Looks at everything that a command touches.
pub(super) fn touched<'a>(start: &'a Start, reach: &'a Reach<'a>) -> Touched<'a> {
    let touched = Touched { unclear: reach.unclear.get(), ..Touched::default() };
    let mut looker = Looker { start, reach, world: reach.world, touched };
    looker.folder();
    if let (Some(used), Kind::Program) = (&start.used, start.kind) {
        looker.program(used);
        looker.paths(used);
        looker.repositories(used);
        looker.remotes(used);
        looker.listed(used);
        looker.keyed(used);
        looker.paired(used);
        looker.patched(used);
        looker.queried(used);
        looker.strangers(used);
        looker.shadowed(used);
        looker.steered(used);
        looker.submodules(used);
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
    world: &'a dyn World,
    touched: Touched<'a>,
}

impl<'a> Looker<'a> {
    /// Asks before the command runs: its effect is known, or a rehearsal would not show it.
    fn ask(&mut self, why: impl Into<Cow<'static, str>>) {
        self.touched.reasons.push(Reason::new(Approval::Required, why));
    }

    /// Asks, or has a rehearsal show what the command does.
    fn wonder(&mut self, why: impl Into<Cow<'static, str>>) {
        self.touched.reasons.push(self.unclear(why));
    }

    fn unclear(&self, why: impl Into<Cow<'static, str>>) -> Reason {
        Reason::new(self.reach.unclear.get(), why)
    }

    fn folder(&mut self) {
        if self.start.folders.is_empty() {
            self.wonder("the folder that this command runs in is not known");
        }
        for folder in self.start.folders.iter() {
            let text = folder.to_str().map_or_else(|| folder.to_string_lossy(), Cow::Borrowed);
            let reached = self.reach.look_at(&text, folder, folder, Touch::Names);
            self.touched.roots.push(reached.root);
            if reached.approval > Approval::None {
                let (approval, because) = (reached.approval, reached.because);
                let why = if reached.root.is_none() && because.is_some() {
                    format!("this command runs in `{text}`, which is outside every root")
                } else {
                    reached.why(&text)
                };
                self.touched.reasons.push(Reason::of(approval, why, because));
            }
            self.touched.places.push(text.into_owned());
        }
    }

    /// The program itself, where it is a file that is named by its path.
    fn program(&mut self, used: &Used) {
        let Some(word) = self.start.words.first() else { return };
        let Some(text) = word.literal() else {
            return self.wonder(format!("the program `{}` is not known in advance", word_text(word)));
        };
        if let Some(letter) = text.chars().find(|letter| !letter.is_ascii()) {
            return self.ask(format!(
                "the program's name contains the letter U+{:04X}, which may look like another letter",
                u32::from(letter)
            ));
        }
        if text.is_empty() || text.starts_with('=') || text.starts_with('%') {
            return self.wonder(format!("`{text}` is not a program name"));
        }
        let version = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
        let interpreter = || INTERPRETERS.contains(&used.program.trim_end_matches(version));
        if used.known == Known::Nothing && interpreter() {
            self.wonder(format!(
                "`{}` runs code that it reads, and askfirst cannot check its arguments",
                used.program
            ));
        }
        if used.path.as_deref().is_some_and(|path| !is_usual(path)) {
            self.one(word, Touch::Read, &self.start.folders);
            let reach = self.reach;
            self.runs(word, &self.start.folders, |place| reach.is_installed(&place.real));
        }
    }

    fn paths(&mut self, used: &Used) {
        let folders = entered_all(&self.start.folders, &used.folders, self.world);
        // Where a `cd` leads counts only for what runs there.
        let moves = used.program == "cd" && used.path.is_none();
        for word in used.folders.iter().filter(|_| !moves) {
            let at = self.start.words.iter().position(|given| given == word);
            if at.is_some_and(|at| self.start.below.contains(&at)) {
                self.wonder("the folder that this command works in is not known in advance");
            }
            self.one(word, Touch::Names, &self.start.folders);
        }
        if folders.is_empty() && !self.start.folders.is_empty() {
            self.wonder("the folder that this command works in is not known");
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
            if below && matches!(touch, Touch::Write | Touch::WriteAll) && !self.alike(&path.word, &folders) {
                self.wonder(format!("`{}` writes files that are not known in advance", used.program));
            }
            if named.is_some() {
                self.wonder("a file name is not known in advance");
            }
            let linked;
            let folders = match path.role {
                Role::Folder => &*self.start.folders,
                _ if used.program == "ln" && index + 1 < count => {
                    linked = self.link_folders(used, &folders);
                    &*linked
                }
                _ => &*folders,
            };
            self.addressed(&path.word, folders);
            let moved = matches!(used.program.as_str(), "mv" | "ln") && index + 1 < count;
            if path.role == Role::Write && (moved || UNPACKING.contains(&used.program.as_str())) {
                self.renamed(&path.word, folders);
            }
            if touch == Touch::ReadAll && used.network && SENDING.contains(&used.program.as_str()) {
                self.sent_away(&path.word, folders);
            }
            if path.role == Role::File {
                // A program may be installed outside, but not the script that a rule lets it run.
                let (reach, is_program) = (self.reach, at == Some(0));
                self.runs(&path.word, folders, |place| is_program && reach.is_installed(&place.real));
            }
            if touch == Touch::ReadAll {
                self.followed(used, &path.word, folders, below);
            }
            self.one(&path.word, touch, folders);
            self.with_ending(used, &path.word, touch, folders);
            let moves = used.program == "git" && used.subs.iter().any(|sub| sub.name == "mv");
            if touch == Touch::Write && COPYING.contains(&used.program.as_str()) {
                self.falls_into(used, index, folders);
            }
            if matches!(touch, Touch::Write | Touch::WriteAll)
                && (moves || COPYING.contains(&used.program.as_str()))
            {
                self.makes(used, index, folders);
            }
            if touch == Touch::Write && UNPACKING.contains(&used.program.as_str()) {
                let text = path.word.literal().and_then(|text| text.rsplit_once('.'));
                if let Some((unpacked, _)) = text {
                    self.one(&Word::text(unpacked, path.word.span.clone()), touch, folders);
                }
            }
        }
        if used.network {
            self.addresses(used, &folders);
        }
        for operand in used.operands.iter().filter(|operand| operand.role == Role::Pathspec) {
            let Some(word) = self.start.words.get(operand.word) else { continue };
            self.within(word, &folders);
            self.perhaps(word, &folders, Doubtful::IfThere);
            self.restored(used, word, &folders);
        }
        if let ("yq", [one]) = (used.program.as_str(), used.operands.as_slice()) {
            // Alone it is a file, where there is one of that name.
            let word = self.start.words.get(one.word).cloned();
            word.iter().for_each(|word| self.perhaps(word, &folders, Doubtful::IfThere));
        }
        self.mentioned(used, &folders);
        // Whoever is given what a wildcard finds, somebody looks through the folder.
        for word in self.start.words.iter().skip(1).filter(|word| word.has_glob()) {
            if matches!(word.pieces.first(), Some(Piece::Unknown(_))) {
                self.wonder(format!("`{}` may list any folder", word_text(word)));
            }
            folders.iter().for_each(|folder| self.looks_through(word, folder));
        }
        self.taken_in(used, &folders);
        if used.program == "git" {
            let values = used.options.iter().filter_map(|given| given.value.as_ref());
            values.for_each(|value| self.within(value, &folders));
        }
        // Of a sub-command that nothing is known about, as of such a program.
        let stranger = used.class == Class::Asks && used.subs.is_empty();
        if used.known == Known::Nothing || stranger {
            for word in self.start.words.iter().skip(1) {
                self.perhaps(word, &folders, Doubtful::Any);
                self.spelled(word, &folders);
            }
        } else {
            for operand in used.operands.iter().filter(|operand| operand.role == Role::Rest) {
                if let Some(word) = self.start.words.get(operand.word) {
                    self.perhaps(word, &folders, Doubtful::IfThere);
                }
            }
        }
    }

    /// Under another name nobody sees what it holds.
    fn renamed(&mut self, word: &Word, folders: &[PathBuf]) {
        for folder in folders {
            let Named::Places(places) = paths::named(word, folder, self.world) else { continue };
            for place in places.iter().filter(|place| self.reach.has_never_read(place)) {
                self.ask(format!(
                    "this command gives `{}` another name, and it contains files that are never read",
                    place.text
                ));
            }
            for place in places.iter().filter(|place| is_secret(&place.real)) {
                self.ask(format!(
                    "this command gives `{}` another name, and files with this name usually hold secrets",
                    place.text
                ));
            }
        }
    }

    /// Notes a file that would run. What the sandbox shows may be read, and run only if it is `installed`.
    fn runs(&mut self, word: &Word, folders: &[PathBuf], installed: impl Fn(&Place) -> bool) {
        for folder in folders {
            let Named::Places(places) = paths::named(word, folder, self.world) else { continue };
            let outside = |&place: &&Place| {
                self.reach.root_of(&place.real).is_none()
                    && !installed(place)
                    && self.reach.is_shown(&place.plain, &place.real)
            };
            let away = places.iter().find(outside).map(|place| place.text.clone());
            if let Some(text) = away {
                self.ask(format!("this command runs `{text}`, which is outside every root"));
            }
            self.touched.run.extend(places.into_iter().map(|place| place.real));
        }
    }

    fn one(&mut self, word: &Word, touch: Touch, folders: &[PathBuf]) {
        for folder in folders {
            if word.has_glob() {
                self.looks_through(word, folder);
                if matches!(touch, Touch::Write | Touch::WriteAll) {
                    self.comes_about(word, folder);
                }
            }
            match paths::named(word, folder, self.world) {
                Named::Unknown(why) => self.wonder(why),
                Named::Places(mut places) => {
                    if word.has_glob() && !matches!(touch, Touch::Write | Touch::WriteAll) {
                        self.leave_out_hidden(&mut places);
                    }
                    let before = self.touched.reasons.len();
                    places.iter().for_each(|place| self.place(place, touch));
                    if other_names::is_cut(word) {
                        // Some of these names may come about, none must.
                        self.only_guessed(before);
                    }
                }
            }
        }
    }

    /// Leaves out what a wildcard finds beside other files, and the sandbox hides. One that finds nothing else names it.
    fn leave_out_hidden(&self, places: &mut Vec<Place>) {
        let hidden: Vec<bool> = places.iter().map(|place| self.reach.hides(place)).collect();
        if hidden.contains(&false) {
            let mut hidden = hidden.into_iter();
            places.retain(|_| hidden.next() != Some(true));
        }
    }

    fn place(&mut self, place: &Place, touch: Touch) {
        let reached = self.reached(place, touch);
        if reached.approval > Approval::None {
            self.touched.reasons.push(reason(place, reached));
        }
    }

    fn reached(&mut self, place: &Place, touch: Touch) -> Reached<'a> {
        let reached = self.reach.look(place, touch);
        let real = place.real.to_str().map_or_else(|| place.real.to_string_lossy(), Cow::Borrowed);
        self.touched.places.push(real.into_owned());
        match touch {
            Touch::Read | Touch::ReadAll => self.touched.read.push(place.real.clone()),
            Touch::Write | Touch::WriteAll => self.touched.written.push(place.real.clone()),
            Touch::Names => {}
        }
        // The letters are compared first: names one by one take longer.
        let letters = place.plain.as_os_str().as_encoded_bytes().starts_with(b"/dev");
        let device = letters && place.plain.starts_with("/dev") && reached.approval == Approval::None;
        if !device {
            self.touched.roots.push(reached.root);
        }
        let sends = |used: &Used| used.network || is_remote(&used.program);
        let is_shown = reached.root.is_none() && reached.approval == Approval::None && !device;
        if is_shown && self.start.used.as_deref().is_some_and(sends) {
            self.ask(format!("this command may send `{}`, which is outside every root", place.text));
        }
        let fills = || self.start.used.as_ref().is_none_or(|used| FILLING.contains(&used.program.as_str()));
        if matches!(touch, Touch::Write | Touch::WriteAll) && fills() {
            self.touched.filled.push(place.real.clone());
        }
        if let (Touch::Write | Touch::WriteAll, Some(root)) = (touch, reached.root) {
            self.touched.writes.push(root.to_owned());
            let name = place.plain.file_name().unwrap_or_default().as_encoded_bytes();
            self.touched.odd |= name.first() == Some(&b'-')
                || name.iter().any(|byte| byte.is_ascii_whitespace() || matches!(byte, b'\'' | b'"' | b'\\'));
        }
        reached
    }

    fn stream(&mut self, target: &Target) -> Reason {
        let touches: &[Touch] = match target.way {
            Way::Read if target.below => &[Touch::ReadAll],
            Way::Read => &[Touch::Read],
            Way::Write | Way::Both if target.below => {
                return self.unclear("the file is not known in advance");
            }
            Way::Write => &[Touch::Write],
            Way::Both => &[Touch::Read, Touch::Write],
        };
        let mut strictest = Reason::new(Approval::None, "");
        if self.start.folders.is_empty() {
            return self.unclear("the folder that this command runs in is not known");
        }
        for folder in self.start.folders.iter() {
            if target.way != Way::Read && target.word.has_glob() {
                self.comes_about(&target.word, folder);
            }
            match paths::named(&target.word, folder, self.world) {
                Named::Unknown(why) => return self.unclear(why),
                Named::Places(places) => {
                    // Each round of a loop may read another one.
                    if places.is_empty() || (places.len() > 1 && target.way != Way::Read) {
                        return self.unclear("the redirection leads to more than one file");
                    }
                    if target.way != Way::Read {
                        self.touched.filled.extend(places.iter().map(|place| place.real.clone()));
                    }
                    for (place, touch) in
                        places.iter().flat_map(|place| touches.iter().map(move |touch| (place, *touch)))
                    {
                        let reached = self.reached(place, touch);
                        let reason = reason(place, reached);
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

/// What is reached, as a reason.
fn reason(place: &Place, reached: Reached<'_>) -> Reason {
    let (approval, because) = (reached.approval, reached.because);
    Reason::of(approval, reached.why(&place.text), because)
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

/// What of its output goes into a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Printed {
    /// All that it prints, and nothing that it complains about.
    Whole,
    /// Something else.
    Other,
}

impl Printed {
    pub(super) fn of(target: &Target) -> Self {
        let rest = target.text.trim_start_matches('1').strip_prefix('>');
        if rest.is_some_and(|rest| !rest.starts_with('&')) { Self::Whole } else { Self::Other }
    }
}

/// Whether a rule for the program covers a file that it prints into: where it changes things anyway, or where what it
/// prints stands in the line itself.
pub(super) fn may_print_into(start: &Start, printed: Printed) -> bool {
    let Some(used) = &start.used else { return false };
    let plain = printed == Printed::Whole;
    match used.class {
        // What they change lies elsewhere.
        Class::Changes if is_remote(&used.program) => false,
        Class::Runs if used.known == Known::Nothing => is_own_script(used),
        Class::Changes | Class::Runs => used.known == Known::Table,
        Class::Reads => plain && (SAYING.contains(&used.program.as_str()) || start.says || is_frozen(used)),
        Class::Asks => false,
    }
}

/// A script by its place in the project, which is run like one that a shell is given.
fn is_own_script(used: &Used) -> bool {
    used.path.as_deref().is_some_and(|path| path.contains('/') && !path.starts_with(['/', '~']))
}

/// `pip freeze`: what it prints is meant for a file of the project.
fn is_frozen(used: &Used) -> bool {
    used.program.starts_with("pip") && used.subs.iter().any(|sub| sub.name == "freeze")
}
