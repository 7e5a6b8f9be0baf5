//! The page of one question: everything that the person sees, in order, as data.
//!
//! A page is a list of paragraphs. Each takes one line, or more where it does not fit.
//! Lines are laid out only when they are on screen, so that large content costs little.
//! Anything that a page leaves out is counted on it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Instant;

use askfirst::machine::{Member, Question};
use askfirst::{Risk, Timestamp};

use super::escape::Piece;
use super::line::{Line, Paragraph, Part};
use super::offer::Offers;
use super::time::later;
use super::tone::Tone;
use super::tree::EscapeCounter;
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
use words::{inclusion_mark, risk_words, title, warning};

/// The settings for building a page.
#[derive(Debug, Clone, Copy)]
pub struct PageOptions<'a> {
    /// The number of lines of one section in a preview.
    pub preview_lines: usize,
    /// Finds the secrets.
    pub redactor: &'a Redactor,
    /// The current time.
    pub now: Timestamp,
}

/// The numbers of secrets, characters and blanks that are not drawn as they were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HiddenCounts {
    /// Secrets that are replaced by their kind. Each is counted once, even if it is drawn several times.
    pub secrets: usize,
    /// Characters that are drawn as escapes.
    pub escaped: usize,
    /// Spaces, tabs and blank lines that are drawn as a count.
    pub collapsed: usize,
}

/// The extent to which a page is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Facts and sizes only. The content is still being prepared.
    Head,
    /// The whole page.
    Whole,
}

/// The role of a section on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SectionRole {
    /// The person must see it before an approval counts.
    MustSee,
    /// Facts, or the calls that an answer covers.
    Facts,
    Content,
}

/// A heading with the paragraphs below it.
#[derive(Debug, Clone)]
struct Section {
    role: SectionRole,
    head: Vec<Paragraph>,
    body: Body,
}

impl Section {
    fn len(&self, columns: usize) -> usize {
        self.head.len() + self.body.len(columns)
    }

    fn rows(&self, at: usize, columns: usize) -> Vec<Line> {
        match self.head.get(at) {
            Some(paragraph) => paragraph.wrap(columns),
            None => self.body.rows(at - self.head.len(), columns),
        }
    }
}

/// The page of one question.
#[derive(Debug, Clone)]
pub struct Page {
    extent: Extent,
    title: String,
    sections: Vec<Section>,
    options: Vec<Paragraph>,
    scopes: Vec<Vec<Paragraph>>,
    short: Vec<Paragraph>,
    /// The choices that the question offers.
    pub offers: Offers,
    hidden: HiddenCounts,
    deadline: Option<Timestamp>,
    now: Timestamp,
    preview_lines: usize,
}

/// The start of every section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The lines, without the options.
    pub lines: Vec<Line>,
    /// The number of paragraphs in the preview.
    pub shown: usize,
    /// The number of paragraphs of the page.
    pub of: usize,
}

/// The smallest number of lines of a section in a preview.
const MIN_PREVIEW: usize = 3;

impl Page {
    /// Builds the whole page of a question. For large content, this takes a while.
    #[must_use]
    pub fn of(question: &Question, options: &PageOptions<'_>) -> Self {
        Self::build(question, options, Extent::Whole)
    }

    /// Builds the page with facts and sizes only. This is fast, however large the content is.
    #[must_use]
    pub fn head(question: &Question, options: &PageOptions<'_>) -> Self {
        Self::build(question, options, Extent::Head)
    }

    fn build(question: &Question, options: &PageOptions<'_>, extent: Extent) -> Self {
        let offers = Offers::of(question, options.redactor, options.now);
        let mut builder = PageBuilder {
            options,
            about: options.redactor.clone(),
            extent,
            counter: EscapeCounter::default(),
            secrets: BTreeSet::new(),
            member: 0,
            sections: Vec::new(),
            scopes: Vec::new(),
            short: Vec::new(),
            first: None,
        };
        if question.members.len() > 1 {
            builder.add_member_list(&question.members);
        }
        for (at, member) in question.members.iter().enumerate() {
            builder.member = at;
            builder.about = options.redactor.about(&member.request.args);
            builder.add_member(member, (at + 1, question.members.len()), &offers);
        }
        let PageBuilder { counter, secrets, sections, scopes, short, .. } = builder;
        Self {
            extent,
            title: title(question),
            sections,
            options: options::paragraphs(&offers),
            scopes,
            short,
            offers,
            hidden: HiddenCounts {
                secrets: secrets.len(),
                escaped: counter.escaped,
                collapsed: counter.collapsed,
            },
            deadline: question.members.iter().filter_map(|member| member.request.deadline).min(),
            now: options.now,
            preview_lines: options.preview_lines.max(MIN_PREVIEW),
        }
    }

    /// The extent to which the page is built.
    #[must_use]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// The title, in askfirst's words.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The numbers of secrets, characters and blanks that are not drawn as they were written.
    #[must_use]
    pub fn hidden(&self) -> HiddenCounts {
        self.hidden
    }

    /// The time at which the question is refused without an answer.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.deadline
    }

    /// The number of paragraphs.
    #[must_use]
    pub fn len(&self, columns: usize) -> usize {
        self.sections.iter().map(|section| section.len(columns)).sum()
    }

    /// The lines of one paragraph.
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

    /// The paragraphs that must be on screen before an approval counts.
    #[must_use]
    pub fn must_see(&self, columns: usize) -> Vec<Range<usize>> {
        let must = |(section, range): (&Section, Range<usize>)| {
            (section.role == SectionRole::MustSee).then_some(range)
        };
        self.section_ranges(columns).filter_map(must).collect()
    }

    /// The first paragraph of each section.
    #[must_use]
    pub fn starts(&self, columns: usize) -> Vec<usize> {
        self.section_ranges(columns).map(|(_, range)| range.start).collect()
    }

    fn section_ranges(&self, columns: usize) -> impl Iterator<Item = (&Section, Range<usize>)> {
        let mut from = 0;
        self.sections.iter().map(move |section| {
            let range = from..from + section.len(columns);
            from = range.end;
            (section, range)
        })
    }

    /// The nesting depth of a paragraph, if it can be folded.
    #[must_use]
    pub fn depth(&self, at: usize, columns: usize) -> Option<usize> {
        let (section, range) = self.section_ranges(columns).find(|(_, range)| range.contains(&at))?;
        section.body.depth(at.checked_sub(range.start + section.head.len())?)
    }

    /// Sets the time at which syntax highlighting stops.
    pub fn highlight_until(&self, until: Instant) {
        self.sections.iter().for_each(|section| section.body.highlight_until(until));
    }

    /// Updates the list of a group: each member is included in an approval or refused.
    pub fn set_kept(&mut self, kept: &[bool]) {
        let Some(list) = self.sections.first_mut().filter(|_| kept.len() > 1) else { return };
        let Body::Paragraphs(paragraphs) = &mut list.body else { return };
        for (paragraph, kept) in paragraphs.iter_mut().zip(kept) {
            if let Some(mark) = paragraph.pieces.get_mut(1) {
                *mark = inclusion_mark(*kept);
            }
        }
    }

    /// The number of lines of the page, without the options.
    #[must_use]
    pub fn total_lines(&self, columns: usize) -> usize {
        (0..self.len(columns)).map(|at| self.rows(at, columns).len()).sum()
    }

    /// All lines of the page, followed by the options.
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
        Paragraph::ours(Part::Title, format!("=== {} ===", self.title)).wrap(columns)
    }

    /// The start of every section, each with a count of the lines that are left out.
    #[must_use]
    pub fn preview(&self, columns: usize) -> Preview {
        let mut preview = Preview { lines: self.title_lines(columns), shown: 0, of: 0 };
        for section in &self.sections {
            let len = section.len(columns);
            let most = match section.role {
                SectionRole::MustSee => len,
                SectionRole::Facts | SectionRole::Content => {
                    self.preview_lines.saturating_add(section.head.len()).min(len)
                }
            };
            preview.lines.extend((0..most).flat_map(|at| section.rows(at, columns)));
            preview.of += len;
            preview.shown += most;
            let left = len - most;
            if left > 0 {
                let text = format!("... {left} more {} not shown: [v] shows all", plural(left, "line"));
                preview.lines.extend(Paragraph::ours(Part::Count, text).wrap(columns));
            }
        }
        preview.lines.extend(self.foot(columns));
        preview
    }

    /// All facts, fields and scopes in full.
    #[must_use]
    pub fn facts(&self, columns: usize) -> Vec<Line> {
        let facts = self.sections.iter().filter(|section| match section.role {
            SectionRole::MustSee | SectionRole::Facts => true,
            SectionRole::Content => false,
        });
        let lines =
            facts.flat_map(|section| (0..section.len(columns)).flat_map(|at| section.rows(at, columns)));
        lines.chain(self.foot(columns)).collect()
    }

    /// The lines of the options.
    #[must_use]
    pub fn options(&self, columns: usize) -> Vec<Line> {
        self.options.iter().flat_map(|paragraph| paragraph.wrap(columns)).collect()
    }

    /// Tool, risk and the main fact of each member in a few lines, for a screen without room for more.
    #[must_use]
    pub fn brief(&self, columns: usize) -> Vec<Line> {
        self.short.iter().flat_map(|paragraph| paragraph.wrap(columns)).collect()
    }

    /// The scopes of a yes for the session: this call first, then the wider scopes that the tool offers.
    #[must_use]
    pub fn scopes(&self, columns: usize) -> Vec<Vec<Line>> {
        let lines = |paragraphs: &Vec<Paragraph>| {
            paragraphs.iter().flat_map(|paragraph| paragraph.wrap(columns)).collect()
        };
        self.scopes.iter().map(lines).collect()
    }

    /// The hidden counts in words.
    #[must_use]
    pub fn counts(&self) -> Vec<String> {
        let HiddenCounts { secrets, escaped, collapsed } = self.hidden;
        let escapes = if escaped == 1 { "shown as an escape" } else { "shown as escapes" };
        let counts = [
            (secrets, plural(secrets, "secret"), "hidden"),
            (escaped, plural(escaped, "character"), escapes),
            (collapsed, "spaces or blank lines".to_owned(), "shown as a count"),
        ];
        let words = |(number, things, how): (usize, String, &str)| {
            (number > 0).then(|| format!("{number} {things} {how}"))
        };
        counts.into_iter().filter_map(words).collect()
    }

    fn foot(&self, columns: usize) -> Vec<Line> {
        let mut counts = self.counts();
        if let Some(at) = self.deadline {
            counts.push(format!("refused {}, unless you answer", later(self.now, at)));
        }
        counts.into_iter().flat_map(|text| Paragraph::ours(Part::Count, text).wrap(columns)).collect()
    }
}

/// Builds the sections of a page.
struct PageBuilder<'a> {
    options: &'a PageOptions<'a>,
    /// A redactor that also knows the secrets of the current member's arguments.
    about: Redactor,
    extent: Extent,
    counter: EscapeCounter,
    /// The digests of the hidden secrets.
    secrets: BTreeSet<String>,
    member: usize,
    sections: Vec<Section>,
    scopes: Vec<Vec<Paragraph>>,
    /// Tool, risk and the main fact of each member.
    short: Vec<Paragraph>,
    /// The main fact of the current member.
    first: Option<Paragraph>,
}

impl PageBuilder<'_> {
    /// Adds the list of the members of a group, each with its risk.
    fn add_member_list(&mut self, members: &[Member]) {
        let mut paragraphs = Vec::new();
        for (at, member) in members.iter().enumerate() {
            let request = &member.request;
            let mut pieces = vec![Piece::ours(format!("{:>2} ", at + 1)), inclusion_mark(true)];
            pieces.push(match request.risk {
                Risk::Low => Piece::ours("low          "),
                Risk::High => Piece::toned("high         ", Tone::Warning),
                Risk::Irreversible => Piece::toned("irreversible ", Tone::Warning),
            });
            let tool = self.clean(&request.tool_name);
            pieces.extend(self.counter.line(&tool));
            let times = if member.calls > 1 { format!("  ×{}  ", member.calls) } else { "  ".to_owned() };
            pieces.push(Piece::ours(times));
            let args = self.clean_args(&request.args);
            let text = self.counter.line(&summary(&args));
            pieces.extend(text.into_iter().map(|piece| Piece { tone: Tone::Dim, ..piece }));
            paragraphs.push(Paragraph::new(Part::Field, pieces).hanging(25));
        }
        self.add_section(
            SectionRole::MustSee,
            "one answer covers exactly these:",
            Body::Paragraphs(paragraphs),
        );
    }

    fn add_member(&mut self, member: &Member, (at, of): (usize, usize), offers: &Offers) {
        let request = &member.request;
        let mut paragraphs = Vec::new();
        if of > 1 {
            let text = format!("--- request {at} of {of}, risk: {} ---", risk_words(request.risk));
            paragraphs.push(Paragraph::ours(Part::Heading, text));
        }
        let mut tool = self.field(Part::Field, "tool", &request.tool_name);
        tool.pieces.iter_mut().skip(2).for_each(|piece| piece.tone = Tone::Strong);
        self.short.push(tool.clone());
        paragraphs.push(tool);
        if let Some(caller) = &request.caller {
            paragraphs.push(self.field(Part::Field, "asked by", caller));
        }
        let mut risk = self.field(Part::Field, "risk", risk_words(request.risk));
        if request.risk != Risk::Low {
            risk.pieces.iter_mut().for_each(|piece| piece.tone = Tone::Warning);
        }
        self.short.push(risk.clone());
        paragraphs.push(risk);
        if member.calls > 1 {
            let text = format!("{} equal calls wait for this answer", member.calls);
            paragraphs.push(self.field(Part::Field, "calls", &text));
        }
        paragraphs.extend(warning("tool name", &request.tool_name));
        let body = Body::Paragraphs(paragraphs);
        self.sections.push(Section { role: SectionRole::MustSee, head: Vec::new(), body });
        self.add_claim(request);
        self.add_facts(request);
        match self.extent {
            Extent::Whole => self.add_content(request),
            Extent::Head => self.add_pending_content(request),
        }
        self.short.extend(self.first.take());
        self.add_scope(member, offers);
    }

    /// A paragraph with askfirst's label and text from the request.
    fn field(&mut self, part: Part, label: &str, text: &str) -> Paragraph {
        let text = self.clean(text);
        self.redacted_field(part, label, &text)
    }

    /// A paragraph with askfirst's label and a text that is already redacted.
    fn redacted_field(&mut self, part: Part, label: &str, text: &str) -> Paragraph {
        let label = self.counter.line(label);
        let mut pieces: Vec<Piece> =
            label.into_iter().map(|piece| Piece { tone: Tone::Dim, ..piece }).collect();
        pieces.push(Piece::toned(": ", Tone::Dim));
        pieces.extend(self.counter.line(text));
        Paragraph::new(part, pieces)
    }

    fn add_section(&mut self, role: SectionRole, heading: &str, body: Body) {
        self.add_section_with_head(role, vec![Paragraph::ours(Part::Heading, heading)], body);
    }

    fn add_section_with_head(&mut self, role: SectionRole, head: Vec<Paragraph>, body: Body) {
        self.sections.push(Section { role, head, body });
    }
}

#[cfg(test)]
#[path = "page/tests.rs"]
mod tests;
