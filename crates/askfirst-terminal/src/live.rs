//! Asks one question on a terminal: reads keys and draws frames, while another thread prepares the page.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use askfirst::machine::{Answer, Question};
use askfirst::{ApprovalDecision, Cause};
use askfirst_display::Page;

use crate::Options;
use crate::decode::{Decoder, Input};
use crate::edit::{edit, editor};
use crate::keys::Event;
use crate::notify::{Attention, Protocol, signal};
use crate::pause::PauseDetector;
use crate::schema::Schemas;
use crate::surface::{AnsiSurface, Surface};
use crate::tty::{Interruption, PromptEnd, Tty, WaitResult};
use crate::ui::{EarlierRequest, HighlightBudget, HostAction, Ui, fits, prepare};
use crate::words::{echo, now};

/// The time to wait for the whole page before the head is drawn.
const FIRST_WAIT: Duration = Duration::from_millis(25);
/// The interval of checks whether the page is ready.
const PAGE_CHECK: Duration = Duration::from_millis(10);
/// The interval of checks whether the size of the window changed.
pub(crate) const SIZE_CHECK: Duration = Duration::from_millis(200);
/// The time before the deadline at which the bell rings for a person who is away.
const LAST_CALL: Duration = Duration::from_secs(60);

/// The state that stays while the prompt is drawn again, and between questions.
#[derive(Debug, Default)]
pub(crate) struct PromptContext {
    /// Of the current question.
    pub(crate) attention: Attention,
    pub(crate) history: Arc<Vec<EarlierRequest>>,
}

struct LivePrompt<'a, 't> {
    tty: &'a mut Tty<'t>,
    ui: Ui,
    surface: AnsiSurface,
    coming: Receiver<Page>,
    start: Instant,
    decoder: Decoder,
    read_at: Duration,
    schemas: &'a Schemas,
    attention: &'a mut Attention,
    /// The bytes that call the person.
    signal: String,
    ready: bool,
    pauses: PauseDetector,
}

/// Asks one question.
pub(crate) fn ask(
    tty: &mut Tty<'_>,
    question: &Arc<Question>,
    options: &Options,
    schemas: &Schemas,
    context: &mut PromptContext,
) -> PromptEnd {
    let size = tty.size();
    let ui = Ui::new(Arc::clone(question), options, schemas, Arc::clone(&context.history), size, now());
    if !fits(&ui, now()) {
        return PromptEnd::TooSmall;
    }
    let (sender, coming) = channel();
    let (theirs, for_page) = (Arc::clone(question), options.clone());
    let work = move || drop(sender.send(prepare(&theirs, &for_page, now(), HighlightBudget::BRIEF)));
    // If the thread cannot be started, the channel closes, and the prompt fails below.
    drop(std::thread::Builder::new().name("askfirst-page".to_owned()).spawn(work));
    let surface = AnsiSurface::new(options.style, size.0);
    let (decoder, start) = (Decoder::default(), Instant::now());
    let attention = &mut context.attention;
    let mut live = LivePrompt {
        tty,
        ui,
        surface,
        coming,
        start,
        decoder,
        read_at: Duration::ZERO,
        schemas,
        attention,
        signal: signal(options.notify, &options.front_end, Protocol::of_environment()),
        ready: false,
        pauses: PauseDetector::default(),
    };
    let result = live.run();
    let seen = Some(live.ui.seen());
    match result {
        Ok(decisions) => {
            let lines = echo(question, &decisions, &options.redactor, usize::from(live.ui.size().0));
            let last = live.surface.close(&lines);
            // The answer counts even if this line cannot be written.
            let _ = live.tty.write(&last);
            PromptEnd::Answered(Answer { decisions, seen })
        }
        Err(interruption) => {
            let last = live.surface.close(&[]);
            let _ = live.tty.write(&last);
            match interruption {
                Interruption::Woken => PromptEnd::Woken,
                Interruption::Lost => {
                    let lost = ApprovalDecision::no(Cause::TerminalLost);
                    PromptEnd::Answered(Answer { decisions: vec![lost], seen })
                }
            }
        }
    }
}

impl LivePrompt<'_, '_> {
    fn run(&mut self) -> Result<Vec<ApprovalDecision>, Interruption> {
        match self.coming.recv_timeout(FIRST_WAIT) {
            Ok(page) => self.ui.complete(page, self.start.elapsed()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(failed()),
        }
        loop {
            self.draw()?;
            let event = self.wait()?;
            let mut actions = Vec::new();
            let size = self.tty.size();
            if !self.tty.is_raw() {
                // A shell used the terminal in between, so the question is drawn again below its output.
                self.tty.set_raw()?;
                self.surface = AnsiSurface::new(self.tty.style(), size.0);
                actions.extend(self.ui.resize(size, self.start.elapsed()));
            } else if size != self.ui.size() {
                // Keys that arrived with a resize were meant for the earlier screen.
                self.surface.resize(size.0);
                actions.extend(self.ui.resize(size, self.start.elapsed()));
                if let Event::EndOfInput | Event::Lost = event {
                    actions.extend(self.ui.event(event, self.start.elapsed()));
                }
            } else {
                actions.extend(self.ui.event(event, self.start.elapsed()));
            }
            for action in actions {
                let action = match action {
                    HostAction::OpenEditor => self.edit()?,
                    HostAction::Answer(_) => Some(action),
                };
                if let Some(HostAction::Answer(decisions)) = action {
                    return Ok(decisions);
                }
            }
            if !self.ui.is_whole() {
                match self.coming.try_recv() {
                    Ok(page) => self.ui.complete(page, self.start.elapsed()),
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => return Ok(failed()),
                }
            }
        }
    }

    fn draw(&mut self) -> Result<(), Interruption> {
        let frame = self.ui.frame(now());
        let bytes = self.surface.show(&frame);
        let becomes_ready = !self.ready && self.ui.keys.is_armed();
        self.tty.set_stage(frame.stage);
        let early = self.tty.write_mark(&bytes)?;
        if becomes_ready && early {
            self.ui.keys.discard_early_input(self.start.elapsed());
        }
        self.ready = self.ui.keys.is_armed();
        Ok(())
    }

    fn wait(&mut self) -> Result<Event, Interruption> {
        let at = self.start.elapsed();
        let gives_up = self.decoder.patience().map(|patience| self.read_at + patience);
        let look = at + if self.ui.is_whole() { SIZE_CHECK } else { PAGE_CHECK };
        let due = gives_up.into_iter().chain(self.ui.keys.wake_at()).fold(look, Duration::min);
        let is_late = self.ui.deadline().is_some_and(|at| now().until(at) < LAST_CALL);
        if self.attention.tick(at, is_late) {
            self.tty.write(&self.signal)?;
        }
        let was_stopped = self.pauses.detect(at, Duration::ZERO);
        let waited = self.tty.wait(Some(due.saturating_sub(at)));
        let back = self.start.elapsed();
        if self.pauses.detect(back, due) || was_stopped {
            // Keys that arrived while the program was stopped do not count.
            self.surface.resize(self.ui.size().0);
            self.ui.keys.mark_painted(back);
        }
        match waited {
            WaitResult::Bytes(bytes) => {
                self.read_at = self.start.elapsed();
                let inputs = self.decoder.feed(&bytes);
                self.handle_inputs(inputs)
            }
            WaitResult::TimeOver if gives_up.is_some_and(|at| at <= self.start.elapsed()) => {
                let inputs = self.decoder.give_up();
                self.handle_inputs(inputs)
            }
            WaitResult::TimeOver => Ok(Event::Tick),
            WaitResult::Woken => Err(Interruption::Woken),
            WaitResult::EndOfInput => Ok(Event::EndOfInput),
            WaitResult::Lost => Ok(Event::Lost),
        }
    }

    fn handle_inputs(&mut self, inputs: Vec<Input>) -> Result<Event, Interruption> {
        if self.attention.read(&inputs, self.start.elapsed()) {
            self.tty.write(&self.signal)?;
        }
        Ok(if inputs.is_empty() { Event::Tick } else { Event::Read(inputs) })
    }

    fn edit(&mut self) -> Result<Option<HostAction>, Interruption> {
        if editor().is_none() {
            self.ui.open_field(self.start.elapsed());
            return Ok(None);
        }
        let question = self.ui.question();
        let Some(request) = question.members.first().map(|member| member.request.clone()) else {
            return Ok(None);
        };
        let cleared = self.surface.close(&[]);
        self.tty.write(&cleared)?;
        self.tty.restore();
        let edited = edit(&request, self.tty, self.schemas);
        self.tty.set_raw()?;
        self.surface = AnsiSurface::new(self.tty.style(), self.tty.size().0);
        match edited {
            Err(crate::edit::EditError::Interrupted(WaitResult::Woken)) => Err(Interruption::Woken),
            Err(crate::edit::EditError::Interrupted(_)) => Err(Interruption::Lost),
            edited => Ok(self.ui.take_edited(edited, self.start.elapsed())),
        }
    }
}

/// The decisions for a page that could not be built.
fn failed() -> Vec<ApprovalDecision> {
    vec![ApprovalDecision::no(Cause::ApproverFailed).with_note("cannot build the page of this request")]
}
