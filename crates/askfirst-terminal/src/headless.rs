//! A prompt without a terminal, for pictures, tests and fuzzing.
//!
//! Input and times go in, and the bytes for a terminal come out.

use std::sync::Arc;
use std::time::Duration;

use askfirst::machine::Question;
use askfirst::{ApprovalDecision, Timestamp};

use crate::Options;
use crate::decode::Decoder;
use crate::keys::Event;
use crate::schema::Schemas;
use crate::surface::{AnsiSurface, Surface};
use crate::ui::{HighlightBudget, HostAction, Ui, prepare};

/// A prompt with a manual clock.
pub struct HeadlessPrompt {
    question: Arc<Question>,
    ui: Ui,
    surface: AnsiSurface,
    decoder: Decoder,
    now: Duration,
    wall: Timestamp,
    drawn: Vec<u8>,
    answer: Option<Vec<ApprovalDecision>>,
}

impl HeadlessPrompt {
    /// Shows the whole page of a question.
    #[must_use]
    pub fn new(question: Question, options: &Options, size: (u16, u16), wall: Timestamp) -> Self {
        let mut prompt = Self::preparing(question, options, size, wall);
        prompt
            .ui
            .complete(prepare(&prompt.question, options, wall, HighlightBudget::UNLIMITED), Duration::ZERO);
        (prompt.surface, prompt.drawn) = (AnsiSurface::new(options.style, size.0), Vec::new());
        prompt.draw();
        prompt
    }

    /// Shows a question whose content is still being prepared.
    #[must_use]
    pub fn preparing(question: Question, options: &Options, size: (u16, u16), wall: Timestamp) -> Self {
        let question = Arc::new(question);
        let schemas = Schemas::default();
        let ui = Ui::new(Arc::clone(&question), options, &schemas, Arc::default(), size, wall);
        let ui = ui.with_budget(HighlightBudget::UNLIMITED);
        let surface = AnsiSurface::new(options.style, size.0);
        let decoder = Decoder::default();
        let (now, drawn) = (Duration::ZERO, Vec::new());
        let mut prompt = Self { question, ui, surface, decoder, now, wall, drawn, answer: None };
        prompt.draw();
        prompt
    }

    /// Lets time pass.
    pub fn wait(&mut self, time: Duration) -> &mut Self {
        self.now += time;
        let mut inputs = Vec::new();
        if self.decoder.patience().is_some_and(|patience| patience <= time) {
            inputs = self.decoder.give_up();
        }
        if !inputs.is_empty() {
            self.event(Event::Read(inputs));
        }
        self.event(Event::Tick)
    }

    /// Sends input.
    pub fn send(&mut self, bytes: &[u8]) -> &mut Self {
        let inputs = self.decoder.feed(bytes);
        self.event(Event::Read(inputs))
    }

    /// Changes the size of the terminal.
    pub fn resize(&mut self, size: (u16, u16)) -> &mut Self {
        self.surface.resize(size.0);
        let actions = self.ui.resize(size, self.now);
        self.take(actions);
        self
    }

    /// Whether keys count.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.ui.keys.is_armed()
    }

    /// All bytes that were drawn so far.
    #[must_use]
    pub fn drawn(&self) -> &[u8] {
        &self.drawn
    }

    /// The answer, once there is one.
    #[must_use]
    pub fn answer(&self) -> Option<&[ApprovalDecision]> {
        self.answer.as_deref()
    }

    fn event(&mut self, event: Event) -> &mut Self {
        if self.answer.is_none() {
            let actions = self.ui.event(event, self.now);
            self.take(actions);
        }
        self
    }

    fn take(&mut self, actions: Vec<HostAction>) {
        for action in actions {
            match action {
                HostAction::Answer(decisions) => self.answer = Some(decisions),
                HostAction::OpenEditor => self.ui.open_field(self.now),
            }
        }
        self.draw();
    }

    fn draw(&mut self) {
        let frame = self.ui.frame(self.wall);
        self.drawn.extend_from_slice(self.surface.show(&frame).as_bytes());
    }
}

impl std::fmt::Debug for HeadlessPrompt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeadlessPrompt").field("now", &self.now).finish_non_exhaustive()
    }
}
