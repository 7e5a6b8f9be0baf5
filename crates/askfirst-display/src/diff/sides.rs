//! Which lines of a diff stand beside each other where there is room for two sides. It keeps stretches, not lines.

use super::super::line::Change;

/// Rows of two sides.
#[derive(Debug, Clone, Default)]
pub(super) struct Sides {
    stretches: Vec<Stretch>,
    open: Option<Stretch>,
    rows: u32,
    /// More stretches than these are not worth their memory: the diff is shown in one column then.
    most: usize,
}

/// Lines that follow each other.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// The first row.
    row: u32,
    /// The first line of the diff.
    at: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// So many lines that are the same on both sides.
    Same(u32),
    /// So many removed lines, and behind them so many added ones.
    Changed { removed: u32, added: u32 },
}

impl Stretch {
    fn rows(&self) -> u32 {
        match self.kind {
            Kind::Same(lines) => lines,
            Kind::Changed { removed, added } => removed.max(added),
        }
    }

    /// Takes a further line if it goes on with these.
    fn takes(&mut self, change: Change) -> bool {
        match (&mut self.kind, change) {
            (Kind::Same(lines), Change::Same | Change::Hunk | Change::Header | Change::Sides) => *lines += 1,
            (Kind::Changed { removed, added: 0 }, Change::Removed) => *removed += 1,
            (Kind::Changed { added, .. }, Change::Added) => *added += 1,
            (Kind::Same(_), Change::Added | Change::Removed)
            | (
                Kind::Changed { .. },
                Change::Removed | Change::Same | Change::Hunk | Change::Header | Change::Sides,
            ) => return false,
        }
        true
    }
}

impl Sides {
    /// For a diff of so many bytes.
    pub(super) fn of(bytes: usize) -> Self {
        let most = bytes.saturating_add(256 << 10) / 4 / size_of::<Stretch>();
        Self { most, ..Self::default() }
    }

    pub(super) fn take(&mut self, at: usize, change: Change) {
        if self.open.as_mut().is_some_and(|open| open.takes(change)) {
            return;
        }
        self.end();
        let Some(at) = u32::try_from(at).ok().filter(|at| *at < u32::MAX && self.stretches.len() < self.most)
        else {
            *self = Self::default();
            return;
        };
        let kind = match change {
            Change::Removed => Kind::Changed { removed: 1, added: 0 },
            Change::Added => Kind::Changed { removed: 0, added: 1 },
            Change::Same | Change::Hunk | Change::Header | Change::Sides => Kind::Same(1),
        };
        self.open = Some(Stretch { row: self.rows, at, kind });
    }

    /// The stretch is over.
    pub(super) fn end(&mut self) {
        if let Some(open) = self.open.take() {
            self.rows += open.rows();
            self.stretches.push(open);
        }
    }

    /// How many rows there are; none where two sides are not shown.
    pub(super) fn rows(&self) -> usize {
        usize::try_from(self.rows).unwrap_or(0)
    }

    /// The lines on the left and on the right of a row.
    pub(super) fn row(&self, row: usize) -> Option<(Option<usize>, Option<usize>)> {
        let row = u32::try_from(row).ok().filter(|row| *row < self.rows)?;
        let stretch = self.stretches.partition_point(|stretch| stretch.row <= row).checked_sub(1)?;
        let Stretch { row: first, at, kind } = *self.stretches.get(stretch)?;
        let (begin, within) = (usize::try_from(at).ok()?, usize::try_from(row - first).ok()?);
        match kind {
            Kind::Same(_) => Some((Some(begin + within), Some(begin + within))),
            Kind::Changed { removed, added } => {
                let (removed, added) = (usize::try_from(removed).ok()?, usize::try_from(added).ok()?);
                let left = (within < removed).then_some(begin + within);
                Some((left, (within < added).then_some(begin + removed + within)))
            }
        }
    }
}
