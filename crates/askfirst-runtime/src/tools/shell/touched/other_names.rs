//! Files under names that a word only hints at: of another time, by git's own wildcards, inside a longer value, or after a
//! move in the same line.

use std::path::{Path, PathBuf};

use askfirst::Approval;

use super::super::line::tree::{Piece, Word};
use super::super::paths::{self, Named, Place};
use super::super::programs::used::{Class, Role, Used};
use super::super::reach::Touch;
use super::super::secrets::is_secret;
use super::{Doubtful, Looker, MOST_NAMES};

impl Looker<'_> {
    /// `HEAD:path`, `:0:path` and `1,5:path` name a file of another time; `:/path` and `:(icase)path` one by other means.
    pub(super) fn within(&mut self, word: &Word, folders: &[PathBuf]) {
        let Some(text) = word.literal() else { return };
        let tails = text.match_indices([':', ')']).map(|(at, _)| text.get(at + 1..).unwrap_or_default());
        let mut paths: Vec<String> =
            tails.map(|path| path.trim_start_matches(['/', '!', '^']).to_owned()).collect();
        paths.extend(paths.clone().iter().map(|path| path.to_lowercase()));
        for path in paths.iter().filter(|path| !path.is_empty()) {
            self.perhaps(&Word::text(path.as_str(), word.span.clone()), folders, Doubtful::IfThere);
            if is_secret(Path::new(path)) {
                self.ask(format!(
                    "it reads `{path}` of another time, and files of this name usually hold secrets"
                ));
            }
        }
        // git looks for names by wildcards of its own.
        for path in
            paths.iter().map(String::as_str).chain([text]).filter(|path| path.contains(['*', '?', '[']))
        {
            let pieces = vec![Piece::Glob(path.trim_start_matches("**/").to_owned())];
            self.perhaps(&Word::new(word.span.clone(), pieces), folders, Doubtful::IfThere);
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
                let Named::Places(places) = paths::named(&Word::text(part, 0..0), folder, self.home) else {
                    continue;
                };
                for place in places {
                    let written = self.reach.look(&place, Touch::Write);
                    if written.approval == Approval::Deny && written.root.is_none() {
                        self.ask(written.why);
                    }
                }
            }
        }
    }

    /// What is moved, copied or linked may lead elsewhere under its new name.
    pub(super) fn makes(&mut self, used: &Used, target: usize, folders: &[PathBuf]) {
        let places = |word: &Word| -> Vec<Place> {
            let named = folders.iter().map(|folder| paths::named(word, folder, self.home));
            let known = named.filter_map(|named| match named {
                Named::Places(places) => Some(places),
                Named::Unknown(_) => None,
            });
            known.flatten().collect()
        };
        let Some(path) = used.paths.get(target) else { return };
        let mut others = used.paths.iter().enumerate().filter(|(index, _)| *index != target);
        let leads = used.program == "ln"
            || others.any(|(_, other)| places(&other.word).iter().any(|place| leads_away(&place.plain)));
        if leads {
            let made = places(&path.word);
            self.touched.made.extend(made.into_iter().map(|place| place.real));
        }
    }
}

/// Whether something is a link, or has links or repositories in it, or too much to tell.
fn leads_away(path: &Path) -> bool {
    let (mut left, mut looked) = (vec![path.to_owned()], 0);
    while let Some(path) = left.pop() {
        looked += 1;
        let Ok(about) = path.symlink_metadata() else { continue };
        let repository = looked > 1 && path.file_name().is_some_and(|name| name == ".git");
        if about.is_symlink() || repository || looked > MOST_NAMES {
            return true;
        }
        if about.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path()));
        }
    }
    false
}
