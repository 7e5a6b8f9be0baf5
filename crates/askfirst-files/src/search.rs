//! Finding lines in files. It reads only what the rules of each file's own root let it read unasked, or what was asked.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use askfirst_config::PathMode;
use regex::bytes::{Regex, RegexBuilder};
use rustix::fs::fstat;
use serde_json::{Value, json};

use super::error::Trouble;
use super::handle::{self, Kind, size_of};
use super::list::Wanted;
use super::place::{Ground, Spot};
use super::tree::{self, Next};
use super::wish::Matching;

/// A longer line is looked at in pieces of this size.
const MAX_LINE: u64 = 64 << 10;
/// So much of a line is given back.
const SHOWN: usize = 400;

/// What to look for.
pub(crate) struct Search {
    pattern: Regex,
    wanted: Wanted,
    limit: usize,
}

impl Search {
    pub(crate) fn new(
        pattern: &str,
        matching: Matching,
        glob: Option<&str>,
        limit: u64,
    ) -> Result<Self, Trouble> {
        let source = match matching {
            Matching::Literal => regex::escape(pattern),
            Matching::Regex => pattern.to_owned(),
        };
        let built = RegexBuilder::new(&source).unicode(false).size_limit(1 << 20).build();
        let fault = |_| Trouble::BadArgs(format!("`{pattern}` is no pattern that can be searched for"));
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(Self { pattern: built.map_err(fault)?, wanted: Wanted::new(glob)?, limit })
    }

    /// The lines of one file, or of all below a folder.
    pub(crate) fn run(&self, ground: &Ground<'_>, spot: &Spot) -> Result<Value, Trouble> {
        let mut found = Found::default();
        if spot.kind() == Some(Kind::Folder) {
            let walked = tree::walk(tree::enter(ground, spot)?, &spot.label, &mut |entry| {
                self.visit(ground, spot, entry, &mut found)
            })?;
            found.skipped += walked.unseen;
        } else {
            let (file, _) = ground.open(spot)?;
            self.lines(file, &spot.label, &mut found)?;
        }
        found.lines.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        let line =
            |(path, line, text): &(String, u64, String)| json!({"path": path, "line": line, "text": text});
        Ok(json!({
            "lines": found.lines.iter().map(line).collect::<Vec<_>>(),
            "left_out": found.left_out,
            "files_searched": found.searched,
            "files_skipped": found.skipped,
        }))
    }

    fn visit(
        &self,
        ground: &Ground<'_>,
        spot: &Spot,
        entry: &tree::Entry<'_>,
        found: &mut Found,
    ) -> Result<Next, Trouble> {
        let real = ground.real(spot)?.join(entry.path);
        let never = &ground.roots.never;
        if !never.reads_all() && ground.by_names(&real, |names| never.read(names)).is_some() {
            found.skipped += 1;
            return Ok(Next::Past);
        }
        match entry.kind {
            Kind::Folder => return Ok(Next::Into),
            Kind::Link | Kind::Other(_) => return Ok(Next::Past),
            Kind::File => {}
        }
        if !self.wanted.takes(entry.path) {
            return Ok(Next::Past);
        }
        match self.open(ground, spot, entry, &real) {
            Some((file, label)) => self.lines(file, &label, found)?,
            None => found.skipped += 1,
        }
        Ok(Next::Into)
    }

    /// Opens a file that may be read like the folder that was asked about.
    fn open(
        &self,
        ground: &Ground<'_>,
        spot: &Spot,
        entry: &tree::Entry<'_>,
        real: &Path,
    ) -> Option<(File, String)> {
        let (root, path, rights) = ground.speaks(real)?;
        let as_asked = root == spot.root && rights.approval.read <= spot.rights.approval.read;
        let free = rights.approval.read == askfirst::Approval::None;
        if !(as_asked || free) || !rights.takes(entry.name) {
            return None;
        }
        let file = handle::readable(entry.folder, Path::new(entry.name)).ok()?;
        let stat = fstat(&file).ok()?;
        let linked = stat.st_nlink > 1 && rights.mode == PathMode::Rw && free;
        let fits = Kind::of(&stat) == Kind::File && rights.holds(size_of(&stat)) && !linked;
        fits.then(|| (file, ground.label(root, path)))
    }

    fn lines(&self, file: File, label: &str, found: &mut Found) -> Result<(), Trouble> {
        let mut reader = BufReader::new(file);
        let fault = |e: std::io::Error| Trouble::failed(&format!("`{label}` cannot be read"), e);
        if reader.fill_buf().map_err(fault)?.contains(&0) {
            found.skipped += 1;
            return Ok(());
        }
        found.searched += 1;
        let (mut line, mut number, mut counted) = (Vec::new(), 1_u64, 0_u64);
        loop {
            line.clear();
            let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(fault)?;
            if read == 0 {
                return Ok(());
            }
            let ended = line.last() == Some(&b'\n');
            if ended {
                line.pop();
            }
            // A line that comes in pieces counts once.
            if counted != number && self.pattern.is_match(&line) {
                counted = number;
                if found.lines.len() < self.limit {
                    found.lines.push((label.to_owned(), number, shorten(&line)));
                } else {
                    found.left_out += 1;
                }
            }
            number += u64::from(ended);
        }
    }
}

#[derive(Default)]
struct Found {
    lines: Vec<(String, u64, String)>,
    left_out: u64,
    searched: u64,
    skipped: u64,
}

fn shorten(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(SHOWN).collect();
    let rest = chars.count();
    if rest > 0 { format!("{head}… [{rest} more characters]") } else { head }
}
