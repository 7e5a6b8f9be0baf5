//! Operands that mean more than text: further goals, and secrets.

use super::super::guards;
use super::super::used::Class;
use super::Reader;

impl Reader<'_, '_> {
    /// Goals behind the first count like it; secrets are asked about.
    pub(super) fn further_goals(&mut self) {
        let Some(root) = self.chain.first().copied() else { return };
        let subs: Vec<String> = self.used.subs.iter().map(|sub| sub.name.clone()).collect();
        let subs: Vec<&str> = subs.iter().map(String::as_str).collect();
        for (place, at) in self.operands.clone().into_iter().enumerate() {
            let Some(text) = self.words.get(at).and_then(|word| word.literal()) else { continue };
            if guards::names_secrets(&self.used.program, text) {
                self.doubt_named(at, vec![text.to_owned()], format!("`{text}` are secrets"));
            }
            let mut goals = guards::goals(&self.used.program, text).filter_map(|goal| root.sub(goal));
            if goals.any(|goal| goal.class == Some(Class::Asks))
                || guards::leaves(&self.used.program, &subs, place, text)
            {
                self.doubt_named(
                    at,
                    vec![text.to_owned()],
                    format!("`{text}` is asked about unless a rule names it"),
                );
            }
        }
    }
}
