//! The rules that every prompt keeps, by name. All of them always hold.
//!
//! Tests show what each is for in a build of their own, made with `--cfg askfirst_rules_off`, in which one can be
//! left out. No other build has anything to switch.

#![allow(unexpected_cfgs, reason = "only the tests of the rules make a build with it")]

#[cfg(askfirst_rules_off)]
use askfirst::ApprovalScope;
use askfirst::{ApprovalRequest, machine::Answer};

/// A rule of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// What was typed before the question is thrown away.
    Flush,
    /// Keys before it is armed are discarded.
    Arming,
    /// Keys count only after a while without any.
    Quiet,
    /// What is risky must stand for longer.
    Longer,
    /// Whether it is armed stands on screen.
    Mark,
    /// What was drawn anew must stand a while.
    Repaint,
    /// Several keys at once and pasted text decide nothing.
    Several,
    /// A key does something only if it stays alone.
    Alone,
    /// Enter and Space approve nothing.
    Enter,
    /// A key that is not offered does nothing.
    Meaning,
    /// The end of what is risky was on screen.
    End,
    /// Nothing is decided before the content is there.
    Content,
    /// Escape refuses.
    Escape,
    /// Ctrl-C stops the run.
    Stop,
    /// What ends a prompt without a person is recorded as that.
    Cause,
    /// What cannot be undone is approved by its word only.
    Word,
    /// Keys are read one by one, without Enter, also in lines.
    Singly,
    /// A stop in between makes keys that were typed meanwhile count for nothing.
    Pause,
    /// A signal that ends the program finds the terminal put back.
    PutBack,
    /// Tools run in a session of their own, without the terminal.
    OwnSession,
    /// Without a terminal on standard input the controlling one is asked.
    Controlling,
    /// Where nobody can be asked, the message names the flags that help.
    Flags,
    /// What a screen acts upon is drawn as an escape.
    Visible,
    /// What is not drawn as it was written is counted.
    Counts,
    /// Every line that somebody else wrote has a gutter.
    Gutter,
    /// What the agent says stands apart.
    Apart,
    /// Letters that may look like others are warned of.
    Letters,
    /// What does not fit is said to be there.
    Uncut,
    /// Runs of blanks are drawn as their count.
    Collapse,
    /// How much was on screen is recorded.
    Seen,
    /// All that must be seen was on screen.
    MustSee,
    /// What a diff comes to is said in words.
    DiffWords,
    /// Words that differ stand out.
    Emphasis,
    /// First come, first shown.
    Queue,
    /// How many wait is said.
    Position,
    /// A group lists every member.
    Members,
    /// A member that was left out is not approved.
    LeftOut,
    /// `NO_COLOR` takes the colours away.
    NoColour,
    /// A dumb terminal gets lines.
    Dumb,
    /// All of it in lines is numbered.
    Numbered,
    /// A yes for the session says what it covers.
    Scope,
    /// The bell rings only for somebody who looks elsewhere.
    Bell,
    /// What was printed before stays.
    Inline,
    /// On one terminal one program asks at a time.
    Turn,
    /// What needs approval waits for it, or is refused.
    Asked,
    /// What was decided is said, and when.
    Echo,
    /// A yes once is for one call.
    Once,
    /// What a person says with a no reaches the agent.
    Note,
    /// A refusal ends the run where the config says so.
    OnDenial,
    /// A yes for the session is remembered.
    Remember,
    /// What was remembered can be looked at.
    Listed,
    /// What was remembered can be taken back.
    Revoke,
    /// What a person must answer, no mode answers.
    Human,
    /// A mode that asks nobody says that it is unsafe.
    Unsafe,
    /// Every part of a command stands in a row of its own.
    Parts,
    /// The folder of a command is said.
    Folder,
    /// A change is shown as a diff.
    Compared,
    /// What changed since it was shown is asked about again.
    Stale,
    /// A file is highlighted by its suffix.
    Highlight,
    /// What is no text is told by its type and size.
    Binary,
    /// How large something is, is said.
    Size,
    /// What does not fit into a line goes on in the next.
    Wrap,
    /// How much is shown at first can be chosen.
    Preview,
    /// Edited arguments are what the tool takes.
    Schema,
    /// What was edited is judged and shown again.
    Edited,
    /// What was edited is recorded as that.
    EditedFrom,
    /// It is said what a wider yes would have covered.
    Covered,
    /// Equal calls that wait together share one answer.
    Share,
    /// Who asks is named.
    Caller,
    /// A question that nobody answers is refused in time.
    TimeOut,
}

/// An answer on its way back, as far as the rules let it go.
#[cfg(not(askfirst_rules_off))]
pub(crate) const fn answered(answer: Answer) -> Answer {
    answer
}

/// The same in a build in which a rule can be left out.
#[cfg(askfirst_rules_off)]
pub(crate) fn answered(mut answer: Answer) -> Answer {
    for decision in &mut answer.decisions {
        if !Rule::Once.holds() && decision.approved && decision.remember == ApprovalScope::None {
            (decision.remember, decision.pattern) = (ApprovalScope::Pattern, Some(0));
        }
        if !Rule::Note.holds() {
            decision.note = None;
        }
        if !Rule::Remember.holds() {
            decision.remember = ApprovalScope::None;
        }
        if !Rule::Edited.holds() {
            decision.edited_args = None;
        }
    }
    answer
}

/// A request on its way to be asked about.
#[cfg(not(askfirst_rules_off))]
pub(crate) const fn asked(request: ApprovalRequest) -> ApprovalRequest {
    request
}

/// The same in a build in which a rule can be left out.
#[cfg(askfirst_rules_off)]
pub(crate) fn asked(mut request: ApprovalRequest) -> ApprovalRequest {
    if !Rule::Human.holds() {
        request.approval = request.approval.min(askfirst::Approval::Required);
    }
    if !Rule::Share.holds() {
        request.description.push_str(&request.call_id);
    }
    request
}

impl Rule {
    /// Whether it holds. It does.
    #[cfg(not(askfirst_rules_off))]
    #[must_use]
    pub const fn holds(self) -> bool {
        true
    }

    /// Whether it holds: all do but the one that the environment names.
    #[cfg(askfirst_rules_off)]
    #[must_use]
    pub fn holds(self) -> bool {
        static OFF: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
        let off = OFF.get_or_init(|| std::env::var("ASKFIRST_RULE_OFF").ok());
        off.as_deref().is_none_or(|off| off != format!("{self:?}"))
    }
}
