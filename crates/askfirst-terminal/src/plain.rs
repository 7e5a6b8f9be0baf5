//! Asks one question in lines that are printed once, for screen readers, dumb terminals and very small windows.

use std::time::{Duration, Instant};

use askfirst::machine::{Answer, LinesSeen, Question};
use askfirst::{ApprovalDecision, Cause};
use askfirst_display::escape::width;
use askfirst_display::{Choice, Page, PageOptions, visible_line};

use crate::Options;
use crate::decode::{Decoder, Input};
use crate::edit::{EditError, edit, editor};
use crate::keys::{Effect, Event, Keys, REST_KEY, Renderer};
use crate::live::{PromptContext, SIZE_CHECK};
use crate::more::more_lines;
use crate::notify::{Attention, Protocol, signal};
use crate::paint::{NUMBER, Numbers, draw, paint};
use crate::pause::PauseDetector;
use crate::schema::Schemas;
use crate::tty::{Interruption, PromptEnd, Tty, WaitResult};
use crate::ui::page_options;
use crate::words::{echo, notice_words, now};

/// Asks one question.
pub(crate) fn ask(
    tty: &mut Tty<'_>,
    question: &Question,
    options: &Options,
    schemas: &Schemas,
    context: &mut PromptContext,
) -> PromptEnd {
    let mut withheld = options.withheld.clone();
    // Lines have no field for arguments.
    withheld.extend(editor().is_none().then_some(Choice::Edit));
    let page = Page::of(question, &PageOptions { withheld: &withheld, ..page_options(options, now()) });
    let start = Instant::now();
    // Plain lines have no syntax colors, so nothing is highlighted.
    page.highlight_until(start);
    let keys = Keys::new(page.offers.clone(), Renderer::Lines, Duration::ZERO);
    let columns = tty.columns();
    let seen = LinesSeen { lines: 0, of: 0 };
    let (decoder, read_at, field) = (Decoder::default(), Duration::ZERO, String::new());
    let pauses = PauseDetector::default();
    let attention = &mut context.attention;
    let mut prompt = PlainPrompt {
        tty,
        question,
        options,
        schemas,
        page,
        start,
        keys,
        decoder,
        read_at,
        columns,
        seen,
        field,
        pauses,
        attention,
    };
    match prompt.run() {
        Ok(answer) => PromptEnd::Answered(answer),
        Err(Interruption::Woken) => PromptEnd::Woken,
        Err(Interruption::Lost) => {
            let lost = ApprovalDecision::no(Cause::TerminalLost);
            PromptEnd::Answered(Answer { decisions: vec![lost], seen: Some(prompt.seen) })
        }
    }
}

struct PlainPrompt<'a, 't> {
    tty: &'a mut Tty<'t>,
    question: &'a Question,
    options: &'a Options,
    schemas: &'a Schemas,
    page: Page,
    start: Instant,
    keys: Keys,
    decoder: Decoder,
    read_at: Duration,
    columns: usize,
    seen: LinesSeen,
    /// The field of the reason, as it is drawn.
    field: String,
    pauses: PauseDetector,
    attention: &'a mut Attention,
}

const READY: &str = "ready: ";
const NOT_YET: &str = "[not yet] ";
/// The number of rows of a short question, without its keys.
const SHORT_QUESTION: usize = 8;
/// The number of rows that show whether keys count.
const MARK_ROWS: usize = 2;
const REASON: &str = "reason (Enter refuses, Esc goes back): ";

impl PlainPrompt<'_, '_> {
    fn run(&mut self) -> Result<Answer, Interruption> {
        self.show_preview()?;
        loop {
            let mut event = self.wait()?;
            let columns = self.tty.columns();
            if !self.tty.is_raw() {
                // A shell used the terminal in between, and the input was meant for it.
                self.tty.set_raw()?;
                event = Event::Resize;
            } else if columns != self.columns && matches!(event, Event::Read(_)) {
                self.columns = columns;
                event = Event::Resize;
            }
            let effects = self.keys.handle(event, self.start.elapsed());
            for effect in effects {
                if let Some(decisions) = self.apply(effect)? {
                    self.echo(&decisions);
                    return Ok(Answer { decisions, seen: Some(self.seen) });
                }
            }
        }
    }

    fn wait(&mut self) -> Result<Event, Interruption> {
        let now = self.start.elapsed();
        let gives_up = self.decoder.patience().map(|patience| self.read_at + patience);
        let due = gives_up.into_iter().chain(self.keys.wake_at()).fold(now + SIZE_CHECK, Duration::min);
        // Lines have no escape codes, so the bell calls alone.
        if self.attention.tick(now, false) {
            self.tty.write(&signal(self.options.notify, "", Protocol::Bell))?;
        }
        let was_stopped = self.pauses.detect(now, Duration::ZERO);
        let waited = self.tty.wait(Some(due.saturating_sub(now)));
        let back = self.start.elapsed();
        if self.pauses.detect(back, due) || was_stopped {
            let was_ready = self.keys.is_armed();
            self.keys.mark_painted(back);
            if was_ready {
                self.not_yet()?;
            }
        }
        match waited {
            WaitResult::Bytes(bytes) => {
                self.read_at = self.start.elapsed();
                let inputs = self.decoder.feed(&bytes);
                Ok(self.read(inputs))
            }
            WaitResult::TimeOver if gives_up.is_some_and(|at| at <= self.start.elapsed()) => {
                let inputs = self.decoder.give_up();
                Ok(self.read(inputs))
            }
            WaitResult::TimeOver => Ok(Event::Tick),
            WaitResult::Woken => Err(Interruption::Woken),
            WaitResult::EndOfInput => Ok(Event::EndOfInput),
            WaitResult::Lost => Ok(Event::Lost),
        }
    }

    fn read(&mut self, inputs: Vec<Input>) -> Event {
        self.attention.read(&inputs, self.start.elapsed());
        if inputs.is_empty() { Event::Tick } else { Event::Read(inputs) }
    }

    fn apply(&mut self, effect: Effect) -> Result<Option<Vec<ApprovalDecision>>, Interruption> {
        match effect {
            Effect::Ready => {
                // The ready mark gets a line of its own, below the earlier mark.
                let mark = paint(READY, "1;32", self.options.style);
                if self.tty.write_mark(&format!("\n{mark}"))? {
                    self.keys.discard_early_input(self.start.elapsed());
                    self.not_yet()?;
                }
            }
            Effect::NotYet => self.not_yet()?,
            Effect::Say(notice) => self.say(notice_words(notice))?,
            Effect::Echo(text) => self.type_out(&text)?,
            Effect::Erase(c) => self.erase(c)?,
            Effect::Redraw => {
                self.tty.write("\n")?;
                self.show_preview()?;
            }
            Effect::View => self.view()?,
            Effect::Facts => {
                let more = more_lines(&self.page, Renderer::Lines, self.room());
                let text = draw(&more, self.options.style, Numbers::Without);
                self.tty.write(&format!("\n{text}"))?;
                self.show_options()?;
            }
            Effect::AskReason => {
                self.field.clear();
                self.tty.write(&format!("\n{REASON}"))?;
            }
            Effect::AskScope(lifetime) => {
                let scopes = self.page.scopes(lifetime, self.room());
                let (is_choice, key) = (scopes.len() > 1, lifetime.choice().key());
                let place = self.page.scope_place(lifetime, self.room());
                let place = draw(&place, self.options.style, Numbers::Without);
                let rows = std::iter::once(":").chain(place.lines()).collect::<Vec<_>>().join("\n");
                self.tty.write(&format!("\n\n{}{rows}", lifetime.heading()))?;
                for (at, lines) in scopes.iter().enumerate() {
                    let number = if is_choice { format!("{}:\n", at + 1) } else { String::new() };
                    let text = draw(lines, self.options.style, Numbers::Without);
                    self.tty.write(&format!("\n{number}{text}"))?;
                }
                let what = match is_choice {
                    true => format!("which calls? a number chooses, then {key} approves, Esc goes back\n"),
                    false => format!("{key} approves these calls, Esc goes back\n"),
                };
                self.tty.write(&what)?;
                self.tty.write(NOT_YET)?;
                self.keys.mark_painted(self.start.elapsed());
            }
            Effect::AskRest => {
                let LinesSeen { lines, of } = self.seen;
                let unseen = of.saturating_sub(lines);
                let text =
                    format!("{unseen} of {of} lines were not printed yet; Esc goes back, then v prints all");
                self.tty.write(&format!("\n{text}\n{REST_KEY} yes, without seeing the rest\n{NOT_YET}"))?;
                self.keys.mark_painted(self.start.elapsed());
            }
            Effect::ScopeChosen(lifetime, at) => {
                let (chosen, key) = (at + 1, lifetime.choice().key());
                self.tty.write(&format!("\n{chosen} is chosen: {key} approves, Esc goes back\n{NOT_YET}"))?;
                self.keys.mark_painted(self.start.elapsed());
            }
            // The plain prompt has no field for arguments and does not scroll.
            Effect::ArgsTyped(_) | Effect::Move(_) | Effect::Find(_) => {}
            Effect::Member { at, kept } => {
                let what = if kept { "gets the same answer as the others" } else { "will be refused" };
                self.tty.write(&format!("\nrequest {} {what}\n", at + 1))?;
                self.show_options()?;
            }
            Effect::Edit => return self.edit(),
            Effect::Answer(decisions) => return Ok(Some(decisions)),
        }
        Ok(None)
    }

    /// The usable columns. One column stays free, so that the terminal never wraps a line itself.
    fn room(&self) -> usize {
        self.columns.saturating_sub(1)
    }

    fn show_preview(&mut self) -> Result<(), Interruption> {
        let preview = self.page.preview(self.room());
        let text = draw(&preview.lines, self.options.style, Numbers::Without);
        self.tty.write(&text)?;
        self.keys.mark_content_shown();
        self.keys.mark_parts_seen();
        self.mark_shown(preview.shown, preview.of);
        self.show_options()
    }

    fn mark_shown(&mut self, lines: usize, of: usize) {
        let (lines, of) = (count(lines), count(of));
        // A page that was once seen in full stays seen.
        let whole = self.seen.of > 0 && self.seen.lines == self.seen.of;
        self.seen = if whole || lines >= of { LinesSeen { lines: of, of } } else { LinesSeen { lines, of } };
        if self.seen.lines == self.seen.of {
            self.keys.mark_all_seen();
        }
    }

    fn show_options(&mut self) -> Result<(), Interruption> {
        let (options, short) = (self.page.options(self.room()), self.page.title_lines(self.room()));
        let rows = usize::from(self.tty.size().1);
        // If the keys fill the screen, a brief form of the question is repeated, so that it stays visible.
        let lines = match options.len() {
            keys if rows >= keys + SHORT_QUESTION => options,
            keys if rows >= keys + short.len() + MARK_ROWS => [short, options].concat(),
            _ => [options, short].concat(),
        };
        self.tty.write(&draw(&lines, self.options.style, Numbers::Without))?;
        self.tty.write(NOT_YET)?;
        self.keys.mark_painted(self.start.elapsed());
        Ok(())
    }

    fn view(&mut self) -> Result<(), Interruption> {
        let room = self.room().saturating_sub(NUMBER);
        let total = self.page.len(room);
        let lines: Vec<_> = (0..total).flat_map(|at| self.page.rows(at, room)).collect();
        let text = draw(&lines, self.options.style, Numbers::With);
        self.tty.write(&format!("\n{text}"))?;
        self.mark_shown(total, total);
        self.show_options()
    }

    fn not_yet(&mut self) -> Result<(), Interruption> {
        self.tty.write(&format!("\n{NOT_YET}"))
    }

    fn say(&mut self, words: &str) -> Result<(), Interruption> {
        self.tty.write(&format!("\n{words}"))
    }

    fn type_out(&mut self, text: &str) -> Result<(), Interruption> {
        let drawn = visible_line(text).text();
        self.field.push_str(&drawn);
        self.tty.write(&drawn)
    }

    fn erase(&mut self, c: char) -> Result<(), Interruption> {
        let drawn = visible_line(c.encode_utf8(&mut [0; 4])).text();
        let kept = self.field.strip_suffix(&drawn).unwrap_or_default().to_owned();
        self.field = kept;
        if width(REASON) + width(&self.field) + width(&drawn) < self.columns {
            let back = "\u{8}".repeat(width(&drawn));
            return self.tty.write(&format!("{back}{}{back}", " ".repeat(width(&drawn))));
        }
        let again = format!("\n{REASON}{}", self.field);
        self.tty.write(&again)
    }

    fn edit(&mut self) -> Result<Option<Vec<ApprovalDecision>>, Interruption> {
        let Some(member) = self.question.members.first() else { return Ok(None) };
        self.tty.write("\n")?;
        self.tty.restore();
        let edited = edit(&member.request, self.tty, self.schemas);
        self.tty.set_raw()?;
        match edited {
            Ok(args) => {
                let yes = ApprovalDecision::yes(Cause::Person);
                Ok(Some(vec![ApprovalDecision { edited_args: Some(args), ..yes }]))
            }
            Err(EditError::Interrupted(WaitResult::Woken)) => Err(Interruption::Woken),
            Err(EditError::Interrupted(_)) => Err(Interruption::Lost),
            Err(error) => {
                let words = visible_line(&error.to_string()).text();
                self.tty.write(&format!("{words}\n"))?;
                self.show_options()?;
                Ok(None)
            }
        }
    }

    /// Prints the decision, the call and the time.
    fn echo(&mut self, decisions: &[ApprovalDecision]) {
        let lines = echo(self.question, decisions, &self.options.redactor, self.columns);
        // The answer counts even if this line cannot be written.
        let _ = self.tty.write(&format!("\n{}\n", lines.join("\n")));
    }
}

fn count(lines: usize) -> u64 {
    u64::try_from(lines).unwrap_or(u64::MAX)
}
