//! Builds the sections of a page: the content, the context below it, and the details.

use std::collections::BTreeSet;

use askfirst::machine::Member;
use askfirst::{Approval, Risk};

use super::super::command::CommandRows;
use super::super::escape::Piece;
use super::super::line::{Paragraph, Part};
use super::super::offer::Offers;
use super::super::tone::Tone;
use super::super::tree::EscapeCounter;
use super::body::command_rows;
use super::headline::Headline;
use super::lines::Body;
use super::summary;
use super::words::{inclusion_mark, risk, risk_words};
use super::{Extent, PageOptions, Place, Section, SectionRole};
use crate::redact::Redactor;

/// Builds the sections of a page.
pub(super) struct PageBuilder<'a> {
    pub(super) options: &'a PageOptions<'a>,
    /// A redactor that also knows the secrets of the current member's arguments.
    pub(super) about: Redactor,
    pub(super) extent: Extent,
    pub(super) counter: EscapeCounter,
    /// The digests of the hidden secrets.
    pub(super) secrets: BTreeSet<String>,
    /// The index of the current member.
    pub(super) member: usize,
    /// The place of the next section.
    pub(super) place: Place,
    pub(super) sections: Vec<Section>,
    pub(super) details: Vec<Section>,
    pub(super) scopes: Vec<Vec<Paragraph>>,
    pub(super) lasting_scopes: Vec<Vec<Paragraph>>,
    pub(super) lasting_place: Vec<Paragraph>,
    /// The sizes of the current member's content.
    pub(super) sizes: Vec<String>,
}

impl<'a> PageBuilder<'a> {
    pub(super) fn new(options: &'a PageOptions<'a>, extent: Extent) -> Self {
        Self {
            options,
            about: options.redactor.clone(),
            extent,
            counter: EscapeCounter::default(),
            secrets: BTreeSet::new(),
            member: 0,
            place: Place::Page,
            sections: Vec::new(),
            details: Vec::new(),
            scopes: Vec::new(),
            lasting_scopes: Vec::new(),
            lasting_place: Vec::new(),
            sizes: Vec::new(),
        }
    }

    /// Adds every member. Returns the headline, and the context that stands below the content of all.
    pub(super) fn add_members(&mut self, members: &[Member], offers: &Offers) -> (Headline, Vec<Paragraph>) {
        let [member] = members else { return self.add_group(members, offers) };
        self.add_member(member, offers)
    }

    /// Adds the list of a group and then each member. Context that all members share stands at the end, once.
    fn add_group(&mut self, members: &[Member], offers: &Offers) -> (Headline, Vec<Paragraph>) {
        let mut added = Vec::new();
        for (at, member) in members.iter().enumerate() {
            self.member = at;
            let heading = Paragraph::ours(Part::Heading, format!("--- {} of {} ---", at + 1, members.len()));
            let heading = Section::of(SectionRole::MustSee, vec![heading]);
            self.details.push(heading.clone());
            let before = std::mem::replace(&mut self.sections, vec![heading]);
            let (headline, context) = self.add_member(member, offers);
            added.push((headline, std::mem::replace(&mut self.sections, before), context));
        }
        let (_, _, shared) = added.first().cloned().unwrap_or_default();
        let is_shared = added.iter().all(|(_, _, context)| *context == shared);
        let list = members.iter().zip(&added).enumerate();
        let list = list.map(|(at, (member, (headline, ..)))| self.listed(at, member, headline)).collect();
        self.sections.push(Section::of(SectionRole::MustSee, list));
        for (_, sections, context) in added {
            self.sections.extend(sections);
            self.sections.extend((!is_shared).then(|| Section::of(SectionRole::MustSee, context)));
        }
        let headline = Headline::default().words(format!("{} calls with one answer", members.len()));
        (headline, if is_shared { shared } else { Vec::new() })
    }

    /// Adds the content and the details of one member. Returns its headline and its context.
    fn add_member(&mut self, member: &Member, offers: &Offers) -> (Headline, Vec<Paragraph>) {
        let request = &member.request;
        self.about = self.options.redactor.about(&request.args);
        let rows = command_rows(request);
        let headline = self.headline(request, rows.as_ref());
        self.place = Place::Page;
        let count = match self.extent {
            Extent::Whole => self.add_content(request),
            Extent::Head => self.add_pending_content(request),
        };
        let headline = headline.count(count);
        let context = self.context(member, &headline.shortened, rows.as_ref());
        self.place = Place::Details;
        self.add_details(member, rows.as_ref());
        self.add_scope(member, offers);
        (headline, context)
    }

    /// Adds everything that can wait: the tool, the rule, sizes, and arguments that the content does not show.
    fn add_details(&mut self, member: &Member, rows: Option<&CommandRows>) {
        let request = &member.request;
        let mut facts = vec![("tool", request.tool_name.clone())];
        if request.risk != Risk::Low {
            facts.push(("risk", risk_words(request.risk).to_owned()));
        }
        if request.approval != Approval::Required {
            facts.push(("approval", request.approval.as_str().to_owned()));
        }
        facts.extend(std::mem::take(&mut self.sizes).into_iter().map(|size| ("content", size)));
        facts.extend(request.definition.map(|digest| ("definition", digest.to_string())));
        let mut paragraphs = Vec::new();
        for (label, text) in facts {
            let text = self.clean(&text);
            paragraphs.push(self.labelled(label, &text));
        }
        paragraphs.extend(self.detail_facts(request, rows));
        self.add_section(SectionRole::Content, "details:", Body::Paragraphs(paragraphs));
        if self.extent == Extent::Whole && request.presentation.is_some() && request.action.is_some() {
            self.add_args(request);
        }
    }

    /// The row of a member in the list of a group.
    fn listed(&mut self, at: usize, member: &Member, headline: &Headline) -> Paragraph {
        let mut pieces = vec![Piece::ours(format!("{:>2} ", at + 1)), inclusion_mark(true)];
        let risk = risk(member.request.risk).map(|risk| Piece { text: format!("{}: ", risk.text), ..risk });
        pieces.extend(risk);
        pieces.extend(headline.pieces.iter().cloned());
        if member.request.action.is_none() {
            let args = self.clean_args(&member.request.args);
            let text = EscapeCounter::default().line(&format!("  {}", summary(&args)));
            pieces.extend(text.into_iter().map(|piece| Piece { tone: Tone::Dim, ..piece }));
        }
        Paragraph::new(Part::Field, pieces).hanging(13)
    }

    /// A paragraph with askfirst's label and text from the request.
    pub(super) fn field(&mut self, part: Part, label: &str, text: &str) -> Paragraph {
        let text = self.clean(text);
        let label = self.counter.line(label);
        let mut pieces: Vec<Piece> =
            label.into_iter().map(|piece| Piece { tone: Tone::Dim, ..piece }).collect();
        pieces.push(Piece::toned(": ", Tone::Dim));
        pieces.extend(self.counter.line(&text));
        Paragraph::new(part, pieces)
    }

    pub(super) fn add_section(&mut self, role: SectionRole, heading: &str, body: Body) {
        let head = (!heading.is_empty()).then(|| Paragraph::ours(Part::Heading, heading));
        self.add_section_with_head(role, head.into_iter().collect(), body);
    }

    pub(super) fn add_section_with_head(&mut self, role: SectionRole, head: Vec<Paragraph>, body: Body) {
        match self.place {
            Place::Page => self.sections.push(Section { role, head, body }),
            Place::Details => self.details.push(Section { role, head, body }),
        }
    }
}
