//! One question on a real terminal: reads keys, draws frames, prepares the content beside it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use askfirst::machine::{Answer, Question};
use askfirst::{ApprovalDecision, Cause};
use askfirst_runtime::present::Page;

use crate::Options;
use crate::decode::{Decoder, Input, Key};
use crate::edit::{edit, editor};
use crate::keys::Event;
use crate::pause::Pauses;
use crate::schema::Schemas;
use crate::surface::{Ansi, Surface};
use crate::tty::{Ended, Gone, Tty, Waited};
use crate::ui::{Colouring, Past, Ui, Wish, fits, prepare};
use crate::words::{echo, now};

/// A page that is ready within this time is the first that is drawn.
const AT_ONCE: Duration = Duration::from_millis(25);
/// How often to look whether the page is ready.
const PREPARING: Duration = Duration::from_millis(10);
/// How often to look whether the window has another size.
pub(crate) const SIZE: Duration = Duration::from_millis(200);
/// What the terminal says about focus within this time, it says about the moment of asking.
const SETTLED: Duration = Duration::from_secs(1);
/// So long before the end somebody who looks elsewhere is called.
const LAST_CALL: Duration = Duration::from_secs(60);

/// Whether the person looks at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Focus {
    /// The terminal never said.
    #[default]
    Unknown,
    /// It is looked at.
    Here,
    /// Something else is.
    Elsewhere,
}

/// What stays between questions.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) focus: Focus,
    pub(crate) history: Arc<Vec<Past>>,
}

struct Live<'a, 't> {
    tty: &'a mut Tty<'t>,
    ui: Ui,
    surface: Ansi,
    coming: Receiver<Page>,
    start: Instant,
    decoder: Decoder,
    read_at: Duration,
    schemas: &'a Schemas,
    focus: &'a mut Focus,
    called: bool,
    ready: bool,
    pauses: Pauses,
}

/// Asks one question.
pub(crate) fn ask(
    tty: &mut Tty<'_>,
    question: &Arc<Question>,
    options: &Options,
    schemas: &Schemas,
    memory: &mut Memory,
) -> Ended {
    let size = tty.size();
    let ui = Ui::new(Arc::clone(question), options, schemas, Arc::clone(&memory.history), size, now());
    if !fits(&ui, now()) {
        return Ended::TooSmall;
    }
    let (sender, coming) = channel();
    let (theirs, for_page) = (Arc::clone(question), options.clone());
    let work = move || drop(sender.send(prepare(&theirs, &for_page, now(), Colouring::BRIEF)));
    // Without a thread the page is never ready, which ends the prompt below.
    drop(std::thread::Builder::new().name("askfirst-page".to_owned()).spawn(work));
    let surface = Ansi::new(options.style, size.0);
    let (decoder, start) = (Decoder::default(), Instant::now());
    let focus = &mut memory.focus;
    let mut live = Live {
        tty,
        ui,
        surface,
        coming,
        start,
        decoder,
        read_at: Duration::ZERO,
        schemas,
        focus,
        called: false,
        ready: false,
        pauses: Pauses::default(),
    };
    let ended = live.run();
    let seen = Some(live.ui.seen());
    match ended {
        Ok(decisions) => {
            let lines = echo(question, &decisions, &options.redactor, usize::from(live.ui.size().0));
            let last = live.surface.close(&lines);
            // The answer stands even if nobody can be told of it any more.
            let _ = live.tty.write(&last);
            Ended::Answered(Answer { decisions, seen })
        }
        Err(gone) => {
            let last = live.surface.close(&[]);
            let _ = live.tty.write(&last);
            match gone {
                Gone::Woken => Ended::Woken,
                Gone::Lost => {
                    let lost = ApprovalDecision::no(Cause::TerminalLost);
                    Ended::Answered(Answer { decisions: vec![lost], seen })
                }
            }
        }
    }
}

impl Live<'_, '_> {
    fn run(&mut self) -> Result<Vec<ApprovalDecision>, Gone> {
        match self.coming.recv_timeout(AT_ONCE) {
            Ok(page) => self.ui.complete(page, self.start.elapsed()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(failed()),
        }
        if *self.focus == Focus::Elsewhere {
            self.call()?;
        }
        loop {
            self.draw()?;
            let event = self.wait()?;
            let mut wishes = Vec::new();
            let size = self.tty.size();
            if !self.tty.is_raw() {
                // A shell was in between, which wrote something: the question is drawn anew, below.
                self.tty.raw()?;
                self.surface = Ansi::new(self.tty.style(), size.0);
                wishes.extend(self.ui.resize(size, self.start.elapsed()));
            } else if size != self.ui.size() {
                // Keys that came with it were meant for what stood there before.
                self.surface.resized(size.0);
                wishes.extend(self.ui.resize(size, self.start.elapsed()));
                if let Event::EndOfInput | Event::Lost = event {
                    wishes.extend(self.ui.event(event, self.start.elapsed()));
                }
            } else {
                wishes.extend(self.ui.event(event, self.start.elapsed()));
            }
            for wish in wishes {
                let wish = match wish {
                    Wish::Editor => self.edit()?,
                    Wish::Answer(_) => Some(wish),
                };
                if let Some(Wish::Answer(decisions)) = wish {
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

    fn draw(&mut self) -> Result<(), Gone> {
        let frame = self.ui.frame(now());
        let bytes = self.surface.show(&frame);
        let becomes_ready = !self.ready && self.ui.keys.is_armed();
        self.tty.draws(frame.stage);
        let early = self.tty.write_mark(&bytes)?;
        if becomes_ready && early {
            self.ui.keys.typed_before_ready(self.start.elapsed());
        }
        self.ready = self.ui.keys.is_armed();
        Ok(())
    }

    fn wait(&mut self) -> Result<Event, Gone> {
        let at = self.start.elapsed();
        let gives_up = self.decoder.patience().map(|patience| self.read_at + patience);
        let look = at + if self.ui.is_whole() { SIZE } else { PREPARING };
        let due = gives_up.into_iter().chain(self.ui.keys.wake_at()).fold(look, Duration::min);
        self.last_call()?;
        let stood = self.pauses.found(at, Duration::ZERO);
        let waited = self.tty.wait(Some(due.saturating_sub(at)));
        let back = self.start.elapsed();
        if self.pauses.found(back, due) || stood {
            // What was typed meanwhile was not typed at a prompt that could answer.
            self.surface.resized(self.ui.size().0);
            self.ui.keys.painted(back);
        }
        match waited {
            Waited::Bytes(bytes) => {
                self.read_at = self.start.elapsed();
                let inputs = self.decoder.feed(&bytes);
                self.took(inputs)
            }
            Waited::TimeOver if gives_up.is_some_and(|at| at <= self.start.elapsed()) => {
                let inputs = self.decoder.give_up();
                self.took(inputs)
            }
            Waited::TimeOver => Ok(Event::Tick),
            Waited::Woken => Err(Gone::Woken),
            Waited::EndOfInput => Ok(Event::EndOfInput),
            Waited::Lost => Ok(Event::Lost),
        }
    }

    fn took(&mut self, inputs: Vec<Input>) -> Result<Event, Gone> {
        for input in &inputs {
            match input {
                Input::Key(Key::FocusIn) => *self.focus = Focus::Here,
                Input::Key(Key::FocusOut) => {
                    *self.focus = Focus::Elsewhere;
                    if self.start.elapsed() < SETTLED {
                        self.call()?;
                    }
                }
                Input::Key(_) | Input::Paste(_) => {}
            }
        }
        Ok(if inputs.is_empty() { Event::Tick } else { Event::Read(inputs) })
    }

    /// Calls somebody who looks elsewhere, once.
    fn call(&mut self) -> Result<(), Gone> {
        if std::mem::replace(&mut self.called, true) { Ok(()) } else { self.tty.write("\x07") }
    }

    fn last_call(&mut self) -> Result<(), Gone> {
        let late = self.ui.deadline().is_some_and(|at| now().until(at) < LAST_CALL);
        if late && *self.focus == Focus::Elsewhere { self.call() } else { Ok(()) }
    }

    fn edit(&mut self) -> Result<Option<Wish>, Gone> {
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
        self.tty.cooked();
        let edited = edit(&request, self.tty, self.schemas);
        self.tty.raw()?;
        self.surface = Ansi::new(self.tty.style(), self.tty.size().0);
        match edited {
            Err(crate::edit::EditFault::Over(Waited::Woken)) => Err(Gone::Woken),
            Err(crate::edit::EditFault::Over(_)) => Err(Gone::Lost),
            edited => Ok(self.ui.edited(edited, self.start.elapsed())),
        }
    }
}

/// The page could not be made.
fn failed() -> Vec<ApprovalDecision> {
    vec![ApprovalDecision::no(Cause::ApproverFailed).with_note("what should be shown could not be made")]
}
