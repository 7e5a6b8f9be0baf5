//! Verdicts with their reasons: about one program, and about a whole line. Plain data.

use std::borrow::Cow;
use std::ops::Range;

use askfirst::{Approval, Because, Risk};

use super::rules::NetworkAccess;
use super::start::Start;

/// Why something is allowed, asked about or denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// The approval that it asks for.
    pub approval: Approval,
    /// The sentence that a person reads.
    pub text: Cow<'static, str>,
    /// The config entry behind it.
    pub because: Option<Because>,
}

impl Reason {
    pub(crate) fn new(approval: Approval, text: impl Into<Cow<'static, str>>) -> Self {
        Self { approval, text: text.into(), because: None }
    }

    pub(crate) fn of(
        approval: Approval,
        text: impl Into<Cow<'static, str>>,
        because: Option<&Because>,
    ) -> Self {
        Self { approval, text: text.into(), because: because.cloned() }
    }
}

/// The verdict about one program, which stands in the same place among the starts.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// Everything that was found about it.
    pub reasons: Vec<Reason>,
    /// Files that its streams lead to: text, position, reason.
    pub streams: Vec<(String, Range<usize>, Reason)>,
    /// The description of the rule that covers it.
    pub description: Option<String>,
}

impl Row {
    /// The strictest approval of its reasons.
    #[must_use]
    pub fn approval(&self) -> Approval {
        self.reasons.iter().map(|reason| reason.approval).max().unwrap_or(Approval::Required)
    }

    /// The reason that decides.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        let strictest = self.approval();
        self.reasons.iter().find(|reason| reason.approval == strictest)
    }
}

/// The verdict about a whole line.
#[derive(Debug)]
pub struct Judged<'s> {
    /// One verdict for each of `starts`, in the same order.
    pub rows: Vec<Row>,
    /// Reasons that concern the text as a whole, each with the part that it is about.
    pub whole: Vec<(Range<usize>, Reason)>,
    /// The highest risk of its programs and rules.
    pub risk: Risk,
    /// Whether it may use the network, if a program of it would: the strictest of all its programs that could.
    pub network: Option<NetworkAccess>,
    /// Whether a program of it would use the network.
    pub uses_network: bool,
    /// The state that the verdict depends on: every place that the line names, as it is now, and the verdict.
    pub basis: Vec<String>,
    /// The roots that it would write.
    pub writes: Vec<String>,
    /// Every program that it would start.
    pub starts: Vec<&'s Start>,
}

impl<'s> Judged<'s> {
    /// Leaves out what a program may turn out to be where nothing else would be said about it.
    pub(crate) fn leave_out_repeats(&mut self) {
        if !self.starts.iter().any(|start| start.turned) {
            return;
        }
        let starts = std::mem::take(&mut self.starts);
        let rows = std::mem::take(&mut self.rows);
        let all: Vec<(&'s Start, Row)> = starts.into_iter().zip(rows).collect();
        let same = |(one, said): &(&Start, Row), (other, again): &(&Start, Row)| {
            one.span == other.span
                && one.text == other.text
                && one.via == other.via
                && said.reasons == again.reasons
                && said.streams == again.streams
        };
        let repeats = |at: usize, it: &(&Start, Row)| {
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
    pub fn each(&self) -> impl Iterator<Item = (&Start, &Row)> {
        self.starts.iter().copied().zip(&self.rows)
    }

    /// The strictest approval of the whole line.
    #[must_use]
    pub fn approval(&self) -> Approval {
        let rows = self.rows.iter().map(Row::approval);
        let streams =
            self.rows.iter().flat_map(|row| row.streams.iter().map(|(_, _, reason)| reason.approval));
        let whole = self.whole.iter().map(|(_, reason)| reason.approval);
        // A line that starts nothing at all is one that nobody understood.
        let least = if self.rows.is_empty() { Approval::Required } else { Approval::None };
        rows.chain(streams).chain(whole).max().unwrap_or(least).max(least)
    }

    /// Every reason that is as strict as the verdict.
    #[must_use]
    pub fn deciding(&self) -> Vec<&Reason> {
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
