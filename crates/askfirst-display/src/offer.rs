//! The answers that a person may give to a question: the keys, and the effect of each in words.
//!
//! A key never changes its meaning. A key that is not offered does nothing.

use askfirst::machine::{Member, Question};
use askfirst::{Approval, RequestSubject, Risk, Timestamp};

use super::target;
use super::time::span;
use crate::redact::Redactor;

/// An answer or an action, each with a key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Yes, this once.
    Once,
    /// No, this once.
    No,
    /// Yes to this call and to equal calls for the session.
    Session,
    /// Yes to this call and to equal calls, always in this project.
    Always,
    /// No to this call and to equal calls for the session.
    NoSession,
    /// View the whole page.
    View,
    /// No, with a reason.
    Reason,
    /// Edit the arguments.
    Edit,
    /// View the facts and the keys.
    Facts,
    /// No, and stop the run.
    Stop,
}

impl Choice {
    /// Every choice, in the order on the screen.
    pub const ALL: [Self; 10] = [
        Self::Once,
        Self::No,
        Self::Session,
        Self::Always,
        Self::Reason,
        Self::Facts,
        Self::NoSession,
        Self::View,
        Self::Edit,
        Self::Stop,
    ];

    /// Its key.
    #[must_use]
    pub fn key(self) -> char {
        match self {
            Self::Once => 'y',
            Self::No => 'n',
            Self::Session => 's',
            Self::Always => 'a',
            Self::NoSession => 'N',
            Self::View => 'v',
            Self::Reason => 'r',
            Self::Edit => 'e',
            Self::Facts => '?',
            Self::Stop => 'q',
        }
    }

    /// Whether this choice lets a call run.
    #[must_use]
    pub fn approves(self) -> bool {
        match self {
            Self::Once | Self::Session | Self::Always => true,
            Self::No
            | Self::NoSession
            | Self::View
            | Self::Reason
            | Self::Edit
            | Self::Facts
            | Self::Stop => false,
        }
    }
}

/// How long a remembered yes holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until the session ends.
    Session,
    /// Until the person revokes it, in one project.
    Project,
}

impl Lifetime {
    /// The choice that asks for the calls that the yes covers, and that approves them once they are on screen.
    #[must_use]
    pub fn choice(self) -> Choice {
        match self {
            Self::Session => Choice::Session,
            Self::Project => Choice::Always,
        }
    }

    /// The text above the calls that a yes covers.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Self::Session => "a yes for this session covers",
            Self::Project => "a yes, always in this project, covers",
        }
    }
}

/// One choice that a question offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The choice.
    pub choice: Choice,
    /// Its effect in a few words, if it is in the row of common choices.
    pub short: Option<&'static str>,
    /// Its effect, in askfirst's words.
    pub words: String,
}

/// All choices that one question offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offers {
    /// The offered choices, in order.
    pub list: Vec<Offer>,
    /// For each member, the word that the person must type to approve it, if it needs one.
    pub words: Vec<Option<String>>,
    /// The wider scopes of a yes that is remembered, as indexes into the patterns of the request.
    pub patterns: Vec<usize>,
    /// The highest risk among the members.
    pub risk: Risk,
}

impl Offers {
    /// The choices for a question, without those that would do nothing in this session.
    #[must_use]
    pub fn of(question: &Question, redactor: &Redactor, now: Timestamp, withheld: &[Choice]) -> Self {
        let members = &question.members;
        let risk = members.iter().map(|member| member.request.risk).max().unwrap_or_default();
        // In a group, digits leave a member out. Where a word is typed, nothing is approved always.
        let numbers = ('0'..='9').filter(|_| members.len() > 1);
        let choices = Choice::ALL.iter().filter(|choice| **choice != Choice::Always);
        let keys: Vec<char> = choices.map(|choice| choice.key()).chain(numbers).collect();
        let words: Vec<Option<String>> = members
            .iter()
            .map(|member| match member.request.risk {
                Risk::Irreversible => Some(target::word(&member.request, redactor, &keys)),
                Risk::Low | Risk::High => None,
            })
            .collect();
        let patterns = patterns_of(members);
        let mut offers = Self { list: Vec::new(), words, patterns, risk };
        let all = Choice::ALL.into_iter().filter(|choice| !withheld.contains(choice));
        offers.list = all.filter_map(|choice| offers.offer(choice, members, now, withheld)).collect();
        offers
    }

    /// Whether the question offers a choice.
    #[must_use]
    pub fn has(&self, choice: Choice) -> bool {
        self.list.iter().any(|offer| offer.choice == choice)
    }

    fn offer(
        &self,
        choice: Choice,
        members: &[Member],
        now: Timestamp,
        withheld: &[Choice],
    ) -> Option<Offer> {
        let any = |approval| members.iter().any(|member| member.request.approval == approval);
        // Where a session ends with its only call, a yes once is all that there is to say.
        let lasts = !withheld.contains(&Choice::Session);
        let (human, once_per_session) = (any(Approval::Human), any(Approval::OncePerSession) && lasts);
        let alone = members.len() == 1;
        let all = |may: fn(RequestSubject) -> bool| members.iter().all(|member| may(member.request.subject));
        let may_last = all(RequestSubject::may_last_in_session);
        // The call has already run: a yes keeps what it did.
        let keeps = |subject| matches!(subject, RequestSubject::Changes | RequestSubject::ShownChanges);
        let (yes, no) = if all(keeps) { ("keep", "discard") } else { ("yes", "no") };
        let typed = self.risk == Risk::Irreversible;
        let has_project = members.iter().all(|member| member.project.is_some());
        let until = members.first().and_then(|member| member.remembered_until);
        let until = || until.map_or_else(String::new, |at| format!(" (at most {})", span(now.until(at))));
        let (short, words) = match choice {
            Choice::Once if typed || (once_per_session && !human) => return None,
            Choice::Once if alone && all(keeps) => (Some(yes), "yes, keep these changes".to_owned()),
            Choice::Once if alone => (Some(yes), "yes, once".to_owned()),
            Choice::Once if once_per_session => {
                (Some("all"), "yes to all listed, remembered for those set to once_per_session".to_owned())
            }
            Choice::Once => (Some("all"), "yes to all listed, once".to_owned()),
            Choice::Session if typed || human || !may_last => return None,
            Choice::Session if alone => (Some("this session…"), format!("yes, for the session{}", until())),
            Choice::Session => {
                (Some("this session…"), format!("yes to all listed, for the session{}", until()))
            }
            Choice::Always if typed || human || !alone || !has_project => return None,
            Choice::Always => {
                (Some("always here…"), "yes, always in this project, until you revoke it".to_owned())
            }
            Choice::NoSession if human || !may_last => return None,
            Choice::NoSession => (None, format!("no, for the session{}", until())),
            Choice::Edit if !alone || !all(RequestSubject::may_be_edited) => return None,
            Choice::No if alone && all(keeps) => (Some(no), "no, discard these changes".to_owned()),
            Choice::No if alone => (Some(no), "no".to_owned()),
            Choice::No => (Some("none"), "no to all listed".to_owned()),
            Choice::View => (None, "view all".to_owned()),
            Choice::Reason if all(keeps) => (Some("discard, because…"), "no, with a reason".to_owned()),
            Choice::Reason => (Some("no, because…"), "no, with a reason".to_owned()),
            Choice::Edit => (None, "edit the arguments".to_owned()),
            Choice::Facts => (Some("more"), "more keys, and details".to_owned()),
            Choice::Stop => (None, "no, and stop the run".to_owned()),
        };
        Some(Offer { choice, short, words })
    }
}

/// The largest number of wider scopes. One digit chooses a scope, and `1` is the call itself.
const MAX_PATTERNS: usize = 8;

fn patterns_of(members: &[Member]) -> Vec<usize> {
    let [member] = members else { return Vec::new() };
    let request = &member.request;
    let fits =
        |(at, pattern): (usize, &askfirst::OfferedPattern)| pattern.matches(&request.payload).then_some(at);
    request.patterns.iter().enumerate().filter_map(fits).take(MAX_PATTERNS).collect()
}
