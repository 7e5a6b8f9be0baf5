//! One question from its first line to its answer.

use std::time::{Duration, Instant, SystemTime};

use askfirst::machine::{Answer, Question, Seen};
use askfirst::{ApprovalDecision, ApprovalScope, Cause, Timestamp};
use askfirst_runtime::present::escape::width;
use askfirst_runtime::present::time::time_of_day;
use askfirst_runtime::present::{Page, PageOptions, visible_line};

use crate::Options;
use crate::decode::{Decoder, Input};
use crate::edit::{EditFault, edit};
use crate::keys::{Effect, Event, Keys, Notice, Reach};
use crate::paint::{NUMBER, Numbers, draw, paint};
use crate::tty::{Gone, Tty, Waited};

/// How a prompt ended.
pub(crate) enum Ended {
    /// With an answer.
    Answered(Answer),
    /// Somebody wants it to end.
    Woken,
}

/// Asks one question.
pub(crate) fn ask(tty: &mut Tty<'_>, question: &Question, options: &Options) -> Ended {
    let page_options =
        PageOptions { preview_lines: options.preview_lines, redactor: &options.redactor, now: now() };
    let page = Page::of(question, &page_options);
    let start = Instant::now();
    let keys = Keys::new(page.offers.clone(), Reach::Part, Duration::ZERO);
    let columns = tty.columns();
    let seen = Seen { lines: 0, of: 0 };
    let (decoder, read_at, field) = (Decoder::default(), Duration::ZERO, String::new());
    let mut prompt =
        Prompt { tty, question, options, page, start, keys, decoder, read_at, columns, seen, field };
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
    page: Page,
    start: Instant,
    keys: Keys,
    decoder: Decoder,
    read_at: Duration,
    columns: usize,
    seen: Seen,
    /// The line that a reason is typed into, as drawn.
    field: String,
}

const READY: &str = "ready: ";
const NOT_YET: &str = "[not yet] ";
const REASON: &str = "reason (Enter refuses, Esc goes back): ";

impl Prompt<'_, '_> {
    fn run(&mut self) -> Result<Answer, Gone> {
        self.show_preview()?;
        loop {
            let mut event = self.wait()?;
            let columns = self.tty.columns();
            if columns != self.columns && matches!(event, Event::Read(_)) {
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
        let due = gives_up.into_iter().chain(self.keys.wake_at()).min();
        let read = |inputs: Vec<Input>| if inputs.is_empty() { Event::Tick } else { Event::Read(inputs) };
        match self.tty.wait(due.map(|due| due.saturating_sub(now))) {
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
            Effect::Ready => self.tty.write(&paint(READY, "1;32", self.options.style))?,
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
            Effect::AskPattern => {
                self.tty.write("\nwhich of the above, by its number? (Esc goes back)\n")?;
                self.tty.write(NOT_YET)?;
                self.keys.painted(self.start.elapsed());
            }
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
        let options = draw(&self.page.options(self.room()), self.options.style, Numbers::Without);
        self.tty.write(&options)?;
        self.tty.write(NOT_YET)?;
        self.keys.painted(self.start.elapsed());
        Ok(())
    }

    fn view(&mut self) -> Result<(), Gone> {
        let room = self.room().saturating_sub(NUMBER);
        let total = self.page.total_lines(room);
        let lines: Vec<_> = self.page.lines(room).into_iter().take(total).collect();
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
        let edited = edit(&member.request.args, self.tty);
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
        let at = time_of_day(now());
        let mut text = String::from("\n");
        for (member, decision) in self.question.members.iter().zip(decisions) {
            let tool = self.short(&member.request.tool_name);
            text.push_str(&format!("{}: {tool}, {at}\n", decision_words(decision)));
        }
        // The answer stands even if nobody can be told of it any more.
        let _ = self.tty.write(&text);
    }

    /// A name that was on the page already, cut so that it stays within its line.
    fn short(&self, name: &str) -> String {
        let room = self.columns.saturating_sub(50).max(10);
        let mut used = 0;
        let mut short = String::new();
        for c in visible_line(name).text().chars() {
            used += width(c.encode_utf8(&mut [0; 4]));
            if used > room {
                short.push('…');
                break;
            }
            short.push(c);
        }
        short
    }
}

/// The line that says that a question was taken back.
pub(crate) fn taken_back(cause: Cause) -> String {
    let words = match cause {
        Cause::TimeOut => "refused: nobody answered in time",
        Cause::Cancelled => "taken back: the call was given up",
        Cause::Person => "taken back: it was answered elsewhere",
        Cause::Policy
        | Cause::Mode
        | Cause::Memory
        | Cause::NobodyToAsk
        | Cause::EndOfInput
        | Cause::TerminalLost
        | Cause::ApproverFailed
        | Cause::RecordFailed
        | Cause::NoWalls => return format!("\ntaken back: {cause}, {}\n", time_of_day(now())),
    };
    format!("\n{words}, {}\n", time_of_day(now()))
}

fn decision_words(decision: &ApprovalDecision) -> &'static str {
    match (decision.approved, decision.remember, decision.stop) {
        (true, _, _) if decision.edited_args.is_some() => "edited, to be judged again",
        (true, ApprovalScope::None, _) => "approved once",
        (true, ApprovalScope::Session, _) => "approved for the session",
        (true, ApprovalScope::Pattern, _) => "approved for the session, widened",
        (false, _, true) => "refused, and the run stops",
        (false, ApprovalScope::None, false) => match decision.cause {
            Cause::EndOfInput => "refused, as the input ended",
            Cause::TerminalLost => "refused, as the terminal went away",
            Cause::Person
            | Cause::Policy
            | Cause::Mode
            | Cause::Memory
            | Cause::TimeOut
            | Cause::NobodyToAsk
            | Cause::ApproverFailed
            | Cause::Cancelled
            | Cause::RecordFailed
            | Cause::NoWalls => "refused",
        },
        (false, ApprovalScope::Session | ApprovalScope::Pattern, false) => "refused for the session",
    }
}

fn notice_words(notice: Notice) -> &'static str {
    match notice {
        Notice::Several => "several keys at once, or pasted text, decide nothing",
        Notice::SeeTheEnd => "not all of it was on screen: view it with [v] first",
        Notice::NotTheWord => "that is not the word: begin again",
        Notice::NoSuchNumber => "there is no request with that number",
    }
}

fn count(lines: usize) -> u64 {
    u64::try_from(lines).unwrap_or(u64::MAX)
}

/// The time on the wall.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::default().after(since)
}
