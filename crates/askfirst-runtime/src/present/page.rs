//! The page of one question: everything a person is told, in order, as data. Nothing is left out without a count.

use askfirst::machine::{Member, Question};
use askfirst::{Args, Risk, Timestamp};

use super::escape::{Piece, odd_letters};
use super::line::{Entry, Line, Part};
use super::offer::Offers;
use super::time::later;
use super::tree::Counted;
use crate::redact::{Mark, Redactor};

mod body;

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
    /// Secrets that are drawn as their kind.
    pub secrets: usize,
    /// Characters that are drawn as escapes.
    pub escaped: usize,
    /// Blanks and blank lines that are drawn as a count.
    pub collapsed: usize,
}

/// Which part of the page a section is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Title,
    Facts,
    Content,
    Foot,
}

/// A heading with what stands below it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    place: Place,
    entries: Vec<Entry>,
}

/// The page of one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    sections: Vec<Section>,
    options: Vec<Entry>,
    /// What may be answered.
    pub offers: Offers,
    hidden: Hidden,
    preview_lines: usize,
}

/// The beginning of every section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The lines, without the options.
    pub lines: Vec<Line>,
    /// How many lines of the page these are.
    pub shown: usize,
    /// How many lines there are.
    pub of: usize,
}

/// Fewer lines than these are never shown of a section.
const MIN_PREVIEW: usize = 3;

impl Page {
    /// The page of a question.
    #[must_use]
    pub fn of(question: &Question, options: &PageOptions<'_>) -> Self {
        let offers = Offers::of(question, options.redactor, options.now);
        let mut maker = Maker { options, counted: Counted::default(), secrets: 0, sections: Vec::new() };
        maker.title(question);
        for (at, member) in question.members.iter().enumerate() {
            maker.member(member, (at + 1, question.members.len()), &offers);
        }
        let Maker { counted, secrets, sections, .. } = maker;
        let hidden = Hidden { secrets, escaped: counted.escaped, collapsed: counted.collapsed };
        let mut page = Self {
            sections,
            options: option_entries(&offers),
            offers,
            hidden,
            preview_lines: options.preview_lines.max(MIN_PREVIEW),
        };
        page.foot(question, options.now);
        page
    }

    /// What is not drawn as it was written.
    #[must_use]
    pub fn hidden(&self) -> Hidden {
        self.hidden
    }

    /// How many lines the page has without the options.
    #[must_use]
    pub fn total_lines(&self, columns: usize) -> usize {
        self.sections.iter().flat_map(|section| &section.entries).map(|entry| entry.height(columns)).sum()
    }

    /// All lines: the page, then the options.
    #[must_use]
    pub fn lines(&self, columns: usize) -> Vec<Line> {
        let entries = self.sections.iter().flat_map(|section| &section.entries).chain(&self.options);
        entries.flat_map(|entry| entry.wrap(columns)).collect()
    }

    /// The beginning of every section, each with a count of what is left out.
    #[must_use]
    pub fn preview(&self, columns: usize) -> Preview {
        let mut preview = Preview { lines: Vec::new(), shown: 0, of: 0 };
        for section in &self.sections {
            // The heading is not counted against the preview.
            let most = self.preview_lines.saturating_add(1);
            let mut lines = Vec::new();
            let mut of = 0;
            for entry in &section.entries {
                if lines.len() < most {
                    lines.append(&mut entry.wrap(columns));
                    of = lines.len();
                } else {
                    of += entry.height(columns);
                }
            }
            lines.truncate(most);
            let left = of - lines.len();
            preview.of += of;
            preview.shown += lines.len();
            preview.lines.append(&mut lines);
            if left > 0 {
                let text = format!("... {left} more {} not shown: [v] shows all", plural(left, "line"));
                preview.lines.extend(Entry::ours(Part::Count, text).wrap(columns));
            }
        }
        preview
    }

    /// All facts, fields and scopes, whole.
    #[must_use]
    pub fn facts(&self, columns: usize) -> Vec<Line> {
        let facts = self.sections.iter().filter(|section| match section.place {
            Place::Facts | Place::Foot => true,
            Place::Title | Place::Content => false,
        });
        facts.flat_map(|section| &section.entries).flat_map(|entry| entry.wrap(columns)).collect()
    }

    /// The options alone.
    #[must_use]
    pub fn options(&self, columns: usize) -> Vec<Line> {
        self.options.iter().flat_map(|entry| entry.wrap(columns)).collect()
    }

    fn foot(&mut self, question: &Question, now: Timestamp) {
        let Hidden { secrets, escaped, collapsed } = self.hidden;
        let mut entries = Vec::new();
        let mut count = |number: usize, thing: &str, how: &str| {
            if number > 0 {
                let text = format!("{number} {} {how}", plural(number, thing));
                entries.push(Entry::ours(Part::Count, text));
            }
        };
        count(secrets, "secret", "hidden");
        count(escaped, "character", "shown as escapes");
        count(collapsed, "blank", "shown as a count");
        let deadline = question.members.iter().filter_map(|member| member.request.deadline).min();
        if let Some(at) = deadline {
            let text = format!("refused {}, if nobody answers", later(now, at));
            entries.push(Entry::ours(Part::Count, text));
        }
        self.sections.push(Section { place: Place::Foot, entries });
    }
}

/// `thing` or `things`.
fn plural(number: usize, thing: &str) -> String {
    if number == 1 { thing.to_owned() } else { format!("{thing}s") }
}

fn option_entries(offers: &Offers) -> Vec<Entry> {
    let option = |text: String| Entry::ours(Part::Option, text);
    let mut entries = Vec::new();
    let words: Vec<&str> = offers.words.iter().flatten().map(String::as_str).collect();
    if let [first, rest @ ..] = words.as_slice() {
        let then: String = rest.iter().map(|word| format!(" then `{word}`")).collect();
        entries.push(option(format!("to approve, type `{first}`{then}, without Enter")));
    }
    let mut keys: Vec<String> =
        offers.list.iter().map(|offer| format!("[{}] {}", offer.choice.key(), offer.words)).collect();
    if offers.words.len() > 1 {
        keys.push(format!("[1-{}] leave one out, or take it back in", offers.words.len()));
    }
    keys.extend(["[Esc] no".to_owned(), "[Ctrl-C] no, and stop the run".to_owned()]);
    let pieces = keys.into_iter().map(|key| Piece::ours(format!("{key}  "))).collect();
    entries.push(Entry::new(Part::Option, pieces));
    entries
}

/// Puts sections together.
struct Maker<'a> {
    options: &'a PageOptions<'a>,
    counted: Counted,
    secrets: usize,
    sections: Vec<Section>,
}

impl Maker<'_> {
    fn title(&mut self, question: &Question) {
        let count = match question.members.len() {
            1 => "approval needed".to_owned(),
            many => format!("approval needed for {many} requests together"),
        };
        let which = if question.of > 1 {
            format!(": question {} of {}", question.position, question.of)
        } else {
            String::new()
        };
        let title = Entry::ours(Part::Title, format!("=== {count}{which} ==="));
        self.sections.push(Section { place: Place::Title, entries: vec![title] });
    }

    fn member(&mut self, member: &Member, (at, of): (usize, usize), offers: &Offers) {
        let request = &member.request;
        let mut entries = Vec::new();
        if of > 1 {
            let text = format!("--- request {at} of {of}, {} ---", risk_words(request.risk));
            entries.push(Entry::ours(Part::Heading, text));
        }
        entries.push(self.field(Part::Field, "tool", &request.tool_name));
        if let Some(caller) = &request.caller {
            entries.push(self.field(Part::Field, "asked by", caller));
        }
        entries.push(self.field(Part::Field, "risk", risk_words(request.risk)));
        if member.calls > 1 {
            let text = format!("{} equal calls wait for this answer", member.calls);
            entries.push(self.field(Part::Field, "calls", &text));
        }
        entries.extend(warning("tool", &request.tool_name));
        self.sections.push(Section { place: Place::Facts, entries });
        self.claim(request);
        self.facts(request);
        self.content(request);
        self.scope(request, offers);
    }

    /// Our label, somebody else's text.
    fn field(&mut self, part: Part, label: &str, text: &str) -> Entry {
        let text = self.clean(text);
        let mut pieces = self.counted.line(label);
        pieces.push(Piece::ours(": "));
        pieces.extend(self.counted.line(&text));
        Entry::new(part, pieces)
    }

    /// A text without its secrets.
    fn clean(&mut self, text: &str) -> String {
        let clean = self.options.redactor.text(text, Mark::Screen);
        self.secrets += clean.hidden;
        clean.left
    }

    /// Arguments without their secrets.
    fn clean_args(&mut self, args: &Args) -> Args {
        let clean = self.options.redactor.args(args, Mark::Screen);
        self.secrets += clean.hidden;
        clean.left
    }

    fn section(&mut self, place: Place, heading: &str, entries: Vec<Entry>) {
        let heading = Entry::ours(Part::Heading, heading);
        let entries = std::iter::once(heading).chain(entries).collect();
        self.sections.push(Section { place, entries });
    }
}

fn risk_words(risk: Risk) -> &'static str {
    match risk {
        Risk::Low => "low",
        Risk::High => "high",
        Risk::Irreversible => "irreversible (it cannot be undone)",
    }
}

/// A name with letters that may look like others.
fn warning(label: &str, name: &str) -> Option<Entry> {
    let odd = odd_letters(name);
    let list = odd.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
    let more = odd.len().saturating_sub(4);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!odd.is_empty()).then(|| {
        Entry::ours(
            Part::Warning,
            format!("warning: the {label} has letters that are not ASCII: {list}{more}"),
        )
    })
}

#[cfg(test)]
#[path = "page/tests.rs"]
mod tests;
