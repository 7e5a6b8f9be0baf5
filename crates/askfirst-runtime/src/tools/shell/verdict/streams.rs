//! Files that a program prints into.

use askfirst::Approval;

use super::{Judge, Reason, Row, Speaks, Start, Touched, touched};
use crate::tools::shell::start::Target;

impl Judge<'_> {
    /// Files that streams lead to. What a wrapper's stream gets is what the programs print that it starts.
    pub(super) fn streams(&self, at: usize, starts: &[Start], heard: &[(Speaks, Touched)], row: &mut Row) {
        let (Some(start), Some((speaks, touched))) = (starts.get(at), heard.get(at)) else { return };
        if start.redirections.is_empty() {
            return;
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
                let more = printing.iter().filter_map(|(start, speaks)| self.printed(start, *speaks, target));
                let more = more.max_by_key(|more| more.approval);
                if let Some(more) = more.filter(|more| more.approval > reason.approval) {
                    reason = more;
                }
            }
            row.streams.push((target.text.clone(), target.span.clone(), reason));
        }
    }

    /// What hinders a program from printing into a file.
    fn printed(&self, start: &Start, speaks: Speaks, target: &Target) -> Option<Reason> {
        match speaks {
            Speaks::Rule if touched::may_print_into(start, target) => None,
            Speaks::Rule => {
                let program = start.used.as_ref().map(|used| used.program.as_str()).unwrap_or_default();
                let why =
                    format!("a rule for `{program}` covers what it reads, not a file that it prints into");
                Some(Reason::new(Approval::Required, why))
            }
            Speaks::Default | Speaks::Harmless => None,
            Speaks::ReadOnly | Speaks::Nothing => {
                let default = self.main.default.unwrap_or(Approval::Required);
                let why = "it writes a file, and no rule speaks for that";
                Some(Reason::of(default, why, self.main.origin("shell.default.approval")))
            }
        }
    }
}
