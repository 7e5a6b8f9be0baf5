//! One question on a screen that is drawn in place: the page, the scroll position, and the parts already seen.
//!
//! It has no terminal and no clock of its own, and it decides nothing. Answers come from [`Keys`].

mod draw;
mod pane;
mod scope;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use askfirst::machine::{LinesSeen, Question};
use askfirst::{ApprovalDecision, Cause, Timestamp};
use askfirst_display::{Extent, Line, Page, PageOptions};
use serde_json::Value;

use crate::Options;
use crate::decode::Key;
use crate::edit::{EditError, parse_args};
use crate::keys::{Document, Effect, Event, Keys, Renderer, Screen};
use crate::more::more_lines;
use crate::schema::Schemas;
use crate::surface::Frame;
use crate::words::notice_words;
pub(crate) use draw::fits;
use pane::{SeenParagraphs, Spot};

/// The time budget for syntax highlighting. Lines past it are shown plain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HighlightBudget {
    /// For the first screen, on the thread that prepares the page.
    first: Duration,
    /// For each later frame.
    later: Duration,
}

impl HighlightBudget {
    /// The budget while a person waits.
    pub(crate) const BRIEF: Self =
        Self { first: Duration::from_millis(150), later: Duration::from_millis(20) };
    /// The budget for pictures, which must not depend on the load of the machine.
    pub(crate) const UNLIMITED: Self =
        Self { first: Duration::from_secs(3_600), later: Duration::from_secs(3_600) };
}

/// The number of lines that are highlighted in advance.
const FIRST_LINES: usize = 60;

/// A request from an earlier question.
#[derive(Debug, Clone)]
pub(crate) struct EarlierRequest {
    pub(crate) tool: String,
    pub(crate) payload: Value,
    pub(crate) summary: String,
    /// The approximate size of the request in memory.
    pub(crate) bytes: usize,
}

/// An action that the caller must take.
#[derive(Debug, PartialEq)]
pub(crate) enum HostAction {
    /// Return the answer.
    Answer(Vec<ApprovalDecision>),
    /// Open an editor.
    OpenEditor,
}

/// One question on a screen.
pub(crate) struct Ui {
    question: Arc<Question>,
    options: Options,
    schemas: Schemas,
    history: Arc<Vec<EarlierRequest>>,
    page: Page,
    pub(crate) keys: Keys,
    size: (u16, u16),
    top: Spot,
    view: Spot,
    watched: SeenParagraphs,
    folded: BTreeSet<usize>,
    /// The rows of the scopes that were on screen.
    scope_rows_seen: BTreeSet<usize>,
    search: Option<String>,
    notice: Option<String>,
    /// The keys and the details, as the page behind `?` shows them.
    more: Vec<Line>,
    pane_height: usize,
    /// The number of paragraphs at the end of the page that stand below the content, which scrolls.
    pinned: usize,
    budget: HighlightBudget,
}

/// The settings of a page.
pub(crate) fn page_options(options: &Options, now: Timestamp) -> PageOptions<'_> {
    let Options { preview_lines, redactor, withheld, .. } = options;
    PageOptions { preview_lines: *preview_lines, redactor, now, withheld }
}

/// Builds the whole page of a question and highlights its first lines.
pub(crate) fn prepare(
    question: &Question,
    options: &Options,
    now: Timestamp,
    budget: HighlightBudget,
) -> Page {
    let page = Page::of(question, &page_options(options, now));
    page.highlight_until(Instant::now() + budget.first);
    (0..page.len(80).min(FIRST_LINES)).for_each(|at| drop(page.rows(at, 80)));
    page
}

impl Ui {
    /// Shows the head of a question. [`Ui::complete`] adds the rest.
    pub(crate) fn new(
        question: Arc<Question>,
        options: &Options,
        schemas: &Schemas,
        history: Arc<Vec<EarlierRequest>>,
        size: (u16, u16),
        now: Timestamp,
    ) -> Self {
        let page = Page::head(&question, &page_options(options, now));
        let keys = Keys::new(page.offers.clone(), Renderer::Screen, Duration::ZERO);
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
            watched: SeenParagraphs::default(),
            folded: BTreeSet::new(),
            scope_rows_seen: BTreeSet::new(),
            search: None,
            notice: None,
            more: Vec::new(),
            pane_height: 1,
            pinned: 0,
            budget: HighlightBudget::BRIEF,
        }
    }

    /// Sets the time budget for syntax highlighting.
    pub(crate) fn with_budget(self, budget: HighlightBudget) -> Self {
        Self { budget, ..self }
    }

    /// Shows the whole page.
    pub(crate) fn complete(&mut self, page: Page, now: Duration) {
        self.page = page;
        self.watched = SeenParagraphs::default();
        (self.top, self.view) = (Spot::default(), Spot::default());
        self.keys.mark_painted(now);
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

    /// The extent to which the page was on screen.
    pub(crate) fn seen(&self) -> LinesSeen {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let of = self.page.len(self.room());
        LinesSeen { lines: count(self.watched.count()), of: count(of) }
    }

    /// Handles a new size of the terminal.
    pub(crate) fn resize(&mut self, size: (u16, u16), now: Duration) -> Vec<HostAction> {
        self.size = size;
        self.scope_rows_seen.clear();
        (self.top, self.view) = (Spot::default(), Spot::default());
        self.event(Event::Resize, now)
    }

    /// Handles an event.
    pub(crate) fn event(&mut self, event: Event, now: Duration) -> Vec<HostAction> {
        if let Event::Read(_) = event {
            self.notice = None;
        }
        let effects = self.keys.handle(event, now);
        effects.into_iter().filter_map(|effect| self.apply(effect, now)).collect()
    }

    fn apply(&mut self, effect: Effect, now: Duration) -> Option<HostAction> {
        match effect {
            Effect::Answer(decisions) => return Some(HostAction::Answer(decisions)),
            Effect::Edit => return Some(HostAction::OpenEditor),
            Effect::ArgsTyped(text) => return self.submit_args(&text),
            Effect::Say(notice) => self.notice = Some(notice_words(notice).to_owned()),
            Effect::Move(key) => self.scroll(key),
            Effect::Find(text) => {
                self.search = Some(text).filter(|text| !text.is_empty());
                self.find(pane::Direction::Down, 0);
            }
            Effect::View => self.view = self.top,
            Effect::AskScope(_) => {
                self.scope_rows_seen.clear();
                self.view = Spot::default();
            }
            Effect::AskRest => {
                let LinesSeen { lines, of } = self.seen();
                let unseen = of.saturating_sub(lines);
                self.notice = Some(format!("{unseen} of {of} lines were not on screen yet"));
            }
            // The chosen scope is in the window.
            Effect::ScopeChosen(lifetime, at) => {
                self.view = Spot { at: 0, row: scope::scope_start(self, lifetime, at) };
            }
            Effect::Facts => {
                self.view = Spot::default();
                self.more = more_lines(&self.page, Renderer::Screen, self.room());
            }
            Effect::Member { .. } => {
                let kept = self.keys.kept().to_vec();
                self.page.set_kept(&kept);
            }
            Effect::Redraw => {
                self.notice = None;
                if let Screen::View(Document::Facts, _) = self.keys.screen() {
                    self.more = more_lines(&self.page, Renderer::Screen, self.room());
                }
            }
            Effect::Ready | Effect::NotYet | Effect::Echo(_) | Effect::Erase(_) | Effect::AskReason => {}
        }
        let _ = now;
        None
    }

    /// Opens the field for the arguments, because no editor is configured.
    pub(crate) fn open_field(&mut self, now: Duration) {
        let Some(member) = self.question.members.first() else { return };
        let args = &member.request.args;
        let hidden = self.options.redactor.args(args, askfirst_display::redact::Mark::Screen).hidden;
        if hidden > 0 {
            let text = "the arguments contain secrets: set `VISUAL` or `EDITOR` to edit them";
            return self.show_error(text, now);
        }
        let text = serde_json::to_string(args).unwrap_or_default();
        self.keys.open_args(&text, now);
    }

    /// Handles the result of an editor or of the field.
    pub(crate) fn take_edited(
        &mut self,
        edited: Result<askfirst::Args, EditError>,
        now: Duration,
    ) -> Option<HostAction> {
        match edited {
            Ok(args) => {
                let yes = ApprovalDecision::yes(Cause::Person);
                Some(HostAction::Answer(vec![ApprovalDecision { edited_args: Some(args), ..yes }]))
            }
            Err(error) => {
                self.show_error(&error.to_string(), now);
                None
            }
        }
    }

    fn submit_args(&mut self, text: &str) -> Option<HostAction> {
        let member = self.question.members.first()?;
        match parse_args(text.as_bytes(), &member.request, &self.schemas) {
            Ok(args) => self.take_edited(Ok(args), Duration::ZERO),
            Err(error) => {
                self.notice = Some(error.to_string());
                None
            }
        }
    }

    fn show_error(&mut self, words: &str, now: Duration) {
        self.notice = Some(words.to_owned());
        self.keys.mark_painted(now);
    }

    /// The usable columns. One column stays free, so that the terminal never wraps a line itself.
    fn room(&self) -> usize {
        usize::from(self.size.0).saturating_sub(1)
    }

    /// Draws the current frame. The paragraphs in it count as seen.
    pub(crate) fn frame(&mut self, now: Timestamp) -> Frame {
        self.page.highlight_until(Instant::now() + self.budget.later);
        let frame = draw::frame(self, now);
        if !fits(self, now) {
            self.keys.mark_content_hidden();
        } else if self.is_whole() {
            self.keys.mark_scope(scope::reach(self));
            let room = self.room();
            self.keys.mark_content_shown();
            if self.watched.count() == self.page.len(room) {
                self.keys.mark_all_seen();
            }
            let mut musts = self.page.must_see(room).into_iter().flatten();
            if musts.all(|at| self.watched.contains(at)) {
                self.keys.mark_parts_seen();
            }
        }
        frame
    }

    fn scroll(&mut self, key: Key) {
        match self.keys.screen() {
            Screen::View(Document::Facts, _) => self.scroll_facts(key),
            Screen::View(Document::All, _) => self.scroll_view(key),
            Screen::Scope(lifetime, marked) => self.scroll_scopes(key, *lifetime, *marked),
            Screen::Question | Screen::Rest | Screen::Reason(_) | Screen::Args(_) => self.scroll_pane(key),
        }
    }
}

#[cfg(test)]
#[path = "ui/tests.rs"]
mod tests;
