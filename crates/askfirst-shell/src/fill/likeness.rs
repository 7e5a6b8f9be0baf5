//! Whether something is on the disk that a word with stand-ins may turn out to name.
//!
//! Where a number, a date or a hash is filled in, another stands there when it runs. Which one does not matter unless a file
//! or folder has such a name: that may be a link, or a repository.

use std::path::PathBuf;

use super::super::paths;
use super::super::world::World;

/// A word as a wildcard: stand-ins match whatever may stand in their place.
#[derive(Debug, Default)]
pub(in super::super) struct Likeness {
    glob: String,
    /// Where the last stand-in begins.
    last: Option<usize>,
}

impl Likeness {
    /// Any number.
    pub(in super::super) fn of_number() -> Self {
        let mut any = Self::default();
        any.stand_in("[-0-9]*");
        any
    }

    /// What is sure.
    pub(super) fn push(&mut self, text: &str) {
        self.glob.push_str(&paths::as_glob(text));
    }

    /// What is found on the disk anyway.
    pub(super) fn wild(&mut self) {
        self.glob.push('*');
    }

    /// What is not sure, as a wildcard.
    pub(super) fn stand_in(&mut self, glob: &str) {
        self.last = Some(self.glob.len());
        self.glob.push_str(glob);
    }

    /// Whether there is something of such a name. A path may begin behind a sign too: `--file=x`, `@x`, `-Cx`.
    pub(in super::super) fn is_there(&self, folders: &[PathBuf], world: &dyn World) -> bool {
        let Some(last) = self.last else { return false };
        let short = (self.glob.starts_with('-') && !self.glob.starts_with("--")).then_some(2);
        let signs = self.glob.match_indices(['=', ':', '@', ',']).map(|(at, _)| at + 1);
        let mut starts = signs.chain(short).chain([0]).filter(|at| *at <= last);
        starts.any(|at| {
            let path = self.glob.get(at..).unwrap_or_default();
            folders.iter().any(|folder| paths::finds(path, folder, world))
        })
    }
}

/// Texts whose digits may be others. One alone may be a number of any length.
pub(super) fn of_digits(text: &str) -> String {
    if text == "0" {
        return "[-0-9]*".to_owned();
    }
    text.chars()
        .map(|c| if c.is_ascii_digit() { "[0-9]".to_owned() } else { paths::as_glob(&c.to_string()) })
        .collect()
}
