//! The page of one question: everything a person is told, in order, as data. Nothing is left out without a count.
//!
//! Large contents are not laid out before they are looked at: a page has places, and each place gives its lines.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Instant;

use askfirst::machine::{Member, Question};
use askfirst::{Risk, Timestamp};

use super::escape::Piece;
use super::line::{Entry, Line, Part};
use super::offer::Offers;
use super::time::later;
use super::tone::Tone;
use super::tree::Counted;
use crate::redact::Redactor;

mod body;
mod clean;
mod lines;
mod options;
mod scope;
mod summary;
mod words;

use lines::Body;
pub use summary::summary;
pub use words::plural;
use words::{kept_mark, risk_words, title, warning};

/// What a page is made with.
#[derive(Debug, Clone, Copy)]
pub struct PageOptions<'a> {
    /// More lines than this of one section are left to be viewed.
    pub preview_lines: usize,
    /// Finds the secrets.
    pub redactor: &'a Redactor,
    /// Now.
    pub now: Timestamp,
}

/// What is not drawn as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hidden {
    /// Secrets that are drawn as their kind, each counted once however often it is drawn.
    pub secrets: usize,
    /// Characters that are drawn as escapes.
    pub escaped: usize,
    /// Blanks and blank lines that are drawn as a count.
    pub collapsed: usize,
}

/// How much of a page there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stand {
    /// Facts and sizes; the contents are still to come.
    Head,
    /// Everything.
    Whole,
}

/// Which part of the page a section is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It must be on the first screen.
    MustSee,
    /// What is known, or what an approval covers.
    Facts,
    Content,
}

/// A heading with what stands below it.
#[derive(Debug, Clone)]
struct Section {
    place: Place,
    head: Vec<Entry>,
    body: Body,
}

impl Section {
    fn len(&self, columns: usize) -> usize {
        self.head.len() + self.body.len(columns)
    }

    fn rows(&self, at: usize, columns: usize) -> Vec<Line> {
        match self.head.get(at) {
            Some(entry) => entry.wrap(columns),
            None => self.body.rows(at - self.head.len(), columns),
        }
    }
}

/// The page of one question.
#[derive(Debug, Clone)]
pub struct Page {
    stand: Stand,
    title: String,
    sections: Vec<Section>,
    options: Vec<Entry>,
    scopes: Vec<Vec<Entry>>,
    short: Vec<Entry>,
    /// What may be answered.
    pub offers: Offers,
    hidden: Hidden,
    deadline: Option<Timestamp>,
    now: Timestamp,
    preview_lines: usize,
}

/// The beginning of every section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The lines, without the options.
    pub lines: Vec<Line>,
    /// How many places of the page these are.
    pub shown: usize,
    /// How many places there are.
    pub of: usize,
}

/// Fewer lines than these are never shown of a section.
const MIN_PREVIEW: usize = 3;

impl Page {
    /// The whole page of a question. For large contents this takes a while.
    #[must_use]
    pub fn of(question: &Question, options: &PageOptions<'_>) -> Self {
        Self::made(question, options, Stand::Whole)
    }

    /// The page with facts and sizes only: made at once, whatever the contents.
    #[must_use]
    pub fn head(question: &Question, options: &PageOptions<'_>) -> Self {
        Self::made(question, options, Stand::Head)
    }

    fn made(question: &Question, options: &PageOptions<'_>, stand: Stand) -> Self {
        let offers = Offers::of(question, options.redactor, options.now);
        let mut maker = Maker {
            options,
            about: options.redactor.clone(),
            stand,
            counted: Counted::default(),
            secrets: BTreeSet::new(),
            member: 0,
            sections: Vec::new(),
            scopes: Vec::new(),
            short: Vec::new(),
            first: None,
        };
        if question.members.len() > 1 {
            maker.list(&question.members);
        }
        for (at, member) in question.members.iter().enumerate() {
            maker.member = at;
            maker.about = options.redactor.about(&member.request.args);
            maker.member(member, (at + 1, question.members.len()), &offers);
        }
        let Maker { counted, secrets, sections, scopes, short, .. } = maker;
        Self {
            stand,
            title: title(question),
            sections,
            options: options::entries(&offers),
            scopes,
            short,
            offers,
            hidden: Hidden { secrets: secrets.len(), escaped: counted.escaped, collapsed: counted.collapsed },
            deadline: question.members.iter().filter_map(|member| member.request.deadline).min(),
            now: options.now,
            preview_lines: options.preview_lines.max(MIN_PREVIEW),
        }
    }

    /// How much of it there is.
    #[must_use]
    pub fn stand(&self) -> Stand {
        self.stand
    }

    /// What it is about, in our words.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What is not drawn as it was written.
    #[must_use]
    pub fn hidden(&self) -> Hidden {
        self.hidden
    }

    /// When the question is refused, if nobody answers.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// How many places there are. A place gives one line, or more where it does not fit.
    #[must_use]
    pub fn len(&self, columns: usize) -> usize {
        self.sections.iter().map(|section| section.len(columns)).sum()
    }

    /// The lines of one place.
    #[must_use]
    pub fn rows(&self, at: usize, columns: usize) -> Vec<Line> {
        let mut at = at;
        for section in &self.sections {
            let len = section.len(columns);
            if at < len {
                return section.rows(at, columns);
            }
            at -= len;
        }
        Vec::new()
    }

    /// The places that must be on screen before anything is approved.
    #[must_use]
    pub fn must_see(&self, columns: usize) -> Vec<Range<usize>> {
        let must =
            |(section, range): (&Section, Range<usize>)| (section.place == Place::MustSee).then_some(range);
        self.places(columns).filter_map(must).collect()
    }

    /// Where each section begins.
    #[must_use]
    pub fn starts(&self, columns: usize) -> Vec<usize> {
        self.places(columns).map(|(_, range)| range.start).collect()
    }

    fn places(&self, columns: usize) -> impl Iterator<Item = (&Section, Range<usize>)> {
        let mut from = 0;
        self.sections.iter().map(move |section| {
            let range = from..from + section.len(columns);
            from = range.end;
            (section, range)
        })
    }

    /// How deep a place is nested, where it can be folded.
    #[must_use]
    pub fn depth(&self, at: usize, columns: usize) -> Option<usize> {
        let (section, range) = self.places(columns).find(|(_, range)| range.contains(&at))?;
        section.body.depth(at.checked_sub(range.start + section.head.len())?)
    }

    /// Until then it may be found out what the words of a program are.
    pub fn highlight_until(&self, until: Instant) {
        self.sections.iter().for_each(|section| section.body.highlight_until(until));
    }

    /// Marks the members of a group that an approval would leave out.
    pub fn set_kept(&mut self, kept: &[bool]) {
        let Some(list) = self.sections.first_mut().filter(|_| kept.len() > 1) else { return };
        let Body::Entries(entries) = &mut list.body else { return };
        for (entry, kept) in entries.iter_mut().zip(kept) {
            if let Some(mark) = entry.pieces.get_mut(1) {
                *mark = kept_mark(*kept);
            }
        }
    }

    /// How many lines the page has without the options.
    #[must_use]
    pub fn total_lines(&self, columns: usize) -> usize {
        (0..self.len(columns)).map(|at| self.rows(at, columns).len()).sum()
    }

    /// All lines: the page, then the options.
    #[must_use]
    pub fn lines(&self, columns: usize) -> Vec<Line> {
        let mut lines = self.title_lines(columns);
        for section in &self.sections {
            lines.extend((0..section.len(columns)).flat_map(|at| section.rows(at, columns)));
        }
        lines.extend(self.foot(columns));
        lines.extend(self.options(columns));
        lines
    }

    /// The title as lines.
    #[must_use]
    pub fn title_lines(&self, columns: usize) -> Vec<Line> {
        Entry::ours(Part::Title, format!("=== {} ===", self.title)).wrap(columns)
    }

    /// The beginning of every section, each with a count of what is left out.
    #[must_use]
    pub fn preview(&self, columns: usize) -> Preview {
        let mut preview = Preview { lines: self.title_lines(columns), shown: 0, of: 0 };
        for section in &self.sections {
            let len = section.len(columns);
            let most = match section.place {
                Place::MustSee => len,
                Place::Facts | Place::Content => {
                    self.preview_lines.saturating_add(section.head.len()).min(len)
                }
            };
            preview.lines.extend((0..most).flat_map(|at| section.rows(at, columns)));
            preview.of += len;
            preview.shown += most;
            let left = len - most;
            if left > 0 {
                let text = format!("... {left} more {} not shown: [v] shows all", plural(left, "line"));
                preview.lines.extend(Entry::ours(Part::Count, text).wrap(columns));
            }
        }
        preview.lines.extend(self.foot(columns));
        preview
    }

    /// All facts, fields and scopes, whole.
    #[must_use]
    pub fn facts(&self, columns: usize) -> Vec<Line> {
        let facts = self.sections.iter().filter(|section| match section.place {
            Place::MustSee | Place::Facts => true,
            Place::Content => false,
        });
        let lines =
            facts.flat_map(|section| (0..section.len(columns)).flat_map(|at| section.rows(at, columns)));
        lines.chain(self.foot(columns)).collect()
    }

    /// The options alone.
    #[must_use]
    pub fn options(&self, columns: usize) -> Vec<Line> {
        self.options.iter().flat_map(|entry| entry.wrap(columns)).collect()
    }

    /// What is asked, in a few lines: for a screen that has no room for more.
    #[must_use]
    pub fn in_short(&self, columns: usize) -> Vec<Line> {
        self.short.iter().flat_map(|entry| entry.wrap(columns)).collect()
    }

    /// What a yes for the session may cover: this call first, then what the tool offers.
    #[must_use]
    pub fn scopes(&self, columns: usize) -> Vec<Vec<Line>> {
        let lines = |entries: &Vec<Entry>| entries.iter().flat_map(|entry| entry.wrap(columns)).collect();
        self.scopes.iter().map(lines).collect()
    }

    /// What is not drawn as it was written, counted in words.
    #[must_use]
    pub fn counts(&self) -> Vec<String> {
        let Hidden { secrets, escaped, collapsed } = self.hidden;
        let counts = [
            (secrets, "secret", "hidden"),
            (escaped, "character", if escaped == 1 { "shown as an escape" } else { "shown as escapes" }),
            (collapsed, "blank", "shown as a count"),
        ];
        let words = |(number, thing, how): (usize, &str, &str)| {
            (number > 0).then(|| format!("{number} {} {how}", plural(number, thing)))
        };
        counts.into_iter().filter_map(words).collect()
    }

    fn foot(&self, columns: usize) -> Vec<Line> {
        let mut counts = self.counts();
        if let Some(at) = self.deadline {
            counts.push(format!("refused {}, if nobody answers", later(self.now, at)));
        }
        counts.into_iter().flat_map(|text| Entry::ours(Part::Count, text).wrap(columns)).collect()
    }
}

/// Puts sections together.
struct Maker<'a> {
    options: &'a PageOptions<'a>,
    /// Knows the secrets of the call that is shown.
    about: Redactor,
    stand: Stand,
    counted: Counted,
    /// The digests of those that are hidden.
    secrets: BTreeSet<String>,
    member: usize,
    sections: Vec<Section>,
    scopes: Vec<Vec<Entry>>,
    /// What is asked, in a few lines.
    short: Vec<Entry>,
    /// What says most about the call that is shown.
    first: Option<Entry>,
}

impl Maker<'_> {
    /// The members of a group, each with its risk.
    fn list(&mut self, members: &[Member]) {
        let mut entries = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let request = &member.request;
            let mut pieces = vec![Piece::ours(format!("{:>2} ", at + 1)), kept_mark(true)];
            pieces.push(match request.risk {
                Risk::Low => Piece::ours("low          "),
                Risk::High => Piece::toned("high         ", Tone::Warning),
                Risk::Irreversible => Piece::toned("irreversible ", Tone::Warning),
            });
            let tool = self.clean(&request.tool_name);
            pieces.extend(self.counted.line(&tool));
            let times = if member.calls > 1 { format!("  ×{}  ", member.calls) } else { "  ".to_owned() };
            pieces.push(Piece::ours(times));
            let args = self.clean_args(&request.args);
            let text = self.counted.line(&summary(&args));
            pieces.extend(text.into_iter().map(|piece| Piece { tone: Tone::Dim, ..piece }));
            entries.push(Entry::new(Part::Field, pieces).hanging(25));
        }
        self.section(Place::MustSee, "one answer covers exactly these:", Body::Entries(entries));
    }

    fn member(&mut self, member: &Member, (at, of): (usize, usize), offers: &Offers) {
        let request = &member.request;
        let mut entries = Vec::new();
        if of > 1 {
            let text = format!("--- request {at} of {of}, {} ---", risk_words(request.risk));
            entries.push(Entry::ours(Part::Heading, text));
        }
        let mut tool = self.field(Part::Field, "tool", &request.tool_name);
        tool.pieces.iter_mut().skip(2).for_each(|piece| piece.tone = Tone::Strong);
        self.short.push(tool.clone());
        entries.push(tool);
        if let Some(caller) = &request.caller {
            entries.push(self.field(Part::Field, "asked by", caller));
        }
        let mut risk = self.field(Part::Field, "risk", risk_words(request.risk));
        if request.risk != Risk::Low {
            risk.pieces.iter_mut().for_each(|piece| piece.tone = Tone::Warning);
        }
        self.short.push(risk.clone());
        entries.push(risk);
        if member.calls > 1 {
            let text = format!("{} equal calls wait for this answer", member.calls);
            entries.push(self.field(Part::Field, "calls", &text));
        }
        entries.extend(warning("tool", &request.tool_name));
        let body = Body::Entries(entries);
        self.sections.push(Section { place: Place::MustSee, head: Vec::new(), body });
        self.claim(request);
        self.facts(request);
        match self.stand {
            Stand::Whole => self.content(request),
            Stand::Head => self.awaited(request),
        }
        self.short.extend(self.first.take());
        self.scope(member, offers);
    }

    /// Our label, somebody else's text.
    fn field(&mut self, part: Part, label: &str, text: &str) -> Entry {
        let text = self.clean(text);
        self.cleaned(part, label, &text)
    }

    /// The same of a text whose secrets are taken out.
    fn cleaned(&mut self, part: Part, label: &str, text: &str) -> Entry {
        let label = self.counted.line(label);
        let mut pieces: Vec<Piece> =
            label.into_iter().map(|piece| Piece { tone: Tone::Dim, ..piece }).collect();
        pieces.push(Piece::toned(": ", Tone::Dim));
        pieces.extend(self.counted.line(text));
        Entry::new(part, pieces)
    }

    fn section(&mut self, place: Place, heading: &str, body: Body) {
        self.headed(place, vec![Entry::ours(Part::Heading, heading)], body);
    }

    fn headed(&mut self, place: Place, head: Vec<Entry>, body: Body) {
        self.sections.push(Section { place, head, body });
    }
}

#[cfg(test)]
#[path = "page/tests.rs"]
mod tests;
