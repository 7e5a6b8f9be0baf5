//! The acts of keys. This is the only place that creates answers.

use std::time::Duration;

use askfirst::{ApprovalDecision, ApprovalScope, Cause, Risk};
use askfirst_display::{Choice, Lifetime};

use super::{Act, Document, Effect, Field, Keys, Notice, Reach, Renderer, Screen};

impl Keys {
    pub(super) fn act(&mut self, act: Act, now: Duration) -> Vec<Effect> {
        match act {
            Act::Escape if matches!(self.screen, Screen::Scope(..) | Screen::Rest) => self.back(now),
            Act::Escape => self.refuse(Cause::Person),
            Act::Choose(choice) if choice.approves() => match self.unseen() {
                Some(Notice::SeeAll) if self.may_skip_rest(choice) => {
                    self.screen = Screen::Rest;
                    self.forget_typed();
                    self.mark_painted(now);
                    vec![Effect::AskRest]
                }
                Some(notice) => self.say(notice, now),
                None => self.choose(choice, now),
            },
            Act::Choose(choice) => self.choose(choice, now),
            Act::Scope(lifetime, at) => {
                let always = lifetime == Lifetime::Project;
                let yes = ApprovalDecision { always, ..once() };
                let Some(at) = at.checked_sub(1) else {
                    return self.approve(&yes.remembered(ApprovalScope::Session));
                };
                let Some(pattern) = self.offers.patterns.get(at) else { return self.back(now) };
                let yes = yes.remembered(ApprovalScope::Pattern);
                self.all(ApprovalDecision { pattern: Some(*pattern), ..yes })
            }
            Act::Rest => self.approve(&ApprovalDecision { rest_unseen: true, ..once() }),
            Act::Word => self.approve(&once()),
        }
    }

    /// Whether a choice may leave a part of the page unseen: a single yes to a call of low risk.
    fn may_skip_rest(&self, choice: Choice) -> bool {
        choice == Choice::Once && self.offers.risk == Risk::Low
    }

    /// The part that the person must still see before an approval counts.
    pub(super) fn unseen(&self) -> Option<Notice> {
        if self.must == Reach::Part {
            return Some(Notice::SeeAllParts);
        }
        (self.reach == Reach::Part).then_some(Notice::SeeAll)
    }

    fn choose(&mut self, choice: Choice, now: Duration) -> Vec<Effect> {
        let effect = match choice {
            Choice::Once => return self.approve(&once()),
            Choice::Session => self.open_scope(Lifetime::Session),
            Choice::Always => self.open_scope(Lifetime::Project),
            Choice::No => return self.refuse(Cause::Person),
            Choice::NoSession => {
                return self.all(ApprovalDecision::no(Cause::Person).remembered(ApprovalScope::Session));
            }
            Choice::Stop => return self.stop(),
            Choice::View => {
                self.open_document(Document::All);
                Effect::View
            }
            Choice::Facts => {
                self.open_document(Document::Facts);
                Effect::Facts
            }
            Choice::Edit => Effect::Edit,
            Choice::Reason => {
                self.screen = Screen::Reason(Field::new(""));
                Effect::AskReason
            }
        };
        self.forget_typed();
        self.mark_painted(now);
        vec![effect]
    }

    fn open_scope(&mut self, lifetime: Lifetime) -> Effect {
        // Where the tool offers no wider scope, there is nothing to choose.
        self.screen = Screen::Scope(lifetime, self.offers.patterns.is_empty().then_some(0));
        Effect::AskScope(lifetime)
    }

    fn open_document(&mut self, doc: Document) {
        match self.front {
            Renderer::Screen => self.screen = Screen::View(doc, None),
            Renderer::Lines => {}
        }
    }

    /// Approves every kept member and refuses the others.
    fn approve(&self, yes: &ApprovalDecision) -> Vec<Effect> {
        let decide = |kept: &bool| match kept {
            true => yes.clone(),
            false => ApprovalDecision::no(Cause::Person),
        };
        vec![Effect::Answer(self.kept.iter().map(decide).collect())]
    }

    pub(super) fn refuse(&self, cause: Cause) -> Vec<Effect> {
        self.all(ApprovalDecision::no(cause))
    }

    pub(super) fn stop(&self) -> Vec<Effect> {
        self.all(ApprovalDecision { stop: true, ..ApprovalDecision::no(Cause::Person) })
    }

    pub(super) fn all(&self, decision: ApprovalDecision) -> Vec<Effect> {
        vec![Effect::Answer(vec![decision; self.kept.len()])]
    }
}

/// A yes to this call only.
fn once() -> ApprovalDecision {
    ApprovalDecision::yes(Cause::Person)
}
