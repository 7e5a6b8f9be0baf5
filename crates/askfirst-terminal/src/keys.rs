//! Which key decides, and when: a state machine without a terminal or a clock of its own.
//!
//! It begins unarmed and arms only after a quiet while. Until then keys are discarded; several at once, pasted text,
//! Enter and Space never approve; what cannot be undone needs its word.

use std::time::Duration;

use askfirst::{ApprovalDecision, ApprovalScope, Cause, Risk};
use askfirst_runtime::present::{Choice, Offers};

use crate::decode::{Input, Key};

/// So long nothing may be typed before keys count.
pub const QUIET: Duration = Duration::from_millis(300);
/// So long the page must have stood before keys count.
pub const PAINTED: Duration = Duration::from_millis(250);
/// So long the page must have stood where the risk is high.
pub const PAINTED_HIGH: Duration = Duration::from_millis(1_000);
/// So long a key must stay alone before it does anything: a held key and pasted text are faster.
pub const ALONE: Duration = Duration::from_millis(120);
/// A longer reason is not taken.
const MAX_REASON: usize = 2_000;

/// What happens to the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// What one read of the terminal gave.
    Read(Vec<Input>),
    /// The terminal has another size.
    Resize,
    /// Time has passed.
    Tick,
    /// The input ended.
    EndOfInput,
    /// The terminal went away.
    Lost,
}

/// Why a key did nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Several keys came at once, or text was pasted.
    Several,
    /// The end was not on screen yet.
    SeeTheEnd,
    /// What was typed is not the word.
    NotTheWord,
    /// There is no request with that number.
    NoSuchNumber,
}

/// What the screen must do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Show that keys count now.
    Ready,
    /// Show that keys do not count.
    NotYet,
    /// Say why a key did nothing.
    Say(Notice),
    /// Draw what was typed.
    Echo(String),
    /// Take back the last thing that was drawn.
    Erase(char),
    /// Show the question again.
    Redraw,
    /// Show everything.
    View,
    /// Show the facts.
    Facts,
    /// Have the arguments edited.
    Edit,
    /// Ask for a reason.
    AskReason,
    /// Ask which pattern.
    AskPattern,
    /// A member is left out, or taken back in.
    Member {
        /// Which one, counted from 0.
        at: usize,
        /// Whether it would be approved with the others.
        kept: bool,
    },
    /// The answer: a decision for each member.
    Answer(Vec<ApprovalDecision>),
}

/// How much of the content was on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A part of it.
    Part,
    /// Its end.
    End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Screen {
    Question,
    Reason(String),
    Pattern,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Choose(Choice),
    Pattern(usize),
    Word,
    Escape,
}

/// The state of one prompt.
#[derive(Debug, Clone)]
pub struct Keys {
    offers: Offers,
    reach: Reach,
    screen: Screen,
    armed: bool,
    painted: Duration,
    last_input: Duration,
    pending: Option<(Act, Duration)>,
    kept: Vec<bool>,
    number: usize,
    /// How many of the words are typed, and what of the next.
    words_done: usize,
    typed: String,
}

impl Keys {
    /// A prompt that was drawn just now.
    #[must_use]
    pub fn new(offers: Offers, reach: Reach, now: Duration) -> Self {
        let kept = vec![true; offers.words.len()];
        Self {
            offers,
            reach,
            screen: Screen::Question,
            armed: false,
            painted: now,
            last_input: now,
            pending: None,
            kept,
            number: 0,
            words_done: 0,
            typed: String::new(),
        }
    }

    /// The screen was drawn: keys do not count again until it stood a while.
    pub fn painted(&mut self, now: Duration) {
        self.painted = now;
        self.last_input = now;
        self.armed = false;
        self.pending = None;
    }

    /// The end of the content is on screen.
    pub fn reached_end(&mut self) {
        self.reach = Reach::End;
    }

    /// Whether keys count.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.armed
    }

    /// When it wants to hear of the time.
    #[must_use]
    pub fn wake_at(&self) -> Option<Duration> {
        let settles = self.pending.map(|(_, since)| since + ALONE);
        let arms = (!self.armed && !matches!(self.screen, Screen::Reason(_))).then(|| self.arms_at());
        settles.or(arms)
    }

    /// Takes what happened.
    pub fn handle(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        match event {
            Event::Tick => self.tick(now),
            // The line that is being typed stays as it is.
            Event::Resize if matches!(self.screen, Screen::Reason(_)) => Vec::new(),
            Event::Resize => self.back(now),
            Event::EndOfInput => self.refuse(Cause::EndOfInput),
            Event::Lost => self.refuse(Cause::TerminalLost),
            Event::Read(inputs) => match inputs.as_slice() {
                [] => Vec::new(),
                [Input::Key(key)] => self.key(*key, now),
                [Input::Paste(_)] | [_, _, ..] => self.several(&inputs, now),
            },
        }
    }

    fn arms_at(&self) -> Duration {
        let stood = match self.offers.risk {
            Risk::Low => PAINTED,
            Risk::High | Risk::Irreversible => PAINTED_HIGH,
        };
        (self.painted + stood).max(self.last_input + QUIET)
    }

    fn tick(&mut self, now: Duration) -> Vec<Effect> {
        if let Some((act, since)) = self.pending {
            if now < since + ALONE {
                return Vec::new();
            }
            self.pending = None;
            return self.act(act, now);
        }
        if !self.armed && !matches!(self.screen, Screen::Reason(_)) && now >= self.arms_at() {
            self.armed = true;
            return vec![Effect::Ready];
        }
        Vec::new()
    }

    /// Keys do not count until it was quiet again.
    fn disarm(&mut self, now: Duration) -> Vec<Effect> {
        self.last_input = now;
        self.pending = None;
        self.forget_typed();
        if std::mem::take(&mut self.armed) { vec![Effect::NotYet] } else { Vec::new() }
    }

    fn say(&mut self, notice: Notice, now: Duration) -> Vec<Effect> {
        let mut effects = vec![Effect::Say(notice)];
        effects.extend(self.disarm(now));
        effects
    }

    fn forget_typed(&mut self) {
        self.typed.clear();
        self.words_done = 0;
        self.number = 0;
    }

    fn several(&mut self, inputs: &[Input], now: Duration) -> Vec<Effect> {
        if let Screen::Reason(_) = self.screen {
            let text: String = inputs.iter().map(text_of).collect();
            return text.chars().flat_map(|c| self.type_reason(c)).collect();
        }
        if self.armed {
            return self.say(Notice::Several, now);
        }
        self.disarm(now)
    }

    fn key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        match key {
            Key::Interrupt => return self.stop(),
            Key::EndOfInput => return self.refuse(Cause::EndOfInput),
            Key::Char(_) | Key::Enter | Key::Escape | Key::Backspace | Key::Other => {}
        }
        if let Screen::Reason(text) = &self.screen {
            let text = text.clone();
            return self.reason_key(key, text, now);
        }
        if !self.armed {
            return self.disarm(now);
        }
        if self.pending.is_some() {
            return self.say(Notice::Several, now);
        }
        self.last_input = now;
        match (key, self.screen == Screen::Pattern) {
            (Key::Escape, _) => self.wait(Act::Escape, now),
            (Key::Char(c), true) => self.pattern_key(c, now),
            (Key::Char(c), false) => self.question_key(c, now),
            (Key::Enter, false) if self.number > 0 => self.toggle(now),
            (Key::Enter | Key::Backspace | Key::Other | Key::Interrupt | Key::EndOfInput, _) => {
                self.disarm(now)
            }
        }
    }

    /// The key does what it does once it stayed alone.
    fn wait(&mut self, act: Act, now: Duration) -> Vec<Effect> {
        self.pending = Some((act, now));
        Vec::new()
    }

    fn question_key(&mut self, c: char, now: Duration) -> Vec<Effect> {
        let word = self.word().filter(|_| self.reach == Reach::End).map(str::to_owned);
        let is_typing = !self.typed.is_empty() || self.words_done > 0;
        if let Some(word) = word {
            if word.chars().nth(self.typed.chars().count()) == Some(c) {
                return self.type_word(c, &word, now);
            }
            if is_typing {
                return self.say(Notice::NotTheWord, now);
            }
        } else if self.begins_word(c) && !self.has_key(c) {
            return self.say(Notice::SeeTheEnd, now);
        }
        if let Some(digit) = c.to_digit(10).filter(|_| self.kept.len() > 1) {
            return self.digit(digit, now);
        }
        match self.offers.list.iter().find(|offer| offer.choice.key() == c) {
            Some(offer) => {
                let act = Act::Choose(offer.choice);
                self.wait(act, now)
            }
            None => self.disarm(now),
        }
    }

    fn has_key(&self, c: char) -> bool {
        self.offers.list.iter().any(|offer| offer.choice.key() == c)
    }

    fn begins_word(&self, c: char) -> bool {
        self.word().is_some_and(|word| word.starts_with(c))
    }

    /// The word that must be typed next.
    fn word(&self) -> Option<&str> {
        let words = self.offers.words.iter().zip(&self.kept);
        let mut wanted = words.filter(|(_, kept)| **kept).filter_map(|(word, _)| word.as_deref());
        wanted.nth(self.words_done)
    }

    fn type_word(&mut self, c: char, word: &str, now: Duration) -> Vec<Effect> {
        self.typed.push(c);
        let mut effects = vec![Effect::Echo(c.to_string())];
        if self.typed == word {
            self.words_done += 1;
            self.typed.clear();
            match self.word() {
                Some(_) => effects.push(Effect::Echo(" ".to_owned())),
                None => effects.extend(self.wait(Act::Word, now)),
            }
        }
        effects
    }

    fn digit(&mut self, digit: u32, now: Duration) -> Vec<Effect> {
        self.number = self.number * 10 + usize::try_from(digit).unwrap_or(0);
        if self.number == 0 || self.number > self.kept.len() {
            return self.say(Notice::NoSuchNumber, now);
        }
        // A number that could go on waits for Enter.
        if self.number * 10 > self.kept.len() {
            self.toggle(now)
        } else {
            vec![Effect::Echo(digit.to_string())]
        }
    }

    fn toggle(&mut self, now: Duration) -> Vec<Effect> {
        let at = self.number.saturating_sub(1);
        let Some(kept) = self.kept.get_mut(at) else { return self.say(Notice::NoSuchNumber, now) };
        *kept = !*kept;
        let kept = *kept;
        self.forget_typed();
        self.painted(now);
        vec![Effect::Member { at, kept }]
    }

    fn pattern_key(&mut self, c: char, now: Duration) -> Vec<Effect> {
        let at = c.to_digit(10).and_then(|digit| usize::try_from(digit).ok()).and_then(|n| n.checked_sub(1));
        match at.and_then(|at| self.offers.patterns.get(at)) {
            Some(pattern) => {
                let act = Act::Pattern(*pattern);
                self.wait(act, now)
            }
            None => self.disarm(now),
        }
    }

    fn reason_key(&mut self, key: Key, text: String, now: Duration) -> Vec<Effect> {
        match key {
            Key::Char(c) => self.type_reason(c),
            Key::Backspace => {
                let Screen::Reason(text) = &mut self.screen else { return Vec::new() };
                text.pop().map(Effect::Erase).into_iter().collect()
            }
            Key::Enter => {
                let no = ApprovalDecision::no(Cause::Person);
                let note = text.trim();
                self.all(if note.is_empty() { no } else { no.with_note(note) })
            }
            Key::Escape => self.back(now),
            Key::Other | Key::Interrupt | Key::EndOfInput => Vec::new(),
        }
    }

    fn type_reason(&mut self, c: char) -> Vec<Effect> {
        let Screen::Reason(text) = &mut self.screen else { return Vec::new() };
        if text.chars().count() >= MAX_REASON {
            return Vec::new();
        }
        text.push(c);
        vec![Effect::Echo(c.to_string())]
    }

    fn back(&mut self, now: Duration) -> Vec<Effect> {
        self.screen = Screen::Question;
        self.forget_typed();
        self.painted(now);
        vec![Effect::Redraw]
    }

    fn act(&mut self, act: Act, now: Duration) -> Vec<Effect> {
        let end_is_due = self.offers.risk != Risk::Low && self.reach == Reach::Part;
        match act {
            Act::Escape if self.screen == Screen::Pattern => self.back(now),
            Act::Escape => self.refuse(Cause::Person),
            Act::Choose(choice) if choice.approves() && end_is_due => self.say(Notice::SeeTheEnd, now),
            Act::Choose(choice) => self.choose(choice, now),
            Act::Pattern(pattern) => {
                let yes = ApprovalDecision::yes(Cause::Person).remembered(ApprovalScope::Pattern);
                self.all(ApprovalDecision { pattern: Some(pattern), ..yes })
            }
            Act::Word => self.approve(ApprovalScope::None),
        }
    }

    fn choose(&mut self, choice: Choice, now: Duration) -> Vec<Effect> {
        let effect = match choice {
            Choice::Once => return self.approve(ApprovalScope::None),
            Choice::Session => return self.approve(ApprovalScope::Session),
            Choice::No => return self.refuse(Cause::Person),
            Choice::NoSession => {
                return self.all(ApprovalDecision::no(Cause::Person).remembered(ApprovalScope::Session));
            }
            Choice::Stop => return self.stop(),
            Choice::View => Effect::View,
            Choice::Facts => Effect::Facts,
            Choice::Edit => Effect::Edit,
            Choice::Reason => {
                self.screen = Screen::Reason(String::new());
                Effect::AskReason
            }
            Choice::Widen => {
                self.screen = Screen::Pattern;
                Effect::AskPattern
            }
        };
        self.forget_typed();
        self.painted(now);
        vec![effect]
    }

    /// Yes to every member that is kept, no to the others.
    fn approve(&self, remember: ApprovalScope) -> Vec<Effect> {
        let decide = |kept: &bool| match kept {
            true => ApprovalDecision::yes(Cause::Person).remembered(remember),
            false => ApprovalDecision::no(Cause::Person),
        };
        vec![Effect::Answer(self.kept.iter().map(decide).collect())]
    }

    fn refuse(&self, cause: Cause) -> Vec<Effect> {
        self.all(ApprovalDecision::no(cause))
    }

    fn stop(&self) -> Vec<Effect> {
        self.all(ApprovalDecision { stop: true, ..ApprovalDecision::no(Cause::Person) })
    }

    fn all(&self, decision: ApprovalDecision) -> Vec<Effect> {
        vec![Effect::Answer(vec![decision; self.kept.len()])]
    }
}

/// What may go into a reason: text, with blanks for what breaks lines.
fn text_of(input: &Input) -> String {
    match input {
        Input::Paste(text) => text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        Input::Key(Key::Char(c)) => c.to_string(),
        Input::Key(Key::Enter) => " ".to_owned(),
        Input::Key(Key::Escape | Key::Backspace | Key::Interrupt | Key::EndOfInput | Key::Other) => {
            String::new()
        }
    }
}

#[cfg(test)]
#[path = "keys/tests.rs"]
mod tests;
