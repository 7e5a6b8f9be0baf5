//! Verdicts with their reasons: about one program, and about a whole line. Plain data.

use std::borrow::Cow;
use std::ops::Range;

use askfirst::{Approval, Because, Risk};

use super::start::Start;

/// Why something is allowed, asked about or denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) approval: Approval,
    pub(super) text: Cow<'static, str>,
    pub(super) because: Option<Because>,
}

impl Reason {
    pub(super) fn new(approval: Approval, text: impl Into<Cow<'static, str>>) -> Self {
        Self { approval, text: text.into(), because: None }
    }

    pub(super) fn of(
        approval: Approval,
        text: impl Into<Cow<'static, str>>,
        because: Option<&Because>,
    ) -> Self {
        Self { approval, text: text.into(), because: because.cloned() }
    }
}

/// The verdict about one program, which stands in the same place among the starts.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) reasons: Vec<Reason>,
    /// Files that its streams lead to.
    pub(super) streams: Vec<(String, Range<usize>, Reason)>,
    pub(super) description: Option<String>,
}

impl Row {
    pub(super) fn approval(&self) -> Approval {
        self.reasons.iter().map(|reason| reason.approval).max().unwrap_or(Approval::Required)
    }

    /// The reason that decides.
    pub(super) fn reason(&self) -> Option<&Reason> {
        let strictest = self.approval();
        self.reasons.iter().find(|reason| reason.approval == strictest)
    }
}

/// The verdict about a whole line.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) rows: Vec<Row>,
    /// About the text as a whole, with the part that each is about.
    pub(super) whole: Vec<(Range<usize>, Reason)>,
    pub(super) risk: Risk,
    pub(super) network: bool,
    /// What the verdict rests on: every place that it names, as it lies now, and the verdict.
    pub(super) basis: Vec<String>,
    /// The roots that it would write.
    pub(super) writes: Vec<String>,
    pub(super) starts: Vec<Start>,
}

impl Judged {
    /// Leaves out what a program may turn out to be where nothing else would be said about it.
    pub(super) fn leave_out_repeats(&mut self) {
        if !self.starts.iter().any(|start| start.turned) {
            return;
        }
        let starts = std::mem::take(&mut self.starts);
        let rows = std::mem::take(&mut self.rows);
        let all: Vec<(Start, Row)> = starts.into_iter().zip(rows).collect();
        let same = |(one, said): &(Start, Row), (other, again): &(Start, Row)| {
            one.span == other.span
                && one.text == other.text
                && one.via == other.via
                && said.reasons == again.reasons
                && said.streams == again.streams
        };
        let repeats = |at: usize, it: &(Start, Row)| {
            // The one that it may turn out from stands behind it.
            it.0.turned && all.iter().skip(at + 1).any(|other| same(it, other))
        };
        let left: Vec<bool> = all.iter().enumerate().map(|(at, it)| repeats(at, it)).collect();
        for ((start, row), left) in all.into_iter().zip(left) {
            if !left {
                self.starts.push(start);
                self.rows.push(row);
            }
        }
    }

    /// Each program with its verdict.
    pub(super) fn each(&self) -> impl Iterator<Item = (&Start, &Row)> {
        self.starts.iter().zip(&self.rows)
    }

    pub(super) fn approval(&self) -> Approval {
        let rows = self.rows.iter().map(Row::approval);
        let streams =
            self.rows.iter().flat_map(|row| row.streams.iter().map(|(_, _, reason)| reason.approval));
        let whole = self.whole.iter().map(|(_, reason)| reason.approval);
        // A line that starts nothing at all is one that nobody understood.
        let least = if self.rows.is_empty() { Approval::Required } else { Approval::None };
        rows.chain(streams).chain(whole).max().unwrap_or(least).max(least)
    }

    /// Every reason that is as strict as the verdict.
    pub(super) fn deciding(&self) -> Vec<&Reason> {
        let strictest = self.approval();
        let rows = self
            .rows
            .iter()
            .flat_map(|row| row.reasons.iter().chain(row.streams.iter().map(|(_, _, reason)| reason)));
        let all = self.whole.iter().map(|(_, reason)| reason).chain(rows);
        let mut found: Vec<&Reason> = Vec::new();
        for reason in all.filter(|reason| reason.approval == strictest) {
            if !found.contains(&reason) {
                found.push(reason);
            }
        }
        found
    }
}
