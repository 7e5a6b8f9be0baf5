//! Searches for lines in files.
//!
//! A search reads a file only if that needs no approval, or no stricter approval than the search itself got.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use askfirst_config::PathMode;
use regex::bytes::{Regex, RegexBuilder};
use rustix::fs::fstat;
use serde_json::{Value, json};

use super::error::CallError;
use super::file_call::PatternKind;
use super::handle::{self, ObjectKind, size_of};
use super::list::GlobFilter;
use super::location::Location;
use super::place::RootView;
use super::tree::{self, WalkStep};

/// A line that is longer than this many bytes is searched in chunks of this size.
const MAX_LINE: u64 = 64 << 10;
/// The maximum number of characters that the result shows of a line.
const MAX_SHOWN_CHARS: usize = 400;

/// A search for lines.
pub(crate) struct Search {
    pattern: Regex,
    filter: GlobFilter,
    limit: usize,
}

impl Search {
    pub(crate) fn new(
        pattern: &str,
        kind: PatternKind,
        glob: Option<&str>,
        limit: u64,
    ) -> Result<Self, CallError> {
        let source = match kind {
            PatternKind::Literal => regex::escape(pattern),
            PatternKind::Regex => pattern.to_owned(),
        };
        let built = RegexBuilder::new(&source).unicode(false).size_limit(1 << 20).build();
        let fault = |_| CallError::BadArgs(format!("invalid search pattern `{pattern}`"));
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(Self { pattern: built.map_err(fault)?, filter: GlobFilter::new(glob)?, limit })
    }

    /// Searches one file, or all files below a folder.
    pub(crate) fn run(&self, view: &RootView<'_>, location: &Location) -> Result<Value, CallError> {
        let mut result = SearchResult::default();
        if location.kind() == Some(ObjectKind::Folder) {
            let summary = tree::walk(tree::open_folder(view, location)?, &location.label, &mut |entry| {
                self.visit(view, location, entry, &mut result)
            })?;
            result.skipped += summary.skipped_folders;
        } else {
            let (file, _) = view.open_file(location)?;
            self.search_lines(file, &location.label, &mut result)?;
        }
        result.lines.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        let line =
            |(path, line, text): &(String, u64, String)| json!({"path": path, "line": line, "text": text});
        Ok(json!({
            "lines": result.lines.iter().map(line).collect::<Vec<_>>(),
            "left_out": result.left_out,
            "files_searched": result.searched,
            "files_skipped": result.skipped,
        }))
    }

    fn visit(
        &self,
        view: &RootView<'_>,
        location: &Location,
        entry: &tree::WalkEntry<'_>,
        result: &mut SearchResult,
    ) -> Result<WalkStep, CallError> {
        let real = view.real_path(location)?.join(entry.path);
        let never = &view.roots.never;
        if !never.reads_all() && view.by_names(&real, |names| never.read(names)).is_some() {
            result.skipped += 1;
            return Ok(WalkStep::Skip);
        }
        match entry.kind {
            ObjectKind::Folder => return Ok(WalkStep::Enter),
            ObjectKind::Link | ObjectKind::Other(_) => return Ok(WalkStep::Skip),
            ObjectKind::File => {}
        }
        if !self.filter.matches(entry.path) {
            return Ok(WalkStep::Skip);
        }
        match self.open(view, location, entry, &real) {
            Some((file, label)) => self.search_lines(file, &label, result)?,
            None => result.skipped += 1,
        }
        Ok(WalkStep::Enter)
    }

    /// Opens a file if the search may read it: without approval, or with the approval of the searched folder.
    fn open(
        &self,
        view: &RootView<'_>,
        location: &Location,
        entry: &tree::WalkEntry<'_>,
        real: &Path,
    ) -> Option<(File, String)> {
        let (root, path, rights) = view.governing_root(real)?;
        let is_covered = root == location.root && rights.approval.read <= location.rights.approval.read;
        let is_free = rights.approval.read == askfirst::Approval::None;
        if !(is_covered || is_free) || !rights.allows_name(entry.name) {
            return None;
        }
        let file = handle::open_file(entry.folder, Path::new(entry.name)).ok()?;
        let stat = fstat(&file).ok()?;
        let is_hard_link = stat.st_nlink > 1 && rights.mode == PathMode::Rw && is_free;
        let is_allowed =
            ObjectKind::of(&stat) == ObjectKind::File && rights.allows_size(size_of(&stat)) && !is_hard_link;
        is_allowed.then(|| (file, view.label(root, path)))
    }

    fn search_lines(&self, file: File, label: &str, result: &mut SearchResult) -> Result<(), CallError> {
        let mut reader = BufReader::new(file);
        let fault = |e: std::io::Error| CallError::failed(&format!("cannot read `{label}`"), e);
        if reader.fill_buf().map_err(fault)?.contains(&0) {
            result.skipped += 1;
            return Ok(());
        }
        result.searched += 1;
        let (mut line, mut number, mut counted) = (Vec::new(), 1_u64, 0_u64);
        loop {
            line.clear();
            let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(fault)?;
            if read == 0 {
                return Ok(());
            }
            let is_complete = line.last() == Some(&b'\n');
            if is_complete {
                line.pop();
            }
            // A line that is searched in chunks counts once.
            if counted != number && self.pattern.is_match(&line) {
                counted = number;
                if result.lines.len() < self.limit {
                    result.lines.push((label.to_owned(), number, shorten(&line)));
                } else {
                    result.left_out += 1;
                }
            }
            number += u64::from(is_complete);
        }
    }
}

#[derive(Default)]
struct SearchResult {
    lines: Vec<(String, u64, String)>,
    left_out: u64,
    searched: u64,
    skipped: u64,
}

fn shorten(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(MAX_SHOWN_CHARS).collect();
    let rest = chars.count();
    if rest > 0 { format!("{head}… [{rest} more characters]") } else { head }
}
