//! Files under names that a word only hints at: of another time, by git's own wildcards, inside a longer value, or after a
//! move in the same line.

use std::path::{Path, PathBuf};

use askfirst::Approval;

use super::super::glob::{Glob, Reach};
use super::super::line::tree::{Piece, Word};
use super::super::paths::{self, Named, Place, word_text};
use super::super::programs::used::{Class, Role, Used};
use super::super::reach::Touch;
use super::super::real::real;
use super::super::secrets::is_secret;
use super::super::world::{FileKind, World};
use super::sorts::{ENDING, SENDING};
use super::{Doubtful, Looker, MOST_NAMES, Reason};

impl Looker<'_> {
    /// What git takes in without being told its name can be printed by another command of git.
    pub(super) fn taken_in(&mut self, used: &Used, folders: &[PathBuf]) {
        let subs: Vec<&str> = used.subs.iter().map(|sub| sub.name.as_str()).collect();
        let has = |names: &[&str]| {
            used.options.iter().any(|given| given.names.iter().any(|name| names.contains(&name.as_str())))
        };
        let all = match (used.program.as_str(), subs.first()) {
            ("git", Some(&"add" | &"stage")) => has(&["-A", "--all", "--no-ignore-removal"]),
            ("git", Some(&"stash")) => has(&["-u", "--include-untracked", "-a", "--all"]),
            _ => return,
        };
        let named = used.operands.iter().filter_map(|operand| self.start.words.get(operand.word).cloned());
        let named = named.filter(|_| subs.first() != Some(&"stash"));
        let tree = all.then(|| Word::text(".", 0..0));
        let tops: Vec<Word> = named.chain(tree).collect();
        for word in &tops {
            self.one(word, Touch::ReadAll, folders);
        }
    }

    /// What a program looks for where a name is not there: the same with an ending of its own.
    pub(super) fn with_ending(&mut self, used: &Used, word: &Word, touch: Touch, folders: &[PathBuf]) {
        let own = |(programs, _): &&(&[&str], &[&str])| programs.contains(&used.program.as_str());
        let Some((_, endings)) = ENDING.iter().find(own) else { return };
        let Some(text) = word.literal() else { return };
        for ending in *endings {
            let name = format!("{text}{ending}");
            if folders.iter().any(|folder| self.world.exists(&folder.join(&name))) {
                self.one(&Word::text(name, word.span.clone()), touch, folders);
            }
        }
    }

    /// `HEAD:path`, `:0:path` and `1,5:path` name a file of another time; `:/path` and `:(icase)path` one by other means.
    pub(super) fn within(&mut self, word: &Word, folders: &[PathBuf]) {
        let Some(text) = word.literal() else { return };
        let tails = text.match_indices([':', ')']).map(|(at, _)| text.get(at + 1..).unwrap_or_default());
        let mut paths: Vec<String> =
            tails.map(|path| path.trim_start_matches(['/', '!', '^']).to_owned()).collect();
        for at in 0..paths.len() {
            let (path, lower) = paths.get(at).map(|path| (path, path.to_lowercase())).unzip();
            let other = lower.filter(|lower| Some(lower) != path);
            paths.extend(other);
        }
        for path in paths.iter().filter(|path| !path.is_empty()) {
            self.perhaps(&Word::text(path.as_str(), word.span.clone()), folders, Doubtful::IfThere);
            if is_secret(Path::new(path)) {
                self.ask(format!(
                    "this command reads another version of `{path}`, and files with this name usually hold secrets"
                ));
            }
        }
        // git looks for names by wildcards of its own.
        for path in
            paths.iter().map(String::as_str).chain([text]).filter(|path| path.contains(['*', '?', '[']))
        {
            let path = path.trim_start_matches("**/");
            // Its wildcards find names that begin with a dot too.
            let hidden = path.starts_with(['*', '?', '[']).then(|| format!(".{path}"));
            for glob in std::iter::once(path.to_owned()).chain(hidden) {
                let pieces = vec![Piece::Glob(glob)];
                self.perhaps(&Word::new(word.span.clone(), pieces), folders, Doubtful::IfThere);
            }
        }
    }

    /// Values of options that name what is never written, perhaps within a longer text: `json:askfirst.yaml`.
    pub(super) fn mentioned(&mut self, used: &Used, folders: &[PathBuf]) {
        if used.class == Class::Reads {
            return;
        }
        let rest = used.operands.iter().filter(|operand| operand.role == Role::Rest);
        let rest = rest.filter_map(|operand| self.start.words.get(operand.word));
        // What is left out is not written.
        let left_out =
            |name: &String| ["exclude", "ignore", "include", "filter"].iter().any(|part| name.contains(part));
        let given = used.options.iter().filter(|given| !given.names.iter().any(left_out));
        let values = given.filter_map(|given| given.value.as_ref()).chain(rest);
        let texts: Vec<String> = values.filter_map(|value| value.literal().map(str::to_owned)).collect();
        let parts = texts.iter().flat_map(|text| text.split([':', '=', ',', ';', '"', '\'']));
        for part in parts.filter(|part| !part.is_empty() && !part.contains(char::is_whitespace)) {
            for folder in folders {
                let Named::Places(places) = paths::named(&Word::text(part, 0..0), folder, self.world) else {
                    continue;
                };
                for place in places {
                    let written = self.reach.look(&place, Touch::Write);
                    // By its text it lies in a root, and a link leads out of it.
                    let away = place.real != place.plain && self.reach.root_of(&place.plain).is_some();
                    if written.root.is_none() && (written.approval == Approval::Deny || away) {
                        self.ask(written.why(&place.text));
                    }
                }
            }
        }
    }

    /// What is never read, named within a word of a program that nothing is known about: `@.env`, `file=.env`.
    pub(super) fn spelled(&mut self, word: &Word, folders: &[PathBuf]) {
        let Some(text) = word.literal() else { return };
        let apart = |c: char| c.is_whitespace() || ":=,;\"'@{}()[]<>|".contains(c);
        for part in text.split(apart).filter(|part| !part.is_empty() && part.len() < text.len()) {
            for folder in folders {
                let named = paths::named(&Word::text(part, 0..0), folder, self.world);
                let Named::Places(places) = named else { continue };
                for place in places.iter().filter(|place| self.reach.is_never_read(place)) {
                    self.place(place, Touch::Read);
                }
            }
        }
    }

    /// What is copied or moved into a folder comes to lie there under its own name, and a folder's content under theirs.
    pub(super) fn falls_into(&mut self, used: &Used, target: usize, folders: &[PathBuf]) {
        let places = |word: &Word| {
            let named = folders.iter().map(|folder| paths::named(word, folder, self.world));
            let known = named.filter_map(|named| match named {
                Named::Places(places) => Some(places),
                Named::Unknown(_) => None,
            });
            known.flatten().map(|place| place.real.clone()).collect::<Vec<_>>()
        };
        let Some(path) = used.paths.get(target) else { return };
        let into: Vec<PathBuf> =
            places(&path.word).into_iter().filter(|real| self.world.is_folder(real)).collect();
        let others = used.paths.iter().enumerate().filter(|(index, _)| *index != target);
        let mut why: Vec<Reason> = Vec::new();
        let named = |found: (Approval, String), name: &str| {
            Reason::new(found.0, format!("this command may write `{name}`: {}", found.1))
        };
        // What comes from another machine has the last name of its address, or any.
        let far = others.clone().filter_map(|(_, other)| other.word.literal()?.split_once(':'));
        for (_, path) in
            far.filter(|(host, _)| SENDING.contains(&used.program.as_str()) && !host.contains('/'))
        {
            let name = path.trim_start_matches(':').rsplit('/').next().unwrap_or_default();
            let never = into.iter().find_map(|folder| self.reach.never_in(folder, name.as_ref()));
            why.extend(never.map(|found| named(found, name)));
            let any = matches!(name, "" | "." | "..") || name.contains(['*', '?', '[']);
            if any && into.iter().any(|folder| self.world.exists(&folder.join(".git"))) {
                why.push(self.unclear(
                    "the copied files may have any name, and the target is the project's own folder",
                ));
            }
        }
        for real in others.flat_map(|(_, other)| places(&other.word)) {
            let content = self.world.list(&real, MOST_NAMES).unwrap_or_default();
            let names = content.iter().map(|(name, _)| name).chain(real.file_name());
            let own = real.file_name().unwrap_or_default();
            for name in names {
                // Others put what they copy in place of a link.
                let mut links =
                    into.iter().flat_map(|folder| [folder.join(name), folder.join(own).join(name)]);
                if matches!(used.program.as_str(), "cp" | "scp")
                    && links.any(|place| self.world.is_link(&place))
                {
                    why.push(self.unclear(format!(
                        "this command follows the link `{}` in the target folder",
                        name.to_string_lossy()
                    )));
                }
                let found = into.iter().find_map(|folder| self.reach.never_in(folder, name));
                why.extend(found.map(|found| named(found, &name.to_string_lossy())));
            }
        }
        why.dedup();
        self.touched.reasons.extend(why.into_iter().take(3));
    }

    /// A word that may be a path: looked at where it leads out of the roots, or to what is never touched.
    pub(super) fn perhaps(&mut self, word: &Word, folders: &[PathBuf], doubtful: Doubtful) {
        let text = word_text(word);
        let value =
            text.split_once('=').filter(|(name, _)| name.starts_with('-')).map(|(_, value)| value.to_owned());
        let word = match value {
            Some(value) if word.literal().is_some() => Word::text(value, word.span.clone()),
            Some(_) | None => word.clone(),
        };
        for folder in folders {
            let Named::Places(places) = paths::named(&word, folder, self.world) else {
                if doubtful == Doubtful::Any {
                    self.wonder(format!("`{text}` is not known in advance"));
                }
                continue;
            };
            for place in places {
                let there = self.world.exists(&place.real);
                let out = || self.reach.root_of(&place.real).is_none();
                let looks = || place.text.contains('/') && !place.text.contains("://");
                let counts = match doubtful {
                    Doubtful::Any => there || (looks() && out()),
                    Doubtful::IfThere => there,
                };
                let before = self.touched.reasons.len();
                if counts && doubtful == Doubtful::Any && self.world.is_folder(&place.real) {
                    // Nobody knows how deep it looks.
                    self.place(&place, Touch::ReadAll);
                } else if counts || self.reach.is_never_read(&place) {
                    self.place(&place, Touch::Read);
                } else if self.reach.is_never_read_below(&place) {
                    self.ask(format!("`{}` contains files that are never read", place.text));
                }
                // `/api/users` is no path of a machine without `/api`.
                let top: PathBuf = place.plain.iter().take(2).collect();
                let rehearsed = self.reach.unclear.get() < Approval::Required;
                if rehearsed && text.starts_with('/') && !self.world.exists(&top) {
                    self.only_guessed(before);
                }
                let written = self.reach.look(&place, Touch::Write);
                if doubtful == Doubtful::Any && written.approval == Approval::Deny && written.root.is_none() {
                    self.ask(written.why(&place.text));
                }
            }
        }
    }

    /// A folder that goes to another machine, with what usually holds secrets in it.
    pub(super) fn sent_away(&mut self, word: &Word, folders: &[PathBuf]) {
        for folder in folders {
            let Named::Places(places) = paths::named(word, folder, self.world) else { continue };
            for place in places.iter().filter(|place| self.reach.has_secrets(&place.real)) {
                self.ask(format!(
                    "this command sends all of `{}`, which contains files that usually hold secrets",
                    place.text
                ));
            }
        }
    }

    /// Whether all that lies below these places may be written as they may.
    pub(super) fn alike(&self, word: &Word, folders: &[PathBuf]) -> bool {
        folders.iter().all(|folder| match paths::named(word, folder, self.world) {
            Named::Unknown(_) => false,
            Named::Places(places) => places.iter().all(|place| {
                let real = &place.real;
                self.world.is_file(real) || (self.world.is_folder(real) && self.reach.below_is_alike(real))
            }),
        })
    }

    /// Lowers the reasons from this one on: what they are about may not come about.
    pub(super) fn only_guessed(&mut self, from: usize) {
        let unclear = self.reach.unclear.get();
        let new = self.touched.reasons.iter_mut().skip(from);
        new.for_each(|reason| reason.approval = reason.approval.min(unclear));
    }

    /// The folders that a link's text is followed from: those that the link itself comes to lie in.
    pub(super) fn link_folders(&self, used: &Used, folders: &[PathBuf]) -> Vec<PathBuf> {
        let given = |any: &[&str]| {
            used.options.iter().any(|given| given.names.iter().any(|name| any.contains(&name.as_str())))
        };
        let plain = given(&["--symbolic"]) && !given(&["--relative", "--target-directory"]);
        let Some(link) = used.paths.last().filter(|_| plain && used.paths.len() > 1) else {
            return folders.to_vec();
        };
        let mut found = Vec::new();
        for folder in folders {
            let Named::Places(places) = paths::named(&link.word, folder, self.world) else {
                return folders.to_vec();
            };
            for place in places {
                found.extend(place.real.parent().map(Path::to_owned));
                found.extend(Some(place.real).filter(|real| self.world.is_folder(real)));
            }
        }
        found
    }

    /// A name that is made of one that a wildcard found: `"${f%.bak}"`, `"$f.yaml"`. No file needs to have it yet.
    pub(super) fn comes_about(&mut self, word: &Word, folder: &Path) {
        let last = word.pieces.len().saturating_sub(1);
        if word.pieces.iter().position(|piece| *piece == Piece::one_word()).is_none_or(|at| at == last) {
            return;
        }
        let text = word_text(word);
        let (head, name) = text.rsplit_once('/').unwrap_or((".", &text));
        let glob = Glob::new(name);
        let plain = [
            "askfirst.yaml",
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            "lefthook-local.yml",
            "mise.toml",
            "x.code-workspace",
        ];
        let mut fitting = plain.iter().filter(|plain| glob.matches(plain, Reach::Anything));
        let never = fitting.find_map(|plain| self.reach.never_in(&folder.join(head), plain.as_ref()));
        if never.is_some() || name.starts_with('.') {
            self.wonder(format!("`{text}` may become the name of a file that is never written"));
        }
    }

    /// The folder that a wildcard looks through, where that may lie outside of the roots.
    pub(super) fn looks_through(&mut self, word: &Word, folder: &Path) {
        let text = word_text(word);
        // Other shells, and bash before 5.2, find the folder above by `.*` too.
        let mut parts = text.split('/').rev().skip(1);
        if parts.any(|part| {
            part.starts_with('.')
                && part.contains(['*', '?', '['])
                && Glob::new(part).matches("..", Reach::Anything)
        }) {
            self.wonder(format!("`{text}` may lead to the folder above"));
        }
        let (before, behind) = text.split_at(text.find(['*', '?', '[']).unwrap_or_default());
        if behind.split('/').any(|part| part == "..") {
            self.wonder(format!("`{text}` may lead to the folder above"));
        }
        let Some((head, _)) = before.rsplit_once('/') else { return };
        let rest = head.strip_prefix('~').filter(|_| word.pieces.first() == Some(&Piece::Home));
        let at = match (rest, self.world.home()) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            (_, _) if head.is_empty() => PathBuf::from("/"),
            (_, _) => folder.join(head),
        };
        let climbs = rest.is_some() || head.is_empty() || head.starts_with('/');
        let within = |real: &Path| !climbs && real.starts_with(folder);
        if let Some(real) = real(&at, self.world).filter(|real| !within(real)) {
            self.place(&Place { text: head.to_owned(), plain: at, real }, Touch::Names);
        }
    }

    /// What is moved, copied or linked may lead elsewhere under its new name.
    pub(super) fn makes(&mut self, used: &Used, target: usize, folders: &[PathBuf]) {
        let places = |word: &Word| -> Vec<Place> {
            let named = folders.iter().map(|folder| paths::named(word, folder, self.world));
            let known = named.filter_map(|named| match named {
                Named::Places(places) => Some(places),
                Named::Unknown(_) => None,
            });
            known.flatten().collect()
        };
        let Some(path) = used.paths.get(target) else { return };
        let mut others = used.paths.iter().enumerate().filter(|(index, _)| *index != target);
        let leads = matches!(used.program.as_str(), "link" | "ln")
            || others.any(|(_, other)| {
                places(&other.word).iter().any(|place| leads_away(&place.plain, self.world))
            });
        if leads {
            let made = places(&path.word);
            self.touched.made.extend(made.into_iter().map(|place| place.real));
        }
    }
}

/// Whether a word is what a wildcard found, without its end: `"${f%.txt}"`.
pub(super) fn is_cut(word: &Word) -> bool {
    let marks = |pair: &[Piece]| pair.iter().all(|piece| *piece == Piece::one_word());
    word.pieces.windows(2).any(marks)
}

/// Whether something is a link, or has links or repositories in it, or too much to tell.
fn leads_away(path: &Path, world: &dyn World) -> bool {
    let (mut left, mut looked) = (vec![path.to_owned()], 0);
    while let Some(path) = left.pop() {
        looked += 1;
        let Some(info) = world.info(&path) else { continue };
        let repository = looked > 1 && path.file_name().is_some_and(|name| name == ".git");
        if info.kind == FileKind::Link || repository || looked > MOST_NAMES {
            return true;
        }
        if info.kind == FileKind::Folder {
            let content = world.list(&path, MOST_NAMES + 1).unwrap_or_default();
            left.extend(content.iter().map(|(name, _)| path.join(name)));
        }
    }
    false
}
