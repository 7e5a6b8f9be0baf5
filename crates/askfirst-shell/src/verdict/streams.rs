//! Files that a program prints into.

use std::sync::Arc;

use askfirst::{Approval, Risk};

use super::look::Layers;
use super::{Judge, Known, Look, NO_RULE, Reason, Row, Speaks, Start, Touched, programs, touched};
use crate::line::tree::Word;
use crate::start::{Kind, Opened, Target};
use crate::touched::Printed;

/// What `tee` prints into files needs no rule of its own where the program before it could print there.
pub(super) fn print_on(starts: &[Start], heard: &[(Speaks, Touched)], rows: &mut [Row]) {
    for at in 0..starts.len() {
        if prints_on(at, starts, heard, rows)
            && let Some(row) = rows.get_mut(at)
        {
            row.reasons.retain(|reason| reason.text != NO_RULE);
            row.reasons.push(Reason::new(
                Approval::None,
                "this command copies its input to its output and into a file",
            ));
        }
    }
}

/// Whether this is `tee` behind a program whose rule covers a file that it prints into: `cargo test | tee log` is
/// `cargo test > log`, seen.
fn prints_on(at: usize, starts: &[Start], heard: &[(Speaks, Touched)], rows: &[Row]) -> bool {
    let (Some(start), Some((Speaks::Default, _))) = (starts.get(at), heard.get(at)) else { return false };
    let tee = start.used.as_ref().is_some_and(|used| {
        used.program == "tee" && used.path.is_none() && used.doubts.is_empty() && used.known == Known::Table
    });
    let alone = start.via.is_empty() && start.redirections.is_empty() && start.assignments.is_empty();
    let Some(from) = start.fed_by.as_ref().filter(|_| tee && alone) else { return false };
    let mut printing = starts.iter().zip(heard).zip(rows).filter(|((printing, _), _)| {
        printing.span == *from && printing.via.is_empty() && printing.kind == Kind::Program
    });
    let fits = |((printing, (speaks, _)), row): ((&Start, &(Speaks, Touched)), &Row)| {
        *speaks == Speaks::Rule
            && row.approval() == Approval::None
            && touched::may_print_into(printing, Printed::Whole)
    };
    match (printing.next(), printing.next()) {
        (Some(one), None) => fits(one),
        (_, _) => false,
    }
}

impl Judge<'_> {
    /// Files that streams lead to, and the risk of writing them. What a wrapper's stream gets is what the programs print
    /// that it starts.
    pub(super) fn streams(
        &self,
        at: usize,
        opened: &Opened,
        heard: &[(Speaks, Touched)],
        row: &mut Row,
    ) -> Risk {
        let starts = &opened.starts;
        let mut risk = Risk::Low;
        let (Some(start), Some((speaks, touched))) = (starts.get(at), heard.get(at)) else { return risk };
        if start.redirections.is_empty() {
            return risk;
        }
        let inner = starts.iter().zip(heard).skip(at + 1).filter(|(inner, _)| inner.is_within(start));
        let mut printing: Vec<(&Start, Speaks)> =
            inner.map(|(inner, (speaks, _))| (inner, *speaks)).collect();
        let wraps = start.used.as_ref().is_some_and(|used| !used.nested.is_empty());
        if printing.is_empty() || !wraps || *speaks == Speaks::Default {
            printing = vec![(start, *speaks)];
        }
        for (target, reason) in start.redirections.iter().zip(&touched.streams) {
            let mut reason = reason.clone();
            if touched::is_written(target, &reason) && reason.approval < Approval::Required {
                // The config lets every tool write any content to this file.
                let is_free = reason.approval == Approval::None && reason.because.is_some();
                let more = printing
                    .iter()
                    .filter(|(_, speaks)| !is_free || *speaks == Speaks::Rule)
                    .filter_map(|(start, speaks)| self.printed(start, *speaks, target, touched.unclear));
                let more = more.max_by_key(|more| more.approval);
                if let Some(more) = more.filter(|more| more.approval > reason.approval) {
                    match self.tees(at, start, target, opened, touched) {
                        Some(least) => risk = risk.max(least),
                        None => reason = more,
                    }
                }
            }
            row.streams.push((target.text.clone(), target.span.clone(), reason));
        }
        risk
    }

    /// Whether a rule lets `tee` write the file of a redirection, and the risk of that: `ls > x` is `ls | tee x`, unseen.
    fn tees(
        &self,
        at: usize,
        start: &Start,
        target: &Target,
        opened: &Opened,
        touched: &Touched,
    ) -> Option<Risk> {
        let words = vec![Word::text("tee", target.span.clone()), target.word.clone()];
        let used = programs::used(&words);
        let start = Start { words, used: Some(Arc::new(used.clone())), kind: Kind::Program, ..start.clone() };
        let look = Look { judge: self, at, start: &start, used: &used, opened, touched };
        let mut row = Row::default();
        let Layers { speaks, risk, .. } = look.layers(&mut row);
        (speaks == Speaks::Rule && row.approval() == Approval::None).then_some(risk)
    }

    /// What hinders a program from printing into a file.
    fn printed(&self, start: &Start, speaks: Speaks, target: &Target, unclear: Approval) -> Option<Reason> {
        match speaks {
            Speaks::Rule if touched::may_print_into(start, Printed::of(target)) => None,
            Speaks::Rule => {
                let program = start.used.as_ref().map(|used| used.program.as_str()).unwrap_or_default();
                let why = format!(
                    "a rule for `{program}` covers what it reads, not a file that its output goes to"
                );
                Some(Reason::new(unclear, why))
            }
            Speaks::Default | Speaks::Harmless => None,
            Speaks::ReadOnly | Speaks::Nothing => {
                let default = self.main.default.unwrap_or(Approval::Required);
                let why = "this command writes a file, and no rule allows that";
                Some(Reason::of(default, why, self.main.origin("shell.default.approval")))
            }
        }
    }
}
