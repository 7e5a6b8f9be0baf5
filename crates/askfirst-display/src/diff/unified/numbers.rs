//! Gives each different line of two texts a number. Equal lines get equal ones, whatever an adversary writes.

use std::hash::{BuildHasher, RandomState};

use super::{count, index};

/// The lines of two texts that are in both, by their numbers.
pub(super) struct Numbered {
    pub(super) old: Shared,
    pub(super) new: Shared,
    /// How many different lines there are.
    pub(super) different: usize,
}

/// Lines of one side that the other has too.
pub(super) struct Shared {
    pub(super) ids: Vec<u32>,
    /// Which line of its side each is.
    pub(super) places: Vec<u32>,
}

const IN_OLD: u8 = 1;
const IN_NEW: u8 = 2;

/// Numbers the lines of two texts. Nothing for texts of more bytes than a number counts.
pub(super) fn numbered(old: &str, new: &str) -> Option<Numbered> {
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
    // The others need no comparing.
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
        Shared { ids, places }
    };
    Some(Numbered { old: shared(old_ids), new: shared(new_ids), different: sides.len() })
}

const EMPTY: u32 = u32::MAX;

/// Finds lines that were there before.
struct Table<'a> {
    old: &'a str,
    new: &'a str,
    /// How a line is looked for: by a secret of this process, so that nobody can make all look alike.
    secret: RandomState,
    /// The number of a line, at a place that follows from the line.
    slots: Vec<u32>,
    /// Where each different line was first, in both texts one after another, and a part of what it is looked for by.
    firsts: Vec<(u32, u32)>,
}

impl<'a> Table<'a> {
    fn new(old: &'a str, new: &'a str) -> Self {
        Self { old, new, secret: RandomState::new(), slots: vec![EMPTY; 1 << 10], firsts: Vec::new() }
    }

    /// The numbers of all lines of a side that begins there.
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
        let slot = self.slot(hash, |known| self.is_at(line, known));
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

    /// The place of a line that is known, or where it would be put.
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

    /// Whether the line that begins there is this one.
    fn is_at(&self, line: &str, at: u32) -> bool {
        let at = index(at);
        let rest = match at.checked_sub(self.old.len()) {
            None => self.old.get(at..),
            Some(at) => self.new.get(at..),
        };
        // A line has one line feed, at its end; without one it ends where the text does.
        rest.is_some_and(|rest| if line.ends_with('\n') { rest.starts_with(line) } else { rest == line })
    }

    /// Keeps a quarter of the places free.
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
