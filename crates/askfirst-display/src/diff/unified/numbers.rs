//! Numbers the distinct lines of two texts. Equal lines get equal numbers, even for hostile input.

use std::hash::{BuildHasher, RandomState};

use super::{count, index};

/// The lines that occur in both texts, as numbers.
pub(super) struct NumberedLines {
    pub(super) old: SharedLines,
    pub(super) new: SharedLines,
    /// The number of distinct lines.
    pub(super) different: usize,
}

/// The lines of one side that also occur on the other.
pub(super) struct SharedLines {
    pub(super) ids: Vec<u32>,
    /// The line number of each on its own side.
    pub(super) places: Vec<u32>,
}

const IN_OLD: u8 = 1;
const IN_NEW: u8 = 2;

/// Numbers the lines of two texts. Returns `None` if the texts are longer than 4 GiB.
pub(super) fn number_lines(old: &str, new: &str) -> Option<NumberedLines> {
    u32::try_from(old.len().checked_add(new.len())?).ok().filter(|all| *all < EMPTY)?;
    let mut table = Table::new(old, new);
    let old_ids = table.side(old, 0);
    let new_ids = table.side(new, old.len());
    let mut sides = vec![0_u8; table.firsts.len()];
    drop(table);
    let mut mark = |ids: &[u32], side: u8| {
        for id in ids {
            sides.get_mut(index(*id)).into_iter().for_each(|sides| *sides |= side);
        }
    };
    mark(&old_ids, IN_OLD);
    mark(&new_ids, IN_NEW);
    // A line on one side only cannot be equal to another.
    let shared = |mut ids: Vec<u32>| {
        let (mut places, mut at) = (Vec::new(), 0);
        ids.retain(|id| {
            let both = sides.get(index(*id)) == Some(&(IN_OLD | IN_NEW));
            if both {
                places.push(at);
            }
            at += 1;
            both
        });
        ids.shrink_to_fit();
        SharedLines { ids, places }
    };
    Some(NumberedLines { old: shared(old_ids), new: shared(new_ids), different: sides.len() })
}

const EMPTY: u32 = u32::MAX;

/// A hash table of the lines that occurred so far.
struct Table<'a> {
    old: &'a str,
    new: &'a str,
    /// The random seed of the hash, so that hostile input cannot force collisions.
    secret: RandomState,
    /// The number of a line, in the slot that its hash selects.
    slots: Vec<u32>,
    /// The first position of each distinct line in the joined texts, and a part of its hash.
    firsts: Vec<(u32, u32)>,
}

impl<'a> Table<'a> {
    fn new(old: &'a str, new: &'a str) -> Self {
        Self { old, new, secret: RandomState::new(), slots: vec![EMPTY; 1 << 10], firsts: Vec::new() }
    }

    /// Numbers all lines of one side. `begin` is its start in the joined texts.
    fn side(&mut self, text: &str, begin: usize) -> Vec<u32> {
        let mut ids = Vec::with_capacity(index(super::lines_in(text)));
        let mut at = begin;
        for line in text.split_inclusive('\n') {
            ids.push(self.id(line, at));
            at += line.len();
        }
        ids
    }

    fn id(&mut self, line: &str, at: usize) -> u32 {
        let hash = u32::try_from(self.secret.hash_one(line) >> 32).unwrap_or(0);
        let slot = self.slot(hash, |known| self.starts_at(line, known));
        match self.slots.get(slot) {
            Some(id) if *id != EMPTY => *id,
            Some(_) | None => {
                let id = count(self.firsts.len());
                self.firsts.push((count(at), hash));
                if let Some(slot) = self.slots.get_mut(slot) {
                    *slot = id;
                }
                self.grow();
                id
            }
        }
    }

    /// The slot of a known line, or the free slot for a new one.
    fn slot(&self, hash: u32, same: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = index(hash) & mask;
        while let Some(id) = self.slots.get(slot).filter(|id| **id != EMPTY) {
            if self.firsts.get(index(*id)).is_some_and(|(at, known)| *known == hash && same(*at)) {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Whether this line starts at a position.
    fn starts_at(&self, line: &str, at: u32) -> bool {
        let at = index(at);
        let rest = match at.checked_sub(self.old.len()) {
            None => self.old.get(at..),
            Some(at) => self.new.get(at..),
        };
        // A line has one newline, at its end. A line without a newline ends at the end of the text.
        rest.is_some_and(|rest| if line.ends_with('\n') { rest.starts_with(line) } else { rest == line })
    }

    /// Grows the table so that a quarter of the slots stay free.
    fn grow(&mut self) {
        if self.firsts.len() < self.slots.len() / 4 * 3 {
            return;
        }
        let larger = self.slots.len() * 2;
        self.slots = Vec::new();
        self.slots = vec![EMPTY; larger];
        for id in 0..count(self.firsts.len()) {
            let hash = self.firsts.get(index(id)).map_or(0, |(_, hash)| *hash);
            let slot = self.slot(hash, |_| false);
            if let Some(slot) = self.slots.get_mut(slot) {
                *slot = id;
            }
        }
    }
}
