//! The content of one request: the presentation and the arguments.

use std::sync::Arc;

use askfirst::{ActionPart, ApprovalPresentation, ApprovalRequest, Args, Fact, PresentationKind};
use serde_json::Value;

use super::context::why_of;
use super::headline::lines_of;
use super::lines::{Body, LinePrefix, TextBody};
use super::{PageBuilder, Place, SectionRole, plural};
use crate::command::{CommandRows, RowText};
use crate::diff::{Diff, unified};
use crate::highlight::Highlight;
use crate::line::{Paragraph, Part};
use crate::redact::MaskedText;
use crate::text::{IndexedText, Source};
use crate::tree::{LONG, Tree, below};

/// Redacted content.
struct Content {
    source: Source,
    /// Its size in bytes and lines before redaction.
    size: (usize, usize),
    /// For a command: the original text and the redacted text.
    command: Option<(String, MaskedText)>,
    header: DiffHeader,
}

/// Whether a diff starts with the name of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffHeader {
    Show,
    Skip,
}

/// The longest command in lines that stands before the list of its programs.
const MAX_SCRIPT: usize = 8;

impl Content {
    fn new(written: &str, source: impl Into<Source>) -> Self {
        let size = (written.len(), lines(written));
        Self { source: source.into(), size, command: None, header: DiffHeader::Show }
    }
}

fn lines(text: &str) -> usize {
    text.as_bytes().split_inclusive(|byte| *byte == b'\n').count()
}

impl PageBuilder<'_> {
    /// Adds a heading with the kind and size of content that is still being prepared. There is no count yet.
    pub(super) fn add_pending_content(&mut self, request: &ApprovalRequest) -> Option<String> {
        let (what, bytes) = match &request.presentation {
            Some(shown) => (kind_words(shown.kind), size(shown)),
            None => ("arguments", request.args.values().map(rough_size).sum()),
        };
        let heading = format!("{what}, {bytes} bytes: being prepared");
        self.add_section(SectionRole::Content, &heading, Body::Paragraphs(Vec::new()));
        None
    }

    /// Adds the content of a request, and its arguments unless the content shows what they do.
    /// Returns the count for the headline.
    pub(super) fn add_content(&mut self, request: &Arc<ApprovalRequest>) -> Option<String> {
        let presentation = request.presentation.as_ref();
        let count = presentation.and_then(|shown| self.add_presentation(request, shown));
        if presentation.is_none() || request.action.is_none() {
            self.add_args(request);
        }
        count.filter(|_| request.action.is_some())
    }

    /// Adds all arguments, except those that the content shows.
    pub(super) fn add_args(&mut self, request: &Arc<ApprovalRequest>) {
        let shown = request.presentation.as_ref().map(ApprovalPresentation::full_content);
        let (mut short, mut elsewhere, mut whole) = (Args::new(), Vec::new(), Vec::new());
        for (name, value) in &request.args {
            match value {
                Value::String(text) if shown == Some(text.as_str()) => {}
                Value::String(text) if self.is_large_and_clean(name, text) => {
                    short.insert(name.clone(), Value::Null);
                    elsewhere.push((name.clone(), below(text)));
                    whole.push((name.clone(), Source::Arg(Arc::clone(request), name.clone())));
                }
                _ => {
                    short.insert(name.clone(), value.clone());
                }
            }
        }
        let args = self.clean_args(&short);
        let mut tree = Tree { elsewhere, ..Tree::new(Part::Args, &mut self.counter) };
        let paragraphs = tree.fields(&args);
        whole.extend(owned(std::mem::take(&mut tree.long)));
        let heading = match (request.args.is_empty(), self.place) {
            (true, _) => "no arguments",
            (false, Place::Page) if shown.is_none() => "",
            (false, Place::Page | Place::Details) => "arguments:",
        };
        if !paragraphs.is_empty() || request.args.is_empty() {
            self.add_section(SectionRole::Content, heading, Body::Paragraphs(paragraphs));
        }
        self.add_long_texts(whole);
    }

    /// Whether an argument is too large to copy and contains no secret.
    fn is_large_and_clean(&self, name: &str, text: &str) -> bool {
        let clean = |text: &str| self.about.is_clean(text.as_bytes());
        text.len() > LONG && !self.about.is_secret_name(name) && clean(name) && clean(text)
    }

    /// Adds texts that are too long for the tree, each in a section of its own.
    pub(super) fn add_long_texts(&mut self, long: Vec<(String, Source)>) {
        for (name, text) in long {
            let heading =
                Paragraph::ours(Part::Heading, format!("full text, {} bytes:", text.as_str().len()));
            let name = self.field(Part::Field, "field", &name);
            let text = self.index(text);
            let lines = TextBody {
                text,
                part: Part::Args,
                before: LinePrefix::None,
                highlight: None,
                marks: Vec::new(),
            };
            self.add_section_with_head(
                SectionRole::Content,
                vec![heading, name],
                Body::Text(Box::new(lines)),
            );
        }
    }

    /// Indexes a text and adds its escapes and collapsed blanks to the counts.
    fn index(&mut self, text: Source) -> IndexedText {
        let text = IndexedText::new(text);
        self.counter.escaped += text.escaped;
        self.counter.collapsed += text.collapsed;
        text
    }

    fn add_presentation(
        &mut self,
        request: &Arc<ApprovalRequest>,
        presentation: &ApprovalPresentation,
    ) -> Option<String> {
        let kind = presentation.kind;
        let diff = diff_of(presentation);
        let is_more = |(key, value): &(&String, &Value)| match key.as_str() {
            "full_content" => !value.is_string(),
            "before" | "after" => diff.is_none(),
            "bytes" => kind != PresentationKind::FileContent,
            _ => true,
        };
        let more = presentation.metadata.iter().filter(is_more);
        let more: Args = more.map(|(key, value)| (key.clone(), value.clone())).collect();
        if let Some(diff) = diff {
            let content = Content::new(&diff, String::new());
            let source = self.clean_text(diff).into();
            let header = if names_file(request, presentation) { DiffHeader::Skip } else { DiffHeader::Show };
            return self.add_shown(request, presentation, Content { source, header, ..content }, more);
        }
        let full = presentation.full_content();
        if !is_start_of(&presentation.content, full) {
            let short = self.clean(&presentation.content);
            let short = Content::new(&presentation.content, short);
            self.add_shown(request, presentation, short, Args::new());
            self.add_section(SectionRole::Content, "in full:", Body::Paragraphs(Vec::new()));
        }
        let full = if kind == PresentationKind::Command {
            let masked = self.clean_command(&request.args, full);
            let content = Content::new(full, masked.left.clone());
            Content { command: Some((full.to_owned(), masked)), ..content }
        } else if self.about.is_clean(full.as_bytes()) {
            Content::new(full, Source::Shown(Arc::clone(request)))
        } else {
            let clean = self.clean(full);
            Content::new(full, clean)
        };
        self.add_shown(request, presentation, full, more)
    }

    /// Adds content, and returns the count for the headline.
    fn add_shown(
        &mut self,
        request: &ApprovalRequest,
        shown: &ApprovalPresentation,
        content: Content,
        more: Args,
    ) -> Option<String> {
        let (kind, mut more) = (shown.kind, more);
        let Content { source: content, size: (bytes, lines), command, header } = content;
        let size = format!("{}, {bytes} bytes, {lines} {}", kind_words(kind), plural(lines, "line"));
        self.sizes.push(size);
        let parts = command.and_then(|(written, masked)| CommandRows::take(&mut more, &written, &masked));
        let more = self.clean_args(&more);
        let mut tree = Tree::new(Part::Field, &mut self.counter);
        let more = tree.fields(&more);
        let long = owned(std::mem::take(&mut tree.long));
        let mut count = None;
        if !self.is_in_headline(request, parts.as_ref()) {
            let body = self.body(kind, shown, (content, header), parts.as_ref());
            count = match parts {
                Some(parts) => Some(self.add_command(request, &parts, shown.full_content(), body)),
                None => self.add_body(request, shown, body),
            };
        }
        if !more.is_empty() {
            self.add_section_with_head(SectionRole::Content, Vec::new(), Body::Paragraphs(more));
        }
        self.add_long_texts(long);
        count
    }

    /// Adds a body, below the changes of a diff that color cannot show. Returns the count for the headline.
    fn add_body(
        &mut self,
        request: &ApprovalRequest,
        shown: &ApprovalPresentation,
        body: Body,
    ) -> Option<String> {
        let Body::Diff(diff) = &body else {
            self.add_section_with_head(SectionRole::Content, Vec::new(), body);
            return lines_of(shown);
        };
        let count = diff.count();
        // Without words for the action, the headline has no place for the count.
        let words = request.action.is_none().then(|| count.clone()).into_iter().chain(diff.words());
        let head = words.map(|text| Paragraph::ours(Part::Count, text)).collect();
        self.add_section_with_head(SectionRole::Content, head, body);
        Some(count)
    }

    /// Adds a command and a row for each of its programs. Returns the number of programs for the headline.
    fn add_command(
        &mut self,
        request: &ApprovalRequest,
        parts: &CommandRows,
        command: &str,
        text: Body,
    ) -> String {
        let rows = self.rows_of_command(request, parts, command);
        let rows = (!rows.is_empty()).then_some(Body::Paragraphs(rows));
        // The programs of a long script come first, so that they are on the first screen.
        let (first, last) = if lines(command) > MAX_SCRIPT { (rows, Some(text)) } else { (Some(text), rows) };
        for body in first.into_iter().chain(last) {
            self.add_section_with_head(SectionRole::MustSee, Vec::new(), body);
        }
        let programs = parts.programs();
        format!("{programs} {}", plural(programs, "program"))
    }

    /// One row for each program of a command. A single program without a reason of its own needs none.
    fn rows_of_command(
        &mut self,
        request: &ApprovalRequest,
        parts: &CommandRows,
        command: &str,
    ) -> Vec<Paragraph> {
        let why = why_of(request);
        if parts.is_single(command) && parts.is_explained_by(&why) {
            return Vec::new();
        }
        let mut counter = std::mem::take(&mut self.counter);
        let rows = parts.paragraphs(&why, &mut counter, |kind, text| match kind {
            RowText::Command => self.clean_command(&request.args, text).left,
            RowText::Reason => self.clean(text),
        });
        self.counter = counter;
        rows
    }

    fn body(
        &mut self,
        kind: PresentationKind,
        shown: &ApprovalPresentation,
        (content, header): (Source, DiffHeader),
        parts: Option<&CommandRows>,
    ) -> Body {
        let (before, language) = match kind {
            PresentationKind::Diff => {
                let diff = Diff::new(content);
                self.counter.escaped += diff.text.escaped;
                self.counter.collapsed += diff.text.collapsed;
                return Body::Diff(Box::new(match header {
                    DiffHeader::Show => diff,
                    DiffHeader::Skip => diff.without_header(),
                }));
            }
            PresentationKind::Structured => match askfirst::json::parse(content.as_str().as_bytes()) {
                Ok(value) => {
                    let mut tree = Tree::new(Part::Content(kind), &mut self.counter);
                    let paragraphs = tree.value(&value);
                    let long = owned(std::mem::take(&mut tree.long));
                    self.add_long_texts(long);
                    return Body::Paragraphs(paragraphs);
                }
                Err(_) => (LinePrefix::None, Some("json")),
            },
            PresentationKind::Text => (LinePrefix::None, None),
            PresentationKind::FileContent => (LinePrefix::Number, shown.language.as_deref()),
            PresentationKind::Command => {
                (LinePrefix::Dollar, Some(shown.language.as_deref().unwrap_or("bash")))
            }
        };
        let marks = parts.map(|parts| parts.tones.clone()).unwrap_or_default();
        let highlight = language.and_then(Highlight::new);
        let text = self.index(content);
        Body::Text(Box::new(TextBody { text, part: Part::Content(kind), before, highlight, marks }))
    }
}

pub(super) fn owned(long: Vec<(String, String)>) -> Vec<(String, Source)> {
    long.into_iter().map(|(name, text)| (name, text.into())).collect()
}

/// The diff of two texts, for a tool that gives the old and the new text instead of a diff.
fn diff_of(shown: &ApprovalPresentation) -> Option<String> {
    let text = |key: &str| shown.metadata.get(key).and_then(Value::as_str);
    let (before, after) = (text("before")?, text("after")?);
    (shown.kind == PresentationKind::Diff).then(|| unified(&shown.content, before, after))
}

fn size(shown: &ApprovalPresentation) -> usize {
    let text = |key: &str| shown.metadata.get(key).and_then(Value::as_str);
    match (text("before"), text("after")) {
        (Some(before), Some(after)) => before.len() + after.len(),
        (Some(_), None) | (None, Some(_) | None) => shown.full_content().len(),
    }
}

/// Whether the prompt already names the file of a diff that a tool gives as two texts.
fn names_file(request: &ApprovalRequest, shown: &ApprovalPresentation) -> bool {
    let name = shown.content.rsplit(['/', ':']).next().unwrap_or_default();
    let in_headline = request.action.iter().flat_map(|action| action.parts()).any(|part| match part {
        ActionPart::Value(value) => value.ends_with(name),
        ActionPart::Words(_) => false,
    });
    let is_fact = |fact: &Fact| fact.label == "does" && fact.text.ends_with(name);
    in_headline || request.facts.iter().any(is_fact)
}

/// The rows of a command, if its tool parsed it.
pub(super) fn command_rows(request: &ApprovalRequest) -> Option<CommandRows> {
    let shown = request.presentation.as_ref().filter(|shown| shown.kind == PresentationKind::Command)?;
    CommandRows::take(&mut shown.metadata.clone(), &shown.content, &MaskedText::whole(&shown.content))
}

/// The approximate size of a value, without serializing it.
fn rough_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(rough_size).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + rough_size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    }
}

fn kind_words(kind: PresentationKind) -> &'static str {
    match kind {
        PresentationKind::Text => "text",
        PresentationKind::Diff => "diff",
        PresentationKind::FileContent => "file content",
        PresentationKind::Command => "command",
        PresentationKind::Structured => "data",
    }
}

/// Whether the short content is only the start of the full content.
fn is_start_of(content: &str, full: &str) -> bool {
    let cut = content.rsplit_once("\n\n... [").filter(|(_, tail)| {
        tail.strip_suffix(" more lines]").is_some_and(|count| count.bytes().all(|b| b.is_ascii_digit()))
    });
    full.starts_with(cut.map_or(content, |(head, _)| head))
}
