//! The page of one question: everything that the person sees, in order, as data.
//!
//! A page is a list of paragraphs. Each takes one line, or more where it does not fit.
//! Lines are laid out only when they are on screen, so that large content costs little.
//! Anything that a page leaves out is counted on it.

use std::ops::Range;
use std::time::Instant;

use askfirst::machine::Question;
use askfirst::{Risk, Timestamp};

use super::escape::Piece;
use super::line::{Line, Paragraph, Part};
use super::offer::{Choice, Lifetime, Offers};
use super::time::later;
use crate::redact::Redactor;

mod body;
mod builder;
mod clean;
mod context;
mod headline;
mod lines;
mod options;
mod scope;
mod summary;
mod words;

use builder::PageBuilder;
use lines::Body;
pub use options::OPTION_GAP;
pub use summary::summary;
use words::inclusion_mark;
pub use words::plural;

/// The settings for building a page.
#[derive(Debug, Clone, Copy)]
pub struct PageOptions<'a> {
    /// The number of lines of one section in a preview.
    pub preview_lines: usize,
    /// Finds the secrets.
    pub redactor: &'a Redactor,
    /// The current time.
    pub now: Timestamp,
    /// Choices that would do nothing here, so that they are not offered.
    pub withheld: &'a [Choice],
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
    /// The person must see it before an approval counts, even one that leaves the rest unseen.
    MustSee,
    Content,
}

/// The place of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On the page.
    Page,
    /// Among the details, which the person can open.
    Details,
}

/// A heading with the paragraphs below it.
#[derive(Debug, Clone)]
struct Section {
    role: SectionRole,
    head: Vec<Paragraph>,
    body: Body,
}

impl Section {
    fn of(role: SectionRole, paragraphs: Vec<Paragraph>) -> Self {
        Self { role, head: Vec::new(), body: Body::Paragraphs(paragraphs) }
    }

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
    headline: Paragraph,
    risk: Option<Piece>,
    /// The place in the queue.
    place: Option<String>,
    /// The content, followed by the context: why askfirst asks, and who wants the call.
    sections: Vec<Section>,
    /// The number of sections at the end that are the context.
    context: usize,
    details: Vec<Section>,
    options: Vec<Paragraph>,
    scopes: Vec<Vec<Paragraph>>,
    lasting_scopes: Vec<Vec<Paragraph>>,
    lasting_place: Vec<Paragraph>,
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
        let offers = Offers::of(question, options.redactor, options.now, options.withheld);
        let mut builder = PageBuilder::new(options, extent);
        let (headline, context) = builder.add_members(&question.members, &offers);
        let PageBuilder {
            counter,
            secrets,
            mut sections,
            details,
            scopes,
            lasting_scopes,
            lasting_place,
            ..
        } = builder;
        let has_context = !context.is_empty();
        sections.extend(has_context.then(|| Section::of(SectionRole::MustSee, context)));
        Self {
            extent,
            headline: headline.paragraph(),
            risk: words::risk(offers.risk),
            place: (question.of > 1).then(|| format!("{} of {}", question.position, question.of)),
            sections,
            context: usize::from(has_context),
            details,
            options: options::paragraphs(&offers),
            scopes,
            lasting_scopes,
            lasting_place,
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

    /// The action of the call, in as many lines as it needs.
    #[must_use]
    pub fn headline(&self, columns: usize) -> Vec<Line> {
        self.headline.wrap(columns)
    }

    /// The risk and the place in the queue, which stand at the right end of the headline.
    #[must_use]
    pub fn status(&self) -> Vec<Piece> {
        self.risk.iter().cloned().chain(self.place.as_ref().map(Piece::ours)).collect()
    }

    /// The number of paragraphs at the end of the page that are not content: the reason, the agent, warnings.
    #[must_use]
    pub fn context_len(&self, columns: usize) -> usize {
        let from = self.sections.len().saturating_sub(self.context);
        self.sections.iter().skip(from).map(|section| section.len(columns)).sum()
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

    /// All lines of the page and its details, followed by the options.
    #[must_use]
    pub fn lines(&self, columns: usize) -> Vec<Line> {
        let mut lines = self.title_lines(columns);
        lines.extend(rows_of(&self.sections, columns));
        lines.extend(self.details(columns));
        lines.extend(self.foot(columns));
        lines.extend(self.options(columns));
        lines
    }

    /// The headline, and below it the risk, the place in the queue and the time that is left.
    #[must_use]
    pub fn title_lines(&self, columns: usize) -> Vec<Line> {
        let mut lines = self.headline(columns);
        let mut status: Vec<String> = self.risk.iter().map(|piece| piece.text.clone()).collect();
        status.extend(self.place.as_ref().map(|place| format!("request {place}")));
        status.extend(self.deadline.map(|at| format!("refused {}, unless you answer", later(self.now, at))));
        let part = if self.offers.risk == Risk::Low { Part::Count } else { Part::Warning };
        if !status.is_empty() {
            lines.extend(Paragraph::ours(part, status.join(" · ")).wrap(columns));
        }
        lines
    }

    /// The start of every section, each with a count of the lines that are left out.
    #[must_use]
    pub fn preview(&self, columns: usize) -> Preview {
        let mut preview = Preview { lines: self.title_lines(columns), shown: 0, of: 0 };
        for section in &self.sections {
            let len = section.len(columns);
            let most = match section.role {
                SectionRole::MustSee => len,
                SectionRole::Content => self.preview_lines.saturating_add(section.head.len()).min(len),
            };
            preview.lines.extend((0..most).flat_map(|at| section.rows(at, columns)));
            preview.of += len;
            preview.shown += most;
            let left = len - most;
            if left > 0 {
                let text = format!("... {left} more {} not shown: v shows all", plural(left, "line"));
                preview.lines.extend(Paragraph::ours(Part::Count, text).wrap(columns));
            }
        }
        preview.lines.extend(self.foot(columns));
        preview
    }

    /// The details: sizes, rules, arguments that the content does not show, and the scope of an answer.
    #[must_use]
    pub fn details(&self, columns: usize) -> Vec<Line> {
        rows_of(&self.details, columns)
    }

    /// The lines of the options.
    #[must_use]
    pub fn options(&self, columns: usize) -> Vec<Line> {
        self.options.iter().flat_map(|paragraph| paragraph.wrap(columns)).collect()
    }

    /// The scopes of a yes that is remembered: this call first, then the wider scopes that the tool offers.
    #[must_use]
    pub fn scopes(&self, lifetime: Lifetime, columns: usize) -> Vec<Vec<Line>> {
        let lines = |paragraphs: &Vec<Paragraph>| {
            paragraphs.iter().flat_map(|paragraph| paragraph.wrap(columns)).collect()
        };
        let scopes = match lifetime {
            Lifetime::Session => &self.scopes,
            Lifetime::Project => &self.lasting_scopes,
        };
        scopes.iter().map(lines).collect()
    }

    /// Where a yes that is remembered holds, and how long, if that is the same for all of its scopes.
    #[must_use]
    pub fn scope_place(&self, lifetime: Lifetime, columns: usize) -> Vec<Line> {
        match lifetime {
            // The first scope says how long it is remembered.
            Lifetime::Session => Vec::new(),
            Lifetime::Project => {
                self.lasting_place.iter().flat_map(|paragraph| paragraph.wrap(columns)).collect()
            }
        }
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
        self.counts().into_iter().flat_map(|text| Paragraph::ours(Part::Count, text).wrap(columns)).collect()
    }
}

fn rows_of(sections: &[Section], columns: usize) -> Vec<Line> {
    let rows = |section: &Section| -> Vec<Line> {
        (0..section.len(columns)).flat_map(|at| section.rows(at, columns)).collect()
    };
    sections.iter().flat_map(rows).collect()
}

#[cfg(test)]
#[path = "page/tests.rs"]
mod tests;
