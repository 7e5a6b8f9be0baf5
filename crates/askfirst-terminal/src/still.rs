//! A prompt without a terminal: keys and times go in, the bytes that a terminal would get come out. For pictures,
//! for tests with millions of keys, and for fuzzing.

use std::sync::Arc;
use std::time::Duration;

use askfirst::machine::Question;
use askfirst::{ApprovalDecision, Timestamp};

use crate::Options;
use crate::decode::Decoder;
use crate::keys::Event;
use crate::schema::Schemas;
use crate::surface::{Ansi, Surface};
use crate::ui::{Colouring, Ui, Wish, prepare};

/// A prompt with a clock that is turned by hand.
pub struct Still {
    question: Arc<Question>,
    ui: Ui,
    surface: Ansi,
    decoder: Decoder,
    now: Duration,
    wall: Timestamp,
    drawn: Vec<u8>,
    answer: Option<Vec<ApprovalDecision>>,
}

impl Still {
    /// A question that was just shown, whole.
    #[must_use]
    pub fn new(question: Question, options: &Options, size: (u16, u16), wall: Timestamp) -> Self {
        let mut still = Self::preparing(question, options, size, wall);
        still.ui.complete(prepare(&still.question, options, wall, Colouring::WHOLE), Duration::ZERO);
        (still.surface, still.drawn) = (Ansi::new(options.style, size.0), Vec::new());
        still.draw();
        still
    }

    /// A question whose content is still on its way.
    #[must_use]
    pub fn preparing(question: Question, options: &Options, size: (u16, u16), wall: Timestamp) -> Self {
        let question = Arc::new(question);
        let schemas = Schemas::default();
        let ui = Ui::new(Arc::clone(&question), options, &schemas, Arc::default(), size, wall);
        let ui = ui.coloured(Colouring::WHOLE);
        let surface = Ansi::new(options.style, size.0);
        let decoder = Decoder::default();
        let (now, drawn) = (Duration::ZERO, Vec::new());
        let mut still = Self { question, ui, surface, decoder, now, wall, drawn, answer: None };
        still.draw();
        still
    }

    /// Time passes.
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

    /// Bytes are typed.
    pub fn send(&mut self, bytes: &[u8]) -> &mut Self {
        let inputs = self.decoder.feed(bytes);
        self.event(Event::Read(inputs))
    }

    /// The terminal gets another size.
    pub fn resize(&mut self, size: (u16, u16)) -> &mut Self {
        self.surface.resized(size.0);
        let wishes = self.ui.resize(size, self.now);
        self.take(wishes);
        self
    }

    /// Whether keys count.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.ui.keys.is_armed()
    }

    /// Everything that was drawn so far.
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
            let wishes = self.ui.event(event, self.now);
            self.take(wishes);
        }
        self
    }

    fn take(&mut self, wishes: Vec<Wish>) {
        for wish in wishes {
            match wish {
                Wish::Answer(decisions) => self.answer = Some(decisions),
                Wish::Editor => self.ui.open_field(self.now),
            }
        }
        self.draw();
    }

    fn draw(&mut self) {
        let frame = self.ui.frame(self.wall);
        self.drawn.extend_from_slice(self.surface.show(&frame).as_bytes());
    }
}

impl std::fmt::Debug for Still {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Still").field("now", &self.now).finish_non_exhaustive()
    }
}
