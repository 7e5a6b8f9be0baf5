//! Programs that read all of a folder and follow the links in it, which may lead out of every root.

use std::path::PathBuf;

use super::Looker;
use crate::line::tree::Word;
use crate::paths::{self, Named};
use crate::programs::used::Used;

/// Options with which links are followed, by program.
const FOLLOWING: [(&[&str], &[&str]); 11] = [
    (&["grep", "egrep", "fgrep"], &["-R", "--dereference-recursive"]),
    (&["rg", "fd", "fdfind"], &["-L", "--follow"]),
    (&["ag"], &["-f", "--follow"]),
    (&["ack"], &["--follow"]),
    (&["find"], &["-L", "-follow"]),
    (&["diff"], &["-r", "--recursive"]),
    (&["zip"], &["-r", "--recurse-paths"]),
    (&["tar"], &["-h", "--dereference"]),
    (&["du", "cp", "rsync", "chown", "chmod", "chgrp"], &["-L", "--dereference", "--copy-links"]),
    (&["tree"], &["-l"]),
    (&["scp"], &["-r"]),
];

/// Options with which they are not.
const STAYING: [(&str, &[&str]); 2] = [("diff", &["--no-dereference"]), ("zip", &["-y", "--symlinks"])];

impl Looker<'_> {
    /// Asks where a link below what is read leads outside. `named` are files that were listed, which are opened one by one.
    pub(super) fn followed(&mut self, used: &Used, word: &Word, folders: &[PathBuf], named: bool) {
        let follows = follows(used);
        if !follows && !named {
            return;
        }
        for folder in folders {
            let Named::Places(places) = paths::named(word, folder, self.world) else { continue };
            for place in places.iter().filter(|place| self.world.is_folder(&place.real)) {
                match self.reach.leads_outside(&place.real) {
                    Some(true) => {
                        self.wonder(format!(
                            "a link in `{}` leads out of every root, and this command follows it",
                            place.text
                        ));
                    }
                    // Of what is listed most is small; whoever follows links on purpose is asked about.
                    None if follows => {
                        self.wonder(format!(
                            "this command follows links in `{}`, which has too many files to check",
                            place.text
                        ));
                    }
                    Some(false) | None => {}
                }
            }
        }
    }
}

fn follows(used: &Used) -> bool {
    let has = |any: &[&str]| {
        used.options.iter().any(|given| given.names.iter().any(|name| any.contains(&name.as_str())))
    };
    let program = used.program.as_str();
    let given = FOLLOWING.iter().any(|(programs, options)| programs.contains(&program) && has(options));
    given && !STAYING.iter().any(|(staying, options)| *staying == program && has(options))
}
