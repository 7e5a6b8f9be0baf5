//! Which key decides, and when: a state machine without a terminal or a clock of its own.
//!
//! It begins unarmed and arms only after a quiet while in which the content stood on screen. Until then keys are
//! discarded; several at once, pasted text, Enter and Space never approve; what cannot be undone needs its word.

mod act;
mod field;
mod question;

use std::time::Duration;

use askfirst::{ApprovalDecision, Cause, Risk};
use askfirst_runtime::present::{Choice, Offers};

use crate::decode::{Input, Key};
pub use field::Field;

/// So long nothing may be typed before keys count.
pub const QUIET: Duration = Duration::from_millis(300);
/// So long the page must have stood before keys count.
pub const PAINTED: Duration = Duration::from_millis(250);
/// So long the page must have stood where the risk is high.
pub const PAINTED_HIGH: Duration = Duration::from_millis(1_000);
/// So long a key must stay alone before it does anything: a held key and pasted text are faster.
pub const ALONE: Duration = Duration::from_millis(120);

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
    /// A part that must be seen was not on screen yet.
    SeeAllParts,
    /// What was typed is not the word.
    NotTheWord,
    /// There is no request with that number.
    NoSuchNumber,
    /// It must be chosen first how far the yes reaches.
    ChooseFirst,
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
    /// Arguments were typed into the field.
    Typed(String),
    /// Ask for a reason.
    AskReason,
    /// Ask how far a yes for the session reaches.
    AskScope,
    /// It would reach this far: 0 is the call itself, then the patterns.
    Marked(usize),
    /// Move on the page.
    Move(Key),
    /// Find a text.
    Find(String),
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

/// What draws the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    /// A screen that is drawn in place and has pages.
    Screen,
    /// Lines that are printed once.
    Lines,
}

/// What is looked at besides the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doc {
    /// The whole page.
    All,
    /// The facts and the keys.
    Facts,
}

/// What is on screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Screen {
    /// The question.
    Question,
    /// A reason is typed.
    Reason(Field),
    /// How far a yes for the session reaches, and which is marked.
    Scope(Option<usize>),
    /// Something is looked at; perhaps a text to find is typed.
    View(Doc, Option<String>),
    /// The arguments are typed.
    Args(Field),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Choose(Choice),
    Scope(usize),
    Word,
    Escape,
}

/// The state of one prompt.
#[derive(Debug, Clone)]
pub struct Keys {
    offers: Offers,
    front: Front,
    reach: Reach,
    /// How much was on screen of what must be seen.
    must: Reach,
    /// Whether the content is there at all.
    content: bool,
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
    pub fn new(offers: Offers, front: Front, now: Duration) -> Self {
        let kept = vec![true; offers.words.len()];
        Self {
            offers,
            front,
            reach: Reach::Part,
            must: Reach::Part,
            content: false,
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

    /// Something was typed before it stood on screen that keys count: they do not.
    pub fn typed_before_ready(&mut self, now: Duration) {
        let _ = self.disarm(now);
    }

    /// The content is on screen, as far as it fits.
    pub fn content_shown(&mut self) {
        self.content = true;
    }

    /// The content is not on screen any more: nothing can be decided about it.
    pub fn content_hidden(&mut self) {
        (self.content, self.armed, self.pending) = (false, false, None);
    }

    /// The end of the content is on screen.
    pub fn reached_end(&mut self) {
        self.reach = Reach::End;
    }

    /// All that must be seen was on screen.
    pub fn saw_all_parts(&mut self) {
        self.must = Reach::End;
    }

    /// Whether keys count.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.armed
    }

    /// What is on screen.
    #[must_use]
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Which members an approval would cover.
    #[must_use]
    pub fn kept(&self) -> &[bool] {
        &self.kept
    }

    /// What was typed of a word or a number.
    #[must_use]
    pub fn typed(&self) -> String {
        let words = self.offers.words.iter().zip(&self.kept).filter(|(_, kept)| **kept);
        let words = words.filter_map(|(word, _)| word.as_deref()).take(self.words_done);
        let done: String = words.map(|word| format!("{word} ")).collect();
        if self.number > 0 { self.number.to_string() } else { format!("{done}{}", self.typed) }
    }

    /// Lets the arguments be typed.
    pub fn open_args(&mut self, text: &str, now: Duration) {
        self.screen = Screen::Args(Field::new(text));
        self.painted(now);
    }

    /// When it wants to hear of the time.
    #[must_use]
    pub fn wake_at(&self) -> Option<Duration> {
        let settles = self.pending.map(|(_, since)| since + ALONE);
        settles.or((!self.armed && self.can_arm()).then(|| self.arms_at()))
    }

    /// Takes what happened.
    pub fn handle(&mut self, event: Event, now: Duration) -> Vec<Effect> {
        match event {
            Event::Tick => self.tick(now),
            Event::Resize => self.resized(now),
            Event::EndOfInput => self.refuse(Cause::EndOfInput),
            Event::Lost => self.refuse(Cause::TerminalLost),
            Event::Read(mut inputs) => {
                inputs.retain(|input| !matches!(input, Input::Key(Key::FocusIn | Key::FocusOut)));
                if let Screen::View(..) = self.screen {
                    return inputs.iter().flat_map(|input| self.view(input, now)).collect();
                }
                match inputs.as_slice() {
                    [] => Vec::new(),
                    [Input::Key(key)] => self.key(*key, now),
                    [Input::Paste(_)] | [_, _, ..] => self.several(&inputs, now),
                }
            }
        }
    }

    fn resized(&mut self, now: Duration) -> Vec<Effect> {
        match (&self.screen, self.front) {
            // The line that is being typed stays as it is.
            (Screen::Reason(_) | Screen::Args(_), _) => vec![],
            (Screen::View(..), _) => vec![Effect::Redraw],
            (Screen::Question | Screen::Scope(_), Front::Screen) => {
                self.forget_typed();
                self.painted(now);
                vec![Effect::Redraw]
            }
            (Screen::Question | Screen::Scope(_), Front::Lines) => self.back(now),
        }
    }

    /// Whether this is a screen on which keys decide, with something to decide about.
    fn can_arm(&self) -> bool {
        match self.screen {
            Screen::Question | Screen::Scope(_) => self.content,
            Screen::Reason(_) | Screen::View(..) | Screen::Args(_) => false,
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
        if !self.armed && self.can_arm() && now >= self.arms_at() {
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
        match self.screen {
            Screen::Reason(_) | Screen::Args(_) => {
                return inputs.iter().flat_map(|input| self.typed_fast(input, now)).collect();
            }
            Screen::Question | Screen::Scope(_) | Screen::View(..) => {}
        }
        // Leaving at once is always possible.
        if inputs.contains(&Input::Key(Key::Interrupt)) {
            return self.stop();
        }
        let moves: Option<Vec<Key>> = inputs.iter().map(moving).collect();
        match moves.filter(|_| self.front == Front::Screen) {
            Some(moves) => {
                let mut effects = self.disarm(now);
                effects.extend(moves.into_iter().map(Effect::Move));
                effects
            }
            None if self.armed => self.say(Notice::Several, now),
            None => self.disarm(now),
        }
    }

    fn key(&mut self, key: Key, now: Duration) -> Vec<Effect> {
        match key {
            Key::Interrupt => return self.stop(),
            Key::EndOfInput => return self.refuse(Cause::EndOfInput),
            _ => {}
        }
        if let Screen::Reason(_) | Screen::Args(_) = self.screen {
            return self.field_key(key, now);
        }
        if let Some(key) = moving(&Input::Key(key)).filter(|_| self.front == Front::Screen) {
            let mut effects = self.disarm(now);
            effects.push(Effect::Move(key));
            return effects;
        }
        if !self.armed {
            return self.disarm(now);
        }
        if self.pending.is_some() {
            return self.say(Notice::Several, now);
        }
        self.last_input = now;
        match (key, &self.screen) {
            (Key::Escape, _) => self.wait(Act::Escape, now),
            (Key::Char(c), Screen::Scope(marked)) => {
                let marked = *marked;
                self.scope_key(c, marked, now)
            }
            (Key::Char(c), _) => self.question_key(c, now),
            (Key::Enter, Screen::Question) if self.number > 0 => self.toggle(now),
            (_, _) => self.disarm(now),
        }
    }

    /// The key does what it does once it stayed alone.
    fn wait(&mut self, act: Act, now: Duration) -> Vec<Effect> {
        self.pending = Some((act, now));
        Vec::new()
    }

    fn back(&mut self, now: Duration) -> Vec<Effect> {
        self.screen = Screen::Question;
        self.forget_typed();
        self.painted(now);
        vec![Effect::Redraw]
    }
}

/// A key that only moves on the page.
fn moving(input: &Input) -> Option<Key> {
    match input {
        Input::Key(
            key @ (Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::Home | Key::End | Key::Tab),
        ) => Some(*key),
        Input::Key(_) | Input::Paste(_) => None,
    }
}

#[cfg(test)]
#[path = "keys/tests.rs"]
mod tests;
