//! Pairs the lines of a diff for the view with two sides. It stores stretches of lines instead of single lines.

use super::super::line::Change;

/// The rows of a diff with two sides.
#[derive(Debug, Clone, Default)]
pub(super) struct Sides {
    stretches: Vec<Stretch>,
    open: Option<Stretch>,
    rows: u32,
    /// The limit on stretches. A diff with more of them would need too much memory and is shown in one column.
    most: usize,
}

/// Consecutive lines of one kind.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// The first row.
    row: u32,
    /// The first line of the diff.
    at: u32,
    kind: StretchKind,
}

#[derive(Debug, Clone, Copy)]
enum StretchKind {
    /// Lines that are the same on both sides.
    Same(u32),
    /// Removed lines, followed by added lines.
    Changed { removed: u32, added: u32 },
}

impl Stretch {
    fn rows(&self) -> u32 {
        match self.kind {
            StretchKind::Same(lines) => lines,
            StretchKind::Changed { removed, added } => removed.max(added),
        }
    }

    /// Adds a line if it belongs to this stretch. Returns whether it did.
    fn takes(&mut self, change: Change) -> bool {
        match (&mut self.kind, change) {
            (StretchKind::Same(lines), Change::Same | Change::Hunk | Change::Header | Change::Sides) => {
                *lines += 1
            }
            (StretchKind::Changed { removed, added: 0 }, Change::Removed) => *removed += 1,
            (StretchKind::Changed { added, .. }, Change::Added) => *added += 1,
            (StretchKind::Same(_), Change::Added | Change::Removed)
            | (
                StretchKind::Changed { .. },
                Change::Removed | Change::Same | Change::Hunk | Change::Header | Change::Sides,
            ) => return false,
        }
        true
    }
}

impl Sides {
    /// Starts the rows for a diff with this length in bytes.
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
            Change::Removed => StretchKind::Changed { removed: 1, added: 0 },
            Change::Added => StretchKind::Changed { removed: 0, added: 1 },
            Change::Same | Change::Hunk | Change::Header | Change::Sides => StretchKind::Same(1),
        };
        self.open = Some(Stretch { row: self.rows, at, kind });
    }

    /// Ends the current stretch.
    pub(super) fn end(&mut self) {
        if let Some(open) = self.open.take() {
            self.rows += open.rows();
            self.stretches.push(open);
        }
    }

    /// The number of rows, or 0 if the diff is shown in one column.
    pub(super) fn rows(&self) -> usize {
        usize::try_from(self.rows).unwrap_or(0)
    }

    /// The lines on the left and on the right side of a row.
    pub(super) fn row(&self, row: usize) -> Option<(Option<usize>, Option<usize>)> {
        let row = u32::try_from(row).ok().filter(|row| *row < self.rows)?;
        let stretch = self.stretches.partition_point(|stretch| stretch.row <= row).checked_sub(1)?;
        let Stretch { row: first, at, kind } = *self.stretches.get(stretch)?;
        let (begin, within) = (usize::try_from(at).ok()?, usize::try_from(row - first).ok()?);
        match kind {
            StretchKind::Same(_) => Some((Some(begin + within), Some(begin + within))),
            StretchKind::Changed { removed, added } => {
                let (removed, added) = (usize::try_from(removed).ok()?, usize::try_from(added).ok()?);
                let left = (within < removed).then_some(begin + within);
                Some((left, (within < added).then_some(begin + removed + within)))
            }
        }
    }
}
