//! Compares two texts line by line and writes a unified diff.
//!
//! Only a newline ends a line, so that one line on screen is one line of the file.
//! Applying the diff to the old text always gives the new text.
//! A weaker search for equal lines makes the diff longer, but never wrong.
//!
//! It stores a few bytes per line and no list of lines, because a text can have very many short lines.

mod numbers;

use std::fmt::Write;
use std::str::SplitInclusive;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use numbers::{NumberedLines, number_lines};

/// The number of unchanged lines before and after a change.
const CONTEXT: u32 = 3;
/// Ranges up to this size, in lines of both sides together, are compared line by line.
const SMALL: usize = 2_048;
/// Larger ranges are split at lines that occur once on each side, at most this many times.
const MAX_DEPTH: usize = 8;

/// Returns the unified diff of two texts.
#[must_use]
pub fn unified(name: &str, before: &str, after: &str) -> String {
    // A name must not be able to look like a line of the diff.
    let name: String = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let out = format!("--- {name}\n+++ {name}\n");
    if before == after {
        return out;
    }
    let changes = changes(before, after);
    let mut writer = HunkWriter {
        out,
        old: LineCursor::new(before),
        new: LineCursor::new(after),
        lines: lines_in(before),
    };
    let mut rest = changes.as_slice();
    while !rest.is_empty() {
        // Changes whose context lines touch are in one hunk.
        let near =
            |pair: &&[Replacement]| matches!(pair, [one, next] if next.old.0 - one.old.1 <= 2 * CONTEXT);
        let (hunk, later) = rest.split_at(1 + rest.windows(2).take_while(near).count());
        writer.hunk(hunk);
        rest = later;
    }
    writer.out
}

/// The first line, and the line after the last.
type LineRange = (u32, u32);

/// Removed lines and the lines that replace them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Replacement {
    old: LineRange,
    new: LineRange,
}

/// Consecutive lines that are equal on both sides.
#[derive(Debug, Clone, Copy)]
struct EqualLines {
    old: u32,
    new: u32,
    len: u32,
}

/// The number of lines of a text.
fn lines_in(text: &str) -> u32 {
    let feeds = text.bytes().filter(|byte| *byte == b'\n').count();
    count(feeds + usize::from(!text.is_empty() && !text.ends_with('\n')))
}

/// Narrows a number to `u32`. Lines beyond that are not compared; no screen shows so many.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// All changes, in order.
fn changes(before: &str, after: &str) -> Vec<Replacement> {
    let (head, rest) = before.split_at(same_head(before, after));
    let (_, new_rest) = after.split_at(head.len());
    let tail = same_tail(rest, new_rest);
    let (old, _) = rest.split_at(rest.len() - tail);
    let (new, _) = new_rest.split_at(new_rest.len() - tail);
    let head = lines_in(head);
    let (old_len, new_len) = (lines_in(old), lines_in(new));
    let mut found = Vec::new();
    let mut at = (0, 0);
    let mut keep = |old_kept: u32, new_kept: u32| {
        if old_kept > at.0 || new_kept > at.1 {
            found.push(Replacement {
                old: (head + at.0, head + old_kept),
                new: (head + at.1, head + new_kept),
            });
        }
        at = (old_kept + 1, new_kept + 1);
    };
    if let Some(numbered) = number_lines(old, new) {
        keep_equal(&numbered, &mut keep);
    }
    keep(old_len, new_len);
    found
}

/// The length in bytes of the equal lines at the start.
fn same_head(before: &str, after: &str) -> usize {
    const PIECE: usize = 4 << 10;
    let (mut same, pieces) = (0, before.as_bytes().chunks(PIECE).zip(after.as_bytes().chunks(PIECE)));
    for (old, new) in pieces {
        if old == new {
            same += old.len();
        } else {
            same += old.iter().zip(new).take_while(|(old, new)| old == new).count();
            break;
        }
    }
    let lines = before.as_bytes().get(..same).unwrap_or_default();
    lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

/// The length in bytes of the equal lines at the end.
fn same_tail(before: &str, after: &str) -> usize {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let begins = |text: &[u8]| match text.len().checked_sub(same + 1) {
        Some(before) => text.get(before) == Some(&b'\n'),
        None => true,
    };
    if begins(old) && begins(new) {
        return same;
    }
    let tail = old.get(old.len() - same..).unwrap_or_default();
    tail.iter().position(|byte| *byte == b'\n').map_or(0, |end| same - end - 1)
}

/// Calls `keep` for each pair of equal lines, in order.
fn keep_equal(numbered: &NumberedLines, keep: &mut impl FnMut(u32, u32)) {
    let NumberedLines { old, new, different } = numbered;
    let mut runs = Vec::new();
    let mut counts = Vec::new();
    if old.ids.len() + new.ids.len() > SMALL {
        counts.resize(*different, Occurrence::NONE);
    }
    find_equal(&old.ids, &new.ids, (0, 0), 0, &mut counts, &mut runs);
    drop(counts);
    for EqualLines { old: old_from, new: new_from, len } in runs {
        for at in 0..len {
            let (old_at, new_at) =
                (old.places.get(index(old_from + at)), new.places.get(index(new_from + at)));
            if let (Some(old_at), Some(new_at)) = (old_at, new_at) {
                keep(*old_at, *new_at);
            }
        }
    }
}

fn add(runs: &mut Vec<EqualLines>, (old, new): (usize, usize), len: usize) {
    let (old, new, len) = (count(old), count(new), count(len));
    match runs.last_mut() {
        Some(last) if last.old + last.len == old && last.new + last.len == new => last.len += len,
        Some(_) | None if len > 0 => runs.push(EqualLines { old, new, len }),
        Some(_) | None => {}
    }
}

/// Finds runs of equal lines, in order.
///
/// The time depends on the number of lines and not on their content.
/// The result depends only on the lines, so that the same diff can be shown again.
fn find_equal(
    old: &[u32],
    new: &[u32],
    from: (usize, usize),
    depth: usize,
    counts: &mut [Occurrence],
    runs: &mut Vec<EqualLines>,
) {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_len, new_len) = (old.len() - tail, new.len() - tail);
    let (old, new) = (old.get(..old_len).unwrap_or_default(), new.get(..new_len).unwrap_or_default());
    add(runs, from, head);
    let within = |at: (usize, usize)| (from.0 + head + at.0, from.1 + head + at.1);
    if old_len + new_len <= SMALL {
        for op in capture_diff_slices(Algorithm::Myers, old, new) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                add(runs, within((old_index, new_index)), len);
            }
        }
    } else if depth < MAX_DEPTH {
        let found = anchors(old, new, counts);
        let mut last = (0, 0);
        let end = (!found.is_empty()).then_some((count(old_len), count(new_len)));
        for (old_at, new_at) in found.into_iter().chain(end) {
            let (old_at, new_at) = (index(old_at), index(new_at));
            let (left, right) = (old.get(last.0..old_at), new.get(last.1..new_at));
            let (left, right) = (left.unwrap_or_default(), right.unwrap_or_default());
            find_equal(left, right, within(last), depth + 1, counts, runs);
            if (old_at, new_at) != (old_len, new_len) {
                add(runs, within((old_at, new_at)), 1);
            }
            last = (old_at + 1, new_at + 1);
        }
    }
    add(runs, within((old_len, new_len)), tail);
}

/// The place of a line on each side, if it occurs once there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Occurrence {
    old: u32,
    new: u32,
}

impl Occurrence {
    const NOWHERE: u32 = u32::MAX;
    const SEVERAL: u32 = u32::MAX - 1;
    const NONE: Self = Self { old: Self::NOWHERE, new: Self::NOWHERE };

    fn seen(place: &mut u32, at: usize) {
        *place = if *place == Self::NOWHERE { count(at) } else { Self::SEVERAL };
    }
}

/// The longest list of lines that occur once on each side and have the same order on both.
fn anchors(old: &[u32], new: &[u32], counts: &mut [Occurrence]) -> Vec<LineRange> {
    for id in old.iter().chain(new) {
        if let Some(count) = counts.get_mut(index(*id)) {
            *count = Occurrence::NONE;
        }
    }
    for (at, id) in old.iter().enumerate() {
        counts.get_mut(index(*id)).into_iter().for_each(|count| Occurrence::seen(&mut count.old, at));
    }
    for (at, id) in new.iter().enumerate() {
        counts.get_mut(index(*id)).into_iter().for_each(|count| Occurrence::seen(&mut count.new, at));
    }
    let once = |(at, id): (usize, &u32)| {
        let found = counts.get(index(*id)).filter(|found| found.old == count(at))?;
        (found.new < Occurrence::SEVERAL).then_some((found.old, found.new))
    };
    let once: Vec<LineRange> = old.iter().enumerate().filter_map(once).collect();
    // The longest increasing subsequence: for each length, the one that ends first, and the predecessor of each line.
    let mut ends: Vec<u32> = Vec::new();
    let mut before: Vec<u32> = Vec::with_capacity(once.len());
    for (at, (_, new_at)) in once.iter().enumerate() {
        let place =
            ends.partition_point(|end| once.get(index(*end)).is_some_and(|(_, other)| other < new_at));
        let last = place.checked_sub(1).and_then(|place| ends.get(place));
        before.push(last.copied().unwrap_or(Occurrence::NOWHERE));
        match ends.get_mut(place) {
            Some(end) => *end = count(at),
            None => ends.push(count(at)),
        }
    }
    let previous = |at: &u32| before.get(index(*at)).copied().filter(|at| *at != Occurrence::NOWHERE);
    let mut row: Vec<LineRange> = std::iter::successors(ends.last().copied(), previous)
        .filter_map(|at| once.get(index(at)).copied())
        .collect();
    row.reverse();
    row
}

/// Reads a text line by line, forward only.
struct LineCursor<'a> {
    lines: SplitInclusive<'a, char>,
    at: u32,
}

impl<'a> LineCursor<'a> {
    fn new(text: &'a str) -> Self {
        Self { lines: text.split_inclusive('\n'), at: 0 }
    }

    fn write(&mut self, out: &mut String, sign: char, (from, to): LineRange) {
        for _ in self.at..from {
            self.lines.next();
        }
        for line in self.lines.by_ref().take(index(to - from)) {
            out.push(sign);
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
        self.at = to.max(self.at);
    }
}

/// Writes the hunks of a diff.
struct HunkWriter<'a> {
    out: String,
    old: LineCursor<'a>,
    new: LineCursor<'a>,
    lines: u32,
}

impl HunkWriter<'_> {
    fn hunk(&mut self, changes: &[Replacement]) {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
        let (before, after) = (first.old.0.min(CONTEXT), (self.lines - last.old.1).min(CONTEXT));
        let side = |start: u32, end: u32| {
            let (start, len) = (start - before, end + after + before - start);
            // A side without lines is given by the line before it.
            let start = if len == 0 { start } else { start + 1 };
            if len == 1 { start.to_string() } else { format!("{start},{len}") }
        };
        let (minus, plus) = (side(first.old.0, last.old.1), side(first.new.0, last.new.1));
        // Writing into a string cannot fail.
        let _ = writeln!(self.out, "@@ -{minus} +{plus} @@");
        let mut at = first.old.0 - before;
        for change in changes {
            self.old.write(&mut self.out, ' ', (at, change.old.0));
            self.old.write(&mut self.out, '-', change.old);
            self.new.write(&mut self.out, '+', change.new);
            at = change.old.1;
        }
        self.old.write(&mut self.out, ' ', (at, at + after));
    }
}

#[cfg(test)]
#[path = "unified/tests.rs"]
mod tests;
