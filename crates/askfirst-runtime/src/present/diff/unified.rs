//! Compares two texts line by line. Lines end with a line feed and with nothing else, so that what is shown as one
//! line is one line of the file. Whatever it finds, taking the removed lines away and putting the added ones in gives
//! the text after: finding less makes a diff longer, never wrong.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// So many lines around a change are shown.
const CONTEXT: usize = 3;
/// Stretches of so many lines, both sides together, are compared line by line.
const SMALL: usize = 2_048;
/// Larger ones are taken apart at lines that are there once in both, so often at most.
const MAX_DEPTH: usize = 8;

/// The unified diff of two texts.
#[must_use]
pub fn unified(name: &str, before: &str, after: &str) -> String {
    // A name must not be able to look like a line of the diff.
    let name: String = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let mut out = format!("--- {name}\n+++ {name}\n");
    if before == after {
        return out;
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    for hunk in hunks(changes(&old, &new), old.len()) {
        write_hunk(&mut out, &hunk, &old, &new);
    }
    out
}

/// Lines that are taken away and lines that come in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Changed {
    old: Range<usize>,
    new: Range<usize>,
}

/// Changes that stand close together, with the lines around them.
struct Hunk {
    changes: Vec<Changed>,
    before: usize,
    after: usize,
}

/// What changes, in order.
fn changes(old: &[&str], new: &[&str]) -> Vec<Changed> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let middle = |rest: &[&str]| rest.len() - tail;
    let (old_len, new_len) = (middle(old_rest), middle(new_rest));
    let kept = kept(old_rest.get(..old_len).unwrap_or_default(), new_rest.get(..new_len).unwrap_or_default());
    let mut found = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for (old_kept, new_kept) in kept.into_iter().chain([(old_len, new_len)]) {
        if old_kept > old_at || new_kept > new_at {
            found.push(Changed { old: head + old_at..head + old_kept, new: head + new_at..head + new_kept });
        }
        (old_at, new_at) = (old_kept + 1, new_kept + 1);
    }
    found
}

/// Lines that are in both, pair by pair, in order.
fn kept(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    // Each different line by a number, and whether it is in both: the others need no comparing.
    let mut numbers: HashMap<&str, u32> = HashMap::with_capacity(old.len());
    let number_of = |line| {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        *numbers.entry(line).or_insert(next)
    };
    let ids: Vec<u32> = old.iter().chain(new).copied().map(number_of).collect();
    let (old_ids, new_ids) = ids.split_at(old.len());
    let there = |ids: &[u32]| {
        let mut there = vec![false; numbers.len()];
        for id in ids {
            if let Some(place) = usize::try_from(*id).ok().and_then(|id| there.get_mut(id)) {
                *place = true;
            }
        }
        there
    };
    let shared = |ids: &[u32], there: &[bool]| -> (Vec<usize>, Vec<u32>) {
        let in_both =
            |id: u32| usize::try_from(id).ok().and_then(|id| there.get(id)).copied().unwrap_or(true);
        ids.iter().enumerate().filter(|(_, id)| in_both(**id)).map(|(at, id)| (at, *id)).unzip()
    };
    let (old_places, old_shared) = shared(old_ids, &there(new_ids));
    let (new_places, new_shared) = shared(new_ids, &there(old_ids));
    let mut pairs = Vec::new();
    common(&old_shared, &new_shared, (0, 0), 0, &mut pairs);
    let place = |(old, new): (usize, usize)| old_places.get(old).copied().zip(new_places.get(new).copied());
    pairs.into_iter().filter_map(place).collect()
}

/// Pairs of equal lines, in order. How long it takes depends on how many lines there are, not on what they are; and
/// what it finds depends on the lines alone, so that what was shown can be shown again.
fn common(old: &[u32], new: &[u32], from: (usize, usize), depth: usize, pairs: &mut Vec<(usize, usize)>) {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_len, new_len) = (old.len() - tail, new.len() - tail);
    let (old, new) = (old.get(..old_len).unwrap_or_default(), new.get(..new_len).unwrap_or_default());
    let from = |at: (usize, usize)| (from.0 + at.0, from.1 + at.1);
    pairs.extend((0..head).map(|at| from((at, at))));
    let within = |at: (usize, usize)| from((head + at.0, head + at.1));
    if old_len + new_len <= SMALL {
        for op in capture_diff_slices(Algorithm::Myers, old, new) {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                pairs.extend((0..len).map(|at| within((old_index + at, new_index + at))));
            }
        }
    } else if depth < MAX_DEPTH {
        let found = anchors(old, new);
        let mut last = (0, 0);
        let end = (!found.is_empty()).then_some((old_len, new_len));
        for (old_at, new_at) in found.into_iter().chain(end) {
            let (left, right) = (old.get(last.0..old_at), new.get(last.1..new_at));
            common(left.unwrap_or_default(), right.unwrap_or_default(), within(last), depth + 1, pairs);
            if (old_at, new_at) != (old_len, new_len) {
                pairs.push(within((old_at, new_at)));
            }
            last = (old_at + 1, new_at + 1);
        }
    }
    pairs.extend((0..tail).map(|at| within((old_len + at, new_len + at))));
}

/// Lines that are there once in both, as many as stand in the same order.
fn anchors(old: &[u32], new: &[u32]) -> Vec<(usize, usize)> {
    let mut counts: HashMap<u32, (usize, usize, usize)> = HashMap::with_capacity(old.len());
    for id in old {
        counts.entry(*id).or_default().0 += 1;
    }
    for (at, id) in new.iter().enumerate() {
        if let Some(count) = counts.get_mut(id) {
            (count.1, count.2) = (count.1 + 1, at);
        }
    }
    let once = |(at, id): (usize, &u32)| match counts.get(id) {
        Some((1, 1, new_at)) => Some((at, *new_at)),
        Some(_) | None => None,
    };
    let once: Vec<(usize, usize)> = old.iter().enumerate().filter_map(once).collect();
    // The longest row in which both rise: for each length the one that ends first, and who came before whom.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(once.len());
    for (at, (_, new_at)) in once.iter().enumerate() {
        let place = ends.partition_point(|end| once.get(*end).is_some_and(|(_, other)| other < new_at));
        before.push(place.checked_sub(1).and_then(|place| ends.get(place)).copied());
        match ends.get_mut(place) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut row: Vec<(usize, usize)> = std::iter::successors(ends.last().copied(), |at| *before.get(*at)?)
        .filter_map(|at| once.get(at).copied())
        .collect();
    row.reverse();
    row
}

/// Changes that are so close that their surroundings meet stand in one hunk.
fn hunks(changes: Vec<Changed>, lines: usize) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for change in changes {
        let near = |hunk: &Hunk| {
            hunk.changes.last().is_some_and(|last| change.old.start - last.old.end <= 2 * CONTEXT)
        };
        match hunks.last_mut().filter(|hunk| near(hunk)) {
            Some(hunk) => hunk.changes.push(change),
            None => {
                let before = change.old.start.min(CONTEXT);
                hunks.push(Hunk { changes: vec![change], before, after: 0 });
            }
        }
    }
    for hunk in &mut hunks {
        let end = hunk.changes.last().map_or(lines, |last| last.old.end);
        hunk.after = (lines - end).min(CONTEXT);
    }
    hunks
}

fn write_hunk(out: &mut String, hunk: &Hunk, old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (hunk.changes.first(), hunk.changes.last()) else { return };
    let side = |start: usize, end: usize| {
        let (start, len) = (start - hunk.before, end + hunk.after + hunk.before - start);
        // A side without lines is told by the line before it.
        let start = if len == 0 { start } else { start + 1 };
        if len == 1 { start.to_string() } else { format!("{start},{len}") }
    };
    let (minus, plus) = (side(first.old.start, last.old.end), side(first.new.start, last.new.end));
    // Writing into a string cannot fail.
    let _ = writeln!(out, "@@ -{minus} +{plus} @@");
    let mut at = first.old.start - hunk.before;
    for change in &hunk.changes {
        write_lines(out, ' ', old.get(at..change.old.start));
        write_lines(out, '-', old.get(change.old.clone()));
        write_lines(out, '+', new.get(change.new.clone()));
        at = change.old.end;
    }
    write_lines(out, ' ', old.get(at..at + hunk.after));
}

fn write_lines(out: &mut String, sign: char, lines: Option<&[&str]>) {
    for line in lines.unwrap_or_default() {
        out.push(sign);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
#[path = "unified/tests.rs"]
mod tests;
