//! Operands that mean more than text: further goals, and secrets. Whether a rehearsal can hold what they do.

use super::super::guards;
use super::super::used::{Class, Held};
use super::Reader;

/// Why askfirst asks about a command that prints all variables.
pub(crate) const PRINTS_ALL: &str = "this command prints all variables, including secrets";

impl Reader<'_, '_> {
    /// Goals behind the first count like it; secrets are asked about.
    pub(super) fn further_goals(&mut self) {
        let Some(root) = self.chain.first().copied() else { return };
        for place in 0..self.operands.len() {
            let Some(at) = self.operands.get(place).copied() else { continue };
            let Some(text) = self.words.get(at).and_then(|word| word.literal()) else {
                if guards::must_be_known(&self.used.program) {
                    self.doubt(at, "this command looks up a name that is not known in advance");
                }
                continue;
            };
            if guards::names_secrets(&self.used.program, text) {
                self.doubt_named(at, vec![text.to_owned()], format!("`{text}` are secrets"));
            }
            let mut goals = guards::goals(&self.used.program, text).filter_map(|goal| root.sub(goal));
            let asks = goals.any(|goal| goal.class == Some(Class::Asks));
            let subs: Vec<&str> = self.used.subs.iter().map(|sub| sub.name.as_str()).collect();
            let script =
                place.checked_sub(1).filter(|before| *before == 0).and_then(|_| self.operands.first());
            let script = script.and_then(|at| self.words.get(*at)?.literal()).unwrap_or_default();
            let manages = guards::manages(&self.used.program, script, text);
            if asks || manages || guards::leaves(&self.used.program, &subs, place, text) {
                self.doubt_named(at, vec![text.to_owned()], format!("`{text}` needs a rule that names it"));
            }
        }
    }

    /// Notes a command that prints all variables that there are.
    pub(in crate::programs) fn prints_all_variables(&mut self) {
        self.doubt(0, PRINTS_ALL);
        self.used.shows_secrets = true;
    }

    /// What the innermost section says that says anything. What surely only reads changes nothing outside.
    pub(super) fn held(&self) -> Held {
        let rows = self.chain.iter().rev().flat_map(|section| &section.held);
        let mut held = rows.filter(|(_, condition)| self.holds(condition)).map(|(held, _)| *held);
        let only_reads = self.used.class == Class::Reads && self.used.doubts.is_empty();
        if self.elsewhere {
            Held::Outside
        } else if only_reads {
            Held::Inside
        } else {
            held.next().unwrap_or_default()
        }
    }
}
