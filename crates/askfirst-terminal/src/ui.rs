//! One question on a screen that is drawn in place: what is shown, what was seen, what a key does to it.
//!
//! It has no terminal and no clock of its own. It decides nothing: answers come from [`Keys`].

mod draw;
mod pane;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use askfirst::machine::{Question, Seen};
use askfirst::{ApprovalDecision, Cause, Timestamp};
use askfirst_display::{Extent, Line, Page, PageOptions};
use serde_json::Value;

use crate::Options;
use crate::decode::Key;
use crate::edit::{EditFault, checked};
use crate::keys::{Doc, Effect, Event, Front, Keys, Screen};
use crate::schema::Schemas;
use crate::surface::Frame;
use crate::words::notice_words;
pub(crate) use draw::fits;
use pane::{Spot, Watched};

/// How long colouring may take: what is not coloured by then is shown plain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Colouring {
    /// The first screen, beside the one that draws.
    first: Duration,
    /// What comes on screen later.
    later: Duration,
}

impl Colouring {
    /// For somebody who waits.
    pub(crate) const BRIEF: Self =
        Self { first: Duration::from_millis(150), later: Duration::from_millis(20) };
    /// For pictures, which must not depend on how busy a machine is.
    pub(crate) const WHOLE: Self =
        Self { first: Duration::from_secs(3_600), later: Duration::from_secs(3_600) };
}

/// So many lines are coloured before they are looked at.
const FIRST_LINES: usize = 60;

/// A call that was asked about before.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    pub(crate) tool: String,
    pub(crate) payload: Value,
    pub(crate) summary: String,
}

/// What the loop around it must do.
#[derive(Debug, PartialEq)]
pub(crate) enum Wish {
    /// The answer is there.
    Answer(Vec<ApprovalDecision>),
    /// An editor should be opened.
    Editor,
}

/// One question on a screen.
pub(crate) struct Ui {
    question: Arc<Question>,
    options: Options,
    schemas: Schemas,
    history: Arc<Vec<Past>>,
    page: Page,
    pub(crate) keys: Keys,
    size: (u16, u16),
    top: Spot,
    view: Spot,
    watched: Watched,
    folded: BTreeSet<usize>,
    sought: Option<String>,
    notice: Option<String>,
    facts: Vec<Line>,
    pane_height: usize,
    colouring: Colouring,
}

/// The whole page of a question, its beginning coloured.
pub(crate) fn prepare(question: &Question, options: &Options, now: Timestamp, colouring: Colouring) -> Page {
    let page_options = PageOptions { preview_lines: options.preview_lines, redactor: &options.redactor, now };
    let page = Page::of(question, &page_options);
    page.highlight_until(Instant::now() + colouring.first);
    (0..page.len(80).min(FIRST_LINES)).for_each(|at| drop(page.rows(at, 80)));
    page
}

impl Ui {
    /// The head of a question; the rest comes with [`Ui::complete`].
    pub(crate) fn new(
        question: Arc<Question>,
        options: &Options,
        schemas: &Schemas,
        history: Arc<Vec<Past>>,
        size: (u16, u16),
        now: Timestamp,
    ) -> Self {
        let page_options =
            PageOptions { preview_lines: options.preview_lines, redactor: &options.redactor, now };
        let page = Page::head(&question, &page_options);
        let keys = Keys::new(page.offers.clone(), Front::Screen, Duration::ZERO);
        Self {
            question,
            options: options.clone(),
            schemas: schemas.clone(),
            history,
            page,
            keys,
            size,
            top: Spot::default(),
            view: Spot::default(),
            watched: Watched::default(),
            folded: BTreeSet::new(),
            sought: None,
            notice: None,
            facts: Vec::new(),
            pane_height: 1,
            colouring: Colouring::BRIEF,
        }
    }

    /// The same, coloured for as long as is said.
    pub(crate) fn coloured(self, colouring: Colouring) -> Self {
        Self { colouring, ..self }
    }

    /// The whole page is there.
    pub(crate) fn complete(&mut self, page: Page, now: Duration) {
        self.page = page;
        self.watched = Watched::default();
        (self.top, self.view) = (Spot::default(), Spot::default());
        self.keys.painted(now);
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.page.extent() == Extent::Whole
    }

    pub(crate) fn question(&self) -> &Question {
        &self.question
    }

    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        self.page.deadline()
    }

    pub(crate) fn size(&self) -> (u16, u16) {
        self.size
    }

    /// How much of the page was on screen.
    pub(crate) fn seen(&self) -> Seen {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let of = self.page.len(self.room());
        Seen { lines: count(self.watched.count()), of: count(of) }
    }

    /// The terminal has another size.
    pub(crate) fn resize(&mut self, size: (u16, u16), now: Duration) -> Vec<Wish> {
        self.size = size;
        (self.top, self.view) = (Spot::default(), Spot::default());
        self.event(Event::Resize, now)
    }

    /// Takes what happened.
    pub(crate) fn event(&mut self, event: Event, now: Duration) -> Vec<Wish> {
        if let Event::Read(_) = event {
            self.notice = None;
        }
        let effects = self.keys.handle(event, now);
        effects.into_iter().filter_map(|effect| self.carry_out(effect, now)).collect()
    }

    fn carry_out(&mut self, effect: Effect, now: Duration) -> Option<Wish> {
        match effect {
            Effect::Answer(decisions) => return Some(Wish::Answer(decisions)),
            Effect::Edit => return Some(Wish::Editor),
            Effect::Typed(text) => return self.typed(&text),
            Effect::Say(notice) => self.notice = Some(notice_words(notice).to_owned()),
            Effect::Move(key) => self.moved(key),
            Effect::Find(text) => {
                self.sought = Some(text).filter(|text| !text.is_empty());
                self.find(pane::Way::Down, 0);
            }
            Effect::View => self.view = self.top,
            Effect::AskScope => self.view = Spot::default(),
            // The one that is chosen is in the window.
            Effect::Marked(at) => self.view = Spot { at: 0, row: draw::scope_start(self, at) },
            Effect::Facts => {
                self.view = Spot::default();
                self.facts = self.facts_and_keys();
            }
            Effect::Member { .. } => {
                let kept = self.keys.kept().to_vec();
                self.page.set_kept(&kept);
            }
            Effect::Redraw => {
                self.notice = None;
                if let Screen::View(Doc::Facts, _) = self.keys.screen() {
                    self.facts = self.facts_and_keys();
                }
            }
            Effect::Ready | Effect::NotYet | Effect::Echo(_) | Effect::Erase(_) | Effect::AskReason => {}
        }
        let _ = now;
        None
    }

    /// Opens the field, where no editor is named.
    pub(crate) fn open_field(&mut self, now: Duration) {
        let Some(member) = self.question.members.first() else { return };
        let args = &member.request.args;
        let hidden = self.options.redactor.args(args, askfirst_display::redact::Mark::Screen).hidden;
        if hidden > 0 {
            return self.say_fault("the arguments hold secrets: set `VISUAL` or `EDITOR` to edit them", now);
        }
        let text = serde_json::to_string(args).unwrap_or_default();
        self.keys.open_args(&text, now);
    }

    /// What an editor or the field gave.
    pub(crate) fn edited(
        &mut self,
        edited: Result<askfirst::Args, EditFault>,
        now: Duration,
    ) -> Option<Wish> {
        match edited {
            Ok(args) => {
                let yes = ApprovalDecision::yes(Cause::Person);
                Some(Wish::Answer(vec![ApprovalDecision { edited_args: Some(args), ..yes }]))
            }
            Err(fault) => {
                self.say_fault(&fault.to_string(), now);
                None
            }
        }
    }

    fn typed(&mut self, text: &str) -> Option<Wish> {
        let member = self.question.members.first()?;
        match checked(text.as_bytes(), &member.request, &self.schemas) {
            Ok(args) => self.edited(Ok(args), Duration::ZERO),
            Err(fault) => {
                self.notice = Some(fault.to_string());
                None
            }
        }
    }

    fn say_fault(&mut self, words: &str, now: Duration) {
        self.notice = Some(words.to_owned());
        self.keys.painted(now);
    }

    /// One column stays free, so that no terminal wraps by itself.
    fn room(&self) -> usize {
        usize::from(self.size.0).saturating_sub(1)
    }

    /// The frame as it should stand now. What it shows counts as seen.
    pub(crate) fn frame(&mut self, now: Timestamp) -> Frame {
        self.page.highlight_until(Instant::now() + self.colouring.later);
        let frame = draw::frame(self, now);
        if !fits(self, now) {
            self.keys.content_hidden();
        } else if self.is_whole() {
            let room = self.room();
            self.keys.content_shown();
            if self.watched.saw(self.page.len(room).saturating_sub(1)) {
                self.keys.reached_end();
            }
            let mut musts = self.page.must_see(room).into_iter().flatten();
            if musts.all(|at| self.watched.saw(at)) {
                self.keys.saw_all_parts();
            }
        }
        frame
    }

    fn moved(&mut self, key: Key) {
        match self.keys.screen() {
            Screen::View(Doc::Facts, _) => self.move_facts(key),
            Screen::View(Doc::All, _) => self.move_view(key),
            Screen::Scope(marked) => self.move_scope(key, *marked),
            Screen::Question | Screen::Reason(_) | Screen::Args(_) => self.move_pane(key),
        }
    }
}

#[cfg(test)]
#[path = "ui/tests.rs"]
mod tests;
