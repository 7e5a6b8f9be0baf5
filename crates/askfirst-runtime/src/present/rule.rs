//! The rules that every prompt keeps, by name. All of them always hold.
//!
//! Tests show what each is for in a build of their own, made with `--cfg askfirst_rules_off`, in which one can be
//! left out. No other build has anything to switch.

#![allow(unexpected_cfgs, reason = "only the tests of the rules make a build with it")]

/// A rule of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// What was typed before the question is thrown away.
    Flush,
    /// Keys before it is armed are discarded.
    Arming,
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
    /// A yes for the session says what it covers.
    Scope,
    /// The bell rings only for somebody who looks elsewhere.
    Bell,
    /// What was printed before stays.
    Inline,
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
