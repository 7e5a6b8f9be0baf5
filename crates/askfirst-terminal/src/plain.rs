//! One question in lines that are printed once: for screen readers, dumb terminals and very small ones.

use std::time::{Duration, Instant};

use askfirst::machine::{Answer, Question, Seen};
use askfirst::{ApprovalDecision, Cause};
use askfirst_display::escape::width;
use askfirst_display::{Page, PageOptions, visible_line};

use crate::Options;
use crate::decode::{Decoder, Input};
use crate::edit::{EditFault, edit};
use crate::keys::{Effect, Event, Front, Keys};
use crate::live::SIZE;
use crate::paint::{NUMBER, Numbers, draw, paint};
use crate::pause::Pauses;
use crate::schema::Schemas;
use crate::tty::{Ended, Gone, Tty, Waited};
use crate::words::{echo, notice_words, now};

/// Asks one question.
pub(crate) fn ask(tty: &mut Tty<'_>, question: &Question, options: &Options, schemas: &Schemas) -> Ended {
    let page_options =
        PageOptions { preview_lines: options.preview_lines, redactor: &options.redactor, now: now() };
    let page = Page::of(question, &page_options);
    let start = Instant::now();
    // Lines have no colours for the words of a program, so none are looked for.
    page.highlight_until(start);
    let keys = Keys::new(page.offers.clone(), Front::Lines, Duration::ZERO);
    let columns = tty.columns();
    let seen = Seen { lines: 0, of: 0 };
    let (decoder, read_at, field) = (Decoder::default(), Duration::ZERO, String::new());
    let pauses = Pauses::default();
    let mut prompt = Prompt {
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
    };
    match prompt.run() {
        Ok(answer) => Ended::Answered(answer),
        Err(Gone::Woken) => Ended::Woken,
        Err(Gone::Lost) => {
            let lost = ApprovalDecision::no(Cause::TerminalLost);
            Ended::Answered(Answer { decisions: vec![lost], seen: Some(prompt.seen) })
        }
    }
}

struct Prompt<'a, 't> {
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
    seen: Seen,
    /// The line that a reason is typed into, as drawn.
    field: String,
    pauses: Pauses,
}

const READY: &str = "ready: ";
const NOT_YET: &str = "[not yet] ";
/// So many rows has a question besides its keys, if it says little.
const HEAD: usize = 8;
/// And so many say whether keys count.
const MARKS: usize = 2;
const REASON: &str = "reason (Enter refuses, Esc goes back): ";

impl Prompt<'_, '_> {
    fn run(&mut self) -> Result<Answer, Gone> {
        self.show_preview()?;
        loop {
            let mut event = self.wait()?;
            let columns = self.tty.columns();
            if !self.tty.is_raw() {
                // A shell was in between: what was typed was meant for it.
                self.tty.raw()?;
                event = Event::Resize;
            } else if columns != self.columns && matches!(event, Event::Read(_)) {
                self.columns = columns;
                event = Event::Resize;
            }
            let effects = self.keys.handle(event, self.start.elapsed());
            for effect in effects {
                if let Some(decisions) = self.carry_out(effect)? {
                    self.echo(&decisions);
                    return Ok(Answer { decisions, seen: Some(self.seen) });
                }
            }
        }
    }

    fn wait(&mut self) -> Result<Event, Gone> {
        let now = self.start.elapsed();
        let gives_up = self.decoder.patience().map(|patience| self.read_at + patience);
        let due = gives_up.into_iter().chain(self.keys.wake_at()).fold(now + SIZE, Duration::min);
        let read = |inputs: Vec<Input>| if inputs.is_empty() { Event::Tick } else { Event::Read(inputs) };
        let stood = self.pauses.found(now, Duration::ZERO);
        let waited = self.tty.wait(Some(due.saturating_sub(now)));
        let back = self.start.elapsed();
        if self.pauses.found(back, due) || stood {
            let was_ready = self.keys.is_armed();
            self.keys.painted(back);
            if was_ready {
                self.not_yet()?;
            }
        }
        match waited {
            Waited::Bytes(bytes) => {
                self.read_at = self.start.elapsed();
                Ok(read(self.decoder.feed(&bytes)))
            }
            Waited::TimeOver if gives_up.is_some_and(|at| at <= self.start.elapsed()) => {
                Ok(read(self.decoder.give_up()))
            }
            Waited::TimeOver => Ok(Event::Tick),
            Waited::Woken => Err(Gone::Woken),
            Waited::EndOfInput => Ok(Event::EndOfInput),
            Waited::Lost => Ok(Event::Lost),
        }
    }

    fn carry_out(&mut self, effect: Effect) -> Result<Option<Vec<ApprovalDecision>>, Gone> {
        match effect {
            Effect::Ready => {
                // On a line of its own: what was not yet so is so now.
                let mark = paint(READY, "1;32", self.options.style);
                if self.tty.write_mark(&format!("\n{mark}"))? {
                    self.keys.typed_before_ready(self.start.elapsed());
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
                let facts = draw(&self.page.facts(self.room()), self.options.style, Numbers::Without);
                self.tty.write(&format!("\n{facts}"))?;
                self.show_options()?;
            }
            Effect::AskReason => {
                self.field.clear();
                self.tty.write(&format!("\n{REASON}"))?;
            }
            Effect::AskScope => {
                let scopes = self.page.scopes(self.room());
                for (at, lines) in scopes.iter().enumerate() {
                    let text = draw(lines, self.options.style, Numbers::Without);
                    self.tty.write(&format!("\n{}:\n{text}", at + 1))?;
                }
                self.tty.write("\nhow far? a number chooses, then [s] approves, Esc goes back\n")?;
                self.tty.write(NOT_YET)?;
                self.keys.painted(self.start.elapsed());
            }
            Effect::Marked(at) => {
                self.tty.write(&format!("\n{} is chosen: [s] approves, Esc goes back\n{NOT_YET}", at + 1))?;
                self.keys.painted(self.start.elapsed());
            }
            // Lines have no field and nothing to move on.
            Effect::Typed(_) | Effect::Move(_) | Effect::Find(_) => {}
            Effect::Member { at, kept } => {
                let what = if kept { "as the others" } else { "will be refused" };
                self.tty.write(&format!("\nrequest {}: {what}\n", at + 1))?;
                self.show_options()?;
            }
            Effect::Edit => return self.edit(),
            Effect::Answer(decisions) => return Ok(Some(decisions)),
        }
        Ok(None)
    }

    /// One column stays free, so that no terminal wraps by itself.
    fn room(&self) -> usize {
        self.columns.saturating_sub(1)
    }

    fn show_preview(&mut self) -> Result<(), Gone> {
        let preview = self.page.preview(self.room());
        let text = draw(&preview.lines, self.options.style, Numbers::Without);
        self.tty.write(&text)?;
        self.keys.content_shown();
        self.keys.saw_all_parts();
        self.has_shown(preview.shown, preview.of);
        self.show_options()
    }

    fn has_shown(&mut self, lines: usize, of: usize) {
        let (lines, of) = (count(lines), count(of));
        // Once the end was on screen, it was.
        let whole = self.seen.of > 0 && self.seen.lines == self.seen.of;
        self.seen = if whole || lines >= of { Seen { lines: of, of } } else { Seen { lines, of } };
        if self.seen.lines == self.seen.of {
            self.keys.reached_end();
        }
    }

    fn show_options(&mut self) -> Result<(), Gone> {
        let (options, short) = (self.page.options(self.room()), self.page.brief(self.room()));
        let rows = usize::from(self.tty.size().1);
        // Where the keys leave no room for what they are about, that is said again: where it stays on screen.
        let lines = match options.len() {
            keys if rows >= keys + HEAD => options,
            keys if rows >= keys + short.len() + MARKS => [short, options].concat(),
            _ => [options, short].concat(),
        };
        self.tty.write(&draw(&lines, self.options.style, Numbers::Without))?;
        self.tty.write(NOT_YET)?;
        self.keys.painted(self.start.elapsed());
        Ok(())
    }

    fn view(&mut self) -> Result<(), Gone> {
        let room = self.room().saturating_sub(NUMBER);
        let total = self.page.len(room);
        let lines: Vec<_> = (0..total).flat_map(|at| self.page.rows(at, room)).collect();
        let text = draw(&lines, self.options.style, Numbers::With);
        self.tty.write(&format!("\n{text}"))?;
        self.has_shown(total, total);
        self.show_options()
    }

    fn not_yet(&mut self) -> Result<(), Gone> {
        self.tty.write(&format!("\n{NOT_YET}"))
    }

    fn say(&mut self, words: &str) -> Result<(), Gone> {
        self.tty.write(&format!("\n{words}"))
    }

    fn type_out(&mut self, text: &str) -> Result<(), Gone> {
        let drawn = visible_line(text).text();
        self.field.push_str(&drawn);
        self.tty.write(&drawn)
    }

    fn erase(&mut self, c: char) -> Result<(), Gone> {
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

    fn edit(&mut self) -> Result<Option<Vec<ApprovalDecision>>, Gone> {
        let Some(member) = self.question.members.first() else { return Ok(None) };
        self.tty.write("\n")?;
        self.tty.cooked();
        let edited = edit(&member.request, self.tty, self.schemas);
        self.tty.raw()?;
        match edited {
            Ok(args) => {
                let yes = ApprovalDecision::yes(Cause::Person);
                Ok(Some(vec![ApprovalDecision { edited_args: Some(args), ..yes }]))
            }
            Err(EditFault::Over(Waited::Woken)) => Err(Gone::Woken),
            Err(EditFault::Over(_)) => Err(Gone::Lost),
            Err(fault) => {
                let words = visible_line(&fault.to_string()).text();
                self.tty.write(&format!("{words}\n"))?;
                self.show_options()?;
                Ok(None)
            }
        }
    }

    /// Says what was decided, about what, and when.
    fn echo(&mut self, decisions: &[ApprovalDecision]) {
        let lines = echo(self.question, decisions, &self.options.redactor, self.columns);
        // The answer stands even if nobody can be told of it any more.
        let _ = self.tty.write(&format!("\n{}\n", lines.join("\n")));
    }
}

fn count(lines: usize) -> u64 {
    u64::try_from(lines).unwrap_or(u64::MAX)
}
