//! Decides which keys count, and when: a state machine without a terminal or a clock of its own.
//!
//! - The prompt starts unarmed. It arms after the content was on screen for a while without any input.
//! - Keys that arrive before it is armed are discarded.
//! - Several keys at once, pasted text, Enter and Space never approve.
//! - A yes needs the whole page on screen, or a second key that says that the rest stays unseen.
//! - For a call that cannot be undone, the person must type a word from its target.

mod act;
mod field;
mod question;

use std::time::Duration;

use askfirst::{ApprovalDecision, Cause, Risk};
use askfirst_display::{Choice, Lifetime, Offers};

use crate::decode::{Input, Key};
pub use field::Field;

/// The time without input before keys count.
pub const QUIET: Duration = Duration::from_millis(300);
/// The time that the page must be on screen before keys count.
pub const PAINTED: Duration = Duration::from_millis(250);
/// The time that the page of a risky call must be on screen before keys count.
pub const PAINTED_HIGH: Duration = Duration::from_millis(1_000);
/// The time that must pass after a key before it acts. A held key and pasted text are faster.
pub const ALONE: Duration = Duration::from_millis(120);

/// The key that approves without seeing the rest of the page. It works only after a yes that came too early.
pub const REST_KEY: char = 'w';

/// An event at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The input from one read of the terminal.
    Read(Vec<Input>),
    /// The size of the terminal changed.
    Resize,
    /// Time passed.
    Tick,
    /// The input ended.
    EndOfInput,
    /// The terminal was lost.
    Lost,
}

/// The reason why a key did nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Several keys arrived at once, or text was pasted.
    Several,
    /// A part of the page was not on screen yet.
    SeeAll,
    /// A must-see part was not on screen yet.
    SeeAllParts,
    /// The typed text is not the word.
    NotTheWord,
    /// No request has this number.
    NoSuchNumber,
    /// The person must choose a scope first.
    ChooseFirst,
    /// A part of the chosen scope was not on screen yet.
    SeeScope,
}

/// An effect that the renderer must apply.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Show that keys count now.
    Ready,
    /// Show that keys do not count yet.
    NotYet,
    /// Show why a key did nothing.
    Say(Notice),
    /// Draw the typed text.
    Echo(String),
    /// Erase the last typed character.
    Erase(char),
    /// Show the question again.
    Redraw,
    /// Show the whole page.
    View,
    /// Show the facts.
    Facts,
    /// Let the person edit the arguments.
    Edit,
    /// The person submitted arguments that were typed into the field.
    ArgsTyped(String),
    /// Ask for a reason.
    AskReason,
    /// Ask for the scope of a yes that is remembered.
    AskScope(Lifetime),
    /// Ask whether to approve without seeing the rest of the page.
    AskRest,
    /// The person chose a scope: 0 is the call itself, then the patterns.
    ScopeChosen(Lifetime, usize),
    /// Scroll the page.
    Move(Key),
    /// Find a text.
    Find(String),
    /// A member of a group was left out or included again.
    Member {
        /// The index of the member.
        at: usize,
        /// Whether an approval covers it.
        kept: bool,
    },
    /// The answer: one decision for each member.
    Answer(Vec<ApprovalDecision>),
}

/// The extent to which a page was on screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Not all of it.
    Part,
    /// All of it, at once or by scrolling.
    Whole,
}

/// The renderer that draws the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renderer {
    /// A screen that is drawn in place and can scroll.
    Screen,
    /// Lines that are printed once.
    Lines,
}

/// A document that the person can open from the question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// The whole page.
    All,
    /// The facts and the keys.
    Facts,
}

/// The current screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Screen {
    /// The question.
    Question,
    /// The person types a reason.
    Reason(Field),
    /// The person chooses the scope of a yes that is remembered. The chosen one is in it.
    Scope(Lifetime, Option<usize>),
    /// The person chooses whether to approve without seeing the rest of the page.
    Rest,
    /// The person views a document, and may type a text to find.
    View(Document, Option<String>),
    /// The person types arguments.
    Args(Field),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Choose(Choice),
    Scope(Lifetime, usize),
    Rest,
    Word,
    Escape,
}

/// The state of one prompt.
#[derive(Debug, Clone)]
pub struct Keys {
    offers: Offers,
    front: Renderer,
    reach: Reach,
    /// Whether all must-see parts were on screen.
    must: Reach,
    /// Whether all of the chosen scope was on screen.
    scope: Reach,
    /// Whether the content is on screen.
    content: bool,
    screen: Screen,
    armed: bool,
    painted: Duration,
    last_input: Duration,
    pending: Option<(Act, Duration)>,
    kept: Vec<bool>,
    number: usize,
    /// The number of words that are typed in full.
    words_done: usize,
    /// The typed part of the next word.
    typed: String,
}

impl Keys {
    /// The state of a prompt that was just drawn.
    #[must_use]
    pub fn new(offers: Offers, front: Renderer, now: Duration) -> Self {
        let kept = vec![true; offers.words.len()];
        Self {
            offers,
            front,
            reach: Reach::Part,
            must: Reach::Part,
            scope: Reach::Whole,
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

    /// Call this after drawing the screen. Keys do not count again until it was on screen for a while.
    pub fn mark_painted(&mut self, now: Duration) {
        self.painted = now;
        self.last_input = now;
        self.armed = false;
        self.pending = None;
    }

    /// Disarms the prompt, because something was typed before the ready mark was on screen.
    pub fn discard_early_input(&mut self, now: Duration) {
        let _ = self.disarm(now);
    }

    /// Call this when the content is on screen, as far as it fits.
    pub fn mark_content_shown(&mut self) {
        self.content = true;
    }

    /// Call this when the content is no longer on screen. No key can decide then.
    pub fn mark_content_hidden(&mut self) {
        (self.content, self.armed, self.pending) = (false, false, None);
    }

    /// Call this when the whole page was on screen.
    pub fn mark_all_seen(&mut self) {
        self.reach = Reach::Whole;
    }

    /// Call this when all must-see parts were on screen.
    pub fn mark_parts_seen(&mut self) {
        self.must = Reach::Whole;
    }

    /// Call this when the chosen scope was drawn, with the extent to which it was on screen.
    pub fn mark_scope(&mut self, reach: Reach) {
        self.scope = reach;
    }

    /// Whether keys count.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.armed
    }

    /// The current screen.
    #[must_use]
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// For each member, whether an approval covers it.
    #[must_use]
    pub fn kept(&self) -> &[bool] {
        &self.kept
    }

    /// The typed part of a word or a number.
    #[must_use]
    pub fn typed(&self) -> String {
        let words = self.offers.words.iter().zip(&self.kept).filter(|(_, kept)| **kept);
        let words = words.filter_map(|(word, _)| word.as_deref()).take(self.words_done);
        let done: String = words.map(|word| format!("{word} ")).collect();
        if self.number > 0 { self.number.to_string() } else { format!("{done}{}", self.typed) }
    }

    /// Opens the field in which the person types arguments.
    pub fn open_args(&mut self, text: &str, now: Duration) {
        self.screen = Screen::Args(Field::new(text));
        self.mark_painted(now);
    }

    /// The time of the next tick that it needs.
    #[must_use]
    pub fn wake_at(&self) -> Option<Duration> {
        let settles = self.pending.map(|(_, since)| since + ALONE);
        settles.or((!self.armed && self.can_arm()).then(|| self.arms_at()))
    }

    /// Handles an event.
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
            // The line that the person is typing stays as it is.
            (Screen::Reason(_) | Screen::Args(_), _) => vec![],
            (Screen::View(..), _) => vec![Effect::Redraw],
            (Screen::Question | Screen::Scope(..), Renderer::Screen) => {
                self.forget_typed();
                self.mark_painted(now);
                vec![Effect::Redraw]
            }
            (Screen::Rest, _) | (Screen::Question | Screen::Scope(..), Renderer::Lines) => self.back(now),
        }
    }

    /// Whether keys can decide on this screen, and the content is shown.
    fn can_arm(&self) -> bool {
        match self.screen {
            Screen::Question | Screen::Scope(..) | Screen::Rest => self.content,
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

    /// Disarms the prompt. Keys do not count until a time without input.
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
                return inputs.iter().flat_map(|input| self.type_fast(input, now)).collect();
            }
            Screen::Question | Screen::Scope(..) | Screen::Rest | Screen::View(..) => {}
        }
        // Ctrl-C always works.
        if inputs.contains(&Input::Key(Key::Interrupt)) {
            return self.stop();
        }
        let moves: Option<Vec<Key>> = inputs.iter().map(scroll_key).collect();
        match moves.filter(|_| self.front == Renderer::Screen) {
            Some(moves) => {
                let mut effects = self.leave_rest(now);
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
        if let Some(key) = scroll_key(&Input::Key(key)).filter(|_| self.front == Renderer::Screen) {
            let mut effects = self.leave_rest(now);
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
            (Key::Char(c), Screen::Scope(lifetime, marked)) => {
                let (lifetime, marked) = (*lifetime, *marked);
                self.scope_key(c, lifetime, marked, now)
            }
            (Key::Char(c), Screen::Rest) => self.rest_key(c, now),
            (Key::Char(c), _) => self.question_key(c, now),
            (Key::Enter, Screen::Question) if self.number > 0 => self.toggle(now),
            (_, _) => self.disarm(now),
        }
    }

    /// Delays an act until it is certain that no other key follows at once.
    fn wait(&mut self, act: Act, now: Duration) -> Vec<Effect> {
        self.pending = Some((act, now));
        Vec::new()
    }

    /// Disarms the prompt. The person who scrolls wants to see the rest, so the question is on screen again.
    fn leave_rest(&mut self, now: Duration) -> Vec<Effect> {
        let mut effects = self.disarm(now);
        if self.screen == Screen::Rest {
            effects.extend(self.back(now));
        }
        effects
    }

    fn back(&mut self, now: Duration) -> Vec<Effect> {
        self.screen = Screen::Question;
        self.forget_typed();
        self.mark_painted(now);
        vec![Effect::Redraw]
    }
}

/// The key of an input that only scrolls the page.
fn scroll_key(input: &Input) -> Option<Key> {
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
