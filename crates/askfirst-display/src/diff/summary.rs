//! The summary of a diff in words: the number of lines, and changes that color cannot show.

use super::super::line::{Change, Row};
use super::super::page::plural;
use super::super::text::Slot;
use super::MAX_BLOCK;

/// Counts the changes of a diff, line by line.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    added: usize,
    removed: usize,
    /// The number of changed places.
    blocks: usize,
    /// The number of places that change only whitespace.
    only_blanks: usize,
    /// The number of places that change only line endings.
    only_ends: usize,
    before: Vec<String>,
    after: Vec<String>,
    long: bool,
    old_mode: Option<String>,
    new_mode: Option<String>,
    gone: bool,
    last: Option<Change>,
    no_end_before: bool,
    no_end_after: bool,
}

impl Tally {
    pub(super) fn take(&mut self, change: Change, slot: &Slot<'_>) {
        let raw = slot.raw;
        match change {
            Change::Added | Change::Removed if slot.row == Row::Continued => self.long = true,
            Change::Removed => {
                if !self.after.is_empty() {
                    self.settle();
                }
                self.removed += 1;
                self.keep(raw, Change::Removed);
            }
            Change::Added => {
                self.added += 1;
                self.keep(raw, Change::Added);
            }
            Change::Same | Change::Hunk | Change::Sides => self.settle(),
            Change::Header => self.header(raw),
        }
        if change != Change::Header {
            self.last = Some(change);
        }
    }

    fn keep(&mut self, raw: &str, change: Change) {
        let side = if change == Change::Removed { &mut self.before } else { &mut self.after };
        if side.len() >= MAX_BLOCK {
            self.long = true;
        } else {
            side.push(raw.chars().skip(1).collect());
        }
    }

    fn header(&mut self, raw: &str) {
        if raw.starts_with("\\ No newline") {
            match self.last {
                Some(Change::Removed) => self.no_end_before = true,
                Some(Change::Added) => self.no_end_after = true,
                Some(Change::Same | Change::Hunk | Change::Header | Change::Sides) | None => {
                    (self.no_end_before, self.no_end_after) = (true, true);
                }
            }
            return;
        }
        self.settle();
        let mode = |prefix: &str| {
            let mode = raw.strip_prefix(prefix)?.trim();
            (mode.len() == 6 && mode.bytes().all(|byte| byte.is_ascii_digit())).then(|| mode.to_owned())
        };
        self.old_mode = mode("old mode ").or_else(|| mode("deleted file mode ")).or(self.old_mode.take());
        self.new_mode = mode("new mode ").or_else(|| mode("new file mode ")).or(self.new_mode.take());
        self.gone |= raw.starts_with("deleted file mode ");
    }

    /// Ends a changed place and classifies it.
    pub(super) fn settle(&mut self) {
        let (before, after) = (std::mem::take(&mut self.before), std::mem::take(&mut self.after));
        if before.is_empty() && after.is_empty() {
            return;
        }
        self.blocks += 1;
        if std::mem::take(&mut self.long) {
            return;
        }
        let bare = |lines: &[String]| -> String {
            lines.iter().flat_map(|line| line.chars()).filter(|c| !c.is_whitespace()).collect()
        };
        let ends = |lines: &[String]| -> Vec<String> {
            lines.iter().map(|line| line.trim_end_matches('\r').to_owned()).collect()
        };
        if ends(&before) == ends(&after) {
            self.only_ends += 1;
        } else if bare(&before) == bare(&after) {
            self.only_blanks += 1;
        }
    }

    /// The number of changed lines.
    pub(super) fn count(&self) -> String {
        let lines = |number: usize| format!("{number} {}", plural(number, "line"));
        match (self.added, self.removed) {
            (added, removed) if added == removed => format!("{} changed", lines(added)),
            (added, 0) => format!("{} added", lines(added)),
            (0, removed) => format!("{} removed", lines(removed)),
            (added, removed) => format!("{} added, {removed} removed", lines(added)),
        }
    }

    /// The changes that color cannot show.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut say = |text: String| words.push(text);
        match (self.blocks, self.only_ends, self.only_blanks) {
            (0, _, _) => {}
            (all, ends, 0) if ends == all => say("only line endings change (LF, CRLF)".to_owned()),
            (all, ends, blanks) if ends + blanks == all => say("only whitespace changes".to_owned()),
            (_, ends, blanks) => {
                if ends > 0 {
                    say(format!("only line endings change in {ends} {}", plural(ends, "place")));
                }
                if blanks > 0 {
                    say(format!("only whitespace changes in {blanks} {}", plural(blanks, "place")));
                }
            }
        }
        match (self.no_end_before, self.no_end_after) {
            (false, false) => {}
            (true, true) => say("no newline at end of file, before and after".to_owned()),
            (true, false) => say("the missing newline at end of file is added".to_owned()),
            // The file may be new.
            (false, true) if self.removed == 0 => say("no newline at end of file".to_owned()),
            (false, true) => say("the newline at end of file is removed".to_owned()),
        }
        match (&self.old_mode, &self.new_mode) {
            (Some(old), Some(new)) => say(format!("file mode changes from {} to {}", kind(old), kind(new))),
            (None, Some(new)) => say(format!("new file: {}", kind(new))),
            (Some(old), None) if self.gone => say(format!("file deleted: {}", kind(old))),
            (Some(_) | None, None) => {}
        }
        words
    }
}

/// A file mode in words.
fn kind(mode: &str) -> String {
    let words = match mode {
        "120000" => "symlink",
        "100755" => "executable",
        "100644" => "regular file",
        "160000" => "submodule",
        _ => return mode.to_owned(),
    };
    format!("{mode} ({words})")
}
