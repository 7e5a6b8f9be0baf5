//! Summarizes why a value matches none of several alternatives.

use super::SchemaMismatch;

/// The most types that a summary lists.
const MAX_KINDS: usize = 8;

/// The mismatches of one value with alternatives.
pub(super) struct Mismatches<'a> {
    at: &'a str,
    /// The types that the alternatives accept.
    wanted: Vec<String>,
    found: &'static str,
    /// The first mismatch of a value that has the right type.
    other: Option<SchemaMismatch>,
    others: usize,
}

impl<'a> Mismatches<'a> {
    /// Creates an empty collection for the argument `at` with a value of the type `found`.
    pub(super) fn of(at: &'a str, found: &'static str) -> Self {
        Self { at, wanted: Vec::new(), found, other: None, others: 0 }
    }

    /// Adds the mismatch with one alternative.
    pub(super) fn add(&mut self, mismatch: SchemaMismatch) {
        match mismatch {
            // An item of a list has the name of the list.
            SchemaMismatch::Kind { at, wanted, found } if at == self.at && found == self.found => {
                if self.wanted.len() <= MAX_KINDS && !self.wanted.contains(&wanted) {
                    self.wanted.push(wanted);
                }
            }
            SchemaMismatch::Forbidden(at) if at == self.at => {}
            other => {
                self.others += 1;
                self.other.get_or_insert(other);
            }
        }
    }

    /// Returns the mismatch with all alternatives.
    pub(super) fn summary(self) -> SchemaMismatch {
        let at = self.at.to_owned();
        match self.other {
            // Only one alternative accepts the type, so it is the one that was meant.
            Some(only) if self.others == 1 => only,
            None if (1..=MAX_KINDS).contains(&self.wanted.len()) => {
                SchemaMismatch::Kind { at, wanted: self.wanted.join(" or "), found: self.found }
            }
            Some(_) | None => SchemaMismatch::NoAlternative(at),
        }
    }
}
